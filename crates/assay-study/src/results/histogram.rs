//! Latency histograms as files: JSON around the HdrHistogram V2 encoding; added only if their settings are equal (R12).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use super::buckets;
use super::tally::Tally;

pub const FORMAT: &str = "assay-histogram/1";

pub const LOWEST_NS: u64 = 1;

/// Highest recorded latency, nanoseconds: one hour.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

pub const SIGNIFICANT_DIGITS: u8 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramDocument {
    pub format: String,
    pub class: String,
    pub unit: String,
    pub significant_digits: u8,
    pub lowest: u64,
    pub highest: u64,
    /// Number of values; must equal the sum of the encoded counts.
    pub count: u64,
    /// HdrHistogram V2, deflated, base64.
    pub v2_deflate_base64: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramError(pub String);

impl fmt::Display for HistogramError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for HistogramError {}

pub fn empty() -> Result<Histogram<u64>, HistogramError> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .map_err(|error| HistogramError(format!("cannot create a histogram: {error}")))
}

pub fn encode(
    class: &str,
    histogram: &Histogram<u64>,
) -> Result<HistogramDocument, HistogramError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| HistogramError(format!("cannot encode the {class} histogram: {error}")))?;
    Ok(HistogramDocument {
        format: FORMAT.to_owned(),
        class: class.to_owned(),
        unit: "ns".to_owned(),
        significant_digits: histogram.sigfig(),
        lowest: histogram.low(),
        highest: histogram.high(),
        count: histogram.len(),
        v2_deflate_base64: STANDARD.encode(bytes),
    })
}

pub fn to_json(class: &str, histogram: &Histogram<u64>) -> Result<String, HistogramError> {
    let document = encode(class, histogram)?;
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|error| HistogramError(format!("cannot write the {class} histogram: {error}")))?;
    text.push('\n');
    Ok(text)
}

pub fn from_json(text: &str) -> Result<(String, Tally), HistogramError> {
    let document: HistogramDocument = serde_json::from_str(text)
        .map_err(|error| HistogramError(format!("not a histogram file: {error}")))?;
    let latencies = decode(&document)?;
    Ok((document.class, latencies))
}

/// Decodes the latencies of a document; fails if they do not match its fields.
pub fn decode(document: &HistogramDocument) -> Result<Tally, HistogramError> {
    if document.format != FORMAT {
        return Err(HistogramError(format!(
            "the histogram has format `{}`; this version reads `{FORMAT}`",
            document.format
        )));
    }
    if document.unit != "ns" {
        return Err(HistogramError(format!("the histogram's unit is `{}`, not ns", document.unit)));
    }
    let bytes = STANDARD
        .decode(&document.v2_deflate_base64)
        .map_err(|error| damaged(document, &format!("invalid base64 ({error})")))?;
    let (settings, steps) = buckets::unpacked(&bytes).map_err(|why| damaged(document, &why))?;
    if settings != (document.lowest, document.highest, document.significant_digits) {
        return Err(damaged(document, "the settings do not match the document"));
    }
    let sum = steps.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count));
    if sum != Some(document.count) {
        let found = sum.map_or_else(|| "too many".to_owned(), |sum| sum.to_string());
        return Err(damaged(document, &format!("{found} values instead of {}", document.count)));
    }
    Tally::from_steps(settings, steps).ok_or_else(|| damaged(document, "invalid settings"))
}

fn damaged(document: &HistogramDocument, why: &str) -> HistogramError {
    HistogramError(format!(
        "the {} histogram is damaged: {why}; the rest of the result is still readable",
        document.class
    ))
}

/// Settings that two histograms must share: lowest and highest nanoseconds, significant digits.
pub(super) type Settings = (u64, u64, u8);

pub(super) fn same_settings(ours: Settings, theirs: Settings) -> Result<(), HistogramError> {
    if ours == theirs {
        return Ok(());
    }
    let words = |(low, high, digits): Settings| format!("{low} to {high} ns, {digits} digits");
    Err(HistogramError(format!(
        "cannot add histograms with different settings: {} and {}",
        words(ours),
        words(theirs)
    )))
}

pub(super) fn settings_of(histogram: &Histogram<u64>) -> Settings {
    (histogram.low(), histogram.high(), histogram.sigfig())
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn filled(values: &[u64]) -> Histogram<u64> {
        let mut histogram = empty().unwrap();
        for value in values {
            histogram.record(*value).unwrap();
        }
        histogram
    }

    #[test]
    fn a_histogram_survives_its_file() {
        let histogram = filled(&[1, 85_000, 85_000, 9_100_000, HIGHEST_NS]);
        let text = to_json("read", &histogram).unwrap();
        for field in
            ["\"format\": \"assay-histogram/1\"", "\"unit\": \"ns\"", "\"highest\": 3600000000000"]
        {
            assert!(text.contains(field), "{text}");
        }
        assert_eq!(from_json(&text).unwrap(), ("read".to_owned(), Tally::from(&histogram)));
    }

    #[test]
    fn damage_is_told() {
        let document = encode("write", &filled(&[1, 2, 3])).unwrap();
        let refused = |change: &dyn Fn(&mut HistogramDocument)| {
            let mut damaged = document.clone();
            change(&mut damaged);
            decode(&damaged).unwrap_err().0
        };
        assert_eq!(
            refused(&|d| d.format = "assay-histogram/9".to_owned()),
            "the histogram has format `assay-histogram/9`; this version reads `assay-histogram/1`"
        );
        assert!(refused(&|d| d.unit = "us".to_owned()).contains("not ns"));
        assert!(refused(&|d| d.v2_deflate_base64.insert(0, '!')).contains("invalid base64"));
        assert!(
            refused(&|d| d.v2_deflate_base64.truncate(20)).contains("write histogram is damaged")
        );
        assert!(refused(&|d| d.significant_digits = 2).contains("settings"));
        assert!(refused(&|d| d.count = 4).contains("3 values instead of 4"));
        assert!(from_json("{").unwrap_err().0.contains("not a histogram file"));
    }

    proptest! {
        #[test]
        #[ignore = "nightly: 2 s"]
        fn any_histogram_survives(values in proptest::collection::vec(1..HIGHEST_NS, 0..200)) {
            let histogram = filled(&values);
            let (_, back) = from_json(&to_json("read", &histogram).unwrap()).unwrap();
            prop_assert_eq!(back, Tally::from(&histogram));
        }

        #[test]
        fn no_flipped_letter_goes_unnoticed_or_panics(at in 0_usize..60, letter in "[A-Za-z0-9]") {
            let original = filled(&[5, 500, 50_000, 5_000_000]);
            let mut document = encode("read", &original).unwrap();
            let at = at % document.v2_deflate_base64.len();
            document.v2_deflate_base64.replace_range(at..=at, &letter);
            if let Ok(found) = decode(&document) {
                prop_assert_eq!(found.len(), original.len());
            }
        }
    }
}
