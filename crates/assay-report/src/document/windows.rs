//! Two windows of others' work: what each was, and the classes of requests before and after.

use super::{Block, Cell, Measured, NONE, Role, Row, Section, Table, find};
use crate::table::{Column, columns};
use assay_base::quantity::metric::{Statistic, class, of_requests};
use assay_base::quantity::units::show;
use assay_study::findings::Findings;
use assay_study::findings::windows::Window;
use assay_study::results::plan::Arm;

/// The section; none where no windows are compared.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let windows = findings.windows.as_ref()?;
    let sides = [("before", &windows.before), ("after", &windows.after)];
    let rows = classes(findings).into_iter().flat_map(|(workload, class, arm)| {
        sides.map(|(side, window)| row(findings, (workload, class, arm), (side, window)))
    });
    let mut titles = vec![Column::left("class").key(), Column::left("window").key()];
    titles.extend(columns(&[">per second", ">mean", ">p50", ">p90", ">p99"]));
    let table = Table { columns: titles, rows: rows.collect() };
    let told = sides.map(|(side, window)| told(side, window));
    let pressure = format!("CPU pressure: {}.", windows.pressure);
    let told = told.into_iter().chain([pressure]).collect();
    let blocks = vec![Block::Table(table), Block::Text(told)];
    Some(Section::titled("before and after", blocks).with_role(Role::Of("classes")))
}

/// Each class that either window has, with an arm that has it.
fn classes(findings: &Findings) -> Vec<(&str, &'static str, &Arm)> {
    let mut known: Vec<(&str, &'static str, &Arm)> = Vec::new();
    for cell in &findings.measurements {
        let Some((class, _)) = class(&cell.metric) else { continue };
        if known.iter().all(|(workload, ..)| *workload != cell.workload) {
            known.push((&cell.workload, class, &cell.configuration));
        }
    }
    known
}

fn row(
    findings: &Findings,
    (workload, class, arm): (&str, &'static str, &Arm),
    (side, window): (&str, &Window),
) -> Row {
    let mut arm = arm.clone();
    arm.insert(assay_verdict::analysis::RESULT.to_owned(), window.result.clone());
    let of = |what: Statistic| {
        let metric = of_requests(class, what)?;
        find(findings, workload, &arm, false, metric.name).and_then(Measured::value)
    };
    let none = || NONE.to_owned();
    let time = |what| of(what).map_or_else(none, show::duration);
    let times = [Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P99].map(time);
    let rate = of(Statistic::Rate).map_or_else(none, show::per_second);
    let words = [workload.to_owned(), side.to_owned(), rate].into_iter().chain(times);
    Row {
        name: format!("{workload}, {side}"),
        cells: words.map(Cell::from).collect(),
        notes: Vec::new(),
    }
}

fn told(side: &str, window: &Window) -> String {
    let length = show::duration(window.seconds * 1e9);
    let started = window.started.replace('T', " ").chars().take(19).collect::<String>();
    format!("{side}: {:?} ({}), {length} starting at {started}.", window.title, window.result)
}
