//! Sentences on factors of a grid, and on trends.

use assay_core::quantity::units::show::share as percent;
use assay_core::quantity::{Better, level_number};
use assay_study::findings::{Effect, Interaction, Needed, Shape, Trend, Verdict};
use assay_study::results::course::RATE;
use assay_study::results::design::{Design, Factor};
use assay_study::results::plan::{arm_in_words, level_words};
use assay_workloads::metrics::noun;

use super::with_interval;
use crate::{import::words::listed, inference::distinct};

/// The best level of a factor by its main effects, and the factors on which it depends; `None` without effects.
pub(crate) fn factor(
    design: &Design,
    name: &str,
    effects: &[&Effect],
    interactions: &[Interaction],
) -> Option<String> {
    let base = level_words(name, &effects.first()?.baseline);
    let levels = distinct(effects.iter().map(|effect| effect.level.as_str()));
    let workloads = distinct(effects.iter().map(|effect| &effect.workload)).len();
    let count = |level: &str, verdict: Verdict| {
        effects.iter().filter(|one| one.level == level && one.verdict == Some(verdict)).count()
    };
    let names = |levels: &[&str]| listed(levels.iter().map(|level| level_words(name, level)));
    let mut clauses: Vec<String> = Vec::new();
    for (verdict, word) in VERDICTS {
        // The levels with this verdict in most workloads first.
        for wanted_count in (1..=workloads).rev() {
            let mut with_count = levels.clone();
            with_count.retain(|level| count(level, verdict) == wanted_count);
            if !with_count.is_empty() {
                let verb = if with_count.len() == 1 { "is" } else { "are" };
                let scope = of_workloads(wanted_count, workloads);
                clauses.push(format!("{} {verb} {word} {base}{scope}", names(&with_count)));
            }
        }
    }
    let mut open = levels.clone();
    open.retain(|level| VERDICTS.iter().all(|(verdict, _)| count(level, *verdict) == 0));
    let is_any_better = effects.iter().any(|one| one.verdict == Some(Verdict::Better));
    let is_conclusive = !clauses.is_empty();
    if is_conclusive && !is_any_better {
        clauses.insert(0, format!("no other level is significantly better than {base}"));
    }
    if !open.is_empty() {
        let several = format!(" in any of {workloads} workloads");
        let scope = if workloads == 1 { "" } else { &several };
        let open_names = names(&open);
        clauses.push(format!("no significant difference between {open_names} and {base}{scope}"));
        let open_effects = effects.iter().filter(|one| open.contains(&&*one.level));
        clauses.push(what_would_decide(design, open_effects));
    }
    clauses.extend(depends_on(name, workloads, interactions));
    let mut others: Vec<&str> = design.varied().map(|factor| factor.name.as_str()).collect();
    others.retain(|other| *other != name);
    let (others, clauses) = (listed(others), clauses.join("; "));
    Some(if is_conclusive {
        format!("{name}, averaged over {others}: {clauses}.")
    } else {
        format!("{name}: best level inconclusive; averaged over {others}, {clauses}.")
    })
}

/// Verdicts on a level, with their words.
const VERDICTS: [(Verdict, &str); 3] = [
    (Verdict::Better, "better than"),
    (Verdict::Worse, "worse than"),
    (Verdict::Equivalent, "equivalent to"),
];

/// The share of workloads to which something applies; empty if there is only one.
fn of_workloads(shown: usize, workloads: usize) -> String {
    if workloads == 1 { String::new() } else { format!(" in {shown} of {workloads} workloads") }
}

/// Names the factors that interact with one: its average may not apply at each of their levels.
fn depends_on(name: &str, workloads: usize, interactions: &[Interaction]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for interaction in interactions {
        let other = match &interaction.factors {
            [first, second] if first == name => second.as_str(),
            [first, second] if second == name => first.as_str(),
            _ => continue,
        };
        match counts.iter_mut().find(|(known, _)| *known == other) {
            Some((_, count)) => *count += 1,
            None => counts.push((other, 1)),
        }
    }
    let clause =
        |(other, count): &(&str, usize)| format!("on {other}{}", of_workloads(*count, workloads));
    let clauses: Vec<String> = counts.iter().map(clause).collect();
    (!clauses.is_empty()).then(|| format!("the effect of {name} depends {}", listed(&clauses)))
}

/// What would decide between levels without a significant difference.
fn what_would_decide<'a>(design: &Design, open: impl Iterator<Item = &'a &'a Effect>) -> String {
    let counts = open.filter_map(|effect| effect.replicates_needed);
    let needed = Needed::from_counts(counts, design.margin.unwrap_or_default());
    needed.map_or_else(|| "less variation between trials would decide".to_owned(), Needed::words)
}

pub(crate) fn trend(trend: &Trend, better: Better, factor: &Factor) -> String {
    let name = |level: f64| level_name(factor, level);
    let arm = arm_in_words(trend.configuration.iter());
    let place = if arm.is_empty() { arm } else { format!(" ({arm})") };
    let best = match better {
        Better::Higher | Better::Unknown => "highest",
        Better::Lower => "lowest",
    };
    let (what, factor) = (noun(&trend.metric), &trend.factor);
    let range = range_words(trend.peak_range, &name);
    let peak = name(trend.peak);
    let shape = shape_words(trend, &name);
    let next = match factor.as_str() {
        RATE => " Next: `assay run max-rate` finds the highest rate below a latency limit.",
        _ => "",
    };
    format!("{}{place}: {best} {what} at {factor} {peak}{range}; {shape}.{next}", trend.workload)
}

fn level_name(factor: &Factor, level: f64) -> String {
    let named = |text: &&String| level_number(text) == Some(level);
    factor.levels.iter().find(named).cloned().unwrap_or_else(|| level.to_string())
}

/// A range of levels; empty if it is a single one.
fn range_words(ends: [f64; 2], name: &impl Fn(f64) -> String) -> String {
    let [from, to] = ends;
    let words = |from, to| format!(" (95% confidence: {} to {})", name(from), name(to));
    if from == to { String::new() } else { words(from, to) }
}

fn shape_words(trend: &Trend, name: &impl Fn(f64) -> String) -> String {
    let (what, factor) = (noun(&trend.metric), &trend.factor);
    let margin = percent(trend.margin.unwrap_or_default());
    match (trend.shape, trend.slope, trend.knee) {
        (Shape::Linear, Some(slope), _) => {
            let ends = trend.ci95.map(|ends| ends.map(f64::exp2));
            let [times, basis] = with_interval(slope.exp2(), ends, trend.n);
            format!("on average, doubling {factor} multiplies {what} by {times} ({basis})")
        }
        (Shape::Saturates | Shape::FlatUpTo, _, Some(knee)) => {
            let range = range_words(trend.knee_range.unwrap_or([knee; 2]), name);
            let direction = if trend.shape == Shape::Saturates { "from" } else { "up to" };
            format!("within {margin} of that value {direction} {}{range}", name(knee))
        }
        _ => match trend.near {
            Some([from, to]) if from < to => {
                format!("within {margin} of that value from {} to {}", name(from), name(to))
            }
            _ => format!("no adjacent level is within {margin} of that value"),
        },
    }
}
