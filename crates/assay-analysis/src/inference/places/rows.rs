//! Each workload on each platform: its number, its percentage of the baseline, and their comparison.

use assay_core::quantity::{Better, Scale, printed};
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, welch};
use assay_study::findings::measurements::Series;
use assay_study::findings::places::{PLACE, PUBLISHED_PERCENT, PlaceRow, PlatformUnit, Printed};
use assay_study::findings::{Comparison, Kind, Measurement, TrialValue};
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;
use assay_workloads::metrics;

use super::super::across::{self, Key, SampleUnit as Judged, Tests, key, level};
use super::super::cells;
use super::super::days::Days;
use super::super::distinct;
use super::super::verdicts::correct;
use super::spots::PlatformResults;
use super::words;

#[derive(Default)]
pub(super) struct PlaceRows {
    pub cells: Vec<Measurement>,
    pub comparisons: Vec<Comparison>,
    pub rows: Vec<PlaceRow>,
}

pub(super) fn placed(arm: &Arm, place: &str) -> Arm {
    let mut arm = arm.clone();
    arm.insert(PLACE.to_owned(), place.to_owned());
    arm
}

/// All rows, the baseline of each workload first.
pub(super) fn rows(spots: &[PlatformResults], margin: Option<f64>, days: Days) -> PlaceRows {
    let mut told = PlaceRows::default();
    for key in keys(spots) {
        of_workload(spots, &key, margin, days, &mut told);
    }
    told
}

/// Workloads in the order of the first result that has them. A metric that may be zero has no percentage.
fn keys(spots: &[PlatformResults]) -> Vec<Key> {
    let cells = spots.iter().flat_map(|spot| &spot.results).flat_map(|one| &one.measurements);
    let cells = cells.filter(|cell| cell.primary && !cell.control && cell.scale == Scale::Ratio);
    let mut keys = distinct(cells.map(key));
    // Group the settings of a workload.
    let names: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
    keys.sort_by_key(|key| names.iter().position(|name| *name == key.0));
    keys
}

struct PlatformSample {
    cell: Measurement,
    unit: PlatformUnit,
    /// Logarithms of the trials that count.
    sample: Option<Sample>,
    failed: usize,
}

impl PlatformSample {
    /// Number of days behind its numbers; values per day already include the spread between days.
    fn days(&self) -> usize {
        match self.unit {
            PlatformUnit::Trials => 1,
            PlatformUnit::TrialsOfResults => 2,
            PlatformUnit::Sessions => usize::MAX,
        }
    }
}

fn of_workload(
    spots: &[PlatformResults],
    key: &Key,
    margin: Option<f64>,
    days: Days,
    told: &mut PlaceRows,
) {
    let own: Vec<Option<PlatformSample>> = spots.iter().map(|spot| own(spot, key)).collect();
    let compared = compared(spots, key, &own, margin, days);
    for (at, ((spot, own), found)) in spots.iter().zip(own).zip(compared).enumerate() {
        let mut row = row(spot, key, own.as_ref());
        match found {
            Some(found) => {
                row.percent = found.ratio.map(|ratio| percent(found.better, ratio));
                row.percent_ci95 = found.ci95.and_then(|ends| percents(found.better, ends));
                row.percent_ci95_simultaneous =
                    found.ci95_simultaneous.and_then(|ends| percents(found.better, ends));
                row.comparison = Some(found.id.clone());
                told.comparisons.push(found);
            }
            None if at == 0 => row.percent = row.value.map(|_| 100.0),
            None => {}
        }
        row.printed = printed_percent(spots, spot, key);
        told.rows.push(row);
        let cell = own.map(|own| Measurement {
            configuration: placed(&key.2, &spot.placed.name),
            ..own.cell
        });
        told.cells.extend(cell);
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

type Pair = (Comparison, Option<Tests>, Judged);

/// The comparisons of a workload, one per platform; `None` for the baseline and for platforms without a number.
fn compared(
    spots: &[PlatformResults],
    key: &Key,
    own: &[Option<PlatformSample>],
    margin: Option<f64>,
    days: Days,
) -> Vec<Option<Comparison>> {
    let base = own.first().and_then(Option::as_ref);
    let pair = |(spot, own): (&PlatformResults, &Option<PlatformSample>)| {
        pair([&spots[0], spot], key, [base?, own.as_ref()?], margin, days)
    };
    let pairs: Vec<Option<Pair>> = spots.iter().zip(own).skip(1).map(pair).collect();
    // An emulated platform gets no verdict, and no share of the error.
    let asked = |(found, tests, _): &&Pair| found.primary && tests.is_some();
    let family = pairs.iter().flatten().filter(asked).count().max(1);
    let judged = |(at, pair): (usize, Option<Pair>)| {
        let (found, tests, unit) = pair?;
        let mut found = across::weighed(found, tests, family, unit);
        // It remains the primary metric of the workload.
        found.primary = true;
        found.text = words::between_places(&found, &spots[0].placed, &spots[at + 1].placed, &key.2);
        Some(found)
    };
    let mut judged: Vec<Option<Comparison>> = pairs.into_iter().enumerate().map(judged).collect();
    correct(judged.iter_mut().flatten().filter(|found| found.verdict.is_some()));
    std::iter::once(None).chain(judged).collect()
}

/// Compares a platform with the baseline; `None` if either has no number.
fn pair(
    spots: [&PlatformResults; 2],
    key: &Key,
    own: [&PlatformSample; 2],
    margin: Option<f64>,
    days: Days,
) -> Option<Pair> {
    let [before, after] = [own[0].sample?, own[1].sample?];
    let names = spots.map(|spot| spot.placed.name.as_str());
    let arms = names.map(|name| placed(&key.2, name));
    let cells = own.map(|own| &own.cell);
    let mut found = across::comparison(cells[0], arms, Kind::BetweenResults, Some((before, after)));
    if let [Some(base), Some(value)] = own.map(single) {
        // Printed numbers have the ratio that a reader computes from them, to the last digit.
        (found.ratio, found.means) = (Some(value / base), Some([value, base]));
    }
    across::doubt(&mut found, cells, names);
    let is_judged = !spots.iter().any(|spot| spot.placed.is_emulated());
    found.primary = is_judged;
    let enough = before.n.min(after.n) >= FEWEST_FOR_INTERVAL;
    let sessions = own.iter().all(|own| own.unit == PlatformUnit::Sessions);
    // The trials of an emulated platform count as they are: it gets no verdict.
    let (unit, days) = match (sessions, is_judged) {
        (true, _) => (Judged::Sessions { margin }, None),
        (false, false) => (Judged::Trials, None),
        (false, true) => {
            (Judged::OneDay(days), days.between([&before, &after], own.map(PlatformSample::days)))
        }
    };
    let tests = enough.then(|| Tests { welch: welch(&before, &after), days });
    Some((found, tests, unit))
}

fn single(own: &PlatformSample) -> Option<f64> {
    let mut counting = own.cell.counting().into_iter().filter(|trial| level(trial).is_some());
    own.sample.filter(|sample| sample.n == 1)?;
    let value = counting.next()?.value;
    value.filter(|_| counting.next().is_none())
}

/// The row of a platform, without its percentage.
fn row(spot: &PlatformResults, key: &Key, own: Option<&PlatformSample>) -> PlaceRow {
    let (workload, metric, arm) = key.clone();
    let better = own.map_or_else(|| metrics::better(&metric), |own| own.cell.better);
    let known = own.filter(|own| own.sample.is_some());
    let n = known.and_then(|own| own.sample).map_or(0, |sample| sample.n);
    PlaceRow {
        workload,
        configuration: arm,
        platform: spot.placed.name.clone(),
        metric,
        better,
        unit: own.map_or(PlatformUnit::Trials, |own| own.unit),
        n,
        failed: own.map_or(0, |own| own.failed),
        value: known.and_then(centre),
        ci95: known.filter(|own| own.cell.n == n).and_then(|own| own.cell.ci95),
        percent: None,
        percent_ci95: None,
        percent_ci95_simultaneous: None,
        comparison: None,
        printed: None,
        trust: known.and_then(|own| own.cell.trust),
        emulated: spot.placed.is_emulated(),
        absent: if known.is_some() { None } else { Some(missing(spot, key, own)) },
    }
}

fn centre(own: &PlatformSample) -> Option<f64> {
    single(own).or_else(|| own.sample.map(|sample| sample.mean.exp()))
}

fn missing(spot: &PlatformResults, key: &Key, own: Option<&PlatformSample>) -> String {
    let (workload, metric, _) = key;
    let absent = spot.results.iter().flat_map(|one| &one.absent);
    let mut absent = absent.filter(|absent| {
        absent.workload == *workload && absent.metric.as_ref().is_none_or(|absent| absent == metric)
    });
    if let Some(known) = absent.next() {
        return known.obstacle.clone().unwrap_or_else(|| known.reason.clone());
    }
    if let Some(own) = own {
        return words::no_number(&own.cell);
    }
    let mut others = spot.results.iter().flat_map(|one| &one.measurements);
    let another = others.find(|cell| cell.primary && cell.workload == *workload);
    words::not_there(another.map(|cell| cell.metric.as_str()).filter(|other| other != metric))
}

/// The numbers of a platform for a workload, over all of its results; `None` if no result has it.
fn own(spot: &PlatformResults, key: &Key) -> Option<PlatformSample> {
    let has = |cell: &&Measurement| cell.primary && !cell.control && across::key(cell) == *key;
    let own: Vec<&Measurement> =
        spot.results.iter().filter_map(|one| one.measurements.iter().find(has)).collect();
    let trials = own.iter().flat_map(|cell| &cell.trials);
    let failed = trials.filter(|trial| trial.status == Status::Failed).count();
    let known: Vec<&Measurement> =
        own.iter().copied().filter(|cell| sample(cell).is_some()).collect();
    let (cell, unit) = match known.as_slice() {
        [] => ((*own.first()?).clone(), PlatformUnit::Trials),
        [one] => ((*one).clone(), PlatformUnit::Trials),
        days if days.len() >= FEWEST_FOR_INTERVAL => (of_days(days), PlatformUnit::Sessions),
        few => (together(few), PlatformUnit::TrialsOfResults),
    };
    Some(PlatformSample { sample: sample(&cell), cell, unit, failed })
}

/// Logarithms of the trials behind a cell's number.
fn sample(cell: &Measurement) -> Option<Sample> {
    let values = cell.values().into_iter();
    Sample::of(&values.map(f64::ln).filter(|level| level.is_finite()).collect::<Vec<_>>())
}

/// A cell with the means of results as its trials.
fn of_days(days: &[&Measurement]) -> Measurement {
    let mut trials = Vec::new();
    for (replicate, cell) in (1..).zip(days) {
        let value = sample(cell).map(|sample| sample.mean.exp());
        trials.push(TrialValue::bare(replicate, None, value, Status::Ok));
    }
    cells::cell(Series::again(days[0], days, trials))
}

/// Joins the trials of a few results; replicate numbers continue.
fn together(few: &[&Measurement]) -> Measurement {
    let mut trials: Vec<TrialValue> = Vec::new();
    for cell in few {
        let before = trials.iter().map(|trial| trial.replicate).max().unwrap_or_default();
        trials.extend(cell.trials.iter().map(|trial| {
            let repeats = trial.repeats.map(|mut of| {
                of.replicate += before;
                of
            });
            let replicate = if trial.replicate == 0 { 0 } else { before + trial.replicate };
            TrialValue { replicate, order: None, repeats, ..trial.clone() }
        }));
    }
    cells::cell(Series::again(few[0], few, trials))
}

/// A published percentage against the published numbers: those of the platform with 100% are the base.
fn printed_percent(
    spots: &[PlatformResults],
    spot: &PlatformResults,
    key: &Key,
) -> Option<Printed> {
    let percent = |spot: &PlatformResults| {
        let mut cells = spot.results.iter().flat_map(|one| &one.measurements);
        let cell = cells.find(|cell| cell.workload == key.0 && cell.metric == PUBLISHED_PERCENT)?;
        cell.median
    };
    let number = |spot: &PlatformResults| {
        own(spot, key).and_then(|own| Some((own.cell.better, centre(&own)?)))
    };
    let whole = spots.iter().find(|spot| percent(spot) == Some(100.0))?;
    let (told, (_, base), (better, value)) = (percent(spot)?, number(whole)?, number(spot)?);
    let computed = self::percent(better, value / base);
    let follows = printed::says(told, printed::decimals(told), computed);
    Some(Printed { percent: told, computed, follows })
}
