//! `host-cache`: caches between this machine and a virtual drive.

use assay_core::{catalogue::About, quantity::units::show, stats::median};
use assay_machine::system::site::{Backing, Drive, Site};
use assay_study::findings::LENT;
use assay_study::results::{plan::PlannedWorkload, record::Trial};
use assay_workloads::{Basis, io};

use super::evidence::{in_trials, seconds};
use super::{Case, Rule, RuleCheck, RuleRemark};

const LOOP: &str = "loop";
/// A final flush that lowers the write rate below this share shows that most data was not on the drive.
const LEAST_WITH_FLUSH: f64 = 0.7;
/// A flush that takes less than this share of the writing time did nothing.
const MOST_IDLE_FLUSH: f64 = 0.01;
/// Writes this many times as fast as reads do not go to the drive.
const FASTER: f64 = 1.25;
/// A second read this many times as fast as the first does not come from the drive.
const CACHED_SPEEDUP: f64 = 2.5;
/// Smaller writes are not judged: a flush has a fixed cost.
const LEAST_BYTES: u64 = 32 << 20;

pub static RULE: Rule = Rule {
    about: About {
        name: LENT,
        summary: "the drive is virtual: a host or a file provides it, and Assay cannot see the host's cache",
        text: "Virtual drives are drives of virtual machines (virtio, Xen, Hyper-V), network block devices, loop \
               devices and network filesystems. Their host may cache data, and no measurement in the guest can exclude \
               that. The numbers describe the performance that this machine gets, not the drive itself, so Assay draws \
               no conclusion about databases that wait for a sync. Three signs make rows suspect. First, the write \
               rate including the final flush is less than 70% of the rate without it (Assay reports both rates). \
               Second, a flush takes under 1% of the write time although the drive announces a cache, and writes are \
               more than 1.25 times as fast as any workload's reads. Such a flush does nothing, so all write rows of \
               the drive are suspect. Third, Assay reads parts of the drive outside the test area twice before any \
               write, and the second pass is at least 2.5 times as fast (median): the host caches reads and writes. If \
               the drive announces no write cache (write through), the third sign affects reads only, and rule cached \
               reports it. Writes that are faster than reads are not proof on their own, and neither is the announced \
               cache type.",
    },
    looks_at: Basis::Medium,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

/// Whether the cache of a drive is on an invisible host.
pub fn hides_its_cache(drive: &Drive) -> bool {
    let is_loop = drive.bus.value().is_some_and(|bus| bus == LOOP);
    drive.link.value().is_none() && (drive.is_served() || is_loop)
}

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if case.trials.is_empty() {
        return None;
    }
    if case.site.backing == Backing::Remote {
        return Some(RuleRemark::note(
            "the server's cache is invisible to this client; a server with an async export acknowledges writes \
             before storing them",
        ));
    }
    // On hardware, no host is below the system.
    virtual_drive(case)?;
    // A host that writes through stores writes on the drive; rule `cached` reports its reads.
    let reread = ReadAgain::new(case).filter(|reread| !reread.drive.writes_through());
    let reread = reread.map(|reread| format!("{}: the host caches data", reread.words()));
    match reread.or_else(|| slowed_by_flush(case)) {
        Some(text) => Some(RuleRemark::suspect(text)),
        None => Some(RuleRemark::note("the host's cache is invisible to this guest")),
    }
}

fn virtual_drive<'a>(case: &Case<'a>) -> Option<&'a Drive> {
    case.site.drives.iter().find(|drive| hides_its_cache(drive))
}

/// Reads of a virtual drive that were faster the second time.
pub(super) struct ReadAgain<'a> {
    pub drive: &'a Drive,
    /// Speedup of the second read, median.
    times: f64,
}

impl<'a> ReadAgain<'a> {
    /// `None` without a virtual drive or a second read, and for speedups that a drive may have.
    pub fn new(case: &Case<'a>) -> Option<Self> {
        let drive = virtual_drive(case)?;
        let read = case.survey.read_twice.value().filter(|read| read.drive == drive.name)?;
        let ratio = |[first, second]: &[u64; 2]| *first as f64 / (*second).max(1) as f64;
        let times = median(&read.piece_ns.iter().map(ratio).collect::<Vec<_>>())?;
        (times >= CACHED_SPEEDUP).then_some(Self { drive, times })
    }

    pub fn words(&self) -> String {
        format!(
            "a second direct read of parts of the drive was {} times as fast as the first",
            show::three_digits(self.times)
        )
    }
}

struct FlushTimes {
    bytes: u64,
    wrote_s: f64,
    flush_s: f64,
}

impl FlushTimes {
    /// `None` unless the trial only writes, without a sync after each write, and writes enough bytes.
    fn new(workload: &PlannedWorkload, trial: &Trial) -> Option<Self> {
        let io = io::IoPlan::of(&workload.work)?;
        if !workload.writes() || workload.reads() || io.sync.every() == Some(1) {
            return None;
        }
        let (flush_ns, measured) = (trial.flush_ns?, trial.measured.as_ref()?);
        let bytes = measured.claims.write.bytes;
        let (wrote_s, flush_s) = (seconds(measured.elapsed_ns), seconds(flush_ns));
        (bytes >= LEAST_BYTES && wrote_s > 0.0).then_some(Self { bytes, wrote_s, flush_s })
    }

    /// Remaining share of the rate if the flush counts.
    fn rate_share_with_flush(&self) -> f64 {
        self.wrote_s / (self.wrote_s + self.flush_s)
    }
}

/// The rates with and without the final flush, if the flush lowers the median rate too much.
fn slowed_by_flush(case: &Case<'_>) -> Option<String> {
    let trials: Vec<FlushTimes> =
        case.trials.iter().filter_map(|trial| FlushTimes::new(case.workload, trial)).collect();
    let shares: Vec<f64> = trials.iter().map(FlushTimes::rate_share_with_flush).collect();
    if median(&shares)? >= LEAST_WITH_FLUSH {
        return None;
    }
    let cached: Vec<&FlushTimes> =
        trials.iter().filter(|trial| trial.rate_share_with_flush() < LEAST_WITH_FLUSH).collect();
    let bytes: f64 = cached.iter().map(|trial| trial.bytes as f64).sum();
    let wrote_s: f64 = cached.iter().map(|trial| trial.wrote_s).sum();
    let total_s: f64 = cached.iter().map(|trial| trial.wrote_s + trial.flush_s).sum();
    Some(format!(
        "{} without the final flush, {} with it: a cache of the drive or the host absorbed the difference{}",
        show::rate(bytes / wrote_s),
        show::rate(bytes / total_s),
        in_trials(cached.len(), case)
    ))
}

/// Writes to a drive that announces a cache, followed by a flush that did nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleFlush {
    pub bytes: u64,
    pub flush_ns: f64,
}

impl IdleFlush {
    /// The first idle flush of a virtual drive that announces a cache; `None` unless most trials have one.
    pub fn new(site: &Site, workload: &PlannedWorkload, trials: &[&Trial]) -> Option<Self> {
        let drive = site.drives.iter().find(|drive| hides_its_cache(drive))?;
        if !drive.announces_a_cache() {
            return None;
        }
        let times = trials.iter().filter_map(|trial| FlushTimes::new(workload, trial));
        let idle: Vec<FlushTimes> =
            times.filter(|times| times.flush_s / times.wrote_s < MOST_IDLE_FLUSH).collect();
        let first = idle.first()?;
        (2 * idle.len() > trials.len())
            .then_some(Self { bytes: first.bytes, flush_ns: first.flush_s * 1e9 })
    }

    /// The remark for these rates of writes and reads, bytes per second; `None` if a drive could be that fast.
    pub fn remark_for(&self, write_rate: f64, read_rate: f64) -> Option<RuleRemark> {
        (write_rate > FASTER * read_rate).then(|| {
            RuleRemark::suspect(format!(
                "the flush after {} took {} although the drive announces a cache, and writes ({}) are {} times as \
                 fast as reads: the host caches writes, and the effect of a sync is unknown",
                show::bytes(self.bytes),
                show::duration(self.flush_ns),
                show::rate(write_rate),
                show::three_digits(write_rate / read_rate)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;
    use assay_study::results::plan::ReadTwice;
    use assay_workloads::io::WriteSync;

    use super::super::testing::{Bench, MOVED as MOVED_BYTES, measured};
    use super::*;

    const MS: u64 = 1_000_000;

    /// On a virtual drive, with one-second trials and flushes of these times in milliseconds.
    fn bench(bench: Bench, bus: &str, flush_ms: [u64; 3]) -> Bench {
        let bench = bench.site(|site| {
            let own = &mut site.drives[0];
            own.bus = Presence::Present(bus.to_owned());
            own.link = Presence::absent("a virtual disk has no link");
            own.write_cache = Presence::Present("write back".to_owned());
        });
        bench.each(|trial| {
            measured(trial).elapsed_ns = 1000 * MS;
            trial.flush_ns = Some(flush_ms[trial.replicate as usize - 1] * MS);
        })
    }

    /// Pieces of 8 MiB, read in this many milliseconds.
    fn read_twice(bench: Bench, piece_ms: &[[u64; 2]]) -> Bench {
        bench.survey(|survey| {
            survey.read_twice = Presence::Present(ReadTwice {
                drive: "sda".to_owned(),
                piece_bytes: 8 << 20,
                piece_ns: piece_ms.iter().map(|pair| pair.map(|ms| ms * MS)).collect(),
            });
        })
    }

    /// Earlier versions stored pieces without a reason, or nothing; this one stores a reason.
    #[test]
    fn what_older_versions_stored_of_it_is_read() {
        use assay_study::results::plan::Survey;
        let piece =
            ReadTwice { drive: "vda".to_owned(), piece_bytes: 8 << 20, piece_ns: vec![[3, 1]] };
        let stored = |read: Option<serde_json::Value>| -> Presence<ReadTwice> {
            let mut survey = serde_json::to_value(super::super::testing::survey()).unwrap();
            let own = survey.as_object_mut().unwrap();
            own.remove("read_twice");
            own.extend(read.map(|read| ("read_twice".to_owned(), read)));
            serde_json::from_value::<Survey>(survey).unwrap().read_twice
        };
        let bare = serde_json::to_value(&piece).unwrap();
        assert_eq!(stored(Some(bare)), Presence::Present(piece.clone()));
        for now in [Presence::Present(piece), Presence::absent("vda: no room")] {
            assert_eq!(stored(Some(serde_json::to_value(&now).unwrap())), now);
        }
        let reason = stored(None);
        assert!(reason.reason().unwrap().contains("did not record"), "{reason:?}");
    }

    fn told(bench: &Bench) -> Option<(Trust, String)> {
        bench.judge(&RULE).map(|remark| (remark.trust, remark.text))
    }

    fn rest() -> (Trust, String) {
        (Trust::Trusted, "the host's cache is invisible to this guest".to_owned())
    }

    #[test]
    fn a_drive_with_a_link_of_its_own_is_none_of_its_business() {
        assert_eq!(told(&Bench::write()), None);
        let slow = Bench::write().each(|trial| trial.flush_ns = Some(10_000 * MS));
        assert_eq!(told(&read_twice(slow, &[[90, 1]; 3])), None);
    }

    #[test]
    fn servers_of_files_are_lent_as_drives_are() {
        for kind in [Bench::read(), Bench::write()] {
            let remote = kind.site(|site| {
                (site.backing, site.drives) = (Backing::Remote, Vec::new());
            });
            let (trust, text) = told(&remote).unwrap();
            assert_eq!(trust, Trust::Trusted);
            assert!(text.contains("the server's cache is invisible"), "{text}");
        }
        let unknown = Bench::read().site(|site| {
            (site.backing, site.drives) = (Backing::Unknown, Vec::new());
        });
        assert_eq!(told(&unknown), None);
    }

    #[test]
    fn without_a_sign_it_says_that_nothing_can_be_seen() {
        for bus in ["virtio", "xen", "hyper-v", "nbd", "rbd", "loop"] {
            assert_eq!(told(&bench(Bench::write(), bus, [100; 3])), Some(rest()), "{bus}");
            assert_eq!(told(&bench(Bench::read(), bus, [100; 3])), Some(rest()), "{bus}");
        }
        let even =
            read_twice(bench(Bench::read(), "virtio", [0; 3]), &[[20, 19], [20, 5], [30, 28]]);
        assert_eq!(told(&even), Some(rest()));
        assert_eq!(told(&bench(Bench::write().without_trials(), "virtio", [0; 3])), None);
    }

    #[test]
    fn writing_of_which_much_comes_after_its_end_is_suspect_with_both_rates() {
        let (trust, text) = told(&bench(Bench::write(), "virtio", [900, 1000, 300])).unwrap();
        assert_eq!(trust, Trust::Suspect);
        assert_eq!(
            text,
            "64 MiB/s without the final flush, 32.8 MiB/s with it: a cache of the drive or the host absorbed the \
             difference, in 2 of 3 trials"
        );
        // Syncs after each write leave nothing to flush, and a flush after few bytes has a fixed cost.
        let synced =
            bench(Bench::write(), "virtio", [900; 3]).io(|io| io.sync = WriteSync::EachWrite);
        assert_eq!(told(&synced), Some(rest()));
        let little = bench(Bench::write(), "virtio", [900; 3])
            .each(|trial| measured(trial).claims.write.bytes = LEAST_BYTES - 1);
        assert_eq!(told(&little), Some(rest()));
    }

    #[test]
    fn a_second_reading_from_nearer_by_is_suspect_in_rows_of_reads_and_writes() {
        for kind in [Bench::read(), Bench::write()] {
            let kind = read_twice(bench(kind, "nbd", [100; 3]), &[[60, 10], [20, 19], [75, 25]]);
            let (trust, text) = told(&kind).unwrap();
            assert_eq!(trust, Trust::Suspect);
            assert!(text.contains("was 3 times as fast as the first"), "{text}");
        }
    }

    /// A host that writes through still caches reads, which rule `cached` reports.
    #[test]
    fn where_a_host_writes_through_it_speaks_of_what_writing_shows_alone() {
        let on = |kind: Bench, cache: Presence<String>, flush_ms| {
            let own = read_twice(bench(kind, "virtio", [flush_ms; 3]), &[[60, 10]; 3]);
            own.site(|site| site.drives[0].write_cache = cache)
        };
        let through = |kind, flush_ms| {
            told(&on(kind, Presence::Present("write through".to_owned()), flush_ms))
        };
        for kind in [Bench::read(), Bench::write(), Bench::mixed()] {
            assert_eq!(through(kind, 100), Some(rest()));
        }
        let (trust, text) = through(Bench::write(), 900).unwrap();
        assert_eq!(trust, Trust::Suspect);
        assert!(text.contains("without the final flush"), "{text}");
        // A drive that announces no cache mode is unknown.
        let (trust, text) = told(&on(Bench::write(), Presence::absent("not told"), 100)).unwrap();
        assert_eq!(trust, Trust::Suspect);
        assert!(text.ends_with("the host caches data"), "{text}");
    }

    #[test]
    fn a_flush_that_does_nothing_is_suspect_where_no_drive_writes_like_that() {
        let idle = |bench: &Bench| {
            bench.with_case(|case| IdleFlush::new(case.site, case.workload, case.trials))
        };
        // 64 MiB per second.
        let virtual_drive = |flush_ms| bench(Bench::write(), "virtio", [flush_ms, flush_ms, 900]);
        let found = idle(&virtual_drive(1)).unwrap();
        assert_eq!(found.bytes, MOVED_BYTES);
        let remark = found.remark_for(1300.0, 1000.0).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert!(remark.text.starts_with("the flush after 64 MiB took 1 ms"), "{}", remark.text);
        assert_eq!(found.remark_for(1250.0, 1000.0), None, "reading is hardly slower");
        assert_eq!(idle(&virtual_drive(11)), None, "it did something");
        let through = virtual_drive(1).site(|site| {
            site.drives[0].write_cache = Presence::Present("write through".to_owned());
        });
        assert_eq!(idle(&through), None, "no flush is sent");
        assert_eq!(idle(&bench(Bench::read(), "virtio", [1; 3])), None, "nothing was written");
        assert_eq!(idle(&bench(Bench::write(), "nvme", [1; 3])), None, "it may be the drive's own");
    }
}
