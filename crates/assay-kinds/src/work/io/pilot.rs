//! What one operation costs at depth 1.

use std::time::Duration;

use assay_load::Job;

use super::run::run_job;
use super::{Asked, Engine, Pattern};
use crate::work::place::{Area, Run};

/// Time that one pilot may take; at least one operation is always done.
const PILOT_MS: u64 = 25;
/// Operations that tell enough, where they are done sooner.
const PILOT_OPERATIONS: u64 = 64;
/// Of what takes bytes away no more than one in so many blocks of the area: others are to find the rest.
const PILOT_SHARE: u64 = 100;

/// Nanoseconds of one operation; none where it does not fit the target, or is none that the target knows.
///
/// # Errors
/// It could not be run.
pub(super) fn pilot(io: &Asked, run: &Run<'_>) -> Result<Option<u64>, String> {
    let Some(job) = job(io, &run.medium.area, run.seed) else { return Ok(None) };
    let outcome = match run_job(Engine::Psync, &job, &run.medium, run.bystanders, run.stop) {
        // Where it is known why, the plan leaves the workload out, and else its trials tell. That a target
        // takes no trims is no reason to measure nothing else of it.
        Err(error) if error.is_lacking() => return Ok(None),
        outcome => outcome.map_err(|error| error.to_string())?,
    };
    let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
    Ok(Some(outcome.totals.elapsed_ns / operations.max(1)))
}

/// Whether one operation of the one is one of the other.
pub(super) fn costs_like(one: &Asked, other: &Asked) -> bool {
    pattern(one) == pattern(other)
        && one.mix == other.mix
        && one.size == other.size
        && one.sync == other.sync
}

/// Any place costs what the places of a spread do, and about what those behind a gap do.
fn pattern(io: &Asked) -> Pattern {
    match io.pattern {
        Pattern::Spread | Pattern::Stride => Pattern::Random,
        other => other,
    }
}

/// How many operations are tried on so many bytes.
fn operations(io: &Asked, length: u64) -> u64 {
    let blocks = length / io.size.largest().0.max(1);
    let most = if io.mix.clears() { (blocks / PILOT_SHARE).max(1) } else { PILOT_OPERATIONS };
    most.min(PILOT_OPERATIONS)
}

fn job(io: &Asked, area: &Area, seed: u64) -> Option<Job> {
    let size = io.size.largest().0;
    let possible = size <= area.length && (!io.mix.writes() || area.written);
    let length = area.length / size.max(1) * size;
    possible.then(|| Job {
        sync: io.sync,
        content: io.content,
        sizes: io.size.sizes(),
        duplicates: io.duplicates,
        time: Duration::from_millis(PILOT_MS),
        operations: Some(operations(io, length)),
        ..Job::base(pattern(io), io.mix, io.size_bytes(), area.start..area.start + length, seed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pilot_takes_little_of_the_area_away() {
        let of = |mix: &str, length| {
            let io = Asked { mix: mix.parse().unwrap(), ..Asked::some() };
            operations(&io, length)
        };
        assert_eq!(of("trim", 1 << 20), 2);
        assert_eq!(of("90 % read, 10 % zero", 4096), 1);
        assert_eq!(of("trim", 1 << 30), PILOT_OPERATIONS);
        assert_eq!(of("write", 1 << 20), PILOT_OPERATIONS);
    }
}
