//! The user's command and check: their inputs, and the interpretation of their exit.
//!
//! Both are shell lines, run in one directory of the file system whose drive loses its power. The command prints each
//! acknowledged write as a line after it is on the medium; the check runs after the power loss, with these lines in a
//! file, and exits with 0 if all of them exist. If a command prints nothing, only the check knows what was
//! acknowledged. `docs/howto/durability.md` describes the contract.

use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::durability::counted;
use crate::durability::judge::{CutJudgement, Found, Missing, Unpromised};

/// Variable of both: the directory in which they run.
pub const DIRECTORY: &str = "ASSAY_DIRECTORY";
/// Variables of the check: the file with the acknowledged lines as printed, and their number.
pub const PROMISED: &str = "ASSAY_ACKNOWLEDGED";
pub const PROMISES: &str = "ASSAY_PROMISES";

pub const MOST_LINE_BYTES: usize = 4096;
/// Limit on lines, which are all passed on.
pub const MOST_LINES: u64 = 100_000;
/// Limit on the stored end of their error output, bytes.
pub const KEPT_BYTES: usize = 4096;
const SHOWN_LETTERS: usize = 200;

/// Exit codes of a shell that could not run something.
const NOT_RUN: [i32; 2] = [126, 127];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLines {
    pub command: String,
    pub check: String,
    /// Time limit of the command in milliseconds; reaching it is a normal end.
    pub command_ms: u64,
    pub check_ms: u64,
}

impl CommandLines {
    pub fn words(&self) -> String {
        let shorten = |line: &str| last_words(line).unwrap_or_default();
        format!("`{}`, checked by `{}`", shorten(&self.command), shorten(&self.check))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndedLine {
    pub how: ExitKind,
    /// The end of its error output; for a check also of its standard output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExitKind {
    Exited(i32),
    Signalled(i32),
    TimedOut,
}

impl ExitKind {
    fn words(self) -> String {
        match self {
            Self::Exited(code) => format!("ended with exit code {code}"),
            Self::Signalled(signal) => format!("was killed by signal {signal}"),
            Self::TimedOut => "did not end in time".to_owned(),
        }
    }
}

impl EndedLine {
    fn words(&self) -> String {
        match last_words(&self.said) {
            None => self.how.words(),
            Some(said) => format!("{}: {said}", self.how.words()),
        }
    }

    /// Returns an error if the command ended by itself with an error; its time limit is a normal end.
    pub fn require_normal_end(&self) -> Result<(), String> {
        match self.how {
            ExitKind::Exited(0) | ExitKind::TimedOut => Ok(()),
            _ => Err(format!("the command {}", self.words())),
        }
    }

    /// Whether the check found everything acknowledged; an error if the check did not run to its end.
    pub fn found_all(&self) -> Result<bool, String> {
        match self.how {
            ExitKind::Exited(0) => Ok(true),
            ExitKind::Exited(code) if NOT_RUN.contains(&code) => {
                Err(format!("cannot run the check, which {}", self.words()))
            }
            ExitKind::TimedOut => Err(format!("the check is inconclusive: it {}", self.words())),
            ExitKind::Exited(_) | ExitKind::Signalled(_) => Ok(false),
        }
    }

    /// Returns an error if the check fails without a power loss.
    pub fn require_pass(&self) -> Result<(), String> {
        if self.found_all()? {
            return Ok(());
        }
        Err(format!("the check reports a loss without a crash: it {}", self.words()))
    }

    /// Returns an error if the check, run in an empty directory, does not miss the acknowledged lines.
    pub fn require_loss(&self, promises: u64) -> Result<(), String> {
        if promises > 0 && self.found_all()? {
            let message = "the check succeeds in an empty directory, so it cannot detect a loss";
            return Err(format!("{message} (acknowledged: {})", counted(promises, "line")));
        }
        Ok(())
    }

    /// Judges a power loss by the exit of the check, which knows nothing of unacknowledged writes.
    pub fn judge(&self) -> Result<CutJudgement<Refused>, String> {
        let lost = if self.found_all()? { vec![] } else { vec![Refused(Found::Refused)] };
        Ok(CutJudgement { lost, unpromised: Unpromised::default() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub Found);

impl Missing for Refused {
    fn found(&self) -> Found {
        self.0
    }
}

/// Environment of both lines; `promised` is the file with the acknowledged lines and their number, for a check.
pub fn environment(directory: &str, promised: Option<(&str, usize)>) -> Vec<(String, String)> {
    let mut variables = vec![(DIRECTORY.to_owned(), directory.to_owned())];
    if let Some((file, count)) = promised {
        variables.push((PROMISED.to_owned(), file.to_owned()));
        variables.push((PROMISES.to_owned(), count.to_string()));
    }
    variables
}

#[derive(Debug, Default)]
pub struct PrintedLines {
    incomplete: Vec<u8>,
    lines: u64,
}

impl PrintedLines {
    /// Returns the lines completed by these bytes; an incomplete line acknowledges nothing.
    pub fn lines(&mut self, bytes: &[u8]) -> Result<Vec<String>, String> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.incomplete.extend_from_slice(piece);
            if self.incomplete.len() > MOST_LINE_BYTES {
                return Err(format!(
                    "the command printed a line of more than {MOST_LINE_BYTES} bytes"
                ));
            }
            if self.incomplete.pop_if(|last| *last == b'\n').is_some() {
                complete.push(String::from_utf8_lossy(&self.incomplete).into_owned());
                self.incomplete.clear();
            }
        }
        self.lines += complete.len() as u64;
        if self.lines > MOST_LINES {
            let most = show::count(MOST_LINES);
            return Err(format!("the command printed more than {most} lines; reduce the runtime"));
        }
        Ok(complete)
    }
}

pub fn file_of(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// The shortest counterexample of a failed check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandLoss {
    /// Acknowledged lines at the power loss, and the last of them.
    pub lines: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_line: Option<String>,
    /// Modifying requests to the drive until then.
    pub crash_step: u64,
    /// How the check ended; `None` if it had nothing to check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<EndedLine>,
}

impl CommandLoss {
    /// For a power loss, with the lines received until then.
    pub fn new(lines: &[String], cut_step: usize, check: Option<&EndedLine>) -> Self {
        Self {
            lines: lines.len() as u64,
            last_line: lines.last().cloned(),
            crash_step: cut_step as u64,
            check: check.cloned(),
        }
    }

    /// Its length: the number of requests to the drive before.
    pub const fn length(&self) -> u64 {
        self.crash_step
    }

    pub fn words(&self) -> String {
        let last = self.last_line.as_deref().and_then(last_words);
        let arrived = match (self.lines, last) {
            (0, _) => "no line of the command".to_owned(),
            (lines, None) => counted(lines, "line"),
            (lines, Some(last)) => format!("{}, the last `{last}`,", counted(lines, "line")),
        };
        let found = match &self.check {
            Some(check) => format!("the check {}", check.words().trim_end_matches('.')),
            None => format!("the drive has {}", Found::Unreachable.words()),
        };
        format!(
            "Shortest counterexample: {arrived} had arrived when the power failed after step {}; {found}.",
            show::count(self.crash_step)
        )
    }
}

/// The last letters of a text in one line; `None` if the text is empty.
pub(crate) fn last_words(text: &str) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let excess = line.chars().count().saturating_sub(SHOWN_LETTERS);
    let tail: String = line.chars().skip(excess).collect();
    (!tail.is_empty()).then_some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::judge::CutOutcome;

    fn ended(how: ExitKind, said: &str) -> EndedLine {
        EndedLine { how, said: said.to_owned() }
    }

    #[test]
    fn exit_code_0_means_that_all_is_there_and_any_other_that_something_is_lost() {
        assert_eq!(ended(ExitKind::Exited(0), "").found_all(), Ok(true));
        for how in [ExitKind::Exited(1), ExitKind::Exited(255), ExitKind::Signalled(11)] {
            assert_eq!(ended(how, "row 7 is missing").found_all(), Ok(false));
            assert_eq!(ended(how, "").judge().unwrap().outcome(), CutOutcome::Lost);
        }
        assert_eq!(ended(ExitKind::Exited(0), "").judge().unwrap().outcome(), CutOutcome::Quiet);
    }

    #[test]
    fn a_check_that_says_nothing_is_no_loss_and_no_pass() {
        for (how, said) in [
            (ExitKind::Exited(127), "sh: my-db: not found"),
            (ExitKind::Exited(126), "permission denied"),
            (ExitKind::TimedOut, "recovering"),
        ] {
            let own = ended(how, said);
            assert!(own.found_all().unwrap_err().ends_with(said) && own.judge().is_err());
            assert!(own.require_pass().is_err() && own.require_loss(1).is_err());
        }
    }

    #[test]
    fn a_check_that_is_none_is_told_before_anything_is_cut() {
        let [pass, fail] =
            [ended(ExitKind::Exited(0), ""), ended(ExitKind::Exited(1), "row 7\n is missing\n")];
        assert!(pass.require_pass().is_ok() && fail.require_loss(7).is_ok());
        let told = fail.require_pass().unwrap_err();
        assert!(told.ends_with("it ended with exit code 1: row 7 is missing"), "{told}");
        let told = pass.require_loss(1).unwrap_err();
        assert!(
            told.contains("cannot detect a loss") && told.ends_with("(acknowledged: 1 line)"),
            "{told}"
        );
        assert!(pass.require_loss(0).is_ok(), "of nothing promised nothing is missing");
    }

    #[test]
    fn a_command_may_end_by_its_time_and_not_by_an_error() {
        for how in [ExitKind::Exited(0), ExitKind::TimedOut] {
            assert!(ended(how, "").require_normal_end().is_ok());
        }
        let told = ended(ExitKind::Exited(2), "no such table").require_normal_end().unwrap_err();
        assert_eq!(told, "the command ended with exit code 2: no such table");
        assert!(ended(ExitKind::Signalled(9), "").require_normal_end().is_err());
    }

    #[test]
    fn lines_are_promised_when_they_are_whole() {
        let mut own = PrintedLines::default();
        assert_eq!(own.lines(b"one\ntw").unwrap(), ["one"]);
        assert_eq!(own.lines(b"").unwrap(), Vec::<String>::new());
        assert_eq!(own.lines(b"o\n\n\xff\nthr").unwrap(), ["two", "", "\u{fffd}"]);
        assert_eq!(file_of(&["one".to_owned(), String::new()]), "one\n\n");
        assert_eq!(file_of(&[]), "");
        let mut own = PrintedLines::default();
        assert!(own.lines(&[b'x'; MOST_LINE_BYTES]).unwrap().is_empty());
        assert!(own.lines(b"x").unwrap_err().contains("4096 bytes"));
        let mut own = PrintedLines::default();
        let all = vec![b'\n'; MOST_LINES as usize];
        assert_eq!(own.lines(&all).unwrap().len(), all.len());
        assert!(own.lines(b"\n").unwrap_err().contains("100,000 lines"));
    }

    #[test]
    fn both_are_told_where_they_are_and_the_check_what_was_promised() {
        let of = |promised| environment("/there", promised);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of(None), [pair(DIRECTORY, "/there")]);
        let all = of(Some(("/run/lines", 7)));
        assert_eq!(all[1..], [pair(PROMISED, "/run/lines"), pair(PROMISES, "7")]);
    }

    #[test]
    fn a_story_has_the_last_promise_and_what_the_check_said() {
        let check = ended(ExitKind::Exited(1), "Error: row 7\nis missing.\n");
        let lines = ["insert 6".to_owned(), "insert 7".to_owned()];
        let own = CommandLoss::new(&lines, 1043, Some(&check));
        assert_eq!(
            own.words(),
            "Shortest counterexample: 2 lines, the last `insert 7`, had arrived when the power \
             failed after step 1,043; the check ended with exit code 1: Error: row 7 is missing."
        );
        let none = CommandLoss::new(&[], 3, Some(&ended(ExitKind::Signalled(6), "")));
        assert!(none.words().contains("no line of the command had arrived"), "{}", none.words());
        assert!(none.words().ends_with("the check was killed by signal 6."));
        let unreachable = CommandLoss::new(&[], 3, None).words();
        assert!(unreachable.contains("does not mount"), "{unreachable}");
        let long = ended(ExitKind::Exited(1), &"x ".repeat(1000)).words();
        assert!(long.chars().count() < 300, "{long}");
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<CommandLoss>(&text).unwrap(), own);
    }
}
