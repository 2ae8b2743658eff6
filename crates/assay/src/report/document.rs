//! What a reader is told, without a look: facts, tables, remarks, sentences. Made from findings
//! alone; [`super::text`] gives it a form.

mod tables;

use crate::quantity::units::show;
use crate::results::findings::{EnvironmentFacts, Findings, TargetFacts, Trust};
use crate::results::plan::Arm;

use super::table::Column;

/// Title of the preset `check`: a result that still has it needs no title line.
const USUAL_TITLE: &str = "What can this storage really do?";

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Heading: tool, version, kind of study, date.
    pub title: String,
    /// Name and value of what the numbers were measured on.
    pub facts: Vec<(String, String)>,
    /// One section a target, then the comparison.
    pub sections: Vec<Section>,
    /// How the tables are to be read.
    pub legend: Vec<String>,
    /// What the rules say, each distinct text once.
    pub remarks: Vec<Remark>,
    /// What the numbers mean to an owner.
    pub sentences: Vec<String>,
    /// What else a reader must know: fall-backs, missing trials.
    pub warnings: Vec<String>,
}

/// One table with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading, where there is more than one section.
    pub caption: Option<String>,
    /// Facts of this section alone.
    pub facts: Vec<(String, String)>,
    /// Columns; the first names the row, the last is its trust.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Cells; only the first where the row is absent.
    pub cells: Vec<String>,
    /// Trust, which is also the last cell.
    pub trust: Option<Trust>,
    /// Lines below the row: another depth, the reason of an absence.
    pub notes: Vec<String>,
}

/// What a rule says, and of which rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The rule.
    pub rule: String,
    /// What it says.
    pub text: String,
    /// Rows that it speaks of.
    pub rows: Vec<String>,
}

/// The word for a trust.
pub fn trust_word(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::Suspect => "suspect",
        Trust::Invalid => "invalid",
    }
}

/// The document of findings.
pub fn make(findings: &Findings) -> Document {
    let several = findings.environment.targets.len() > 1;
    let mut facts = study_facts(findings);
    let mut sections = Vec::new();
    for target in &findings.environment.targets {
        let own = target_facts(target);
        let arm = if several { arm_of(target) } else { Arm::new() };
        let (caption, own) = if several {
            (Some(target.name.clone()), own)
        } else {
            facts.extend(own);
            (None, Vec::new())
        };
        sections.push(tables::workloads(findings, &arm, caption, own));
    }
    facts.extend(machine_facts(&findings.environment));
    if let Some(order) = check_text(findings, "order") {
        facts.push(("order".to_owned(), order));
    }
    sections.extend(tables::comparison(findings));
    Document {
        title: title(findings),
        facts,
        legend: tables::legend(findings, &sections),
        sections,
        remarks: remarks(findings),
        sentences: findings.summary.clone(),
        warnings: warnings(findings),
    }
}

fn arm_of(target: &TargetFacts) -> Arm {
    Arm::from([("target".to_owned(), target.name.clone())])
}

/// `assay 0.1.0 check  2026-07-30 12:00`.
fn title(findings: &Findings) -> String {
    let started = findings.study.started.replace('T', " ");
    let minute: String = started.chars().take(16).collect();
    format!("assay {} {}  {minute}", findings.environment.assay, findings.study.kind)
}

fn study_facts(findings: &Findings) -> Vec<(String, String)> {
    let study = &findings.study;
    let title = (study.title != USUAL_TITLE).then(|| ("title".to_owned(), study.title.clone()));
    let notes = study.notes.iter().map(|note| ("note".to_owned(), note.clone()));
    title.into_iter().chain(notes).collect()
}

fn target_facts(target: &TargetFacts) -> Vec<(String, String)> {
    let size = target.size_bytes.map(show::bytes);
    let turning = (target.rotational == Some(true)).then(|| "rotating".to_owned());
    let scheduler = target.scheduler.as_ref().map(|name| format!("scheduler {name}"));
    let drive: Vec<String> =
        [Some(target.drive.clone()), size, turning, scheduler].into_iter().flatten().collect();
    let way = if target.direct { "direct I/O" } else { "through the page cache" };
    let mut facts = vec![("drive".to_owned(), drive.join(", "))];
    if target.stack.len() > 1 {
        facts.push(("stack".to_owned(), target.stack.join(" on ")));
    }
    facts.push(("filesystem".to_owned(), target.filesystem.clone()));
    facts.push(("area".to_owned(), format!("{}, {way}", show::bytes(target.area_bytes))));
    facts
}

fn machine_facts(environment: &EnvironmentFacts) -> Vec<(String, String)> {
    let mut machine = vec![environment.cpu.clone()];
    match environment.cpus {
        None => {}
        Some(1) => machine.push("1 processor".to_owned()),
        Some(count) => machine.push(format!("{count} processors")),
    }
    if let Some(bytes) = environment.memory_bytes {
        machine.push(format!("{} memory", show::bytes(bytes)));
    }
    if environment.virtualisation != "none" && !environment.virtualisation.is_empty() {
        machine.push(environment.virtualisation.clone());
    }
    vec![
        ("kernel".to_owned(), environment.kernel.clone()),
        ("machine".to_owned(), machine.join(", ")),
    ]
}

fn check_text(findings: &Findings, name: &str) -> Option<String> {
    findings.checks.iter().find(|check| check.name == name).map(|check| check.text.clone())
}

/// Each distinct text of a rule once, in the order in which rules and rows are told.
fn remarks(findings: &Findings) -> Vec<Remark> {
    let mut found: Vec<Remark> = Vec::new();
    for cell in &findings.cells {
        let row = row_name(&cell.workload, &cell.arm);
        for because in &cell.because {
            add(&mut found, &because.rule, &because.text, &row);
        }
    }
    let mut rules: Vec<String> = Vec::new();
    for remark in &found {
        if !rules.contains(&remark.rule) {
            rules.push(remark.rule.clone());
        }
    }
    found.sort_by_key(|remark| rules.iter().position(|rule| *rule == remark.rule));
    for workload in &findings.workloads {
        // A note on the depth stands below its row.
        if workload.depth == workload.asked_depth
            && let Some(note) = &workload.note
        {
            add(&mut found, "note", note, &row_name(&workload.name, &workload.arm));
        }
    }
    let all = findings.workloads.len();
    for remark in &mut found {
        if remark.rows.len() == all && all > 1 {
            remark.rows = vec!["all rows".to_owned()];
        }
    }
    found
}

fn add(found: &mut Vec<Remark>, rule: &str, text: &str, row: &str) {
    match found.iter_mut().find(|remark| remark.rule == rule && remark.text == text) {
        Some(remark) if remark.rows.iter().any(|known| known == row) => {}
        Some(remark) => remark.rows.push(row.to_owned()),
        None => found.push(Remark {
            rule: rule.to_owned(),
            text: text.to_owned(),
            rows: vec![row.to_owned()],
        }),
    }
}

/// `random-write-q1`, with its target where there are several.
fn row_name(workload: &str, arm: &Arm) -> String {
    match arm.get("target") {
        Some(target) => format!("{workload} on {target}"),
        None => workload.to_owned(),
    }
}

fn warnings(findings: &Findings) -> Vec<String> {
    let several = findings.environment.targets.len() > 1;
    let of_target = |target: &TargetFacts| -> Vec<String> {
        let named = |note: &String| {
            if several { format!("{}: {note}", target.name) } else { note.clone() }
        };
        target.notes.iter().map(named).collect()
    };
    let checks = findings.checks.iter().filter(|check| check.name != "order");
    let told = findings.environment.targets.iter().flat_map(of_target);
    told.chain(checks.map(|check| check.text.clone())).collect()
}
