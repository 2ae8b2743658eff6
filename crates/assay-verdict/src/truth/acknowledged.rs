//! `acknowledged`: syncs end before their medium can hold what was written.

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
pub const NAME: &str = "acknowledged";

/// Nanoseconds in which the fastest flash programs a page: "A 128Gb 1b/Cell 96-Word-Line-Layer 3D Flash
/// Memory to Improve Random Read Latency with tPROG=75us and tR=4us" (Kouchi et al., ISSCC 2020).
const PROGRAM_NS: f64 = 75e3;

/// Turns a minute of a disk that does not tell them: no faster ones are made.
const FASTEST_TURNS: u64 = 15_000;

/// Nanoseconds of a minute.
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
           On tmpfs, on zram and on a loop device whose file lies in memory, memory answers. \
           Platters need a turn until the next place in line comes by, and half a turn on average \
           for a random one; of a SATA or SCSI disk that does not tell its rate 15,000 turns a \
           minute are assumed, and of one on USB nothing, as sticks call themselves disks. Of \
           drives that somebody lends (see host-cache), whatever they announce, a sync is faster \
           than flash below 75 us: no flash is known to program a page in less (Kouchi et al., \
           ISSCC 2020). Of a drive of this machine that announces a cache which a flush empties, it \
           takes both: syncs that are faster than flash, and the same writes in the same setting \
           without a sync, beside which they take at most 1.25 times as long, by the whole interval \
           of the ratio. So no flush reached the medium. A cache that answers may well be \
           protected: a drive with capacitors, a controller with a battery and a drive that drops \
           flushes look the same from outside, and so does memory that is neither flash nor disk \
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
        let needed = Needed::of(&case.site.drives, io.pattern)?;
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
    let is_zram = |drive: &Drive| drive.bus.value().is_some_and(|bus| bus == "zram");
    match site.drives.first() {
        _ if site.backing == Backing::Memory => {
            Some(format!("{} keeps its files there", site.filesystem()))
        }
        _ if is_loop_in_memory(site) => Some(LOOP_IN_MEMORY.to_owned()),
        Some(first) if site.drives.iter().all(is_zram) => {
            Some(format!("{} is a device in memory", first.name))
        }
        _ => None,
    }
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
    fn of(drives: &[Drive], pattern: Pattern) -> Option<Self> {
        Self::of_lent(drives).or_else(|| Self::of_turning(drives, pattern))
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
             memory by then",
            show::duration(PROGRAM_NS),
            lent.name
        );
        Some(Self { least_ns: PROGRAM_NS, words })
    }

    /// Each of several disks turns: the fastest of them is what all are compared with.
    fn of_turning(drives: &[Drive], pattern: Pattern) -> Option<Self> {
        let turns: Option<Vec<(u64, bool)>> = drives.iter().map(turns).collect();
        let (turns, is_told) = turns?.into_iter().max()?;
        let turn_ns = MINUTE_NS / turns as f64;
        let (least_ns, place) = match pattern {
            Pattern::Sequential => (turn_ns, "the next place comes by after"),
            Pattern::Random => (turn_ns / 2.0, "a place comes by on average after"),
            Pattern::Stride | Pattern::Spread => return None,
        };
        let (assumed, or) = if is_told {
            ("", "")
        } else {
            (
                " (assumed, as no faster disk is made and this one tells none)",
                ", or nothing turns in it",
            )
        };
        let words = format!(
            "at {} turns a minute{assumed} {place} {}: the disk, or what stands before it, has it \
             in memory by then{or}",
            show::count(turns),
            show::duration(least_ns)
        );
        Some(Self { least_ns, words })
    }
}

/// Turns a minute of a disk of this machine, and whether it tells them; none where it may have no platters.
fn turns(drive: &Drive) -> Option<(u64, bool)> {
    let is_disk = drive.rotational.value() == Some(&true) && !hides_its_cache(drive);
    let told = drive.turns_per_minute.value().filter(|turns| **turns > 0);
    let on_a_disks_bus =
        drive.bus.value().is_some_and(|bus| ["sata", "scsi"].contains(&bus.as_str()));
    match told {
        Some(turns) if is_disk => Some((*turns, true)),
        None if is_disk && on_a_disks_bus => Some((FASTEST_TURNS, false)),
        _ => None,
    }
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

    /// Their mean with its 95 % interval; none below three trials.
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

/// A drive of this machine that announces a cache which a flush empties, where all below a target are like
/// it: a flush that reaches their medium takes its time.
pub fn with_a_cache(site: &Site) -> Option<&Drive> {
    let is_own = |drive: &Drive| {
        drive.announces_a_cache()
            && !hides_its_cache(drive)
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
         a page in {}; {drive} announces a cache that a flush empties, and no flush reached its \
         medium: a cache that is protected against power cuts looks the same, so that {UNSEEN}",
        show::duration(mean),
        show::duration(PROGRAM_NS)
    )))
}

#[cfg(test)]
mod tests;
