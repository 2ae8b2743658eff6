//! Metric values with their units, and comparisons as cells.

use super::{Cell, NONE, Tone};
use assay_core::{exhibit::Unit, quantity::units::show};
pub(crate) use assay_study::findings::shown::{heading, unit_of};
use assay_study::findings::{Comparison, Kind, Verdict};

/// A value without the unit that its column heading has.
pub(crate) fn under_heading(metric: &str, value: f64) -> String {
    Unit::of_metric(metric).text(value)
}

pub(crate) fn value(metric: &str, value: f64) -> String {
    unit_of(metric).alone(value)
}

/// Arm divided by baseline, or arm minus baseline for metrics without a ratio.
pub(super) fn ratio(comparison: &Comparison) -> String {
    match &comparison.difference {
        Some(difference) => signed(&comparison.metric, difference.value),
        None if comparison.cannot_tell() => "unknown".to_owned(),
        None => {
            let [ratio, _] = ratio_texts(comparison);
            ratio
        }
    }
}

/// The 95% CI of [`ratio`], simultaneous if known: `0.55 to 0.68`.
pub(super) fn interval(comparison: &Comparison) -> String {
    let Some(difference) = &comparison.difference else {
        let [_, interval] = ratio_texts(comparison);
        return interval;
    };
    match difference.ci95_simultaneous.or(difference.ci95) {
        Some(ends) => ends.map(|end| signed(&comparison.metric, end)).join(" to "),
        None => NONE.to_owned(),
    }
}

fn ratio_texts(comparison: &Comparison) -> [String; 2] {
    ratio_and_interval(comparison.ratio, comparison.ci95_simultaneous.or(comparison.ci95))
}

/// `1.042` and `1.029 to 1.055`: with the decimals that the interval supports.
pub(crate) fn ratio_and_interval(ratio: Option<f64>, ends: Option<[f64; 2]>) -> [String; 2] {
    match ratio {
        None => [NONE, NONE].map(str::to_owned),
        Some(ratio) => Unit::Ratio.with_interval(ratio, ends),
    }
}

pub(crate) fn signed(metric: &str, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", under_heading(metric, value.abs()))
}

/// The verdict of a comparison. Unpaired numbers, such as those of different days, only suggest a direction.
pub(crate) fn verdict_cell(comparison: &Comparison, without_verdicts: bool) -> Cell {
    let (word, tone) = verdict_word(comparison.verdict);
    if without_verdicts && comparison.verdict.is_some() {
        return "no verdict".into();
    }
    let has_direction = matches!(comparison.verdict, Some(Verdict::Better | Verdict::Worse));
    if has_direction && comparison.kind != Kind::Paired {
        return Cell::toned(format!("suggests {word}"), tone);
    }
    match undercut_margin(comparison) {
        Some(margin) => Cell::toned(format!("{word}, {}", below(margin)), tone),
        None => Cell::toned(word, tone),
    }
}

pub(crate) fn verdict_word(verdict: Option<Verdict>) -> (&'static str, Tone) {
    match verdict {
        Some(Verdict::Better) => ("better", Tone::Good),
        Some(Verdict::Worse) => ("worse", Tone::Bad),
        Some(Verdict::Equivalent) => ("equivalent", Tone::Plain),
        Some(Verdict::Inconclusive) => ("inconclusive", Tone::Plain),
        None => ("no verdict", Tone::Plain),
    }
}

/// `<5%`.
pub(super) fn below(margin: f64) -> String {
    format!("<{}", show::share(margin))
}

/// The margin of a comparison that is significant but smaller than the margin.
pub(super) fn undercut_margin(comparison: &Comparison) -> Option<f64> {
    comparison.margin.filter(|_| comparison.within_margin)
}

pub(super) fn p_value(value: f64) -> String {
    if value < 0.0001 { "<0.0001".to_owned() } else { format!("{value:.4}") }
}

/// The two ends as values of a metric: `73.8 to 80.9 ms`.
pub(super) fn span(metric: &str, ends: Option<[f64; 2]>) -> Option<String> {
    let [low, high] = ends?.map(|end| under_heading(metric, end));
    // A common unit is printed once.
    let low = match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, high_unit))) if unit == high_unit => number,
        _ => &low,
    };
    Some(format!("{low} to {high}"))
}
