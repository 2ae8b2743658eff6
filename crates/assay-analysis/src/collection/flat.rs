//! A row as one line of a table, for lists and exports.

use crate::inference::card::{CardClaim, CardNumber};
use crate::inference::claims::{self, Numbers};
use assay_core::lines;
use assay_study::file::printed::RatedClaim;
use assay_study::findings::Trust;
use serde::{Deserialize, Serialize, Serializer};

use super::numbers::{ENERGY, NUMBERS};
use super::row::CollectionRow;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Flat {
    /// File name below the rows, or the article of a published row.
    pub file: String,
    pub device: String,
    pub capacity_gb: Option<f64>,
    pub claimed: String,
    pub reached: String,
    /// Values in the order and units of [`NUMBERS`].
    pub numbers: [Option<f64>; NUMBERS.len()],
    /// Joules per GiB of sequential writes.
    pub energy_j_per_gib: Option<f64>,
    pub price_per_gb: Option<f64>,
    pub currency: String,
    /// `trusted`, `suspect`, `invalid`, `published`; with the prefix `foreign-io` if somebody else measured it.
    pub trust: String,
    pub date: String,
    pub machine: String,
    pub filesystem: String,
    pub by: String,
}

/// Serialized as a list: an index has many rows.
impl Serialize for Flat {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // A sequence, in the order of `columns`.
        #[rustfmt::skip]
        let fields = (
            &self.file, &self.device, self.capacity_gb, &self.claimed, &self.reached, self.numbers, self.energy_j_per_gib,
            self.price_per_gb, &self.currency, &self.trust, &self.date, &self.machine, &self.filesystem, &self.by,
        );
        fields.serialize(to)
    }
}

/// [`Flat::trust`] of published rows.
pub const PUBLISHED: &str = "published";
const BEFORE: [&str; 5] = ["file", "device", "capacity_gb", "claimed", "reached"];
const AFTER: [&str; 8] =
    [ENERGY, "price_per_gb", "currency", "trust", "date", "machine", "filesystem", "by"];

pub fn columns() -> Vec<&'static str> {
    BEFORE.into_iter().chain(NUMBERS.iter().map(|kind| kind.name)).chain(AFTER).collect()
}

pub fn is_number(column: &str) -> bool {
    let others = ["capacity_gb", ENERGY, "price_per_gb"];
    others.contains(&column) || NUMBERS.iter().any(|kind| kind.name == column)
}

impl Flat {
    pub fn new(file: &str, row: &CollectionRow) -> Self {
        let in_unit = |name: &str, unit: f64| row.measured.get(name).map(|cell| cell.value / unit);
        let numbers = NUMBERS.each_ref().map(|kind| in_unit(kind.name, kind.unit));
        let (price_per_gb, currency) = row.price_per_gb().unzip();
        Self {
            file: file.to_owned(),
            device: row.device.clone(),
            capacity_gb: row.capacity_bytes.map(|bytes| bytes as f64 / 1e9),
            claimed: row.claimed.join(", "),
            reached: reached(row),
            numbers,
            energy_j_per_gib: in_unit(ENERGY, 1.0),
            price_per_gb,
            currency: currency.unwrap_or_default(),
            trust: trust_words(row),
            date: row.date.clone().unwrap_or_default(),
            machine: row.machine.clone(),
            filesystem: row.filesystem.clone(),
            by: row.by.clone().unwrap_or_default(),
        }
    }

    pub fn is_invalid(&self) -> bool {
        self.trust.ends_with(Trust::Invalid.word())
    }

    /// Fields as text, in the order of [`columns`]; missing ones are empty.
    pub fn fields(&self) -> Vec<String> {
        let number = |number: Option<f64>| number.map_or_else(String::new, |own| own.to_string());
        let before = [
            self.file.clone(),
            self.device.clone(),
            number(self.capacity_gb),
            self.claimed.clone(),
            self.reached.clone(),
        ];
        let after = [
            number(self.energy_j_per_gib),
            number(self.price_per_gb),
            self.currency.clone(),
            self.trust.clone(),
            self.date.clone(),
            self.machine.clone(),
            self.filesystem.clone(),
            self.by.clone(),
        ];
        before.into_iter().chain(self.numbers.map(number)).chain(after).collect()
    }
}

/// Rows as CSV with a header.
pub fn table(rows: &[Flat]) -> String {
    let mut text = columns().join(",") + "\n";
    for row in rows {
        let fields: Vec<String> = row.fields().iter().map(|field| lines::field(field)).collect();
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

fn trust_words(row: &CollectionRow) -> String {
    if row.published.is_some() {
        return PUBLISHED.to_owned();
    }
    let own = row.trust().map_or("not rated", Trust::word);
    if row.foreign { format!("foreign, {own}") } else { own.to_owned() }
}

/// The claims of a row that Assay can parse, each with its outcome.
pub fn judge_claims(row: &CollectionRow) -> Vec<CardClaim> {
    let parsed: Vec<(&str, RatedClaim)> =
        row.claimed.iter().filter_map(|text| Some((text.as_str(), text.parse().ok()?))).collect();
    let numbers: Numbers = NUMBERS
        .iter()
        .filter_map(|kind| {
            let number = row.measured.get(kind.name)?;
            let (value, ci95, trust) = (number.value, number.ci95, number.trust);
            Some((kind.name, CardNumber { value, ci95, trust }))
        })
        .collect();
    claims::judge_claims(parsed.iter().map(|(text, claim)| (*text, claim)), &numbers)
}

/// Outcome of the claims of a row in a few words; empty if nothing was measured.
fn reached(row: &CollectionRow) -> String {
    if row.measured.is_empty() {
        return String::new();
    }
    let claims = judge_claims(row).into_iter();
    let outcomes = claims.map(|claim| format!("{} {}", claim.rating, claim.outcome.word()));
    outcomes.collect::<Vec<_>>().join(", ")
}
