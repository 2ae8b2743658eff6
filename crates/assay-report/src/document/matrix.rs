//! Many configurations, or the targets of a check, at a glance.

use super::numbers::{heading, under_heading};
use super::study::{self, StudyPage};
use super::study_tables::{ComparedCell, WorkloadRows, add_factors, workloads};
use super::{Block, Cell, Column, Detail, Large, NONE, Section, Table, Tone, large};
use assay_core::{exhibit::parts::distinct, quantity::Better};
use assay_study::findings::{Findings, Trust};
use assay_study::results::plan::{Arm, arm_in_words};

/// Configurations up to which their tables show them as well.
const FEW: usize = 4;
const MOST_WORKLOADS: usize = 8;
/// Marks of a result, for the caption.
const MARKS: &str = "~ wide 95% CI, ? suspect, \u{2717} invalid";

/// The results of several targets side by side, or of several workloads in many configurations; `None` for others.
pub fn matrix(findings: &Findings) -> Option<Section> {
    let large = large(findings);
    if large.len() > 1 {
        return Some(side_by_side(&large));
    }
    let is_plain = findings.race.is_none() && !findings.are_windows();
    if !is_plain || !study::is_study(findings) || findings.study.kind == "compare" {
        return None;
    }
    let workloads = workloads(findings);
    let lines = workloads.iter().flat_map(|workload| &workload.arms);
    let arms: Vec<&Arm> = distinct(lines.map(|line| &line.cell.configuration));
    if arms.len() <= FEW || !(2..=MOST_WORKLOADS).contains(&workloads.len()) {
        return None;
    }
    let page = StudyPage::new(findings, Detail::Page);
    let mut table = Table::default();
    add_factors(&mut table, &page, &arms, |arm| *arm);
    for workload in &workloads {
        let title = format!("{}, {}", workload.name, heading(workload.metric));
        let best = best_result(workload);
        table.add(Column::right(title), &arms, |arm| result_cell(workload, arm, best));
    }
    for (row, arm) in table.rows.iter_mut().zip(&arms) {
        row.name = arm_in_words(arm.iter());
    }
    let caption = format!("results (\u{2605} best mean of each workload, {MARKS})");
    Some(Section::titled(caption, vec![Block::Table(table)]))
}

fn side_by_side(targets: &[Large]) -> Section {
    let numbers = targets.iter().flat_map(|target| &target.numbers);
    let workloads = distinct(numbers.map(|number| number.workload.as_str()));
    let mut table = Table::default();
    table.add(Column::left("workload"), &workloads, |name| *name);
    for target in targets {
        let column = Column::right(target.target.clone().unwrap_or_default());
        table.add(column, &workloads, |name| {
            match target.numbers.iter().find(|number| number.workload == **name) {
                Some(number) => {
                    let text = with_precision(&number.value, number.wide);
                    with_mark(&text, Some(number.rating.trust), "")
                }
                None => NONE.into(),
            }
        });
    }
    Section::titled(format!("results ({MARKS})"), vec![Block::Table(table)])
}

/// The best result of a workload; invalid ones do not count.
fn best_result(workload: &WorkloadRows<'_>) -> Option<f64> {
    let is_sound =
        |line: &&ComparedCell<'_>| !line.cell.control && line.cell.trust != Some(Trust::Invalid);
    let values = workload.arms.iter().filter(is_sound).filter_map(ComparedCell::result);
    match workload.better {
        Better::Higher => values.reduce(f64::max),
        Better::Lower => values.reduce(f64::min),
        Better::Unknown => None,
    }
}

/// The result of an arm, with a star if it is the best of its workload.
fn result_cell(workload: &WorkloadRows<'_>, arm: &Arm, best: Option<f64>) -> Cell {
    let is_of_arm = |it: &&ComparedCell<'_>| !it.cell.control && it.cell.configuration == *arm;
    let Some(line) = workload.arms.iter().find(is_of_arm) else { return NONE.into() };
    let Some(value) = line.result() else { return NONE.into() };
    let text = with_precision(&under_heading(workload.metric, value), line.cell.is_wide());
    let star = if best == Some(value) { " \u{2605}" } else { "" };
    with_mark(&text, line.cell.trust, star)
}

fn with_precision(value: &str, wide: bool) -> String {
    if wide { format!("~{value}") } else { value.to_owned() }
}

/// A result with its mark: a cross if invalid, `?` if suspect. `star` is empty or the mark of the best result.
fn with_mark(text: &str, trust: Option<Trust>, star: &str) -> Cell {
    match trust {
        Some(Trust::Invalid) => Cell::toned(format!("{text} \u{2717}"), Tone::Bad),
        Some(Trust::Suspect) => Cell::toned(format!("{text}{star} ?"), Tone::Doubtful),
        _ if star.is_empty() => text.to_owned().into(),
        _ => Cell::toned(format!("{text}{star}"), Tone::Good),
    }
}
