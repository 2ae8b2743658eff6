//! The published tables by name: those that are shipped, or copies of them.

use std::collections::BTreeMap;

use super::sheet::Sheet;
use crate::failure::{Failure, Outcome};

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of each table under `reference/`.
        const SHIPPED: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../reference/", $name)))),+];
    };
}

shipped![
    "anchors.csv",
    "claims.csv",
    "encryption.csv",
    "memory.csv",
    "modelines.csv",
    "prose.csv",
    "raid.csv",
    "schedulers.csv",
    "ssd520.csv",
    "virtualisation.csv",
    "zfs_histograms.csv",
    "zfs_summary.csv",
];

/// Published tables by their file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    texts: BTreeMap<String, String>,
}

impl Library {
    /// The tables that are shipped.
    pub fn shipped() -> Self {
        Self::of(SHIPPED.iter().copied())
    }

    /// Tables from other texts.
    pub fn of<N: Into<String>, T: Into<String>>(texts: impl IntoIterator<Item = (N, T)>) -> Self {
        Self { texts: texts.into_iter().map(|(name, text)| (name.into(), text.into())).collect() }
    }

    /// The same with another text for one table.
    #[must_use]
    pub fn with(mut self, name: &str, text: impl Into<String>) -> Self {
        self.texts.insert(name.to_owned(), text.into());
        self
    }

    /// Names of the tables, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// The text of a table.
    pub fn text(&self, name: &str) -> Outcome<&str> {
        let found = self.texts.get(name).map(String::as_str);
        found.ok_or_else(|| Failure::mistake(format!("{name}: there is no such table")))
    }

    /// A table, read.
    pub fn sheet(&self, name: &str) -> Outcome<Sheet> {
        Sheet::read(name, self.text(name)?)
    }
}
