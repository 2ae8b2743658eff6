use std::collections::BTreeMap;

use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_machine::system::machine::Machine;
use assay_machine::system::place::{Place, PlaceKind, PlaceLayer};
use assay_machine::system::site::{Backing, TargetKind};
use assay_study::findings::{Comparison, Kind, Trust};
use assay_study::results::design::Design;
use assay_study::results::histogram;
use assay_study::results::plan::{AbsentWorkload, Arm, PlannedTrial};
use assay_study::results::record::{Status, Trial};
use assay_study::results::tally::Tally;
use assay_workloads::io::{self, Mix, Pattern, WriteSync};
use assay_workloads::{Claims, Count};
use hdrhistogram::Histogram;

use super::*;
use crate::rules::testing;

pub(super) struct Bench {
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<Trial>,
}

impl Bench {
    pub fn new(targets: &[&str]) -> Self {
        let site = |name: &&str| {
            let mut site = testing::site();
            (*name).clone_into(&mut site.target);
            site
        };
        let survey = |name: &&str| {
            let mut survey = testing::survey();
            (*name).clone_into(&mut survey.target);
            survey
        };
        Self {
            plan: Plan {
                format: assay_study::results::plan::FORMAT.to_owned(),
                sha256: "0".repeat(64),
                seed: 42,
                design: Design::default(),
                replicates: 3,
                probes: Vec::new(),
                meter: None,
                idle_ns: None,
                gap_ns: 250_000_000,
                budget_ns: None,
                deadline_ns: 1,
                surveys: targets.iter().map(survey).collect(),
                workloads: Vec::new(),
                absent: Vec::new(),
                trials: Vec::new(),
            },
            environment: Environment {
                format: assay_study::results::environment::FORMAT.to_owned(),
                assay: "0.1.0".to_owned(),
                started: "2026-07-30T12:00:00+02:00".to_owned(),
                machine: machine(),
                sites: targets.iter().map(site).collect(),
                surroundings: assay_study::results::surroundings::Surroundings::default(),
                observer: None,
                fleet: None,
            },
            trials: Vec::new(),
        }
    }

    /// Adds a workload on a target with one trial per rate; each trial runs that many operations of `size` bytes in 1
    /// s.
    pub fn row(mut self, target: usize, name: &str, size: u32, rates: &[u64]) -> Self {
        let index = self.plan.workloads.len();
        let mut workload = testing::workload(name, if name.contains("read") { 100 } else { 0 });
        workload.target = target;
        let io = testing::io_of(&mut workload);
        io.block_size = Bytes(u64::from(size)).into();
        if name.contains("sync") {
            io.sync = WriteSync::EachWrite;
        }
        if name.starts_with("sequential") {
            io.pattern = Pattern::Sequential;
        }
        if name.contains("q1") || name.contains("sync") {
            (io.queue_depth, io.asked_depth) = (1, 1);
        }
        for (replicate, rate) in (1..).zip(rates) {
            let order = self.trials.len() as u32 + 1;
            let mut trial = trial(&workload, replicate, *rate);
            (trial.order, trial.workload) = (order, index);
            trial.arm = rows::target_arm(&self.plan, target);
            self.plan.trials.push(PlannedTrial {
                order,
                host: 0,
                replicate,
                lead_in: false,
                workload: index,
                arm: trial.arm.clone(),
                seed: 1,
            });
            self.trials.push(trial);
        }
        self.plan.workloads.push(workload);
        self
    }

    pub fn each(mut self, change: impl Fn(&mut Trial)) -> Self {
        let last = self.plan.workloads.len() - 1;
        let own = self.trials.iter_mut().filter(|trial| trial.workload == last);
        own.for_each(change);
        self
    }

    pub fn emulated(mut self) -> Self {
        let (kind, name) = (PlaceKind::Emulator, "QEMU TCG".to_owned());
        self.environment.machine.place = Presence::Present(Place {
            layers: vec![PlaceLayer { kind, name, signs: Vec::new() }],
            frequency_driver: Presence::absent("-"),
            mitigations: Presence::absent("-"),
        });
        self
    }

    pub fn findings(&self) -> Findings {
        let study = StudyFacts {
            id: "20260730-120000-abcd".to_owned(),
            title: "How fast is this storage?".to_owned(),
            kind: "check".to_owned(),
            plan_sha256: self.plan.sha256.clone(),
            started: self.environment.started.clone(),
            seed: 42,
            ..StudyFacts::default()
        };
        findings(study, &self.plan, &self.environment, &self.trials)
    }
}

fn machine() -> Machine {
    Machine {
        identity: String::new(),
        kernel: Presence::Present("6.12.9".to_owned()),
        kernel_version: Presence::absent("-"),
        architecture: "x86_64".to_owned(),
        distribution: Presence::absent("-"),
        cpu: Presence::Present("Example CPU".to_owned()),
        logical_cpus: Presence::Present(4),
        governor: Presence::absent("-"),
        memory_bytes: Presence::Present(8 << 30),
        swap_bytes: Presence::absent("-"),
        virtualisation: Presence::Present("none".to_owned()),
        clocksource: Presence::absent("-"),
        boot_id: Presence::absent("-"),
        graphics: Vec::new(),
        graphics_devices: Vec::new(),
        limits: Presence::absent("-"),
        place: Presence::absent("-"),
    }
}

fn trial(
    workload: &assay_study::results::plan::PlannedWorkload,
    replicate: u32,
    rate: u64,
) -> Trial {
    let mut record = testing::trial(workload, replicate);
    let size = io::IoPlan::of(&workload.work).unwrap().block_size.largest().0;
    let moved = Count { operations: rate, bytes: rate * size };
    let measured = testing::measured(&mut record);
    measured.window_ns = 1_000_000_000;
    for count in [&mut measured.claims.read, &mut measured.claims.write] {
        if count.operations > 0 {
            *count = moved;
        }
    }
    testing::counted(&mut record).classes.values_mut().for_each(|count| *count = moved);
    let run = &mut testing::device(&mut record).run;
    run.read_bytes = if workload.reads() { moved.bytes } else { 0 };
    run.write_bytes = if workload.writes() { moved.bytes } else { 0 };
    let class = if workload.reads() { "read" } else { "write" };
    let mut latencies: Histogram<u64> = histogram::empty().unwrap();
    latencies.record_n(1_000_000_000 / rate.max(1), rate).unwrap();
    record.latency_ns = BTreeMap::from([(class.to_owned(), Tally::from(&latencies))]);
    record
}

pub(super) fn cell<'a>(
    found: &'a Findings,
    workload: &str,
    metric: &str,
) -> &'a assay_study::findings::Measurement {
    let mut cells = found.measurements.iter();
    cells.find(|cell| cell.workload == workload && cell.metric == metric).unwrap()
}

fn reason<'a>(found: &'a Findings, workload: &str, metric: Option<&str>) -> &'a str {
    let mut absent = found.absent.iter();
    let entry =
        absent.find(|one| one.workload == workload && one.metric.as_deref() == metric).unwrap();
    &entry.reason
}

#[test]
fn a_cell_sums_up_the_trials_that_count() {
    let bench = Bench::new(&["/mnt/card"]).row(0, "random-read-q1", 4096, &[3200, 4000, 5000]);
    let found = bench.findings();
    let iops = cell(&found, "random-read-q1", "iops");
    assert_eq!((iops.n, iops.trials.len()), (3, 3));
    assert!((iops.geometric_mean.unwrap() - 4000.0).abs() < 1e-6);
    assert_eq!((iops.min, iops.median, iops.max), (Some(3200.0), Some(4000.0), Some(5000.0)));
    assert!(iops.provisional && !iops.control);
    assert_eq!(iops.trust, Some(Trust::Trusted));
    assert!(iops.ci95.unwrap()[0] < 3200.0);
    let bandwidth = cell(&found, "random-read-q1", "bandwidth_bytes_per_s");
    assert_eq!(bandwidth.max, Some(5000.0 * 4096.0));
    // 100 ms of processor time for 5000 * 4096 bytes.
    let cpu = cell(&found, "random-read-q1", "cpu_s_per_gib");
    assert!((cpu.min.unwrap() - 0.1 / (5000.0 * 4096.0 / 1_073_741_824.0)).abs() < 1e-9);
    let p99 = cell(&found, "random-read-q1", "latency_p99_ns");
    assert!((p99.max.unwrap() / 312_500.0 - 1.0).abs() < 0.001);
    assert!(found.measurements.iter().all(|cell| cell.metric != "write_amplification"));
}

#[test]
fn others_work_beside_belongs_to_both_sides_of_a_share() {
    let bench = || {
        let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &[2000, 2000, 2000]);
        bench.each(|trial| testing::device(trial).run.reads = 500)
    };
    let with = bench().each(|trial| {
        let mut other = testing::measured(trial).clone();
        other.cpu_ns *= 3;
        trial.background = Some(other);
    });
    let value = |found: &Findings, metric: &str| cell(found, "random-read-q1", metric).min.unwrap();
    let (alone, with) = (bench().findings(), with.findings());
    let share = |metric: &str| value(&with, metric) / value(&alone, metric);
    // Four times the CPU time for twice the bytes; the same requests for twice the bytes.
    assert!((share("cpu_s_per_gib") - 2.0).abs() < 1e-9);
    assert!((share("device_requests_per_operation") - 0.5).abs() < 1e-9);
    assert!((share("iops") - 1.0).abs() < 1e-9);
}

#[test]
fn a_percentile_without_enough_operations_is_absent_with_its_reason() {
    let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &[2000, 999, 2000]);
    let found = bench.findings();
    assert_eq!(
        reason(&found, "random-read-q1", Some("latency_p99_ns")),
        "needs 1,000 operations per trial, but had only 999"
    );
    assert_eq!(
        reason(&found, "random-read-q1", Some("latency_p999_ns")),
        "needs 10,000 operations per trial, but had only 999"
    );
    assert_eq!(cell(&found, "random-read-q1", "latency_p90_ns").n, 3);
}

#[test]
fn every_trial_is_a_row_and_only_those_that_count_count() {
    let mut bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[100, 100, 200, 300]);
    let set = |trial: &mut Trial, status, reason: Option<&str>| {
        trial.status = status;
        trial.reason = reason.map(str::to_owned);
    };
    set(&mut bench.trials[0], Status::Warmup, Some("lead-in"));
    bench.trials[0].replicate = 0;
    set(&mut bench.trials[1], Status::Failed, Some("no space"));
    bench.trials[1].measured = None;
    bench.trials[1].latency_ns.clear();
    set(&mut bench.trials[2], Status::Disturbed, Some("steal"));
    let found = bench.findings();
    let iops = cell(&found, "sync-write", "iops");
    assert_eq!(iops.n, 2);
    assert_eq!(iops.ci95, None);
    let values: Vec<_> = iops.trials.iter().map(|trial| trial.value).collect();
    assert_eq!(values, [Some(100.0), None, Some(200.0), Some(300.0)]);
    assert_eq!(iops.trials[1].reason.as_deref(), Some("no space"));
    let texts: Vec<_> = found.checks.iter().map(|check| check.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "3 replicates, each in its own random order, seed 42",
            "3 of 4 planned trials were run",
            "1 of 3 trials was disturbed but still counts: steal",
            "1 of 3 trials failed and is excluded"
        ]
    );
}

#[test]
fn rows_without_a_number_say_why() {
    let mut bench = Bench::new(&["."])
        .row(0, "random-read-q1", 4096, &[])
        .row(0, "sync-write", 4096, &[10])
        .each(|trial| {
            trial.status = Status::Failed;
            trial.reason = Some("no space left".to_owned());
            trial.measured = None;
        });
    bench.plan.absent.push(AbsentWorkload {
        configuration: Arm::new(),
        name: "random-write-q1".to_owned(),
        target: 0,
        reason: "the file is only read".to_owned(),
    });
    let found = bench.findings();
    assert_eq!(reason(&found, "random-read-q1", None), "no trial ran");
    assert_eq!(reason(&found, "sync-write", None), "every trial failed: no space left");
    assert_eq!(reason(&found, "random-write-q1", None), "not measured: the file is only read");
    let iops = cell(&found, "sync-write", "iops");
    assert_eq!((iops.n, iops.geometric_mean, iops.trust), (0, None, None));
    assert_eq!(found.summary_texts(), ["Nothing was measured."]);
}

/// Figures of single trials show the trials that the row summarizes.
#[test]
fn the_trials_that_count_are_those_of_the_row() {
    let counted = |disturbed: &[u32]| {
        let own = |trial: &mut Trial| {
            if disturbed.contains(&trial.replicate) {
                trial.status = Status::Disturbed;
            }
        };
        let bench = Bench::new(&["."]).row(0, "random-read", 4096, &[100; 4]).each(own);
        let records: Vec<&Trial> = bench.trials.iter().collect();
        let counted = counting(&records);
        let found = bench.findings();
        let of_row = cell(&found, "random-read", "iops").counting();
        let of_row: Vec<u32> = of_row.into_iter().map(|trial| trial.replicate).collect();
        let own: Vec<u32> = counted.iter().map(|at| records[*at].replicate).collect();
        assert_eq!(own, of_row, "{disturbed:?}");
        own
    };
    assert_eq!(counted(&[]), [1, 2, 3, 4]);
    assert_eq!(counted(&[2]), [1, 3, 4]);
    assert_eq!(counted(&[1, 2, 4]), [1, 2, 3, 4]);
}

#[test]
fn busy_processors_make_no_count_of_bytes_suspect() {
    let found = Bench::new(&["."])
        .row(0, "sync-write", 4096, &[1000, 1000, 1000])
        .each(|trial| testing::processors(trial).steal = 50)
        .findings();
    let rate = cell(&found, "sync-write", "iops");
    assert_eq!((rate.trust, rate.reasons.len()), (Some(Trust::Suspect), 1));
    let factor = cell(&found, "sync-write", "write_amplification");
    assert_eq!((factor.trust, factor.reasons.len()), (Some(Trust::Trusted), 0));
    // The count includes the traffic of others.
    let foreign = Bench::new(&["."])
        .row(0, "sync-write", 4096, &[1000, 1000, 1000])
        .each(|trial| testing::device(trial).run.read_bytes = 1 << 30)
        .findings();
    assert_ne!(cell(&foreign, "sync-write", "write_amplification").trust, Some(Trust::Trusted));
}

#[test]
fn amplification_counts_what_came_after_the_clock_as_well() {
    let bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[1000, 1000, 1000]).each(|trial| {
        testing::device(trial).settle.write_bytes = 2 * 1000 * 4096;
    });
    let found = bench.findings();
    let factor = cell(&found, "sync-write", "write_amplification").geometric_mean.unwrap();
    assert!((factor - 3.0).abs() < 1e-9);
    let blind = bench.each(|trial| trial.evidence.disk = Presence::absent("NFS"));
    assert_eq!(
        reason(&blind.findings(), "sync-write", Some("write_amplification")),
        "no underlying device has byte counters"
    );
}

/// Three trials of 1000 writes of 4 KiB with what the probes read around each.
fn probed() -> Bench {
    Bench::new(&["."]).row(0, "sync-write", 4096, &[1000; 3]).each(|trial| {
        let device = testing::device(trial);
        (device.run.writes, device.run.reads, device.run.busy_ms) = (1500, 100, 40);
        (device.settle.writes, device.settle.busy_ms) = (400, 10);
        testing::cpu(trial).kernel_threads_ns = Presence::Present(300_000_000);
        testing::cpu(trial).busy_ns = Presence::Present(900_000_000);
    })
}

#[test]
fn probes_give_processor_and_device_time_of_what_was_moved() {
    let found = probed().findings();
    let mean = |metric: &str| cell(&found, "sync-write", metric).geometric_mean.unwrap();
    let gib = 1000.0 * 4096.0 / (1_u64 << 30) as f64;
    for (metric, expected) in [
        ("kernel_cpu_s_per_gib", 0.3 / gib),
        ("machine_cpu_s_per_gib", 0.9 / gib),
        // The measuring threads took 100 ms.
        ("cpu_s", 0.4),
        ("device_requests_per_operation", 2.0),
        ("device_busy_s_per_gib", 0.05 / gib),
    ] {
        let value = mean(metric);
        assert!((value - expected).abs() < 1e-9 * expected, "{metric}: {value}, not {expected}");
    }
}

#[test]
fn what_a_probe_did_not_read_is_absent_with_its_reason() {
    let mut blind = probed().each(|trial| {
        testing::cpu(trial).kernel_threads_ns = Presence::absent("a container");
        testing::cpu(trial).busy_ns = Presence::absent("no /proc/stat");
    });
    // One of two counted devices has no counters.
    blind.environment.sites[0].counted.push("sdb".to_owned());
    let found = blind.findings();
    for (metric, why) in [
        ("kernel_cpu_s_per_gib", "a container"),
        ("cpu_s", "a container"),
        ("machine_cpu_s_per_gib", "no /proc/stat"),
        ("device_requests_per_operation", "no underlying device has byte counters"),
        ("device_busy_s_per_gib", "no underlying device has byte counters"),
    ] {
        assert_eq!(reason(&found, "sync-write", Some(metric)), why, "{metric}");
    }
}

#[test]
fn trust_and_reasons_stand_beside_every_metric() {
    let bench = Bench::new(&["."])
        .row(0, "random-read-q1", 4096, &[2000, 2000, 2000])
        .each(|trial| testing::device(trial).run.read_bytes = 0);
    for cell in bench.findings().measurements {
        assert_eq!(cell.trust, Some(Trust::Invalid));
        assert_eq!(cell.reasons[0].rule, "cached");
    }
}

fn two_cards() -> Bench {
    Bench::new(&["/mnt/a", "/mnt/b"])
        .row(0, "random-write-q1", 4096, &[500, 512, 495])
        .row(0, "sequential-read", 1 << 20, &[100, 100, 100])
        .row(1, "random-write-q1", 4096, &[520, 540, 510])
        .row(1, "sequential-read", 1 << 20, &[200, 200, 200])
}

#[test]
fn targets_are_compared_with_the_first_one() {
    let found = two_cards().findings();
    let [writes, reads] = found.comparisons.as_slice() else { panic!("two comparisons") };
    assert_eq!(writes.id, "random-write-q1:iops:target=/mnt/b");
    assert_eq!((writes.kind, writes.n), (Kind::Paired, 3));
    assert!((writes.ratio.unwrap() - 1.041_67).abs() < 1e-3);
    assert!(writes.ci95.unwrap()[0] < 1.04 && writes.ci95.unwrap()[1] > 1.05);
    assert_eq!((writes.verdict, writes.notes.len()), (None, 1));
    assert_eq!(writes.notes[0], "ratio only: no verdict, because the study sets no margin");
    assert_eq!(reads.metric, "bandwidth_bytes_per_s");
    assert!((reads.ratio.unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(cell(&found, "sequential-read", "iops").configuration["target"], "/mnt/a");
    assert_eq!(
        found.summary_texts(),
        [
            "/mnt/b compared with /mnt/a: faster in 2 of 2 workloads; most at sequential-read: 100% more \
             bandwidth (ratio 2, 95% CI 2-2).",
            "All 4 rows are trusted: no trust rule was triggered.",
        ]
    );
}

#[test]
fn a_pair_needs_both_and_an_invalid_side_is_named() {
    let mut bench = two_cards();
    bench.trials[0].status = Status::Failed;
    for trial in bench.trials.iter_mut().filter(|trial| trial.workload == 2) {
        testing::device(trial).run.write_bytes = 0;
    }
    let found = bench.findings();
    let writes: &Comparison = &found.comparisons[0];
    assert_eq!((writes.n, writes.ci95), (2, None));
    assert!(writes.notes.contains(&"the number of /mnt/b is invalid".to_owned()));
    assert!(!found.summary_texts().iter().any(|sentence| sentence.contains("random-write-q1: ")));
    assert!(found.summary_texts()[0].starts_with("random-write-q1 on /mnt/b is invalid"));
}

#[test]
fn the_order_of_the_records_does_not_matter() {
    let bench = two_cards();
    let before = serde_json::to_string(&bench.findings()).unwrap();
    let mut turned = two_cards();
    turned.trials.reverse();
    assert_eq!(serde_json::to_string(&turned.findings()).unwrap(), before);
}

#[test]
fn numbers_stay_finite_even_where_nothing_moved() {
    let bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[0, 0, 0]).each(|trial| {
        testing::measured(trial).window_ns = 0;
    });
    let found = bench.findings();
    assert_eq!(reason(&found, "sync-write", Some("iops")), "the measurement window was empty");
    let idle = Bench::new(&["."]).row(0, "sync-write", 4096, &[0, 0, 0]).findings();
    let iops = cell(&idle, "sync-write", "iops");
    assert_eq!((iops.geometric_mean, iops.max), (None, Some(0.0)));
    for cell in found.measurements.iter().chain(&idle.measurements) {
        for value in [cell.geometric_mean, cell.min, cell.median, cell.max].into_iter().flatten() {
            assert!(value.is_finite());
        }
    }
}

#[test]
fn facts_name_the_drive_and_the_options_that_matter() {
    let found = Bench::new(&["/mnt/card"]).row(0, "sync-write", 4096, &[9]).findings();
    let target = &found.environment.targets[0];
    assert_eq!(target.drive, "Example SSD, SATA 6.0 Gbit/s");
    assert_eq!(target.filesystem, "ext4 (noatime)");
    assert_eq!(target.stack, ["sda (disk)"]);
    assert_eq!(found.environment.kernel, "6.12.9 x86_64");
    assert_eq!(
        found.workloads[0].text,
        "random writes of 4 KiB with an fdatasync after each, 1 in flight, io_uring, direct"
    );
    let mut bench = Bench::new(&["."]);
    bench.environment.sites[0].kind = TargetKind::Simulated;
    assert_eq!(bench.findings().environment.targets[0].drive, "simulated");
    bench.environment.sites[0].kind = TargetKind::Directory;
    bench.environment.sites[0].backing = Backing::Memory;
    assert_eq!(bench.findings().environment.targets[0].drive, "memory, not a drive");
}

/// 1,000 rewrites of 64 KiB a second, in three trials on a device that writes twice as much.
fn rewrites() -> Bench {
    let mut bench = Bench::new(&["/mnt/card"]).row(0, "rewrite", 64 << 10, &[1000, 1000, 1000]);
    let moved = Count { operations: 1000, bytes: 1000 * (64 << 10) };
    for trial in &mut bench.trials {
        testing::counted(trial).classes = [("rewrite".to_owned(), moved)].into();
        testing::measured(trial).claims = Claims { read: moved, write: moved, ..Claims::default() };
        let run = &mut testing::device(trial).run;
        (run.read_bytes, run.write_bytes) = (moved.bytes, 2 * moved.bytes);
        let latencies = trial.latency_ns.pop_last().unwrap().1;
        trial.latency_ns = [("rewrite".to_owned(), latencies)].into();
    }
    let workload = &mut bench.plan.workloads[0];
    testing::io_of(workload).mix = Mix::Rewrite;
    bench
}

#[test]
fn a_rewrite_counts_its_block_once_and_is_held_against_both_directions() {
    let found = rewrites().findings();
    let mean = |metric| cell(&found, "rewrite", metric).geometric_mean.unwrap();
    assert!((mean("iops") - 1000.0).abs() < 1e-6);
    assert!((mean("bandwidth_bytes_per_s") - 65_536_000.0).abs() < 1.0);
    assert!((mean("write_amplification") - 2.0).abs() < 1e-9);
    assert_eq!(cell(&found, "rewrite", "iops").trust, Some(Trust::Trusted));
    assert!(found.workloads[0].text.starts_with("random rewrites of 64 KiB, 32 in flight"));
    for reads in [true, false] {
        let short = rewrites().each(|trial| {
            let run = &mut testing::device(trial).run;
            *(if reads { &mut run.read_bytes } else { &mut run.write_bytes }) = 0;
        });
        let found = short.findings();
        assert_eq!(cell(&found, "rewrite", "iops").trust, Some(Trust::Invalid), "reads {reads}");
    }
}
