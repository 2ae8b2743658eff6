//! A study of commands that the command line names, without a file.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Map, Value, json};

use assay_base::failure::{Failure, Outcome};
use assay_base::json::from_value;
use assay_kinds::work::command::{self, Produced, REVISION, Reading};
use assay_study::study::file::Typed;
use assay_study::study::{self, Study};

/// The factor whose levels are commands.
const COMMAND: &str = "command";
/// Replicates where the line does not say.
const REPLICATES: u32 = 10;

/// Commands to measure, in place of a study file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct CommandArguments {
    /// Time a command (repeat to compare)
    ///
    /// The shell runs it repeatedly. Give --command once per command to compare.
    #[arg(long = "command", value_name = "LINE")]
    lines: Vec<String>,
    /// Name a command (repeat for the next)
    #[arg(short = 'n', long = "command-name", value_name = "NAME", requires = "lines")]
    names: Vec<String>,
    /// Replace {NAME} in commands
    ///
    /// The values are levels of a factor. Repeat for more factors.
    #[arg(short = 'L', long = "parameter-list", num_args = 2, value_names = ["NAME", "VALUE,VALUE"])]
    levels: Vec<String>,
    /// Vary an environment variable, e.g. THREADS=1,4
    ///
    /// The values are levels of a factor. Repeat for more factors.
    #[arg(long, value_name = "NAME=LEVEL,LEVEL", requires = "lines")]
    env: Vec<String>,
    /// Compare git commits (baseline first), e.g. main,HEAD
    ///
    /// Uses the repository of this directory, or of TARGET, and only reads it. Assay creates a tree of each commit
    /// below ASSAY_HOME, builds it once with --build LINE, and runs the commands in it.
    #[arg(long = "rev", value_name = "REV,REV", requires = "lines")]
    revisions: Option<String>,
    /// Read a metric: PATTERN:UNIT:higher|lower, or a format
    ///
    /// The pattern is a regular expression whose groups are numbers: 'tps = ([0-9.]+):tps:higher'. /a/b:ms:lower is
    /// a JSON pointer. fio-json and others are formats (assay list importers); go-bench::higher states the
    /// direction of numbers whose names do not imply it. Verdicts use the first number. Repeat for more numbers.
    #[arg(long = "parse", value_name = "SPEC", requires = "lines")]
    reads: Vec<String>,
    /// Read those numbers from this file, rewritten in each run
    #[arg(long = "parse-file", value_name = "FILE", requires = "reads")]
    reads_from: Option<String>,
    /// Withhold the verdict if the commands' outputs differ
    ///
    /// With =PATH, Assay compares the file or directory that they write.
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        requires = "lines"
    )]
    same_output: Option<String>,
    /// Run before the runs of each trial, untimed
    #[arg(long = "trial-setup", value_name = "LINE", requires = "lines")]
    trial_setup: Option<String>,
    /// Run once per command, untimed
    ///
    /// Runs before the first run, and again after assay resume, because the machine may have restarted.
    #[arg(long, value_name = "LINE", requires = "lines")]
    setup: Option<String>,
    /// Run before each run, untimed
    #[arg(long, value_name = "LINE", requires = "lines")]
    prepare: Option<String>,
    /// Run after each run, untimed
    ///
    /// Runs even if the run failed.
    #[arg(long, value_name = "LINE", requires = "lines")]
    conclude: Option<String>,
    /// Empty the page cache before each run (root)
    #[arg(long, requires = "lines")]
    cold: bool,
    /// Start the program directly, without a shell
    #[arg(long, requires = "lines")]
    no_shell: bool,
    /// Count runs that end with an error, too
    #[arg(long, requires = "lines")]
    ignore_failure: bool,
    /// Kill a run and its children after this time
    #[arg(long, value_name = "TIME", requires = "lines")]
    timeout: Option<String>,
    /// Read the commands' standard input from this file
    #[arg(long, value_name = "FILE", requires = "lines")]
    input: Option<String>,
    /// Set the runs per trial [default: as many as fit into a second]
    #[arg(long, value_name = "N", requires = "lines")]
    runs: Option<u64>,
}

impl CommandArguments {
    /// These lines, and nothing else of them.
    pub fn of_lines(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// The line, where there is one and nothing else.
    pub fn alone(&self) -> Option<&str> {
        let [line] = self.lines.as_slice() else { return None };
        (*self == Self::of_lines(self.lines.clone())).then_some(line.as_str())
    }

    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Whether they run in trees of commits.
    pub fn have_revisions(&self) -> bool {
        self.revisions.is_some()
    }

    /// What `--baseline` means where it is one of the commands, or of the revisions.
    pub fn baseline(&self, text: &str) -> Option<(String, String)> {
        if self.levels_of_revisions().contains(&text) {
            return Some((REVISION.to_owned(), text.to_owned()));
        }
        let is_one = |index: &usize| self.lines[*index] == text || self.level(*index) == text;
        let index = (0..self.lines.len()).find(is_one).filter(|_| self.lines.len() > 1)?;
        Some((COMMAND.to_owned(), self.level(index).to_owned()))
    }

    /// What a command is called: its name, or its line.
    fn level(&self, index: usize) -> &str {
        self.names.get(index).unwrap_or(&self.lines[index])
    }

    fn levels_of_revisions(&self) -> Vec<&str> {
        let named = self.revisions.iter().flat_map(|text| text.split(','));
        named.map(str::trim).collect()
    }

    fn called(&self) -> Vec<&str> {
        (0..self.lines.len()).map(|index| self.level(index)).collect()
    }

    /// The study that compares them.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn study(&self) -> Outcome<Study> {
        if let Some(twice) = self.twice() {
            return Err(Failure::mistake(format!(
                "--command '{twice}' is given twice; give each command once"
            )));
        }
        self.check_names()?;
        let mut factors = self.factors()?;
        if self.lines.len() > 1 {
            factors.insert(COMMAND.to_owned(), json!(self.called()));
        }
        let study = json!({
            "format": study::FORMAT,
            "title": self.title(),
            "replicates": REPLICATES,
            "factors": factors,
            "workload": [{ "name": COMMAND, "command": self.work()? }],
        });
        from_value(&study).map_err(|error| {
            Failure::mistake(format!("cannot create a study from the commands: {error}"))
        })
    }

    /// The options of them that were typed, with the keys that they set.
    pub fn typed(&self) -> Vec<Typed> {
        let path = |index: usize| match self.lines.len() {
            1 => "workload/*/command/run".to_owned(),
            _ => format!("factors/{COMMAND}/{index}"),
        };
        let lines = self.lines.iter().enumerate();
        let lines =
            lines.map(|(index, line)| Typed::new(format!("--command '{line}'"), path(index)));
        let levels = self.levels.chunks_exact(2).map(|pair| {
            Typed::new(format!("-L {} {}", pair[0], pair[1]), format!("factors/{}", pair[0]))
        });
        let options = [
            ("prepare", "prepare", self.prepare.clone()),
            ("conclude", "conclude", self.conclude.clone()),
            ("timeout", "timeout", self.timeout.clone()),
            ("input", "input", self.input.clone()),
            ("runs", "runs_per_trial", self.runs.map(|count| count.to_string())),
            ("trial-setup", "trial_setup", self.trial_setup.clone()),
            ("setup", "setup", self.setup.clone()),
            ("same-output", "same_output", self.same_output.clone()),
        ];
        let options = options.into_iter().filter_map(|(name, key, text)| {
            Some(Typed::new(format!("--{name} '{}'", text?), format!("workload/*/command/{key}")))
        });
        let reads = self.reads.iter().enumerate().map(|(index, text)| {
            let path = format!("workload/*/command/parse/{index}");
            Typed::new(format!("--parse '{text}'"), path)
        });
        let variables = self.env.iter().map(|text| {
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            Typed::new(format!("--env {text}"), format!("factors/{name}"))
        });
        let revisions = self.revisions.as_ref();
        let revisions = revisions
            .map(|text| Typed::new(format!("--rev {text}"), format!("factors/{REVISION}")));
        lines.chain(levels).chain(options).chain(reads).chain(variables).chain(revisions).collect()
    }

    fn title(&self) -> String {
        let revisions = self.levels_of_revisions().len();
        if revisions > 1 && self.lines.len() == 1 {
            let best = if self.reads.is_empty() { "takes the least time" } else { "is best" };
            return format!("Which of {revisions} revisions {best}: {}", self.lines[0]);
        }
        match (self.lines.as_slice(), self.reads.is_empty()) {
            ([one], true) => format!("How long does this command take: {one}"),
            ([one], false) => format!("What does this command report: {one}"),
            (several, true) => format!("Which of {} commands takes the least time?", several.len()),
            (several, false) => format!("Which of {} commands is best?", several.len()),
        }
    }

    /// Names are those of commands that are compared, each of one.
    fn check_names(&self) -> Outcome<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let wrong = |told: String| Err(Failure::mistake(told));
        if self.lines.len() < 2 {
            return wrong("-n: a single command needs no name; leave -n out".to_owned());
        }
        if let Some(name) = self.names.get(self.lines.len()) {
            return wrong(format!("-n {name}: more names than commands; leave it out"));
        }
        let called = self.called();
        let mut twice = called.iter().enumerate();
        match twice.find(|(index, name)| called[..*index].contains(name)) {
            Some((_, name)) => {
                wrong(format!("-n {name}: two commands have this name; use distinct names"))
            }
            None => Ok(()),
        }
    }

    /// The lines that have names.
    fn named(&self) -> BTreeMap<String, String> {
        self.names.iter().cloned().zip(self.lines.iter().cloned()).collect()
    }

    /// Where the numbers stand that commands tell of themselves.
    fn readings(&self) -> Outcome<Vec<Reading>> {
        let reading = |text: &String| -> Outcome<Reading> {
            let read: Result<Reading, String> = text.parse();
            let read = read.map_err(|error| Failure::mistake(format!("--parse: {error}")))?;
            Ok(Reading { file: self.reads_from.clone(), ..read })
        };
        self.reads.iter().map(reading).collect()
    }

    /// Variables of their environment with their levels.
    fn variables<'s>(&'s self) -> Outcome<Vec<(&'s str, Vec<&'s str>)>> {
        let variable = |text: &'s String| -> Outcome<(&'s str, Vec<&'s str>)> {
            let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
            let (name, levels) = parts.ok_or_else(|| {
                Failure::mistake(format!("--env {text}: use the form --env THREADS=1,4"))
            })?;
            Ok((name, levels.split(',').map(str::trim).collect()))
        };
        self.env.iter().map(variable).collect()
    }

    fn work(&self) -> Outcome<command::Asked> {
        let run = match self.lines.as_slice() {
            [one] => one.as_str(),
            _ => "",
        };
        let timeout = self.timeout.as_deref().map(|text| {
            text.parse().map_err(|error| Failure::mistake(format!("--timeout: {error}")))
        });
        let same_output = self
            .same_output
            .clone()
            .map(|path| if path.is_empty() { Produced::Printed(true) } else { Produced::At(path) });
        Ok(command::Asked {
            trial_setup: self.trial_setup.clone(),
            setup: self.setup.clone(),
            variables: self.variables()?.into_iter().map(|(name, _)| name.to_owned()).collect(),
            same_output,
            commands: self.named(),
            // That of the directory in which the line is typed, unless it names another one.
            repository: self.revisions.as_ref().map(|_| ".".to_owned()),
            parse: self.readings()?,
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            input: self.input.clone(),
            drop_caches: self.cold,
            shell: !self.no_shell,
            ignore_failure: self.ignore_failure,
            timeout: timeout.transpose()?,
            runs_per_trial: self.runs,
            ..command::Asked::new(run)
        })
    }

    fn twice(&self) -> Option<&String> {
        let mut lines = self.lines.iter().enumerate();
        lines.find(|(index, line)| self.lines[..*index].contains(line)).map(|(_, line)| line)
    }

    /// The levels that lines name, by factor.
    fn factors(&self) -> Outcome<Map<String, Value>> {
        let texts = || {
            let others =
                [&self.prepare, &self.conclude, &self.input, &self.trial_setup, &self.setup];
            self.lines.iter().chain(others.into_iter().flatten())
        };
        let mut factors = Map::new();
        for pair in self.levels.chunks_exact(2) {
            let (name, values) = (&pair[0], &pair[1]);
            let placeholder = format!("{{{name}}}");
            if !texts().any(|text| text.contains(&placeholder)) {
                return Err(Failure::mistake(format!(
                    "-L {name}: no command contains {placeholder}; add it where the values belong"
                )));
            }
            let levels: Vec<&str> = values.split(',').map(str::trim).collect();
            if factors.insert(name.clone(), json!(levels)).is_some() {
                return Err(Failure::mistake(format!("-L {name} is given twice; give it once")));
            }
        }
        for (name, levels) in self.variables()? {
            if factors.insert(name.to_owned(), json!(levels)).is_some() {
                return Err(Failure::mistake(format!(
                    "--env {name}: already a factor; leave it out"
                )));
            }
        }
        if let Some(text) = &self.revisions
            && factors.insert(REVISION.to_owned(), json!(self.levels_of_revisions())).is_some()
        {
            return Err(Failure::mistake(format!("--rev {text}: {REVISION} is a factor already")));
        }
        Ok(factors)
    }
}
