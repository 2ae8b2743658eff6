//! OpenMetrics, as a textfile collector takes it: means, intervals and counts as gauges.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_base::catalogue::About;
use assay_study::findings::{Cell, Findings};

use super::{Exporter, nothing};

pub const EXPORTER: Exporter = Exporter {
    about: About {
        name: "openmetrics",
        summary: "OpenMetrics text with means and CIs, for dashboards",
        text: "One gauge per metric, with gauges for the bounds of its 95% CI and the number of trials. A mean of \
               fewer than three trials has no CI.",
    },
    write,
    left_out: nothing,
};

fn write(findings: &Findings) -> Option<String> {
    let mut metrics: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
    for cell in findings.measurements.iter().filter(|cell| !cell.control && cell.value().is_some())
    {
        metrics.entry(name(&cell.metric)).or_default().push(cell);
    }
    if metrics.is_empty() {
        return None;
    }
    let mut text = String::new();
    for (metric, cells) in metrics {
        let bound = |at: usize| move |cell: &Cell| cell.ci95.map(|bounds| bounds[at]);
        family(&mut text, &metric, &cells, findings, Cell::value);
        family(&mut text, &format!("{metric}_ci95_low"), &cells, findings, bound(0));
        family(&mut text, &format!("{metric}_ci95_high"), &cells, findings, bound(1));
        family(&mut text, &format!("{metric}_trials"), &cells, findings, |cell| {
            Some(cell.n as f64)
        });
    }
    text.push_str("# EOF\n");
    Some(text)
}

fn family(
    text: &mut String,
    metric: &str,
    cells: &[&Cell],
    findings: &Findings,
    value: impl Fn(&Cell) -> Option<f64>,
) {
    let rows: Vec<(&Cell, f64)> =
        cells.iter().filter_map(|cell| Some((*cell, value(cell)?))).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "# TYPE assay_{metric} gauge");
    for (cell, value) in rows {
        let mut labels = vec![
            format!("study=\"{}\"", escaped(&findings.study.id)),
            format!("workload=\"{}\"", escaped(&cell.workload)),
        ];
        for (factor, level) in &cell.configuration {
            labels.push(format!("factor_{}=\"{}\"", name(factor), escaped(level)));
        }
        let _ = writeln!(text, "assay_{metric}{{{}}} {value}", labels.join(","));
    }
}

/// Letters, digits and underscores.
fn name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
