//! Sentences on factors of a grid, and on trends.

use assay_core::quantity::units::show::share as percent;
use assay_core::quantity::{Better, level_number};
use assay_study::findings::{Effect, Interaction, Needed, Shape, Trend, Verdict};
use assay_study::results::course::RATE;
use assay_study::results::design::{Design, Factor};
use assay_study::results::plan::{arm_in_words, level_words};
use assay_workloads::metrics::noun;

use super::with_interval;
use crate::import::words::listed;
use crate::inference::distinct;

/// The best level of a factor by its main effects, and the factors on which it depends; `None` without effects.
pub(crate) fn factor(
    design: &Design,
    name: &str,
    effects: &[&Effect],
    interactions: &[Interaction],
) -> Option<String> {
    let base = level_words(name, &effects.first()?.baseline);
    let levels = distinct(effects.iter().map(|effect| effect.level.as_str()));
    let all = distinct(effects.iter().map(|effect| &effect.workload)).len();
    let count = |level: &str, verdict: Verdict| {
        effects.iter().filter(|one| one.level == level && one.verdict == Some(verdict)).count()
    };
    let mut clauses: Vec<String> = Vec::new();
    for (verdict, word) in SHOWN {
        for shown in (1..=all).rev() {
            let own = levels.iter().filter(|level| count(level, verdict) == shown);
            let own: Vec<String> = own.map(|level| level_words(name, level)).collect();
            if !own.is_empty() {
                let verb = if own.len() == 1 { "is" } else { "are" };
                let of = of_workloads(shown, all);
                clauses.push(format!("{} {verb} {word} {base}{of}", listed(&own)));
            }
        }
    }
    let open = |level: &&&str| SHOWN.iter().all(|(verdict, _)| count(level, *verdict) == 0);
    let open: Vec<&str> = levels.iter().filter(open).copied().collect();
    let is_better = effects.iter().any(|one| one.verdict == Some(Verdict::Better));
    let is_told = !clauses.is_empty();
    if is_told && !is_better {
        clauses.insert(0, format!("no other level is significantly better than {base}"));
    }
    if !open.is_empty() {
        let own: Vec<String> = open.iter().map(|level| level_words(name, level)).collect();
        let of = if all == 1 { String::new() } else { format!(" in any of {all} workloads") };
        clauses.push(format!("no significant difference between {} and {base}{of}", listed(&own)));
        clauses.push(would_tell(design, effects.iter().filter(|one| open.contains(&&*one.level))));
    }
    clauses.extend(depends(name, all, interactions));
    let others: Vec<String> =
        design.varied().map(|own| own.name.clone()).filter(|own| own != name).collect();
    let (others, clauses) = (listed(&others), clauses.join("; "));
    Some(if is_told {
        format!("{name}, averaged over {others}: {clauses}.")
    } else {
        format!("{name}: best level inconclusive; averaged over {others}, {clauses}.")
    })
}

/// Verdicts on a level, with their words.
const SHOWN: [(Verdict, &str); 3] = [
    (Verdict::Better, "better than"),
    (Verdict::Worse, "worse than"),
    (Verdict::Equivalent, "equivalent to"),
];

/// The share of workloads to which something applies; empty if there is only one.
fn of_workloads(shown: usize, all: usize) -> String {
    if all == 1 { String::new() } else { format!(" in {shown} of {all} workloads") }
}

/// The factors that interact with one: its average may not apply at each of their levels.
fn depends(name: &str, all: usize, interactions: &[Interaction]) -> Option<String> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for one in interactions {
        let other = match &one.factors {
            [first, second] if first == name => second.as_str(),
            [first, second] if second == name => first.as_str(),
            _ => continue,
        };
        match found.iter_mut().find(|(known, _)| *known == other) {
            Some((_, shown)) => *shown += 1,
            None => found.push((other, 1)),
        }
    }
    let on = |(other, shown): &(&str, usize)| format!("on {other}{}", of_workloads(*shown, all));
    let on: Vec<String> = found.iter().map(on).collect();
    (!on.is_empty()).then(|| format!("the effect of {name} depends {}", listed(&on)))
}

/// What would decide between levels without a significant difference.
fn would_tell<'a>(design: &Design, open: impl Iterator<Item = &'a &'a Effect>) -> String {
    let counts = open.filter_map(|effect| effect.replicates_needed);
    let needed = Needed::from_counts(counts, design.margin.unwrap_or_default());
    needed.map_or_else(|| "less variation between trials would decide".to_owned(), Needed::words)
}

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

/// A range of levels; empty if it is a single one.
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
