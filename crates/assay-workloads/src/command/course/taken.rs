//! Results of a run besides its time: numbers from its output, and a hash of its output.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::{digest::hexadecimal, outside};
use assay_machine::system::{Executed, FileKind};

use super::{Break, CommandTrial, RunOptions, check_exit};
use crate::command::detail::{KEPT_BYTES, OutputTail};
use crate::command::line;
use crate::command::readings::{OutputText, READ_BYTES, ToolOutput, plain};
use crate::command::same::{self, Produced};
use crate::command::tally::RunOutput;

/// Texts with their bytes, by file; `None` is standard output.
type Texts = BTreeMap<Option<String>, (String, u64)>;

const READING: Duration = Duration::from_secs(600);
/// File system clocks have steps: a file written longer ago than this has another time.
const STEP: Duration = Duration::from_millis(20);

/// State of a file before a run: its inode, size and time; `None` if it did not exist.
type Stamp = Option<(u64, u64, i64)>;

impl<'a> CommandTrial<'a> {
    /// Adds the output that the readers and `same_output` need.
    pub(super) fn with_output<'s>(&self, options: RunOptions<'s>) -> RunOptions<'s> {
        let hashed = self.planned.same_output == Some(Produced::Printed(true));
        let is_read = self.readers.iter().any(|reader| reader.from().is_none());
        RunOptions { heard_bytes: if is_read { READ_BYTES } else { 0 }, hashed, ..options }
    }

    /// The files with numbers, by their names in this trial.
    fn output_files(&self) -> BTreeSet<String> {
        let files = self.readers.iter().filter_map(|reader| reader.from());
        files.map(|file| line::fill(file, &self.levels)).collect()
    }

    /// The states of the output files before a run; waits if there are any, so that a rewritten file has another time.
    pub(super) fn stamps(&self) -> BTreeMap<String, Stamp> {
        let files = self.output_files().into_iter();
        let stamps: BTreeMap<String, Stamp> =
            files.map(|name| (name.clone(), self.stamp(&name))).collect();
        if stamps.values().any(Option::is_some) {
            self.run.system.sleep(STEP);
        }
        stamps
    }

    fn stamp(&self, name: &str) -> Stamp {
        let status = self.run.system.status(&self.work_directory().join(name)).ok()?;
        Some((status.inode, status.size_bytes, status.modified_ns))
    }

    /// Whether a path is not a regular file: reading it might block or never end.
    fn is_special(&self, name: &str) -> bool {
        let status = self.run.system.status(&self.work_directory().join(name));
        status.is_ok_and(|status| status.kind != FileKind::File)
    }

    /// Reads the output of a run; `before`: states of its files before the run, to detect files that it did not write.
    pub(super) fn read_output(
        &mut self,
        executed: &Executed,
        before: &BTreeMap<String, Stamp>,
    ) -> Result<RunOutput, Break> {
        let mut texts: Texts = BTreeMap::new();
        if self.readers.iter().any(|reader| reader.from().is_none()) {
            texts.insert(None, (plain(&executed.heard.end), executed.heard.bytes));
        }
        for (name, stamp) in before {
            let read = self.read_file(name, *stamp)?;
            texts.insert(Some(name.clone()), (plain(&read.heard.end), read.heard.bytes));
        }
        let parsed = self.parse_numbers(&texts)?;
        let most = KEPT_BYTES / texts.len().max(1);
        let tails = texts
            .into_iter()
            .map(|(file, (text, bytes))| OutputTail::new(file, &text, bytes, most));
        Ok(RunOutput { parsed, tails: tails.collect(), hash: self.output_hash(executed)? })
    }

    /// Reads a file that the run must have written.
    fn read_file(&mut self, name: &str, before: Stamp) -> Result<Executed, Break> {
        let shown = outside::spelled(name);
        if self.is_special(name) {
            return Err(Break::Failed(format!("{shown} is not a readable file")));
        }
        if before.is_some() && before == self.stamp(name) {
            return Err(Break::Failed(format!(
                "the command did not write {shown}; the file is from another run"
            )));
        }
        let options = RunOptions { heard_bytes: READ_BYTES, ..self.reading_options() };
        let line = format!("cat -- {}", shell_words::quote(name));
        self.read_aside(&line, &format!("reading {shown}"), &options)
    }

    /// Reads the numbers of all readers; fails if two have the same name.
    fn parse_numbers(&self, texts: &Texts) -> Result<ToolOutput, Break> {
        let mut output = ToolOutput::default();
        for reader in &self.readers {
            let file = reader.from().map(|file| line::fill(file, &self.levels));
            let Some((text, bytes)) = texts.get(&file) else { continue };
            let text = OutputText { text, bytes: *bytes };
            let stop = self.run.stop;
            let parsed = reader.read(&text, self.run.programs.formats, stop).map_err(|why| {
                if stop.load(Ordering::Relaxed) {
                    return Break::Stopped;
                }
                match &file {
                    Some(file) => Break::Failed(format!("{file}: {why}")),
                    None => Break::Failed(why),
                }
            })?;
            output.evidence.extend(parsed.evidence);
            for number in parsed.numbers {
                if output.numbers.iter().any(|known| known.name == number.name) {
                    return Err(Break::Failed(format!("two numbers are named {}", number.name)));
                }
                output.numbers.push(number);
            }
        }
        Ok(output)
    }

    /// The hash of the output that must be identical in all runs; `None` if the study does not require this.
    fn output_hash(&mut self, executed: &Executed) -> Result<Option<String>, Break> {
        let hash = match &self.planned.same_output {
            None | Some(Produced::Printed(false)) => return Ok(None),
            Some(Produced::Printed(true)) => executed.heard.sha256,
            Some(Produced::At(path)) => {
                let path = line::fill(path, &self.levels);
                let options = RunOptions { hashed: true, ..self.reading_options() };
                let what = format!("reading {} for same_output", outside::spelled(&path));
                self.read_aside(&same::print_command(&path), &what, &options)?.heard.sha256
            }
        };
        Ok(hash.as_ref().map(hexadecimal))
    }

    /// How to read output files: with the user of the command, who may see no more.
    fn reading_options(&self) -> RunOptions<'a> {
        RunOptions { shell: true, ..RunOptions::silent(Some(READING), self.run.stop) }
    }

    /// Runs a line that reads output files; messages call it `what`, because the user did not type it. Only its exit
    /// code counts: shells print harmless warnings, such as on a missing locale.
    fn read_aside(
        &mut self,
        text: &str,
        what: &str,
        options: &RunOptions<'_>,
    ) -> Result<Executed, Break> {
        let executed = self.execute(text, options)?;
        self.tally.add_aside(&executed);
        check_exit(&executed, what, false, options.timeout)?;
        Ok(executed)
    }
}
