//! One row.

use std::collections::BTreeMap;

use assay_study::findings::Trust;
use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "assay-collection/1";

/// The measurements of one device at one time, and its ratings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionRow {
    pub format: String,
    pub device: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Printed ratings: `95 MB/s`, `1440 IOPS read`, `V30`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claimed: Vec<String>,
    /// Purchase price: `12.50 GBP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// Numbers by the names of [`super::numbers::NUMBERS`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub measured: BTreeMap<String, RowValue>,
    /// Day, `2026-11-24`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filesystem: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub assay: String,
    /// Whether somebody else measured it; the contributor does not vouch for it.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub foreign: bool,
    /// The source, if Assay did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRow>,
    /// Device and machine, if the contributor asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowValue {
    /// In bytes or operations per second, or joules per GiB.
    pub value: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Names of the rules that cast doubt on it; the registry has their texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// Each trial that counts, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<f64>,
    /// Latency in nanoseconds at shares of the operations (0 to 1).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_ns: Vec<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    pub article: String,
    pub title: String,
    /// Source of the figure: measured, vendor, the author's rule.
    pub kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    pub target: String,
}

impl CollectionRow {
    /// The lowest trust of its numbers; `None` if no number was judged.
    pub fn trust(&self) -> Option<Trust> {
        self.measured.values().filter_map(|number| number.trust).max()
    }

    pub fn price_per_gb(&self) -> Option<(f64, String)> {
        let price: assay_study::file::Price = self.price.clone()?.try_into().ok()?;
        let gb = self.capacity_bytes.filter(|bytes| *bytes > 0)? as f64 / 1e9;
        Some((price.amount / gb, price.currency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::flat::Flat;

    #[test]
    fn price_per_gb_needs_a_price_with_a_currency_and_a_size() {
        let cases = [
            (Some("12.50 GBP"), Some(64_000_000_000), Some((0.195_312_5, "GBP"))),
            (Some("3 EUR"), Some(500_000_000), Some((6.0, "EUR"))),
            (None, Some(64_000_000_000), None),
            (Some("12.50 GBP"), None, None),
            (Some("12.50 GBP"), Some(0), None),
            (Some("12.50"), Some(64_000_000_000), None),
        ];
        for (price, capacity_bytes, expected) in cases {
            let price = price.map(str::to_owned);
            let row = CollectionRow { capacity_bytes, price, ..CollectionRow::default() };
            let expected = expected.map(|(per, currency)| (per, currency.to_owned()));
            assert_eq!(row.price_per_gb(), expected, "{row:?}");
            let flat = Flat::new("file", &row);
            let (per, currency) = expected.unzip();
            assert_eq!((flat.price_per_gb, flat.currency), (per, currency.unwrap_or_default()));
        }
    }
}
