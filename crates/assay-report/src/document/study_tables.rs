//! One table per workload: its arms on the primary metric, against their baseline.

use super::load;
use super::numbers::{self, below, heading, under_heading};
use super::pace;
use super::study::StudyPage;
use super::{Block, Cell, Column, NONE, Section, Table, depth_note, grid, result, spread};
use assay_core::exhibit::{Unit, parts::distinct};
use assay_core::quantity::metric::{FDATASYNC, Statistic, class, of_requests};
use assay_core::quantity::{Better, Scale, played, units::show};
use assay_study::findings::shown::Rating;
use assay_study::findings::{
    Comparison, Findings, Kind, Measurement, SentenceRole, Trust, Verdict,
};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::record::Status;

const TAIL: &str = "latency_p99_ns";
const PLAYED: &str = "Replayed reads, writes, flushes, trims and write-zeroes: requests of the trace by class. 95% \
     CIs are simultaneous over all classes of a workload.";

/// Headings and metrics of the quantiles to print with a primary metric, except the metric itself.
fn metric_quantiles(metric: &str) -> Vec<(&'static str, &'static str)> {
    const OF_CLASSES: [(&str, Statistic); 3] =
        [("p50", Statistic::P50), ("p90", Statistic::P90), ("p99", Statistic::P99)];
    if let Some((class, _)) = played::find(metric) {
        return pace::of_class(class, metric);
    }
    if let Some((class, Statistic::Mean)) = class(metric) {
        let with_metric = |(name, quantile)| Some((name, of_requests(class, quantile)?.name));
        return OF_CLASSES.into_iter().filter_map(with_metric).collect();
    }
    let quantiles = if FDATASYNC.iter().any(|known| known.name == metric) {
        // A sync metric is without its write: print its median, and the tail including the write.
        vec![("p50", "fdatasync_p50_ns"), ("p99 including write", TAIL)]
    } else {
        vec![("p99", TAIL)]
    };
    quantiles.into_iter().filter(|(_, name)| *name != metric).collect()
}

const P999: [(&str, &str); 4] = [
    ("p99.9", "latency_p999_ns"),
    ("p99.99", "latency_p9999_ns"),
    ("response p99.9", "response_p999_ns"),
    ("response p99.99", "response_p9999_ns"),
];

/// Headings and metrics of the quantile columns: also response times if the operations have an arrival rate.
fn columns(findings: &Findings, workload: &WorkloadRows<'_>) -> Vec<(&'static str, &'static str)> {
    let is_response =
        |cell: &Measurement| cell.workload == workload.name && pace::is_response(&cell.metric);
    if findings.measurements.iter().any(is_response) {
        return pace::quantiles(workload.metric);
    }
    metric_quantiles(workload.metric)
}

pub(super) struct WorkloadRows<'a> {
    pub name: &'a str,
    pub metric: &'a str,
    pub better: Better,
    pub arms: Vec<ComparedCell<'a>>,
}

pub(super) struct ComparedCell<'a> {
    pub cell: &'a Measurement,
    pub role: ComparisonRole<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum ComparisonRole<'a> {
    Baseline,
    Control,
    Compared(&'a Comparison),
    Alone,
}

pub(super) fn workloads(findings: &Findings) -> Vec<WorkloadRows<'_>> {
    let names = distinct(findings.measurements.iter().map(|cell| cell.workload.as_str()));
    names.into_iter().filter_map(|name| workload_rows(findings, name)).collect()
}

/// The cells of one metric: the compared one, else the primary one, else the first. Each baseline precedes its arms.
fn workload_rows<'a>(findings: &'a Findings, name: &'a str) -> Option<WorkloadRows<'a>> {
    let is_compared = |it: &&Comparison| it.primary && it.workload == name;
    let compared: Vec<&Comparison> = findings.comparisons.iter().filter(is_compared).collect();
    let mut cells: Vec<&Measurement> =
        findings.measurements.iter().filter(|cell| cell.workload == name).collect();
    let metric = match compared.first() {
        Some(found) => &found.metric,
        None => &cells.iter().find(|cell| cell.primary).or_else(|| cells.first())?.metric,
    };
    cells.retain(|cell| cell.metric == *metric);
    let mut lines: Vec<(usize, usize, ComparedCell<'_>)> = Vec::new();
    for cell in &cells {
        let found = compared.iter().find(|it| it.configuration == cell.configuration);
        let base = found.map_or(&cell.configuration, |it| &it.baseline);
        let base_index = cells.iter().position(|it| it.configuration == *base);
        let is_baseline = compared.iter().any(|it| it.baseline == cell.configuration);
        // Order within a baseline: the baseline (0), its control (1), and the compared arms (2).
        let (rank, role) = match found {
            _ if cell.control => (1, ComparisonRole::Control),
            Some(found) => (2, ComparisonRole::Compared(found)),
            None if is_baseline => (0, ComparisonRole::Baseline),
            None => (2, ComparisonRole::Alone),
        };
        lines.push((base_index.unwrap_or(usize::MAX), rank, ComparedCell { cell, role }));
    }
    // Stable sort: the order of the study remains below a baseline.
    lines.sort_by_key(|(base_index, rank, _)| (*base_index, *rank));
    let better = cells.first()?.better;
    let arms = lines.into_iter().map(|(.., line)| line).collect();
    Some(WorkloadRows { name, metric, better, arms })
}

pub(super) fn section(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Section {
    let direction = workload.better.words();
    let noun = assay_workloads::metrics::noun(workload.metric);
    let mut blocks = Vec::new();
    blocks.extend(settings(page.findings, workload.name).map(|text| Block::Text(vec![text])));
    if grid::is_wide(page, workload) {
        blocks.extend(grid::blocks(page, workload));
    } else {
        blocks.push(Block::Table(table(page, workload, |_| true)));
    }
    blocks.extend(load::table(page, workload).map(Block::Table));
    let is_bandwidth = workload.metric == "bandwidth_bytes_per_s";
    let units = if is_bandwidth { " (100 MiB/s = 105 MB/s)" } else { "" };
    Section::titled(format!("{}: {noun}, {direction}{units}", workload.name), blocks)
}

/// How the workload ran: the settings common to all its arms.
fn settings(findings: &Findings, workload: &str) -> Option<String> {
    let workloads = findings.workloads.iter().filter(|facts| facts.name == workload);
    let mut texts = workloads.map(|facts| facts.text.split(", ").collect::<Vec<_>>());
    let mut common = texts.next()?;
    for text in texts {
        common.retain(|part| text.contains(part));
    }
    (!common.is_empty()).then(|| common.join(", "))
}

/// A row per `wanted` configuration: result, comparison with the baseline, and then details: quantiles, spread, trust.
pub(super) fn table(
    page: &StudyPage<'_>,
    workload: &WorkloadRows<'_>,
    wanted: impl Fn(&ComparedCell<'_>) -> bool,
) -> Table {
    let findings = page.findings;
    let lines: Vec<&ComparedCell<'_>> = workload.arms.iter().filter(|line| wanted(line)).collect();
    let mut table = Table::default();
    add_factors(&mut table, page, &lines, |line| &line.cell.configuration);
    for (row, line) in table.rows.iter_mut().zip(&lines) {
        if line.is_control() {
            row.cells.fill("".into());
            row.cells[0] = "control".into();
        }
    }
    table.add(Column::right(heading(workload.metric)), &lines, |line| {
        line.result().map(|value| under_heading(workload.metric, value))
    });
    add_comparisons(&mut table, page, workload, &lines);
    let first_detail = table.columns.len();
    let mut quantiles = columns(findings, workload);
    if page.full() {
        quantiles.extend(P999.into_iter().filter(|(_, metric)| *metric != workload.metric));
    }
    for (heading, metric) in quantiles {
        let has_metric =
            |cell: &Measurement| cell.workload == workload.name && cell.metric == metric;
        if findings.measurements.iter().any(has_metric) {
            table.add(Column::right(heading), &lines, |line| {
                super::text_in_row(findings, line.cell, metric)
            });
        }
    }
    table.add(Column::right("spread"), &lines, |line| spread(line.cell));
    table.add(Column::right("n"), &lines, |line| line.trials());
    if page.full() {
        table.add(Column::right("p (Holm)"), &lines, |line| match line.role {
            ComparisonRole::Compared(found) => found.p_holm.map(numbers::p_value),
            _ => Some(String::new()),
        });
    }
    if !all_trusted(findings) && lines.iter().any(|line| line.cell.trust.is_some()) {
        table.add(Column::verdict("trust"), &lines, |line| {
            Rating::cell(Rating::from_cell(line.cell))
        });
    }
    // A narrow page continues the table below from here on.
    table.columns[first_detail].breaks = true;
    for (row, line) in table.rows.iter_mut().zip(&lines) {
        (row.name, row.notes) = line.name_and_notes(page, workload);
    }
    table
}

/// Adds the ratio to the baseline with its interval, and the verdict if any comparison has one.
fn add_comparisons(
    table: &mut Table,
    page: &StudyPage<'_>,
    workload: &WorkloadRows<'_>,
    lines: &[&ComparedCell<'_>],
) {
    let is_difference = |line: &ComparedCell<'_>| match line.role {
        ComparisonRole::Compared(comparison) => comparison.difference.is_some(),
        _ => false,
    };
    let title = if workload.arms.iter().any(is_difference) { "difference" } else { "ratio" };
    let cells: Vec<[Cell; 3]> = lines.iter().map(|line| comparison_cells(page, line)).collect();
    // Without a comparison, as in a table of boots, both columns would be empty.
    let is_known = |cell: &Cell| cell.text(Unit::Words) != NONE;
    if cells.iter().any(|[ratio, ..]| is_known(ratio)) {
        table.add(Column::right(title), &cells, |[ratio, ..]| ratio.clone());
    }
    if cells.iter().any(|[_, interval, _]| is_known(interval)) {
        table.add(Column::right("95% CI").detail(), &cells, |[_, interval, _]| interval.clone());
    }
    if page.primary().any(|it| it.verdict.is_some()) {
        table.add(Column::verdict("verdict"), &cells, |[.., verdict]| verdict.clone());
    }
}

pub(super) fn all_trusted(findings: &Findings) -> bool {
    let mut cells = findings.measurements.iter();
    !findings.measurements.is_empty() && cells.all(|cell| cell.trust == Some(Trust::Trusted))
}

/// Adds a column per factor with the level of each item's arm.
pub(super) fn add_factors<'a, T>(
    table: &mut Table,
    page: &StudyPage<'_>,
    items: &'a [T],
    arm: impl Fn(&'a T) -> &'a Arm,
) {
    let is_number = |level: &String| level.starts_with(|first: char| first.is_ascii_digit());
    for factor in &page.factors {
        let unit = if factor.levels.iter().all(is_number) { Unit::Number } else { Unit::Words };
        let column = Column { unit, ..Column::key(&factor.name) };
        table.add(column, items, |item| arm(item).get(&factor.name));
    }
}

/// Relative difference below which a reader considers two means equal.
const NEAR: f64 = 0.02;

impl ComparedCell<'_> {
    const fn is_control(&self) -> bool {
        matches!(self.role, ComparisonRole::Control)
    }

    fn name_and_notes(
        &self,
        page: &StudyPage<'_>,
        workload: &WorkloadRows<'_>,
    ) -> (String, Vec<String>) {
        if self.is_control() {
            return ("control".to_owned(), Vec::new());
        }
        let arm = &self.cell.configuration;
        let depth = depth_note(page.findings, workload.name, arm);
        let pace = pace::note(page.findings, workload.name, arm);
        let notes = [depth, pace, self.baseline_note(page, workload)];
        (arm_in_words(arm.iter()), notes.into_iter().flatten().collect())
    }

    /// A note with the baseline's mean over the pairs of the ratio, if it differs from the mean in the baseline's row.
    fn baseline_note(&self, page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Option<String> {
        let ComparisonRole::Compared(found) = self.role else { return None };
        let [_, baseline] = found.own_means()?;
        let is_baseline = |line: &&ComparedCell<'_>| {
            line.cell.configuration == found.baseline && !line.cell.control
        };
        let text = |mean: f64| under_heading(workload.metric, mean);
        if let Some(shown) = workload.arms.iter().find(is_baseline).and_then(ComparedCell::result) {
            let is_near = (baseline / shown - 1.0).abs() <= NEAR;
            if text(shown) == text(baseline) || is_near && !page.full() {
                return None;
            }
        }
        Some(format!("the ratio uses {} pairs; their baseline mean is {}", found.n, text(baseline)))
    }

    pub fn result(&self) -> Option<f64> {
        match self.role {
            ComparisonRole::Compared(found) => result(self.cell, Some(found)),
            _ => self.cell.value(),
        }
    }

    /// Number of trials; if compared, of those in pairs with the baseline.
    fn trials(&self) -> String {
        match self.role {
            ComparisonRole::Compared(found) if found.own_means().is_some() => {
                trials_text(self.cell, found.n)
            }
            _ => trials_text(self.cell, self.cell.n),
        }
    }
}

fn comparison_cells(page: &StudyPage<'_>, line: &ComparedCell<'_>) -> [Cell; 3] {
    let plain = |words: [&str; 3]| words.map(Cell::from);
    match line.role {
        ComparisonRole::Baseline => {
            let itself = if line.cell.scale == Scale::Difference { "0" } else { "1" };
            plain([itself, "", "baseline"])
        }
        ComparisonRole::Control => plain(["", "", ""]),
        ComparisonRole::Alone => plain([NONE, NONE, NONE]),
        ComparisonRole::Compared(found) => [
            numbers::ratio(found).into(),
            numbers::interval(found).into(),
            numbers::verdict_cell(found, page.without_verdicts),
        ],
    }
}

/// `6`, or `5/6` if some replicates have no trial that counts.
fn trials_text(cell: &Measurement, n: usize) -> String {
    let first = cell.trials.iter().filter(|trial| trial.repeats.is_none());
    let started = first.filter(|trial| trial.status != Status::Warmup).count();
    if started == n { n.to_string() } else { format!("{n}/{started}") }
}

pub(super) fn legend(page: &StudyPage<'_>) -> Vec<String> {
    let findings = page.findings;
    let mut lines = page.workloads.iter().flat_map(|it| &it.arms);
    // A slash stands for replicates without a valid trial.
    let has_lost = lines.any(|line| line.trials().contains('/'));
    let n = if has_lost { " (5/6: 5 of 6 replicates)" } else { "" };
    let mut texts =
        vec![format!("Results are geometric means of n trials{n}; spread is half their range.")];
    if findings.measurements.iter().any(|cell| cell.metric == TAIL) {
        texts.push("p99: in a typical trial, 99% of operations have shorter service times.".into());
    }
    texts.extend(pace::has_responses(findings).then(|| pace::LEGEND.to_owned()));
    let is_played = |it: &Comparison| played::find(&it.metric).is_some();
    texts.extend(page.primary().any(is_played).then(|| PLAYED.to_owned()));
    let has_classes = page.primary().any(|it| it.class_of.is_some() && !is_played(it));
    let has_io = findings.workloads.iter().any(|workload| workload.io.is_some());
    let ramp = if has_io { "; ramp included" } else { "" };
    texts.extend(has_classes.then(|| {
        format!(
            "Reads, writes, flushes and discards: requests from any program to the target's devices, timed from their \
             arrival in the block layer to completion{ramp}; p50, p90 and p99 come from a typical trial. 95% CIs are \
             simultaneous over all classes of a workload."
        )
    }));
    let has_loads = page.workloads.iter().any(|workload| load::table(page, workload).is_some());
    texts.extend(has_loads.then(|| load::LEGEND.to_owned()));
    texts.extend(ratio_legend(page));
    texts.extend(verdict_legend(page));
    let is_in_summary =
        findings.summary.iter().any(|sentence| sentence.role == SentenceRole::Trust);
    if all_trusted(findings) && !is_in_summary {
        let is_one_trial = findings.measurements.iter().filter(|it| it.primary).all(|it| it.n < 2);
        let sentence = if is_one_trial {
            "No trust rule was triggered, but each number is from a single trial without a spread."
        } else {
            "All numbers are trusted: no trust rule was triggered."
        };
        texts.push(findings.recorded().unwrap_or_else(|| sentence.to_owned()));
    }
    texts
}

/// How to read the ratios; `None` without comparisons.
fn ratio_legend(page: &StudyPage<'_>) -> Option<String> {
    let (_, most) = page.family_sizes()?;
    if !page.is_within_result() {
        let rerun = page.primary().any(|it| it.kind == Kind::RerunBaseline);
        let step = if rerun { " (each configuration first relative to its baseline)" } else { "" };
        return Some(format!(
            "Ratios are relative to the earlier result{step}; 95% CIs are simultaneous. Across days or machines, \
             verdicts are only suggestions, because the CIs do not cover other changes."
        ));
    }
    let baselines: Vec<&Arm> = page.primary().map(|it| &it.baseline).collect();
    let has_several = baselines.iter().any(|it| *it != baselines[0]);
    let levels = if has_several { " at the same levels of the other factors" } else { "" };
    let joint = if most > 1 { "; 95% CIs are simultaneous per workload" } else { "" };
    let has_verdict = |it: &Comparison| it.verdict.is_some() && it.ci95_simultaneous.is_some();
    let basis = match most {
        _ if page.without_verdicts || !page.primary().any(has_verdict) => "",
        1 => "; verdicts are based on the CI",
        _ => "; verdicts are based on the CIs",
    };
    let has_differences = page.primary().any(|it| it.difference.is_some());
    let statistics = if has_differences { "Ratios and differences" } else { "Ratios" };
    let unpaired = page.primary().any(|it| it.kind == Kind::Unpaired);
    let how = if unpaired { "over all runs, not paired" } else { "paired by replicate" };
    Some(format!("{statistics} are relative to the baseline{levels}, {how}{joint}{basis}."))
}

/// Explains `equivalent` and `<margin` if the verdict column contains them.
fn verdict_legend(page: &StudyPage<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    let margin = page.primary().find_map(|it| it.margin).unwrap_or_default();
    if page.primary().any(|it| it.verdict == Some(Verdict::Equivalent)) {
        texts.push(format!(
            "Equivalent: two one-sided tests place the ratio between {} and {} (90% CI).",
            show::ratio(1.0 / (1.0 + margin)),
            show::ratio(1.0 + margin),
        ));
    }
    if page.primary().any(|it| numbers::undercut_margin(it).is_some()) {
        texts.push(format!(
            "{}: the difference is significant, but smaller than the margin.",
            below(margin)
        ));
    }
    texts
}
