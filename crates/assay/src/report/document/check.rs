//! The page of a check: one table a target, how to read it, what it means.

use super::facts::Facts;
use super::remarks::{Name, add, rules, warnings};
use super::{
    Block, Detail, Document, Remark, Section, answers, check_tables, check_text, classes, energy,
    facts, probes, surfaces,
};
use crate::quantity::metric::noun;
use crate::results::findings::Findings;
use crate::results::plan::arm_words;

/// The document of a check.
pub(super) fn document(findings: &Findings, detail: Detail) -> Document {
    let several = findings.environment.targets.len() > 1;
    let mut told = facts::study(findings);
    let mut tables = Vec::new();
    for target in &findings.environment.targets {
        let own = facts::target(target);
        let mut arm = facts::held(findings);
        if several {
            arm.insert("target".to_owned(), target.name.clone());
        }
        let (caption, own) = if several {
            (Some(target.name.clone()), own)
        } else {
            told.extend(own);
            (None, Facts::new())
        };
        let table = check_tables::workloads(findings, &arm);
        let classes = classes::table(findings, &arm);
        // Where others' work was watched there are classes alone.
        if classes.is_none() || !table.rows.is_empty() {
            tables.push((caption.clone(), own.clone(), table));
        }
        tables.extend(classes.map(|table| (caption, own, table)));
    }
    told.extend(facts::machine(&findings.environment));
    told.extend(check_text(findings, "order").map(|order| ("order".to_owned(), order)));
    let comparison = check_tables::comparison(findings);
    tables.extend(comparison.map(|table| (Some("comparison".to_owned()), Facts::new(), table)));
    let mut legend = check_tables::legend(findings, tables.iter().map(|(_, _, table)| table));
    let by_class = findings.cells.iter().any(|cell| cell.metric.starts_with("block_"));
    legend.extend(by_class.then(|| classes::LEGEND.to_owned()));
    let mut remarks = rules(findings, Name::Workload, detail);
    remarks.extend(warnings(findings, |check| check != "order"));
    if detail == Detail::Page {
        remarks.extend(missing(findings));
    }

    let mut sections = vec![Section::of(Block::Facts(told))];
    sections.extend(tables.into_iter().map(|(caption, facts, table)| Section {
        caption,
        blocks: vec![Block::Facts(facts), Block::Table(table)],
    }));
    sections.extend(surfaces::sections(findings));
    let sentences = Block::List(findings.summary.clone());
    sections.push(Section::of(Block::Text(legend)));
    sections.extend(energy::section(findings));
    sections.extend(probes::sections(findings, detail));
    sections.extend([Block::Remarks(remarks), sentences].map(Section::of));
    sections.extend(answers::questions(findings));
    sections.extend(answers::card(findings));
    Document { title: facts::title(findings), sections }
}

/// Numbers that rows do not have, each reason once with what it concerns.
fn missing(findings: &Findings) -> Vec<Remark> {
    let mut told = Vec::new();
    for entry in &findings.absent {
        if let Some(metric) = &entry.metric {
            let row = [noun(metric), "of", &entry.workload, &arm_words(&entry.arm)].join(" ");
            add(&mut told, "no number", &entry.reason, row.trim_end());
        }
    }
    told
}
