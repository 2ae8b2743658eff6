//! Each workload on each platform: its number, its percentage of the baseline, and their comparison.

use assay_core::quantity::{Better, Scale, printed};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, welch};
use assay_study::findings::places::{PLACE, PUBLISHED_PERCENT, PlaceRow, PlatformUnit, Printed};
use assay_study::findings::{Comparison, Kind, Measurement, TrialValue, measurements::Series};
use assay_study::results::record::Status;
use assay_workloads::metrics;

use super::super::across::{self, Key, SampleUnit, Tests, key, log_value};
use super::super::{at_level, cells, days::Days, distinct, verdicts::apply_holm};
use super::{spots::Platform, words};

#[derive(Default)]
pub(super) struct PlaceRows {
    pub cells: Vec<Measurement>,
    pub comparisons: Vec<Comparison>,
    pub rows: Vec<PlaceRow>,
}

/// Returns all rows, the baseline of each workload first.
pub(super) fn compare_platforms(
    platforms: &[Platform],
    margin: Option<f64>,
    days: Days,
) -> PlaceRows {
    let mut table = PlaceRows::default();
    for key in compared_keys(platforms) {
        add_rows(&mut table, platforms, &key, margin, days);
    }
    table
}

/// Workloads in the order of the first result that has them. A metric that may be zero has no percentage.
fn compared_keys(platforms: &[Platform]) -> Vec<Key> {
    let results = platforms.iter().flat_map(|platform| &platform.results);
    let cells = results.flat_map(|result| &result.measurements);
    let compared = cells.filter(|cell| cell.primary && !cell.control && cell.scale == Scale::Ratio);
    let mut keys = distinct(compared.map(key));
    // Group the settings of a workload, in the order in which the workloads first occur.
    let names: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
    keys.sort_by_key(|key| names.iter().position(|name| *name == key.0));
    keys
}

struct PlatformSample {
    cell: Measurement,
    unit: PlatformUnit,
    /// Logarithms of the values that count; `None` if no value is valid.
    logs: Option<Sample>,
    failed: usize,
}

impl PlatformSample {
    /// Number of days behind its numbers, for the error that the spread between days adds.
    fn days(&self) -> usize {
        match self.unit {
            PlatformUnit::Trials => 1,
            PlatformUnit::TrialsOfResults => 2,
            // Values per day already include that spread, and an infinite number of days adds none.
            PlatformUnit::Sessions => usize::MAX,
        }
    }
}

/// Adds a row per platform for one workload and metric.
fn add_rows(
    table: &mut PlaceRows,
    platforms: &[Platform],
    key: &Key,
    margin: Option<f64>,
    days: Days,
) {
    let samples: Vec<_> = platforms.iter().map(|platform| platform_sample(platform, key)).collect();
    let comparisons = compare_with_baseline(platforms, key, &samples, margin, days);
    for (index, (platform, comparison)) in platforms.iter().zip(comparisons).enumerate() {
        let sample = samples[index].as_ref();
        let mut row = platform_row(platform, key, sample);
        if index == 0 {
            row.percent = row.value.map(|_| 100.0);
        }
        if let Some(found) = comparison {
            row.percent = found.ratio.map(|ratio| percent(found.better, ratio));
            row.percent_ci95 = found.ci95.and_then(|ends| percents(found.better, ends));
            row.percent_ci95_simultaneous =
                found.ci95_simultaneous.and_then(|ends| percents(found.better, ends));
            row.comparison = Some(found.id.clone());
            table.comparisons.push(found);
        }
        row.printed = printed_percent(platforms, platform, key);
        table.rows.push(row);
        if let Some(sample) = sample {
            let configuration = at_level(&key.2, PLACE, &platform.placed.name);
            table.cells.push(Measurement { configuration, ..sample.cell.clone() });
        }
    }
}

/// Arm over baseline, as percent of the baseline's speed.
pub(super) fn percent(better: Better, ratio: f64) -> f64 {
    match better {
        Better::Higher | Better::Unknown => 100.0 * ratio,
        Better::Lower => 100.0 / ratio,
    }
}

/// Ends of an interval in percent; `None` if one of them is infinite.
pub(super) fn percents(better: Better, ends: [f64; 2]) -> Option<[f64; 2]> {
    let mut ends = ends.map(|end| percent(better, end));
    ends.sort_by(f64::total_cmp);
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}

type TestedPair = (Comparison, Option<Tests>, SampleUnit);

/// The comparisons of a workload, one per platform; `None` for the baseline and for platforms without a number.
fn compare_with_baseline(
    platforms: &[Platform],
    key: &Key,
    samples: &[Option<PlatformSample>],
    margin: Option<f64>,
    days: Days,
) -> Vec<Option<Comparison>> {
    let mut pairs: Vec<Option<TestedPair>> = Vec::new();
    for (platform, sample) in platforms.iter().zip(samples).skip(1) {
        pairs.push(match (&samples[0], sample) {
            (Some(base), Some(sample)) => {
                compare_pair([&platforms[0], platform], key, [base, sample], margin, days)
            }
            _ => None,
        });
    }
    // `compare_pair` makes comparisons with an emulated platform secondary: no verdict, and no share of the error.
    let is_judged = |(comparison, tests, _): &&TestedPair| comparison.primary && tests.is_some();
    let family = pairs.iter().flatten().filter(is_judged).count().max(1);
    // The baseline, the first platform, is not compared with itself.
    let mut judged: Vec<Option<Comparison>> = vec![None];
    for (platform, pair) in platforms.iter().skip(1).zip(pairs) {
        judged.push(pair.map(|(comparison, tests, unit)| {
            let mut found = across::with_verdict(comparison, tests, family, unit);
            found.primary = true;
            found.text = words::speed_words(&found, &platforms[0].placed, &platform.placed, &key.2);
            found
        }));
    }
    apply_holm(judged.iter_mut().flatten().filter(|found| found.verdict.is_some()));
    judged
}

/// Compares the second platform with the first one, the baseline; `None` if either has no number.
fn compare_pair(
    platforms: [&Platform; 2],
    key: &Key,
    samples: [&PlatformSample; 2],
    margin: Option<f64>,
    days: Days,
) -> Option<TestedPair> {
    let [before, after] = [samples[0].logs?, samples[1].logs?];
    let names = platforms.map(|platform| platform.placed.name.as_str());
    let arms = names.map(|name| at_level(&key.2, PLACE, name));
    let cells = samples.map(|sample| &sample.cell);
    let mut found = across::comparison(cells[0], arms, Kind::BetweenResults, Some((before, after)));
    if let [Some(base), Some(value)] = samples.map(single_value) {
        // Of two single numbers, use the plain ratio, as a reader computes it: logarithms would change the last digit.
        found.ratio = Some(value / base);
        found.means = Some([value, base]);
    }
    across::add_trust_notes(&mut found, cells, names);
    let is_judged = !platforms.iter().any(|platform| platform.placed.is_emulated());
    // Excludes an emulated platform from the verdicts; `compare_with_baseline` sets it again.
    found.primary = is_judged;
    let is_enough = before.n.min(after.n) >= FEWEST_FOR_INTERVAL;
    let are_sessions = samples.iter().all(|sample| sample.unit == PlatformUnit::Sessions);
    let (unit, days) = if are_sessions {
        (SampleUnit::Sessions { margin }, None)
    } else if is_judged {
        let counts = samples.map(PlatformSample::days);
        (SampleUnit::OneDay(days), days.between([&before, &after], counts))
    } else {
        // The spread between days matters only for a verdict.
        (SampleUnit::Trials, None)
    };
    let tests = is_enough.then(|| Tests { welch: welch(&before, &after), days });
    Some((found, tests, unit))
}

/// Returns the value of the only trial that counts; `None` if several count.
fn single_value(sample: &PlatformSample) -> Option<f64> {
    sample.logs.filter(|logs| logs.n == 1)?;
    let counting = sample.cell.counting().into_iter();
    match counting.filter(|trial| log_value(trial).is_some()).collect::<Vec<_>>().as_slice() {
        [only] => only.value,
        _ => None,
    }
}

/// The row of a platform, without its percentage.
fn platform_row(platform: &Platform, key: &Key, sample: Option<&PlatformSample>) -> PlaceRow {
    let (workload, metric, arm) = key.clone();
    let better = sample.map_or_else(|| metrics::better(&metric), |sample| sample.cell.better);
    let valid = sample.filter(|sample| sample.logs.is_some());
    let n = valid.and_then(|sample| sample.logs).map_or(0, |logs| logs.n);
    PlaceRow {
        workload,
        configuration: arm,
        platform: platform.placed.name.clone(),
        metric,
        better,
        unit: sample.map_or(PlatformUnit::Trials, |sample| sample.unit),
        n,
        failed: sample.map_or(0, |sample| sample.failed),
        value: valid.and_then(row_value),
        ci95: valid.filter(|sample| sample.cell.n == n).and_then(|sample| sample.cell.ci95),
        percent: None,
        percent_ci95: None,
        percent_ci95_simultaneous: None,
        comparison: None,
        printed: None,
        trust: valid.and_then(|sample| sample.cell.trust),
        emulated: platform.placed.is_emulated(),
        absent: if valid.is_some() { None } else { Some(why_missing(platform, key, sample)) },
    }
}

fn row_value(sample: &PlatformSample) -> Option<f64> {
    single_value(sample).or_else(|| sample.logs.map(|logs| logs.mean.exp()))
}

fn why_missing(platform: &Platform, key: &Key, sample: Option<&PlatformSample>) -> String {
    let (workload, metric, _) = key;
    let mut absent = platform.results.iter().flat_map(|one| &one.absent);
    let explained = absent.find(|cell| {
        cell.workload == *workload && cell.metric.as_ref().is_none_or(|absent| absent == metric)
    });
    if let Some(cell) = explained {
        return cell.obstacle.clone().unwrap_or_else(|| cell.reason.clone());
    }
    if let Some(sample) = sample {
        return words::no_number(&sample.cell);
    }
    let mut measured = platform.results.iter().flat_map(|one| &one.measurements);
    let another = measured.find(|cell| cell.primary && cell.workload == *workload);
    words::not_there(another.map(|cell| cell.metric.as_str()).filter(|other| other != metric))
}

/// The numbers of a platform for a workload, over all of its results; `None` if no result has it.
fn platform_sample(platform: &Platform, key: &Key) -> Option<PlatformSample> {
    let is_asked = |cell: &&Measurement| cell.primary && !cell.control && across::key(cell) == *key;
    let cells: Vec<&Measurement> =
        platform.results.iter().filter_map(|one| one.measurements.iter().find(is_asked)).collect();
    let trials = cells.iter().flat_map(|cell| &cell.trials);
    let failed = trials.filter(|trial| trial.status == Status::Failed).count();
    let valid: Vec<&Measurement> =
        cells.iter().copied().filter(|cell| cell_sample(cell).is_some()).collect();
    let (cell, unit) = match valid.as_slice() {
        [] => ((*cells.first()?).clone(), PlatformUnit::Trials),
        [only] => ((*only).clone(), PlatformUnit::Trials),
        days if days.len() >= FEWEST_FOR_INTERVAL => (mean_per_day(days), PlatformUnit::Sessions),
        few => (pool_trials(few), PlatformUnit::TrialsOfResults),
    };
    Some(PlatformSample { logs: cell_sample(&cell), cell, unit, failed })
}

/// Logarithms of the trials behind a cell's number.
fn cell_sample(cell: &Measurement) -> Option<Sample> {
    let values = cell.values().into_iter();
    Sample::of(&values.map(f64::ln).filter(|level| level.is_finite()).collect::<Vec<_>>())
}

/// A cell with the means of results as its trials.
fn mean_per_day(days: &[&Measurement]) -> Measurement {
    let mut trials = Vec::new();
    for (replicate, cell) in (1..).zip(days) {
        let value = cell_sample(cell).map(|sample| sample.mean.exp());
        trials.push(TrialValue::bare(replicate, None, value, Status::Ok));
    }
    cells::unpaired_cell(Series::again(days[0], days, trials))
}

/// A cell with the trials of all results; each result's replicate numbers follow those of the previous one.
fn pool_trials(few: &[&Measurement]) -> Measurement {
    let mut trials: Vec<TrialValue> = Vec::new();
    for cell in few {
        let last = trials.iter().map(|trial| trial.replicate).max().unwrap_or_default();
        trials.extend(cell.trials.iter().map(|trial| {
            let repeats = trial.repeats.map(|mut of| {
                of.replicate += last;
                of
            });
            // Warm-ups have replicate 0.
            let replicate = if trial.replicate == 0 { 0 } else { last + trial.replicate };
            TrialValue { replicate, order: None, repeats, ..trial.clone() }
        }));
    }
    cells::unpaired_cell(Series::again(few[0], few, trials))
}

/// Checks a published percentage against the published numbers, relative to those of the platform with 100%.
fn printed_percent(platforms: &[Platform], platform: &Platform, key: &Key) -> Option<Printed> {
    let published = |platform: &Platform| {
        let mut cells = platform.results.iter().flat_map(|one| &one.measurements);
        let cell = cells.find(|cell| cell.workload == key.0 && cell.metric == PUBLISHED_PERCENT)?;
        cell.median
    };
    let published_percent = published(platform)?;
    let base_platform = platforms.iter().find(|platform| published(platform) == Some(100.0))?;
    let [base, sample] = [platform_sample(base_platform, key)?, platform_sample(platform, key)?];
    let computed = percent(sample.cell.better, row_value(&sample)? / row_value(&base)?);
    let decimals = printed::decimals(published_percent);
    let follows = printed::says(published_percent, decimals, computed);
    Some(Printed { percent: published_percent, computed, follows })
}
