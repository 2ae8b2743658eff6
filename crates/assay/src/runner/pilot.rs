//! Pilot: what one operation of each workload costs at depth 1, so that the plan can give a slow
//! device a queue that drains in time; and how results scatter, so that a quick look can be divided
//! into trials.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_stats::Sample;

use assay_load::{Content, Durability, Job, LoadError, Pattern, Work};

use crate::plan::arms;
use crate::results::plan::{Area, Arm, Pilot, PlannedWorkload, Scatter, pilot_key};
use crate::study::{self, Io, Mix, Study, Workload};
use crate::workloads::io::{self, Medium, run};

/// Time that one pilot may take; at least one operation is always done.
const PILOT_MS: u64 = 25;
/// Operations that tell enough, where they are done sooner.
const PILOT_OPERATIONS: u64 = 64;

/// One look at how a workload's rate scatters.
const LOOK: Duration = Duration::from_millis(25);
/// Operations, one after the other, that a look must have room for.
const FEWEST_IN_A_LOOK: u64 = 8;
/// Looks in a group, and groups.
const LOOKS: usize = 3;
const GROUPS: usize = 4;
/// Rest before a group.
const REST: Duration = Duration::from_millis(20);
/// Four groups may well agree by chance: trials scatter by as much between them at least.
const LEAST_BETWEEN: f64 = 0.01;

/// Runs the pilot of each workload that can be run; equal jobs are run once.
pub fn run_all(
    study: &Study,
    medium: &Medium<'_>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Pilot, LoadError> {
    let mut known: Vec<(Job, u64)> = Vec::new();
    let mut operation_ns = BTreeMap::new();
    for (key, io) in kinds(study) {
        let Some(job) = pilot_job(&io, &medium.area, seed) else { continue };
        let cost = match known.iter().find(|(other, _)| same_work(other, &job)) {
            Some((_, cost)) => *cost,
            None => one(&job, medium, stop)?,
        };
        known.push((job, cost));
        operation_ns.insert(key, cost);
    }
    Ok(Pilot { operation_ns, scatter: BTreeMap::new() })
}

/// How the rates of workloads scatter, by name: groups of short looks, a rest between them.
///
/// # Errors
/// A look could not be run.
pub fn scatter(
    workloads: &[PlannedWorkload],
    pilot: &Pilot,
    medium: &Medium<'_>,
    rest: &dyn Fn(Duration),
    seed: u64,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, Scatter>, LoadError> {
    let mut found = BTreeMap::new();
    // Work that ends by itself, or has company, or a cache to be prepared, is not cut in pieces.
    let plain = |one: &&PlannedWorkload| {
        one.operations.is_none() && one.beside.is_none() && one.direct && !one.control
    };
    let fast = |one: &&PlannedWorkload| pilot.of(one) < LOOK.as_nanos() as u64 / FEWEST_IN_A_LOOK;
    for workload in workloads.iter().filter(plain).filter(fast) {
        let mut groups = Vec::with_capacity(GROUPS);
        for group in 0..GROUPS as u64 {
            rest(REST);
            groups.push(looks(workload, medium, seed.wrapping_add(group), stop)?);
        }
        found.extend(nested(&groups, LOOK.as_secs_f64()).map(|own| (workload.name.clone(), own)));
    }
    Ok(found)
}

/// Log rates of one group of looks; the first look of a group is not counted.
fn looks(
    workload: &PlannedWorkload,
    medium: &Medium<'_>,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Vec<f64>, LoadError> {
    let short = PlannedWorkload { ramp_ns: 0, time_ns: LOOK.as_nanos() as u64, ..workload.clone() };
    let mut rates = Vec::with_capacity(LOOKS);
    for look in 0..=LOOKS as u64 {
        let job = io::job(&short, &medium.area, seed.rotate_left(17).wrapping_add(look))?;
        let outcome = run(&workload.engine, &job, medium, stop)?;
        let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
        rates.push(operations as f64 / outcome.window_ns.max(1) as f64);
    }
    Ok(rates.into_iter().skip(1).map(f64::ln).collect())
}

/// Components of variance of equally large groups: what differs between groups, and what within
/// them, for looks of so many seconds. None where a look counted nothing.
fn nested(groups: &[Vec<f64>], look_s: f64) -> Option<Scatter> {
    if groups.iter().flatten().any(|rate| !rate.is_finite()) {
        return None;
    }
    let within: Vec<f64> = groups.iter().map(|own| variance(own)).collect::<Option<_>>()?;
    let within = within.iter().sum::<f64>() / within.len().max(1) as f64;
    let means: Vec<f64> =
        groups.iter().map(|own| own.iter().sum::<f64>() / own.len() as f64).collect();
    let each = groups.first()?.len() as f64;
    let between = (variance(&means)? - within / each).max(LEAST_BETWEEN * LEAST_BETWEEN);
    Some(Scatter { between, within_s: within * look_s })
}

fn variance(of: &[f64]) -> Option<f64> {
    Some(Sample::of(of)?.sd?.powi(2))
}

/// Every workload under every arm, whatever its target, by its key.
fn kinds(study: &Study) -> BTreeMap<String, Io> {
    let (_, arms) = arms::arms(study, &[]);
    let under = |workload: &Workload, levels: &Arm| {
        Some((pilot_key(&workload.name, levels), arms::under(&workload.io, levels).ok()?))
    };
    arms.iter()
        .flat_map(|arm| study.workload.iter().filter_map(|workload| under(workload, &arm.levels)))
        .collect()
}

fn one(job: &Job, medium: &Medium<'_>, stop: &AtomicBool) -> Result<u64, LoadError> {
    let outcome = run("psync", job, medium, stop)?;
    let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
    Ok(outcome.totals.elapsed_ns / operations.max(1))
}

fn same_work(one: &Job, other: &Job) -> bool {
    one.pattern == other.pattern
        && one.work == other.work
        && one.size_bytes == other.size_bytes
        && one.durability == other.durability
}

fn pilot_job(io: &Io, area: &Area, seed: u64) -> Option<Job> {
    let possible = io.size.0 <= area.length && (!io.mix.writes() || area.written);
    let length = area.length / io.size.0.max(1) * io.size.0;
    possible.then(|| Job {
        pattern: match io.pattern {
            study::Pattern::Sequential => Pattern::Sequential,
            // Any place costs what the places of a spread do.
            study::Pattern::Random | study::Pattern::Spread => Pattern::Random,
        },
        work: match io.mix {
            Mix::Shares { read_percent } => Work::Mix { read_percent },
            Mix::Rewrite => Work::Rewrite,
        },
        size_bytes: io.size.0 as u32,
        depth: 1,
        threads: 1,
        durability: match io.sync {
            study::WriteSync::EachWrite => Durability::DataSynced,
            study::WriteSync::None => Durability::Written,
        },
        content: match io.content {
            study::Content::Random => Content::Random,
            study::Content::Zero => Content::Zero,
        },
        area: area.start..area.start + length,
        ramp: Duration::ZERO,
        time: Duration::from_millis(PILOT_MS),
        operations: Some(PILOT_OPERATIONS),
        seed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_groups_is_told_from_what_differs_within() {
        // Means 0.1, 0.3, 0.2; sums of squares within 0.02 each on one degree of freedom.
        let groups = [vec![0.0, 0.2], vec![0.2, 0.4], vec![0.1, 0.3]];
        let found = nested(&groups, 0.5).unwrap();
        assert!((found.within_s - 0.02 * 0.5).abs() < 1e-12, "{found:?}");
        // The means vary by 0.01, all of which the scatter within explains.
        assert!((found.between - LEAST_BETWEEN * LEAST_BETWEEN).abs() < 1e-12, "{found:?}");
        let apart = [vec![0.0, 0.2], vec![1.0, 1.2]];
        let found = nested(&apart, 0.5).unwrap();
        assert!((found.between - (0.5 - 0.01)).abs() < 1e-12, "{found:?}");
        assert!((found.sd_log(1_000_000_000) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(nested(&[vec![f64::NEG_INFINITY, 0.0]], 1.0), None);
    }
}
