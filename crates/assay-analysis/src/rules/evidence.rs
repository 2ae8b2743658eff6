//! Evidence for several rules.

use assay_core::quantity::units::show;
use assay_machine::{probes::mount_traffic::MountBytes, system::site::TargetKind};
use assay_study::results::record::{DeviceEvidence, Traffic, Trial};
use assay_workloads::Claims;

use super::Case;

/// Smaller claims are not judged: in 64 operations of 4 KiB, no single request is a tenth.
pub(super) const SMALLEST_CLAIM: u64 = 256 << 10;
pub(super) const MIB: u64 = 1 << 20;

/// Traffic of the counted devices around a trial, summed; `None` if the kernel lacks any of them.
pub(super) fn counted_devices(case: &Case<'_>, trial: &Trial) -> Option<DeviceEvidence> {
    let devices = trial.evidence.disk.value()?;
    if case.site.counted.is_empty() {
        return None;
    }
    sum_over_devices(&case.site.counted, |name| devices.get(name).copied())
}

/// Traffic of several devices, summed; `None` if one of them is missing.
fn sum_over_devices(
    names: &[String],
    evidence_of: impl Fn(&String) -> Option<DeviceEvidence>,
) -> Option<DeviceEvidence> {
    let mut sum = DeviceEvidence::default();
    for name in names {
        let device = evidence_of(name)?;
        sum.gap = sum_traffic(&sum.gap, &device.gap);
        sum.run = sum_traffic(&sum.run, &device.run);
        sum.settle = sum_traffic(&sum.settle, &device.settle);
    }
    Some(sum)
}

fn sum_traffic(left: &Traffic, right: &Traffic) -> Traffic {
    Traffic {
        span_ns: left.span_ns.max(right.span_ns),
        reads: left.reads + right.reads,
        read_bytes: left.read_bytes + right.read_bytes,
        writes: left.writes + right.writes,
        write_bytes: left.write_bytes + right.write_bytes,
        discard_bytes: left.discard_bytes + right.discard_bytes,
        read_ms: left.read_ms.zip(right.read_ms).map(|(left, right)| left + right),
        write_ms: left.write_ms.zip(right.write_ms).map(|(left, right)| left + right),
        busy_ms: left.busy_ms + right.busy_ms,
        weighted_ms: left.weighted_ms + right.weighted_ms,
    }
}

/// A finished trial with what the counted devices moved around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct CountedTrial {
    /// Traffic that the tool claims, including background load.
    pub claims: Claims,
    /// Traffic of the devices; below a loop device that of its drives if less, because the page cache serves its file.
    pub device: DeviceEvidence,
    pub mover: Mover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mover {
    /// The topmost block devices.
    Device,
    /// The drives below a loop device.
    BelowLoop,
    /// The client of a network file system.
    Server,
}

/// The trials whose traffic a device or a network file system counted.
pub(super) fn counted_trials(case: &Case<'_>) -> Vec<CountedTrial> {
    let mut counted = Vec::new();
    for trial in case.trials.iter().filter(|trial| trial.measured.is_some()) {
        let claims = trial.claims();
        let Some(top) = counted_devices(case, trial) else {
            let mover = Mover::Server;
            counted.extend(on_network(trial).map(|device| CountedTrial { claims, device, mover }));
            continue;
        };
        let device = below_loops(case, trial).map_or(top, |drive| with_smaller_bytes(&top, &drive));
        let moved_bytes = |one: &DeviceEvidence| one.run.read_bytes + one.run.write_bytes;
        let is_below_loop = moved_bytes(&device) < moved_bytes(&top);
        let mover = if is_below_loop { Mover::BelowLoop } else { Mover::Device };
        counted.push(CountedTrial { claims, device, mover });
    }
    counted
}

/// Network traffic of the target's mount: bytes only, without requests and times.
fn on_network(trial: &Trial) -> Option<DeviceEvidence> {
    let mount = trial.evidence.mount_traffic.value()?;
    let traffic = |moved: &MountBytes| {
        let (read_bytes, write_bytes) = (moved.read_bytes, moved.write_bytes);
        Traffic { read_bytes, write_bytes, ..Traffic::default() }
    };
    let (run, settle) = (traffic(&mount.run), traffic(&mount.settle));
    Some(DeviceEvidence { gap: Traffic::default(), run, settle })
}

/// Names the source of the counters; if trials differ, one below a loop device is named first.
pub(super) fn mover(trials: &[CountedTrial]) -> &'static str {
    let has = |mover: Mover| trials.iter().any(|trial| trial.mover == mover);
    if has(Mover::BelowLoop) {
        "the drive below the loop device"
    } else if has(Mover::Server) {
        "the server"
    } else {
        "the device"
    }
}

/// Traffic of the drives below loop devices, summed; `None` without loop devices, or if any counter is missing.
fn below_loops(case: &Case<'_>, trial: &Trial) -> Option<DeviceEvidence> {
    let layer = |name: &String| case.site.layers.iter().find(|layer| layer.name == *name);
    let is_loop = |name: &String| layer(name).is_some_and(|layer| layer.kind == "loop");
    if !case.site.counted.iter().any(is_loop) {
        return None;
    }
    let mut waiting = case.site.counted.clone();
    let mut bottom: Vec<String> = Vec::new();
    while let Some(name) = waiting.pop() {
        match layer(&name).filter(|layer| !layer.below.is_empty()) {
            Some(layer) => waiting.extend(layer.below.iter().cloned()),
            // A loop device with its file in memory, or elsewhere, has no drive below it.
            None if is_loop(&name) => return None,
            None if !bottom.contains(&name) => bottom.push(name),
            None => {}
        }
    }
    sum_over_devices(&bottom, |name| {
        let maps = [&trial.evidence.disk, &trial.evidence.members];
        maps.into_iter().find_map(|devices| devices.value()?.get(name).copied())
    })
}

/// Traffic with the smaller bytes of loop device and drive below: others' traffic must not hide missing bytes.
fn with_smaller_bytes(loop_device: &DeviceEvidence, drive: &DeviceEvidence) -> DeviceEvidence {
    let read_bytes = loop_device.run.read_bytes.min(drive.run.read_bytes);
    let run_bytes = loop_device.run.write_bytes.min(drive.run.write_bytes);
    let total_bytes = |device: &DeviceEvidence| device.run.write_bytes + device.settle.write_bytes;
    let settle_bytes = total_bytes(loop_device).min(total_bytes(drive)) - run_bytes;
    DeviceEvidence {
        gap: loop_device.gap,
        run: Traffic { read_bytes, write_bytes: run_bytes, ..loop_device.run },
        settle: Traffic { write_bytes: settle_bytes, ..loop_device.settle },
    }
}

/// Bytes moved against bytes claimed, summed over the affected trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MovedShare {
    pub moved: u64,
    pub claimed: u64,
    pub trials: usize,
}

impl MovedShare {
    /// Sums (moved, claimed) of only those trials that claim enough and moved less than `limit` of it; `None` if none.
    pub fn below(limit: f64, trials: impl Iterator<Item = (u64, u64)>) -> Option<Self> {
        let mut sum = Self::default();
        for (moved, claimed) in trials {
            if claimed >= SMALLEST_CLAIM && (moved as f64) < limit * claimed as f64 {
                sum.moved += moved;
                sum.claimed += claimed;
                sum.trials += 1;
            }
        }
        (sum.trials > 0).then_some(sum)
    }

    pub fn percent(&self) -> f64 {
        100.0 * self.moved as f64 / self.claimed as f64
    }

    /// `the device delivered only 12% of the bytes read, in 2 of 3 trials`.
    pub fn words(&self, case: &Case<'_>, all: &[CountedTrial], verb: &str, what: &str) -> String {
        let (who, share) = (mover(all), show::percent(self.percent()));
        format!("{who} {verb} only {share} of the {what}{}", in_trials(self.trials, case))
    }
}

pub(super) fn compression(case: &Case<'_>) -> Option<String> {
    if let Some(name) = case.site.compression.value() {
        return Some(format!("compression ({name})"));
    }
    let encoded = case.survey.coverage.value().is_some_and(|found| found.encoded_bytes > 0);
    encoded.then(|| "compression (per the file's extents)".to_owned())
}

/// Whether the target is the simulated engine, below which there is nothing.
pub(super) fn is_simulated(case: &Case<'_>) -> bool {
    case.site.kind == TargetKind::Simulated
}

/// `, in 2 of 3 trials`, or empty for all trials.
pub(super) fn in_trials(hit: usize, case: &Case<'_>) -> String {
    let of = case.trials.len();
    if hit == of { String::new() } else { format!(", in {hit} of {of} trials") }
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
