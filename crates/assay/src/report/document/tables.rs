//! The tables: workloads of one target, and targets against the first.

use super::{Row, Section, trust_word};
use crate::quantity::units::show;
use crate::report::table::columns;
use crate::results::findings::{Cell, Comparison, Findings};
use crate::results::plan::Arm;

/// What stands for a number that is not there.
const NONE: &str = "-";

/// Rows of one arm, absent ones last.
pub(super) fn workloads(
    findings: &Findings,
    arm: &Arm,
    caption: Option<String>,
    facts: Vec<(String, String)>,
) -> Section {
    let measured = findings
        .workloads
        .iter()
        .filter(|workload| workload.arm == *arm)
        .filter_map(|workload| measured(findings, &workload.name, arm));
    let absent = findings.absent.iter().filter(|entry| entry.metric.is_none() && entry.arm == *arm);
    let absent = absent.map(|entry| Row {
        cells: vec![entry.workload.clone()],
        trust: None,
        notes: vec![format!("absent: {}", entry.reason)],
    });
    Section {
        caption,
        facts,
        columns: columns(&[
            "workload", ">rate", ">IOPS", ">p50", ">p99", ">p99.9", ">spread", "trust",
        ]),
        rows: measured.chain(absent).collect(),
    }
}

fn find<'a>(findings: &'a Findings, workload: &str, arm: &Arm, metric: &str) -> Option<&'a Cell> {
    findings
        .cells
        .iter()
        .find(|cell| cell.workload == workload && cell.metric == metric && cell.arm == *arm)
}

/// The row of a workload; none where nothing was measured.
fn measured(findings: &Findings, workload: &str, arm: &Arm) -> Option<Row> {
    let of = |metric: &str| find(findings, workload, arm, metric);
    let mean = |metric: &str, words: fn(f64) -> String| {
        of(metric).and_then(centre).map_or_else(|| NONE.to_owned(), words)
    };
    let iops = of("iops")?;
    let trust = iops.trust?;
    Some(Row {
        cells: vec![
            workload.to_owned(),
            mean("bandwidth_bytes_per_s", show::rate),
            mean("iops", show::per_second),
            mean("latency_p50_ns", show::duration),
            mean("latency_p99_ns", show::duration),
            mean("latency_p999_ns", show::duration),
            spread(iops),
            trust_word(trust).to_owned(),
        ],
        trust: Some(trust),
        notes: depth_note(findings, workload, arm).into_iter().collect(),
    })
}

/// The geometric mean; where a trial has a zero and there is none, the median.
fn centre(cell: &Cell) -> Option<f64> {
    cell.geometric_mean.or(cell.median)
}

/// Half of the range of the trials, in percent of their geometric mean.
fn spread(cell: &Cell) -> String {
    match (cell.min, cell.max, cell.geometric_mean) {
        (Some(min), Some(max), Some(mean)) if cell.n > 1 => {
            format!("\u{b1}{}", show::percent(50.0 * (max - min) / mean).replace("under ", "<"))
        }
        _ => NONE.to_owned(),
    }
}

/// The depth that was used, where it is not the one that was asked for.
fn depth_note(findings: &Findings, workload: &str, arm: &Arm) -> Option<String> {
    let facts = findings.workloads.iter().find(|one| one.name == workload && one.arm == *arm)?;
    if facts.depth == facts.asked_depth {
        return None;
    }
    let plain = format!("depth {} of {}", facts.depth, facts.asked_depth);
    Some(match &facts.note {
        Some(note) if note.contains("depth") => note.clone(),
        Some(note) => format!("{plain}: {note}"),
        None => plain,
    })
}

/// How the numbers of the tables are to be read.
pub(super) fn legend(findings: &Findings, sections: &[Section]) -> Vec<String> {
    let counts = findings.cells.iter().map(|cell| cell.n).filter(|count| *count > 0);
    let Some(most) = counts.clone().max() else { return Vec::new() };
    let least = counts.min().unwrap_or(most);
    let trials = match (least, most) {
        (1, 1) => "Numbers of 1 trial".to_owned(),
        (least, most) if least == most => format!("Geometric means of {most} trials"),
        (least, most) => format!("Geometric means of {least} to {most} trials"),
    };
    let mut told = vec![format!(
        "{trials}; spread: half of their range; p50 to p99.9: service time of one operation."
    )];
    if !findings.comparisons.is_empty() {
        told.push(
            "Ratios are to the first target, paired by replicate, with their 95 % interval; no \
             verdicts."
                .to_owned(),
        );
    }
    let mut cells = sections.iter().flat_map(|section| &section.rows).flat_map(|row| &row.cells);
    if cells.any(|cell| cell == NONE) {
        told.push("\"-\": too few operations or trials to tell.".to_owned());
    }
    told
}

/// Targets against the first one; none where nothing is compared.
pub(super) fn comparison(findings: &Findings) -> Option<Section> {
    let mut rows: Vec<Row> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for found in &findings.comparisons {
        if !told.contains(&found.workload.as_str()) {
            told.push(&found.workload);
            rows.push(comparison_row(findings, found, &found.baseline, None));
        }
        rows.push(comparison_row(findings, found, &found.arm, Some(found)));
    }
    (!rows.is_empty()).then(|| Section {
        caption: Some("comparison".to_owned()),
        facts: Vec::new(),
        columns: columns(&["workload", "target", ">result", ">ratio", ">95 % interval", "trust"]),
        rows,
    })
}

fn comparison_row(
    findings: &Findings,
    found: &Comparison,
    arm: &Arm,
    against: Option<&Comparison>,
) -> Row {
    let cell = find(findings, &found.workload, arm, &found.metric);
    let value = cell.and_then(centre).map_or_else(
        || NONE.to_owned(),
        |value| match found.metric.as_str() {
            "iops" => format!("{} IOPS", show::per_second(value)),
            _ => show::rate(value),
        },
    );
    let (ratio, interval) = match against {
        None => ("1".to_owned(), String::new()),
        Some(found) => (
            found.ratio.map_or_else(|| NONE.to_owned(), show::times),
            found.ci95.map_or_else(
                || NONE.to_owned(),
                |[low, high]| format!("{} to {}", show::times(low), show::times(high)),
            ),
        ),
    };
    let trust = cell.and_then(|cell| cell.trust);
    let notes = against.map_or(&[][..], |found| &found.notes);
    Row {
        cells: vec![
            found.workload.clone(),
            arm.get("target").cloned().unwrap_or_default(),
            value,
            ratio,
            interval,
            trust.map_or(NONE, trust_word).to_owned(),
        ],
        trust,
        // The rest is said by the trust words and by the legend.
        notes: notes.iter().filter(|note| note.contains("in flight")).cloned().collect(),
    }
}
