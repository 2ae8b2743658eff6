//! The tables: workloads of one target, and targets against the first.

use super::{Cell, Column, Measurement, Row, Table, depth_note, numbers, spread, value_in_row};
use assay_core::quantity::played::{self, LatencyPoint, PlayedClass, PlayedMetric};
use assay_core::quantity::units::show;
use assay_core::{exhibit::Unit, quantity::metric::RESPONSE_P99};
use assay_study::findings::{Comparison, Findings, notes::Note, shown::Rating};
use assay_study::results::plan::Arm;

/// The workloads of one arm (configuration), each with the classes of a replayed load below it; absent ones last.
pub(super) fn workload_table(findings: &Findings, title: &str, arm: &Arm) -> Table {
    let workloads = findings.workloads.iter().filter(|workload| workload.configuration == *arm);
    let measured_rows = workloads.flat_map(|workload| {
        let metrics = if workload.pace.is_some() { OF_OPEN_LOOPS } else { OF_ALL };
        let row = measured_row(findings, workload.name.clone(), arm, metrics);
        let classes = played::CLASSES.iter().filter_map(|class| {
            let name = format!("{}, {}", workload.name, class.played);
            measured_row(findings, name, arm, class_metrics(class)?)
        });
        row.into_iter().chain(classes)
    });
    let mut rows: Vec<Row> = measured_rows.collect();
    let mut reason_above = None;
    let absent = findings.absent.iter().filter(|it| it.configuration == *arm);
    // An entry with a metric is a missing number of a measured row.
    for absent in absent.filter(|it| it.metric.is_none()) {
        let is_repeated = reason_above == Some(&absent.reason);
        let reason = if is_repeated { "as above" } else { &absent.reason };
        rows.push(Row::absent(&absent.workload, format!("absent: {reason}")));
        reason_above = Some(&absent.reason);
    }
    let ns = |title| Column::new(title, Unit::Nanoseconds).detail();
    let columns = vec![
        Column::left("workload"),
        Column::right("MB/s"),
        Column::right("MiB/s").detail(),
        Column::right("IOPS"),
        ns("p50"),
        ns("p99"),
        ns(EXTREME),
        Column::right("spread").detail(),
        Column::verdict("trust"),
    ];
    Table { title: title.to_owned(), columns, rows, ..Table::default() }
}

/// The column of the 99.9th percentile, which needs many operations and, on a terminal, space.
pub(crate) const EXTREME: &str = "p99.9";

/// `random-read 4k q32`: name of a workload with its block size and queue depth.
fn label(findings: &Findings, name: &str, arm: &Arm) -> String {
    let Some(facts) = findings.workload(name, arm) else { return name.to_owned() };
    // A workload of several block sizes has no single one.
    let Some(io) = facts.io.filter(|io| !io.shaped) else { return name.to_owned() };
    let depth = format!("q{}", facts.requested_queue_depth);
    let stem = name.strip_suffix(&format!("-{depth}")).unwrap_or(name);
    format!("{stem} {} {depth}", show::block_size(io.size_bytes))
}

/// Metrics of a row's columns: operations and bytes per second, latency quantiles.
type RowMetrics = (&'static str, Option<&'static str>, [Option<&'static str>; 3]);

const OF_ALL: RowMetrics = (
    "iops",
    Some("bandwidth_bytes_per_s"),
    [Some("latency_p50_ns"), Some("latency_p99_ns"), Some("latency_p999_ns")],
);

/// In an open loop the study sets the IOPS: the result is the response time.
const OF_OPEN_LOOPS: RowMetrics = (
    "iops",
    Some("bandwidth_bytes_per_s"),
    [Some("response_p50_ns"), Some(RESPONSE_P99), Some("response_p999_ns")],
);

/// The same for a class of a replayed load; flushes have no bytes.
fn class_metrics(class: &PlayedClass) -> Option<RowMetrics> {
    let name = |metric| Some(class.metric(metric)?.name);
    let quantiles = [LatencyPoint::P50, LatencyPoint::P99, LatencyPoint::P999]
        .map(|point| name(PlayedMetric::Service(point)));
    Some((name(PlayedMetric::Rate)?, name(PlayedMetric::Bytes), quantiles))
}

/// The row of a workload or one of its classes; `None` if its operation rate is missing or has no trust rating.
fn measured_row(findings: &Findings, name: String, arm: &Arm, metrics: RowMetrics) -> Option<Row> {
    let (operations, bytes, quantiles) = metrics;
    let cell_of = |metric: &str| findings.cell(&name, arm, metric);
    let mean = |metric: Option<&str>| cell_of(metric?)?.value();
    let iops = cell_of(operations).filter(|cell| cell.trust.is_some())?;
    let mut cells = vec![
        Cell::from(label(findings, &name, arm)),
        mean(bytes).map(show::mb_per_s).into(),
        mean(bytes).map(show::mib_per_s).into(),
        mean(Some(operations)).map(show::per_second).into(),
    ];
    cells.extend(quantiles.map(|metric| Cell::from(mean(metric))));
    // Spread and trust are those of the primary metric: the p99 response time, or else the operation rate.
    let primary = cell_of(RESPONSE_P99).filter(|cell| cell.primary).unwrap_or(iops);
    cells.extend([spread(primary).into(), Rating::cell(Rating::from_cell(primary))]);
    let notes = depth_note(findings, &name, arm).into_iter().collect();
    Some(Row { name, notes, ..Row::new(cells) })
}

pub(super) fn legend(findings: &Findings, tables: &[Table]) -> Vec<String> {
    let counts = findings.measurements.iter().map(|cell| cell.n).filter(|count| *count > 0);
    let Some(most) = counts.clone().max() else { return Vec::new() };
    let least = counts.min().unwrap_or(most);
    let trials = if most == 1 {
        "Each number comes from 1 trial".to_owned()
    } else if least == most {
        format!("Numbers are geometric means of {most} trials")
    } else {
        format!("Numbers are geometric means of {least} to {most} trials")
    };
    let open_loops = findings.workloads.iter().filter(|workload| workload.pace.is_some()).count();
    let times = match open_loops {
        0 => "service times",
        all if all == findings.workloads.len() => "response times",
        _ => "service times, or response times of workloads with an arrival rate",
    };
    let spread = if findings.measurements.iter().all(|cell| cell.metric != OF_ALL.0) {
        String::new()
    } else {
        format!("; spread is half the range of the trials; p50 to p99.9 are {times}")
    };
    let mut sentences = vec![format!("{trials}{spread}.")];
    if !findings.comparisons.is_empty() {
        let text = "Ratios are relative to the first target, paired by replicate, with 95% CIs and no verdicts.";
        sentences.push(text.to_owned());
        if differ_in_encryption(findings) {
            let text = "CPU s/GiB: CPU seconds of the whole machine per GiB, including encryption and other programs.";
            sentences.push(text.to_owned());
        }
    }
    if tables.iter().any(Table::has_missing) {
        sentences.push("\"-\" means too few operations or trials.".to_owned());
    }
    sentences
}

/// A target in a comparison; the first one is the baseline.
struct ComparedTarget<'a> {
    comparison: &'a Comparison,
    cell: Option<&'a Measurement>,
    target: &'a str,
    is_first: bool,
}

/// The targets of each workload, relative to the first target; `None` without a comparison.
pub(super) fn targets_compared(findings: &Findings) -> Option<Table> {
    let mut sides: Vec<ComparedTarget<'_>> = Vec::new();
    for comparison in &findings.comparisons {
        if !sides.iter().any(|side| side.comparison.workload == comparison.workload) {
            sides.push(ComparedTarget::new(findings, comparison, &comparison.baseline, true));
        }
        sides.push(ComparedTarget::new(findings, comparison, &comparison.configuration, false));
    }
    let mut table = Table::new("comparison");
    table.add(Column::left("workload"), &sides, |side| &side.comparison.workload);
    table.add(Column::left("target"), &sides, |side| side.target);
    table.add(Column::right("result"), &sides, ComparedTarget::result);
    table.add(Column::right("ratio"), &sides, |side| {
        if side.is_first { Some("1".to_owned()) } else { side.comparison.ratio.map(show::times) }
    });
    table.add(Column::right("95% CI"), &sides, ComparedTarget::interval);
    if differ_in_encryption(findings) {
        // An encrypting program is a separate process: use the CPU time of the whole machine.
        table.add(Column::right("CPU s/GiB"), &sides, |side| {
            value_in_row(findings, side.cell?, "machine_cpu_s_per_gib")
        });
    }
    table.add(Column::verdict("trust"), &sides, |side| {
        Rating::cell(side.cell.and_then(Rating::from_cell))
    });
    for (row, side) in table.rows.iter_mut().zip(&sides) {
        row.notes = side.notes();
    }
    (!sides.is_empty()).then_some(table)
}

impl<'a> ComparedTarget<'a> {
    fn new(findings: &'a Findings, found: &'a Comparison, arm: &'a Arm, is_first: bool) -> Self {
        let cell = findings.cell(&found.workload, arm, &found.metric);
        let target = arm.get("target").map_or("", String::as_str);
        Self { comparison: found, cell, target, is_first }
    }

    fn result(&self) -> Option<String> {
        Some(numbers::value(&self.comparison.metric, self.cell?.value()?))
    }

    fn interval(&self) -> Option<String> {
        if self.is_first {
            return Some(String::new());
        }
        let [low, high] = self.comparison.ci95?.map(show::times);
        Some(format!("{low} to {high}"))
    }

    /// Remarks on different numbers of requests in flight, which make a ratio misleading; none for the first target.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (note, words) in self.comparison.remarks().filter(|_| !self.is_first) {
            if let Some(Note::InFlight { .. }) = note {
                notes.push(words.clone());
            }
        }
        notes
    }
}

/// Whether the targets differ in encryption, which costs CPU time.
fn differ_in_encryption(findings: &Findings) -> bool {
    let mut ways = findings.environment.targets.iter().map(|target| &target.encryption);
    ways.next().is_some_and(|first| ways.any(|other| other != first))
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
            let own = findings.cell(&compared.workload, arm, &compared.metric);
            let mut cost = own.cloned().unwrap();
            cost.metric = "machine_cpu_s_per_gib".to_owned();
            cost.geometric_mean = Some(seconds);
            findings.measurements.push(cost);
        }
        let table = targets_compared(&findings).unwrap();
        let at = titles(&table).iter().position(|title| title == PROCESSORS).unwrap();
        let told: Vec<String> =
            table.rows.iter().take(2).map(|row| row.cells[at].text(Unit::Words)).collect();
        assert_eq!(told, ["1.25", "7.5"]);
        assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
        let legend = legend(&findings, &[table]).join(" ");
        assert!(legend.contains(PROCESSORS), "{legend}");
    }
}
