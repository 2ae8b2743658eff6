//! What happened in each second of a trial (`series/NNNN.json`).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bundle;
use super::record::TrialRecord;
use crate::failure::Outcome;
use crate::system::System;

/// One class of operations in one second, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Second from the start of the run, ramp included.
    pub second: u32,
    /// `read`, `write` or `rewrite`.
    pub class: String,
    /// Operations completed in it.
    pub operations: u64,
    /// Bytes moved by them.
    pub bytes: u64,
    /// Sum of their latencies, nanoseconds.
    pub latency_sum_ns: u64,
    /// The slowest of them, nanoseconds.
    pub latency_max_ns: u64,
    /// Buckets of latency with something in them: index and count. A bucket begins at
    /// [`bucket_from_ns`]. Empty in the series of versions that did not count them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_buckets: Vec<[u32; 2]>,
}

/// Where a bucket of latency begins, nanoseconds; it ends where the next one begins. Two buckets
/// to each doubling, from 256 ns up.
pub fn bucket_from_ns(index: u32) -> u64 {
    assay_load::latency_bucket_from_ns(index as usize)
}

/// The bucket of a latency.
pub fn bucket(latency_ns: u64) -> u32 {
    assay_load::latency_bucket(latency_ns) as u32
}

/// The series of a trial; nothing where none was kept.
pub fn read(
    system: &dyn System,
    directory: &Path,
    record: &TrialRecord,
) -> Outcome<Vec<SeriesRow>> {
    let Some(name) = &record.series else { return Ok(Vec::new()) };
    let mut rows: Vec<SeriesRow> = bundle::parsed(system, &bundle::inside(directory, name)?)?;
    // A page holds those of every trial at once.
    rows.shrink_to_fit();
    for row in &mut rows {
        row.latency_buckets.shrink_to_fit();
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_an_older_version_is_read() {
        let old = r#"[{"second":3,"class":"read","operations":2,"bytes":8192,
            "latency_sum_ns":14,"latency_max_ns":8}]"#;
        let rows: Vec<SeriesRow> = serde_json::from_str(old).unwrap();
        assert!(rows[0].latency_buckets.is_empty());
    }
}
