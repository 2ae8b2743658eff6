//! A small bench for tests: a case with three clean trials, to be spoilt one thing at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Case, Remark, TruthRule};
use crate::results::plan::{
    Area, Arm, Coverage, DirectUse, EngineUse, Pilot, PlannedWorkload, Survey,
};
use crate::results::record::{
    Count, Counted, DeviceEvidence, Evidence, OwnTraffic, ProcessorTicks, Status, Traffic,
    TrialRecord,
};
use crate::seen::Seen;
use crate::system::site::{Backing, Drive, Layer, Link, Mount, Site, TargetKind};
use crate::system::{CachedPages, DeviceNumber};

/// Bytes that each trial of a bench moves in each direction that it uses.
pub const MOVED: u64 = 64 << 20;

const MS: u64 = 1_000_000;
const NUMBER: DeviceNumber = DeviceNumber { major: 8, minor: 0 };

/// Everything that a [`Case`] borrows.
pub struct Bench {
    pub site: Site,
    pub survey: Survey,
    pub workload: PlannedWorkload,
    pub trials: Vec<TrialRecord>,
}

impl Bench {
    /// Random reads of 4 KiB, 32 in flight, on an ext4 file on `sda`.
    pub fn read() -> Self {
        Self::new("random-read-q32", 100)
    }

    /// The same with writes.
    pub fn write() -> Self {
        Self::new("random-write-q32", 0)
    }

    /// Half reads, half writes.
    pub fn mixed() -> Self {
        Self::new("mixed", 50)
    }

    fn new(name: &str, read_percent: u8) -> Self {
        let workload = workload(name, read_percent);
        let trials = (1..=3).map(|replicate| trial(&workload, replicate)).collect();
        Self { site: site(), survey: survey(), workload, trials }
    }

    pub fn without_trials(mut self) -> Self {
        self.trials.clear();
        self
    }

    /// Changes what the target stands on.
    pub fn site(mut self, change: impl FnOnce(&mut Site)) -> Self {
        change(&mut self.site);
        self
    }

    /// Changes what was found beforehand.
    pub fn survey(mut self, change: impl FnOnce(&mut Survey)) -> Self {
        change(&mut self.survey);
        self
    }

    /// Changes how the workload was run.
    pub fn workload(mut self, change: impl FnOnce(&mut PlannedWorkload)) -> Self {
        change(&mut self.workload);
        self
    }

    /// Changes every trial.
    pub fn each(mut self, change: impl Fn(&mut TrialRecord)) -> Self {
        self.trials.iter_mut().for_each(change);
        self
    }

    /// Changes the first `count` trials.
    pub fn first(mut self, count: usize, change: impl Fn(&mut TrialRecord)) -> Self {
        self.trials.iter_mut().take(count).for_each(change);
        self
    }

    pub fn with_case<T>(&self, look: impl FnOnce(&Case<'_>) -> T) -> T {
        let trials: Vec<&TrialRecord> = self.trials.iter().collect();
        look(&Case {
            site: &self.site,
            survey: &self.survey,
            workload: &self.workload,
            trials: &trials,
        })
    }

    pub fn judge(&self, rule: &dyn TruthRule) -> Option<Remark> {
        self.with_case(|case| rule.judge(case))
    }

    /// What a rule says of each trial as an event.
    pub fn disturbances(&self, rule: &dyn TruthRule) -> Vec<Option<String>> {
        self.with_case(|case| case.trials.iter().map(|one| rule.disturbance(case, one)).collect())
    }
}

/// Evidence of the one device of a bench.
pub fn device(trial: &mut TrialRecord) -> &mut DeviceEvidence {
    match &mut trial.evidence.devices {
        Seen::Present(devices) => devices.get_mut("sda").unwrap(),
        Seen::Absent(_) => panic!("the bench has a device"),
    }
}

/// Processor time of a trial.
pub fn processors(trial: &mut TrialRecord) -> &mut ProcessorTicks {
    match &mut trial.evidence.processors {
        Seen::Present(ticks) => ticks,
        Seen::Absent(_) => panic!("the bench has processors"),
    }
}

/// What a trial counted.
pub fn counted(trial: &mut TrialRecord) -> &mut Counted {
    trial.counted.as_mut().unwrap()
}

pub fn site() -> Site {
    Site {
        target: "/mnt/card".to_owned(),
        kind: TargetKind::Directory,
        path: PathBuf::from("/mnt/card"),
        mount: Seen::Present(Mount {
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
        compression: Seen::absent("ext4 has none"),
    }
}

pub fn drive() -> Drive {
    Drive {
        name: "sda".to_owned(),
        number: NUMBER,
        id: "S1".to_owned(),
        model: Seen::Present("Example SSD".to_owned()),
        firmware: Seen::absent("not told"),
        serial: Seen::Present("S1".to_owned()),
        size_bytes: 64 << 30,
        rotational: Seen::Present(false),
        removable: Seen::Present(false),
        bus: Seen::Present("sata".to_owned()),
        ports: vec!["ata1".to_owned()],
        link: Seen::Present(Link {
            name: "SATA 6.0 Gbit/s".to_owned(),
            ceiling_bytes_per_s: 600e6,
        }),
        scheduler: Seen::Present("mq-deadline".to_owned()),
        write_cache: Seen::Present("write back".to_owned()),
        discard: Seen::Present(true),
        logical_block_bytes: Seen::Present(512),
        physical_block_bytes: Seen::Present(4096),
        queue_requests: Seen::Present(64),
        read_ahead_bytes: Seen::Present(128 << 10),
    }
}

pub fn survey() -> Survey {
    Survey {
        target: "/mnt/card".to_owned(),
        area: Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 1 },
        direct: Seen::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 }),
        engine: EngineUse { name: "io_uring".to_owned(), note: None },
        pilot: Pilot::default(),
        coverage: Seen::Present(Coverage {
            hole_bytes: 0,
            unwritten_bytes: 0,
            encoded_bytes: 0,
            sampled_blocks: 64,
            zero_blocks: 0,
        }),
        notes: Vec::new(),
        under: crate::results::plan::Arm::new(),
        made_ns: 0,
        refused: Vec::new(),
    }
}

pub fn workload(name: &str, read_percent: u8) -> PlannedWorkload {
    PlannedWorkload {
        name: name.to_owned(),
        arm: Arm::new(),
        control: false,
        target: 0,
        engine: "io_uring".to_owned(),
        pattern: "random".to_owned(),
        read_percent,
        rewrite: false,
        size_bytes: 4096,
        depth: 32,
        threads: 1,
        asked_depth: 32,
        data_sync: false,
        content: "random".to_owned(),
        direct: true,
        ramp_ns: 200 * MS,
        time_ns: 800 * MS,
        operations: None,
        note: None,
        beside: None,
    }
}

/// A clean trial: one second, the device moved what was claimed with 30 requests in flight.
pub fn trial(workload: &PlannedWorkload, replicate: u32) -> TrialRecord {
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
    TrialRecord {
        order: replicate,
        replicate,
        workload: 0,
        arm: Arm::new(),
        repeats: None,
        status: Status::Ok,
        reason: None,
        started: "2026-07-30T12:00:00+02:00".to_owned(),
        counted: Some(Counted {
            window_ns: 800 * MS,
            classes: classes.clone(),
            claimed: classes,
            elapsed_ns: 1_000 * MS,
            submitting_ns: 1_000 * MS,
            cpu_ns: 100 * MS,
            waited_ns: Some(0),
            longest_ns: Some(20 * MS),
            still_s: Some(0),
            looked_at: 1_000,
            already_complete: 10,
            engine_notes: Vec::new(),
            sample_latencies_ns: Vec::new(),
            beside: None,
        }),
        evidence: Evidence {
            devices: Seen::Present(BTreeMap::from([("sda".to_owned(), device)])),
            own: Seen::Present(OwnTraffic {
                read_bytes: run.read_bytes,
                write_bytes: run.write_bytes,
            }),
            cached_before: Seen::Present(CachedPages { cached: 0, of: 262_144 }),
            cached_after: Seen::Present(CachedPages { cached: 0, of: 262_144 }),
            processors: Seen::Present(ProcessorTicks { total: 200, steal: 0 }),
            throttle_events: Seen::Present(0),
            group_throttled: Seen::Present(0),
            ..Evidence::absent("a test")
        },
        histograms: BTreeMap::new(),
        series: None,
        spent: None,
    }
}
