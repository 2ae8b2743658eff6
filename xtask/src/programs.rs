//! The programs of tests that cargo compiles, and the tests in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::build::cargo_text;
use crate::lab::Done;

/// Words for cargo: all programs of tests. Documentation has none (`tests/tidy.rs`).
const ALL: [&str; 8] = [
    "test",
    "--no-run",
    "--workspace",
    "--lib",
    "--bins",
    "--tests",
    "--message-format",
    "json-render-diagnostics",
];

/// Words for a program: its tests, a line each.
pub const LISTED: [&str; 3] = ["--list", "--format", "terse"];

/// A program of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The folder of its package and what cargo calls it there.
    pub name: String,
    pub path: PathBuf,
    /// Where cargo would start it.
    pub folder: PathBuf,
}

/// A test, as its program names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// A place in the list of programs.
    pub program: usize,
    pub name: String,
    /// Whether it runs only where it is asked for.
    pub is_ignored: bool,
}

impl Program {
    /// The one that a message of cargo tells of.
    pub fn of(message: &Value) -> Option<Self> {
        let is_test = message["profile"]["test"] == true;
        let path = message["executable"].as_str().filter(|_| is_test)?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let target = message["target"]["name"].as_str()?;
        let name = format!("{}: {target}", folder.file_name()?.display());
        Some(Self { name, path: path.into(), folder: folder.to_owned() })
    }

    /// As cargo would start it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.stdin(Stdio::null());
        command
    }

    fn names(&self, which: &[&str]) -> Done<BTreeSet<String>> {
        let mut command = self.command();
        let listed = command.args(LISTED).args(which).stderr(Stdio::inherit()).output();
        let listed = listed.map_err(|error| format!("{}: {error}", self.path.display()))?;
        if listed.status.success() {
            return Ok(named(&String::from_utf8_lossy(&listed.stdout)));
        }
        Err(format!("{}: {}", self.name, listed.status))
    }
}

/// The names in what a program prints for [`LISTED`].
pub fn named(listed: &str) -> BTreeSet<String> {
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Those of this tree, compiled where they are not, and all of their tests.
pub fn of_tree() -> Done<(Vec<Program>, Vec<Test>)> {
    let text = cargo_text(&ALL)?;
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    let programs: Vec<Program> = messages.filter_map(|message| Program::of(&message)).collect();
    let mut tests = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        let ignored = program.names(&["--ignored"])?;
        tests.extend(program.names(&[])?.into_iter().map(|name| Test {
            program: at,
            is_ignored: ignored.contains(&name),
            name,
        }));
    }
    Ok((programs, tests))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_that_tells_of_a_program_of_tests_is_one_and_no_other() {
        let message = |test: bool, path: Option<&str>| {
            json!({"manifest_path": "/w/crates/a/Cargo.toml", "target": {"name": "b"},
                "profile": {"test": test}, "executable": path})
        };
        let program = Program {
            name: "a: b".to_owned(),
            path: "/t/b-1".into(),
            folder: "/w/crates/a".into(),
        };
        assert_eq!(Program::of(&message(true, Some("/t/b-1"))), Some(program));
        assert_eq!(Program::of(&message(false, Some("/t/b-1"))), None);
        assert_eq!(Program::of(&message(true, None)), None);
        assert_eq!(Program::of(&json!({"reason": "build-finished", "success": true})), None);
    }

    #[test]
    fn tests_are_listed_and_benchmarks_are_not() {
        assert_eq!(
            named("a::b: test\nc: test\nd: bench\n"),
            ["a::b", "c"].map(str::to_owned).into()
        );
    }
}
