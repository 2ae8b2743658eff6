//! The plan of a command.

use std::collections::BTreeMap;

use assay_core::{quantity::Time, quantity::units::show};
use serde::{Deserialize, Serialize};

use super::tree::{self, SourceTree};
use super::{DURATION, ParseSpec, Produced, Revision, course, events, line};
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

const NOT_SAID: &[&str] = &[
    "hyperfine runs the commands in sequence, so drift can look like a difference between commands",
    "peak memory, and bytes read from and written to storage",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclude: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    pub drop_caches: bool,
    pub shell: bool,
    pub ignore_failure: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_trial: Option<u64>,
    /// Directory of its lines, if it is not the target itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<SourceTree>,
    /// Variables of Assay's environment that it gets besides the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial_setup: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_output: Option<Produced>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parse: Vec<ParseSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Box<Revision>>,
}

impl CommandPlan {
    /// Checks that every line has a program, and valid quotes if no shell reads it.
    pub(super) fn check(&self) -> Result<(), String> {
        let aside = [&self.prepare, &self.conclude, &self.trial_setup, &self.setup];
        for text in aside.into_iter().flatten().chain([&self.run]) {
            line::words(text, self.shell)?;
        }
        Ok(())
    }

    /// A line as a user runs it in the target's directory: in the source tree, if the plan has one.
    fn in_tree(&self, line: &str) -> String {
        if self.tree.is_some() { format!("cd {} && {line}", tree::NAME) } else { line.to_owned() }
    }

    pub(super) fn quoted(&self) -> String {
        format!("`{}`", self.run)
    }
}

impl PlannedWork for CommandPlan {
    fn words(&self) -> String {
        let way = if self.shell {
            "through the shell, with shell startup subtracted"
        } else {
            "without a shell"
        };
        let cold =
            if self.drop_caches { "with an empty page cache" } else { "page cache not dropped" };
        let count = match self.runs_per_trial {
            Some(1) => "one run".to_owned(),
            Some(runs) => format!("{} runs", show::count(runs)),
            None => "repeated until the end of the trial".to_owned(),
        };
        let mut text = self.quoted();
        if let Some(tree) = &self.tree {
            let primed = if self.drop_caches { "" } else { ", after Assay reads every file" };
            text = format!("{text} in {}{primed}", tree.words());
        }
        text.extend(self.revision.as_ref().map(|revision| revision.words()));
        text.extend(self.variables.iter().map(|(name, level)| format!(", {name}={level}")));
        for (line, when) in [
            (&self.trial_setup, "before each trial"),
            (&self.prepare, "before each run"),
            (&self.conclude, "after each run"),
        ] {
            text.extend(line.iter().map(|line| format!(", {when}: `{line}`")));
        }
        text = format!("{text}, {way}, {cold}, {count}");
        text.extend(self.parse.iter().map(|reading| format!(", parsing {}", reading.words())));
        if let Some(product) = self.same_output.as_ref().and_then(Produced::words) {
            text = format!("{text}, requiring identical {product}");
        }
        text
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        course::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        measured.value(metric).or_else(|| events::missing_in_old_result(metric).map(Err))
    }

    fn ready_again(&self, run: &Run<'_>) -> Result<Option<String>, String> {
        course::ready_again(self, run)
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        DURATION.name
    }

    fn operations(&self) -> Option<u64> {
        self.runs_per_trial
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        let runs_per_trial = self.runs_per_trial?.div_ceil(2);
        Some(Self { runs_per_trial: Some(runs_per_trial), ..self.clone() }.into())
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let mut words = vec!["hyperfine".to_owned()];
        match self.runs_per_trial {
            Some(runs) => words.extend(["--runs".to_owned(), runs.to_string()]),
            None => words.extend(["--min-runs", "2"].map(str::to_owned)),
        }
        if !self.shell {
            words.push("--shell=none".to_owned());
        }
        if self.ignore_failure {
            words.push("--ignore-failure".to_owned());
        }
        let mut prepare: Vec<&str> = self.prepare.as_deref().into_iter().collect();
        if self.drop_caches {
            prepare.push("sync; echo 3 | sudo tee /proc/sys/vm/drop_caches");
        }
        if self.tree.is_some() {
            prepare.push(tree::PRIME);
        }
        let options = [
            ("--prepare", (!prepare.is_empty()).then(|| self.in_tree(&prepare.join("; ")))),
            ("--conclude", self.conclude.as_deref().map(|line| self.in_tree(line))),
            ("--input", self.input.clone()),
        ];
        for (option, text) in options {
            words.extend(text.into_iter().flat_map(|text| [option.to_owned(), text]));
        }
        let mut remarks = vec![match &self.revision {
            Some(git) => format!("run this line in {}/{},{}", how.path, git.tree, git.words()),
            None => format!("run this line in {}", how.path),
        }];
        for (name, level) in &self.variables {
            remarks.push(format!("set {name}={level} first"));
        }
        remarks
            .extend(self.trial_setup.as_ref().map(|line| format!("run `{line}` before each call")));
        if !self.parse.is_empty() {
            remarks.push("hyperfine does not read numbers from a program's output".to_owned());
        }
        if let Some(tree) = &self.tree {
            words.extend(["--setup".to_owned(), tree.creation_lines("assay").join(" && ")]);
            words.extend(["--cleanup".to_owned(), tree::removal_line()]);
        }
        words.push(self.in_tree(&self.run));
        if let Some(timeout) = self.timeout_ns {
            remarks.push(format!("hyperfine has no timeout (here {})", Time(timeout)));
        }
        ManualCommand { words, remarks }
    }

    fn not_said(&self) -> &'static [&'static str] {
        NOT_SAID
    }
}
