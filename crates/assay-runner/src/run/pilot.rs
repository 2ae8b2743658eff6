//! Pilot: the cost of one operation per workload at depth 1, to limit the depth on slow devices, and the spread of
//! results, to divide a quick check into trials.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::event::Context;
use assay_analysis::import;
use assay_core::exhibit::parts::distinct;
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_core::stats::Sample;
use assay_load::Bystanders;
use assay_machine::system::System;
use assay_machine::system::identity::Caller;
use assay_study::file::Workload;
use assay_study::plan::design::ResolvedDesign;
use assay_study::results::plan::{Pilot, PlannedWorkload, Scatter};
use assay_study::results::requests;
use assay_workloads::{Programs, Run, TestMedium, Work, WorkPlan, command, io};

const SAMPLE_TIME: Duration = Duration::from_millis(25);
const FEWEST_PER_SAMPLE: u64 = 8;
const SAMPLES: usize = 3;
const GROUPS: usize = 4;
const REST: Duration = Duration::from_millis(20);
/// Four groups may agree by chance: the spread between trials is at least this.
const LEAST_BETWEEN: f64 = 0.01;

#[derive(Clone, Copy)]
pub struct Bench<'a> {
    pub system: &'a dyn System,
    pub medium: TestMedium<'a>,
    pub path: &'a Path,
    pub seed: u64,
    pub study_seed: u64,
    /// User for commands, if different from that of this process.
    pub runs_as: Option<Caller>,
    pub stop: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    pub fn new(
        context: &'a Context<'_>,
        medium: TestMedium<'a>,
        path: &'a Path,
        seed: u64,
    ) -> Self {
        let (system, runs_as, stop) = (context.system, context.runs_as, context.stop);
        Self { system, medium, path, seed, study_seed: seed, runs_as, stop }
    }

    /// Runs work for a time on the target of the pilot.
    fn run<T>(
        &self,
        time: Duration,
        seed: u64,
        run: impl FnOnce(&Run<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        run(&Run {
            time_ns: time.as_nanos() as u64,
            seed,
            study_seed: self.study_seed,
            caller: self.runs_as,
            programs: Programs {
                formats: import::numbers,
                recall: requests::recall,
                ..Programs::NONE
            },
            ..Run::new(self.system, self.medium, self.path, &Bystanders::now(), self.stop)
        })
    }
}

/// Measures the cost of an operation per workload; workloads of the same cost share a pilot. Optional ones may fail.
pub fn run_all(design: &ResolvedDesign<'_>, bench: &Bench<'_>) -> Outcome<Pilot> {
    let mut known: Vec<(Work, u64)> = Vec::new();
    let mut pilot = Pilot::default();
    for (key, (work, optional)) in design.all_work() {
        let cost = match known.iter().find(|(other, _)| work.costs_like(other)) {
            Some((_, cost)) => Ok(Some(*cost)),
            None => pilot_cost(&work, bench),
        };
        match cost {
            Ok(None) => {}
            Ok(Some(cost)) => {
                known.push((work, cost));
                pilot.operation_ns.insert(key, cost);
            }
            // A stop by the user is not a refusal.
            Err(failure) if optional && !bench.stop.load(Ordering::Relaxed) => {
                pilot.refused.insert(key, failure.message);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(pilot)
}

/// Returns the nanoseconds of an operation; `None` if the work has no pilot.
fn pilot_cost(work: &Work, bench: &Bench<'_>) -> Outcome<Option<u64>> {
    let missing: Vec<&str> =
        work.programs().into_iter().filter(|name| bench.system.program(name).is_none()).collect();
    if !missing.is_empty() {
        return Err(Failure::refused(format!("not installed: {}", missing.join(", "))));
    }
    let cost = bench.run(Duration::ZERO, bench.seed, |run| work.pilot(run));
    // A failing command is a fault of the measured program, other failing work a fault of the machine.
    let is_command = command::CommandSpec::of(work).is_some();
    cost.map_err(if is_command { Failure::broken } else { Failure::refused })
}

/// Runs the setup commands of a resumed study again, because their files may be missing; returns the commands.
pub fn ready_again<'p>(
    workloads: impl Iterator<Item = &'p PlannedWorkload>,
    bench: &Bench<'_>,
) -> Result<Vec<String>, String> {
    let (mut known, mut ran): (Vec<&WorkPlan>, Vec<String>) = (Vec::new(), Vec::new());
    for PlannedWorkload { work, .. } in workloads {
        // As before the first trial: workloads that only differ in settings of the machine share one.
        if !known.contains(&work) {
            known.push(work);
            ran.extend(bench.run(Duration::ZERO, bench.seed, |run| work.ready_again(run))?);
        }
    }
    Ok(ran)
}

/// Returns the first line of `PROGRAM --version` for each program that the workloads use.
pub fn versions(work: &[Workload], system: &dyn System) -> Vec<String> {
    let names = distinct(work.iter().flat_map(|own| own.work.programs()));
    let version = |name: &str| {
        let path = system.program(name)?;
        let text = system.output_of(path.to_str()?, &["--version"]).ok()?;
        let line = outside::spelled(text.lines().map(str::trim).find(|line| !line.is_empty())?);
        Some(format!("{name} is {line}"))
    };
    names.into_iter().filter_map(version).collect()
}

/// Measures the spread of the rates of fast, divisible workloads, by name: groups of short samples with rests between.
pub fn scatter(
    workloads: &[PlannedWorkload],
    pilot: &Pilot,
    bench: &Bench<'_>,
) -> Result<BTreeMap<String, Scatter>, String> {
    let mut scatters = BTreeMap::new();
    // Work with a background load is not divided.
    let is_plain = |work: &PlannedWorkload| {
        work.work.can_be_cut() && work.background.is_none() && !work.control
    };
    // Trims leave less data for each further sample.
    let trims =
        |work: &PlannedWorkload| io::IoPlan::of(&work.work).is_some_and(|plan| plan.mix.clears());
    let is_fast = |work: &PlannedWorkload| {
        pilot.operation_ns(work) < SAMPLE_TIME.as_nanos() as u64 / FEWEST_PER_SAMPLE
    };
    for workload in workloads {
        if !is_plain(workload) || trims(workload) || !is_fast(workload) {
            continue;
        }
        let mut groups = Vec::with_capacity(GROUPS);
        for group in 0..GROUPS as u64 {
            bench.system.sleep(REST);
            let bench = Bench { seed: bench.seed.wrapping_add(group), ..*bench };
            groups.push(sample_log_rates(workload, &bench)?);
        }
        if let Some(scatter) = variance_components(&groups, SAMPLE_TIME.as_secs_f64()) {
            scatters.insert(workload.name.clone(), scatter);
        }
    }
    Ok(scatters)
}

/// Returns the logarithms of the rates of one group of samples, without the first sample, its warm-up.
fn sample_log_rates(workload: &PlannedWorkload, bench: &Bench<'_>) -> Result<Vec<f64>, String> {
    let mut rates = Vec::with_capacity(SAMPLES);
    for sample in 0..=SAMPLES as u64 {
        let seed = bench.seed.rotate_left(17).wrapping_add(sample);
        let measured = bench.run(SAMPLE_TIME, seed, |run| workload.work.run(run))?.measured;
        rates.push(measured.operations() as f64 / measured.window_ns.max(1) as f64);
    }
    Ok(rates.into_iter().skip(1).map(f64::ln).collect())
}

/// Returns the variance components between and within groups; `None` if a sample counted nothing.
fn variance_components(groups: &[Vec<f64>], sample_s: f64) -> Option<Scatter> {
    if groups.iter().flatten().any(|rate| !rate.is_finite()) {
        return None;
    }
    let variances: Vec<f64> = groups.iter().map(|group| variance(group)).collect::<Option<_>>()?;
    let within = variances.iter().sum::<f64>() / variances.len().max(1) as f64;
    let means: Vec<f64> =
        groups.iter().map(|group| group.iter().sum::<f64>() / group.len() as f64).collect();
    let group_size = groups.first()?.len() as f64;
    // The variance of the means includes that within groups.
    let between = (variance(&means)? - within / group_size).max(LEAST_BETWEEN * LEAST_BETWEEN);
    Some(Scatter { between, within_s: within * sample_s })
}

fn variance(of: &[f64]) -> Option<f64> {
    Some(Sample::of(of)?.sd?.powi(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_groups_is_told_from_what_differs_within() {
        // Means 0.1, 0.3, 0.2; sums of squares within groups of 0.02 each, with one degree of freedom.
        let groups = [vec![0.0, 0.2], vec![0.2, 0.4], vec![0.1, 0.3]];
        let found = variance_components(&groups, 0.5).unwrap();
        assert!((found.within_s - 0.02 * 0.5).abs() < 1e-12, "{found:?}");
        // The variance of the means, 0.01, is explained by the variance within groups.
        assert!((found.between - LEAST_BETWEEN * LEAST_BETWEEN).abs() < 1e-12, "{found:?}");
        let apart = [vec![0.0, 0.2], vec![1.0, 1.2]];
        let found = variance_components(&apart, 0.5).unwrap();
        assert!((found.between - (0.5 - 0.01)).abs() < 1e-12, "{found:?}");
        assert!((found.sd_log(1_000_000_000) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(variance_components(&[vec![f64::NEG_INFINITY, 0.0]], 1.0), None);
    }
}
