//! Measurements of artificial studies, and their findings.

use std::sync::OnceLock;

use super::directory;
use assay_analysis::inference;
use assay_core::quantity::{Better, Scale};
use assay_study::findings::facts::{FilesystemFacts, OrderFacts, Unknown};
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::{
    AbsentCell, Because, Check, EnvironmentFacts, Findings, Sentence, SentenceRole, StudyFacts,
    TargetFacts, TrialValue, Trust, WorkloadFacts,
};
use assay_study::results::design::{Design, Factor, Order};
use assay_study::results::plan::Arm;
use assay_study::results::record::Repeats;
use assay_study::results::record::Status;
use assay_testkit::expected::{Expected, filled};

struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Approximately normal, standard deviation 1.
    fn normal(&mut self) -> f64 {
        let sum: f64 = (0..12).map(|_| self.next() as f64 / (1_u64 << 31) as f64).sum();
        sum - 6.0
    }

    fn shuffle<T>(&mut self, things: &mut [T]) {
        for end in (1..things.len()).rev() {
            things.swap(end, self.next() as usize % (end + 1));
        }
    }
}

struct Bench {
    title: &'static str,
    kind: &'static str,
    factors: Vec<Factor>,
    baseline: Arm,
    order: Order,
    control: bool,
    replicates: u32,
    /// Standard deviation of a trial, as a fraction.
    noise: f64,
    targets: Vec<TargetFacts>,
    workloads: Vec<Work>,
    live: Vec<String>,
    seed: u64,
}

struct Work {
    name: &'static str,
    text: &'static str,
    metrics: Vec<&'static str>,
    truth: fn(&Arm) -> f64,
}

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor {
        name: name.to_owned(),
        levels: levels.iter().map(|level| (*level).to_owned()).collect(),
    }
}

fn arm(pairs: &[(&str, &str)]) -> Arm {
    pairs.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

impl Bench {
    fn new(title: &'static str, factors: Vec<Factor>) -> Self {
        let baseline =
            factors.iter().map(|factor| (factor.name.clone(), factor.levels[0].clone())).collect();
        Self {
            title,
            kind: "study",
            factors,
            baseline,
            order: Order::Chained,
            control: false,
            replicates: 6,
            noise: 0.02,
            targets: vec![target("/mnt/ssd", "ext4 (noatime)")],
            workloads: vec![random_write(|_| 20_000.0)],
            live: Vec::new(),
            seed: 42,
        }
    }

    fn arms(&self) -> Vec<(Arm, bool)> {
        let mut arms = vec![Arm::new()];
        for factor in &self.factors {
            let with = |arm: &Arm| {
                factor
                    .levels
                    .iter()
                    .map(|level| {
                        let mut arm = arm.clone();
                        arm.insert(factor.name.clone(), level.clone());
                        arm
                    })
                    .collect::<Vec<_>>()
            };
            arms = arms.iter().flat_map(with).collect();
        }
        let mut arms: Vec<(Arm, bool)> = arms.into_iter().map(|arm| (arm, false)).collect();
        if self.control {
            arms.push((self.baseline.clone(), true));
        }
        arms
    }

    fn places(&self, draws: &mut Draws) -> Vec<Vec<u32>> {
        let (count, mut last) = (self.arms().len(), None);
        (0..self.replicates as usize)
            .map(|replicate| {
                let mut order: Vec<usize> = (0..count).collect();
                draws.shuffle(&mut order);
                if let Some(last) = last {
                    let at = order.iter().position(|arm| *arm == last).unwrap();
                    order.swap(0, at);
                }
                last = order.last().copied();
                let place = |arm: usize| order.iter().position(|one| *one == arm).unwrap();
                (0..count)
                    .map(|arm| match self.order {
                        Order::Sequential => arm * self.replicates as usize + replicate,
                        _ => replicate * count + place(arm),
                    })
                    .map(|place| place as u32 + 1)
                    .collect()
            })
            .collect()
    }

    fn series(&self) -> Vec<Series> {
        let mut draws = Draws(self.seed);
        let places = self.places(&mut draws);
        let mut series = Vec::new();
        for work in &self.workloads {
            for (index, (arm, control)) in self.arms().iter().enumerate() {
                let levels: Vec<f64> = (0..self.replicates)
                    .map(|_| (work.truth)(arm).ln() + self.noise * draws.normal())
                    .collect();
                for (place, name) in work.metrics.iter().enumerate() {
                    let trials = (1..).zip(&levels).map(|(replicate, level)| TrialValue {
                        replicate,
                        order: (self.order != Order::Unknown)
                            .then(|| places[replicate as usize - 1][index]),
                        value: Some(value(name, *level, &mut draws)),
                        status: Status::Ok,
                        reason: None,
                        repeats: None,
                        outlier: false,
                    });
                    series.push(Series {
                        class_of: None,
                        workload: work.name.to_owned(),
                        arm: arm.clone(),
                        control: *control,
                        metric: (*name).to_owned(),
                        better: assay_workloads::metrics::find(name)
                            .map_or(Better::Lower, |metric| metric.better),
                        scale: Scale::Ratio,
                        primary: place == 0,
                        trials: trials.collect(),
                        trust: (self.kind != "import").then_some(Trust::Trusted),
                        because: Vec::new(),
                        evidence: Vec::new(),
                    });
                }
            }
        }
        series
    }

    fn findings(&self, change: impl FnOnce(&mut Vec<Series>)) -> Findings {
        let mut series = self.series();
        change(&mut series);
        let design = Design {
            factors: self.factors.clone(),
            baseline: self.baseline.clone(),
            margin: Some(0.05),
            order: self.order,
            ..Design::default()
        };
        let mut found = inference::judge(
            self.facts(),
            self.environment(),
            Measurements { design, series, unfinished: false, live: self.live.clone() },
        );
        if self.kind != "import" {
            self.complete(&mut found);
        }
        found
    }

    /// Additional parts of a real study: the order, the workloads and their trust.
    fn complete(&self, found: &mut Findings) {
        let order = match self.order {
            Order::Sequential => self.order,
            _ => Order::Chained,
        };
        let order = OrderFacts { replicates: self.replicates, order, warmups: false };
        let text = format!("{}, seed {}", order.words(), self.seed);
        found.checks.insert(0, Check { order: Some(order), ..Check::new("order", text) });
        for work in &self.workloads {
            found.workloads.extend(self.arms().into_iter().filter(|(_, control)| !control).map(
                |(arm, _)| WorkloadFacts {
                    name: work.name.to_owned(),
                    configuration: arm,
                    text: work.text.to_owned(),
                    requested_queue_depth: 1,
                    queue_depth: 1,
                    time_ns: 10_000_000_000,
                    ramp_ns: 2_000_000_000,
                    note: None,
                    io: None,
                    pace: None,
                    permanent_commands: Vec::new(),
                },
            ));
        }
        let all = self.arms().len() * self.workloads.len();
        let rows = if all == 2 { "Both rows".to_owned() } else { format!("All {all} rows") };
        let text = format!("{rows} are trusted: no trust rule was triggered.");
        let text = if found.measurements.iter().all(|cell| cell.trust == Some(Trust::Trusted)) {
            text
        } else {
            format!("Of {all} rows: {} trusted, 1 suspect.", all - 1)
        };
        found.summary.push(Sentence::new(SentenceRole::Trust, "trust", text));
    }

    fn facts(&self) -> StudyFacts {
        StudyFacts {
            id: "20261120-103112-k7qd".to_owned(),
            title: self.title.to_owned(),
            kind: self.kind.to_owned(),
            plan_sha256: "0".repeat(64),
            started: "2026-11-20T10:31:12Z".to_owned(),
            seed: self.seed,
            ..StudyFacts::default()
        }
    }

    fn environment(&self) -> EnvironmentFacts {
        let here = self.kind != "import";
        let text = |text: &str| if here { text.to_owned() } else { "not recorded".to_owned() };
        EnvironmentFacts {
            assay: "0.1.0".to_owned(),
            kernel: text("6.12.9 x86_64"),
            cpu: text("Example CPU"),
            cpus: here.then_some(4),
            memory_bytes: here.then_some(8 << 30),
            virtualization: "none".to_owned(),
            targets: if here { self.targets.clone() } else { Vec::new() },
            unknown: if here { Vec::new() } else { Unknown::ALL.to_vec() },
            ..EnvironmentFacts::default()
        }
    }
}

fn value(metric: &str, level: f64, draws: &mut Draws) -> f64 {
    match metric {
        "bandwidth_bytes_per_s" if level < 15.0 => level.exp() * 4096.0,
        "latency_p50_ns" => 1e9 / level.exp(),
        "latency_p99_ns" => {
            // Eight operations of 1 MiB are in flight where the primary metric is a bandwidth.
            let per_s = if level < 15.0 { level.exp() } else { level.exp() / f64::from(8 << 20) };
            4e9 / per_s * (0.05 * draws.normal()).exp()
        }
        _ => level.exp(),
    }
}

fn target(name: &str, filesystem: &str) -> TargetFacts {
    let one = |text: &str| {
        let (name, options) = text.split_once(" (").unwrap_or((text, ""));
        let options = options.trim_end_matches(')').split(", ").filter(|one| !one.is_empty());
        FilesystemFacts { name: name.to_owned(), options: options.map(str::to_owned).collect() }
    };
    TargetFacts {
        name: name.to_owned(),
        drive: "Example SSD, SATA 6.0 Gbit/s".to_owned(),
        model: Some("Example SSD".to_owned()),
        serial: None,
        firmware: None,
        size_bytes: Some(64 << 30),
        filesystem: filesystem.to_owned(),
        scheduler: Some("mq-deadline".to_owned()),
        stack: vec!["sda (disk)".to_owned()],
        area_bytes: 1 << 30,
        direct: true,
        writes_buffered: false,
        rotational: Some(false),
        notes: Vec::new(),
        filesystems: filesystem.split(" on ").map(one).collect(),
        on_a_file: false,
        encryption: Vec::new(),
    }
}

fn random_write(truth: fn(&Arm) -> f64) -> Work {
    Work {
        name: "random-write",
        text: "random 4 KiB writes, queue depth 1, psync, direct I/O",
        metrics: vec!["iops", "bandwidth_bytes_per_s", "latency_p50_ns", "latency_p99_ns"],
        truth,
    }
}

fn is(arm: &Arm, factor: &str, level: &str) -> bool {
    arm.get(factor).is_some_and(|known| known == level)
}

fn number(arm: &Arm, factor: &str) -> f64 {
    arm[factor].parse().unwrap()
}

fn two_arms(seed: u64) -> Findings {
    let mut bench = Bench::new(
        "Which scheduler is best for this drive?",
        vec![factor("scheduler", &["mq-deadline", "none"])],
    );
    bench.seed = seed;
    bench.workloads =
        vec![random_write(|arm| if is(arm, "scheduler", "none") { 21_400.0 } else { 20_000.0 })];
    bench.findings(|_| {})
}

/// Production work under three levels: one serves reads faster at the same rate; the other at the same latency, but
/// fewer reads, and slower writes.
fn live() -> Findings {
    let mut bench = Bench::new(
        "Live: does this setting help the production workload?",
        vec![factor("scheduler", &["mq-deadline", "bfq", "none"])],
    );
    bench.live = vec!["live".to_owned()];
    let of_class = |name, metrics| Work {
        name,
        text: "observes the production workload; generates no load",
        metrics,
        truth: |arm| if is(arm, "scheduler", "mq-deadline") { 2e6 } else { 1e6 },
    };
    bench.workloads = vec![
        of_class(
            "live, reads",
            vec!["block_read_mean_ns", "block_read_stddev_ns", "block_read_iops"],
        ),
        of_class("live, writes", vec!["block_write_mean_ns", "block_write_iops"]),
    ];
    bench.findings(|series| {
        for one in series.iter_mut() {
            one.class_of = Some("live".to_owned());
            let lighter = if is(&one.arm, "scheduler", "none") { 0.5 } else { 1.0 };
            for trial in &mut one.trials {
                trial.value = trial.value.map(|value| match one.metric.as_str() {
                    "block_read_iops" => lighter * (300.0 + value / 1e6),
                    "block_write_iops" => 80.0 + value / 1e6,
                    "block_write_mean_ns" => 8e12 / value,
                    _ => value,
                });
            }
        }
    })
}

fn eight_arms() -> Findings {
    let levels = ["ext4", "ext2", "ext3", "xfs", "btrfs", "f2fs", "nilfs2", "jfs"];
    let mut bench =
        Bench::new("Which filesystem is best for this card?", vec![factor("filesystem", &levels)]);
    bench.control = true;
    bench.workloads = vec![random_write(|arm| match arm["filesystem"].as_str() {
        "f2fs" => 2_600.0,
        "nilfs2" => 2_580.0,
        "xfs" => 2_060.0,
        "btrfs" => 1_400.0,
        "ext3" => 1_800.0,
        "jfs" => 2_100.0,
        _ => 2_000.0,
    })];
    let mut found = bench.findings(|series| {
        for one in series.iter_mut() {
            if is(&one.arm, "filesystem", "btrfs") {
                let lost = &mut one.trials[2];
                lost.status = Status::Failed;
                lost.value = None;
                lost.reason = Some("no space left on device".to_owned());
            }
            if is(&one.arm, "filesystem", "jfs") {
                one.trust = Some(Trust::Suspect);
                one.because = vec![Because {
                    rule: "foreign-io".to_owned(),
                    trust: Trust::Suspect,
                    text: "other programs used the device (for example: sda moved 3 MiB in the \
                           250 ms before the trial)"
                        .to_owned(),
                }];
            }
            let pair = is(&one.arm, "filesystem", "ext2") || is(&one.arm, "filesystem", "ext4");
            if pair && !one.control {
                let mut again = one.trials[4].clone();
                one.trials[4].status = Status::Disturbed;
                one.trials[4].reason = Some("the CPU was throttled".to_owned());
                one.trials[4].value = one.trials[4].value.map(|value| value * 0.7);
                again.repeats = Some(Repeats { replicate: 5, order: again.order.unwrap() });
                (again.replicate, again.order) = (7, again.order.map(|order| order % 2 + 55));
                one.trials.push(again);
            }
        }
    });
    let text = "2 of 56 trials were disturbed; verdicts exclude them";
    found.checks.insert(1, Check::new("disturbed", text.to_owned()));
    let text = "1 of 56 trials failed and is excluded";
    found.checks.insert(2, Check::new("failed", text.to_owned()));
    found.absent.push(AbsentCell {
        workload: "random-write".to_owned(),
        configuration: arm(&[("filesystem", "reiserfs")]),
        metric: None,
        reason: "mkfs.reiserfs is not installed; install reiserfsprogs".to_owned(),
        obstacle: None,
    });
    found
}

fn grid() -> Findings {
    let mut bench = Bench::new(
        "Which filesystem scales best with threads?",
        vec![
            factor("filesystem", &["ext4", "xfs", "btrfs"]),
            factor("threads", &["1", "4", "16", "64"]),
        ],
    );
    bench.baseline = arm(&[("filesystem", "ext4")]);
    bench.workloads = vec![random_write(|arm| {
        let threads = number(arm, "threads");
        match arm["filesystem"].as_str() {
            "xfs" => 9_000.0 * threads.min(30.0).powf(0.8),
            "btrfs" => 6_000.0 * threads.min(8.0).powf(0.4),
            _ => 9_000.0 * threads.min(20.0).powf(0.75),
        }
    })];
    bench.findings(|_| {})
}

fn inconclusive() -> Findings {
    let mut bench =
        Bench::new("Is compression slower?", vec![factor("compress", &["off", "zstd"])]);
    (bench.noise, bench.replicates, bench.seed) = (0.05, 4, 7);
    bench.workloads = vec![Work {
        name: "sequential-write",
        text: "sequential 1 MiB writes, queue depth 8, io_uring, direct I/O",
        metrics: vec!["bandwidth_bytes_per_s", "latency_p99_ns"],
        truth: |arm| if is(arm, "compress", "zstd") { 388e6 } else { 400e6 },
    }];
    bench.findings(|_| {})
}

fn import(order: Order, noise: f64) -> Findings {
    let mut bench = Bench::new(
        "Build times, from trials.csv",
        vec![factor("filesystem", &["ext4", "xfs", "tmpfs"])],
    );
    (bench.kind, bench.order, bench.replicates, bench.noise) = ("import", order, 5, noise);
    bench.workloads = vec![Work {
        name: "build",
        text: "",
        metrics: vec!["duration_s"],
        truth: |arm| if is(arm, "filesystem", "tmpfs") { 118.0 } else { 127.0 },
    }];
    bench.findings(|_| {})
}

fn sequential() -> Findings {
    let mut bench = Bench::new(
        "Three schedulers in sequence",
        vec![factor("scheduler", &["none", "bfq", "kyber"])],
    );
    bench.order = Order::Sequential;
    bench.workloads =
        vec![random_write(|arm| if is(arm, "scheduler", "bfq") { 15_000.0 } else { 20_000.0 })];
    bench.findings(|_| {})
}

fn one_pair() -> Findings {
    let mut bench =
        Bench::new("Which queue depth is best?", vec![factor("queue_depth", &["1", "32"])]);
    bench.replicates = 1;
    bench.workloads = vec![Work {
        name: "random-read",
        text: "random 4 KiB reads, io_uring, direct I/O",
        metrics: vec!["iops", "latency_p99_ns"],
        truth: |arm| if is(arm, "queue_depth", "32") { 88_000.0 } else { 11_900.0 },
    }];
    bench.findings(|_| {})
}

fn many_arms() -> Findings {
    let mut bench = Bench::new(
        "Five filesystems at eight thread counts",
        vec![
            factor("filesystem", &["ext4", "ext2", "xfs", "btrfs", "f2fs"]),
            factor("threads", &["1", "2", "4", "8", "16", "32", "64", "128"]),
        ],
    );
    bench.replicates = 4;
    bench.baseline = arm(&[("filesystem", "ext4")]);
    bench.workloads = vec![Work {
        metrics: vec!["iops"],
        ..random_write(|arm| {
            let slow = if is(arm, "filesystem", "btrfs") { 0.6 } else { 1.0 };
            slow * 9_000.0 * number(arm, "threads").min(40.0).powf(0.7)
        })
    }];
    bench.findings(|_| {})
}

fn two_targets() -> Findings {
    let mut bench = Bench::new(
        "Is the encrypted directory fast enough?",
        vec![factor("target", &["/mnt/ssd", "/mnt/encrypted"])],
    );
    bench.targets = vec![
        target("/mnt/ssd", "ext4 (noatime)"),
        target("/mnt/encrypted", "fuse.gocryptfs on ext4"),
    ];
    bench.targets[1].notes = vec!["through the page cache: gocryptfs rejects O_DIRECT".to_owned()];
    bench.targets[1].direct = false;
    bench.noise = 0.003;
    bench.workloads = vec![
        random_write(|arm| if is(arm, "target", "/mnt/ssd") { 31_300.0 } else { 30_700.0 }),
        Work {
            name: "sequential-read",
            text: "sequential 1 MiB reads, queue depth 8, io_uring, direct I/O",
            metrics: vec!["bandwidth_bytes_per_s", "latency_p99_ns"],
            truth: |arm| if is(arm, "target", "/mnt/ssd") { 540e6 } else { 336e6 },
        },
    ];
    bench.findings(|_| {})
}

fn compared() -> Findings {
    let (before, mut after) = (two_arms(42), two_arms(43));
    after.study.id = "20270107-090000-p3xa".to_owned();
    after.study.started = "2027-01-07T09:00:00Z".to_owned();
    after.environment.kernel = "6.18.2 x86_64".to_owned();
    inference::compare(&before, &[after], inference::days::Days::default())
}

/// The current findings of each bench, from which tests build pages.
pub(super) fn made() -> &'static [(&'static str, Findings)] {
    static MADE: OnceLock<Vec<(&'static str, Findings)>> = OnceLock::new();
    // Findings are large: compute them once.
    MADE.get_or_init(|| {
        vec![
            ("study-two-arms", two_arms(42)),
            ("study-compare", compared()),
            ("study-eight-arms", eight_arms()),
            ("study-grid", grid()),
            ("study-inconclusive", inconclusive()),
            ("study-import", import(Order::Rcbd, 0.01)),
            ("study-inconclusive-import", import(Order::Rcbd, 0.08)),
            ("study-unordered-import", import(Order::Unknown, 0.01)),
            ("study-sequential", sequential()),
            ("study-one-pair", one_pair()),
            ("study-many-arms", many_arms()),
            ("study-two-targets", two_targets()),
            ("study-live", live()),
        ]
    })
}

/// One of each kind is stored whole, for exact digits and fields. The others are only checked through their texts,
/// because nobody reviews thousands of changed lines.
const IN_FILES: [&str; 4] =
    ["study-two-arms", "study-compare", "study-unordered-import", "study-one-pair"];

#[test]
fn studies_are_as_the_analysis_makes_them() {
    let mut files = Expected::default();
    let whole = made().iter().filter(|(name, _)| IN_FILES.contains(name));
    for (name, findings) in whole {
        files.hold(directory().join(format!("{name}.json")), &filled(&super::json(findings)));
    }
}

#[test]
fn a_file_holds_what_is_made_nowhere_or_is_small() {
    let is_made = |name: &str| made().iter().any(|(own, _)| *own == name);
    for name in super::in_files() {
        assert!(
            !is_made(&name) || IN_FILES.contains(&name.as_str()),
            "{name}.json is made in a test"
        );
    }
}

/// A study whose trials had these outcomes; if requested, a disturbed one ran again.
pub(super) fn generated(
    seed: u64,
    noise: f64,
    (arms, replicates): (usize, usize),
    fates: &[Option<Status>],
    again: &[bool],
) -> Findings {
    let levels = ["1", "2", "4", "8", "16"];
    let mut bench = Bench::new("Generated", vec![factor("queue_depth", &levels[..arms])]);
    (bench.seed, bench.noise, bench.replicates) = (seed, noise, replicates as u32);
    bench.findings(|series| {
        let mut fates = fates.iter().zip(again).cycle();
        for one in series.iter_mut() {
            let mut repeats = Vec::new();
            one.trials.retain_mut(|trial| {
                let Some((Some(status), again)) = fates.next() else { return false };
                trial.status = *status;
                if *status == Status::Failed {
                    trial.value = None;
                }
                if *status == Status::Disturbed && *again {
                    let order = trial.order.unwrap_or_default();
                    repeats.push(TrialValue {
                        replicate: 100 + trial.replicate,
                        order: Some(1000 + order),
                        status: Status::Ok,
                        value: trial.value.map(|value| value * 1.1),
                        repeats: Some(Repeats { replicate: trial.replicate, order }),
                        ..trial.clone()
                    });
                }
                true
            });
            one.trials.append(&mut repeats);
        }
    })
}

fn open(workloads: &[&'static str]) -> Findings {
    let mut bench =
        Bench::new("Is compression slower?", vec![factor("compress", &["off", "zstd"])]);
    (bench.noise, bench.seed) = (0.08, 7);
    let work = |name: &'static str| Work { name, ..random_write(|_| 20_000.0) };
    bench.workloads = workloads.iter().copied().map(work).collect();
    bench.findings(|_| {})
}

#[test]
fn several_comparisons_that_tell_nothing_are_one_sentence() {
    let needs = |found: &Findings| {
        let own = found.summary.iter().filter(|own| own.text.contains("replicates would detect"));
        own.map(|own| own.text.clone()).collect::<Vec<String>>()
    };
    let several = open(&["write-a", "write-b", "write-c"]);
    let [told] = needs(&several).try_into().unwrap();
    let begin = "3 of 3 comparisons are inconclusive (write-a; write-b; write-c): about ";
    assert!(told.starts_with(begin), "{told}");
    let counts = several.summary.iter().filter(|own| own.text.contains("3 inconclusive"));
    assert_eq!(counts.count(), 0, "{:?}", several.summary);
    // Their table has the intervals; remarks do not repeat them.
    let page = super::rendered(&several, 80, false);
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(page.matches("would detect").count(), 1, "{page}");
    // A single one has a separate sentence with its interval.
    let [alone] = needs(&open(&["write-a"])).try_into().unwrap();
    assert!(alone.contains("95% CI") && !alone.contains("comparisons"), "{alone}");
}

#[test]
fn in_full_each_row_has_its_number_and_all_of_them_are_one_remark() {
    let told = |name: &str| {
        let page = super::in_full(&super::fixture(name), 80);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let several = told("study-eight-arms");
    assert_eq!(several.matches("would detect").count(), 1, "{several}");
    let rows = "[ext2 (about 13), xfs (about 24), jfs (about 24)]";
    let expected = format!("about 13 to 24 replicates would detect 5% {rows}");
    assert!(several.contains(&expected), "{several}");
    assert_eq!(told("study-two-arms").matches("would detect").count(), 0);
}

#[test]
fn numbers_of_two_results_are_called_the_earlier_and_the_later_however_many_rows_there_are() {
    let page = |workloads: &[&'static str], trust: Trust| {
        let mut before = open(workloads);
        before.measurements.iter_mut().for_each(|cell| cell.trust = Some(trust));
        let mut after = before.clone();
        "20270107-090000-p3xa".clone_into(&mut after.study.id);
        let found = inference::compare(&before, &[after], inference::days::Days::default());
        let page = super::rendered(&found, 80, false);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let many = ["w-a", "w-b", "w-c", "w-d", "w-e", "w-f", "w-g"];
    for workloads in [&many[..], &many[..2]] {
        let told = page(workloads, Trust::Suspect);
        for side in ["earlier", "later"] {
            assert!(told.contains(&format!("the {side} number is suspect")), "{told}");
        }
        assert!(!told.contains("baseline number") && !told.contains("setting number"), "{told}");
        assert!(!page(workloads, Trust::Trusted).contains("number is"));
    }
}
