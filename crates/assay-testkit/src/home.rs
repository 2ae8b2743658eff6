//! A home for results that goes away with the test, and the program that keeps them there.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Assay, Ended};
use crate::{Scratch, schema};

/// Others may measure in memory meanwhile, and are waited for.
pub const WAIT: &str = "--wait=10m";
/// No command of these tests takes longer, with what it waits for.
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

    /// Standard output of what must end well.
    pub fn text(&self, words: &[&str]) -> String {
        let ended = self.run(words);
        assert_eq!(ended.code, 0, "assay {}: {}", words.join(" "), ended.stderr);
        ended.stdout
    }

    /// The same as one JSON document, which is as its schema says.
    pub fn json(&self, words: &[&str]) -> Value {
        let document = serde_json::from_str(&self.text(words)).unwrap();
        schema::fits(&document).unwrap_or_else(|why| panic!("assay {}: {why}", words.join(" ")));
        document
    }

    /// Checks that a command is refused without a word on standard output, and returns what it says.
    pub fn told(&self, code: i32, words: &[&str]) -> String {
        let ended = self.run(words);
        let shown = words.join(" ");
        assert_eq!(ended.code, code, "assay {shown}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.is_empty(), "assay {shown} printed {}", ended.stdout);
        assert!(ended.stderr.starts_with("assay: "), "assay {shown}: {}", ended.stderr);
        ended.stderr
    }

    /// The same for what is told in a few lines, as one line.
    pub fn refused(&self, code: i32, words: &[&str]) -> String {
        let told = self.told(code, words);
        assert!(told.lines().count() <= 3, "assay {}: {told}", words.join(" "));
        told.lines().collect::<Vec<_>>().join(" ") + "\n"
    }
}
