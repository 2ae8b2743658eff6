//! Which jobs can be run at all.

use std::time::Duration;

use crate::pattern::blocks;
use crate::schedule::MOST_PER_S;
use crate::verify::SECTOR;
use crate::{
    Apart, Content, Duplicates, EngineEntry, EngineKind, Job, LoadError, Mix, Pattern, Target, poll,
};

/// The kernel transfers at most 2 GiB minus a page at once; half of that is enough.
const LARGEST_SIZE: u32 = 1 << 30;
/// Two entries per operation fit into the largest submission queue of io_uring.
const LARGEST_DEPTH: u32 = 1 << 14;
const MOST_THREADS: u32 = 1 << 12;

/// Rejects jobs that would divide by zero, leave the area or lack a file.
pub(crate) fn check(
    job: &Job,
    engine: &EngineKind,
    entry: &EngineEntry,
    target: &Target<'_>,
) -> Result<(), LoadError> {
    check_job(job).map_err(LoadError::Invalid)?;
    poll::check(job, engine)?;
    if let EngineKind::Simulated(law) = engine {
        law.sampler(0, 0)?;
    }
    let alignment = target.memory_alignment;
    if entry.needs_file && target.file.is_none() {
        let text = format!("engine {} needs a file or device", entry.name);
        return Err(LoadError::Invalid(text));
    }
    if entry.needs_file && !alignment.is_power_of_two() {
        let text = format!("a memory alignment of {alignment} bytes is not a power of two");
        return Err(LoadError::Invalid(text));
    }
    Ok(())
}

fn check_job(job: &Job) -> Result<(), String> {
    if let Mix::Shares { read_percent: percent @ 101.. } = job.mix {
        return Err(format!("{percent}% reads: use at most 100%"));
    }
    check_range("size in bytes", job.size_bytes, LARGEST_SIZE)?;
    check_range("depth", job.depth, LARGEST_DEPTH)?;
    check_range("number of completions to wait for", job.wait_for, LARGEST_DEPTH)?;
    check_range("number of threads", job.threads, MOST_THREADS)?;
    if job.operations == Some(0) {
        return Err("operation count 0: nothing to measure".into());
    }
    check_spaced(job)?;
    check_places(job)?;
    check_slices(job)?;
    check_schedule(job)?;
    check_track(job)?;
    check_area(job)?;
    check_stamps(job)
}

fn check_range(what: &str, value: u32, most: u32) -> Result<(), String> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{what} {value}: use 1 to {most}"))
}

/// Checks a spaced pattern: each place follows from the number of the operation.
fn check_spaced(job: &Job) -> Result<(), String> {
    if job.pattern != Pattern::Spaced {
        return Ok(());
    }
    if job.operations.is_none() {
        return Err("a spaced pattern needs an operation count".into());
    }
    if (job.threads, job.depth) != (1, 1) {
        return Err("a spaced pattern needs one thread and queue depth 1".into());
    }
    Ok(())
}

/// Checks that sizes, area and pattern are consistent.
fn check_places(job: &Job) -> Result<(), String> {
    job.sizes.fault(job.size_bytes).map_or(Ok(()), Err)?;
    if job.pattern == Pattern::Spaced && job.sizes.differ(job.size_bytes) {
        return Err("a spaced pattern needs operations of one size".into());
    }
    if job.pattern == Pattern::Spaced && job.apart != Apart::None {
        return Err("a spaced pattern needs one sequence of offsets".into());
    }
    if job.pattern != Pattern::Random && !job.access.is_uniform() {
        return Err("only a random pattern can have a skewed distribution".into());
    }
    if job.mix == Mix::Rewrite && (job.apart != Apart::None || job.sizes.are_by_direction()) {
        return Err("a rewrite must read and write the same block".into());
    }
    if job.pattern == Pattern::Stride && job.stride_bytes < u64::from(job.size_bytes) {
        return Err("a stride must be at least as long as an operation".into());
    }
    Ok(())
}

/// Checks slices: at least one operation each, an operation count to reserve room for their times, and one thread.
fn check_slices(job: &Job) -> Result<(), String> {
    let Some(slices) = job.slices else { return Ok(()) };
    if slices.operations == 0 {
        return Err("a slice needs at least 1 operation".into());
    }
    if job.operations.is_none() {
        return Err("slices need an operation count".into());
    }
    if job.threads != 1 {
        return Err("slices need one thread".into());
    }
    Ok(())
}

/// Checks a schedule: no other key may set the start of operations.
fn check_schedule(job: &Job) -> Result<(), String> {
    if job.think != Duration::ZERO && job.slices.is_some() {
        return Err("slices do not support think time".into());
    }
    if job.waits() && job.wait_for > 1 {
        return Err("scheduled operations need a completion batch of 1".into());
    }
    let Some(schedule) = job.schedule else { return Ok(()) };
    if !(1..=MOST_PER_S).contains(&schedule.rate_per_s) {
        return Err(format!(
            "the rate must be 1 to {MOST_PER_S} operations per second, not {}",
            schedule.rate_per_s
        ));
    }
    if job.slices.is_some() {
        return Err("slices do not support a rate".into());
    }
    if job.pattern == Pattern::Spaced {
        return Err("a spaced pattern does not support a rate".into());
    }
    if job.think != Duration::ZERO {
        return Err("a rate does not support think time".into());
    }
    Ok(())
}

/// Checks a track: no other key may set operations or their start.
fn check_track(job: &Job) -> Result<(), String> {
    let Some(track) = &job.track else { return Ok(()) };
    if job.threads != 1 {
        return Err("a track needs one thread".into());
    }
    let has_other = job.schedule.is_some() || job.slices.is_some() || job.verify.is_some();
    if has_other || job.think != Duration::ZERO || job.pattern != Pattern::Random {
        return Err("a track defines all times and offsets".into());
    }
    if track.by_clock() && job.operations.is_some() {
        return Err("an open-loop track cannot have an operation count".into());
    }
    if track.is_paced() && job.operations.is_none() {
        return Err("a paced track needs an operation count".into());
    }
    track.fault(job).map_or(Ok(()), Err)
}

/// Checks verification: whole sectors and random content.
fn check_stamps(job: &Job) -> Result<(), String> {
    if job.verify.is_none() {
        return Ok(());
    }
    let sector = SECTOR as u64;
    let is_whole = |bytes: u64| bytes.is_multiple_of(sector);
    if !is_whole(u64::from(job.size_bytes)) || !is_whole(job.area.start) {
        return Err(format!("verification needs whole sectors of {sector} bytes"));
    }
    if job.content != Content::Random || job.duplicates != Duplicates::NONE {
        return Err("verification needs random content".into());
    }
    if job.mix.clears() {
        return Err("verification does not support trims and zeroing".into());
    }
    let size = u64::from(job.size_bytes);
    let is_on_blocks =
        job.align_bytes.is_multiple_of(size) && job.stride_bytes.is_multiple_of(size);
    if job.sizes.differ(job.size_bytes) || !is_on_blocks {
        return Err("verification needs non-overlapping blocks of one size".into());
    }
    Ok(())
}

/// Checks that the area has a block for each thread, or for each sample.
fn check_area(job: &Job) -> Result<(), String> {
    let parts = if job.apart == Apart::Halves { 2 } else { 1 };
    let needed = parts
        * match job.pattern {
            Pattern::Sequential | Pattern::Stride => u64::from(job.threads),
            Pattern::Random => 1,
            Pattern::Spaced => job.operations.unwrap_or(1),
        };
    if blocks(job) < needed {
        return Err(format!(
            "the area of {} bytes is too small for {needed} operations of {} bytes",
            job.area.end.saturating_sub(job.area.start),
            job.size_bytes
        ));
    }
    if i64::try_from(job.area.end).is_err() {
        let end = job.area.end;
        return Err(format!("the area ends at byte {end}, above the maximum file offset"));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Access, Arrivals, Schedule, SizeShare, Sizes, Slices};

    pub(crate) fn job() -> Job {
        Job {
            time: Duration::from_secs(1),
            ..Job::base(Pattern::Random, Mix::READS, 4096, 0..1 << 20, 1)
        }
    }

    fn spread(samples: u64) -> Job {
        Job { pattern: Pattern::Spaced, operations: Some(samples), ..job() }
    }

    /// A job of 20 operations in slices of this size.
    fn sliced(operations: u64) -> Job {
        let slices = Some(Slices { operations, begun_within: Duration::MAX });
        Job { slices, operations: Some(20), ..job() }
    }

    fn paced(rate_per_s: u64) -> Job {
        let schedule = Some(Schedule { rate_per_s, arrivals: Arrivals::Fixed });
        Job { schedule, ..job() }
    }

    fn sizes(percent: u8) -> Sizes {
        Sizes { reads: vec![SizeShare { bytes: 512, percent }], writes: Vec::new() }
    }

    fn of_writes() -> Sizes {
        Sizes { reads: Vec::new(), writes: sizes(100).reads }
    }

    fn zipf() -> Access {
        "zipf:1.2".parse().unwrap()
    }

    fn refusal(job: &Job, name: &str) -> Option<String> {
        let entry = crate::ENGINES.iter().find(|e| e.name == name).unwrap();
        let target = Target { file: None, memory_alignment: 512 };
        let result = check(job, &entry.standard, entry, &target);
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_verified_is_whole_sectors_of_random_content() {
        let stamped = || Job { verify: Some(1), mix: Mix::WRITES, ..job() };
        assert_eq!(refusal(&stamped(), "null"), None);
        for (wrong, told) in [
            (Job { size_bytes: 1000, ..stamped() }, "whole sectors"),
            (Job { area: 100..1 << 20, ..stamped() }, "whole sectors"),
            (Job { content: Content::Zero, ..stamped() }, "random content"),
        ] {
            assert!(refusal(&wrong, "null").unwrap().contains(told), "{wrong:?}");
            // Without stamps the job is valid.
            assert_eq!(refusal(&Job { verify: None, ..wrong }, "null"), None);
        }
    }

    #[test]
    fn a_plain_job_is_valid() {
        assert_eq!(refusal(&job(), "null"), None);
        assert_eq!(refusal(&spread(256), "null"), None);
        assert_eq!(refusal(&Job { mix: Mix::Rewrite, ..job() }, "null"), None);
        assert_eq!(refusal(&sliced(8), "null"), None);
        assert_eq!(refusal(&paced(500), "null"), None);
        assert_eq!(refusal(&Job { operations: Some(9), depth: 4, ..paced(500) }, "null"), None);
        let think = Duration::from_millis(1);
        assert_eq!(refusal(&Job { think, ..job() }, "null"), None);
        assert_eq!(refusal(&Job { wait_for: 8, depth: 4, ..job() }, "null"), None);
        assert_eq!(refusal(&Job { sizes: sizes(100), access: zipf(), ..job() }, "null"), None);
        let both = Sizes { writes: sizes(100).reads, ..sizes(100) };
        let rewrites = Job { mix: Mix::Rewrite, sizes: both, ..job() };
        assert_eq!(refusal(&rewrites, "null"), None);
        let stride = Job { pattern: Pattern::Stride, stride_bytes: 4096, ..job() };
        assert_eq!(refusal(&Job { apart: Apart::Halves, ..stride }, "null"), None);
    }

    #[test]
    #[rustfmt::skip]
    fn impossible_jobs_are_refused_with_the_reason() {
        let think = Duration::from_millis(1);
        let cases = [
            (Job { mix: Mix::Shares { read_percent: 101 }, ..job() }, "at most 100%"),
            (Job { size_bytes: 0, ..job() }, "size in bytes 0: use 1 to"),
            (Job { depth: 0, ..job() }, "depth 0: use 1 to"),
            (Job { threads: 0, ..job() }, "threads 0: use 1 to"),
            (Job { wait_for: 0, ..job() }, "use 1 to"),
            (Job { wait_for: 2, ..paced(500) }, "completion batch of 1"),
            (Job { wait_for: 2, think, ..job() }, "completion batch of 1"),
            (Job { operations: Some(0), ..job() }, "nothing to measure"),
            (Job { area: 0..4095, ..job() }, "too small"),
            (Job { area: Range { start: 8192, end: 0 }, ..job() }, "too small"),
            (Job { area: 0..u64::MAX, ..job() }, "above the maximum file offset"),
            (Job { area: 0..8192, threads: 3, pattern: Pattern::Sequential, ..job() }, "3 operations"),
            (Job { pattern: Pattern::Spaced, ..job() }, "needs an operation count"),
            (Job { depth: 2, ..spread(2) }, "one thread and queue depth 1"),
            (Job { threads: 2, ..spread(2) }, "one thread and queue depth 1"),
            (Job { area: 0..8192, ..spread(3) }, "3 operations"),
            (Job { apart: Apart::Halves, area: 0..4096, ..job() }, "2 operations"),
            (Job { apart: Apart::Halves, mix: Mix::Rewrite, ..job() }, "same block"),
            (Job { sizes: of_writes(), mix: Mix::Rewrite, ..job() }, "same block"),
            (Job { sizes: sizes(50), ..job() }, "add up to 100%"),
            (Job { sizes: sizes(100), ..spread(2) }, "operations of one size"),
            (Job { apart: Apart::Positions, ..spread(2) }, "one sequence"),
            (Job { pattern: Pattern::Stride, stride_bytes: 4095, ..job() }, "as long as"),
            (Job { access: zipf(), pattern: Pattern::Sequential, ..job() }, "only a random pattern"),
            (sliced(0), "at least 1 operation"),
            (Job { operations: None, ..sliced(8) }, "slices need an operation count"),
            (Job { threads: 2, ..sliced(8) }, "need one thread"),
            (Job { think, ..sliced(8) }, "do not support think time"),
            (paced(0), "the rate must be 1 to 10000000 operations per second, not 0"),
            (paced(MOST_PER_S + 1), "not 10000001"),
            (Job { schedule: paced(1).schedule, ..sliced(8) }, "support a rate"),
            (Job { schedule: paced(1).schedule, ..spread(8) }, "support a rate"),
            (Job { think, ..paced(1) }, "a rate does not support think time"),
        ];
        for (job, expected) in cases {
            let found = refusal(&job, "null").unwrap();
            assert!(found.contains(expected), "{found}");
        }
        assert!(refusal(&job(), "psync").unwrap().contains("needs a file"));
    }

    use std::ops::Range;
}
