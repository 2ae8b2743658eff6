//! Runs of all files of a study: what differs is compared, equal runs are replicates, and times give the order (R2c).

use std::collections::{BTreeMap, BTreeSet};

use assay_core::exhibit::parts::distinct;
use assay_core::failure::{Failure, Outcome};
use assay_study::file::Order;
use assay_study::findings::TrialValue;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::results::{design::Factor, plan::Arm, record::Status};
use assay_workloads::metrics;

use super::order::{self, OrderedTrial};
use super::run::{ImportedRun, ImportedRuns, RunMetric};
use super::words::{advice, quoted};
use super::{Imported, ImportedFile, Options, mistake_in};

/// The level of a setting that a run does not name.
const NOT_SET: &str = "not set";
/// Limits on runs, and on workloads, levels or arms: larger inputs take too long to judge.
const MOST_RUNS: usize = 100_000;
const MOST_KINDS: usize = 1000;
/// Larger numbers are mistakes, and their ratios would not be finite.
const LARGEST: f64 = 1e15;

struct StudyRun<'a> {
    imported: &'a ImportedRun,
    given: &'a Arm,
    workload: usize,
    arm: usize,
    replicate: u32,
    order: Option<u32>,
}

#[derive(Default)]
struct StudyRuns<'a> {
    runs: Vec<StudyRun<'a>>,
    workloads: Vec<String>,
    factors: Vec<Factor>,
    arms: Vec<Arm>,
    notes: Vec<String>,
}

/// Makes trials of all runs: their settings become factors, their order in time decides on verdicts.
pub(super) fn combine(
    files: &[(&ImportedFile, ImportedRuns)],
    options: &Options,
) -> Outcome<Imported> {
    let mut all = gather(files)?;
    let name = files.first().map_or("", |(file, _)| &file.name);
    all.factors = factors(&mut all, files)?;
    all.number_arms();
    at_most(MOST_KINDS, all.arms.len(), "settings", name)?;
    all.order_in_time(files, options);
    let placed = all.ordered_trials();
    let order = if placed.is_empty() { Order::Unknown } else { order::order(&placed) };
    all.note_order(order, files.len());
    let baseline = all.baseline(options)?;
    let series = all.series(options)?;
    all.note_unmeasured();
    let design = options.design(all.factors, baseline, order);
    let measurements = Measurements { design, series, unfinished: false, live: Vec::new() };
    Ok(Imported { measurements, notes: all.notes, trials: all.runs.len() })
}

/// Collects the runs of all files; their arms, replicates and positions are set later.
fn gather<'a>(files: &'a [(&ImportedFile, ImportedRuns)]) -> Outcome<StudyRuns<'a>> {
    let mut all = StudyRuns::default();
    for (file, runs) in files {
        if runs.runs.is_empty() {
            return Err(mistake_in(&file.name, "contains no run"));
        }
        for imported in &runs.runs {
            let workload = index_of_name(&mut all.workloads, &imported.workload);
            at_most(MOST_KINDS, all.workloads.len(), "workloads", &file.name)?;
            at_most(MOST_RUNS, all.runs.len() + 1, "runs", &file.name)?;
            let (arm, replicate, order) = (0, 0, None);
            all.runs.push(StudyRun { imported, given: &file.arm, workload, arm, replicate, order });
        }
    }
    let notes = files.iter().flat_map(|(_, runs)| &runs.notes);
    all.notes = distinct(notes).into_iter().cloned().collect();
    Ok(all)
}

fn at_most(most: usize, count: usize, what: &str, name: &str) -> Outcome<()> {
    if count <= most {
        return Ok(());
    }
    let text = format!("this study has more than {most} {what}; import parts of the data");
    Err(mistake_in(name, &text))
}

fn index_of_name(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

fn level<'a>(run: &StudyRun<'a>, name: &str) -> &'a str {
    run.given.get(name).or_else(|| run.imported.settings.get(name)).map_or(NOT_SET, String::as_str)
}

/// Factors of the user, and settings that differ within a workload. Those that follow from other factors become notes.
fn factors(
    all: &mut StudyRuns<'_>,
    files: &[(&ImportedFile, ImportedRuns)],
) -> Outcome<Vec<Factor>> {
    let Some((first, _)) = files.first() else { return Ok(Vec::new()) };
    let given: BTreeSet<&String> = all.runs.iter().flat_map(|run| run.given.keys()).collect();
    for name in &given {
        if let Some((file, _)) = files.iter().find(|(file, _)| !file.arm.contains_key(*name)) {
            let factor = quoted(name);
            let text = format!(
                "no --set for factor {factor}, which other files have; set the factor for each file"
            );
            return Err(mistake_in(&file.name, &text));
        }
    }
    let mut factors: Vec<String> = given.iter().map(|name| (*name).clone()).collect();
    let settings: BTreeSet<&String> =
        all.runs.iter().flat_map(|run| run.imported.settings.keys()).collect();
    for name in settings.into_iter().filter(|name| !given.contains(*name)) {
        // A setting that follows without any factor is constant within each workload.
        if follows_from(all, &[], name) {
            continue;
        }
        if follows_from(all, &factors, name) {
            let others = factors.join(" and ");
            all.notes.push(format!("{} varies together with {others}", quoted(name)));
        } else {
            factors.push(name.clone());
        }
    }
    let factor = |name: String| {
        let names: BTreeSet<&str> = all.runs.iter().map(|run| level(run, &name)).collect();
        at_most(MOST_KINDS, names.len(), &format!("levels of {}", quoted(&name)), &first.name)?;
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let order = order::levels_in_order(&names).into_iter();
        Ok(Factor { name, levels: order.map(|index| names[index].clone()).collect() })
    };
    factors.into_iter().map(factor).collect()
}

/// Whether a workload and the levels of the factors determine the level of a setting.
fn follows_from(all: &StudyRuns<'_>, factors: &[String], setting: &str) -> bool {
    let mut known: BTreeMap<(usize, Vec<&str>), &str> = BTreeMap::new();
    all.runs.iter().all(|run| {
        let levels = factors.iter().map(|name| level(run, name)).collect();
        let wanted = level(run, setting);
        *known.entry((run.workload, levels)).or_insert(wanted) == wanted
    })
}

impl StudyRuns<'_> {
    /// Numbers the arms in the order of the levels, the first factor slowest.
    fn number_arms(&mut self) {
        let level_index = |factor: &Factor, wanted: &str| {
            factor.levels.iter().position(|level| level == wanted).unwrap_or_default()
        };
        let mut levels_of_runs: Vec<Vec<usize>> = Vec::new();
        for run in &self.runs {
            let levels = self.factors.iter();
            let levels = levels.map(|factor| level_index(factor, level(run, &factor.name)));
            levels_of_runs.push(levels.collect());
        }
        let mut arms = levels_of_runs.clone();
        arms.sort();
        arms.dedup();
        for (run, levels) in self.runs.iter_mut().zip(levels_of_runs) {
            run.arm = arms.binary_search(&levels).unwrap_or_default();
        }
        let arm = |levels: &Vec<usize>| -> Arm {
            let levels = self.factors.iter().zip(levels);
            levels
                .map(|(factor, index)| (factor.name.clone(), factor.levels[*index].clone()))
                .collect()
        };
        self.arms = arms.iter().map(arm).collect();
    }

    /// Sets positions in time, if the files contain them, and replicates from them.
    fn order_in_time(&mut self, files: &[(&ImportedFile, ImportedRuns)], options: &Options) {
        let mut in_time: Vec<usize> = (0..self.runs.len()).collect();
        let files_in_order = files.iter().all(|(_, runs)| runs.in_order);
        let is_listed_in_order = (files.len() == 1 || options.in_order) && files_in_order;
        let is_known = is_listed_in_order || self.is_timed();
        if is_known && !is_listed_in_order {
            in_time.sort_by_key(|index| self.runs[*index].imported.span_ms);
        }
        let mut counts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (position, index) in (1..).zip(in_time) {
            let run = &mut self.runs[index];
            let count = counts.entry((run.workload, run.arm)).or_default();
            *count += 1;
            run.replicate = *count;
            run.order = is_known.then_some(position);
        }
    }

    /// Whether all runs have a time and no two runs of a workload overlap; notes an overlap.
    fn is_timed(&mut self) -> bool {
        let spans: Option<Vec<(usize, (u64, u64))>> =
            self.runs.iter().map(|run| Some((run.workload, run.imported.span_ms?))).collect();
        let Some(mut spans) = spans else { return false };
        spans.sort_unstable();
        let overlap = spans.windows(2).any(|pair| {
            let [(workload, (start, end)), (next_workload, (next_start, _))] = [pair[0], pair[1]];
            // A run of less than 1 ms counts as 1 ms, so two with one start overlap.
            workload == next_workload && next_start < end.max(start + 1)
        });
        if overlap {
            self.notes.push(
                "the times of runs of one workload overlap, so the order is unknown".to_owned(),
            );
        }
        !overlap
    }

    fn ordered_trials(&self) -> Vec<OrderedTrial> {
        let placed = |run: &StudyRun<'_>| {
            let &StudyRun { workload, arm, replicate, .. } = run;
            Some(OrderedTrial { order: run.order?, lead_in: false, workload, arm, replicate })
        };
        self.runs.iter().filter_map(placed).collect()
    }

    /// Notes why the runs give no verdicts, if their order or a single configuration is the reason.
    fn note_order(&mut self, order: Order, files: usize) {
        if self.arms.len() < 2 {
            self.notes.push("all runs have the same settings; nothing to compare".to_owned());
            return;
        }
        let is_unordered = files > 1 && self.runs.iter().all(|run| run.order.is_none());
        let note = match order {
            Order::Unknown if is_unordered => {
                "the files do not record the order of the runs, so Assay gives ratios without verdicts; if you list \
                 them in order, use --in-order"
            }
            Order::Unknown | Order::Sequential => {
                "the runs are in blocks or not in complete replicates, so Assay gives ratios without verdicts; \
                 interleave the configurations"
            }
            _ => return,
        };
        self.notes.push(note.to_owned());
    }

    /// The baseline that the user requested, else the arm of the first run, with a note.
    fn baseline(&mut self, options: &Options) -> Outcome<Arm> {
        for (name, level) in &options.baseline {
            let why = match self.factors.iter().find(|factor| factor.name == *name) {
                Some(factor) if factor.levels.contains(level) => continue,
                Some(factor) => {
                    let levels = factor.levels.iter().map(String::as_str);
                    format!("no run has this level; {}", advice(level, levels))
                }
                None => {
                    let names = self.factors.iter().map(|factor| factor.name.as_str());
                    let (name, advice) = (quoted(name), advice(name, names));
                    format!("{name} does not differ between runs; {advice}")
                }
            };
            return Err(Failure::mistake(format!("--baseline {name}={level}: {why}")));
        }
        if !options.baseline.is_empty() || self.arms.len() < 2 {
            return Ok(options.baseline.clone());
        }
        let first = self.runs.first().map(|run| self.arms[run.arm].clone()).unwrap_or_default();
        let words: Vec<_> = first.iter().map(|(name, level)| format!("{name}={level}")).collect();
        self.notes.push(format!(
            "the baseline is {} (the first run); --baseline sets another",
            words.join(" ")
        ));
        Ok(first)
    }

    /// The metrics of each workload that any of its runs measured.
    fn metrics_of_workloads(&self) -> Vec<Vec<&RunMetric>> {
        let mut known_metrics: Vec<Vec<&RunMetric>> = vec![Vec::new(); self.workloads.len()];
        for run in &self.runs {
            let known = &mut known_metrics[run.workload];
            for metric in run.imported.values.iter().filter(|metric| metric.why.is_none()) {
                if !known.iter().any(|other| other.metric == metric.metric) {
                    known.push(metric);
                }
            }
        }
        known_metrics
    }

    /// One series per workload, arm and metric, in that order.
    fn series(&self, options: &Options) -> Outcome<Vec<Series>> {
        let known_metrics = self.metrics_of_workloads();
        if let Some(wanted) = &options.primary {
            let names: BTreeSet<&str> =
                known_metrics.iter().flatten().map(|metric| metric.metric.as_str()).collect();
            if !names.contains(wanted.as_str()) {
                return Err(Failure::mistake(format!(
                    "--primary-metric {wanted}: no run has this metric; {}",
                    advice(wanted, names.iter().copied())
                )));
            }
        }
        let mut rows: BTreeMap<(usize, usize), Vec<&StudyRun<'_>>> = BTreeMap::new();
        for run in &self.runs {
            rows.entry((run.workload, run.arm)).or_default().push(run);
        }
        let mut series = Vec::new();
        for ((workload, arm), runs) in rows {
            let (name, metrics) = (&self.workloads[workload], &known_metrics[workload]);
            // The first metric is the primary one of a workload without the wanted metric.
            let wanted = options.primary.as_ref();
            let primary =
                wanted.and_then(|wanted| metrics.iter().position(|one| one.metric == *wanted));
            for (index, RunMetric { metric, better, .. }) in metrics.iter().enumerate() {
                // A metric that the tool could measure in no run did not fail.
                let has_metric = |run: &&StudyRun<'_>| {
                    let mut values = run.imported.values.iter();
                    run.imported.failed.is_some()
                        || values.any(|value| value.metric == *metric && value.why.is_none())
                };
                if !runs.iter().any(has_metric) {
                    continue;
                }
                let mut trials: Vec<_> = runs.iter().filter_map(|run| trial(run, metric)).collect();
                trials.sort_by_key(|trial| trial.replicate);
                let is_primary = primary.unwrap_or(0) == index;
                let evidence = runs.iter().map(|run| run.imported.evidence.clone()).collect();
                let bare = Series::bare(name, self.arms[arm].clone(), metric, *better);
                series.push(Series { primary: is_primary, trials, evidence, ..bare });
            }
        }
        Ok(series)
    }

    /// Names metrics that no run of a workload measured, each reason once.
    fn note_unmeasured(&mut self) {
        let mut reasons: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
        for run in &self.runs {
            for metric in &run.imported.values {
                let Some(why) = &metric.why else { continue };
                let key = (self.workloads[run.workload].as_str(), why.as_str());
                reasons.entry(key).or_default().insert(metrics::noun(&metric.metric));
            }
        }
        let mut notes = Vec::new();
        for ((workload, why), nouns) in reasons {
            let nouns: Vec<&str> = nouns.into_iter().collect();
            notes.push(format!("no {} for {workload}: {why}", nouns.join(", ")));
        }
        self.notes.extend(notes);
    }
}

/// Returns a run as a trial of one metric, or `None` if it does not concern the metric.
fn trial(run: &StudyRun<'_>, metric: &str) -> Option<TrialValue> {
    let reported = run.imported.values.iter().find(|reported| reported.metric == metric);
    let checked: Result<f64, String> = if let Some(failed) = &run.imported.failed {
        Err(failed.clone())
    } else {
        let RunMetric { value, why, .. } = reported?;
        match value {
            // NaN and infinity are outside the range, too.
            Some(value) if (0.0..=LARGEST).contains(value) => Ok(*value),
            Some(value) => Err(format!("the tool reported {value}, which cannot be compared")),
            None => Err(why.clone().unwrap_or_else(|| "the tool reported no number".to_owned())),
        }
    };
    let status = if checked.is_ok() { Status::Ok } else { Status::Failed };
    let (value, reason) = (checked.as_ref().ok().copied(), checked.err());
    Some(TrialValue { reason, ..TrialValue::bare(run.replicate, run.order, value, status) })
}

#[cfg(test)]
mod tests;
