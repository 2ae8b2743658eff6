use std::collections::BinaryHeap;

use assay_core::draws::Draws;
use assay_core::presence::Presence;
use assay_machine::probes::disk::{DeviceEvidence, Traffic};
use assay_machine::probes::service::Served;
use assay_machine::system::site::Layer;
use assay_study::findings::Trust;
use assay_testkit::needs::is_sampled;

use super::super::testing::Bench;
use super::*;

const MS: f64 = 1e6;

/// 4 KiB writes to a mirror of two or more members, each with this write latency in milliseconds.
fn mirror(ms_each: &[u64]) -> Bench {
    let names: Vec<String> =
        (0..ms_each.len()).map(|at| format!("sd{}", (b'a' + at as u8) as char)).collect();
    let ms_each = ms_each.to_vec();
    let members = names.clone();
    let bench = Bench::write().each(move |trial| {
        let told = members.iter().zip(&ms_each).map(|(name, each)| {
            let run = Traffic {
                span_ns: 1_000_000_000,
                writes: 100,
                write_bytes: 409_600,
                read_ms: Some(0),
                write_ms: Some(100 * each),
                busy_ms: 100 * each,
                weighted_ms: 100 * each,
                ..Traffic::default()
            };
            let settle = Traffic { read_ms: Some(0), write_ms: Some(0), ..Traffic::default() };
            (name.clone(), DeviceEvidence { run, settle, ..DeviceEvidence::default() })
        });
        trial.evidence.disk = Presence::Present(told.collect());
    });
    bench.site(|site| {
        let disk = site.layers[0].clone();
        let layer = |name: &String| Layer { name: name.clone(), ..disk.clone() };
        site.layers = names.iter().map(layer).collect();
        (site.counted, site.shared) = (names.clone(), names);
        if let Presence::Present(mount) = &mut site.mount {
            mount.filesystem = "btrfs".to_owned();
        }
    })
}

fn device<'a>(trial: &'a mut Trial, name: &str) -> &'a mut Traffic {
    match &mut trial.evidence.disk {
        Presence::Present(devices) => &mut devices.get_mut(name).unwrap().run,
        Presence::Absent(_) => panic!("the bench has devices"),
    }
}

#[test]
fn speaks_of_a_member_that_takes_twice_as_long() {
    let remark = mirror(&[40, 10, 9]).judge(&RULE).unwrap();
    assert_eq!(remark.trust, Trust::Trusted);
    assert_eq!(
        remark.text,
        "sda (Example SSD) is the slow member of btrfs of sda, sdb and sdc: 40 ms per request, 4.21 times the median of the others (9.5 ms), in 3 of 3 trials"
    );
    let two = mirror(&[10, 21]).judge(&RULE).unwrap();
    assert!(two.text.starts_with("sdb is the slow member of btrfs of sda and sdb"), "{}", two.text);
}

#[test]
fn silent_on_members_that_are_alike_and_on_what_is_not_told() {
    assert_eq!(mirror(&[10, 10]).judge(&RULE), None);
    assert_eq!(mirror(&[10, 18, 11]).judge(&RULE), None);
    assert_eq!(mirror(&[10]).judge(&RULE), None);
    assert_eq!(Bench::read().judge(&RULE), None);
    let old = mirror(&[10, 90]).each(|trial| device(trial, "sda").write_ms = None);
    assert_eq!(old.judge(&RULE), None, "a bundle of an earlier version");
    let blind = mirror(&[10, 90]).each(|trial| trial.evidence.disk = Presence::absent("not there"));
    assert_eq!(blind.judge(&RULE), None);
}

#[test]
fn one_trial_of_three_or_another_member_each_time_is_chance() {
    let once = mirror(&[10, 10]).first(2, |trial| device(trial, "sdb").write_ms = Some(9_000));
    assert_eq!(once.judge(&RULE), None);
    let mut turns = mirror(&[10, 10, 10]);
    for (trial, name) in turns.trials.iter_mut().zip(["sda", "sdb", "sdc"]) {
        device(trial, name).write_ms = Some(9_000);
    }
    assert_eq!(turns.judge(&RULE), None);
}

#[test]
fn the_more_trials_the_fewer_of_them_are_needed() {
    let judged = |slow: usize, of: usize| -> Vec<Slowest> {
        let one = |at: usize| Slowest {
            device: "sda".to_owned(),
            class: "write",
            mean_ns: 1.0,
            others_ns: 1.0,
            ratio: 1.0,
            is_slow: at < slow,
        };
        (0..of).map(one).collect()
    };
    let fewest = |of: usize, members: usize| {
        (0..=of).find(|slow| clearly_slow(&judged(*slow, of), members).is_some())
    };
    assert_eq!(
        [2, 3, 4, 6, 10, 30].map(|of| fewest(of, 2)),
        [None, Some(3), Some(4), Some(5), Some(7), Some(20)]
    );
    assert_eq!([3, 4, 6, 30].map(|of| fewest(of, 6)), [Some(3), Some(3), Some(4), Some(20)]);
}

#[test]
fn what_was_traced_in_the_driver_counts_where_it_is_of_all_members() {
    let span = |ns: u64| {
        let issued = assay_machine::probes::block_latency::counts::Latencies {
            sum_ns: 100 * ns,
            buckets: vec![[1, 100]],
        };
        let class = ClassSpan { requests: 100, bytes: 409_600, issued, ..ClassSpan::default() };
        Presence::Present([("write".to_owned(), class)].into())
    };
    let with = |devices: Vec<(String, Presence<_>)>| {
        mirror(&[10, 40]).each(move |trial| {
            trial.evidence.block_latency =
                Presence::Present(assay_machine::probes::block_latency::counts::BlockLatency {
                    means: assay_machine::probes::block_latency::counts::Means::Bpf,
                    span_ns: 1,
                    devices: devices.iter().cloned().collect(),
                    unseen_beginnings: 0,
                    notes: Vec::new(),
                });
        })
    };
    let both = with(vec![("sda".into(), span(90_000_000)), ("sdb".into(), span(10_000_000))]);
    assert!(both.judge(&RULE).unwrap().text.starts_with("sda"), "the driver had it longer");
    let one = with(vec![("sda".into(), span(90_000_000))]);
    assert!(one.judge(&RULE).unwrap().text.starts_with("sdb"), "by the counters of both");
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Each request to a random member.
    Stripe,
    /// Each request to all members.
    Mirror,
    /// Each client always uses the same member.
    Pinned,
    /// Each request to one of the other members, and to the first.
    Parity,
    /// Each request to a random member, and sometimes small ones to the first.
    Metadata,
}

/// A small simulation: closed-loop clients, members that serve some requests at a time in FIFO order, and the kernel's
/// counters of it.
struct Lab {
    pattern: Pattern,
    clients: usize,
    servers: usize,
    /// Mean service time of each member, nanoseconds.
    mean_ns: Vec<f64>,
    /// Standard deviation of the logarithm of service times.
    sd: f64,
    stragglers: bool,
}

/// Events by time, the earliest first.
struct At(f64, usize);

impl PartialEq for At {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl Lab {
    const OPERATIONS: usize = 150;

    fn uniform(draws: &mut Draws) -> f64 {
        (draws.below(1 << 53) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn time_ns(&self, member: usize, draws: &mut Draws) -> f64 {
        let (radius, angle) = (Self::uniform(draws), Self::uniform(draws));
        let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
        let held_up = self.stragglers && draws.below(100) == 0;
        let times = if held_up { 50.0 } else { 1.0 };
        times * self.mean_ns[member] * (self.sd * normal - self.sd * self.sd / 2.0).exp()
    }

    /// Members for a request of a client, with the size for each.
    fn route(&self, client: usize, draws: &mut Draws) -> Vec<(usize, u64)> {
        let many = self.mean_ns.len();
        let any = draws.below(many as u64) as usize;
        match self.pattern {
            Pattern::Mirror => (0..many).map(|member| (member, 4096)).collect(),
            Pattern::Pinned => vec![(client.min(many - 1), 4096)],
            Pattern::Parity => vec![(1 + any % (many - 1), 4096), (0, 4096)],
            Pattern::Metadata if draws.below(10) == 0 => vec![(0, 512), (any, 4096)],
            Pattern::Stripe | Pattern::Metadata => vec![(any, 4096)],
        }
    }

    fn trial(&self, draws: &mut Draws) -> Vec<Work> {
        let many = self.mean_ns.len();
        let mut free = vec![vec![0.0_f64; self.servers]; many];
        let mut lives: Vec<Vec<(f64, f64)>> = vec![Vec::new(); many];
        let mut bytes = vec![0; many];
        let mut events: BinaryHeap<At> =
            (0..self.clients).map(|client| At(client as f64, client)).collect();
        for _ in 0..Self::OPERATIONS * many {
            let Some(At(now, client)) = events.pop() else { break };
            let mut end = now;
            for (member, size) in self.route(client, draws) {
                let server = free[member].iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
                *server = server.max(now) + self.time_ns(member, draws);
                lives[member].push((now, *server));
                bytes[member] += size;
                end = end.max(*server);
            }
            events.push(At(end, client));
        }
        let phase = Self::uniform(draws) * MS;
        (0..many).map(|at| counted(at, &lives[at], bytes[at], phase, self)).collect()
    }

    fn named(&self, trials: usize, seed: u64) -> Option<String> {
        let mut draws = Draws::new(seed, "slow member");
        let judged: Vec<Slowest> =
            (0..trials).filter_map(|_| slowest(&self.trial(&mut draws))).collect();
        clearly_slow(&judged, self.mean_ns.len()).map(|found| found[0].device.clone())
    }
}

/// Counters of a member: sums truncated to milliseconds, busy time in 4 ms steps like the kernel's (a request that
/// starts in a new step adds that step, one that ends adds the time since then).
fn counted(at: usize, lives: &[(f64, f64)], bytes: u64, phase: f64, lab: &Lab) -> Work {
    const STEP: f64 = 4.0 * MS;
    let sum: f64 = lives.iter().map(|(from, to)| to - from).sum();
    let reported_ms = ((phase + sum) / MS).floor() - (phase / MS).floor();
    let mut edges: Vec<(f64, bool)> =
        lives.iter().flat_map(|(from, to)| [(*from, true), (*to, false)]).collect();
    edges.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let (mut stamp, mut flying, mut busy) = (0.0, 0, 0.0);
    for (when, begins) in edges {
        let now = (when / STEP).floor();
        if now > stamp {
            busy += if !begins || flying > 0 { now - stamp } else { 1.0 };
            stamp = now;
        }
        flying += if begins { 1 } else { -1 };
    }
    let served = Served { requests: lives.len() as u64, bytes, sum_ns: reported_ms * MS };
    let is_read = matches!(lab.pattern, Pattern::Pinned);
    Work {
        device: format!("sd{at}"),
        reads: if is_read { served } else { Served::default() },
        writes: if is_read { Served::default() } else { served },
        busy_ns: (busy * STEP).min(reported_ms * MS),
    }
}

const PATTERNS: [Pattern; 5] =
    [Pattern::Stripe, Pattern::Mirror, Pattern::Pinned, Pattern::Parity, Pattern::Metadata];

/// Every pattern with every number of members and clients, kind of member and spread.
fn labs(mean_ns: f64) -> Vec<Lab> {
    let mut all = Vec::new();
    for pattern in PATTERNS {
        for many in [2, 3, 5] {
            for (clients, servers) in [(1, 1), (4, 1), (16, 1), (16, 8)] {
                for (sd, stragglers) in [(0.2, false), (1.0, false), (0.5, true)] {
                    let mean_ns = vec![mean_ns; many];
                    all.push(Lab { pattern, clients, servers, mean_ns, sd, stragglers });
                }
            }
        }
    }
    all
}

#[test]
#[ignore = "nightly: 2 s"]
fn members_that_are_alike_are_never_accused() {
    for mean_ns in [0.1 * MS, 8.0 * MS] {
        let labs = labs(mean_ns);
        for (at, lab) in labs.iter().enumerate().filter(|(at, _)| is_sampled(*at as u64, 3)) {
            for (trials, seed) in [(3, 1), (3, 2), (8, 3)] {
                let found = lab.named(trials, seed + 10 * at as u64);
                assert_eq!(
                    found,
                    None,
                    "{:?} of {} with {} clients, {} at a time, {mean_ns} ns",
                    lab.pattern,
                    lab.mean_ns.len(),
                    lab.clients,
                    lab.servers
                );
            }
        }
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_member_that_takes_four_times_as_long_is_found_and_no_other() {
    let (mut found, mut all) = (0, 0);
    for (at, mut lab) in labs(8.0 * MS).into_iter().enumerate() {
        let slow = lab.mean_ns.len() - 1;
        lab.mean_ns[slow] *= 4.0;
        let named = lab.named(3, at as u64);
        let expected = Some(format!("sd{slow}"));
        assert!(named.is_none() || named == expected, "{:?}: {named:?}", lab.pattern);
        if matches!(lab.pattern, Pattern::Stripe | Pattern::Mirror) {
            all += 1;
            found += usize::from(named == expected);
        }
    }
    assert!(found * 10 >= all * 9, "{found} of {all}");
}
