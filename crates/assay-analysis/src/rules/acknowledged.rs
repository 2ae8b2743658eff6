//! `cached-sync`: syncs complete before the medium can store the data.

use assay_core::stats::{Sample, geometric_mean, welch};
use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::site::{Backing, Drive, LOOP_IN_MEMORY, Site};
use assay_study::results::{design::ALPHA, plan::PlannedWorkload, record::Trial};
use assay_workloads::Basis;
use assay_workloads::io::{self, Pattern};

use super::cached::is_loop_in_memory;
use super::evidence::is_simulated;
use super::host_cache::hides_its_cache;
use super::{Case, Rule, RuleCheck, RuleRemark};

pub const NAME: &str = "cached-sync";
/// Fastest page program of flash, nanoseconds: "A 128Gb 1b/Cell 96-Word-Line-Layer 3D Flash Memory to Improve Random
/// Read Latency with tPROG=75us and tR=4us" (Kouchi et al., ISSCC 2020).
const PROGRAM_NS: f64 = 75e3;
/// Larger writes often end at the end of a track, where the next one starts early.
const MOST_OF_A_TRACK: u32 = 64 << 10;
const MINUTE_NS: f64 = 60e9;
/// Tolerance on the medium's minimum time: neither clocks nor motors are exact.
const TOLERANCE: f64 = 0.9;
/// With a sync that does nothing, a write takes at most this many times as long.
const COSTLESS: f64 = 1.25;
const UNSEEN: &str = "power-loss protection is unknown";

pub static RULE: Rule = Rule {
    about: About {
        name: NAME,
        summary: "syncs complete faster than the medium can store data, so a cache acknowledges them",
        text: "Reports (at 95% confidence) that a cache and not the medium acknowledges synced writes. The number \
               stays trusted because the measured speed is real. Applies to synced writes of the kind io at queue \
               depth 1 without a rate limit. With at least three trials, the whole 95% CI of the write time must be \
               more than 10% below the time that the medium needs. On tmpfs, zram, RAM disks and loop devices with \
               their file in memory, memory acknowledges the writes. A hard disk needs one revolution per sequential \
               write (divided by the number of disks) and on average half a revolution per random write. Assay ignores \
               sequential writes larger than 64 KiB because they can span tracks. It also ignores disks that do not \
               report their rotation rate, because virtual disks, RAID controllers with SSDs and USB sticks also \
               report as rotational. On any virtual drive (see host-cache), a sync below 75 us is faster than flash: \
               no known flash programs a page in less (Kouchi et al., ISSCC 2020). An NVMe, SATA, SCSI, USB or MMC \
               drive of this machine that announces a volatile write cache must meet two conditions: its syncs are \
               faster than flash, and they take at most 1.25 times as long as the same writes without a sync (upper \
               end of the 95% CI). Then no flush reached flash. The cache may be protected: Assay cannot distinguish \
               capacitors, a controller battery, a disk that stores the data on reserved tracks or in flash, fast \
               nonvolatile memory (3D XPoint) and a drive that drops flushes. Assay does not judge a local drive that \
               announces no cache, because its cache may be absent or protected. If the rule is not triggered, a cache \
               may still be in use.",
    },
    looks_at: Basis::Medium,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

/// Notes a cache if syncs complete (at 95% confidence) before the medium can store the data.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let io = case.io()?;
    let syncs_writes = io.sync.every().is_some() && case.workload.writes();
    if !syncs_writes || case.trials.is_empty() || is_simulated(case) {
        return None;
    }
    if let Some(memory) = memory_words(case.site) {
        return Some(RuleRemark::note(format!("volatile memory acknowledges syncs: {memory}")));
    }
    // An emulator's times do not describe a medium.
    let times = WriteTimes::new(case.workload, case.trials).filter(|_| case.emulator.is_none())?;
    let needed = NeededTime::new(&case.site.drives, io)?;
    let (mean, [low, high]) = times.mean_ci95()?;
    (high < TOLERANCE * needed.least_ns).then(|| {
        RuleRemark::note(format!(
            "a cache acknowledges syncs: one completes every {} (95% CI {} to {}), and {}; {UNSEEN}",
            show::duration(mean),
            show::duration(low),
            show::duration(high),
            needed.words
        ))
    })
}

/// Says that the target is in memory; `None` for other media.
fn memory_words(site: &Site) -> Option<String> {
    if site.backing == Backing::Memory {
        return Some(format!("{} stores its files in memory", site.filesystem()));
    }
    if is_loop_in_memory(site) {
        return Some(LOOP_IN_MEMORY.to_owned());
    }
    let is_memory = |drive: &Drive| is_on(drive, &["zram", "ram"]);
    let first = site.drives.first().filter(|_| site.drives.iter().all(is_memory))?;
    Some(format!("{} is a RAM disk", first.name))
}

fn is_on(drive: &Drive, buses: &[&str]) -> bool {
    drive.bus.value().is_some_and(|bus| buses.contains(&bus.as_str()))
}

/// Duration of a sync that waits for the medium.
struct NeededTime {
    least_ns: f64,
    words: String,
}

impl NeededTime {
    fn new(drives: &[Drive], io: &io::IoPlan) -> Option<Self> {
        Self::for_virtual_drive(drives).or_else(|| Self::for_hard_disks(drives, io))
    }

    /// The time of the fastest flash, if all drives are virtual: their media are unknown.
    fn for_virtual_drive(drives: &[Drive]) -> Option<Self> {
        let drive = drives.last().filter(|_| drives.iter().all(hides_its_cache))?;
        let cache = if drive.writes_through() {
            "which announces no cache"
        } else if drive.announces_a_cache() {
            "which announces a cache"
        } else {
            "whose cache is unknown"
        };
        let words = format!(
            "the fastest flash programs a page in {}: the host of {}, {cache}, caches the data in memory or on faster \
             media",
            show::duration(PROGRAM_NS),
            drive.name
        );
        Some(Self { least_ns: PROGRAM_NS, words })
    }

    /// Minimum time on hard disks, by the fastest of them. Several disks may alternate: their waits overlap.
    fn for_hard_disks(drives: &[Drive], io: &io::IoPlan) -> Option<Self> {
        let all: Option<Vec<u64>> = drives.iter().map(rotations_per_minute).collect();
        let fastest = all?.into_iter().max()?;
        let turn_ns = MINUTE_NS / fastest as f64;
        let several = drives.len() > 1;
        let (least_ns, place) = match io.pattern {
            Pattern::Sequential if io.size_bytes() > MOST_OF_A_TRACK => return None,
            Pattern::Sequential if several => {
                (turn_ns / drives.len() as f64, "one of the disks reaches its next position after")
            }
            Pattern::Sequential => (turn_ns, "the disk reaches the next position after"),
            Pattern::Random => {
                (turn_ns / 2.0, "the disk reaches a random position on average after")
            }
            Pattern::Stride | Pattern::Spaced => return None,
        };
        let who = if several { "disks or their controllers store" } else { DISK_HAS };
        let words = format!(
            "at {} rpm, {place} {}: the {who} the data in a cache (memory, flash or reserved tracks)",
            show::count(fastest),
            show::duration(least_ns)
        );
        Some(Self { least_ns, words })
    }
}

/// Subject of the message for a single disk.
const DISK_HAS: &str = "disk or its controller stores";

/// Revolutions per minute of a local disk; `None` if unknown, as flash and virtual disks also report rotation.
fn rotations_per_minute(drive: &Drive) -> Option<u64> {
    let is_disk = drive.rotational.value() == Some(&true) && !hides_its_cache(drive);
    drive.rpm.value().copied().filter(|rpm| *rpm > 0 && is_disk)
}

/// Durations of sequentially issued writes, in ns per trial: of each, or of all up to the next sync.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteTimes {
    each_ns: Vec<f64>,
}

impl WriteTimes {
    /// Time per write, or per group of writes with one sync; `None` for other work, and if a trial lacks the count.
    pub fn new(workload: &PlannedWorkload, trials: &[&Trial]) -> Option<Self> {
        let io = one_by_one(workload)?;
        let writes = f64::from(io.sync.every().unwrap_or(1));
        let each = |trial: &&Trial| {
            let measured = trial.measured.as_ref()?;
            let done = io::IoDetail::of(measured)?.classes.get("write")?.operations;
            (done > 0).then(|| writes * measured.window_ns as f64 / done as f64)
        };
        let each_ns: Option<Vec<f64>> = trials.iter().map(each).collect();
        each_ns.map(|each_ns| Self { each_ns })
    }

    /// The mean with its 95% CI; `None` below three trials.
    fn mean_ci95(&self) -> Option<(f64, [f64; 2])> {
        let centre = geometric_mean(&self.each_ns)?;
        Some((centre.mean, centre.ci95?))
    }

    fn logarithms(&self) -> Option<Sample> {
        Sample::of(&self.each_ns.iter().map(|ns| ns.ln()).collect::<Vec<f64>>())
    }
}

/// The plan of the writes, if they are the only work, at queue depth 1 and closed loop.
pub fn one_by_one(workload: &PlannedWorkload) -> Option<&io::IoPlan> {
    let alone = workload.background.is_none() && workload.writes() && !workload.reads();
    let io = io::IoPlan::of(&workload.work).filter(|_| alone)?;
    let is_plain = !io.is_held_back() && !io.is_shaped() && !io.mix.clears();
    (io.in_flight() == 1 && is_plain).then_some(io)
}

/// Buses of drives with flash if they do not rotate: other cached media may store a write at once.
const OF_FLASH: [&str; 5] = ["nvme", "sata", "scsi", "usb", "mmc"];

/// The first drive, if all are local flash drives that announce a volatile cache: a real flush takes time there.
pub fn cached_flash(site: &Site) -> Option<&Drive> {
    let is_cached_flash = |drive: &Drive| {
        drive.announces_a_cache()
            && !hides_its_cache(drive)
            && is_on(drive, &OF_FLASH)
            && drive.rotational.value() == Some(&false)
    };
    let are_all = memory_words(site).is_none() && site.drives.iter().all(is_cached_flash);
    if are_all { site.drives.first() } else { None }
}

/// Compares the same writes with and without syncs; a remark if the syncs cost too little to reach flash: by the upper
/// ends of both 95% CIs, a write is faster than a page program and takes at most [`COSTLESS`] times as long.
pub fn costless(drive: &str, synced: &WriteTimes, bare: &WriteTimes) -> Option<RuleRemark> {
    let (mean, [_, high_ns]) = synced.mean_ci95()?;
    // A side with too few trials for an interval gives no remark.
    bare.mean_ci95()?;
    let test = welch(&bare.logarithms()?, &synced.logarithms()?)?;
    let [low_ratio, high_ratio] = test.interval(ALPHA)?.map(f64::exp);
    if high_ns >= TOLERANCE * PROGRAM_NS || high_ratio > COSTLESS {
        return None;
    }
    let [ratio, least, most] = show::ratios(test.difference.exp(), [low_ratio, high_ratio]);
    Some(RuleRemark::note(format!(
        "a cache acknowledges syncs: a write with a sync takes {ratio} times as long as a write without (95% CI \
         {least} to {most}): {}; the fastest flash programs a page in {}. {drive} announces a volatile cache, but no \
         flush reached flash. The cache may be protected or the medium may be fast nonvolatile memory, so {UNSEEN}",
        show::duration(mean),
        show::duration(PROGRAM_NS)
    )))
}

#[cfg(test)]
mod tests;
