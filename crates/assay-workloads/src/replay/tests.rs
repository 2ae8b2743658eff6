//! Artificial recordings, replayed on a simulated drive.

use std::collections::BTreeMap;

use assay_core::exhibit::{Levels, Subject};
use assay_core::presence::Presence;
use assay_core::quantity::played::CLASSES;
use assay_load::{Law, LawShape, Moved};
use assay_machine::system::clears::Clears;
use assay_machine::system::{BlockClass, BlockRequest, Fake, RequestFlags, System};

use super::detail::ReplayCounts;
use super::*;
use crate::io::Engine;
use crate::measured::{Count, Measured, RunResult};
use crate::place::{Area, DirectUse, EngineUse, Programs, Run};
use crate::tell::{Bare, Doubt, RowView, Shows as _, Tells as _};
use crate::testing;
use crate::workload::{PlannedWork as _, WorkloadSpec as _};

const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;
const BEGUN_NS: u64 = 77_000;
const DEVICE_BYTES: u64 = 256 * MIB;
const COUNT: u64 = 6_000;

/// Requests 1 ms apart at scattered offsets, in the order of completion.
fn requests() -> impl Iterator<Item = BlockRequest> {
    (0..COUNT).map(|at| {
        let class = BlockClass::ALL[(at % 6) as usize];
        let is_flush = class == BlockClass::Flush;
        let arrived_ns = BEGUN_NS + 5 * MS + at * MS;
        BlockRequest {
            device: 0,
            class,
            arrived_ns: Some(arrived_ns),
            issued_ns: Some(arrived_ns + 1000),
            ended_ns: arrived_ns + MS / 2,
            offset_bytes: if is_flush { 0 } else { at * 7_919 % 65_536 * 4096 },
            bytes: if is_flush { 0 } else { 4096 },
            flags: RequestFlags::default(),
        }
    })
}

fn source_of(requests: impl Iterator<Item = BlockRequest>, until_ns: Option<u64>) -> TraceSource {
    let mut scan = Scan::new("sda", DEVICE_BYTES, until_ns);
    for request in requests {
        scan.add(BEGUN_NS, &request);
    }
    scan.finish("evening", &"ab".repeat(32)).unwrap()
}

#[allow(clippy::unnecessary_wraps, reason = "it stands where one may fail")]
fn recall(
    _: &dyn System,
    _: &TraceSource,
    each: &mut dyn FnMut(u64, &BlockRequest),
) -> Result<(), String> {
    for request in requests() {
        each(BEGUN_NS, &request);
    }
    Ok(())
}

fn asked(clock: Clock) -> ReplaySpec {
    ReplaySpec { timing: clock, source: Some(source_of(requests(), None)), ..ReplaySpec::default() }
}

fn area(length: u64) -> Area {
    testing::area(length, true)
}

fn planned_in(asked: &ReplaySpec, area: Area) -> Result<ReplayPlan, String> {
    let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 });
    let engine = EngineUse { name: Engine::Simulated, note: None };
    let clears = Clears::default();
    let offer = Offer { area, direct: &direct, engine: &engine, between: None, clears: &clears };
    asked.plan(&offer).map(|(planned, _)| ReplayPlan::of(&planned).unwrap().clone())
}

/// A replay on a drive with this parallelism and service time.
fn ran(planned: &ReplayPlan, area: Area, drive: (u64, u32)) -> Result<RunResult, String> {
    let law = Law::new(LawShape::Fixed { ns: drive.0 }, drive.1).ok();
    let programs = Programs { recall, ..Programs::NONE };
    let fake = Fake::new();
    let on = testing::run_on(&fake, area, law);
    planned.run(&Run { time_ns: 3600 * 1000 * MS, programs, ..on })
}

const FAST: (u64, u32) = (MS / 4, 32);
const SLOW: (u64, u32) = (4 * MS, 1);

fn played(asked: &ReplaySpec, length: u64, drive: (u64, u32)) -> (ReplayPlan, Measured) {
    let planned = planned_in(asked, area(length)).unwrap();
    let found = ran(&planned, area(length), drive).unwrap();
    (planned, found.measured)
}

fn doubt(planned: &ReplayPlan, measured: &Measured) -> Option<Doubt> {
    (rule::UNFAITHFUL.doubt)(&planned.clone().into(), &[measured])
}

#[test]
fn a_play_by_the_clock_is_the_work_that_was_recorded() {
    let (planned, measured) = played(&asked(Clock::Open), DEVICE_BYTES, FAST);
    assert_eq!(planned.placing, Placing::Kept);
    let detail = ReplayDetail::of(&measured).unwrap();
    let own = &detail.fidelity;
    assert_eq!(own.faults(), Vec::<String>::new());
    assert_eq!(own.requests.len(), 6);
    assert!(own.requests.values().all(|one| one.recorded == one.replayed), "{own:?}");
    assert_eq!((own.recorded_ns, own.replayed_ns), ((COUNT - 1) * MS, (COUNT - 1) * MS));
    assert_eq!((own.ks_distance, own.late_share), (Some(0.0), Some(0.0)));
    assert_eq!(measured.operations(), COUNT);
    assert_eq!(own.drawn.len(), 6);
    assert!(own.drawn.values().all(|one| one.recorded == one.replayed), "{:?}", own.drawn);
    assert!((own.in_flight[0] - 0.5).abs() < 0.01 && (own.in_flight[1] - 0.25).abs() < 0.01);
    assert_eq!(doubt(&planned, &measured), None);
}

#[test]
fn each_class_has_its_own_rates_and_what_was_not_recorded_is_lacking() {
    let (mut planned, measured) = played(&asked(Clock::Open), DEVICE_BYTES, FAST);
    let amount = |metric: &str| {
        let own = planned.value(metric, &measured)?;
        Some((own.unwrap() * measured.window_ns as f64 / 1e9).round() as u64)
    };
    // A sixth of each kind; a FUA request is a write.
    assert_eq!(amount("read_iops"), Some(COUNT / 6));
    assert_eq!(amount("write_iops"), Some(COUNT / 3));
    assert_eq!(amount("trim_bandwidth_bytes_per_s"), Some(COUNT / 6 * 4096));
    for other in ["read_latency_p99_ns", "read_response_mean_ns", "read_per_s"] {
        assert_eq!(amount(other), None, "{other}");
    }
    let lacking = |planned: &ReplayPlan| -> Vec<String> {
        CLASSES.iter().filter_map(|class| planned.missing_class(class)).collect()
    };
    assert_eq!(lacking(&planned), Vec::<String>::new());
    planned.source.acts[Act::Discard as usize] = Moved::default();
    planned.source.acts[Act::Write as usize] = Moved::default();
    assert_eq!(lacking(&planned), ["the trace contains no trims"]);
}

#[test]
fn a_drive_that_does_not_carry_it_makes_it_other_work() {
    let (planned, measured) = played(&asked(Clock::Open), DEVICE_BYTES, SLOW);
    let told = doubt(&planned, &measured).unwrap();
    assert!(told.invalid && told.trials == 1 && told.what.contains("were replayed"), "{told:?}");
    // At a lower speed it is faithful.
    let slower = ReplaySpec { speed: "0.2x".parse().unwrap(), ..asked(Clock::Open) };
    let (planned, measured) = played(&slower, DEVICE_BYTES, SLOW);
    assert_eq!(doubt(&planned, &measured), None);
    assert_eq!(ReplayDetail::of(&measured).unwrap().fidelity.recorded_ns, (COUNT - 1) * 5 * MS);
}

#[test]
fn of_few_requests_one_may_start_a_little_later() {
    let (_, measured) = played(&asked(Clock::Open), DEVICE_BYTES, FAST);
    let mut own = ReplayDetail::of(&measured).unwrap().fidelity.clone();
    let count = Count { operations: 45, bytes: 45 * 4096 };
    own.requests = [("write".to_owned(), ReplayCounts { recorded: count, replayed: count })].into();
    for (later, faults) in [(1, 0), (2, 1)] {
        own.ks_distance = Some(f64::from(later) / 45.0);
        assert_eq!(own.faults().len(), faults, "{later}: {:?}", own.faults());
    }
}

#[test]
fn without_a_clock_all_is_played_as_fast_as_it_goes() {
    let (planned, measured) = played(&asked(Clock::Closed), DEVICE_BYTES, SLOW);
    let own = &ReplayDetail::of(&measured).unwrap().fidelity;
    assert_eq!((own.ks_distance, own.late_share), (None, None));
    assert_eq!(measured.operations(), COUNT);
    assert_eq!(doubt(&planned, &measured), None);
    assert_eq!((planned.primary(&|_| false), planned.ends_by_time()), ("iops", false));
}

#[test]
fn a_paced_play_goes_as_fast_as_what_is_waited_for() {
    let (planned, measured) = played(&asked(Clock::Dependent), DEVICE_BYTES, FAST);
    let own = &ReplayDetail::of(&measured).unwrap().fidelity;
    assert_eq!((own.ks_distance, own.late_share), (None, Some(0.0)));
    assert_eq!((measured.operations(), doubt(&planned, &measured)), (COUNT, None));
    // Reads, and flushes with FUA writes; other requests have no known dependents.
    let paced = own.dependent.unwrap();
    assert_eq!((paced.after_end, paced.added_share), (COUNT / 6 * 3 - 2, 0.0));
    assert_eq!(paced.gap_ns[0], paced.gap_ns[1]);
    assert!(own.replayed_ns < own.recorded_ns && own.recorded_ns == (COUNT - 1) * MS, "{own:?}");
    // A slow drive prolongs it without changing the work; in an open loop it would change it.
    let (planned, measured) = played(&asked(Clock::Dependent), DEVICE_BYTES, SLOW);
    let own = &ReplayDetail::of(&measured).unwrap().fidelity;
    assert_eq!((measured.operations(), doubt(&planned, &measured)), (COUNT, None));
    assert!(own.replayed_ns > 3 * own.recorded_ns, "{own:?}");
    assert_eq!((planned.primary(&|_| false), planned.ends_by_time()), ("iops", false));
}

#[test]
fn a_paced_play_that_starts_late_is_other_work() {
    // With depth 1, the other requests wait.
    let narrow = ReplaySpec { queue_depth: 1, ..asked(Clock::Dependent) };
    let (planned, measured) = played(&narrow, DEVICE_BYTES, SLOW);
    let told = doubt(&planned, &measured).unwrap();
    assert!(told.invalid && told.what.contains("late starts added"), "{told:?}");
    let (planned, measured) = played(&asked(Clock::Dependent), DEVICE_BYTES, FAST);
    assert_eq!(doubt(&planned, &measured), None);
    let exhibit = |measured: &Measured| {
        let subject = Subject { workload: "evening".to_owned(), arm: Levels::new() };
        let trials = [Some(measured)];
        let seen = RowView::bare(&subject, &trials);
        let facts = planned.facts(&seen).unwrap();
        let own = ReplayFacts::of(&facts).unwrap().clone();
        (own.text.clone(), ReplayFacts::exhibit(&[&own], &Bare).tables.len())
    };
    let (text, tables) = exhibit(&measured);
    assert!(text.contains(" of them after the end of a predecessor, ") && tables == 3, "{text}");
    let (text, tables) = exhibit(&played(&asked(Clock::Open), DEVICE_BYTES, FAST).1);
    assert!(!text.contains("after the end") && tables == 2, "{text}");
}

#[test]
fn a_recording_without_ends_is_not_played_paced() {
    let at_once =
        || requests().map(|own| BlockRequest { ended_ns: own.arrived_ns.unwrap(), ..own });
    let of = |clock| ReplaySpec { source: Some(source_of(at_once(), None)), ..asked(clock) };
    let told = planned_in(&of(Clock::Dependent), area(DEVICE_BYTES)).unwrap_err();
    assert!(told.contains("no completion times") && told.contains("\"open\""), "{told}");
    assert!(planned_in(&of(Clock::Closed), area(DEVICE_BYTES)).is_ok());
    // In an open loop it can be replayed, without a recorded number in flight.
    let (planned, measured) = played(&of(Clock::Open), DEVICE_BYTES, FAST);
    assert_eq!(doubt(&planned, &measured), None);
    assert_eq!(ReplayDetail::of(&measured).unwrap().fidelity.in_flight_recorded(), None);
    let known = played(&asked(Clock::Open), DEVICE_BYTES, FAST).1;
    assert!(ReplayDetail::of(&known).unwrap().fidelity.in_flight_recorded().is_some());
}

#[test]
fn what_is_folded_is_called_so() {
    let (planned, measured) = played(&asked(Clock::Open), 16 * MIB, FAST);
    assert!(planned.words().contains("offsets folded into 16 MiB"), "{}", planned.words());
    let told = doubt(&planned, &measured).unwrap().what;
    assert!(told.contains("folded") && told.contains("consecutive requests changed"), "{told}");
}

#[test]
fn a_part_of_it_ends_where_it_was_said_to_and_half_of_it_is_a_half() {
    let source = Some(source_of(requests(), Some(1005 * MS)));
    let part = ReplaySpec { source, ..asked(Clock::Open) };
    let (planned, measured) = played(&part, DEVICE_BYTES, FAST);
    assert_eq!((planned.source.requests(), measured.operations()), (1000, 1000));
    let half = crate::WorkPlan::from(planned).halved();
    let half = ReplayPlan::of(&half).unwrap();
    let found = ran(half, area(DEVICE_BYTES), FAST).unwrap().measured;
    assert!((499..=501).contains(&found.operations()), "{}", found.operations());
    assert_eq!(doubt(half, &found), None);
}

#[test]
fn another_recording_than_the_planned_one_is_not_played() {
    let other = requests().filter(|request| request.class == BlockClass::Read);
    let source = Some(source_of(other, None));
    let planned = planned_in(&ReplaySpec { source, ..asked(Clock::Open) }, area(DEVICE_BYTES));
    let told = ran(&planned.unwrap(), area(DEVICE_BYTES), FAST).unwrap_err();
    assert!(told.contains("is not the planned one"), "{told}");
    let unknown = ReplaySpec { source: None, ..asked(Clock::Open) };
    assert!(planned_in(&unknown, area(DEVICE_BYTES)).unwrap_err().contains("was not loaded"));
}

#[test]
fn what_only_reads_touches_nothing_and_what_is_not_known_may_do_anything() {
    let reads = || requests().filter(|request| request.class == BlockClass::Read);
    let read = ReplaySpec { source: Some(source_of(reads(), None)), ..asked(Clock::Open) };
    let touched = read.touches();
    assert_eq!((touched.reads, touched.writes, touched.clears), (true, None, false));
    let unwritten = Area { written: false, ..area(DEVICE_BYTES) };
    assert!(planned_in(&read, unwritten).is_ok());
    assert!(planned_in(&asked(Clock::Open), unwritten).unwrap_err().contains("no consent given"));
    let unknown = ReplaySpec { source: None, ..read }.touches();
    assert!(unknown.writes.is_some() && unknown.clears);
}

#[test]
fn a_target_that_knows_no_discards_says_so_before_anything_is_played() {
    let direct = Presence::absent("none");
    let engine = EngineUse { name: Engine::Psync, note: None };
    let clears = Clears { no_trim: Some("no trims here".to_owned()), ..Clears::default() };
    let area = area(DEVICE_BYTES);
    let offer = Offer { area, direct: &direct, engine: &engine, between: None, clears: &clears };
    assert_eq!(asked(Clock::Open).plan(&offer).unwrap_err(), "no trims here");
    let reads = || requests().filter(|request| request.class == BlockClass::Read);
    let read = ReplaySpec { source: Some(source_of(reads(), None)), ..asked(Clock::Open) };
    assert!(read.plan(&offer).is_ok());
}

#[test]
fn a_source_reads_as_it_is_written_and_what_is_none_is_refused() {
    let own = source_of(requests(), None);
    assert_eq!(own.to_string().parse(), Ok(own.clone()));
    assert_eq!((own.first_ns, own.length_ns, own.left_out), (5 * MS, (COUNT - 1) * MS, 0));
    let two = TraceSource { from_bytes: 3 * MIB - 1, to_bytes: 4 * MIB, ..own.clone() };
    assert_eq!((two.extent_bytes(), own.extent_bytes()), (2 * MIB, DEVICE_BYTES));
    let text = own.to_string();
    for (from, to) in [
        ("assay-source/1", "assay-source/2"),
        ("id=evening", "id=../evening"),
        ("id=evening", "id="),
        ("sha256=ab", "sha256=zz"),
        ("device=sda", "device=s/da"),
        ("length-ns=", "length-ns=-"),
        ("read=1000/", "read=1000"),
        (" from=", " elsewhere="),
    ] {
        let told = text.replace(from, to).parse::<TraceSource>();
        assert!(told.is_err(), "{to}");
    }
    let told = "evening".parse::<TraceSource>().unwrap_err();
    assert!(told.contains("remove source"), "{told}");
}

#[test]
fn requests_without_an_arrival_or_a_place_are_counted_and_left_out() {
    let first = requests().next().unwrap();
    let wrong = [
        BlockRequest { arrived_ns: None, issued_ns: None, ..first },
        BlockRequest { offset_bytes: DEVICE_BYTES - 4095, ..first },
        BlockRequest { offset_bytes: u64::MAX, ..first },
        BlockRequest { bytes: 0, ..first },
        BlockRequest { arrived_ns: Some(BEGUN_NS - 1), ..first },
    ];
    let own = source_of(wrong.into_iter().chain(requests()), None);
    assert_eq!((own.left_out, own.requests()), (5, COUNT));
    let mut scan = Scan::new("sda", DEVICE_BYTES, None);
    for request in &wrong {
        scan.add(BEGUN_NS, request);
    }
    assert!(scan.finish("evening", &"ab".repeat(32)).unwrap_err().contains("requests to sda"));
}

/// For any recording, the replay is within the area or fails.
#[test]
fn hostile_requests_end_in_an_answer() {
    let mut state = 3_u64;
    let mut draw = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> (state >> 58)
    };
    for _ in 0..200 {
        let device_bytes = draw();
        let mut scan = Scan::new("sda", device_bytes, None);
        for _ in 0..20 {
            let request = BlockRequest {
                device: 0,
                class: BlockClass::ALL[(draw() % 6) as usize],
                arrived_ns: Some(draw()),
                issued_ns: None,
                ended_ns: draw(),
                offset_bytes: draw(),
                bytes: draw() as u32,
                flags: RequestFlags(draw() as u8),
            };
            scan.add(draw(), &request);
        }
        let Ok(source) = scan.finish("evening", &"ab".repeat(32)) else { continue };
        assert_eq!(source.to_string().parse(), Ok(source.clone()));
        let own = ReplaySpec { source: Some(source), ..ReplaySpec::default() };
        if let Ok(planned) = planned_in(&own, area(draw() % (64 * MIB))) {
            assert!(!planned.words().is_empty());
        }
    }
}

#[test]
fn a_row_tells_its_least_faithful_trial() {
    let (planned, faithful) = played(&asked(Clock::Open), DEVICE_BYTES, FAST);
    let (_, other) = played(&asked(Clock::Open), DEVICE_BYTES, SLOW);
    let subject = Subject { workload: "evening".to_owned(), arm: Levels::new() };
    let facts = |trials: &[Option<&Measured>]| {
        let seen = RowView::bare(&subject, trials);
        planned.facts(&seen).map(|own| ReplayFacts::of(&own).unwrap().clone())
    };
    let told = facts(&[Some(&faithful), Some(&other), None]).unwrap();
    assert_eq!((told.trials, told.fidelity.faults().is_empty()), (2, false));
    assert!(told.text.contains("the trial with the lowest fidelity of 2"), "{}", told.text);
    let told = facts(&[Some(&faithful)]).unwrap();
    for words in [
        "Replay in the trial: 6,000 of 6,000 requests in ",
        ", KS distance of arrival times 0.000, at most 0",
        "; offsets as recorded.",
    ] {
        assert!(told.text.contains(words), "{words}: {}", told.text);
    }
    let exhibit = ReplayFacts::exhibit(&[&told], &Bare);
    let table = &exhibit.tables[0];
    assert_eq!(table.rows.len(), 6);
    assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
    assert_eq!(facts(&[None]), None);
}

#[test]
fn what_is_told_is_read_as_it_was_written() {
    let told = include_str!("told.json").trim_end();
    let read: BTreeMap<String, Vec<ReplayFacts>> = serde_json::from_str(told).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), told);
}

#[test]
fn what_an_older_version_told_is_read_and_has_no_pictures() {
    let mut told: serde_json::Value = serde_json::from_str(include_str!("told.json")).unwrap();
    let read = |told: &serde_json::Value| -> Vec<ReplayFacts> {
        serde_json::from_value(told["replay"].clone()).unwrap()
    };
    let figures = |own: &ReplayFacts| ReplayFacts::exhibit(&[own], &Bare).figures.len();
    assert_eq!(figures(&read(&told)[0]), 7);
    told["replay"][0]["fidelity"].as_object_mut().unwrap().remove("drawn");
    let old = read(&told);
    assert_eq!(figures(&old[0]), 0);
    assert_eq!(serde_json::to_value(&old).unwrap(), told["replay"]);
}

#[test]
fn a_time_says_how_much_is_played_as_long_as_nothing_was_looked_at() {
    let mut own = ReplaySpec { speed: "2x".parse().unwrap(), ..ReplaySpec::default() };
    own.set_span(Some(Time(10_000 * MS)), None);
    assert_eq!(own.trace_length, Some(Time(20_000 * MS)));
    let mut known = asked(Clock::Open);
    known.set_span(Some(Time(10_000 * MS)), None);
    assert_eq!((known.trace_length, known.time()), (None, Some(Time((COUNT - 1) * MS + 1))));
    let work: crate::Work = own.into();
    assert_eq!(work.time(), None);
}
