//! A small bench for tests: a case with three clean trials, to be spoilt one thing at a time.

use std::{collections::BTreeMap, path::PathBuf};

use assay_core::presence::Presence;
use assay_machine::probes::{cpu, page_cache, processors};
use assay_machine::system::clears::Clears;
use assay_machine::system::site::{Backing, Drive, Layer, Link, Mount, Site, TargetKind};
use assay_machine::system::{CachedPages, DeviceNumber};
use assay_study::results::plan::{
    Area, Arm, Coverage, DirectUse, EngineUse, Pilot, PlannedWorkload, Survey,
};
use assay_study::results::record::{
    DeviceEvidence, Evidence, OwnTraffic, ProcessorTicks, Status, Traffic, Trial,
};
use assay_workloads::io::{self, Engine, Mix};
use assay_workloads::{Claims, Count, Measured, command, files};

use super::{Case, Rule, RuleRemark};

/// Bytes that each trial of a bench moves in each direction that it uses.
pub const MOVED: u64 = 64 << 20;
const MS: u64 = 1_000_000;
const NUMBER: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

pub struct Bench {
    pub site: Site,
    pub survey: Survey,
    pub workload: PlannedWorkload,
    pub trials: Vec<Trial>,
    pub emulator: Option<String>,
}

impl Bench {
    /// Random reads of 4 KiB, 32 in flight, on an ext4 file on `sda`.
    pub fn read() -> Self {
        Self::new("random-read-q32", 100)
    }

    pub fn write() -> Self {
        Self::new("random-write-q32", 0)
    }

    pub fn mixed() -> Self {
        Self::new("mixed", 50)
    }

    /// A command that is run again and again in a directory on `sda`.
    pub fn command() -> Self {
        let mut bench = Self::read();
        bench.workload.work = command::CommandPlan {
            run: "true".to_owned(),
            prepare: None,
            conclude: None,
            input: None,
            drop_caches: false,
            shell: true,
            ignore_failure: false,
            timeout_ns: None,
            runs_per_trial: None,
            tree: None,
            pass_env: Vec::new(),
            trial_setup: None,
            setup: None,
            variables: BTreeMap::new(),
            same_output: None,
            parse: Vec::new(),
            revision: None,
        }
        .into();
        bench.each(|trial| {
            if let Some(measured) = &mut trial.measured {
                measured.claims = Claims::default();
                measured.detail = command::CommandDetail::default().into();
            }
        })
    }

    pub fn files() -> Self {
        let mut bench = Self::read();
        bench.workload.work = files::FilesPlan {
            files: 100,
            directories: 4,
            levels: 1,
            size_bytes: 4096,
            pattern: files::Pattern::Random,
            threads: 1,
            fsync: files::FileSync::None,
            cold: true,
        }
        .into();
        bench.each(|trial| {
            if let Some(measured) = &mut trial.measured {
                measured.claims = Claims::default();
                measured.detail = command::CommandDetail::default().into();
            }
        })
    }

    fn new(name: &str, read_percent: u8) -> Self {
        let workload = workload(name, read_percent);
        let trials = (1..=3).map(|replicate| trial(&workload, replicate)).collect();
        Self { site: site(), survey: survey(), workload, trials, emulator: None }
    }

    pub fn without_trials(mut self) -> Self {
        self.trials.clear();
        self
    }

    pub fn site(mut self, change: impl FnOnce(&mut Site)) -> Self {
        change(&mut self.site);
        self
    }

    pub fn emulated(mut self, by: &str) -> Self {
        self.emulator = Some(by.to_owned());
        self
    }

    pub fn survey(mut self, change: impl FnOnce(&mut Survey)) -> Self {
        change(&mut self.survey);
        self
    }

    pub fn workload(mut self, change: impl FnOnce(&mut PlannedWorkload)) -> Self {
        change(&mut self.workload);
        self
    }

    pub fn io(mut self, change: impl FnOnce(&mut io::IoPlan)) -> Self {
        change(io_of(&mut self.workload));
        self
    }

    pub fn each(mut self, change: impl Fn(&mut Trial)) -> Self {
        self.trials.iter_mut().for_each(change);
        self
    }

    pub fn first(mut self, count: usize, change: impl Fn(&mut Trial)) -> Self {
        self.trials.iter_mut().take(count).for_each(change);
        self
    }

    pub fn with_case<T>(&self, look: impl FnOnce(&Case<'_>) -> T) -> T {
        let trials: Vec<&Trial> = self.trials.iter().collect();
        look(&Case {
            site: &self.site,
            survey: &self.survey,
            workload: &self.workload,
            trials: &trials,
            emulator: self.emulator.as_deref(),
        })
    }

    pub fn judge(&self, rule: &Rule) -> Option<RuleRemark> {
        self.with_case(|case| rule.judge(case))
    }

    /// What a rule says of each trial as an event.
    pub fn disturbances(&self, rule: &Rule) -> Vec<Option<String>> {
        self.with_case(|case| case.trials.iter().map(|one| rule.disturbance(case, one)).collect())
    }
}

pub fn device(trial: &mut Trial) -> &mut DeviceEvidence {
    match &mut trial.evidence.disk {
        Presence::Present(devices) => devices.get_mut("sda").unwrap(),
        Presence::Absent(_) => panic!("the bench has a device"),
    }
}

pub fn processors(trial: &mut Trial) -> &mut ProcessorTicks {
    match &mut throttling(trial).ticks {
        Presence::Present(ticks) => ticks,
        Presence::Absent(_) => panic!("the bench has processors"),
    }
}

pub fn throttling(trial: &mut Trial) -> &mut processors::ThrottleObservation {
    match &mut trial.evidence.processors {
        Presence::Present(observed) => observed,
        Presence::Absent(_) => panic!("the bench has processors"),
    }
}

pub fn pages(trial: &mut Trial) -> &mut page_cache::CacheObservation {
    match &mut trial.evidence.page_cache {
        Presence::Present(observed) => observed,
        Presence::Absent(_) => panic!("the bench has pages"),
    }
}

/// Processor time of kernel threads and of the machine; a bench has none until it is asked for.
pub fn cpu(trial: &mut Trial) -> &mut cpu::CpuObservation {
    let none = || Presence::absent("a test");
    if trial.evidence.cpu.value().is_none() {
        let observed =
            cpu::CpuObservation { kernel_threads_ns: none(), busy_ns: none(), span_ns: none() };
        trial.evidence.cpu = Presence::Present(observed);
    }
    match &mut trial.evidence.cpu {
        Presence::Present(observed) => observed,
        Presence::Absent(_) => panic!("it is there now"),
    }
}

pub fn measured(trial: &mut Trial) -> &mut Measured {
    trial.measured.as_mut().unwrap()
}

pub fn counted(trial: &mut Trial) -> &mut io::IoDetail {
    io::IoDetail::of_mut(measured(trial)).unwrap()
}

pub fn io_of(workload: &mut PlannedWorkload) -> &mut io::IoPlan {
    io::IoPlan::of_mut(&mut workload.work).unwrap()
}

pub fn site() -> Site {
    Site {
        target: "/mnt/card".to_owned(),
        kind: TargetKind::Directory,
        path: PathBuf::from("/mnt/card"),
        mount: Presence::Present(Mount {
            point: PathBuf::from("/mnt/card"),
            source: "/dev/sda".to_owned(),
            filesystem: "ext4".to_owned(),
            options: vec!["rw".to_owned(), "noatime".to_owned()],
        }),
        followed: Vec::new(),
        device: NUMBER,
        backing_reason: None,
        backing: Backing::Blocks,
        layers: vec![Layer {
            name: "sda".to_owned(),
            number: NUMBER,
            kind: "disk".to_owned(),
            below: Vec::new(),
            size_bytes: 64 << 30,
        }],
        counted: vec!["sda".to_owned()],
        shared: vec!["sda".to_owned()],
        drives: vec![drive()],
        compression: Presence::absent("ext4 has none"),
        encryption: Vec::new(),
        limits: Vec::new(),
    }
}

pub fn drive() -> Drive {
    Drive {
        name: "sda".to_owned(),
        number: NUMBER,
        id: "S1".to_owned(),
        model: Presence::Present("Example SSD".to_owned()),
        firmware: Presence::absent("not told"),
        serial: Presence::Present("S1".to_owned()),
        size_bytes: 64 << 30,
        rotational: Presence::Present(false),
        rpm: Presence::absent("not rotational"),
        removable: Presence::Present(false),
        bus: Presence::Present("sata".to_owned()),
        ports: vec!["ata1".to_owned()],
        link: Presence::Present(Link {
            name: "SATA 6.0 Gbit/s".to_owned(),
            ceiling_bytes_per_s: 600e6,
        }),
        usb_version: Presence::absent("not on USB"),
        card: Presence::absent("not a memory card"),
        scheduler: Presence::Present("mq-deadline".to_owned()),
        write_cache: Presence::Present("write back".to_owned()),
        discard: Presence::Present(true),
        logical_block_bytes: Presence::Present(512),
        physical_block_bytes: Presence::Present(4096),
        queue_requests: Presence::Present(64),
        read_ahead_bytes: Presence::Present(128 << 10),
    }
}

pub fn survey() -> Survey {
    Survey {
        target: "/mnt/card".to_owned(),
        kind: None,
        area: Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 1 },
        direct: Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 }),
        engine: EngineUse { name: Engine::IoUring, note: None },
        pilot: Pilot::default(),
        coverage: Presence::Present(Coverage {
            hole_bytes: 0,
            unwritten_bytes: 0,
            encoded_bytes: 0,
            sampled_blocks: 64,
            zero_blocks: 0,
        }),
        notes: Vec::new(),
        between: None,
        clears: Clears::default(),
        under: assay_study::results::plan::Arm::new(),
        made_ns: 0,
        dirtied: None,
        read_twice: Presence::absent("not looked at"),
        refused: Vec::new(),
    }
}

pub fn workload(name: &str, read_percent: u8) -> PlannedWorkload {
    let mix = Mix::Shares { read_percent };
    let asked = io::IoSpec { mix, queue_depth: 32, ..io::IoSpec::default() };
    PlannedWorkload {
        name: name.to_owned(),
        arm: Arm::new(),
        control: false,
        target: 0,
        work: io::IoPlan::new(asked, Engine::IoUring).into(),
        ramp_ns: 200 * MS,
        time_ns: 800 * MS,
        note: None,
        background: None,
    }
}

/// A clean trial: one second, the device moved what was claimed with 30 requests in flight.
pub fn trial(workload: &PlannedWorkload, replicate: u32) -> Trial {
    let one = Count { operations: MOVED / 4096, bytes: MOVED };
    let classes: BTreeMap<String, Count> =
        [("read", workload.reads()), ("write", workload.writes())]
            .into_iter()
            .filter(|(_, used)| *used)
            .map(|(class, _)| (class.to_owned(), one))
            .collect();
    let run = Traffic {
        span_ns: 1_000 * MS,
        read_bytes: if workload.reads() { MOVED } else { 0 },
        write_bytes: if workload.writes() { MOVED } else { 0 },
        weighted_ms: 30_000,
        ..Traffic::default()
    };
    let gap = Traffic { span_ns: 250 * MS, ..Traffic::default() };
    let device = DeviceEvidence { gap, run, settle: Traffic::default() };
    Trial {
        order: replicate,
        host: 0,
        replicate,
        workload: 0,
        arm: Arm::new(),
        repeats: None,
        status: Status::Ok,
        reason: None,
        started: "2026-07-30T12:00:00+02:00".to_owned(),
        measured: Some(Measured {
            window_ns: 800 * MS,
            elapsed_ns: 1_000 * MS,
            cpu_ns: 100 * MS,
            waited_ns: Some(0),
            claims: Claims {
                read: if workload.reads() { one } else { Count::default() },
                write: if workload.writes() { one } else { Count::default() },
                ..Claims::default()
            },
            values: BTreeMap::new(),
            absent: BTreeMap::new(),
            notes: Vec::new(),
            detail: io::IoDetail {
                classes,
                submitting_ns: 1_000 * MS,
                longest_ns: Some(20 * MS),
                still_s: Some(0),
                looked_at: 1_000,
                already_complete: 10,
                ..io::IoDetail::default()
            }
            .into(),
        }),
        background: None,
        evidence: Evidence {
            disk: Presence::Present(BTreeMap::from([("sda".to_owned(), device)])),
            own_traffic: Presence::Present(OwnTraffic {
                read_bytes: run.read_bytes,
                write_bytes: run.write_bytes,
            }),
            page_cache: Presence::Present(page_cache::CacheObservation {
                before: Presence::Present(CachedPages { cached: 0, of: 262_144 }),
                after: Presence::Present(CachedPages { cached: 0, of: 262_144 }),
            }),
            processors: Presence::Present(processors::ThrottleObservation {
                ticks: Presence::Present(ProcessorTicks { total: 200, steal: 0 }),
                throttle_events: Presence::Present(0),
                group_throttled: Presence::Present(0),
            }),
            ..Evidence::absent("a test")
        },
        histograms: BTreeMap::new(),
        series: None,
        spent: None,
        flush_ns: None,
        together: None,
        latency_ns: BTreeMap::new(),
    }
}
