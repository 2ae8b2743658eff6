//! Any program, run repeatedly: its time and its use of resources.

mod course;
mod detail;
mod events;
mod keys;
mod line;
mod planned;
pub mod readings;
mod reads;
mod revision;
mod same;
mod tally;
#[cfg(test)]
mod tests;
pub mod tree;

use std::collections::BTreeMap;

use assay_core::catalogue::About;
use assay_core::outside;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_machine::system::network::token::is_secret;

use super::Work;
use super::keys::runtime;
use super::place::{Offer, Run};
use super::workload::{Basis, Complaints, InStudy, Needs, WorkloadKind, WorkloadSpec};
use crate::metrics::lower;

pub use detail::{CommandDetail, KEPT_BYTES, KEPT_RUNS, OutputTail};
pub use keys::CommandSpec;
pub use planned::CommandPlan;
pub use readings::{
    FORMATS, ImportEvidence, MOST_NUMBERS, ParseSpec, ParsedNumber, ReadFormat, ToolOutput, slug,
};
pub use reads::READS;
pub use revision::{REVISION, Revision, tree_name};
pub use same::Produced;

use readings::MOST_READINGS;
use tree::SourceTree;

/// The placeholder for the number of jobs: the study's, or the number of processors.
pub const JOBS: &str = "jobs";
/// A quick check compiles this fraction of the files of a generated tree.
const QUICK_SHARE: u64 = 6;

const TRIAL: Time = Time(1_000_000_000);
const QUICK: Time = Time(200_000_000);
/// Time limit if runs are counted: a day.
const COUNTED: Time = Time(86_400_000_000_000);

pub(super) const DURATION: Metric =
    lower("duration_s", "time", "mean duration of the runs of a trial, excluding shell startup");
const SHORTEST: Metric = lower(
    "duration_min_s",
    "shortest time",
    "shortest duration of a run in a trial, excluding shell startup",
);
const LONGEST: Metric = lower(
    "duration_max_s",
    "longest time",
    "longest duration of a run in a trial, excluding shell startup",
);
const USER: Metric = lower(
    "user_s",
    "user time",
    "user CPU time of a run and its children, mean of a trial's runs, excluding the shell",
);
const SYSTEM: Metric = lower(
    "system_s",
    "system time",
    "system CPU time of a run and its children, mean of a trial's runs, excluding the shell",
);
const PEAK_MEMORY: Metric =
    lower("peak_memory_bytes", "peak memory", "peak memory of a run, maximum of a trial's runs")
        .amount();
const READ: Metric = lower(
    "read_bytes",
    "bytes from storage",
    "bytes read from storage per run, mean of a trial's runs",
)
.traffic();
const WRITTEN: Metric = lower(
    "write_bytes",
    "bytes to storage",
    "bytes written to storage per run, mean of a trial's runs",
)
.traffic();

impl CommandSpec {
    pub fn new(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }

    /// All texts that may contain placeholders, except those of `parse` and `same_output`.
    fn lines(&self) -> impl Iterator<Item = &str> {
        let optional = [&self.prepare, &self.conclude, &self.input, &self.trial_setup, &self.setup];
        let others = optional.into_iter().flatten().chain(self.commands.values());
        [&self.run].into_iter().chain(others).map(String::as_str)
    }

    fn set_line(&mut self, level: &str) {
        self.run = self.commands.get(level).map_or(level, String::as_str).to_owned();
    }

    /// The commit at the level of its arm; `None` without a repository.
    fn revision(&self) -> Result<Option<Revision>, String> {
        let Some(repository) = &self.repository else { return Ok(None) };
        let no_level = || format!("no revision of {repository} to run");
        let level = self.levels.get(REVISION).ok_or_else(no_level)?;
        let commit = self.commits.get(level).ok_or_else(|| {
            format!("no commit in {repository} matches {}", outside::spelled(level))
        })?;
        Ok(Some(Revision::new(repository, self.build.as_deref(), commit)))
    }

    pub fn names_jobs(&self) -> bool {
        self.lines().any(|text| line::names(text, JOBS))
    }

    pub fn has_tree(&self) -> bool {
        self.c_files.is_some() || self.source.is_some()
    }

    pub(super) fn names_factor(&self, factor: &str, study: &InStudy<'_>) -> bool {
        let levels = ["command", "prepare"].into_iter().filter_map(|name| study.factors.get(name));
        let varied = levels.flatten().map(String::as_str);
        variable(factor).is_some()
            || self.lines().chain(varied).any(|text| line::names(text, factor))
    }

    pub(super) fn may_report(&self, metric: &str) -> bool {
        // The metrics of a format depend on the output.
        self.parse.iter().any(|reading| {
            reading.format.is_some() || reading.metrics().iter().any(|other| other == metric)
        })
    }

    /// Replaces the placeholders in a text.
    fn fill(&self, text: &str) -> String {
        let mut levels = self.levels.clone();
        if let Some(jobs) = self.jobs {
            levels.entry(JOBS.to_owned()).or_insert_with(|| jobs.to_string());
        }
        line::fill(text, &levels)
    }

    fn fill_spec(&self, reading: &ParseSpec) -> ParseSpec {
        let file = reading.file.as_deref().map(|file| self.fill(file));
        ParseSpec { file, ..reading.clone() }
    }

    fn fill_product(&self, product: &Produced) -> Produced {
        match product {
            Produced::At(path) => Produced::At(self.fill(path)),
            Produced::Printed(_) => product.clone(),
        }
    }

    /// The environment variables that factors set.
    fn variables(&self) -> BTreeMap<String, String> {
        let levels = self.levels.iter();
        levels
            .filter_map(|(name, level)| Some((variable(name)?.to_owned(), level.clone())))
            .collect()
    }

    fn tree(&self) -> Option<SourceTree> {
        let copied = self.source.clone().map(|source| SourceTree::Copied { source });
        copied.or_else(|| self.c_files.map(SourceTree::generated))
    }

    /// Reports mistakes in `parse` and `same_output`.
    fn complain_of_output(&self, path: &str, to: &mut dyn Complaints) {
        let mut known: Vec<String> = Vec::new();
        if self.parse.len() > MOST_READINGS {
            let count = self.parse.len();
            let message = format!("parse has {count} metrics; the maximum is {MOST_READINGS}");
            let hint = "remove some: a pattern with several groups reads several metrics";
            to.value(&format!("{path}/parse/{MOST_READINGS}"), message, Some(hint.to_owned()));
        }
        for (index, reading) in self.parse.iter().enumerate().take(MOST_READINGS) {
            let path = format!("{path}/parse/{index}");
            reads::complain(reading, &path, to);
            for name in reading.metrics() {
                if known.contains(&name) && !to.is_wrong(&path) {
                    let hint = "rename one of the metrics: name = \"...\"".to_owned();
                    to.value(&path, format!("two metrics have the name {name}"), Some(hint));
                }
                known.push(name);
            }
        }
        if let Some(Produced::At(file)) = &self.same_output
            && (file.starts_with('-') || file.contains('\0'))
        {
            let hint = "example: same_output = \"out\"".to_owned();
            let message = "same_output must be true, or the path of a file or directory".to_owned();
            to.value(&format!("{path}/same_output"), message, Some(hint));
        }
    }

    /// Reports mistakes in `needs` and `commands`.
    fn complain_of_names(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        // Assay runs these programs to read their versions, perhaps as root: it must not run a file of the study.
        let is_path = |name: &&String| name.is_empty() || name.contains('/');
        if let Some(name) = self.needs.iter().find(is_path) {
            let hint = "use names on the search path, such as \"make\"";
            let message = format!("`{}` is not a program name", outside::spelled(name));
            to.value(&format!("{path}/needs"), message, Some(hint.to_owned()));
        }
        let levels = study.factors.get("command");
        let is_level = |name: &String| levels.is_some_and(|levels| levels.contains(name));
        if let Some(name) = self.commands.keys().find(|name| !is_level(name)) {
            let name = outside::spelled(name);
            let hint = format!("add it below [factors]: command = [\"{name}\"]");
            let message = format!("{name} is not a level of the factor command");
            to.key(&format!("{path}/commands"), message, Some(hint));
        }
    }

    /// Reports mistakes in `repository`, `build` and `commits`.
    fn complain_of_revisions(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        let levels = study.factors.get(REVISION);
        if self.repository.is_none() {
            let alone = [("build", self.build.is_some()), ("commits", !self.commits.is_empty())];
            let key = alone.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name);
            let at = key.map_or_else(|| path.to_owned(), |name| format!("{path}/{name}"));
            // A placeholder may have this name, too.
            if key.is_some() || (levels.is_some() && !self.names_factor(REVISION, study)) {
                let hint = "add repository = \".\"".to_owned();
                to.key(&at, "revision needs a repository".to_owned(), Some(hint));
            }
            return;
        }
        let Some(levels) = levels else {
            let hint = "add it below [factors]: revision = [\"main\", \"HEAD\"]".to_owned();
            let message = "repository needs the factor revision".to_owned();
            to.key(&format!("{path}/repository"), message, Some(hint));
            return;
        };
        if self.has_tree() {
            let hint = "remove repository, or c_files and source".to_owned();
            let message = "the source tree is set twice".to_owned();
            to.key(&format!("{path}/repository"), message, Some(hint));
        }
        let is_wrong = |(name, commit): &(&String, &String)| {
            !levels.contains(name) || !revision::is_commit(commit)
        };
        if let Some((name, _)) = self.commits.iter().find(is_wrong) {
            let hint = "remove commits: Assay resolves the levels of revision";
            let name = outside::spelled(name);
            let message =
                format!("{name} is not a level of the factor revision with a full commit hash");
            to.value(&format!("{path}/commits"), message, Some(hint.to_owned()));
        }
    }

    /// Reports mistakes in `c_files`, `source` and `jobs`.
    fn complain_of_tree(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        if self.c_files.is_some() && self.source.is_some() {
            let hint = "remove c_files or source".to_owned();
            let message = "the tree is set twice: by c_files and by source".to_owned();
            to.key(&format!("{path}/c_files"), message, Some(hint));
        }
        let relative = self.source.as_deref().is_some_and(|source| !source.starts_with('/'));
        if relative && !to.is_wrong(&format!("{path}/source")) {
            let message = "source must not be relative, because the lines run in another directory"
                .to_owned();
            to.value(&format!("{path}/source"), message, Some("use an absolute path".to_owned()));
        }
        let is_used = self.names_jobs() || study.factors.contains_key("command");
        if self.jobs.is_some() && !is_used && !to.is_wrong(&format!("{path}/jobs")) {
            let hint = "example: run = \"make -j{jobs}\"".to_owned();
            to.key(&format!("{path}/jobs"), "no line contains {jobs}".to_owned(), Some(hint));
        }
        if self.jobs.is_some() && study.factors.contains_key(JOBS) {
            let hint = "remove the key or the factor".to_owned();
            let message = "jobs is set twice: as a key and as a factor".to_owned();
            to.key(&format!("{path}/jobs"), message, Some(hint));
        }
    }

    /// Fills the levels of its arm into all lines; fails if the plan is invalid.
    fn make_plan(&self) -> Result<CommandPlan, String> {
        let fill = |text: &Option<String>| text.as_deref().map(|text| self.fill(text));
        let planned = CommandPlan {
            run: self.fill(&self.run),
            prepare: fill(&self.prepare),
            conclude: fill(&self.conclude),
            input: fill(&self.input),
            drop_caches: self.drop_caches,
            shell: self.shell,
            ignore_failure: self.ignore_failure,
            timeout_ns: self.timeout.map(|timeout| timeout.0),
            runs_per_trial: self.runs_per_trial,
            tree: self.tree(),
            pass_env: self.pass_env.clone(),
            trial_setup: fill(&self.trial_setup),
            setup: fill(&self.setup),
            variables: self.variables(),
            same_output: self.same_output.as_ref().map(|product| self.fill_product(product)),
            parse: self.parse.iter().map(|reading| self.fill_spec(reading)).collect(),
            revision: self.revision()?.map(Box::new),
        };
        planned.check()?;
        Ok(planned)
    }
}

/// The environment variable of a factor `env:NAME`.
fn variable(factor: &str) -> Option<&str> {
    let is_set = |name: &&str| line::is_variable(name) && !is_secret(name);
    factor.strip_prefix("env:").filter(is_set)
}

impl WorkloadKind for CommandSpec {
    const ABOUT: About = About {
        name: "command",
        summary: "repeated runs of any program",
        text: "Assay runs a program repeatedly in the target's directory until the trial ends, and compares mean \
               durations. The program has no terminal. Assay discards the output unless `parse` or `same_output` needs \
               it. Each run starts after all children of the previous run end. Metrics that `parse` reads from the \
               output have the prefix reported_; verdicts use the first metric. Assay stores the last 64 KiB of the \
               program's output per trial. Assay counts page faults and context switches per run, and instructions, \
               cycles and cache misses if supported by the kernel. In a command line, `{replicate}` and `{trial}` \
               expand to the current numbers. Under sudo, the program runs as the calling user unless --as-root is \
               set. The program gets PATH, HOME, USER, LOGNAME, SHELL, MAIL, LANG, LANGUAGE, LC_*, TERM, TMPDIR, TZ \
               and the variables in `pass_env`. Assay records the names of the variables, never the values. Assay adds \
               a variable of random length, because the environment size affects timing.",
    };
    const EXAMPLE: &'static str = "command = { run = \"tar xf archive.tar\" }";
    const METRICS: &'static [&'static [Metric]] = &[
        &[DURATION, SHORTEST, LONGEST, USER, SYSTEM, PEAK_MEMORY, READ, WRITTEN],
        events::METRICS,
    ];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
    const RUNS_PROGRAMS: bool = true;
}

impl WorkloadSpec for CommandSpec {
    fn words(&self) -> String {
        let run = if self.run.is_empty() { "a command" } else { self.run.as_str() };
        let cold = if self.drop_caches { ", with an empty page cache" } else { "" };
        format!("runs {run}{cold}")
    }

    fn needs(&self) -> Needs {
        Needs::Directory
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        let is_factor = study.factors.contains_key("command");
        if self.run.is_empty() && !is_factor && !to.is_wrong(&format!("{path}/run")) {
            let hint = "add run = \"...\", or make command a factor".to_owned();
            to.key(path, "command needs a line to run".to_owned(), Some(hint));
        }
        if !self.run.is_empty() && is_factor {
            let hint = "remove run or the factor".to_owned();
            let message = "the command is set twice: by run and by the factor command".to_owned();
            to.key(&format!("{path}/run"), message, Some(hint));
        }
        // The input is a path, which may contain quotes.
        let mut commands = self.lines().filter(|text| self.input.as_deref() != Some(*text));
        if let Some(error) = commands.find_map(|text| line::words(text, self.shell).err())
            && !self.run.is_empty()
        {
            to.key(path, error, Some("quote the words as in a shell".to_owned()));
        }
        let is_allowed = |name: &String| line::is_variable(name) && !is_secret(name);
        if let Some(name) = self.pass_env.iter().find(|name| !is_allowed(name))
            && !to.is_wrong(&format!("{path}/pass_env"))
        {
            let hint = "use variable names, such as \"CARGO_HOME\"".to_owned();
            let name = outside::spelled(name);
            let message = format!("`{name}` is not a valid environment variable name");
            to.value(&format!("{path}/pass_env"), message, Some(hint));
        }
        self.complain_of_tree(path, study, to);
        self.complain_of_output(path, to);
        self.complain_of_names(path, study, to);
        self.complain_of_revisions(path, study, to);
    }

    fn take(&mut self, factor: &str, level: &str) {
        self.levels.insert(factor.to_owned(), level.to_owned());
    }

    runtime!();

    fn ends_by_time(&self) -> bool {
        self.runs_per_trial.is_none()
    }

    fn settle(&mut self) {
        let usual = if self.runs_per_trial.is_some() { COUNTED } else { TRIAL };
        self.runtime = self.runtime.or(Some(usual));
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        self.c_files = self.c_files.map(|files| files.div_ceil(QUICK_SHARE));
        if self.runs_per_trial.is_none() {
            self.runtime = Some(QUICK);
        }
    }

    fn plan(&self, _: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        Ok((self.make_plan()?.into(), None))
    }

    /// One run: a missing or failing program is reported before the study begins.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        course::pilot(&self.make_plan()?, run).map(Some)
    }

    fn costs_like(&self, other: &Work) -> bool {
        let other = Self::of(other).and_then(|other| other.make_plan().ok());
        other.is_some_and(|other| self.make_plan() == Ok(other))
    }
}
