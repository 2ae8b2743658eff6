//! Two factors with many levels: a matrix of results, and the significant comparisons only.

use super::numbers::under_heading;
use super::study::StudyPage;
use super::study_tables::{ComparedCell, ComparisonRole, WorkloadRows, table};
use super::{Block, Column, Table, counted};
use assay_study::findings::{Comparison, Verdict};
use assay_study::results::plan::Arm;

/// Up to this number of arms, each has a row.
const MOST_ROWS: usize = 24;

pub(super) fn is_wide(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> bool {
    page.factors.len() == 2 && workload.arms.len() > MOST_ROWS
}

/// The matrix of results and all comparisons; without full detail, counts of verdicts and the significant ones.
pub(super) fn blocks(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Table(matrix(page, workload))];
    if page.full() {
        blocks.push(Block::Table(table(page, workload, |_| true)));
        return blocks;
    }
    let comparisons: Vec<_> = page.primary().filter(|it| it.workload == workload.name).collect();
    if comparisons.is_empty() {
        return blocks;
    }
    blocks.push(Block::Text(verdict_counts(page, &comparisons)));
    if comparisons.iter().any(|comparison| is_significant(comparison)) {
        blocks.push(Block::Table(table(page, workload, |line| match line.role {
            ComparisonRole::Compared(comparison) => is_significant(comparison),
            _ => false,
        })));
    }
    blocks
}

fn is_significant(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Some(Verdict::Better | Verdict::Worse))
}

/// Counts of verdicts, and where to find the other comparisons.
fn verdict_counts(page: &StudyPage<'_>, comparisons: &[&Comparison]) -> Vec<String> {
    let count_of = |verdict| comparisons.iter().filter(|it| it.verdict == verdict).count();
    let counts = counted([
        (count_of(Some(Verdict::Better)), "better"),
        (count_of(Some(Verdict::Worse)), "worse"),
        (count_of(Some(Verdict::Equivalent)), "equivalent"),
        (count_of(Some(Verdict::Inconclusive)), "inconclusive"),
        (count_of(None), "without a verdict"),
    ]);
    let significant = comparisons.iter().filter(|comparison| is_significant(comparison)).count();
    let listed = match significant {
        0 => "No difference is significant",
        count if count == comparisons.len() => "All differences are significant; see below",
        _ => "Significant differences are listed below",
    };
    let mut texts = vec![format!("Compared with the baseline: {counts}. {listed}.")];
    if significant < comparisons.len() {
        texts.push(format!("All comparisons: {}", page.more()));
    }
    texts
}

/// Results: the levels of the first factor as rows, of the second as columns.
fn matrix(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Table {
    let mut table = Table::default();
    let [down, across] = page.factors.as_slice() else { return table };
    table.add(Column::key(&down.name), &down.levels, |level| level);
    for (index, other) in across.levels.iter().enumerate() {
        let name = format!("{}={other}", across.name);
        // The first heading names the factor of the others.
        let title = if index == 0 { &name } else { other };
        let column = Column::right(title).breaks();
        table.add(Column { name, ..column }, &down.levels, |level| {
            let arm = Arm::from([
                (down.name.clone(), level.clone()),
                (across.name.clone(), other.clone()),
            ]);
            let is_of_arm =
                |it: &&ComparedCell<'_>| it.cell.configuration == arm && !it.cell.control;
            let value = workload.arms.iter().find(is_of_arm)?.result()?;
            Some(under_heading(workload.metric, value))
        });
    }
    for (row, level) in table.rows.iter_mut().zip(&down.levels) {
        row.name = format!("{}={level}", down.name);
    }
    table
}
