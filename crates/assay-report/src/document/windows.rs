//! Results of `assay watch`, or with one value per row: one table of all metrics, the biggest change first.

use super::classes::LEGEND;
use super::numbers::{self, under_heading};
use super::study::Page;
use super::{Block, Cell, Detail, Measured, NONE, Role, Row, Section, Table, find};
use crate::table::columns;
use assay_base::quantity::metric::class;
use assay_base::quantity::units::show;
use assay_kinds::work::metrics::noun;
use assay_study::findings::Comparison;
use assay_study::results::plan::{Arm, arm_in_words};
use assay_verdict::analysis::RESULT;

/// Letters up to which the name of a result heads a column.
const SHORT: usize = 14;
/// Rows that a page shows open.
const OPEN: usize = 36;

/// The table, of which a page folds the smaller changes; none where the workloads have tables of their own.
pub(super) fn sections(page: &Page<'_>) -> Option<Vec<Section>> {
    let (findings, compared) = (page.findings, &page.findings.comparisons);
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
    let is_alone = |cell: &&Measured| {
        !compared.iter().any(|one| one.workload == cell.workload && one.metric == cell.metric)
    };
    rows.extend(findings.measurements.iter().filter(is_alone).map(|cell| {
        let values = names.map(|own| cell.value().filter(|_| own == name(&cell.configuration)));
        let of = (&*cell.workload, &*cell.metric, &cell.configuration);
        (-1.0, row(of, values, [NONE.to_owned(), NONE.to_owned(), cell.n.to_string()]))
    }));
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let mut titles =
        columns(&["workload", "metric", RESULT, ">earlier", ">later", ">ratio", ">95% CI", ">n"]);
    (titles[3].title, titles[4].title) = (earlier.to_owned(), later.to_owned());
    // Only several later results need their names, and single values have no interval.
    for (at, is_shown) in [(6, compared.iter().any(|one| one.ci95.is_some())), (2, several)] {
        if !is_shown {
            titles.remove(at);
            for row in &mut rows {
                row.cells.remove(at);
            }
        }
    }
    let open = if page.detail == Detail::Page { rows.len().min(OPEN) } else { rows.len() };
    let smaller = rows.split_off(open);

    let mut told = Vec::new();
    if let Some(windows) = &findings.windows {
        for (name, one) in names.into_iter().zip([&windows.before, &windows.after]) {
            let (length, start) =
                (show::duration(one.seconds * 1e9), one.started.replace('T', " "));
            told.push(format!("{name}: {}, {length} starting at {start}.", one.result));
        }
        told.extend([format!("CPU pressure: {}.", windows.pressure), LEGEND.to_owned()]);
    }
    told.push(format!(
        "Ratios are relative to {}. \"-\": no value, for example too few requests.",
        names[0]
    ));
    let table = |rows| Block::Table(Table { columns: titles.clone(), rows });
    let first = Section::titled("changes", vec![table(rows), Block::Text(told)]);
    let mut sections = vec![first.with_role(Role::Of("classes"))];
    if !smaller.is_empty() {
        let more = Section::titled("smaller changes", vec![table(smaller)]);
        sections.push(more.with_role(Role::Closer));
    }
    Some(sections)
}

/// A row with how much it changed either way.
fn change(page: &Page<'_>, one: &Comparison) -> (f64, Row) {
    let [own, base] = one.means.map_or([None; 2], |means| means.map(Some));
    let values = [(&one.baseline, base), (&one.configuration, own)].map(|(arm, mean)| {
        let cell = find(page.findings, &one.workload, arm, false, &one.metric);
        cell.and_then(Measured::value).or(mean)
    });
    let told = [numbers::ratio(one), numbers::interval(one), one.n.to_string()];
    let size = one.ratio.map_or(-1.0, |ratio| ratio.ln().abs());
    (size, row((&one.workload, &one.metric, &one.configuration), values, told))
}

fn row(
    (workload, metric, arm): (&str, &str, &Arm),
    values: [Option<f64>; 2],
    told: [String; 3],
) -> Row {
    let mut levels = arm.clone();
    let result = levels.remove(RESULT).unwrap_or_default();
    let of = format!("{workload} {}", arm_in_words(levels.iter())).trim().to_owned();
    // Of a class of requests its name says what the statistic is of.
    let what = class(metric)
        .map_or_else(|| noun(metric).to_owned(), |(_, what)| format!("{what:?}").to_lowercase());
    let values =
        values.map(|own| own.map_or_else(|| NONE.to_owned(), |own| under_heading(metric, own)));
    let name = format!("{of}, {what}, {result}");
    let cells = [of, what, result].into_iter().chain(values).chain(told).map(Cell::from).collect();
    Row { name, cells, notes: Vec::new() }
}

/// What a result is called.
fn name(arm: &Arm) -> &str {
    arm.get(RESULT).map_or("", String::as_str)
}
