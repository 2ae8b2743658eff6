//! Options of a chore: few enough to be read by hand.

use std::collections::BTreeMap;

use crate::lab::Done;

/// What was given, and the usual numbers for what was not.
#[derive(Debug, Default)]
pub struct Options {
    flags: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Options {
    /// Reads `--flag` and `--number N`.
    pub fn parse(words: &[String], flags: &[&str], numbers: &[(&str, usize)]) -> Done<Self> {
        let mut options = Self::default();
        for (name, usual) in numbers {
            options.numbers.insert((*name).to_owned(), *usual);
        }
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if flags.contains(&word.as_str()) {
                options.flags.push(word.clone());
            } else if options.numbers.contains_key(word) {
                let number = words.next().and_then(|text| text.parse().ok());
                let number = number.filter(|number| *number > 0);
                options
                    .numbers
                    .insert(word.clone(), number.ok_or(format!("{word} needs a number"))?);
            } else {
                return Err(format!("there is no option `{word}`; see cargo xtask help"));
            }
        }
        Ok(options)
    }

    /// Whether a flag was given.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    /// A number.
    pub fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or_default()
    }
}
