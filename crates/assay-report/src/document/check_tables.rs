//! The tables: workloads of one target, and targets against the first.

use super::{Cell, Detail, Measured, NONE, Row, Table, depth_note, find, spread};
use crate::table::{Column, columns};
use assay_base::quantity::played::{self, Class, Point, Told};
use assay_base::quantity::units::show;
use assay_study::findings::notes::Note;
use assay_study::findings::{Comparison, Findings};
use assay_study::results::plan::Arm;

/// Rows of one arm, those of its classes below a load that was played again, absent ones last.
pub(super) fn workloads(findings: &Findings, arm: &Arm, detail: Detail) -> Table {
    let own = findings.workloads.iter().filter(|workload| workload.configuration == *arm);
    let measured = own.flat_map(|workload| {
        let all = measured(findings, workload.name.clone(), arm, OF_ALL);
        let classes = played::CLASSES.iter().filter_map(|class| {
            let name = format!("{}, {}", workload.name, class.played);
            measured(findings, name, arm, class_names(class)?)
        });
        all.into_iter().chain(classes)
    });
    let absent = findings
        .absent
        .iter()
        .filter(|entry| entry.metric.is_none() && entry.configuration == *arm);
    let absent = absent.map(|entry| Row {
        name: entry.workload.clone(),
        cells: Vec::new(),
        notes: vec![format!("absent: {}", entry.reason)],
    });
    let mut columns = columns(&["workload", ">MB/s"]);
    columns.extend([Column::right("MiB/s").detail(), Column::right("IOPS")]);
    let details = ["p50", "p99", "p99.9", "spread"];
    columns.extend(details.map(|title| Column::right(title).detail()));
    columns.push(Column::left("trust").judged());
    let mut table = Table { columns, rows: measured.chain(absent).collect() };
    if detail == Detail::Usual {
        // A line of 80 columns has no room for it.
        table.columns.remove(EXTREME);
        table.rows.iter_mut().filter(|row| !row.cells.is_empty()).for_each(|row| {
            row.cells.remove(EXTREME);
        });
    }
    table
}

/// The column of the 99.9th percentile.
const EXTREME: usize = 6;

/// `random-read 4k q32`: what a workload is called, with its block size and queue depth.
fn label(findings: &Findings, name: &str, arm: &Arm) -> String {
    let facts = findings.workload(name, arm);
    let Some((facts, io)) = facts.and_then(|facts| Some((facts, facts.io?))) else {
        return name.to_owned();
    };
    if io.shaped {
        return name.to_owned();
    }
    let depth = format!("q{}", facts.requested_queue_depth);
    let stem = name.strip_suffix(&format!("-{depth}")).unwrap_or(name);
    format!("{stem} {} {depth}", show::block_size(io.size_bytes))
}

/// The metrics of the columns of a row: operations and bytes per second, quantiles of their times.
type Names = (&'static str, Option<&'static str>, [Option<&'static str>; 3]);

const OF_ALL: Names = (
    "iops",
    Some("bandwidth_bytes_per_s"),
    [Some("latency_p50_ns"), Some("latency_p99_ns"), Some("latency_p999_ns")],
);

/// Those of a class of a load that was played again; flushes have no bytes.
fn class_names(class: &Class) -> Option<Names> {
    let name = |told| Some(class.metric(told)?.name);
    let quantiles = [Point::P50, Point::P99, Point::P999];
    let quantiles = quantiles.map(|point| name(Told::Service(point)));
    Some((name(Told::Rate)?, name(Told::Bytes), quantiles))
}

/// The row of a workload or of a class of it; none where nothing was measured.
fn measured(
    findings: &Findings,
    name: String,
    arm: &Arm,
    (operations, bytes, quantiles): Names,
) -> Option<Row> {
    let of = |metric: &str| find(findings, &name, arm, false, metric);
    let mean = |metric: Option<&str>, words: fn(f64) -> String| {
        metric.and_then(of).and_then(Measured::value).map_or_else(|| NONE.to_owned(), words)
    };
    let iops = of(operations)?;
    iops.trust?;
    let rates = [
        mean(bytes, show::mb_per_s),
        mean(bytes, show::mib_per_s),
        mean(Some(operations), show::per_second),
    ];
    let times = quantiles.map(|metric| mean(metric, show::duration));
    let words =
        [label(findings, &name, arm)].into_iter().chain(rates).chain(times).chain([spread(iops)]);
    let cells = words.map(Cell::from).chain([Cell::trust_of(iops)]).collect();
    let notes = depth_note(findings, &name, arm).into_iter().collect();
    Some(Row { name, cells, notes })
}

/// How the numbers of the tables are to be read.
pub(super) fn legend<'a>(
    findings: &Findings,
    tables: impl Iterator<Item = &'a Table>,
) -> Vec<String> {
    let counts = findings.measurements.iter().map(|cell| cell.n).filter(|count| *count > 0);
    let Some(most) = counts.clone().max() else { return Vec::new() };
    let least = counts.min().unwrap_or(most);
    let trials = match (least, most) {
        (1, 1) => "Each number comes from 1 trial".to_owned(),
        (least, most) if least == most => format!("Numbers are geometric means of {most} trials"),
        (least, most) => format!("Numbers are geometric means of {least} to {most} trials"),
    };
    let spread = if findings.measurements.iter().any(|cell| cell.metric == OF_ALL.0) {
        "; spread is half the range of the trials; p50 to p99.9 are service times"
    } else {
        ""
    };
    let mut told = vec![format!("{trials}{spread}.")];
    if !findings.comparisons.is_empty() {
        told.push(
            "Ratios are relative to the first target, paired by replicate, with 95% CIs and no verdicts."
                .to_owned(),
        );
    }
    if !findings.comparisons.is_empty() && differ_in_encryption(findings) {
        told.push(
            "CPU s/GiB: CPU seconds of the whole machine per GiB, including encryption and other programs."
                .to_owned(),
        );
    }
    let mut cells = tables.flat_map(|table| &table.rows).flat_map(|row| &row.cells);
    if cells.any(|cell| cell.text == NONE) {
        told.push("\"-\" means too few operations or trials.".to_owned());
    }
    told
}

/// Targets against the first one; none where nothing is compared.
pub(super) fn targets_compared(findings: &Findings) -> Option<Table> {
    let mut rows: Vec<Row> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    let tells_processors = differ_in_encryption(findings);
    let row = |found: &Comparison, arm: &Arm, against: Option<&Comparison>| {
        let mut row = comparison_row(findings, found, arm, against);
        let at = row.cells.len().saturating_sub(1);
        row.cells.splice(at..at, tells_processors.then(|| processors(findings, found, arm)));
        row
    };
    for found in &findings.comparisons {
        if !told.contains(&found.workload.as_str()) {
            told.push(&found.workload);
            rows.push(row(found, &found.baseline, None));
        }
        rows.push(row(found, &found.configuration, Some(found)));
    }
    let mut columns = columns(&["workload", "target", ">result", ">ratio", ">95% CI"]);
    columns.extend(tells_processors.then(|| Column::right("CPU s/GiB")));
    columns.push(Column::left("trust").judged());
    (!rows.is_empty()).then_some(Table { columns, rows })
}

/// Whether what is compared is encrypted in different ways, or some of it not: processors pay for that.
fn differ_in_encryption(findings: &Findings) -> bool {
    let mut ways = findings.environment.targets.iter().map(|target| &target.encryption);
    ways.next().is_some_and(|first| ways.any(|other| other != first))
}

/// Seconds of the whole machine's processors per GiB: a program that encrypts is none of ours.
fn processors(findings: &Findings, found: &Comparison, arm: &Arm) -> Cell {
    let cell = find(findings, &found.workload, arm, false, "machine_cpu_s_per_gib");
    Cell::from(cell.and_then(Measured::value).map_or_else(|| NONE.to_owned(), show::three_digits))
}

fn comparison_row(
    findings: &Findings,
    found: &Comparison,
    arm: &Arm,
    against: Option<&Comparison>,
) -> Row {
    let cell = find(findings, &found.workload, arm, false, &found.metric);
    let value = cell.and_then(Measured::value).map_or_else(
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
    let trust = cell.map_or_else(|| Cell::trust(None), Cell::trust_of);
    let in_flight = |(note, _): &(Option<&Note>, _)| matches!(note, Some(Note::InFlight { .. }));
    let notes = against.into_iter().flat_map(Comparison::remarks).filter(in_flight);
    let target = arm.get("target").cloned().unwrap_or_default();
    let words = [found.workload.clone(), target, value, ratio, interval];
    Row {
        name: found.workload.clone(),
        cells: words.map(Cell::from).into_iter().chain([trust]).collect(),
        // The rest is said by the trust words and by the legend.
        notes: notes.map(|(_, words)| words.clone()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture;

    const PROCESSORS: &str = "CPU s/GiB";

    #[test]
    fn targets_that_differ_in_encryption_have_the_processors_that_it_costs() {
        let mut findings = fixture("study-two-targets");
        let titles = |table: &Table| -> Vec<String> {
            table.columns.iter().map(|column| column.title.clone()).collect()
        };
        assert!(!titles(&targets_compared(&findings).unwrap()).contains(&PROCESSORS.to_owned()));
        findings.environment.targets[1].encryption = vec!["gocryptfs".to_owned()];
        let compared = findings.comparisons[0].clone();
        for (arm, seconds) in [(&compared.baseline, 1.25), (&compared.configuration, 7.5)] {
            let own = find(&findings, &compared.workload, arm, false, &compared.metric);
            let mut cost = own.cloned().unwrap();
            cost.metric = "machine_cpu_s_per_gib".to_owned();
            cost.geometric_mean = Some(seconds);
            findings.measurements.push(cost);
        }
        let table = targets_compared(&findings).unwrap();
        let at = titles(&table).iter().position(|title| title == PROCESSORS).unwrap();
        let told: Vec<&str> =
            table.rows.iter().take(2).map(|row| row.cells[at].text.as_str()).collect();
        assert_eq!(told, ["1.25", "7.5"]);
        assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
        let legend = legend(&findings, [&table].into_iter()).join(" ");
        assert!(legend.contains(PROCESSORS), "{legend}");
    }
}
