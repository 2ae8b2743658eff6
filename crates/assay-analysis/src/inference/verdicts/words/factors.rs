//! The sentence of a factor of a grid.

use assay_study::findings::{Effect, Interaction, Needed, Verdict};
use assay_study::results::design::Design;
use assay_study::results::plan::level_words;

use crate::import::words::listed;
use crate::inference::distinct;

/// Which level of a factor to take, by its main effects in all workloads, and on which other factors that
/// depends; nothing where it has no effects.
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

/// What a level may be shown to be, with its words.
const SHOWN: [(Verdict, &str); 3] = [
    (Verdict::Better, "better than"),
    (Verdict::Worse, "worse than"),
    (Verdict::Equivalent, "equivalent to"),
];

/// In how many workloads something is so; nothing where there is only one.
fn of_workloads(shown: usize, all: usize) -> String {
    if all == 1 { String::new() } else { format!(" in {shown} of {all} workloads") }
}

/// On which other factors the effect of one depends: what holds on average may not hold at each level of
/// those.
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

/// What would tell levels apart of which nothing is shown.
fn would_tell<'a>(design: &Design, open: impl Iterator<Item = &'a &'a Effect>) -> String {
    let counts = open.filter_map(|effect| effect.replicates_needed);
    let needed = Needed::of(counts, design.margin.unwrap_or_default());
    needed.map_or_else(|| "less variation between trials would decide".to_owned(), Needed::words)
}
