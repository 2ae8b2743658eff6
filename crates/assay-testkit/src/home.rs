//! A temporary home for results, and the program that writes them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Assay, Ended};
use crate::{Scratch, schema};

/// Waits for other tests that measure in memory.
pub const WAIT: &str = "--wait=10m";
/// Time limit of commands in these tests, including waits.
pub const LIMIT: Duration = Duration::from_secs(700);

pub struct Home {
    pub scratch: Scratch,
    pub assay: Assay,
}

impl Home {
    /// A home for a test of the program at a path.
    pub fn new(program: &str, test: &str) -> Self {
        let scratch = Scratch::new(test).unwrap();
        let home = scratch.folder("home", 0o755, None).unwrap();
        Self { assay: Assay::new(Path::new(program), &home), scratch }
    }

    /// The same for a test that acts on its results.
    pub fn out_of_reach(program: &str, test: &str) -> Self {
        let scratch = Scratch::new(test).unwrap();
        let home = scratch.home().unwrap();
        Self { assay: Assay::new(Path::new(program), &home), scratch }
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.scratch.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        self.assay.run(words, LIMIT).unwrap()
    }

    /// Standard output of a command that must succeed.
    pub fn text(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, 0, "assay {}: {}", words.join(" "), ended.stderr);
        ended.stdout
    }

    /// The same as one JSON document, checked against its schema.
    pub fn json(&self, words: &[&str]) -> Value {
        let document = serde_json::from_str(&self.text(words)).unwrap();
        schema::fits(&document).unwrap_or_else(|why| panic!("assay {}: {why}", words.join(" ")));
        document
    }

    /// Checks that a command fails without standard output; returns its error message.
    pub fn told(&self, code: i32, words: &[&str]) -> String {
        let ended = self.run(words);
        let shown = words.join(" ");
        assert_eq!(ended.code, code, "assay {shown}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.is_empty(), "assay {shown} printed {}", ended.stdout);
        assert!(ended.stderr.starts_with("assay: "), "assay {shown}: {}", ended.stderr);
        ended.stderr
    }

    /// The same for a multi-line message, joined to one line.
    pub fn refused(&self, code: i32, words: &[&str]) -> String {
        let told = self.told(code, words);
        assert!(told.lines().count() <= 3, "assay {}: {told}", words.join(" "));
        told.lines().collect::<Vec<_>>().join(" ") + "\n"
    }
}
