//! Options of a chore: few enough to be read by hand.

use std::collections::BTreeMap;

use crate::Command;
use crate::lab::Done;

/// What was given, and the usual numbers for what was not.
#[derive(Debug, Default)]
pub struct Options {
    flags: Vec<String>,
    numbers: BTreeMap<String, usize>,
    texts: BTreeMap<String, String>,
    rest: Vec<String>,
}

impl Options {
    /// Reads `--flag`, `--number N` and `--option WORD`.
    pub fn parse(words: &[String], command: &Command) -> Done<Self> {
        let mut options = Self::default();
        for (name, usual) in command.numbers {
            options.numbers.insert((*name).to_owned(), *usual);
        }
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--" && command.takes_rest() {
                options.rest = words.by_ref().cloned().collect();
            } else if command.flags.contains(&word.as_str()) {
                options.flags.push(word.clone());
            } else if options.numbers.contains_key(word) {
                let number = words.next().and_then(|text| text.parse().ok());
                let number = number.filter(|number| *number > 0);
                options
                    .numbers
                    .insert(word.clone(), number.ok_or(format!("{word} needs a number"))?);
            } else if command.words.contains(&word.as_str()) {
                let text = words.next().ok_or(format!("{word} needs a value"))?;
                options.texts.insert(word.clone(), text.clone());
            } else {
                return Err(format!("unknown option `{word}`; see cargo xtask help"));
            }
        }
        Ok(options)
    }

    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    pub fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or_default()
    }

    pub fn rest(&self) -> &[String] {
        &self.rest
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}
