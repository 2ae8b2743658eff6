//! The page of a check: one table a target, how to read it, what it means.

use super::facts::Facts;
use super::remarks::{Name, rules, warnings};
use super::{Block, Document, Section, check_tables, check_text, facts};
use crate::results::findings::{Findings, TargetFacts};
use crate::results::plan::Arm;

/// The document of a check.
pub(super) fn document(findings: &Findings) -> Document {
    let several = findings.environment.targets.len() > 1;
    let mut told = facts::study(findings);
    let mut tables = Vec::new();
    for target in &findings.environment.targets {
        let own = facts::target(target);
        let arm = if several { arm_of(target) } else { Arm::new() };
        let table = check_tables::workloads(findings, &arm);
        if several {
            tables.push((Some(target.name.clone()), own, table));
        } else {
            told.extend(own);
            tables.push((None, Facts::new(), table));
        }
    }
    told.extend(facts::machine(&findings.environment));
    told.extend(check_text(findings, "order").map(|order| ("order".to_owned(), order)));
    let comparison = check_tables::comparison(findings);
    tables.extend(comparison.map(|table| (Some("comparison".to_owned()), Facts::new(), table)));
    let legend = check_tables::legend(findings, tables.iter().map(|(_, _, table)| table));
    let mut remarks = rules(findings, Name::Workload);
    remarks.extend(warnings(findings, |check| check != "order"));

    let mut sections = vec![Section::of(Block::Facts(told))];
    sections.extend(tables.into_iter().map(|(caption, facts, table)| Section {
        caption,
        blocks: vec![Block::Facts(facts), Block::Table(table)],
    }));
    let sentences = Block::List(findings.summary.clone());
    let rest = [Block::Text(legend), Block::Remarks(remarks), sentences];
    sections.extend(rest.map(Section::of));
    Document { title: facts::title(findings), sections }
}

fn arm_of(target: &TargetFacts) -> Arm {
    Arm::from([("target".to_owned(), target.name.clone())])
}
