//! Sentences on trends.

use assay_core::quantity::units::show::share as percent;
use assay_core::quantity::{Better, level_number};
use assay_study::findings::{Shape, Trend};
use assay_study::results::course::RATE;
use assay_study::results::design::Factor;
use assay_study::results::plan::arm_in_words;
use assay_workloads::metrics::noun;

use super::with_interval;

pub(crate) fn trend(trend: &Trend, better: Better, factor: &Factor) -> String {
    let name = |level: f64| name(factor, level);
    let place = if trend.configuration.is_empty() {
        String::new()
    } else {
        format!(" ({})", arm_in_words(trend.configuration.iter()))
    };
    let best = match better {
        Better::Higher | Better::Unknown => "highest",
        Better::Lower => "lowest",
    };
    let (what, factor) = (noun(&trend.metric), &trend.factor);
    let range = range(trend.peak_range, &name);
    let peak = name(trend.peak);
    let how = how(trend, &name);
    let next = match factor.as_str() {
        RATE => " Next: `assay run max-rate` finds the highest rate below a latency limit.",
        _ => "",
    };
    format!("{}{place}: {best} {what} at {factor} {peak}{range}; {how}.{next}", trend.workload)
}

fn name(factor: &Factor, level: f64) -> String {
    let named = |text: &&String| level_number(text) == Some(level);
    factor.levels.iter().find(named).cloned().unwrap_or_else(|| level.to_string())
}

/// Levels between which something may lie; nothing where it is one.
fn range(ends: [f64; 2], name: &impl Fn(f64) -> String) -> String {
    let [from, to] = ends;
    if from == to {
        String::new()
    } else {
        format!(" (95% confidence: {} to {})", name(from), name(to))
    }
}

fn how(trend: &Trend, name: &impl Fn(f64) -> String) -> String {
    let (what, factor) = (noun(&trend.metric), &trend.factor);
    let margin = percent(trend.margin.unwrap_or_default());
    match (trend.shape, trend.slope, trend.knee) {
        (Shape::Linear, Some(slope), _) => {
            let ends = trend.ci95.map(|ends| ends.map(f64::exp2));
            let [times, basis] = with_interval(slope.exp2(), ends, trend.n);
            format!("on average, doubling {factor} multiplies {what} by {times} ({basis})")
        }
        (Shape::Saturates, _, Some(knee)) => {
            let range = range(trend.knee_range.unwrap_or([knee; 2]), name);
            format!("within {margin} of that value from {}{range}", name(knee))
        }
        (Shape::FlatUpTo, _, Some(knee)) => {
            let range = range(trend.knee_range.unwrap_or([knee; 2]), name);
            format!("within {margin} of that value up to {}{range}", name(knee))
        }
        _ => match trend.near {
            Some([from, to]) if from < to => {
                format!("within {margin} of that value from {} to {}", name(from), name(to))
            }
            _ => format!("no adjacent level is within {margin} of that value"),
        },
    }
}
