//! Checks that a clean check triggers no trust rule, for the machine tests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Triggered rules of one check: rule -> workloads, by trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spoken {
    pub cells: usize,
    /// Rules that made cells invalid, with the cells.
    pub invalid: BTreeMap<String, Vec<String>>,
    /// Rules of suspect cells, with the cells.
    pub suspect: BTreeMap<String, Vec<String>>,
    pub told: BTreeSet<String>,
}

impl Spoken {
    pub fn of(findings: &Value) -> Self {
        let mut spoken = Self::default();
        let none = Vec::new();
        for cell in findings["measurements"].as_array().unwrap_or(&none) {
            spoken.cells += 1;
            let into = match cell["trust"].as_str() {
                Some("invalid") => &mut spoken.invalid,
                Some("suspect") => &mut spoken.suspect,
                _ => continue,
            };
            let name = format!("{} {}", word(&cell["workload"]), word(&cell["metric"]));
            let because = cell["reasons"].as_array().unwrap_or(&none).iter();
            // A note has no effect on trust.
            for because in because.filter(|because| because["trust"] != "trusted") {
                into.entry(word(&because["rule"])).or_default().push(name.clone());
                let (workload, text) = (word(&cell["workload"]), word(&because["text"]));
                spoken.told.insert(format!("{workload}: {text}"));
            }
            if cell["reasons"].as_array().is_none_or(Vec::is_empty) {
                into.entry("no reason given".to_owned()).or_default().push(name);
            }
        }
        spoken
    }

    /// Returns whether something is suspect for a reason that must not occur on a quiet device; other processes
    /// (`foreign-io`) and the hypervisor (`steal`) are exempt.
    pub fn is_falsely_suspect(&self) -> bool {
        self.suspect.keys().any(|rule| !["foreign-io", "steal"].contains(&rule.as_str()))
    }

    pub fn line(&self) -> String {
        let told = |rules: &BTreeMap<String, Vec<String>>| {
            let words: Vec<String> =
                rules.iter().map(|(rule, cells)| format!("{rule} ({})", cells.len())).collect();
            if words.is_empty() { "-".to_owned() } else { words.join(", ") }
        };
        let (invalid, suspect) = (told(&self.invalid), told(&self.suspect));
        let mut parts = vec![
            format!("{} cells", self.cells),
            format!("invalid: {invalid}"),
            format!("suspect: {suspect}"),
        ];
        parts.extend(self.told.iter().cloned());
        parts.join("; ")
    }
}

/// Maximum number of clean checks with a false suspect: 2 of 50, rounded up.
pub fn allowed(checks: usize) -> usize {
    (checks * 2).div_ceil(50)
}

/// Returns why a series of clean checks fails; `None` if it passes.
pub fn fault(checks: &[Spoken]) -> Option<String> {
    let empty = checks.iter().filter(|spoken| spoken.cells == 0).count();
    let invalid = checks.iter().filter(|spoken| !spoken.invalid.is_empty()).count();
    let suspect = checks.iter().filter(|spoken| spoken.is_falsely_suspect()).count();
    let allowed = allowed(checks.len());
    if empty > 0 {
        return Some(format!("{empty} checks showed no numbers at all"));
    }
    if invalid > 0 {
        return Some(format!("{invalid} of {} checks called a number invalid", checks.len()));
    }
    (suspect > allowed).then(|| {
        format!("{suspect} of {} checks were falsely suspect, {allowed} may be", checks.len())
    })
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("?").to_owned()
}
