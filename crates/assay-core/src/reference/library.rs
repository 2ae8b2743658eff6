//! The published tables by name.

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
    "texts.csv",
    "virtualisation.csv",
    "zfs_histograms.csv",
    "zfs_summary.csv",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    texts: BTreeMap<&'static str, &'static str>,
}

impl Library {
    pub fn shipped() -> Self {
        Self { texts: SHIPPED.iter().copied().collect() }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().copied()
    }

    pub fn text(&self, name: &str) -> Outcome<&'static str> {
        let found = self.texts.get(name).copied();
        found.ok_or_else(|| Failure::mistake(format!("{name}: no such table")))
    }

    pub fn sheet(&self, name: &str) -> Outcome<Sheet> {
        Sheet::read(name, self.text(name)?)
    }
}
