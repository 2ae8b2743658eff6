//! How many times as fast as it was recorded.

use std::fmt;
use std::str::FromStr;

use assay_core::catalogue::keys::OwnForm;
use serde::{Deserialize, Serialize};

/// Thousandths of 1x: from a hundredth to a hundred times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeScale(u32);

const LEAST: u32 = 10;
const MOST: u32 = 100_000;

impl TimeScale {
    pub const ONE: Self = Self(1000);

    pub fn time_ns(self, recorded_ns: u64) -> u64 {
        let scaled = u128::from(recorded_ns) * 1000 / u128::from(self.0.max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    pub fn recorded_ns(self, played_ns: u64) -> u64 {
        let recorded = u128::from(played_ns) * u128::from(self.0) / 1000;
        u64::try_from(recorded).unwrap_or(u64::MAX)
    }
}

impl Default for TimeScale {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for TimeScale {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 1000, self.0 % 1000);
        if rest == 0 {
            return write!(to, "{whole}x");
        }
        write!(to, "{whole}.{}x", format!("{rest:03}").trim_end_matches('0'))
    }
}

impl FromStr for TimeScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim();
        let bare = bare.strip_suffix('x').unwrap_or(bare).trim_end();
        let scale = parse_thousandths(bare).filter(|scale| (LEAST..=MOST).contains(scale));
        scale.map(Self).ok_or_else(|| {
            format!("`{text}` is not a speed; use a factor from 0.01x to 100x, such as 2x")
        })
    }
}

/// A number with at most three digits before and after its point.
fn parse_thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.len() <= 3 && text.bytes().all(|sign| sign.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let thousandths = format!("{part:0<3}").parse::<u32>().ok()?;
    Some(whole.parse::<u32>().ok()? * 1000 + thousandths)
}

assay_core::as_text!(TimeScale);

pub static FORM: OwnForm = OwnForm {
    read: |text| text.parse::<TimeScale>().map(String::from),
    pattern: "^[0-9]{1,3}(\\.[0-9]{1,3})? ?x?$",
    example: "2x",
    number: Some([1, 100]),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_reads_as_it_is_written() {
        for (text, written) in [
            ("1x", "1x"),
            ("2", "2x"),
            ("0.5x", "0.5x"),
            ("1.0", "1x"),
            (" 1.25 x", "1.25x"),
            ("0.01", "0.01x"),
        ] {
            let scale: TimeScale = text.parse().unwrap();
            assert_eq!(scale.to_string(), written, "{text}");
            assert_eq!(written.parse::<TimeScale>(), Ok(scale));
        }
        for text in ["", "x", "0", "0.001x", "101x", "-1", "2.5555", "fast", ".5"] {
            let told = text.parse::<TimeScale>().unwrap_err();
            assert!(told.contains("such as 2x"), "{text}: {told}");
        }
    }

    #[test]
    fn twice_as_fast_takes_half_the_time() {
        let twice: TimeScale = "2x".parse().unwrap();
        assert_eq!((twice.time_ns(10), twice.recorded_ns(5)), (5, 10));
        let slow: TimeScale = "0.01x".parse().unwrap();
        assert_eq!(
            (slow.time_ns(u64::MAX), TimeScale::ONE.time_ns(u64::MAX)),
            (u64::MAX, u64::MAX)
        );
    }
}
