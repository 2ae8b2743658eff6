use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::judge::{carried, judge};
use super::*;
use crate::system::network::{BitRate, LinkRun, PhaseJob, PhaseRun, Probe, SLICE_NS};
use crate::system::{Fake, System};
use crate::work::kind::{Asks, Runs};

const MS: u64 = 1_000_000;
const PROBE_NS: u64 = 10 * MS;

fn phase(load: Load, rtt_ms: u64) -> PhaseRun {
    let job = PhaseJob { load, ramp_ns: 1000 * MS, time_ns: 3000 * MS };
    let sent = (0..job.whole_ns()).step_by(PROBE_NS as usize);
    let slices = (job.whole_ns() / SLICE_NS) as usize;
    let bytes = |goes: bool| vec![if goes { 62_500 } else { 0 }; slices];
    PhaseRun {
        job,
        began_ns: 0,
        probes: sent.map(|at| Probe { sent_ns: at, rtt_ns: Some(rtt_ms * MS) }).collect(),
        up_bytes: bytes(load.goes_up()),
        down_bytes: bytes(load.goes_down()),
    }
}

fn run(phases: Vec<PhaseRun>) -> LinkRun {
    LinkRun { phases, peer: "p".to_owned(), congestion: "cubic".to_owned(), stopped: false }
}

fn reason(change: impl Fn(&mut PhaseRun)) -> String {
    let mut up = phase(Load::Up, 500);
    change(&mut up);
    let told = judge(run(vec![phase(Load::Idle, 1), up]), PROBE_NS);
    told.err().expect("it says nothing")
}

#[test]
fn what_load_adds_is_told_against_the_idle_link() {
    let all = [(Load::Idle, 1), (Load::Up, 601), (Load::Down, 21), (Load::Both, 801)];
    let found = judge(run(all.map(|(load, ms)| phase(load, ms)).to_vec()), PROBE_NS).ok().unwrap();
    let (values, absent) = found.told;
    let near = |name: &str, ms: f64| {
        let value = values[name] / MS as f64;
        assert!((value / ms - 1.0).abs() < 0.01, "{name}: {value} is not {ms}");
    };
    near("up_added_ns", 600.0);
    near("added_latency_ns", 310.0);
    near("added_latency_p95_ns", 800.0);
    near("up_rtt_max_ns", 601.0);
    assert_eq!(values["up_bits_per_s"], 5e6);
    assert_eq!(values["both_down_bits_per_s"], 5e6);
    assert_eq!(values["up_lost_share"], 0.0);
    assert!(!values.contains_key("idle_added_ns"));
    assert!(absent["up_rtt_p99_ns"].starts_with("needs 1,000 probes"));
    assert_eq!(found.window_ns, 12_000 * MS);
    assert_eq!(Grade::of(values["added_latency_ns"]), Grade::D);
}

#[test]
fn only_what_was_sent_while_the_load_stood_counts() {
    let mut up = phase(Load::Up, 500);
    // Half a second without load, whose probes are fast: they do not make the link any better.
    for slice in 10..15 {
        up.up_bytes[slice] = 0;
    }
    for probe in up.probes.iter_mut().filter(|own| (1000 * MS..1500 * MS).contains(&own.sent_ns)) {
        probe.rtt_ns = Some(MS);
    }
    // And those of the ramp do not count either.
    for probe in up.probes.iter_mut().filter(|own| own.sent_ns < 1000 * MS) {
        probe.rtt_ns = Some(MS);
    }
    let found = judge(run(vec![phase(Load::Idle, 1), up]), PROBE_NS).ok().unwrap();
    assert_eq!(found.detail.phase(Load::Up).unwrap().sent, 250);
    assert!(found.histograms["up"].min() > 400 * MS);
}

#[test]
fn a_dead_load_a_stalled_probe_and_a_lost_peer_are_no_good_link() {
    let dead = reason(|up| up.up_bytes.iter_mut().skip(25).for_each(|bytes| *bytes = 0));
    assert_eq!(dead, "phase up: the load was dead: bytes went to the peer in 3 of 6 half seconds");
    assert!(reason(|up| up.up_bytes.clear()).contains("in 0 of 6"));
    let stalled = reason(|up| up.probes.retain(|probe| probe.sent_ns < 2500 * MS));
    assert_eq!(stalled, "phase up: the probe stalled: 150 of 300 datagrams were sent in time");
    let lost = reason(|up| {
        up.probes
            .iter_mut()
            .filter(|own| own.sent_ns > 2000 * MS)
            .for_each(|own| own.rtt_ns = None);
    });
    assert!(lost.starts_with("phase up: the peer was lost: 199 of 300"), "{lost}");
    // Answered to the end, but rarely: the peer is there.
    let dropped = reason(|up| {
        up.probes.iter_mut().step_by(3).for_each(|own| own.rtt_ns = None);
        up.probes.iter_mut().skip(1).step_by(3).for_each(|own| own.rtt_ns = None);
    });
    assert!(dropped.starts_with("phase up: the link drops too much: "), "{dropped}");
}

fn on(fake: &Fake, asked: &Asked) -> Result<super::super::Ran, String> {
    let stop = AtomicBool::new(false);
    let area = super::super::Area { start: 0, length: 0, asked: 0, written: false, fill_ns: 0 };
    let medium = super::super::Medium { file: None, area, memory_alignment: 1, law: None };
    asked.planned().run(&Run {
        system: fake,
        medium,
        path: Path::new("."),
        ramp_ns: 0,
        time_ns: 1,
        seed: 1,
        caller: None,
        bystanders: &assay_load::Bystanders::default(),
        stop: &stop,
        lookout: None,
        limits: None,
    })
}

#[test]
fn without_a_peer_or_a_token_nothing_is_guessed() {
    let fake = Fake::new();
    let told = on(&fake, &Asked::sample()).unwrap_err();
    assert!(told.contains("assay peer --listen") && told.contains("--lab"), "{told}");
    let asked = Asked { peer: Some("192.0.2.1:7710".to_owned()), ..Asked::sample() };
    assert!(on(&fake, &asked).unwrap_err().contains("ASSAY_PEER_TOKEN"));
    fake.set_variable("ASSAY_PEER_TOKEN", "short");
    assert!(on(&fake, &asked).unwrap_err().contains("too short"));
    fake.set_variable("ASSAY_PEER_TOKEN", "long enough to be one");
    let ran = on(&fake, &asked).unwrap();
    assert!(ran.measured.values["up_added_ns"] > 5e8);
    fake.lose_peer("the peer was lost: connection reset");
    assert_eq!(on(&fake, &asked).unwrap_err(), "the peer was lost: connection reset");
    // Behind an interface that is gone nobody answers.
    fake.install("tc");
    let asked = Asked { interface: Some("eth9".to_owned()), ..asked };
    let gone = on(&fake, &asked).unwrap_err();
    assert!(gone.starts_with("eth9: there is no such interface (any more); the peer"), "{gone}");
}

#[test]
fn the_rate_that_shares_are_of_is_the_one_that_was_measured() {
    let mut planned = Asked { shaper: "80 %".parse().unwrap(), ..Asked::sample() }.planned();
    assert_eq!(planned.shaped().unwrap().base, None);
    assert_eq!(planned.drain_within(0, 1, &|_| true), None);
    planned.drain_within(1_600_000_000, 1, &|_| true);
    assert_eq!(planned.rate, Some(BitRate(5_000_000)));
    assert!(planned.words().contains("to-router held to 80 % = 4 Mbit/s"), "{}", planned.words());
    let lasting = planned.lasting();
    assert!(lasting[0].starts_with("with cake: tc qdisc replace dev to-router"), "{lasting:?}");
    assert!(lasting[3].contains("upload '4000'"), "{lasting:?}");
    let mut none = Planned { shaper: Shaper::NONE, ..planned };
    assert_eq!(none.lasting(), Vec::<String>::new());
    let told = none.drain_within(1_600_000_000, 1, &|name| name == "shaper").unwrap();
    assert!(told.contains("5 Mbit/s up"), "{told}");
}

#[test]
fn every_example_of_a_level_is_taken_and_nonsense_is_not() {
    for own in keys::PARAMETERS {
        let levels: Vec<serde_json::Value> = serde_json::from_str(own.about.example).unwrap();
        for level in levels {
            let text = level.as_str().map_or_else(|| level.to_string(), str::to_owned);
            (own.set)(&mut Asked::sample(), &text).unwrap();
        }
        let told = (own.set)(&mut Asked::sample(), "no such / thing").unwrap_err();
        assert!(!told.is_empty() && !told.contains('\n'), "{told}");
    }
}

#[test]
fn what_makes_no_sense_is_said() {
    let told = |own: Asked| own.obstacle().unwrap_or_default();
    assert_eq!(told(Asked::sample()), "");
    let phases = |own: &[Load]| Asked { phases: own.to_vec(), ..Asked::sample() };
    assert!(told(phases(&[Load::Up])).contains("idle"));
    assert!(told(phases(&[Load::Idle])).contains("says nothing"));
    let shaped = Asked { interface: None, shaper: "95 %".parse().unwrap(), ..Asked::sample() };
    assert!(told(shaped).contains("interface"));
}

#[test]
fn metrics_are_named_by_their_phase() {
    for load in Load::ALL {
        let own = of(load);
        assert_eq!(own.load, load);
        for metric in [own.half, own.tail, own.far, own.most, own.lost] {
            assert!(metric.name.starts_with(load.name()), "{}", metric.name);
            assert!(metrics::METRICS.contains(&metric), "{}", metric.name);
        }
        assert_eq!(own.added.is_some(), load != Load::Idle);
    }
}

#[test]
fn a_quick_look_has_as_many_probes_as_its_tail_needs() {
    let mut own = Asked::sample();
    own.hurry(None);
    // Four fifths of them may be all that was sent.
    assert!(own.phase.0 / own.probe.0 * 4 / 5 >= 200);
    assert!(own.phase < Asked::sample().phase);
    let fake = Fake::new();
    assert!(fake.variable("ASSAY_PEER_TOKEN").is_none());
}

#[test]
fn what_a_link_carries_is_told_from_what_streams_hand_over_at_once() {
    // Five megabits: a second is held back behind a hole and comes in one slice, another one at the end.
    let mut bytes = vec![62_500_u64; 100];
    bytes[30..40].fill(0);
    bytes[40] = 11 * 62_500;
    bytes[90..].fill(0);
    assert_eq!(carried(&bytes, 4_000 * MS), BitRate(5_000_000));
    assert_eq!(carried(&[], 4_000 * MS), BitRate(0));
    assert_eq!(carried(&bytes, 60_000 * MS), BitRate(0), "it ended before");
}

#[test]
fn what_was_lost_and_every_second_of_it_is_told() {
    let idle = PhaseRun { began_ns: 2000 * MS, ..phase(Load::Idle, 4) };
    let mut up = PhaseRun { began_ns: 6500 * MS, ..phase(Load::Up, 20) };
    up.probes.iter_mut().step_by(10).for_each(|probe| probe.rtt_ns = None);
    up.probes[151].rtt_ns = Some(90 * MS);
    let found = judge(run(vec![idle, up]), PROBE_NS).ok().unwrap();
    let (values, absent) = found.told;
    assert_eq!((values["idle_lost_share"], values["up_lost_share"]), (0.0, 0.1));
    assert!((values["up_rtt_max_ns"] / 90e6 - 1.0).abs() < 0.01);
    assert_eq!(absent["down_rtt_p50_ns"], "the study has no phase down");
    let detail = found.detail.phase(Load::Up).unwrap();
    assert_eq!(
        (detail.sent, detail.lost, detail.up, detail.down),
        (300, 30, Some(BitRate(5_000_000)), None)
    );
    assert_eq!(found.histograms["up"].len(), 270);
    let rows: Vec<_> = found
        .series
        .iter()
        .map(|row| {
            let [sum, most] = [row.latency_sum_ns, row.latency_max_ns].map(|ns| ns / MS);
            (row.second, row.class.as_str(), row.operations, row.bytes, sum, most)
        })
        .collect();
    // Ninety of a hundred come back in a second; one of the eighth took 90 ms. Ten slices are a second.
    let idle = |second| (second, "idle", 100, 0, 400, 4);
    let expected = [
        idle(2),
        idle(3),
        idle(4),
        idle(5),
        (6, "up", 45, 5 * 62_500, 900, 20),
        (7, "up", 90, 10 * 62_500, 1800, 20),
        (8, "up", 90, 10 * 62_500, 1870, 90),
        (9, "up", 90, 10 * 62_500, 1800, 20),
        (10, "up", 45, 5 * 62_500, 900, 20),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_phase_says_something_from_four_fifths_on() {
    let told = |change: &dyn Fn(&mut PhaseRun)| {
        let mut up = phase(Load::Up, 500);
        change(&mut up);
        judge(run(vec![phase(Load::Idle, 1), up]), PROBE_NS).map(drop).err().unwrap_or_default()
    };
    // One of six half seconds without load, and two.
    assert_eq!(told(&|up| up.up_bytes[10..15].fill(0)), "");
    assert!(told(&|up| up.up_bytes[10..20].fill(0)).contains("in 4 of 6 half seconds"));
    // A single slice of a half second with something in it is load.
    assert_eq!(told(&|up| up.up_bytes[11..19].fill(0)), "");
    assert_eq!(told(&|up| up.probes.retain(|own| own.sent_ns < 3400 * MS)), "");
    assert!(told(&|up| up.probes.retain(|own| own.sent_ns < 3390 * MS)).contains("239 of 300"));
    let answered = |share: usize| {
        move |up: &mut PhaseRun| {
            let own = up.probes.iter_mut().enumerate();
            own.filter(|(at, _)| at % 100 >= share).for_each(|(_, probe)| probe.rtt_ns = None);
        }
    };
    assert_eq!(told(&answered(50)), "");
    assert!(told(&answered(49)).contains("153 of 300 datagrams did not come back"));
}
