//! The page of a check: one table per target, how to read it, and its meaning.

use super::remarks::{NameKind, add, rules, warnings};
use super::{
    Block, Detail, Document, Remark, Section, SectionRole, answers, check_tables, check_text,
    classes, commands, energy, exhibits, facts, files, hosts, imported, micro, probes,
};
use assay_core::quantity::metric::class;
use assay_study::{findings::Findings, results::plan::arm_in_words};
use assay_workloads::metrics::noun;

/// Checks of how the study went, not of its numbers: only detailed output has them.
const COURSE_CHECKS: [&str; 2] = ["order", "time"];

pub(super) fn document(findings: &Findings, detail: Detail) -> Document {
    let has_several = findings.environment.targets.len() > 1;
    let mut tables = Vec::new();
    let (commands, micro) = (commands::section(findings), micro::section(findings));
    let files = files::section(findings);
    let (of_kinds, of_numbers) = (exhibits::sections(findings), exhibits::of_numbers(findings));
    let has_other_numbers = [&commands, &micro, &files].iter().any(|section| section.is_some())
        || !of_kinds.is_empty()
        || !of_numbers.is_empty();
    for target in &findings.environment.targets {
        let arm = facts::arm_of(findings, target);
        let title = if has_several { target.name.as_str() } else { "" };
        let table = check_tables::workload_table(findings, title, &arm);
        let classes = classes::table(findings, title, &arm);
        // Observed production work only has classes of requests; commands have a separate table.
        let can_omit = classes.is_some() || has_other_numbers;
        if !table.rows.is_empty() || !can_omit {
            tables.push(table);
        }
        tables.extend(classes);
    }
    tables.extend(check_tables::targets_compared(findings));
    let mut legend = check_tables::legend(findings, &tables);
    let has_classes = findings.measurements.iter().any(|cell| class(&cell.metric).is_some());
    legend.extend(has_classes.then(|| classes::LEGEND.to_owned()));
    let mut remarks = rules(findings, NameKind::Workload, detail);
    remarks.extend(warnings(findings, |check| !COURSE_CHECKS.contains(&check)));
    if detail == Detail::Page {
        remarks.extend(missing(findings, |metric| metric != commands::DURATION));
    }
    let mut main: Vec<Section> = tables.into_iter().map(Section::from).collect();
    main.extend(of_kinds);
    main.extend(hosts::section(findings));
    main.extend(imported::sections(findings));
    main.extend(commands);
    main.extend(micro);
    main.extend(files);
    main.extend(of_numbers);
    let fact_rows = Section::new(Block::Facts(fact_rows(findings, detail)));
    let mut sections = vec![fact_rows, super::summary(findings.summary_texts())];
    sections.extend(main.into_iter().map(Section::into_main));
    sections.extend(exhibits::of_topics(findings));
    sections.push(Section::new(Block::Text(legend)).with_role(SectionRole::Closer));
    sections.push(Section::new(Block::Remarks(remarks)));
    sections.extend(energy::section(findings));
    sections.extend(probes::sections(findings, detail));
    sections.extend(answers::questions(findings));
    Document { title: facts::title(findings), sections }
}

/// The study, its targets and the machine; the usual detail omits how the study went.
fn fact_rows(findings: &Findings, detail: Detail) -> facts::Facts {
    let mut rows = facts::study(findings);
    match findings.environment.targets.as_slice() {
        [target] => rows.extend(facts::target(target)),
        targets => {
            rows.extend(targets.iter().map(|it| ("target".to_owned(), facts::target_line(it))));
        }
    }
    rows.extend(facts::machine(&findings.environment));
    for name in COURSE_CHECKS.into_iter().filter(|_| detail != Detail::Usual) {
        rows.extend(check_text(findings, name).map(|text| (name.to_owned(), text)));
    }
    rows
}

/// Remarks on missing numbers of the `wanted` metrics: each reason once, with the rows that lack the number.
pub(super) fn missing(findings: &Findings, wanted: impl Fn(&str) -> bool) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for entry in &findings.absent {
        if let Some(metric) = entry.metric.as_ref().filter(|metric| wanted(metric)) {
            let row =
                [noun(metric), "of", &entry.workload, &arm_in_words(entry.configuration.iter())]
                    .join(" ");
            add(&mut remarks, "no number", None, &entry.reason, row.trim_end());
        }
    }
    remarks
}
