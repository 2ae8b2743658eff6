//! A share for forums and mails: findings first, then the numbers, then what was measured; a block
//! that a phone shows without turning it.

use super::study::Page;
use super::{Block, Document, Remark, Section, Table, check_tables, facts, remarks, study_tables};
use crate::table::Column;
use assay_study::findings::{Findings, Trust};

pub fn forum(findings: &Findings) -> Document {
    let mut sections = vec![Section::of(Block::List(findings.summary.clone()))];
    sections.extend(tables(findings));
    sections.push(Section::of(Block::Remarks(against(findings))));
    sections.push(Section::of(Block::Text(made(findings))));
    Document { title: super::subject(findings), sections }
}

fn tables(findings: &Findings) -> Vec<Section> {
    if let Some(places) = &findings.platforms {
        let sections = super::places::tables(findings, places, false).into_iter();
        let narrow = |block: Block| match block {
            Block::Table(table) => Block::Table(cut(table, |_, column| !column.detail)),
            block => block,
        };
        return sections
            .map(|one| Section { blocks: one.blocks.into_iter().map(narrow).collect(), ..one })
            .collect();
    }
    if super::study::is_one(findings) {
        let page = Page::of(findings, super::Detail::Usual);
        if findings.race.is_some() {
            let screen = super::race::screen(&page);
            return super::race::section(&page).into_iter().chain(screen).collect();
        }
        let table = |workload| {
            let whole = study_tables::table(&page, workload, |_| true);
            // What lies behind the first break is detail.
            let end = whole.columns.iter().position(|column| column.breaks);
            let end = end.unwrap_or(whole.columns.len());
            // Sentences have the intervals that matter.
            cut(whole, |index, column| index < end && !column.detail)
        };
        let own = page.workloads.iter();
        return own.map(|one| Section::titled(one.name, vec![Block::Table(table(one))])).collect();
    }
    if findings.environment.targets.is_empty() {
        return super::imported::sections(findings);
    }
    let several = findings.environment.targets.len() > 1;
    let one = |target: &assay_study::findings::TargetFacts| {
        let arm = facts::arm_of(findings, target);
        let table = check_tables::workloads(findings, &arm, super::Detail::Usual);
        let table = cut(table, |_, column| !column.detail);
        Section {
            caption: several.then(|| target.name.clone()),
            blocks: vec![Block::Table(table)],
            ..Section::default()
        }
    };
    findings.environment.targets.iter().map(one).collect()
}

/// A table with the columns that are wanted, without notes below its rows.
fn cut(table: Table, wanted: impl Fn(usize, &Column) -> bool) -> Table {
    let kept: Vec<bool> =
        table.columns.iter().enumerate().map(|(index, column)| wanted(index, column)).collect();
    let keep = |index: usize| kept.get(index).copied().unwrap_or(false);
    let mut table = table;
    let mut index = 0;
    table.columns.retain(|_| {
        index += 1;
        keep(index - 1)
    });
    for row in &mut table.rows {
        let mut index = 0;
        row.cells.retain(|_| {
            index += 1;
            keep(index - 1)
        });
        if !row.cells.is_empty() {
            row.notes.clear();
        }
    }
    table
}

/// What speaks against numbers, by rule.
fn against(findings: &Findings) -> Vec<Remark> {
    let doubts = |remark: &Remark| {
        let becauses = findings.measurements.iter().flat_map(|cell| &cell.reasons);
        becauses
            .filter(|because| because.rule == remark.rule)
            .any(|because| matches!(because.trust, Trust::Suspect | Trust::Invalid))
    };
    let all = remarks::rules(findings, remarks::Name::Workload, super::Detail::Usual);
    all.into_iter().filter(doubts).map(|remark| Remark { rows: Vec::new(), ..remark }).collect()
}

/// By what and where it was measured.
fn made(findings: &Findings) -> Vec<String> {
    let machine = facts::machine(&findings.environment);
    let told: Vec<String> = machine.into_iter().map(|(_, value)| value).collect();
    let day = findings.study.started.get(..10).unwrap_or_default();
    let by = format!("assay {} {}, {day}", findings.environment.assay, findings.study.kind);
    vec![[vec![by], told].concat().join("; ")]
}
