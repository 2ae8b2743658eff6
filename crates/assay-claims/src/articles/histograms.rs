//! The published histograms of latencies, by class of operation and setting.

use assay_base::failure::Outcome;
use assay_base::reference::Library;
use serde::{Deserialize, Serialize};

use super::zfs::{HISTOGRAMS, SETTING};

/// Nanoseconds of a microsecond.
const US: u64 = 1000;

/// How long the operations of one class took under one level of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Class: `read`, `write`, `flush`, `delete`.
    pub class: String,
    /// The setting that varied.
    pub factor: String,
    pub level: String,
    /// Buckets that hold something, ascending.
    pub buckets: Vec<Bucket>,
}

/// Operations that took from `from_ns` to under `to_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// From, nanoseconds.
    pub from_ns: u64,
    /// Below, nanoseconds.
    pub to_ns: u64,
    /// Operations.
    pub count: u64,
}

impl Histogram {
    /// All its operations.
    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// The bucket that holds a percentile, where operations enough lie above it to speak of one.
    pub fn percentile(&self, share: f64) -> Option<Bucket> {
        let total = self.total();
        if !assay_stats::percentile_is_supported(total, share) {
            return None;
        }
        let wanted = share * total as f64;
        let mut below = 0_u64;
        self.buckets.iter().copied().find(|bucket| {
            below = below.saturating_add(bucket.count);
            below as f64 >= wanted
        })
    }

    /// Least and largest mean, in nanoseconds, that the buckets allow.
    pub fn bounds_of_mean(&self) -> Option<[f64; 2]> {
        let total = self.total();
        let sum = |end: fn(&Bucket) -> u64| -> f64 {
            self.buckets.iter().map(|bucket| end(bucket) as f64 * bucket.count as f64).sum()
        };
        let mean = |end| sum(end) / total as f64;
        (total > 0).then(|| [mean(|bucket| bucket.from_ns), mean(|bucket| bucket.to_ns)])
    }
}

/// All published histograms, in the order of their table.
pub fn read(library: &Library) -> Outcome<Vec<Histogram>> {
    let sheet = library.sheet(HISTOGRAMS)?;
    let mut found: Vec<Histogram> = Vec::new();
    for row in sheet.rows() {
        let (class, level) = (row.text("class")?.to_owned(), row.text(SETTING)?.to_owned());
        let bucket = Bucket {
            from_ns: row.count("from_us")?.saturating_mul(US),
            to_ns: row.count("to_us")?.saturating_mul(US),
            count: row.count("count")?,
        };
        if bucket.from_ns >= bucket.to_ns {
            return Err(row.broken("the bucket ends before it begins"));
        }
        let known = found.iter_mut().find(|one| one.class == class && one.level == level);
        match known {
            Some(one) if one.buckets.last().is_some_and(|last| last.to_ns > bucket.from_ns) => {
                return Err(row.broken("buckets overlap or are out of order"));
            }
            Some(one) => one.buckets.push(bucket),
            None => {
                let factor = SETTING.to_owned();
                found.push(Histogram { class, factor, level, buckets: vec![bucket] });
            }
        }
    }
    Ok(found)
}
