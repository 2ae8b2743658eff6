//! Two factors with many levels: a matrix of results, and the significant comparisons only.

use super::numbers::under_heading;
use super::study::StudyPage;
use super::study_tables::{ComparedCell, ComparisonRole, WorkloadRows, table};
use super::{Block, Column, Table};
use assay_study::findings::{Comparison, Verdict};
use assay_study::results::plan::Arm;

/// Up to this number of arms, each has a row.
const MOST_ROWS: usize = 24;

pub(super) fn is_wide(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> bool {
    page.factors.len() == 2 && workload.arms.len() > MOST_ROWS
}

/// The matrix, counts of verdicts, and the significant comparisons; in full, all of them.
pub(super) fn blocks(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Table(matrix(page, workload))];
    let own: Vec<&Comparison> =
        page.primary().filter(|found| found.workload == workload.name).collect();
    let clear = |line: &ComparedCell<'_>| matches!(line.role, ComparisonRole::Compared(found) if is_clear(found));
    if page.full() {
        blocks.push(Block::Table(table(page, workload, |_| true)));
        return blocks;
    }
    if own.is_empty() {
        return blocks;
    }
    blocks.push(Block::Text(counted(page, &own)));
    if own.iter().any(|found| is_clear(found)) {
        blocks.push(Block::Table(table(page, workload, clear)));
    }
    blocks
}

fn is_clear(found: &Comparison) -> bool {
    matches!(found.verdict, Some(Verdict::Better | Verdict::Worse))
}

/// Counts of verdicts, and where to find the other comparisons.
fn counted(page: &StudyPage<'_>, own: &[&Comparison]) -> Vec<String> {
    let of = |verdict| own.iter().filter(|found| found.verdict == verdict).count();
    let counts = [
        (of(Some(Verdict::Better)), "better"),
        (of(Some(Verdict::Worse)), "worse"),
        (of(Some(Verdict::Equivalent)), "equivalent"),
        (of(Some(Verdict::Inconclusive)), "inconclusive"),
        (of(None), "without a verdict"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let clear = own.iter().filter(|found| is_clear(found)).count();
    let which = match clear {
        0 => "No difference is significant",
        count if count == own.len() => "All differences are significant; see below",
        _ => "Significant differences are listed below",
    };
    let counts = format!("Compared with the baseline: {}. {which}.", told.join(", "));
    let all = (clear < own.len()).then(|| format!("All comparisons: {}", page.more()));
    std::iter::once(counts).chain(all).collect()
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
            let own =
                |line: &&ComparedCell<'_>| line.cell.configuration == arm && !line.cell.control;
            let value = workload.arms.iter().find(own)?.result()?;
            Some(under_heading(workload.metric, value))
        });
    }
    for (row, level) in table.rows.iter_mut().zip(&down.levels) {
        row.name = format!("{}={level}", down.name);
    }
    table
}
