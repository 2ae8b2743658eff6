//! The studies that are shipped: TOML files under `studies/`, read like anybody's.

use super::{Study, file};
use crate::failure::Outcome;

/// What `assay check` runs.
pub fn check() -> Outcome<Study> {
    file::parse("studies/check.toml", include_str!("../../../../studies/check.toml"))
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
}
