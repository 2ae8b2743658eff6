//! Content for a reader without layout, built from findings alone: facts, tables, remarks, sentences.

mod answers;
mod check;
pub(super) mod check_tables;
mod classes;
mod commands;
mod energy;
mod exhibits;
mod facts;
mod files;
mod forum;
mod grid;
mod hosts;
mod imported;
mod large;
mod load;
mod matrix;
mod memory;
mod micro;
pub(super) mod numbers;
mod opening;
mod pace;
pub(super) mod places;
mod probes;
mod race;
mod remarks;
mod study;
mod study_more;
mod study_tables;
mod surroundings;
mod windows;

use assay_study::findings::{Comparison, Findings, Measurement, Trust};
use assay_study::results::plan::Arm;

pub use answers::QUESTIONS;
pub use assay_core::exhibit::{Cell, Column, NONE, Row, Table, Tone};
pub(crate) use exhibits::with_figure;
pub(crate) use forum::forum;
pub use large::{Large, conditions, headline, identity, large, largest_change, method, subject};
pub use matrix::matrix;
pub(crate) use opening::leading_sentences;
pub use opening::{TrustOverview, answer, standing};
pub(crate) use race::outcome;
pub use study::{COMPARISONS, no_advice};

#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Heading: tool, version, kind of study, date; may be empty.
    pub title: String,
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    pub caption: Option<String>,
    pub blocks: Vec<Block>,
    pub role: SectionRole,
}

/// Function of a section on a page; text output prints all sections in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SectionRole {
    #[default]
    Usual,
    Summary,
    /// Its table has the main numbers of the study.
    Main,
    /// The numbers of the figures of this kind, next to them if they lead.
    Of(&'static str),
    /// Details, folded on pages.
    Closer,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Facts(Vec<(String, String)>),
    Text(Vec<String>),
    List(Vec<String>),
    Remarks(Vec<Remark>),
    Table(Table),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub rule: String,
    /// Resulting trust; `None` unless a trust rule made the remark.
    pub trust: Option<Trust>,
    pub text: String,
    /// Affected rows; empty if the whole result is affected.
    pub rows: Vec<String>,
}

impl Document {
    /// Splits the sections into those next to the study's leading figures, and all others.
    pub fn leading(&self, findings: &Findings) -> (Vec<&Section>, Vec<&Section>) {
        let lead = findings.study.lead_figure.as_deref();
        self.sections.iter().partition(
            |section| matches!(section.role, SectionRole::Of(kind) if lead == Some(kind)),
        )
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Usual,
    /// With every comparison, every metric, every device of the stack, and the cost of the probes.
    Full,
    /// The same for a page, whose data already includes the comparisons of other metrics.
    Page,
}

pub fn usual(findings: &Findings) -> Document {
    build(findings, Detail::Usual)
}

/// The document of a comparison of platforms, a study or a check.
pub fn build(findings: &Findings, detail: Detail) -> Document {
    match &findings.platforms {
        Some(places) => places::document(findings, places, detail),
        None if study::is_study(findings) => study::document(findings, detail),
        None => check::document(findings, detail),
    }
}

impl Section {
    pub fn new(block: Block) -> Self {
        Self { blocks: vec![block], ..Self::default() }
    }

    pub fn titled(caption: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { caption: Some(caption.into()), blocks, ..Self::default() }
    }

    /// A table below its explanation, as a detail; `None` without rows.
    fn with_explanation(caption: &str, explanation: &str, table: Table) -> Option<Self> {
        if table.rows.is_empty() {
            return None;
        }
        let blocks = vec![Block::Text(vec![explanation.to_owned()]), Block::Table(table)];
        Some(Self::titled(caption, blocks).with_role(SectionRole::Closer))
    }

    /// Marks a main table of the study, unless it has a figure or is folded.
    fn into_main(self) -> Self {
        if self.role == SectionRole::Usual { self.with_role(SectionRole::Main) } else { self }
    }

    fn with_role(self, role: SectionRole) -> Self {
        Self { role, ..self }
    }
}

impl From<Table> for Section {
    fn from(mut table: Table) -> Self {
        let title = std::mem::take(&mut table.title);
        let notes = std::mem::take(&mut table.notes);
        let mut blocks = vec![Block::Table(table)];
        if !notes.is_empty() {
            blocks.push(Block::Text(notes));
        }
        Self { caption: Some(title).filter(|title| !title.is_empty()), blocks, ..Self::default() }
    }
}

/// The cells of a metric, without the A/A control.
fn cells_of<'a>(findings: &'a Findings, metric: &str) -> Vec<&'a Measurement> {
    let cells = findings.measurements.iter();
    cells.filter(|cell| cell.metric == metric && !cell.control).collect()
}

/// The mean of a configuration: over the pairs of its comparison, which give the ratio, or else over its trials.
pub(super) fn result(cell: &Measurement, compared: Option<&Comparison>) -> Option<f64> {
    match compared.and_then(Comparison::own_means) {
        Some([arm_mean, _]) => Some(arm_mean),
        None => cell.value(),
    }
}

/// The primary comparison of a cell with its baseline; `None` for the A/A control.
pub(super) fn comparison_of<'a>(
    findings: &'a Findings,
    cell: &Measurement,
) -> Option<&'a Comparison> {
    findings.comparisons.iter().find(|comparison| {
        !cell.control
            && comparison.primary
            && comparison.workload == cell.workload
            && comparison.metric == cell.metric
            && comparison.configuration == cell.configuration
    })
}

/// Half of the range of the trials, in percent of their mean; `None` for one trial or a mean of zero.
fn spread(cell: &Measurement) -> Option<String> {
    if cell.n < 2 {
        return None;
    }
    let half_range = (cell.max? - cell.min?) / 2.0;
    let mean = cell.value().filter(|mean| *mean > 0.0)?;
    let percent = assay_core::quantity::units::show::brief_percent(100.0 * half_range / mean);
    Some(format!("\u{b1}{percent}"))
}

/// The value of another metric of the same workload and arm.
fn value_in_row(findings: &Findings, cell: &Measurement, metric: &str) -> Option<f64> {
    findings.in_row_of(cell, metric)?.value()
}

fn text_in_row(findings: &Findings, cell: &Measurement, metric: &str) -> Option<String> {
    value_in_row(findings, cell, metric).map(|value| numbers::under_heading(metric, value))
}

/// Why the queue depth differs from the requested one; `None` if it does not.
fn depth_note(findings: &Findings, workload: &str, arm: &Arm) -> Option<String> {
    let facts = findings.workload(workload, arm)?;
    if facts.queue_depth == facts.requested_queue_depth {
        return None;
    }
    Some(facts.note.clone().unwrap_or_else(|| {
        format!("queue depth {} ({} requested)", facts.queue_depth, facts.requested_queue_depth)
    }))
}

fn summary(sentences: Vec<String>) -> Section {
    Section::new(Block::List(sentences)).with_role(SectionRole::Summary)
}

/// Counts with their words, without zeros: `3 better, 1 worse`.
pub(super) fn counted(counts: impl IntoIterator<Item = (usize, &'static str)>) -> String {
    let present = counts.into_iter().filter(|(count, _)| *count > 0);
    present.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

/// Why the order of a study rules out verdicts; `None` if it does not.
pub(super) fn no_verdict(findings: &Findings) -> Option<String> {
    let check = findings.checks.iter().find(|check| check.leaves_no_verdict());
    check.map(|check| check.text.clone())
}

pub(super) fn check_text(findings: &Findings, name: &str) -> Option<String> {
    findings.checks.iter().find(|check| check.name == name).map(|check| check.text.clone())
}
