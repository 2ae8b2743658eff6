//! `cached`: the data came from memory.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::system::CachedPages;
use assay_machine::system::site::{Backing, LOOP_IN_MEMORY, Site};
use assay_study::results::record::Trial;
use assay_workloads::io::{self, Pattern};
use assay_workloads::{Basis, command::ImportEvidence};

use super::evidence::{MovedShare, compression, counted_trials, in_trials, is_simulated, mover};
use super::host_cache::ReadAgain;
use super::imported::first_objection;
use super::{Case, MOVED, Rule, RuleCheck, RuleRemark, emptied};

/// Share of the claimed reads below which memory must have served the rest.
const LEAST_SHARE: f64 = 0.5;
/// The same if compression lets the device read less than requested.
const LEAST_SHARE_COMPRESSED: f64 = 0.01;
/// Reads this many times as fast as writes came from memory. Slow sticks and cards reach a factor of forty.
const FASTEST_OVER_WRITES: f64 = 100.0;
/// Bytes per second below which reads may come from any medium: cheap sticks write far slower than they read.
const SLOWEST_MEMORY: f64 = 100e6;
/// Bytes per second of SATA 6 Gbit/s.
const SATA: f64 = 600e6;
/// Memory of a common machine, bytes.
const MEMORY: f64 = (32_u64 << 30) as f64;
/// Smallest page size of the page cache, bytes.
const PAGE: u64 = 4096;
/// Largest share of cached pages if no counter shows the device's reads.
const MOST_CACHED: f64 = 0.1;

pub static RULE: Rule = Rule {
    about: About {
        name: "cached",
        summary: "the bytes came from memory, not from the device",
        text: "The number is invalid, or suspect if the evidence is indirect. Files on tmpfs are in memory. On other \
               filesystems, the rule triggers if the device delivered less than half of the bytes read (less than 1% \
               under compression): the page cache served the rest. A small random read through the page cache counts \
               as the whole page that the kernel fetches. If no device has counters and the reads did not bypass the \
               page cache, the rule triggers if more than 10% of the area was cached. For a loop device, Assay uses \
               the drives below its backing file; a file in memory counts as memory. If a virtual drive (see \
               host-cache) announces no write cache, Assay reads parts outside the test area twice before the study. \
               If the second reading is at least 2.5 times as fast, the host's memory serves reads, and the read speed \
               is suspect. Write speeds and byte counts stay trusted. The threshold is 50% because the device delivers \
               all bytes without a cache and almost none with a cache, apart from metadata and read-ahead. For \
               imported numbers, the rule triggers if the tool's output shows one of these signs: the disks counted \
               less than half of the requests, reads are a hundred times as fast as the same writes, or a run that \
               fits in memory is faster through the page cache than SATA allows.",
    },
    looks_at: Basis::Medium,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    judge_import,
    ..Rule::NONE
};

/// By counters, else by cached pages, else by reading twice; memory as the target is invalid.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if case.trials.is_empty() || is_simulated(case) {
        return None;
    }
    if case.site.backing == Backing::Memory {
        let filesystem = case.site.filesystem();
        let text = format!("memory, not a drive: {filesystem} stores its files in memory");
        return Some(RuleRemark::invalid(text));
    }
    let judge_reads =
        || from_counters(case).or_else(|| from_pages(case)).or_else(|| from_the_host(case));
    let remark = if case.workload.reads() { judge_reads() } else { None };
    remark.or_else(|| below_a_loop(case))
}

/// Judges another tool's runs: disks that were idle make them invalid, implausible speeds suspect.
fn judge_import(runs: &[Vec<ImportEvidence>]) -> Option<RuleRemark> {
    let doubt = |own: &ImportEvidence| match *own {
        ImportEvidence::Directions { read, written } => reads_outrun_writes(read, written),
        ImportEvidence::Buffered { bytes, bytes_per_s } => buffered(bytes, bytes_per_s),
        _ => None,
    };
    let invalid = first_objection(runs, idle_disks).map(RuleRemark::invalid);
    invalid.or_else(|| first_objection(runs, doubt).map(RuleRemark::suspect))
}

/// Why the disks served only a part of another tool's run.
fn idle_disks(own: &ImportEvidence) -> Option<String> {
    let ImportEvidence::Disk { counted, needed, what } = own else { return None };
    (*counted < LEAST_SHARE * needed).then(|| {
        format!(
            "the disks counted {} {what}, but the runs needed at least {}: memory served the rest",
            show::count(*counted as u64),
            show::count(*needed as u64)
        )
    })
}

/// Why reads far faster than the same writes (both in bytes per second) came from memory.
fn reads_outrun_writes(read: f64, written: f64) -> Option<String> {
    (read >= FASTEST_OVER_WRITES * written && read >= SLOWEST_MEMORY).then(|| {
        format!(
            "the reads ({}) are {} times as fast as the same writes ({}): the reads came from memory",
            show::rate(read),
            show::count((read / written) as u64),
            show::rate(written)
        )
    })
}

/// Why data that moved faster than SATA may have stayed in the page cache.
fn buffered(bytes: f64, bytes_per_s: f64) -> Option<String> {
    (bytes_per_s > SATA && bytes < MEMORY).then(|| {
        format!(
            "{} for {} is faster than SATA, and the tool's output does not show direct I/O or fsync: the page cache \
             may have absorbed the bytes",
            show::rate(bytes_per_s),
            show::bytes(bytes as u64)
        )
    })
}

/// A loop device has counters: arms are comparable, but the numbers do not describe a drive.
fn below_a_loop(case: &Case<'_>) -> Option<RuleRemark> {
    is_loop_in_memory(case.site)
        .then(|| RuleRemark::note(format!("memory, not a drive: {LOOP_IN_MEMORY}")))
}

/// Whether a target is on a loop device whose file is in memory.
pub(super) fn is_loop_in_memory(site: &Site) -> bool {
    site.backing_reason.as_ref().is_some_and(|reason| reason.contains(LOOP_IN_MEMORY))
}

/// A host that writes through stores writes on the drive, but still caches reads.
fn from_the_host(case: &Case<'_>) -> Option<RuleRemark> {
    let again = ReadAgain::new(case).filter(|again| again.drive.writes_through())?;
    let text = format!("{}: the host's memory serves reads", again.words());
    Some(RuleRemark::suspect(text).of_reads().of_speed())
}

/// The device delivered fewer bytes than were read.
fn from_counters(case: &Case<'_>) -> Option<RuleRemark> {
    // With direct I/O, only trimmed blocks explain the missing reads: `trimmed-area` reports them.
    let is_cleared = emptied::clears(case);
    if is_cleared && case.workload.work.touches().direct {
        return None;
    }
    let limit = if compression(case).is_some() { LEAST_SHARE_COMPRESSED } else { LEAST_SHARE };
    let trials = counted_trials(case);
    let reads =
        trials.iter().map(|t| (t.device.run.read_bytes, fetched(case, t.claims.read.bytes)));
    let short = MovedShare::below(limit, reads)?;
    let delivered = if short.moved == 0 { "0%".to_owned() } else { show::percent(short.percent()) };
    let what = if is_scattered(case) { "pages" } else { "bytes" };
    let elsewhere = if is_cleared {
        ", or the trial's own trims and zeroing removed it"
    } else if partly_unwritten(case) {
        ", or it was never written"
    } else {
        ""
    };
    Some(RuleRemark::invalid(format!(
        "{} delivered {delivered} of the {what} read{}: the rest came from memory{elsewhere}{}",
        mover(&trials),
        in_trials(short.trials, case),
        cached_words(case)
    )))
}

/// Whether each read needs a separate page: small random reads through the page cache fetch whole pages.
fn is_scattered(case: &Case<'_>) -> bool {
    let is_small = |io: &io::IoPlan| io.block_size.largest().0 < PAGE;
    case.io().is_some_and(|io| !io.direct && io.pattern == Pattern::Random && is_small(io))
}

/// Bytes that a device must read for the claimed reads if nothing is cached.
fn fetched(case: &Case<'_>, claimed: u64) -> u64 {
    let size = case.io().map_or(1, |io| io.block_size.largest().0).max(1);
    if is_scattered(case) { claimed / size * PAGE } else { claimed }
}

/// Holes are also read without the device; then memory is not the only explanation.
fn partly_unwritten(case: &Case<'_>) -> bool {
    let coverage = case.survey.coverage.value();
    coverage.is_some_and(|own| own.hole_bytes + own.unwritten_bytes > 0)
}

/// The largest share of the area in the page cache before a trial, in words; empty below 1%.
fn cached_words(case: &Case<'_>) -> String {
    let counts = case.trials.iter().filter_map(|trial| trial.evidence.page_cache.value());
    let most = counts.filter_map(|pages| pages.before.value()).map(share).fold(0.0, f64::max);
    if most < 0.01 {
        return String::new();
    }
    format!(" (up to {} of the area was in the page cache beforehand)", show::percent(100.0 * most))
}

/// Judges buffered reads by the cached share of the area, if no device counts bytes.
fn from_pages(case: &Case<'_>) -> Option<RuleRemark> {
    if case.workload.work.touches().direct || !counted_trials(case).is_empty() {
        return None;
    }
    let shares: Vec<f64> = case.trials.iter().map(|trial| most_cached(case, trial)).collect();
    let cached = shares.iter().filter(|share| **share > MOST_CACHED).count();
    let most = shares.iter().copied().fold(0.0, f64::max);
    (cached > 0).then(|| {
        RuleRemark::invalid(format!(
            "up to {} of the area was in the page cache{}, and no device counts the bytes that it delivers",
            show::percent(100.0 * most),
            in_trials(cached, case)
        ))
    })
}

/// The cached share that served reads: before the trial, and after it if more than the area was read.
fn most_cached(case: &Case<'_>, trial: &Trial) -> f64 {
    let read = trial.claims().read.bytes;
    let Some(pages) = trial.evidence.page_cache.value() else { return 0.0 };
    let after = pages.after.value().filter(|_| read > case.survey.area.length);
    pages.before.value().into_iter().chain(after).map(share).fold(0.0, f64::max)
}

fn share(pages: &CachedPages) -> f64 {
    if pages.of == 0 { 0.0 } else { pages.cached as f64 / pages.of as f64 }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_core::quantity::Bytes;
    use assay_core::quantity::metric::Nature;
    use assay_core::quantity::metric::Side;
    use assay_machine::system::site::{Layer, TargetKind};
    use assay_study::findings::Trust;
    use assay_study::results::plan::ReadTwice;
    use assay_study::results::record::DeviceEvidence;

    use super::super::device_bytes;
    use super::super::testing::{self, Bench, MOVED, device};
    use super::*;

    fn pages(cached: u64) -> Presence<CachedPages> {
        Presence::Present(CachedPages { cached, of: 100 })
    }

    #[test]
    fn speaks_when_the_device_delivered_less_than_half() {
        let bench = Bench::read().first(2, |trial| {
            device(trial).run.read_bytes = MOVED / 32;
            testing::pages(trial).before = pages(97);
        });
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "the device delivered 3% of the bytes read, in 2 of 3 trials: the rest came from memory (up to 97% of \
             the area was in the page cache beforehand)"
        );
    }

    #[test]
    fn small_reads_in_random_order_count_as_pages() {
        // Each miss of a 512-byte read fetches 4 KiB: 22% of them missed.
        let bench = Bench::read()
            .io(|io| (io.direct, io.block_size) = (false, Bytes(512).into()))
            .each(|trial| device(trial).run.read_bytes = MOVED * 8 * 22 / 100);
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "the device delivered 22% of the pages read: the rest came from memory"
        );
        let linear = bench.io(|io| io.pattern = Pattern::Sequential);
        assert_eq!(linear.judge(&RULE), None);
    }

    #[test]
    fn says_that_holes_may_be_the_reason() {
        let bench = Bench::read().each(|trial| device(trial).run.read_bytes = 0).survey(|survey| {
            survey.coverage = survey.coverage.clone().map(|mut coverage| {
                coverage.hole_bytes = 1 << 30;
                coverage
            });
        });
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "the device delivered 0% of the bytes read: the rest came from memory, or it was never written"
        );
    }

    #[test]
    fn trims_excuse_no_page_cache() {
        let read = |direct| {
            let bench = Bench::read().each(|trial| device(trial).run.read_bytes = 0);
            bench.io(|io| (io.direct, io.mix) = (direct, "read/99:trim/1".parse().unwrap()))
        };
        let remark = read(false).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert!(remark.text.ends_with("or the trial's own trims and zeroing removed it"));
        assert_eq!(read(true).judge(&RULE), None);
    }

    /// A loop device whose file is on another drive, which moved this many bytes.
    fn on_a_loop(bench: Bench, run: u64, settle: u64) -> Bench {
        let bench = bench.site(|site| {
            site.layers[0].kind = "loop".to_owned();
            site.layers[0].below = vec!["vda".to_owned()];
            site.layers.push(Layer {
                name: "vda".to_owned(),
                kind: "disk".to_owned(),
                below: Vec::new(),
                ..site.layers[0].clone()
            });
        });
        bench.each(|trial| {
            let mut below = DeviceEvidence::default();
            (below.run.read_bytes, below.run.write_bytes) = (run, run);
            below.settle.write_bytes = settle;
            trial.evidence.members = Presence::Present([("vda".to_owned(), below)].into());
        })
    }

    #[test]
    fn a_loop_device_is_followed_to_the_drive_below() {
        let remark = on_a_loop(Bench::read(), MOVED / 32, 0).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Invalid);
        assert_eq!(
            remark.text,
            "the drive below the loop device delivered 3% of the bytes read: the rest came from memory"
        );
        assert_eq!(on_a_loop(Bench::read(), MOVED, 0).judge(&RULE), None);
        // Traffic of others on that drive does not matter.
        assert_eq!(on_a_loop(Bench::read(), 9 * MOVED, 0).judge(&RULE), None);
        let writes =
            |run, settle| on_a_loop(Bench::write(), run, settle).judge(&device_bytes::RULE);
        assert_eq!(writes(MOVED, 0), None);
        let late = writes(MOVED / 4, 2 * MOVED).unwrap();
        assert_eq!(late.trust, Trust::Invalid);
        assert!(late.text.contains("still in memory when the clock stopped"), "{}", late.text);
        let lost = writes(0, MOVED / 4).unwrap();
        assert!(
            lost.text.starts_with("the drive below the loop device received only"),
            "{}",
            lost.text
        );
        // Without the drive's counters there is no verdict.
        let untold = on_a_loop(Bench::read(), 0, 0)
            .each(|trial| trial.evidence.members = Presence::absent("not there"));
        assert_eq!(untold.judge(&RULE), None);
    }

    #[test]
    fn a_loop_device_over_memory_says_so() {
        let bench = Bench::read().site(|site| {
            site.layers[0].kind = "loop".to_owned();
            site.backing_reason = Some(LOOP_IN_MEMORY.to_owned());
        });
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(remark.text, "memory, not a drive: the file of the loop device is in memory");
        assert_eq!(bench.judge(&device_bytes::RULE), None);
    }

    #[test]
    fn memory_is_never_a_drive() {
        for bench in [Bench::read(), Bench::write()] {
            let bench = bench.site(|site| site.backing = Backing::Memory);
            let remark = bench.judge(&RULE).unwrap();
            assert_eq!(remark.trust, Trust::Invalid);
            assert!(remark.text.starts_with("memory, not a drive"), "{}", remark.text);
        }
    }

    #[test]
    fn without_counters_cached_pages_are_enough() {
        let buffered = |cached| {
            Bench::read()
                .io(|io| io.direct = false)
                .each(|trial| trial.evidence.disk = Presence::absent("no device"))
                .first(1, |trial| testing::pages(trial).before = pages(cached))
        };
        let remark = buffered(45).judge(&RULE).unwrap();
        assert_eq!(
            remark.text,
            "up to 45% of the area was in the page cache, in 1 of 3 trials, and no device counts the bytes that it \
             delivers"
        );
        assert_eq!(buffered(10).judge(&RULE), None);
        let direct = buffered(45).io(|io| io.direct = true);
        assert_eq!(direct.judge(&RULE), None);
    }

    #[test]
    fn a_first_reading_of_a_cold_file_is_honest() {
        let filled = || {
            Bench::read()
                .io(|io| io.direct = false)
                .each(|trial| trial.evidence.disk = Presence::absent("no device"))
                .each(|trial| testing::pages(trial).after = pages(60))
        };
        assert_eq!(filled().judge(&RULE), None);
        let again = filled().survey(|survey| survey.area.length = MOVED / 2);
        assert!(again.judge(&RULE).is_some());
    }

    #[test]
    fn silent_where_the_device_delivered_and_for_writes() {
        assert_eq!(Bench::read().judge(&RULE), None);
        let half = Bench::read().each(|trial| device(trial).run.read_bytes = MOVED / 2);
        assert_eq!(half.judge(&RULE), None);
        let none = |trial: &mut Trial| device(trial).run.read_bytes = 0;
        assert_eq!(Bench::write().each(none).judge(&RULE), None);
        let simulated = Bench::read().each(none).site(|site| site.kind = TargetKind::Simulated);
        assert_eq!(simulated.judge(&RULE), None);
    }

    /// On a virtual drive that announces this kind of cache; a second read is this many times as fast.
    fn lent(bench: Bench, cache: &str, times: u64) -> Bench {
        let bench = bench.site(|site| {
            let own = &mut site.drives[0];
            own.bus = Presence::Present("virtio".to_owned());
            own.link = Presence::absent("a virtual disk has no link");
            own.write_cache = Presence::Present(cache.to_owned());
        });
        bench.survey(|survey| {
            survey.read_twice = Presence::Present(ReadTwice {
                drive: "sda".to_owned(),
                piece_bytes: 8 << 20,
                piece_ns: vec![[times * 10_000_000, 10_000_000]; 3],
            });
        })
    }

    #[test]
    fn a_host_that_writes_through_and_keeps_what_is_read_makes_the_speed_of_reads_suspect() {
        for kind in [Bench::read(), Bench::mixed()] {
            let remark = lent(kind, "write through", 3).judge(&RULE).unwrap();
            assert_eq!(
                remark.text,
                "a second direct read of parts of the drive was 3 times as fast as the first: the host's memory \
                 serves reads"
            );
            for side in [Side::Reads, Side::Both] {
                assert_eq!(remark.because_of("cached", side).trust, Trust::Suspect);
            }
            assert_eq!(remark.because_of("cached", Side::Writes).trust, Trust::Trusted);
            assert!(remark.is_about("cached", Nature::Speed));
            assert!(!remark.is_about("cached", Nature::Traffic), "as much was moved");
        }
        // The local page cache is worse, and reported first.
        let own = Bench::read().each(|trial| device(trial).run.read_bytes = 0);
        assert_eq!(lent(own, "write through", 3).judge(&RULE).unwrap().trust, Trust::Invalid);
    }

    #[test]
    fn silent_of_writes_of_a_host_that_writes_back_and_where_a_second_reading_is_no_faster() {
        assert_eq!(lent(Bench::write(), "write through", 3).judge(&RULE), None);
        assert_eq!(lent(Bench::read(), "write back", 3).judge(&RULE), None);
        assert_eq!(lent(Bench::read(), "write through", 2).judge(&RULE), None);
        let own = lent(Bench::read(), "write through", 3)
            .site(|site| site.drives[0].bus = Presence::Present("nvme".to_owned()));
        assert_eq!(own.judge(&RULE), None, "nobody lends it");
    }

    #[test]
    fn compression_may_explain_all_but_a_hundredth() {
        let packed = |bytes| {
            Bench::read()
                .site(|site| site.compression = Presence::Present("zstd".to_owned()))
                .each(move |trial| device(trial).run.read_bytes = bytes)
        };
        assert_eq!(packed(MOVED / 50).judge(&RULE), None);
        assert!(packed(MOVED / 200).judge(&RULE).is_some());
    }
}
