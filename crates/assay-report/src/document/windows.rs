//! Compared results with one value per row, as of `assay watch`: one table of all metrics, the largest change first.

use super::classes::LEGEND;
use super::numbers::{self, under_heading};
use super::study::StudyPage;
use super::{Cell, Column, Detail, Measurement, Row, Section, SectionRole, Table};
use assay_analysis::inference::RESULT;
use assay_core::quantity::metric::class;
use assay_study::findings::{Comparison, WINDOWS};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_workloads::metrics::noun;

/// Longest name of a result as a column heading.
const SHORT: usize = 14;
const CI: &str = "95% CI";
/// Rows of a page that are not folded.
const OPEN: usize = 36;

/// The changes between compared results; a page folds the smaller ones. `None` unless all values are single.
pub(super) fn sections(page: &StudyPage<'_>) -> Option<Vec<Section>> {
    let findings = page.findings;
    let first = page.primary().next()?;
    let is_single = |it: &Comparison| it.n < 2 || class(&it.metric).is_some();
    if findings.study.kind != "compare" || !page.primary().all(is_single) {
        return None;
    }
    let is_listed = |one: &&Comparison| one.primary || class(&one.metric).is_some();
    let compared: Vec<&Comparison> = findings.comparisons.iter().filter(is_listed).collect();
    let names = [result_name(&first.baseline), result_name(&first.configuration)];
    let has_several = compared.iter().any(|it| result_name(&it.configuration) != names[1]);
    let is_short = names.iter().all(|name| name.chars().count() <= SHORT);
    let [earlier, later] = if is_short && !has_several { names } else { ["earlier", "later"] };
    let mut table = Table::new("changes");
    table.columns = ["workload", "metric", RESULT].map(Column::left).to_vec();
    table.columns.extend([earlier, later, "ratio", CI, "n"].map(Column::right));
    table.rows = change_rows(page, names);
    // Only several later results need names, and single values have no interval.
    let has_intervals = compared.iter().any(|it| it.ci95.is_some());
    table.retain(|_, it| (it.title != RESULT || has_several) && (it.title != CI || has_intervals));
    let unfolded = if page.detail == Detail::Page { OPEN } else { usize::MAX };
    let mut folded = Table::new("smaller changes");
    folded.columns.clone_from(&table.columns);
    folded.rows = table.rows.split_off(unfolded.min(table.rows.len()));
    if let Some(windows) = findings.exhibits.iter().find(|it| it.topic == WINDOWS) {
        table.notes.extend(windows.notes.iter().cloned());
        table.notes.push(LEGEND.to_owned());
    }
    table.notes.push(format!(
        "Ratios are relative to {}. \"-\": no value, for example too few requests.",
        names[0]
    ));
    let mut sections = vec![Section::from(table).with_role(SectionRole::Of("classes"))];
    if !folded.rows.is_empty() {
        sections.push(Section::from(folded).with_role(SectionRole::Closer));
    }
    Some(sections)
}

/// The rows of both results, the largest change first; values that only one result has are the last rows.
fn change_rows(page: &StudyPage<'_>, names: [&str; 2]) -> Vec<Row> {
    let (findings, compared) = (page.findings, &page.findings.comparisons);
    let mut rows: Vec<(f64, Row)> = compared.iter().map(|it| sized_row(page, it)).collect();
    // Only one of the results has this number.
    let is_alone = |cell: &&Measurement| {
        !compared.iter().any(|it| it.workload == cell.workload && it.metric == cell.metric)
    };
    for cell in findings.measurements.iter().filter(is_alone) {
        let result = result_name(&cell.configuration);
        let values = names.map(|name| cell.value().filter(|_| name == result));
        let texts = [None, None, Some(cell.n.to_string())];
        let row = row(&cell.workload, &cell.metric, &cell.configuration, values, texts);
        rows.push((WITHOUT_RATIO, row));
    }
    rows.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Sorts rows without a ratio below all changes, whose sizes are not negative.
const WITHOUT_RATIO: f64 = -1.0;

/// The size of a change, as the logarithm of its ratio, and its row.
fn sized_row(page: &StudyPage<'_>, comparison: &Comparison) -> (f64, Row) {
    let [configured, base] = comparison.means.map_or([None; 2], |means| means.map(Some));
    let value = |arm: &Arm, mean: Option<f64>| {
        let cell = page.findings.cell(&comparison.workload, arm, &comparison.metric);
        cell.and_then(Measurement::value).or(mean)
    };
    let values = [value(&comparison.baseline, base), value(&comparison.configuration, configured)];
    let texts =
        [numbers::ratio(comparison), numbers::interval(comparison), comparison.n.to_string()]
            .map(Some);
    let size = comparison.ratio.map_or(WITHOUT_RATIO, |ratio| ratio.ln().abs());
    (size, row(&comparison.workload, &comparison.metric, &comparison.configuration, values, texts))
}

/// A row with the values of both results, and the texts of ratio, interval and count.
fn row(
    workload: &str,
    metric: &str,
    arm: &Arm,
    values: [Option<f64>; 2],
    texts: [Option<String>; 3],
) -> Row {
    let mut levels = arm.clone();
    let result = levels.remove(RESULT).unwrap_or_default();
    let subject = format!("{workload} {}", arm_in_words(levels.iter())).trim().to_owned();
    let quantity = match class(metric) {
        // The name of a class of requests already contains the subject of the statistic.
        Some((_, statistic)) => format!("{statistic:?}").to_lowercase(),
        None => noun(metric).to_owned(),
    };
    let values = values.map(|value| value.map(|value| under_heading(metric, value)));
    let name = format!("{subject}, {quantity}, {result}");
    let cells = [subject, quantity, result].into_iter().map(Cell::from);
    Row { name, ..Row::new(cells.chain(values.into_iter().chain(texts).map(Cell::from))) }
}

fn result_name(arm: &Arm) -> &str {
    arm.get(RESULT).map_or("", String::as_str)
}
