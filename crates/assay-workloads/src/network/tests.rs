use std::collections::BTreeMap;

use assay_machine::system::network::{
    BitRate, LinkRun, NetworkProbe, PhaseJob, PhaseRun, SLICE_NS, Shaper,
};
use assay_machine::system::{Fake, System};

use super::grade::Grade;
use super::judge::{capacity, judge};
use super::metrics::for_load;
use super::*;
use crate::testing;
use crate::workload::{DeclaredKeys as _, PlannedWork, WorkloadSpec};

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
        probes: sent.map(|at| NetworkProbe { sent_ns: at, rtt_ns: Some(rtt_ms * MS) }).collect(),
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
    told.err().expect("it sends nothing")
}

#[test]
fn what_load_adds_is_told_against_the_idle_link() {
    let all = [(Load::Idle, 1), (Load::Up, 601), (Load::Down, 21), (Load::Both, 801)];
    let found = judge(run(all.map(|(load, ms)| phase(load, ms)).to_vec()), PROBE_NS).ok().unwrap();
    let (values, absent) = found.values;
    let near = |name: &str, ms: f64| {
        let value = values[name] / MS as f64;
        assert!((value / ms - 1.0).abs() < 0.01, "{name}: {value} is not {ms}");
    };
    near("up_added_ns", 600.0);
    near("added_latency_ns", 310.0);
    near("added_latency_p95_ns", 800.0);
    near("up_rtt_max_ns", 601.0);
    // Of the phases with load in one direction: 60 s over 601 ms, and over 21 ms.
    let per_minute = f64::midpoint(60_000.0 / 601.0, 60_000.0 / 21.0);
    let found_per_minute = values["round_trips_per_min"];
    assert!((found_per_minute / per_minute - 1.0).abs() < 0.01, "{found_per_minute}");
    assert_eq!(values["up_bits_per_s"], 5e6);
    assert_eq!(values["both_down_bits_per_s"], 5e6);
    assert_eq!(values["up_lost_share"], 0.0);
    assert!(!values.contains_key("idle_added_ns"));
    assert!(absent["up_rtt_p99_ns"].starts_with("needs 1,000 probes"));
    assert_eq!(found.window_ns, 12_000 * MS);
    assert_eq!(Grade::from_added_ns(values["added_latency_ns"]), Grade::D);
}

#[test]
fn round_trips_per_minute_are_those_of_one_way_at_a_time() {
    let of = |loaded: &[(Load, u64)]| {
        let phases = [&[(Load::Idle, 1)], loaded].concat();
        let phases = phases.into_iter().map(|(load, ms)| phase(load, ms)).collect();
        judge(run(phases), PROBE_NS).ok().unwrap().values.0.get("round_trips_per_min").copied()
    };
    let up = of(&[(Load::Up, 500)]).unwrap();
    assert!((up / 120.0 - 1.0).abs() < 0.01, "{up}");
    assert_eq!(of(&[(Load::Up, 500), (Load::Both, 50)]), Some(up), "both at once are none of them");
    assert_eq!(of(&[(Load::Both, 500)]), None);
}

#[test]
fn only_what_was_sent_while_the_load_stood_counts() {
    let mut up = phase(Load::Up, 500);
    // Half a second without load and with fast probes: these do not improve the result.
    for slice in 10..15 {
        up.up_bytes[slice] = 0;
    }
    for probe in up.probes.iter_mut().filter(|own| (1000 * MS..1500 * MS).contains(&own.sent_ns)) {
        probe.rtt_ns = Some(MS);
    }
    // Neither do those of the ramp.
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
    assert!(dead.contains("moved to the peer in only 3 of 6 half-second"), "{dead}");
    assert!(reason(|up| up.up_bytes.clear()).contains("in only 0 of 6"));
    let stalled = reason(|up| up.probes.retain(|probe| probe.sent_ns < 2500 * MS));
    assert_eq!(
        stalled,
        "phase up: the probe stalled: Assay sent only 150 of 300 datagrams on time"
    );
    let lost = reason(|up| {
        up.probes
            .iter_mut()
            .filter(|own| own.sent_ns > 2000 * MS)
            .for_each(|own| own.rtt_ns = None);
    });
    assert!(lost.starts_with("phase up: the peer was lost: 199 of 300"), "{lost}");
    // Few answers, but until the end: the peer is alive.
    let dropped = reason(|up| {
        up.probes.iter_mut().step_by(3).for_each(|own| own.rtt_ns = None);
        up.probes.iter_mut().skip(1).step_by(3).for_each(|own| own.rtt_ns = None);
    });
    assert!(dropped.starts_with("phase up: the link drops too much: "), "{dropped}");
}

fn on(fake: &Fake, asked: &NetworkSpec) -> Result<super::super::RunResult, String> {
    asked.planned().run(&testing::run_on(fake, testing::NO_AREA, None))
}

#[test]
fn without_a_peer_or_a_token_nothing_is_guessed() {
    let fake = Fake::new();
    let told = on(&fake, &NetworkSpec::default()).unwrap_err();
    assert!(told.contains("assay peer --listen") && told.contains("--scratch"), "{told}");
    let asked = NetworkSpec { peer: Some("192.0.2.1:7710".to_owned()), ..Default::default() };
    assert!(on(&fake, &asked).unwrap_err().contains("ASSAY_PEER_TOKEN"));
    fake.set_variable("ASSAY_PEER_TOKEN", "short");
    assert!(on(&fake, &asked).unwrap_err().contains("too short"));
    fake.set_variable("ASSAY_PEER_TOKEN", "long enough to be one");
    let ran = on(&fake, &asked).unwrap();
    assert!(ran.measured.values["up_added_ns"] > 5e8);
    fake.lose_peer("the peer was lost: connection reset");
    assert_eq!(on(&fake, &asked).unwrap_err(), "the peer was lost: connection reset");
    // Without the interface, nothing answers.
    fake.install("tc");
    let asked = NetworkSpec { interface: Some("eth9".to_owned()), ..asked };
    let gone = on(&fake, &asked).unwrap_err();
    assert!(gone.starts_with("eth9: interface not found; the peer"), "{gone}");
}

#[test]
fn the_rate_that_shares_are_of_is_the_one_that_was_measured() {
    let mut planned =
        NetworkSpec { shaper: "80%".parse().unwrap(), ..Default::default() }.planned();
    assert_eq!(planned.shaping().unwrap().base, None);
    assert_eq!(planned.drain_within(0, 1, &|_| true), None);
    planned.drain_within(1_600_000_000, 1, &|_| true);
    assert_eq!(planned.rate, Some(BitRate(5_000_000)));
    assert!(planned.words().contains("to-router limited to 80% = 4 Mbit/s"), "{}", planned.words());
    let lasting = planned.permanent_commands();
    assert!(lasting[0].starts_with("with cake: tc qdisc replace dev to-router"), "{lasting:?}");
    assert!(lasting[3].contains("upload '4000'"), "{lasting:?}");
    let mut none = NetworkPlan { shaper: Shaper::NONE, ..planned };
    assert_eq!(none.permanent_commands(), Vec::<String>::new());
    let told = none.drain_within(1_600_000_000, 1, &|name| name == "shaper").unwrap();
    assert!(told.contains("of 5 Mbit/s"), "{told}");
}

#[test]
fn what_makes_no_sense_is_said() {
    let told = |own: NetworkSpec| own.obstacle().unwrap_or_default();
    assert_eq!(told(NetworkSpec::default()), "");
    let phases = |own: &[Load]| NetworkSpec { phases: own.to_vec(), ..Default::default() };
    assert!(told(phases(&[Load::Up])).contains("idle"));
    assert!(told(phases(&[Load::Idle])).contains("added latency requires load"));
    let shaped =
        NetworkSpec { interface: None, shaper: "95%".parse().unwrap(), ..Default::default() };
    assert!(told(shaped).contains("interface"));
}

#[test]
fn metrics_are_named_by_their_phase() {
    for load in Load::ALL {
        let own = for_load(load);
        assert!(own.iter().all(|metric| metric.name.starts_with(load.name())));
        assert!(metrics::METRICS.contains(&own));
        assert_eq!(own.len(), if load == Load::Idle { 5 } else { 7 });
    }
}

/// Network needs of a link in a study with these factors.
fn asks(own: &NetworkSpec, factors: &[(&str, &[&str])]) -> LinkNeeds {
    let owned = |text: &&str| (*text).to_owned();
    let factors: BTreeMap<String, Vec<String>> = factors
        .iter()
        .map(|(name, levels)| (owned(name), levels.iter().map(owned).collect()))
        .collect();
    own.link_needs(&InStudy::new(&factors))
}

#[test]
fn factors_say_to_whom_a_link_leads_and_what_is_shaped() {
    let nobody = NetworkSpec { peer: None, interface: None, ..Default::default() };
    let alone = asks(&nobody, &[]);
    let told = alone.to_nobody.as_deref().unwrap_or_default();
    assert!(told.contains("assay peer --listen"), "{told}");
    assert_eq!(LinkNeeds { to_nobody: None, ..alone }, LinkNeeds::default());
    let peers = asks(&nobody, &[("peer", &["h:1", "h:2"])]);
    assert_eq!(peers, LinkNeeds::default());
    // A shaper without an interface changes nothing: this is reported elsewhere.
    let shaped = asks(&nobody, &[("shaper", &["none", "80%"])]);
    assert!(shaped.shaped && !shaped.changes && shaped.interfaces.is_empty());
    let named = asks(&nobody, &[("interface", &["eth1", "eth0"])]);
    assert!(named.changes && !named.shaped);
    assert_eq!(named.interfaces, ["eth1", "eth0"]);
    let own = NetworkSpec { interface: Some("eth7".to_owned()), ..nobody };
    assert_eq!(asks(&own, &[("shaper", &["80%"])]).interfaces, ["eth7"]);
    assert_eq!(asks(&own, &[("interface", &["eth0"])]).interfaces, ["eth0"], "levels come first");
    assert_eq!(asks(&own, &[("streams", &["1", "16"])]), asks(&own, &[]), "no concern of it");
}

/// Amounts have one spelling, and names are unchanged.
#[test]
fn only_the_shaper_has_amounts_of_its_own() {
    let all = NetworkSpec::FACTORS.iter().map(|own| own.about);
    let amounts: Vec<_> = all.filter_map(|own| Some((own.about.name, own.written?))).collect();
    let [("shaper", written)] = amounts[..] else { panic!("{amounts:?}") };
    for (one, other) in [
        ("82%", "82%"),
        (" 82%", "82%"),
        ("cake:7Mbit/s", "cake:7 Mbit/s"),
        ("deep:80%", "deep:80%"),
        ("none", "none"),
    ] {
        assert_eq!(written(one).as_deref(), Some(other));
    }
    for wrong in ["", "82", "cake", "64 KiB", "some 80%", "300%"] {
        assert_eq!(written(wrong), None, "{wrong}");
    }
}

#[test]
fn a_laboratory_is_made_for_its_own_peer_alone() {
    let link = |peer: Option<&str>| NetworkSpec {
        peer: peer.map(str::to_owned),
        interface: None,
        ..Default::default()
    };
    for peer in [None, Some("192.168.1.2:7710"), Some("lab:7710"), Some("Lab"), Some("")] {
        let plain = asks(&link(peer), &[]);
        assert!(!plain.in_lab && !plain.changes && !plain.shaped, "{peer:?}");
        assert_eq!(plain.to_nobody.is_some(), peer.is_none(), "{peer:?}");
        let shaped = NetworkSpec { interface: Some("eth0".to_owned()), ..link(peer) };
        let changed = asks(&shaped, &[]);
        assert!(!changed.in_lab && changed.changes, "{peer:?}");
        assert_eq!(shaped.planned().shaping().unwrap().namespace, None, "this machine's own");
    }
    let mut own = link(Some("local"));
    let in_lab = asks(&own, &[]);
    assert!(in_lab.in_lab && in_lab.changes);
    own = link(None);
    assert!(own.move_to_lab() && asks(&own, &[]).in_lab);
    let namespace = own.planned().shaping().unwrap().namespace;
    assert_eq!(namespace.as_deref(), Some(lab::CLIENT));
}

#[test]
fn a_quick_look_has_as_many_probes_as_its_tail_needs() {
    let mut own = NetworkSpec::default();
    own.make_quick(None);
    // Only four fifths of them may have been sent.
    assert!(own.phase_time.0 / own.probe_interval.0 * 4 / 5 >= 200);
    assert!(own.phase_time < NetworkSpec::default().phase_time);
    let fake = Fake::new();
    assert!(fake.variable("ASSAY_PEER_TOKEN").is_none());
}

#[test]
fn what_a_link_carries_is_told_from_what_streams_hand_over_at_once() {
    // Five megabits: one second is delayed and arrives in one slice, another one at the end.
    let mut bytes = vec![62_500_u64; 100];
    bytes[30..40].fill(0);
    bytes[40] = 11 * 62_500;
    bytes[90..].fill(0);
    assert_eq!(capacity(&bytes, 4_000 * MS), BitRate(5_000_000));
    assert_eq!(capacity(&[], 4_000 * MS), BitRate(0));
    assert_eq!(capacity(&bytes, 60_000 * MS), BitRate(0), "it ended before");
}

#[test]
fn what_was_lost_and_every_second_of_it_is_told() {
    let idle = PhaseRun { began_ns: 2000 * MS, ..phase(Load::Idle, 4) };
    let mut up = PhaseRun { began_ns: 6500 * MS, ..phase(Load::Up, 20) };
    up.probes.iter_mut().step_by(10).for_each(|probe| probe.rtt_ns = None);
    up.probes[151].rtt_ns = Some(90 * MS);
    let found = judge(run(vec![idle, up]), PROBE_NS).ok().unwrap();
    let (values, absent) = found.values;
    assert_eq!((values["idle_lost_share"], values["up_lost_share"]), (0.0, 0.1));
    assert!((values["up_rtt_max_ns"] / 90e6 - 1.0).abs() < 0.01);
    assert_eq!(absent["down_rtt_p50_ns"], "the study does not have the phase down");
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
    // 90 of 100 are answered in a second; one in the eighth took 90 ms. Ten slices per second.
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
    // One of six half-second intervals without load, then two.
    assert_eq!(told(&|up| up.up_bytes[10..15].fill(0)), "");
    assert!(
        told(&|up| up.up_bytes[10..20].fill(0)).contains("in only 4 of 6 half-second intervals")
    );
    // A half second with data in a single slice counts as loaded.
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
    assert!(told(&answered(49)).contains("153 of 300 datagrams were not returned"));
}

#[test]
fn a_phase_has_twenty_probes_at_least() {
    let told = |count: u64| {
        let thin = |load: Load| {
            let mut own = phase(load, 50);
            let every = 3000 * MS / count;
            let at = |number: u64| NetworkProbe {
                sent_ns: 1000 * MS + number * every,
                rtt_ns: Some(MS),
            };
            own.probes = (0..count).map(at).collect();
            own
        };
        judge(run(vec![thin(Load::Idle), thin(Load::Up)]), 3000 * MS / count).map(drop)
    };
    assert_eq!(told(20), Ok(()));
    let few = told(19).unwrap_err();
    assert_eq!(few, "phase idle: the probe stalled: Assay sent only 19 of 19 datagrams on time");
}

#[test]
fn what_load_adds_is_never_finer_than_a_tenth_of_a_millisecond() {
    let with = |idle_ms: u64, up_ms: u64| {
        let found = judge(run(vec![phase(Load::Idle, idle_ms), phase(Load::Up, up_ms)]), PROBE_NS);
        let (values, _) = found.ok().unwrap().values;
        [values["up_added_ns"], values["added_latency_ns"], values["added_latency_p95_ns"]]
    };
    assert_eq!(with(5, 5), [1e5; 3], "as fast");
    assert_eq!(with(50, 5), [1e5; 3], "faster, even");
    assert!(with(5, 6)[0] > 9e5);
}

#[test]
fn a_round_trip_of_more_than_a_minute_is_one_of_a_minute() {
    let mut up = phase(Load::Up, 10);
    up.probes[150].rtt_ns = Some(3600 * 1000 * MS);
    let found = judge(run(vec![phase(Load::Idle, 1), up]), PROBE_NS).ok().unwrap();
    let longest = found.values.0["up_rtt_max_ns"] / 1e9;
    assert!((60.0..61.0).contains(&longest), "{longest}");
}

#[test]
fn a_peer_is_lost_where_the_last_twenty_are() {
    let told = |silent: usize| {
        reason(|up| {
            let count = up.probes.len();
            for (at, probe) in up.probes.iter_mut().enumerate() {
                if at % 3 > 0 || at >= count - silent {
                    probe.rtt_ns = None;
                }
            }
            up.probes[count - silent - 1].rtt_ns = Some(MS);
        })
    };
    assert!(told(20).starts_with("phase up: the peer was lost: "), "{}", told(20));
    assert!(told(19).starts_with("phase up: the link drops too much: "), "{}", told(19));
}

#[test]
fn of_both_ways_only_where_both_stood_counts() {
    let mut both = phase(Load::Both, 30);
    both.up_bytes[10..15].fill(0);
    both.down_bytes[35..40].fill(0);
    let found = judge(run(vec![phase(Load::Idle, 1), both]), PROBE_NS).ok().unwrap();
    assert_eq!(found.detail.phase(Load::Both).unwrap().sent, 200);
    // The message names the dead direction.
    let mut down = phase(Load::Both, 30);
    down.down_bytes.fill(0);
    let told = judge(run(vec![phase(Load::Idle, 1), down]), PROBE_NS).err().unwrap();
    assert_eq!(
        told,
        "phase both: the load stalled: data moved from the peer in only 0 of 6 half-second intervals"
    );
}

#[test]
fn counted_are_probes_that_came_back() {
    use crate::measured::Counts as _;
    let mut up = phase(Load::Up, 20);
    up.probes.iter_mut().step_by(10).for_each(|probe| probe.rtt_ns = None);
    let found = judge(run(vec![phase(Load::Idle, 1), up]), PROBE_NS).ok().unwrap();
    assert_eq!(found.detail.operations(), 300 + 270);
    assert!(found.detail.phase(Load::Down).is_none());
}

#[test]
fn by_hand_a_link_is_a_line_of_flent() {
    let how = |asked: NetworkSpec, rate| {
        let planned = NetworkPlan { rate, ..asked.planned() };
        let how = testing::manual_run("link", ".");
        planned.by_hand(&crate::ManualRun { note: Some("a note"), ..how })
    };
    let peer = Some("192.168.1.2:7710".to_owned());
    let plain = how(NetworkSpec { peer: peer.clone(), ..Default::default() }, None);
    let words = "flent tcp_nup -l 6 -H 192.168.1.2 --test-parameter upload_streams=16";
    assert_eq!(plain.words.join(" "), words);
    assert_eq!(plain.remarks.len(), 3);
    assert_eq!(
        plain.remarks[1],
        "congestion control: sysctl net.ipv4.tcp_congestion_control=cubic"
    );
    let nobody = how(NetworkSpec { phase_time: Time(MS), ..Default::default() }, None);
    assert_eq!(nobody.words[3..6], ["1", "-H", "PEER"]);
    let interface = Some("eth0".to_owned());
    let shaper: Shaper = "80%".parse().unwrap();
    let shaped = NetworkSpec { peer, interface, shaper, ..Default::default() };
    let unknown = how(shaped.clone(), None).remarks;
    assert!(unknown[2].contains("limit eth0 to 80% of the measured"), "{unknown:?}");
    let known = how(shaped, Some(BitRate(5_000_000))).remarks;
    let line = "first: tc qdisc add dev eth0 root handle a55a: cake bandwidth 4000000bit";
    assert_eq!((known[2].as_str(), known.len()), (line, 4));
}

#[test]
fn a_router_is_told_kilobits_and_the_laboratory_has_no_interface() {
    let asked = |peer: &str| NetworkSpec {
        peer: Some(peer.to_owned()),
        interface: Some("eth0".to_owned()),
        shaper: "2 Mbit/s".parse().unwrap(),
        ..Default::default()
    };
    let lines = asked("h:1").planned().permanent_commands();
    assert!(lines[0].contains("dev eth0 root") && lines.len() == 4, "{lines:?}");
    let sqm =
        "on a router with sqm-scripts: option upload '2000', option script 'piece_of_cake.qos'";
    assert_eq!(lines[3], sqm);
    let lab = asked(LAB).planned().permanent_commands();
    assert!(lab[0].contains("dev INTERFACE root"), "{lab:?}");
}

#[test]
fn a_rate_is_taken_to_the_kilobit() {
    let mut planned = NetworkSpec::default().planned();
    // A million bytes in 1.6001 s are 4,999,687 bits per second.
    assert_eq!(planned.drain_within(1_600_100_000, 1, &|_| false), None);
    assert_eq!(planned.rate, Some(BitRate(4_999_000)));
    let told = planned.drain_within(1_600_100_000, 1, &|name| name == "shaper").unwrap();
    assert!(told.contains("4.999 Mbit/s"), "{told}");
    planned.shaper = "80%".parse().unwrap();
    assert_eq!(planned.drain_within(1_600_100_000, 1, &|_| true), None, "it is no news there");
}

#[test]
fn peers_streams_and_interfaces_have_their_limits() {
    let set = |name: &str, text: &str| {
        let own = NetworkSpec::FACTORS.iter().find(|own| own.about.about.name == name).unwrap();
        let mut asked = NetworkSpec::default();
        (own.set)(&mut asked, text).map(|()| asked)
    };
    for peer in ["h:1", "192.168.1.2:65535", "[::1]:7710"] {
        assert_eq!(set("peer", peer).unwrap().peer.as_deref(), Some(peer));
    }
    for wrong in [":7710", "h:0", "h:65536", "h", "h:", "lab:x"] {
        assert!(set("peer", wrong).unwrap_err().contains("192.168.1.2:7710, or lab"), "{wrong}");
    }
    assert_eq!(set("peer", "local").unwrap().interface.as_deref(), Some("to-router"));
    assert_eq!([1, 64].map(|own| set("streams", &own.to_string()).unwrap().streams), [1, 64]);
    for wrong in ["0", "65", "-1", "many"] {
        assert!(set("streams", wrong).unwrap_err().contains("from 1 to 64"), "{wrong}");
    }
    for name in ["a", "abcdefghijklmno", "eth0.1", "a-b"] {
        assert_eq!(set("interface", name).unwrap().interface.as_deref(), Some(name));
    }
    for wrong in ["", "abcdefghijklmnop", "a/b", "a:b", "a%b", "a b", "-a", "\u{e4}"] {
        assert!(set("interface", wrong).is_err(), "{wrong}");
    }
    assert_eq!(set("congestion_control", "bbr").unwrap().congestion_control, "bbr");
    let is_work = NetworkSpec::FACTORS.iter().map(|own| (own.about.about.name, own.about.is_work));
    assert_eq!(
        is_work.collect::<Vec<_>>(),
        [
            ("peer", true),
            ("streams", true),
            ("congestion_control", true),
            ("interface", false),
            ("shaper", false)
        ]
    );
}

#[test]
fn costs_are_those_of_the_same_link() {
    let work = |own: NetworkSpec| crate::Work::from(own);
    let own = NetworkSpec::default();
    assert!(own.costs_like(&work(NetworkSpec { phase_time: Time(MS), ..Default::default() })));
    assert!(!own.costs_like(&work(NetworkSpec { streams: 1, ..Default::default() })));
    assert!(!own.costs_like(&work(NetworkSpec {
        congestion_control: "bbr".to_owned(),
        ..Default::default()
    })));
    assert!(
        !own.costs_like(&work(NetworkSpec { peer: Some("h:1".to_owned()), ..Default::default() }))
    );
}

#[test]
fn letters_change_at_their_milliseconds() {
    let of = |ms: f64| Grade::from_added_ns(ms * 1e6).to_string();
    assert_eq!([5.0, 30.0, 60.0, 200.0, 400.0].map(of), ["A", "B", "C", "D", "F"]);
    assert_eq!([4.999, 29.999, 59.999, 199.999, 399.999].map(of), ["A+", "A", "B", "C", "D"]);
}

#[test]
fn rates_are_bits_and_belong_to_their_ways() {
    let told = ["up_bits_per_s", "down_bits_per_s", "both_up_bits_per_s", "both_down_bits_per_s"];
    // The suffix shows that they are in bits.
    assert!(told.iter().all(|name| name.ends_with("_bits_per_s")));
    let of = |load| metrics::rates(load).map(|rate| rate.map(|rate| rate.name));
    assert_eq!(of(Load::Idle), [None, None]);
    assert_eq!(of(Load::Up), [Some(told[0]), None]);
    assert_eq!(of(Load::Down), [None, Some(told[1])]);
    assert_eq!(of(Load::Both), [Some(told[2]), Some(told[3])]);
    assert_eq!(metrics::of_phase(Load::Idle).count(), 5);
    assert_eq!(metrics::of_phase(Load::Both).count(), 9);
}

#[test]
fn a_round_trip_of_no_time_is_one_of_a_nanosecond() {
    let mut idle = phase(Load::Idle, 1);
    idle.probes.iter_mut().for_each(|probe| probe.rtt_ns = Some(0));
    let found = judge(run(vec![idle, phase(Load::Up, 9)]), PROBE_NS).ok().unwrap();
    let (values, _) = found.values;
    assert_eq!([values["idle_rtt_p50_ns"], values["idle_rtt_max_ns"]], [1.0; 2]);
}
