//! A share for forums and mails: findings first, then the numbers, then the system; narrow enough for a phone.

use super::study::StudyPage;
use super::{
    Block, Column, Document, Remark, Section, Table, check_tables, facts, remarks, study_tables,
};
use assay_study::findings::{Findings, Trust};

pub fn forum(findings: &Findings) -> Document {
    let mut sections = vec![Section::new(Block::List(findings.summary_texts()))];
    sections.extend(tables(findings));
    sections.push(Section::new(Block::Remarks(doubtful_remarks(findings))));
    sections.push(Section::new(Block::Text(test_conditions(findings))));
    Document { title: super::subject(findings), sections }
}

/// The main tables, without details: of platforms, a race, a study, an import, or of each target of a check.
fn tables(findings: &Findings) -> Vec<Section> {
    if let Some(places) = &findings.platforms {
        let mut sections = super::places::tables(findings, places);
        for block in sections.iter_mut().flat_map(|section| &mut section.blocks) {
            if let Block::Table(table) = block {
                narrow(table, |_, column| !column.detail);
            }
        }
        return sections;
    }
    if super::study::is_study(findings) {
        let page = StudyPage::new(findings, super::Detail::Usual);
        if findings.race.is_some() {
            let screen = super::race::screen(&page);
            return super::race::section(&page).into_iter().chain(screen).collect();
        }
        let main_columns = |workload: &study_tables::WorkloadRows<'_>| {
            let mut table = study_tables::table(&page, workload, |_| true);
            workload.name.clone_into(&mut table.title);
            // Columns after the first break are details; sentences contain the important intervals.
            let details = table.columns.iter().position(|column| column.breaks);
            let end = details.unwrap_or(table.columns.len());
            narrow(&mut table, |index, column| index < end && !column.detail);
            Section::from(table)
        };
        return page.workloads.iter().map(main_columns).collect();
    }
    if findings.environment.targets.is_empty() {
        return super::imported::sections(findings);
    }
    let has_several = findings.environment.targets.len() > 1;
    let main_columns = |target: &assay_study::findings::TargetFacts| {
        let arm = facts::arm_of(findings, target);
        let title = if has_several { target.name.as_str() } else { "" };
        let mut table = check_tables::workload_table(findings, title, &arm);
        narrow(&mut table, |_, column| !column.detail);
        Section::from(table)
    };
    findings.environment.targets.iter().map(main_columns).collect()
}

/// Removes unwanted columns and the notes below rows.
fn narrow(table: &mut Table, wanted: impl Fn(usize, &Column) -> bool) {
    table.retain(wanted);
    for row in table.rows.iter_mut().filter(|row| !row.cells.is_empty()) {
        row.notes.clear();
    }
}

/// Remarks of the rules that make numbers suspect or invalid, without the affected rows.
fn doubtful_remarks(findings: &Findings) -> Vec<Remark> {
    let lowers_trust = |remark: &Remark| {
        let mut reasons = findings.measurements.iter().flat_map(|cell| &cell.reasons);
        reasons
            .any(|it| it.rule == remark.rule && matches!(it.trust, Trust::Suspect | Trust::Invalid))
    };
    let mut remarks = remarks::rules(findings, remarks::NameKind::Workload, super::Detail::Usual);
    remarks.retain(lowers_trust);
    for remark in &mut remarks {
        remark.rows.clear();
    }
    remarks
}

fn test_conditions(findings: &Findings) -> Vec<String> {
    let machine = facts::machine(&findings.environment);
    let day = findings.study.started.get(..10).unwrap_or_default();
    let mut parts =
        vec![format!("assay {} {}, {day}", findings.environment.assay, findings.study.kind)];
    parts.extend(machine.into_iter().map(|(_, value)| value));
    vec![parts.join("; ")]
}
