//! What happened in each second of a trial (`series/NNNN.json`).

use std::collections::BTreeMap;
use std::path::Path;

use assay_core::failure::Outcome;
use assay_machine::probes::block_latency::counts::{self, ClassSpan};
use assay_machine::system::System;

use super::bundle;
use super::record::Trial;

pub use assay_workloads::SeriesRow;

/// Lower bound of a latency bucket in nanoseconds: two buckets per doubling, from 256 ns.
pub fn bucket_from_ns(index: u32) -> u64 {
    assay_load::latency_bucket_from_ns(index as usize)
}

pub fn bucket(latency_ns: u64) -> u32 {
    assay_load::latency_bucket(latency_ns) as u32
}

/// Converts one second of requests of a class to a row.
pub fn row(second: u32, class: &str, span: &ClassSpan) -> SeriesRow {
    let mut buckets: BTreeMap<u32, u64> = BTreeMap::new();
    for [index, count] in &span.queued.buckets {
        let sum = buckets.entry(bucket(counts::bucket_from_ns(*index))).or_default();
        *sum = sum.saturating_add(*count);
    }
    let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    SeriesRow {
        second,
        class: class.to_owned(),
        operations: span.requests,
        bytes: span.bytes,
        latency_sum_ns: span.queued.sum_ns,
        latency_max_ns: span.queued.highest_ns().unwrap_or_default(),
        latency_buckets: buckets.into_iter().map(|(at, many)| [at, narrow(many)]).collect(),
    }
}

pub fn read(system: &dyn System, directory: &Path, record: &Trial) -> Outcome<Vec<SeriesRow>> {
    let Some(name) = &record.series else { return Ok(Vec::new()) };
    let mut rows: Vec<SeriesRow> = bundle::parsed(system, &bundle::inside(directory, name)?)?;
    // A page contains the rows of every trial at once.
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
