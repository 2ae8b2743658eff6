//! The studies that are shipped: TOML files under `studies/`, read like anybody's.

use super::{Study, file};
use crate::failure::Outcome;

/// Name and text of each.
const PRESETS: &[(&str, &str)] = &[
    ("check", include_str!("../../../../studies/check.toml")),
    ("depth", include_str!("../../../../studies/depth.toml")),
];

/// What `assay check` runs.
pub fn check() -> Outcome<Study> {
    let (name, text) = PRESETS[0];
    read(name, text)
}

/// The preset with a name.
pub fn find(name: &str) -> Option<Outcome<Study>> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(name, text)| read(name, text))
}

/// All of them, by name.
pub fn all() -> impl Iterator<Item = (&'static str, Outcome<Study>)> {
    PRESETS.iter().map(|(name, text)| (*name, read(name, text)))
}

fn read(name: &str, text: &str) -> Outcome<Study> {
    file::parse(&format!("studies/{name}.toml"), text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn check_has_its_seven_workloads() {
        let names: Vec<String> =
            super::check().unwrap().workload.into_iter().map(|work| work.name).collect();
        assert_eq!(
            names,
            [
                "sequential-read",
                "sequential-write",
                "random-read-q1",
                "random-read-q32",
                "random-write-q1",
                "random-write-q32",
                "sync-write",
            ]
        );
    }

    #[test]
    fn every_preset_reads_and_says_its_name() {
        for (name, study) in super::all() {
            assert_eq!(study.unwrap().preset.as_deref(), Some(name));
            assert!(super::find(name).is_some());
        }
        assert!(super::find("no-such-preset").is_none());
    }
}
