//! `cached-sync`: syncs end before their medium can hold what was written.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;
use assay_base::quantity::units::show;
use assay_kinds::work::Judged;
use assay_kinds::work::io::{self, Pattern};
use assay_stats::{Sample, geometric_mean, welch};
use assay_study::results::design::ALPHA;
use assay_study::results::plan::PlannedWorkload;
use assay_study::results::record::TrialRecord;
use assay_system::system::site::{Backing, Drive, LOOP_IN_MEMORY, Site};

use super::cached::is_loop_in_memory;
use super::evidence::is_simulated;
use super::host_cache::hides_its_cache;
use super::{Case, Remark, SPEED, TruthRule};

/// Name of the rule.
pub const NAME: &str = "cached-sync";

/// Nanoseconds in which the fastest flash programs a page: "A 128Gb 1b/Cell 96-Word-Line-Layer 3D Flash
/// Memory to Improve Random Read Latency with tPROG=75us and tR=4us" (Kouchi et al., ISSCC 2020).
const PROGRAM_NS: f64 = 75e3;

/// Bytes of a write up to which hardly any ends at the end of a track, behind which the next one begins sooner
/// than a turn later.
const MOST_OF_A_TRACK: u32 = 64 << 10;

const MINUTE_NS: f64 = 60e9;

/// Share of what a medium needs below which a time is surely shorter: neither clocks nor motors are perfect.
const SURELY: f64 = 0.9;

/// A sync that does nothing makes a write take at most this many times as long.
const COSTLESS: f64 = 1.25;

/// What cannot be told.
const UNSEEN: &str = "whether that outlives a power cut cannot be seen from here";

pub struct Acknowledged;

static ABOUT: About = About {
    name: NAME,
    summary: "syncs end before the medium can hold what was written: a cache answers for it",
    text: "Says what the numbers of synced writes rest on, where that is surely not the medium. It \
           takes no trust away: the speed is what was asked for. Looked at are writes of the kind \
           io that are synced, one in flight and as fast as they end, and from three trials on the \
           whole 95 % interval of their time has to be more than 10 % below what the medium needs. \
           On tmpfs, on zram, on a RAM disk and on a loop device whose file lies in memory, memory \
           answers. Platters need a turn until the next place in line comes by (of several disks, \
           which may take turns, its share), and half a turn on average for a random one; of \
           writes in line that are larger than 64 KiB nothing is said, as they reach the ends of \
           tracks. Of a disk that does not tell its rate nothing is said either: virtual disks, \
           controllers with flash behind them and sticks call themselves disks. Of \
           drives that somebody lends (see host-cache), whatever they announce, a sync is faster \
           than flash below 75 us: no flash is known to program a page in less (Kouchi et al., \
           ISSCC 2020). Of an NVMe, SATA, SCSI, USB or MMC drive of this machine that announces a \
           cache which a flush empties, it \
           takes both: syncs that are faster than flash, and the same writes in the same setting \
           without a sync, beside which they take at most 1.25 times as long, by the whole interval \
           of the ratio. So no flush reached flash. A cache that answers may well be \
           protected: a drive with capacitors, a controller with a battery, a disk that keeps what \
           it is given on tracks of its own or in flash, and a drive that drops flushes look the \
           same from outside, and so does memory that is neither flash nor disk \
           (3D XPoint). Of a drive of this machine that announces no cache nothing is said: that \
           may be so, or its cache is protected. Silence proves nothing.",
};

impl TruthRule for Acknowledged {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn looks_at(&self) -> Judged {
        Judged::Medium
    }

    fn changes(&self) -> &'static [Nature] {
        SPEED
    }

    fn judge(&self, case: &Case<'_>) -> Option<Remark> {
        let io = case.io().filter(|_| !case.trials.is_empty() && !is_simulated(case))?;
        io.sync.every().filter(|_| case.workload.writes())?;
        if let Some(memory) = memory(case.site) {
            return Some(Remark::note(format!(
                "syncs are acknowledged by memory, with nothing behind it: {memory}"
            )));
        }
        // Times of an emulator say nothing of a medium.
        let times =
            WriteTimes::of(case.workload, case.trials).filter(|_| case.emulator.is_none())?;
        let needed = Needed::of(&case.site.drives, io)?;
        let (mean, [low, high]) = times.told()?;
        (high < SURELY * needed.least_ns).then(|| {
            Remark::note(format!(
                "syncs are acknowledged by a cache: one ends every {} (95 % interval {} to {}), \
                 and {}; {UNSEEN}",
                show::duration(mean),
                show::duration(low),
                show::duration(high),
                needed.words
            ))
        })
    }
}

/// Why a target is memory, where it is.
fn memory(site: &Site) -> Option<String> {
    let is_memory = |drive: &Drive| is_on(drive, &["zram", "ram"]);
    match site.drives.first() {
        _ if site.backing == Backing::Memory => {
            Some(format!("{} keeps its files there", site.filesystem()))
        }
        _ if is_loop_in_memory(site) => Some(LOOP_IN_MEMORY.to_owned()),
        Some(first) if site.drives.iter().all(is_memory) => {
            Some(format!("{} is a device in memory", first.name))
        }
        _ => None,
    }
}

fn is_on(drive: &Drive, buses: &[&str]) -> bool {
    drive.bus.value().is_some_and(|bus| buses.contains(&bus.as_str()))
}

/// What a sync would take that waits for the medium.
struct Needed {
    /// Nanoseconds, at least.
    least_ns: f64,
    /// Why, and what follows from a shorter time.
    words: String,
}

impl Needed {
    /// None where nobody knows.
    fn of(drives: &[Drive], io: &io::Planned) -> Option<Self> {
        Self::of_lent(drives).or_else(|| Self::of_turning(drives, io))
    }

    fn of_lent(drives: &[Drive]) -> Option<Self> {
        let lent = drives.last().filter(|_| drives.iter().all(hides_its_cache))?;
        let announces = match () {
            () if lent.writes_through() => "which announces no cache",
            () if lent.announces_a_cache() => "which announces a cache",
            () => "which does not tell whether it has a cache",
        };
        let words = format!(
            "the fastest flash programs a page in {}: whoever serves {}, {announces}, has it in \
             memory by then, or on something faster than flash",
            show::duration(PROGRAM_NS),
            lent.name
        );
        Some(Self { least_ns: PROGRAM_NS, words })
    }

    /// The fastest of several disks is what all are compared with. They may take turns: while one waits for
    /// its next place, so does another.
    fn of_turning(drives: &[Drive], io: &io::Planned) -> Option<Self> {
        let all: Option<Vec<u64>> = drives.iter().map(turns).collect();
        let turns = all?.into_iter().max()?;
        let turn_ns = MINUTE_NS / turns as f64;
        let several = drives.len() > 1;
        let (least_ns, place) = match io.pattern {
            Pattern::Sequential if io.size_bytes() > MOST_OF_A_TRACK => return None,
            Pattern::Sequential if several => {
                (turn_ns / drives.len() as f64, "the next place of one of them comes by after")
            }
            Pattern::Sequential => (turn_ns, "the next place comes by after"),
            Pattern::Random => (turn_ns / 2.0, "a place comes by on average after"),
            Pattern::Stride | Pattern::Spaced => return None,
        };
        let who = if several { "disks, or what stands before them, have" } else { DISK_HAS };
        let words = format!(
            "at {} turns a minute {place} {}: the {who} it in a cache by then, be it memory, flash or \
             tracks set aside",
            show::count(turns),
            show::duration(least_ns)
        );
        Some(Self { least_ns, words })
    }
}

/// Who has what was written where there is one disk.
const DISK_HAS: &str = "disk, or what stands before it, has";

/// Turns a minute of a disk of this machine; none where it may have no platters. What does not tell them may be
/// flash behind a controller, or another machine's.
fn turns(drive: &Drive) -> Option<u64> {
    let is_disk = drive.rotational.value() == Some(&true) && !hides_its_cache(drive);
    drive.rpm.value().copied().filter(|turns| *turns > 0 && is_disk)
}

/// How long writes took that were done one after the other: by trial the nanoseconds of each, or of all up
/// to the next sync.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteTimes {
    each_ns: Vec<f64>,
}

impl WriteTimes {
    /// None where the work is anything else, and where a trial does not tell.
    pub fn of(workload: &PlannedWorkload, trials: &[&TrialRecord]) -> Option<Self> {
        let io = one_by_one(workload)?;
        let writes = f64::from(io.sync.every().unwrap_or(1));
        let each = |trial: &&TrialRecord| {
            let measured = trial.measured.as_ref()?;
            let done = io::Detail::of(measured)?.classes.get("write")?.operations;
            (done > 0).then(|| writes * measured.window_ns as f64 / done as f64)
        };
        let each_ns: Option<Vec<f64>> = trials.iter().map(each).collect();
        each_ns.map(|each_ns| Self { each_ns })
    }

    /// Their mean with its 95% CI; none below three trials.
    fn told(&self) -> Option<(f64, [f64; 2])> {
        let centre = geometric_mean(&self.each_ns)?;
        Some((centre.mean, centre.ci95?))
    }

    fn logarithms(&self) -> Option<Sample> {
        Sample::of(&self.each_ns.iter().map(|ns| ns.ln()).collect::<Vec<f64>>())
    }
}

/// The writes, where nothing else is done, one at a time and as fast as they end.
pub fn one_by_one(workload: &PlannedWorkload) -> Option<&io::Planned> {
    let alone = workload.background.is_none() && workload.writes() && !workload.reads();
    let io = io::Planned::of(&workload.work).filter(|_| alone)?;
    let is_plain = !io.is_held_back() && !io.is_shaped() && !io.mix.clears();
    (io.in_flight() == 1 && is_plain).then_some(io)
}

/// Buses of drives whose medium is flash where it does not turn: what else announces a cache (memory that
/// stays, a program of this machine) may hold a write at once.
const OF_FLASH: [&str; 5] = ["nvme", "sata", "scsi", "usb", "mmc"];

/// A drive of this machine that announces a cache which a flush empties, where all below a target are like
/// it: a flush that reaches their medium takes its time.
pub fn with_a_cache(site: &Site) -> Option<&Drive> {
    let is_own = |drive: &Drive| {
        drive.announces_a_cache()
            && !hides_its_cache(drive)
            && is_on(drive, &OF_FLASH)
            && drive.rotational.value() == Some(&false)
    };
    let all = memory(site).is_none() && site.drives.iter().all(is_own);
    site.drives.first().filter(|_| all)
}

/// What the same writes with and without syncs say of such a drive together.
pub fn costless(drive: &str, synced: &WriteTimes, bare: &WriteTimes) -> Option<Remark> {
    let (mean, [_, high]) = synced.told()?;
    bare.told()?;
    let apart = welch(&bare.logarithms()?, &synced.logarithms()?)?;
    let ends = apart.interval(ALPHA)?.map(f64::exp);
    if high >= SURELY * PROGRAM_NS || ends[1] > COSTLESS {
        return None;
    }
    let [ratio, least, most] = show::ratios(apart.difference.exp(), ends);
    Some(Remark::note(format!(
        "syncs are acknowledged by a cache: with a sync a write takes {ratio} times as long as \
         without one (95 % interval {least} to {most}), {} in all, and the fastest flash programs \
         a page in {}; {drive} announces a cache that a flush empties, and no flush reached \
         flash: a cache that is protected against power cuts, and memory that is faster than flash \
         and keeps what it has, look the same, so that {UNSEEN}",
        show::duration(mean),
        show::duration(PROGRAM_NS)
    )))
}

#[cfg(test)]
mod tests;
