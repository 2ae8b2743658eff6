//! The cost of one operation at depth 1.

use std::time::Duration;

use assay_load::{Job, Sizes};

use super::run::run_job;
use super::{Engine, IoSpec, Pattern};
use crate::place::{Area, Run};

/// Time limit of one pilot; at least one operation is always done.
const PILOT_MS: u64 = 25;
/// Number of operations that is enough, if they are done sooner.
const PILOT_OPERATIONS: u64 = 64;
/// Divisor: limits trims and zeroing to this fraction of the area's blocks, because other work needs the rest.
const PILOT_SHARE: u64 = 100;

/// Nanoseconds of one operation; `None` if the target does not fit it or does not support it.
pub(super) fn pilot(io: &IoSpec, run: &Run<'_>) -> Result<Option<u64>, String> {
    let Some(job) = pilot_job(io, &run.medium.area, run.seed) else { return Ok(None) };
    let outcome = match run_job(Engine::Psync, &job, &run.medium, run.bystanders, run.stop) {
        // A target without trims can run other work: the plan excludes this work, or its trials report the reason.
        Err(error) if error.is_lacking() => return Ok(None),
        outcome => outcome?,
    };
    let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
    Ok(Some(outcome.totals.elapsed_ns / operations.max(1)))
}

pub(super) fn costs_like(first: &IoSpec, second: &IoSpec) -> bool {
    equivalent_pattern(first) == equivalent_pattern(second)
        && first.mix == second.mix
        && first.block_size == second.block_size
        && first.sync == second.sync
}

/// Evenly spaced offsets cost the same as random ones, and strides about the same.
fn equivalent_pattern(io: &IoSpec) -> Pattern {
    match io.pattern {
        Pattern::Spaced | Pattern::Stride => Pattern::Random,
        other => other,
    }
}

fn most_operations(io: &IoSpec, length: u64) -> u64 {
    if !io.mix.clears() {
        return PILOT_OPERATIONS;
    }
    let blocks = length / io.block_size.largest().0.max(1);
    (blocks / PILOT_SHARE).clamp(1, PILOT_OPERATIONS)
}

/// Alignment of direct I/O, which pilots use.
const WHOLE_BYTES: u64 = 4096;

/// The job of the pilot; `None` if a block exceeds the area, or writing is not allowed.
fn pilot_job(io: &IoSpec, area: &Area, seed: u64) -> Option<Job> {
    let mut block = io.size_bytes();
    let mut sizes = io.block_size.sizes();
    if !io.direct && !io.block_size.is_multiple_of(WHOLE_BYTES) {
        // Odd sizes need the page cache; the next aligned one costs about as much.
        block = block.next_multiple_of(WHOLE_BYTES as u32);
        sizes = Sizes::ONE;
    }
    let size = u64::from(block);
    if size > area.length || (io.mix.writes() && !area.written) {
        return None;
    }
    let length = area.length / size.max(1) * size;
    let range = area.start..area.start + length;
    Some(Job {
        sync: io.sync,
        content: io.compressibility,
        sizes,
        duplicates: io.duplicates,
        time: Duration::from_millis(PILOT_MS),
        operations: Some(most_operations(io, length)),
        ..Job::base(equivalent_pattern(io), io.mix, block, range, seed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pilot_takes_little_of_the_area_away() {
        let of = |mix: &str, length| {
            let io = IoSpec { mix: mix.parse().unwrap(), ..IoSpec::default() };
            most_operations(&io, length)
        };
        assert_eq!(of("trim", 1 << 20), 2);
        assert_eq!(of("read/90:zero/10", 4096), 1);
        assert_eq!(of("trim", 1 << 30), PILOT_OPERATIONS);
        assert_eq!(of("write", 1 << 20), PILOT_OPERATIONS);
    }

    #[test]
    fn odd_sizes_through_the_page_cache_are_tried_as_whole_ones() {
        let block = |size: &str, direct| {
            let io = IoSpec { block_size: size.parse().unwrap(), direct, ..IoSpec::default() };
            let length = 1 << 20;
            let area = Area { start: 0, length, asked: length, written: true, fill_ns: 0 };
            let job = pilot_job(&io, &area, 1).unwrap();
            (job.size_bytes, job.sizes.reads.len())
        };
        assert_eq!(block("2300 B", false), (4096, 0));
        assert_eq!(block("2300B/50:8KiB/50", false), (8192, 0));
        assert_eq!(block("4 KiB", false), (4096, 0));
        assert_eq!(block("512 B", true), (512, 0));
        assert_eq!(block("4KiB/50:8KiB/50", false), (8192, 2));
    }
}
