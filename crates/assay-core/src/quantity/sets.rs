//! Sets of pages and their skew, as study files write them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Bytes;

const MOST_PERCENT: u32 = 10_000;
/// Maximum exponent; at this exponent nearly all accesses hit one page.
const MOST_EXPONENT: f64 = 4.0;

/// Bytes of a set of pages, or their share of the limit of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SetSize {
    Bytes(Bytes),
    /// Percentage of the limit.
    Percent(u32),
}

impl SetSize {
    /// Bytes of the set; a percentage needs the memory limit.
    pub fn bytes(self, limit: Option<Bytes>) -> Result<u64, String> {
        match (self, limit) {
            (Self::Bytes(bytes), _) => Ok(bytes.0),
            (Self::Percent(percent), Some(limit)) => {
                let share = u128::from(limit.0) * u128::from(percent) / 100;
                // Whole pages of any machine: at most 64 KiB.
                Ok((share >> 16 << 16) as u64)
            }
            (Self::Percent(percent), None) => Err(format!(
                "a working set of {percent}% needs memory_limit; set memory_limit, or use an \
                 amount such as 512 MiB"
            )),
        }
    }
}

impl fmt::Display for SetSize {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(formatter),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}

impl FromStr for SetSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.strip_suffix('%') else {
            return text
                .parse::<Bytes>()
                .map(Self::Bytes)
                .map_err(|error| format!("{error}, or a share of memory_limit such as 150%"));
        };
        let percent = percent.trim().parse().ok().filter(|own| (1..=MOST_PERCENT).contains(own));
        percent.map(Self::Percent).ok_or_else(|| {
            format!("`{text}` is not a share; use a percentage of memory_limit, such as 150%")
        })
    }
}

/// Distribution of accesses over pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Skew {
    #[default]
    Uniform,
    /// Zipf's law with this exponent.
    Zipf(f64),
}

impl Skew {
    /// The exponent of Zipf's law; 0 for uniform accesses.
    pub const fn exponent(self) -> f64 {
        match self {
            Self::Uniform => 0.0,
            Self::Zipf(exponent) => exponent,
        }
    }
}

impl fmt::Display for Skew {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Zipf(exponent) => write!(formatter, "zipf:{exponent}"),
        }
    }
}

impl FromStr for Skew {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "unknown skew `{text}`; use uniform, or zipf with an exponent, such as zipf:0.9"
            )
        };
        if text == "uniform" {
            return Ok(Self::Uniform);
        }
        let exponent = text.strip_prefix("zipf:").and_then(|text| text.trim().parse::<f64>().ok());
        let exponent = exponent.filter(|number| *number > 0.0 && *number <= MOST_EXPONENT);
        exponent.map(Self::Zipf).ok_or_else(wrong)
    }
}

crate::as_text!(SetSize, Skew);
