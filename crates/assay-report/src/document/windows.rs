//! Results of `assay watch`, or with one value per row: one table of all classes or primary metrics, the largest change
//! first.

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
const OPEN: usize = 36;

/// The table, whose smaller changes a page folds; `None` if the workloads have separate tables.
pub(super) fn sections(page: &StudyPage<'_>) -> Option<Vec<Section>> {
    let findings = page.findings;
    let is_listed = |one: &&Comparison| one.primary || class(&one.metric).is_some();
    let compared: Vec<&Comparison> = findings.comparisons.iter().filter(is_listed).collect();
    let first = page.primary().next()?;
    let is_told = |one: &Comparison| one.n < 2 || class(&one.metric).is_some();
    if findings.study.kind != "compare" || !page.primary().all(is_told) {
        return None;
    }
    let names = [name(&first.baseline), name(&first.configuration)];
    let several = compared.iter().any(|one| name(&one.configuration) != names[1]);
    let is_short = names.iter().all(|name| name.chars().count() <= SHORT);
    let [earlier, later] = if is_short && !several { names } else { ["earlier", "later"] };

    let mut rows: Vec<(f64, Row)> = compared.iter().map(|one| change(page, one)).collect();
    let is_alone = |cell: &&Measurement| {
        !compared.iter().any(|one| one.workload == cell.workload && one.metric == cell.metric)
    };
    rows.extend(findings.measurements.iter().filter(is_alone).map(|cell| {
        let values = names.map(|own| cell.value().filter(|_| own == name(&cell.configuration)));
        let texts = [None, None, Some(cell.n.to_string())];
        (-1.0, row(&cell.workload, &cell.metric, &cell.configuration, values, texts))
    }));
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut table = Table::new("changes");
    table.columns = ["workload", "metric", RESULT].map(Column::left).to_vec();
    table.columns.extend([earlier, later, "ratio", CI, "n"].map(Column::right));
    table.rows = rows.into_iter().map(|(_, row)| row).collect();
    // Only several later results need names, and single values have no interval.
    let has_intervals = compared.iter().any(|one| one.ci95.is_some());
    table.retain(|at, column| (at != 2 || several) && (column.title != CI || has_intervals));
    let open = if page.detail == Detail::Page { OPEN } else { usize::MAX };
    let smaller = table.rows.split_off(open.min(table.rows.len()));
    let columns = table.columns.clone();
    let title = "smaller changes".to_owned();
    let smaller = Table { title, columns, rows: smaller, ..Table::default() };
    if let Some(windows) = findings.exhibits.iter().find(|one| one.topic == WINDOWS) {
        table.notes.extend(windows.notes.iter().cloned());
        table.notes.push(LEGEND.to_owned());
    }
    table.notes.push(format!(
        "Ratios are relative to {}. \"-\": no value, for example too few requests.",
        names[0]
    ));
    let mut sections = vec![Section::from(table).with_role(SectionRole::Of("classes"))];
    if !smaller.rows.is_empty() {
        sections.push(Section::from(smaller).with_role(SectionRole::Closer));
    }
    Some(sections)
}

fn change(page: &StudyPage<'_>, one: &Comparison) -> (f64, Row) {
    let [own, base] = one.means.map_or([None; 2], |means| means.map(Some));
    let values = [(&one.baseline, base), (&one.configuration, own)].map(|(arm, mean)| {
        let cell = page.findings.cell(&one.workload, arm, &one.metric);
        cell.and_then(Measurement::value).or(mean)
    });
    let told = [numbers::ratio(one), numbers::interval(one), one.n.to_string()].map(Some);
    let size = one.ratio.map_or(-1.0, |ratio| ratio.ln().abs());
    (size, row(&one.workload, &one.metric, &one.configuration, values, told))
}

fn row(
    workload: &str,
    metric: &str,
    arm: &Arm,
    values: [Option<f64>; 2],
    told: [Option<String>; 3],
) -> Row {
    let mut levels = arm.clone();
    let result = levels.remove(RESULT).unwrap_or_default();
    let of = format!("{workload} {}", arm_in_words(levels.iter())).trim().to_owned();
    // The name of a class of requests already contains the subject of the statistic.
    let what = class(metric)
        .map_or_else(|| noun(metric).to_owned(), |(_, what)| format!("{what:?}").to_lowercase());
    let values = values.map(|own| own.map(|own| under_heading(metric, own)));
    let name = format!("{of}, {what}, {result}");
    let cells = [of, what, result].into_iter().map(Cell::from);
    Row { name, ..Row::new(cells.chain(values.into_iter().chain(told).map(Cell::from))) }
}

fn name(arm: &Arm) -> &str {
    arm.get(RESULT).map_or("", String::as_str)
}
