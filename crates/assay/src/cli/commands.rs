//! A study of commands given on the command line, without a study file.

use clap::Args;
use serde_json::{Map, Value, json};

use assay_core::failure::{Failure, Outcome};
use assay_core::json::from_value;
use assay_study::file::text::TypedWords;
use assay_study::file::{self, Study};
use assay_workloads::command::{self, ParseSpec, REVISION};

const COMMAND: &str = "command";
const REPLICATES: u32 = 10;

fn parse_study(study: &Value) -> Outcome<Study> {
    from_value(study).map_err(|error| mistake!("cannot create a study from the commands: {error}"))
}

/// Commands to measure, in place of a study file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct CommandArguments {
    /// Time a command (repeat to compare)
    ///
    /// The shell runs the command repeatedly. Give --command once per command to compare.
    #[arg(long = "command", value_name = "LINE")]
    lines: Vec<String>,
    /// Name a command (repeat once per command)
    #[arg(short = 'n', long = "command-name", value_name = "NAME", requires = "lines")]
    names: Vec<String>,
    /// Replace {NAME} in commands
    ///
    /// Commas separate the values, which are the levels of a factor. Repeat for more factors.
    #[arg(short = 'L', long = "parameter-list", num_args = 2, value_names = ["NAME", "VALUES"])]
    levels: Vec<String>,
    /// Compare git commits (baseline first), e.g. main,HEAD
    ///
    /// Uses the repository of this directory or of TARGET, without changes. Assay checks out each commit below
    /// ASSAY_HOME, builds each tree once with --build LINE, and runs the commands there.
    #[arg(long = "rev", value_name = "REV,REV", requires = "lines")]
    revisions: Option<String>,
    /// Build each commit once, untimed
    #[arg(long, value_name = "LINE", requires = "revisions")]
    build: Option<String>,
    /// Read a metric: PATTERN:UNIT:higher|lower, or a format
    ///
    /// The pattern is a regular expression whose groups match numbers: 'tps = ([0-9.]+):tps:higher'. /a/b:ms:lower is a
    /// JSON pointer. fio-json is one of the formats (assay list importers); go-bench::higher states the better
    /// direction if names do not imply the direction. Verdicts use the first number. Repeat for more numbers. --set
    /// parse.file=FILE reads, instead of the output, a file that each run rewrites.
    #[arg(long = "parse", value_name = "SPEC", requires = "lines")]
    reads: Vec<String>,
    /// Run once per command, untimed
    ///
    /// Runs before the first run, and again after assay resume, in case the machine was rebooted.
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
}

impl CommandArguments {
    pub fn of_lines(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Returns the line of a single command without other options.
    pub fn alone(&self) -> Option<&str> {
        let [line] = self.lines.as_slice() else { return None };
        (*self == Self::of_lines(self.lines.clone())).then_some(line.as_str())
    }

    pub fn are_there(&self) -> bool {
        !self.lines.is_empty()
    }

    pub fn have_revisions(&self) -> bool {
        self.revisions.is_some()
    }

    /// Returns factor and level if `--baseline` names a command or a revision.
    pub fn baseline(&self, text: &str) -> Option<(String, String)> {
        if self.levels_of_revisions().contains(&text) {
            return Some((REVISION.to_owned(), text.to_owned()));
        }
        if self.lines.len() < 2 {
            return None;
        }
        let is_named = |index: &usize| self.lines[*index] == text || self.level(*index) == text;
        let index = (0..self.lines.len()).find(is_named)?;
        Some((COMMAND.to_owned(), self.level(index).to_owned()))
    }

    /// Returns the name of a command, or its line.
    fn level(&self, index: usize) -> &str {
        self.names.get(index).unwrap_or(&self.lines[index])
    }

    fn levels_of_revisions(&self) -> Vec<&str> {
        self.revisions.iter().flat_map(|text| text.split(',')).map(str::trim).collect()
    }

    fn command_names(&self) -> Vec<&str> {
        (0..self.lines.len()).map(|index| self.level(index)).collect()
    }

    /// Returns the study of the commands; with `has_check`, of acknowledged writes that must survive a power loss.
    pub fn study(&self, has_check: bool) -> Outcome<Study> {
        if has_check {
            return self.crash_study();
        }
        for (index, line) in self.lines.iter().enumerate() {
            if self.lines[..index].contains(line) {
                return Err(mistake!("--command '{line}' is given twice; remove one"));
            }
        }
        self.check_names()?;
        let mut factors = self.factors()?;
        if self.lines.len() > 1 {
            factors.insert(COMMAND.to_owned(), json!(self.command_names()));
        }
        parse_study(&json!({
            "format": file::FORMAT,
            "title": self.title(),
            "replicates": REPLICATES,
            "factors": factors,
            "workload": [{ "name": COMMAND, "command": self.work()? }],
        }))
    }

    fn crash_study(&self) -> Outcome<Study> {
        let Some(line) = self.alone() else {
            return Err(mistake!(
                "--set check_command: checks the writes of one --command after a power loss, without timing; remove \
                 the other commands and their options"
            ));
        };
        parse_study(&json!({
            "format": file::FORMAT,
            "title": format!("Do acknowledged writes survive a power loss: {line}"),
            "replicates": 1,
            "warmup_trial": "none",
            "workload": [{
                "name": COMMAND,
                "durability": {
                    "writer": "command",
                    "method": "replay",
                    "write_to": "ext4",
                    "writer_command": line,
                },
            }],
        }))
    }

    /// Returns the options as typed, each with the path of the key that it sets, for messages about that key.
    pub fn typed(&self) -> Vec<TypedWords> {
        let mut typed = Vec::new();
        let mut add = |words: String, path: String| typed.push(TypedWords::new(words, path));
        for (index, line) in self.lines.iter().enumerate() {
            let is_only = self.lines.len() == 1;
            let level = format!("factors/{COMMAND}/{index}");
            let path = if is_only { "workload/*/*/run".to_owned() } else { level };
            add(format!("--command '{line}'"), path);
        }
        for pair in self.levels.chunks_exact(2) {
            add(format!("-L {} {}", pair[0], pair[1]), format!("factors/{}", pair[0]));
        }
        let options = [
            ("prepare", &self.prepare),
            ("conclude", &self.conclude),
            ("setup", &self.setup),
            ("build", &self.build),
        ];
        for (name, line) in options {
            if let Some(line) = line {
                add(format!("--{name} '{line}'"), format!("workload/*/command/{name}"));
            }
        }
        for (index, text) in self.reads.iter().enumerate() {
            add(format!("--parse '{text}'"), format!("workload/*/command/parse/{index}"));
        }
        if let Some(text) = &self.revisions {
            add(format!("--rev {text}"), format!("factors/{REVISION}"));
        }
        typed
    }

    fn title(&self) -> String {
        let revisions = self.levels_of_revisions().len();
        if revisions > 1 && self.lines.len() == 1 {
            let best = if self.reads.is_empty() { "is fastest" } else { "is best" };
            return format!("Which of {revisions} revisions {best}: {}", self.lines[0]);
        }
        let is_timed = self.reads.is_empty();
        match self.lines.as_slice() {
            [one] if is_timed => format!("How long does this command take: {one}"),
            [one] => format!("What does this command report: {one}"),
            several if is_timed => format!("Which of {} commands is fastest?", several.len()),
            several => format!("Which of {} commands is best?", several.len()),
        }
    }

    fn check_names(&self) -> Outcome<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let wrong = |text: String| Err(Failure::mistake(text));
        if self.lines.len() < 2 {
            return wrong("-n: a single command needs no name; remove -n".to_owned());
        }
        if let Some(name) = self.names.get(self.lines.len()) {
            return wrong(format!("-n {name}: more names than commands; remove this name"));
        }
        let names = self.command_names();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return wrong(format!(
                    "-n {name}: two commands have this name; use distinct names"
                ));
            }
        }
        Ok(())
    }

    fn work(&self) -> Outcome<command::CommandSpec> {
        let run = match self.lines.as_slice() {
            [one] => one.as_str(),
            // The factor sets the line.
            _ => "",
        };
        let mut parse: Vec<ParseSpec> = Vec::new();
        for text in &self.reads {
            parse.push(text.parse().map_err(|error| mistake!("--parse: {error}"))?);
        }
        Ok(command::CommandSpec {
            setup: self.setup.clone(),
            build: self.build.clone(),
            commands: self.names.iter().cloned().zip(self.lines.iter().cloned()).collect(),
            // The repository of the current directory, unless the line names another one.
            repository: self.revisions.as_ref().map(|_| ".".to_owned()),
            parse,
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            ..command::CommandSpec::new(run)
        })
    }

    fn factors(&self) -> Outcome<Map<String, Value>> {
        let mut factors = Map::new();
        for pair in self.levels.chunks_exact(2) {
            let (name, values) = (&pair[0], &pair[1]);
            let levels: Vec<&str> = values.split(',').map(str::trim).collect();
            if factors.insert(name.clone(), json!(levels)).is_some() {
                return Err(mistake!("-L {name} is given twice; remove one"));
            }
        }
        if let Some(text) = &self.revisions
            && factors.insert(REVISION.to_owned(), json!(self.levels_of_revisions())).is_some()
        {
            return Err(mistake!("--rev {text}: {REVISION} is already a factor"));
        }
        Ok(factors)
    }
}
