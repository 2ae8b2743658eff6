//! A study of commands that the command line names, without a file.

use clap::Args;
use serde_json::{Map, Value, json};

use assay_base::failure::{Failure, Outcome};
use assay_kinds::work::command;
use assay_study::study::file::Typed;
use assay_study::study::{self, Study};

/// The factor whose levels are commands.
const COMMAND: &str = "command";
/// Replicates where the line does not say.
const REPLICATES: u32 = 10;

/// Commands to measure, in place of a study file.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct CommandArguments {
    /// A line to be timed (again to compare)
    ///
    /// The shell runs it again and again; say --command again for each command that is compared.
    #[arg(long = "command", value_name = "LINE")]
    lines: Vec<String>,
    /// What {NAME} in a line stands for in turn
    ///
    /// A factor of the study; again for more.
    #[arg(short = 'L', long = "levels", num_args = 2, value_names = ["NAME", "VALUE,VALUE"])]
    levels: Vec<String>,
    /// A line before each run, not measured
    #[arg(long, value_name = "LINE", requires = "lines")]
    prepare: Option<String>,
    /// A line after each run, not measured
    ///
    /// Also after one that failed.
    #[arg(long, value_name = "LINE", requires = "lines")]
    cleanup: Option<String>,
    /// An empty page cache before each run (as root)
    #[arg(long, requires = "lines")]
    cold: bool,
    /// Start the program itself: the line is its words
    #[arg(long, requires = "lines")]
    no_shell: bool,
    /// Count runs that end with an error too
    #[arg(long, requires = "lines")]
    ignore_failure: bool,
    /// End a run that takes longer, with all that it started
    #[arg(long, value_name = "TIME", requires = "lines")]
    timeout: Option<String>,
    /// A file that the commands read as their standard input
    #[arg(long, value_name = "FILE", requires = "lines")]
    input: Option<String>,
    /// Runs of a trial: by default again until its second is over
    #[arg(long, value_name = "N", requires = "lines")]
    runs: Option<u64>,
}

impl CommandArguments {
    /// These lines, and nothing else of them.
    pub fn of_lines(lines: Vec<String>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Whether there are any.
    pub fn are_there(&self) -> bool {
        !self.lines.is_empty()
    }

    /// What `--baseline` means where it is one of the commands.
    pub fn baseline(&self, text: &str) -> Option<(String, String)> {
        let varied = self.lines.len() > 1;
        let named = varied && self.lines.iter().any(|line| line == text);
        named.then(|| (COMMAND.to_owned(), text.to_owned()))
    }

    /// The study that compares them.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn study(&self) -> Outcome<Study> {
        if let Some(twice) = self.twice() {
            return Err(Failure::mistake(format!(
                "--command '{twice}' stands there twice: each command is compared with the others"
            )));
        }
        let mut factors = self.factors()?;
        if self.lines.len() > 1 {
            factors.insert(COMMAND.to_owned(), json!(self.lines));
        }
        let study = json!({
            "format": study::FORMAT,
            "title": self.title(),
            "replicates": REPLICATES,
            "factors": factors,
            "workload": [{ "name": COMMAND, "command": self.work()? }],
        });
        serde_json::from_value(study)
            .map_err(|error| Failure::mistake(format!("the commands make no study: {error}")))
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
            ("prepare", self.prepare.clone()),
            ("cleanup", self.cleanup.clone()),
            ("timeout", self.timeout.clone()),
            ("input", self.input.clone()),
            ("runs", self.runs.map(|count| count.to_string())),
        ];
        let options = options.into_iter().filter_map(|(name, text)| {
            Some(Typed::new(format!("--{name} '{}'", text?), format!("workload/*/command/{name}")))
        });
        lines.chain(levels).chain(options).collect()
    }

    fn title(&self) -> String {
        match self.lines.as_slice() {
            [one] => format!("How long does this take: {one}"),
            several => format!("Which of {} commands takes least time?", several.len()),
        }
    }

    fn work(&self) -> Outcome<command::Asked> {
        let run = match self.lines.as_slice() {
            [one] => one.as_str(),
            _ => "",
        };
        let timeout = self.timeout.as_deref().map(|text| {
            text.parse().map_err(|error| Failure::mistake(format!("--timeout: {error}")))
        });
        Ok(command::Asked {
            prepare: self.prepare.clone(),
            cleanup: self.cleanup.clone(),
            input: self.input.clone(),
            cold: self.cold,
            shell: !self.no_shell,
            ignore_failure: self.ignore_failure,
            timeout: timeout.transpose()?,
            runs: self.runs,
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
            let others = [&self.prepare, &self.cleanup, &self.input];
            self.lines.iter().chain(others.into_iter().flatten())
        };
        let mut factors = Map::new();
        for pair in self.levels.chunks_exact(2) {
            let (name, values) = (&pair[0], &pair[1]);
            let placeholder = format!("{{{name}}}");
            if !texts().any(|text| text.contains(&placeholder)) {
                return Err(Failure::mistake(format!(
                    "-L {name}: no line has {placeholder} in it, which stands for its values"
                )));
            }
            let levels: Vec<&str> = values.split(',').map(str::trim).collect();
            if factors.insert(name.clone(), json!(levels)).is_some() {
                return Err(Failure::mistake(format!("-L {name} stands there twice")));
            }
        }
        Ok(factors)
    }
}
