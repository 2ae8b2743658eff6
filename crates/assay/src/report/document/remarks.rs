//! Remarks: what rules, comparisons and checks say, each distinct text once.

use super::Remark;
use crate::results::findings::{Findings, TargetFacts};
use crate::results::plan::{Arm, arm_words};

/// How rows are called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// By their workload, with the target where there are several.
    Workload,
    /// By their workload and all levels.
    Arm,
}

impl Name {
    fn of(self, workload: &str, arm: &Arm) -> String {
        match (self, arm.get("target")) {
            (Self::Workload, Some(target)) => format!("{workload} on {target}"),
            (Self::Workload, None) => workload.to_owned(),
            (Self::Arm, _) => format!("{workload} {}", arm_words(arm)),
        }
    }
}

/// What the rules of trust say, in the order in which rules and rows are told.
pub(super) fn rules(findings: &Findings, name: Name) -> Vec<Remark> {
    let mut found: Vec<Remark> = Vec::new();
    for cell in &findings.cells {
        let again = if cell.control { " (same again)" } else { "" };
        let row = format!("{}{again}", name.of(&cell.workload, &cell.arm));
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
            add(&mut found, "note", note, &name.of(&workload.name, &workload.arm));
        }
    }
    let all = findings.workloads.len();
    for remark in &mut found {
        if remark.rows.len() == all && all > 1 {
            remark.rows = vec!["all rows".to_owned()];
        } else if name == Name::Arm {
            gather(findings, &mut remark.rows);
        }
    }
    found
}

/// `work: all arms` in the place of all arms of a workload.
fn gather(findings: &Findings, rows: &mut Vec<String>) {
    let mut workloads: Vec<&str> =
        findings.workloads.iter().map(|facts| facts.name.as_str()).collect();
    workloads.dedup();
    for workload in workloads {
        let own = |row: &String| row.strip_prefix(workload).is_some_and(|end| end.starts_with(' '));
        let arms = findings.workloads.iter().filter(|facts| facts.name == workload).count();
        if arms > 1 && rows.iter().filter(|row| own(row)).count() == arms {
            let at = rows.iter().position(own).unwrap_or(0);
            rows.retain(|row| !own(row));
            rows.insert(at, format!("{workload}: all arms"));
        }
    }
}

/// Adds a text, or a row to a text that is known.
pub(super) fn add(found: &mut Vec<Remark>, rule: &str, text: &str, row: &str) {
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

/// Notes of targets, and the checks that are wanted.
pub(super) fn warnings(findings: &Findings, wanted: impl Fn(&str) -> bool) -> Vec<Remark> {
    let several = findings.environment.targets.len() > 1;
    let of_target = |target: &TargetFacts| -> Vec<String> {
        let named = |note: &String| {
            if several { format!("{}: {note}", target.name) } else { note.clone() }
        };
        target.notes.iter().map(named).collect()
    };
    let checks = findings.checks.iter().filter(|check| wanted(&check.name));
    let told = findings.environment.targets.iter().flat_map(of_target);
    told.chain(checks.map(|check| check.text.clone()))
        .map(|text| Remark { rule: "note".to_owned(), text, rows: Vec::new() })
        .collect()
}
