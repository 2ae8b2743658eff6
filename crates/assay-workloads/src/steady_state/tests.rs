//! Rounds on a simulated drive, and their sentences.

use std::collections::BTreeMap;
use std::sync::Mutex;

use assay_core::exhibit::{Levels, Subject};
use assay_core::presence::Presence;
use assay_load::{Law, LawShape};
use assay_machine::system::Fake;
use assay_machine::system::clears::Clears;

use super::*;
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::{DirectUse, EngineUse, Run};
use crate::tell::{Bare, RowView as SeenRow, Shows as _, Tells as _};
use crate::workload::{PlannedWork as _, WorkloadSpec as _};
use crate::{Counts as _, testing};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;

/// The plan of a test for a whole device of 64 GiB.
pub(super) fn planned(test: Test) -> SteadyStatePlan {
    let asked = SteadyStateSpec { test, ..SteadyStateSpec::default() };
    SteadyStatePlan {
        test,
        class: PtsClass::Enterprise,
        engine: Engine::IoUring,
        in_flight: [4, 32],
        asked_in_flight: 128,
        cells: test.cells(None),
        left_out: Vec::new(),
        cell_ns: 60 * SECOND,
        most_rounds: test.most_rounds(),
        range_bytes: 64 * GIB,
        fill_bytes: test.fill_bytes(asked.block_size),
        direct: true,
    }
}

/// Rounds of a 64 GiB device in which each cell had this rate or latency.
pub(super) fn detail(planned: &SteadyStatePlan, rounds: &[f64]) -> SteadyStateDetail {
    let seen = |value: f64, cell: &PtsPoint| match planned.test.measure() {
        Measure::Latency => CellResult {
            operations: 1000,
            mean_ns: value as u64,
            most_ns: 9 * value as u64,
            ..SEEN
        },
        Measure::Iops => CellResult { operations: (60.0 * value) as u64, ..SEEN },
        Measure::Bandwidth => {
            CellResult { operations: 1, bytes: (60.0 * value) as u64 * cell.size_bytes, ..SEEN }
        }
    };
    let round = |(at, value): (usize, &f64)| Round {
        cells: planned.cells.iter().map(|cell| seen(*value, cell)).collect(),
        written_bytes: (at as u64 + 1) * GIB,
        ended_ns: (at as u64 + 1) * 60 * SECOND,
    };
    SteadyStateDetail {
        prepared: Prepared {
            is_device: true,
            device_bytes: Some(64 * GIB),
            write_cache: Some("write through".to_owned()),
            not_purged: None,
            range_bytes: 64 * GIB,
            wanted_bytes: 64 * GIB,
            filled_bytes: planned.fill_bytes.map_or(0, |_| 128 * GIB),
            fill_ns: 600 * SECOND,
        },
        cells: planned.cells.clone(),
        cell_ns: planned.cell_ns,
        rounds: rounds.iter().enumerate().map(round).collect(),
        ended: None,
    }
}

const SEEN: CellResult =
    CellResult { operations: 0, bytes: 0, window_ns: 60 * SECOND, mean_ns: 2000, most_ns: 9000 };

pub(super) fn measured_of(detail: SteadyStateDetail) -> Measured {
    Measured { window_ns: 1, elapsed_ns: 1, ..Measured::from_detail(detail) }
}

const FALLING: [f64; 8] = [9000.0, 6200.0, 4400.0, 4100.0, 4050.0, 4000.0, 3980.0, 3970.0];
/// The same up to the first five steady rounds.
const UNTIL_STEADY: [f64; 7] = [9000.0, 6200.0, 4400.0, 4100.0, 4050.0, 4000.0, 3980.0];

#[test]
fn a_whole_device_with_all_its_rounds_parts_from_the_text_in_nothing_that_shows() {
    for test in Test::ALL {
        let own = planned(test);
        let told = judge_trial(&own, &detail(&own, &UNTIL_STEADY)).unwrap();
        assert_eq!(told.departures, Vec::<String>::new(), "{test:?}");
        let window = told.window.unwrap();
        assert_eq!((window.first, window.last, window.steady), (3, 7, true), "{test:?}");
    }
}

/// Deviations of a changed trial, which has none otherwise.
fn departures(change: impl Fn(&mut SteadyStatePlan, &mut SteadyStateDetail)) -> String {
    let mut own = planned(Test::Iops);
    let mut detail = detail(&own, &FALLING);
    change(&mut own, &mut detail);
    judge_trial(&own, &detail).unwrap().departures.join("\n")
}

#[test]
fn a_client_has_three_quarters_and_its_cache() {
    let client = |range_bytes: u64, cache: &str| {
        departures(|own, detail| {
            own.class = PtsClass::Client;
            detail.prepared.write_cache = Some(cache.to_owned());
            detail.prepared.range_bytes = range_bytes;
            (detail.prepared.wanted_bytes, detail.prepared.filled_bytes) =
                (range_bytes, 2 * range_bytes);
        })
    };
    assert_eq!(client(48 * GIB, "write back"), "");
    assert_eq!(client(40 * GIB, "write back"), "the test used only 40 GiB of a device of 64 GiB");
    assert!(client(48 * GIB, "write through").contains("client"));
}

fn facts(own: &SteadyStatePlan, trials: &[&Measured]) -> Option<SteadyStateFacts> {
    let subject = Subject { workload: "pts".to_owned(), arm: Levels::new() };
    let trials: Vec<Option<&Measured>> = trials.iter().copied().map(Some).collect();
    let seen = SeenRow::bare(&subject, &trials);
    own.facts(&seen).map(|facts| SteadyStateFacts::of(&facts).unwrap().clone())
}

#[test]
fn the_window_its_numbers_and_what_it_lacks_are_told() {
    let own = planned(Test::Iops);
    let mut lacking = detail(&own, &FALLING);
    lacking.prepared.is_device = false;
    let told = facts(&own, &[&measured_of(lacking.clone())]).unwrap();
    assert_eq!(
        told.text,
        "Steady in rounds 3 to 7: 0/100 of 4 KiB at 4,110 IOPS (range 10.2%, change 9.2%), after 7 GiB of writes. Does \
         not conform to PTS IOPS: the test used a file of 64 GiB instead of a whole device."
    );
    let whole = facts(&own, &[&measured_of(detail(&own, &FALLING))]).unwrap();
    assert!(whole.text.ends_with("No deviation from PTS IOPS detected."), "{}", whole.text);
    assert_eq!(whole.trial, None);
    let two = [measured_of(detail(&own, &FALLING)), measured_of(detail(&own, &[100.0; 5]))];
    let two = facts(&own, &[&two[0], &two[1]]).unwrap();
    assert!(two.text.contains("at 100 IOPS") && two.text.ends_with("trial 2 of 2."));
    assert_eq!(facts(&own, &[&measured_of(detail(&own, &[]))]), None);
    let few = facts(&own, &[&measured_of(detail(&own, &[100.0; 3]))]).unwrap();
    assert!(few.text.contains("over 3 rounds, too few"), "{}", few.text);
}

#[test]
fn of_a_drive_that_was_not_written_once_it_is_said_that_it_may_be_fresh() {
    let own = planned(Test::WriteSaturation);
    let text = |range_bytes: u64| {
        let mut found = detail(&own, &UNTIL_STEADY);
        found.prepared.range_bytes = range_bytes;
        facts(&own, &[&measured_of(found)]).unwrap().text
    };
    let (fresh, written) = (text(8 * GIB), text(7 * GIB));
    assert!(
        fresh.contains("less than the whole area, so some blocks may never have been written."),
        "{fresh}"
    );
    assert!(written.contains("after 7 GiB of writes. Does not conform"), "{written}");
}

#[test]
fn mixes_by_sizes_and_the_rounds_stand_in_tables_and_the_window_in_the_figure() {
    let own = planned(Test::Iops);
    let told = facts(&own, &[&measured_of(detail(&own, &FALLING))]).unwrap();
    let exhibit = SteadyStateFacts::exhibit(&[&told], &Bare);
    let [state, cells, rounds] = &exhibit.tables[..] else { panic!("{:?}", exhibit.tables) };
    assert_eq!((state.rows.len(), exhibit.leads), (1, true));
    assert_eq!((cells.columns.len(), cells.rows.len()), (8, 8), "seven mixes of eight sizes");
    assert_eq!(rounds.rows.len(), 8);
    let [figure] = &exhibit.figures[..] else { panic!("{:?}", exhibit.figures) };
    let [span] = &figure.spans[..] else { panic!("{:?}", figure.spans) };
    assert_eq!((span.from, span.to, span.label.as_str()), (3.0, 7.0, "steady"));
    assert_eq!((figure.series.len(), figure.marks(), figure.guides.len()), (1, 8, 2));
    let latency = planned(Test::Latency);
    let told = facts(&latency, &[&measured_of(detail(&latency, &FALLING))]).unwrap();
    let tables = SteadyStateFacts::exhibit(&[&told], &Bare).tables;
    assert_eq!(tables.len(), 4, "state, means, the slowest, and the rounds: {tables:?}");
    assert_eq!(told.subject().workload, "pts");
}

#[test]
fn its_numbers_are_those_of_the_window_and_of_its_own_test() {
    for (test, metric) in [
        (Test::Iops, "steady_iops"),
        (Test::WriteSaturation, "steady_iops"),
        (Test::Throughput, "steady_bytes_per_s"),
        (Test::Latency, "steady_latency_mean_ns"),
    ] {
        let own = planned(test);
        let value =
            |rounds: &[f64], metric: &str| own.value(metric, &measured_of(detail(&own, rounds)));
        assert_eq!(own.primary(&|_| false), metric);
        let found = value(&UNTIL_STEADY, metric).unwrap().unwrap();
        let size = if test == Test::Throughput { 131_072.0 } else { 1.0 };
        assert!((found / size - 4106.0).abs() < 1.0, "{test:?}: {found}");
        assert_eq!(value(&UNTIL_STEADY, "rounds_until_steady"), Some(Ok(7.0)));
        assert_eq!(value(&UNTIL_STEADY, "written_until_steady_bytes"), Some(Ok(7.0 * GIB as f64)));
        let never = [100.0, 200.0, 100.0, 200.0, 100.0];
        assert!(value(&never, metric).unwrap().is_ok(), "the last window, marked");
        assert!(value(&never, "rounds_until_steady").unwrap().is_err());
        assert!(value(&[100.0; 4], metric).unwrap().is_err());
        let others = ["steady_iops", "steady_bytes_per_s", "steady_latency_mean_ns", "iops"];
        let known = others.iter().filter(|name| value(&UNTIL_STEADY, name).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [&metric]);
    }
}

static ABLE: Clears = Clears { no_trim: None, no_zeroing: None, no_polling: None };

fn offer_of<'a>(direct: &'a Presence<DirectUse>, engine: &'a EngineUse, bytes: u64) -> Offer<'a> {
    Offer { area: testing::area(bytes, true), direct, engine, between: None, clears: &ABLE }
}

#[test]
fn cells_that_a_target_cannot_do_are_left_out_by_name() {
    let engine = EngineUse { name: Engine::IoUring, note: None };
    let of = |unit: u32, written: bool| {
        let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: unit });
        let mut offer = offer_of(&direct, &engine, 64 * GIB);
        offer.area.written = written;
        SteadyStateSpec::default()
            .plan(&offer)
            .map(|(own, note)| (SteadyStatePlan::of(&own).unwrap().clone(), note))
    };
    let (all, note) = of(512, true).unwrap();
    assert_eq!((all.cells.len(), note, all.left_out.len()), (56, None, 0));
    assert_eq!((all.in_flight, all.range_bytes), ([4, 32], 64 * GIB));
    let (some, note) = of(4096, true).unwrap();
    assert_eq!((some.cells.len(), some.left_out.len()), (49, 1));
    assert!(note.unwrap().starts_with("cells of 512 B were skipped ("));
    assert!(of(8192, true).unwrap_err().starts_with("cannot run the tracking cell"));
    assert!(of(512, false).unwrap_err().contains("no consent given"));
}

/// A simulated 64 MiB drive with this latency in nanoseconds.
fn ran(
    asked: &SteadyStateSpec,
    time_ns: u64,
    keep: Option<&(dyn Fn(&Measured) + Sync)>,
) -> RunResult {
    let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 });
    let engine = EngineUse { name: Engine::Simulated, note: None };
    let offer = offer_of(&direct, &engine, 64 * MIB);
    let (planned, _) = asked.plan(&offer).unwrap();
    let law = Law::new(LawShape::Fixed { ns: 100_000 }, 1).ok();
    let fake = Fake::new();
    planned.run(&Run { time_ns, keep, ..testing::run_on(&fake, offer.area, law) }).unwrap()
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_drive_that_is_always_the_same_is_steady_after_five_rounds() {
    let kept = Mutex::new(Vec::new());
    let keep = |measured: &Measured| {
        kept.lock().unwrap().push(SteadyStateDetail::of(measured).unwrap().rounds.len());
    };
    let asked = SteadyStateSpec { cell_time: Some(Time(20_000_000)), ..SteadyStateSpec::default() };
    let found = ran(&asked, 3600 * SECOND, Some(&keep));
    let own = SteadyStateDetail::of(&found.measured).unwrap();
    assert_eq!((own.cells.len(), own.rounds.len(), own.ended.as_deref()), (56, 5, None));
    assert_eq!(own.prepared.filled_bytes, 128 * MIB, "twice all of it");
    assert!(own.prepared.not_purged.as_ref().unwrap().contains("simulated"));
    assert!(!own.prepared.is_device);
    let course = own.course(Test::Iops.tracked(None), Measure::Iops).unwrap();
    assert!(course.iter().all(|iops| (iops / course[0] - 1.0).abs() < 0.2), "{course:?}");
    assert_eq!(*kept.lock().unwrap(), [1, 2, 3, 4, 5]);
    assert!(own.keeps_what_it_has() && !found.stopped);
    let few = SteadyStateDetail { rounds: own.rounds[..4].to_vec(), ..own.clone() };
    assert!(!few.keeps_what_it_has(), "nothing is judged of it");
}

#[test]
fn saturation_writes_nothing_before_its_first_round_and_goes_on_until_all_is_written() {
    let asked = SteadyStateSpec {
        test: Test::WriteSaturation,
        cell_time: Some(Time(50_000_000)),
        ..SteadyStateSpec::default()
    };
    let found = ran(&asked, 3600 * SECOND, None);
    let own = SteadyStateDetail::of(&found.measured).unwrap();
    assert_eq!((own.prepared.filled_bytes, own.cells.len()), (0, 1));
    // It is steady from the first five rounds on, but continues until everything was written once.
    let before = own.rounds.iter().filter(|round| round.written_bytes < 64 * MIB).count();
    assert!(before > 5 && before + 1 == own.rounds.len(), "{before} of {}", own.rounds.len());
    assert_eq!(found.measured.claims.read.operations, 0);
    let last = own.rounds.last().unwrap();
    assert_eq!(last.written_bytes, found.measured.claims.write.bytes);
}

#[test]
fn a_time_that_is_short_shrinks_the_range_and_the_round_and_says_so() {
    // 2 s are 20,000 operations; two full writes take 1,024 of 128 KiB.
    let found = ran(&SteadyStateSpec::default(), 2 * SECOND, None);
    let own = SteadyStateDetail::of(&found.measured).unwrap();
    assert!(own.cells.len() < 56 && own.cell_ns < SECOND, "{:?}", own.cells);
    assert!(own.cells.contains(&Test::Iops.tracked(None)));
    assert_eq!(own.rounds.len(), 5);
    // The fill is limited to two fifths of the time.
    let cut = ran(&SteadyStateSpec::default(), SECOND / 10, None);
    let own = SteadyStateDetail::of(&cut.measured).unwrap();
    let prepared = &own.prepared;
    assert!(prepared.range_bytes < prepared.wanted_bytes, "{prepared:?}");
    assert!(prepared.filled_bytes >= prepared.range_bytes && prepared.range_bytes >= MIB);
}

#[test]
fn a_size_belongs_to_the_test_of_throughput_alone() {
    #[derive(Default)]
    struct Heard(Vec<String>);
    impl Complaints for Heard {
        fn value(&mut self, path: &str, message: String, _: Option<String>) {
            self.0.push(format!("{path}: {message}"));
        }
        fn key(&mut self, path: &str, message: String, _: Option<String>) {
            self.0.push(format!("{path}: {message}"));
        }
        fn is_wrong(&self, _: &str) -> bool {
            false
        }
    }
    let heard = |test: Test, size: Option<Bytes>| {
        let mut heard = Heard::default();
        let asked = SteadyStateSpec { test, block_size: size, ..SteadyStateSpec::default() };
        asked.complain("w", &InStudy::new(&BTreeMap::new()), &mut heard);
        heard.0
    };
    assert_eq!(heard(Test::Throughput, Some(Bytes(MIB))), Vec::<String>::new());
    assert_eq!(heard(Test::Iops, None), Vec::<String>::new());
    let wrong = heard(Test::Iops, Some(Bytes(3072)));
    assert_eq!(wrong.len(), 2);
    assert!(wrong[0].ends_with("the specification sets the block sizes of test iops"));
    assert_eq!(wrong[1], "w/block_size: 3 KiB is not a power of two");
}

#[test]
fn what_is_told_is_read_as_it_was_written_and_its_study_shows_its_figure_first() {
    let told = include_str!("told.json").trim_end();
    let read: BTreeMap<String, Vec<SteadyStateFacts>> = serde_json::from_str(told).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), told);
    for study in [
        include_str!("../../../../studies/pts-iops.toml"),
        include_str!("../../../../studies/pts-throughput.toml"),
        include_str!("../../../../studies/pts-latency.toml"),
        include_str!("../../../../studies/pts-write-saturation.toml"),
    ] {
        let lead = format!("lead_figure=\"{}\"", SteadyStateFacts::FIGURE.unwrap().about.name);
        assert!(study.replace(' ', "").contains(&lead), "{lead}");
    }
}
