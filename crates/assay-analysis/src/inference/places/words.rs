//! Sentences on platforms. Each says what the numbers say and no more.

use assay_core::quantity::Better;
use assay_core::quantity::units::show::{self, percents};
use assay_study::findings::places::{PlaceRow, Placed};
use assay_study::findings::{Comparison, Measurement, Sentence, Verdict};
use assay_study::results::plan::{Arm, arm_in_words};

use super::super::verdicts::words::{count_words, counted};
use super::{rows, spots::Platform};
use crate::inference::with_levels;

pub(super) fn processors(count: Option<u32>) -> String {
    let words = count.map(|count| counted(count as usize, "processor"));
    words.unwrap_or_else(|| "CPUs not recorded".to_owned())
}

pub(super) fn memory(bytes: Option<u64>) -> String {
    let words = bytes.map(|bytes| format!("{} memory", show::bytes(bytes)));
    words.unwrap_or_else(|| "memory not recorded".to_owned())
}

/// Why a platform that ran a workload has no number for it.
pub(super) fn no_number(cell: &Measurement) -> String {
    let why = cell.trials.iter().find_map(|trial| trial.reason.as_ref());
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("none of {} is valid{why}", counted(cell.trials.len(), "trial"))
}

/// Why a platform that did not run a workload has no number for it.
pub(super) fn not_there(another: Option<&str>) -> String {
    match another {
        Some(metric) => format!("the metric on that platform is {metric}"),
        None => "the workload did not run on that platform".to_owned(),
    }
}

fn work_words(workload: &str, arm: &Arm) -> String {
    with_levels(workload, &arm_in_words(arm.iter()))
}

/// Arm over baseline in percent of the baseline's speed, with the CI of the verdict.
fn speed_percent(found: &Comparison) -> Option<(f64, Option<[f64; 2]>)> {
    let ends = found.ci95_simultaneous.or(found.ci95);
    let ends = ends.and_then(|ends| rows::percents(found.better, ends));
    Some((rows::percent(found.better, found.ratio?), ends))
}

fn loss_and_gain(better: Better, ratios: [f64; 2]) -> (String, String) {
    let [low, high] = match better {
        Better::Higher | Better::Unknown => ratios,
        Better::Lower => [1.0 / ratios[1], 1.0 / ratios[0]],
    };
    (show::percent(100.0 * (1.0 - low)), show::percent(100.0 * (high - 1.0)))
}

/// The sentence on a platform's speed relative to the baseline's; machines differ, so a verdict only suggests.
pub(super) fn speed_words(found: &Comparison, base: &Placed, place: &Placed, arm: &Arm) -> String {
    let (what, base, name) = (work_words(&found.workload, arm), &base.name, &place.name);
    let Some((percent, ends)) = speed_percent(found) else {
        return format!("{what}: no ratio between {name} and {base}.");
    };
    let [percent, low, high] = percents(percent, ends);
    let has = format!("{what}: {name} has {percent}% of the speed of {base}");
    if place.is_emulated() {
        let interval = ends.map_or_else(String::new, |_| format!(" (95% CI {low} to {high})"));
        return format!("{has}{interval}. No verdict, because {name} is emulated.");
    }
    if ends.is_none() {
        return format!(
            "{has}. Too few trials for a CI and a verdict; run at least 3 per platform."
        );
    }
    if let Some(ratios) = found.min_detectable_ratios {
        let (loss, gain) = loss_and_gain(found.better, ratios);
        return format!(
            "{has} (95% CI {low} to {high} including day-to-day variation). Inconclusive: fewer than three results per \
             side; smallest detectable loss {loss}, gain {gain} (power 80%)."
        );
    }
    let verdict = match found.verdict {
        Some(Verdict::Better) => format!("this suggests that {name} is faster"),
        Some(Verdict::Worse) => format!("this suggests that {name} is slower"),
        Some(Verdict::Equivalent) => {
            let margin = show::percent(100.0 * found.margin.unwrap_or_default());
            format!("this suggests equivalence within {margin}")
        }
        Some(Verdict::Inconclusive) => "the difference is inconclusive".to_owned(),
        None => "there is no verdict".to_owned(),
    };
    format!("{has} (95% CI {low} to {high}). Because the machines differ, {verdict}.")
}

/// Up to this number of comparisons, each has a sentence.
const MOST_SENTENCES: usize = 4;

/// Sentences on the findings: one per comparison if they are few, else one per platform.
pub(super) fn sentences(
    platforms: &[Platform],
    rows: &[PlaceRow],
    comparisons: &[Comparison],
) -> Vec<Sentence> {
    if comparisons.len() <= MOST_SENTENCES {
        let sentence = |found: &Comparison| Sentence::of_comparison(found, &*found.text);
        return comparisons.iter().map(sentence).collect();
    }
    let base = &platforms[0].placed.name;
    let compared: Vec<&PlaceRow> = rows.iter().filter(|row| row.comparison.is_some()).collect();
    let is_like_first = |row: &&PlaceRow| {
        row.workload == compared[0].workload && row.configuration == compared[0].configuration
    };
    if compared.iter().all(is_like_first) {
        return rank_platforms(base, rows, comparisons).into_iter().collect();
    }
    let places = platforms[1..].iter().map(|platform| &platform.placed);
    places.filter_map(|place| platform_sentence(base, place, rows, comparisons)).collect()
}

/// Whether a row was compared with a baseline, and both numbers are valid.
fn is_compared(row: &PlaceRow, rows: &[PlaceRow], base: &str) -> bool {
    let is_base = |one: &&PlaceRow| {
        one.platform == base
            && (&one.workload, &one.configuration) == (&row.workload, &row.configuration)
    };
    row.comparison.is_some()
        && row.is_sound()
        && rows.iter().find(is_base).is_some_and(PlaceRow::is_sound)
}

/// One workload on many platforms: from the fastest to the slowest. Emulated platforms are excluded.
fn rank_platforms(base: &str, rows: &[PlaceRow], comparisons: &[Comparison]) -> Option<Sentence> {
    let compared = |row: &&PlaceRow| !row.emulated && is_compared(row, rows, base);
    // If rows are equal, the first counts as the fastest: the sort is stable.
    let ranked = sort_by_percent(rows.iter().rev().filter(compared).collect());
    let (fastest, slowest) = (ranked.last()?, ranked.first()?);
    let workload = work_words(&fastest.workload, &fastest.configuration);
    let [most, least] = [fastest, slowest].map(|row| percent_words(row));
    let text = format!(
        "{workload}: relative to {base}, {} is fastest with {most}% of the speed and {} is slowest with {least}%; {}.",
        fastest.platform,
        slowest.platform,
        verdicts(&comparisons.iter().collect::<Vec<_>>())
    );
    Some(Sentence::finding("counts", text))
}

/// Sorts rows by percentage, the slowest first.
fn sort_by_percent(mut rows: Vec<&PlaceRow>) -> Vec<&PlaceRow> {
    let percent = |row: &PlaceRow| row.percent.unwrap_or_default();
    rows.sort_by(|one, other| percent(one).total_cmp(&percent(other)));
    rows
}

fn percent_words(row: &PlaceRow) -> String {
    let [percent, ..] = percents(row.percent.unwrap_or_default(), row.percent_interval());
    percent
}

/// One platform over all workloads: from the smallest to the largest loss.
fn platform_sentence(
    base: &str,
    place: &Placed,
    rows: &[PlaceRow],
    comparisons: &[Comparison],
) -> Option<Sentence> {
    let compared = |row: &&PlaceRow| row.platform == place.name && is_compared(row, rows, base);
    let ranked = sort_by_percent(rows.iter().filter(compared).collect());
    let speed = |row: &PlaceRow| {
        format!("{}% ({})", percent_words(row), work_words(&row.workload, &row.configuration))
    };
    let range = match ranked.as_slice() {
        [] => return None,
        [only] => speed(only),
        [slowest, .., fastest] => {
            format!("{} to {}", speed(slowest), speed(fastest))
        }
    };
    let end = if place.is_emulated() {
        "no verdict, because the platform is emulated".to_owned()
    } else {
        let ids: Vec<&String> = ranked.iter().filter_map(|row| row.comparison.as_ref()).collect();
        let compared = comparisons.iter().filter(|found| ids.contains(&&found.id));
        verdicts(&compared.collect::<Vec<_>>())
    };
    let text = format!("{} has {range} of the speed of {base}; {end}.", place.name);
    Some(Sentence::finding("counts", text))
}

/// `5 comparisons across machines (suggestive only): 4 slower, 1 inconclusive`.
fn verdicts(comparisons: &[&Comparison]) -> String {
    let has_too_few_results =
        |one: &&&Comparison| one.min_detectable_ratios.is_some() && one.verdict.is_some();
    let count = |wanted: Option<Verdict>| {
        let is_wanted = |one: &&&Comparison| one.verdict == wanted && !has_too_few_results(one);
        comparisons.iter().filter(is_wanted).count()
    };
    let total = comparisons.len();
    if count(None) == total {
        return "too few trials for CIs and verdicts".to_owned();
    }
    let counts = [
        (count(Some(Verdict::Worse)), "slower"),
        (count(Some(Verdict::Better)), "faster"),
        (count(Some(Verdict::Equivalent)), "equivalent"),
        (count(Some(Verdict::Inconclusive)), "inconclusive"),
        (comparisons.iter().filter(has_too_few_results).count(), "inconclusive (too few results)"),
        (count(None), "without a verdict"),
    ];
    format!("{total} comparisons across machines (suggestive only): {}", count_words(&counts))
}
