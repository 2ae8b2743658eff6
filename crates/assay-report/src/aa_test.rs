//! The result of an A/A test as text.

use super::layout::{text_of, wrap};
use super::table::{columns, table};
use assay_analysis::inference::AaTest;
use assay_core::quantity::units::show;
use assay_workloads::metrics::noun;

pub fn render(test: &AaTest, width: usize) -> String {
    let width = width.clamp(20, 80);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in &test.workloads {
        rows.push(vec![
            row.workload.clone(),
            noun(&row.metric).to_owned(),
            format!("{} of {}", row.false_positives, row.pairs),
            show::share(row.largest_ratio - 1.0),
            show::share(row.sd),
            row.min_detectable.map_or_else(|| "-".to_owned(), show::share),
        ]);
    }
    let head =
        columns(&["workload", "metric", ">significant", ">largest", ">SD", ">min detectable"]);
    let mut text = format!("assay aa-test  {}\n\n", test.id);
    text.push_str(&table(&head, &rows, width));
    text.push('\n');
    let mut lines = Vec::new();
    for sentence in sentences(test) {
        lines.extend(wrap(&sentence, "- ", 2, width));
    }
    text.push_str(&text_of(&lines));
    text
}

fn sentences(test: &AaTest) -> Vec<String> {
    let pairs: usize = test.workloads.iter().map(|row| row.pairs).sum();
    let significant: usize = test.workloads.iter().map(|row| row.false_positives).sum();
    // At the 5% level, chance alone makes one pair in 20 significant.
    let expected = show::three_digits(pairs as f64 / 20.0);
    let has_false = test.false_verdicts > 0;
    let reason = if has_false { ", by chance or because the machine is not quiet" } else { "" };
    let (copies, n) = test.workloads.first().map_or((0, 0), |row| (row.copies, row.n));
    let mut sentences = vec![
        format!(
            "{copies} identical configurations, {n} replicates: {significant} of {pairs} pairs differ significantly \
             at 5%; chance alone gives about {expected}."
        ),
        format!(
            "A study would have called {} of {} comparisons with the first copy better or worse{reason}.",
            test.false_verdicts, test.verdicts
        ),
        "Largest: the largest difference of two copies. SD: standard deviation of the differences \
         within a replicate. Min detectable: the smallest difference that one comparison detects \
         with 80% power."
            .to_owned(),
    ];
    let noteworthy = test.checks.iter().filter(|it| !["order", "time"].contains(&it.name.as_str()));
    sentences.extend(noteworthy.map(|check| check.text.clone()));
    sentences
}
