//! What identical arms showed, as text.

use super::layout::{text_of, wrap};
use super::table::{columns, table};
use assay_base::quantity::units::show;
use assay_kinds::work::metrics::noun;
use assay_verdict::analysis::Null;

/// The self-test as text.
pub fn render(null: &Null, width: usize) -> String {
    let width = width.clamp(20, 80);
    let rows: Vec<Vec<String>> = null
        .workloads
        .iter()
        .map(|one| {
            vec![
                one.workload.clone(),
                noun(&one.metric).to_owned(),
                format!("{} of {}", one.told_apart, one.pairs),
                show::share(one.largest_ratio - 1.0),
                show::share(one.spread),
                one.detects.map_or_else(|| "-".to_owned(), show::share),
            ]
        })
        .collect();
    let head = columns(&["workload", "metric", ">told apart", ">furthest", ">spread", ">detects"]);
    let mut text = format!("assay selftest --null  {}\n\n", null.id);
    text.push_str(&table(&head, &rows, width));
    text.push('\n');
    let mut lines = Vec::new();
    for sentence in sentences(null) {
        lines.extend(wrap(&sentence, "- ", 2, width));
    }
    text.push_str(&text_of(&lines));
    text
}

fn sentences(null: &Null) -> Vec<String> {
    let pairs: usize = null.workloads.iter().map(|one| one.pairs).sum();
    let apart: usize = null.workloads.iter().map(|one| one.told_apart).sum();
    let expected = show::three_digits(pairs as f64 / 20.0);
    let (arms, n) = null.workloads.first().map_or((0, 0), |one| (one.arms, one.n));
    let mut told = vec![
        format!(
            "{arms} identical settings, {n} replicates: a test at 5 % told {apart} of {pairs} pairs \
             apart; about {expected} are expected where nothing is wrong (pairs that share a setting \
             go together)."
        ),
        format!(
            "A study would have called {} of {} comparisons with the first copy better or worse{}.",
            null.false_verdicts,
            null.verdicts,
            if null.false_verdicts > 0 { ", which is false" } else { "" }
        ),
        "Furthest: the two copies that lie furthest apart. Spread: of differences within a \
         replicate. Detects: the smallest difference that so many replicates find in four of five \
         cases, one comparison alone."
            .to_owned(),
    ];
    let telling =
        null.checks.iter().filter(|check| !["order", "time"].contains(&check.name.as_str()));
    told.extend(telling.map(|check| check.text.clone()));
    told
}
