//! The used part of a target, and its preparation.

use std::fmt;
use std::str::FromStr;

use assay_core::quantity::{Bytes, Percent};
use assay_workloads::io::Content;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Start>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
}

const ALIGN: Bytes = Bytes(1 << 20);

impl AreaKeys {
    /// Returns the aligned first byte of the area on a device; 0 without an offset.
    pub fn first_byte(&self, device_bytes: u64) -> u64 {
        let start = match self.offset {
            None => return 0,
            Some(Start::Share(share)) => (device_bytes as f64 * share.fraction()) as u64,
            Some(Start::At(bytes)) => bytes.0,
        };
        let alignment = self.align.unwrap_or(ALIGN).0.max(512);
        start.checked_next_multiple_of(alignment).unwrap_or(start)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Start {
    Share(Percent),
    At(Bytes),
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('%') {
            let share: Percent = text.parse().map_err(|error| format!("{error}"))?;
            if !(0.0..100.0).contains(&share.0) {
                return Err(format!("`{text}` is beyond the end; use 0% to less than 100%"));
            }
            return Ok(Self::Share(share));
        }
        text.parse().map(Self::At).map_err(|error| format!("{error}"))
    }
}

assay_core::as_text!(Start);

impl fmt::Display for Start {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => share.fmt(formatter),
            Self::At(bytes) => bytes.fmt(formatter),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    #[serde(default = "one")]
    pub passes: u32,
    #[serde(default)]
    pub compressibility: Content,
}

const fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    Cold,
    Warm,
}

/// How often Assay recreates the layers of a factor (R1b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fresh {
    /// Per replicate: averages the effect of random layouts.
    #[default]
    Replicate,
    Study,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_card_begins_at_an_aligned_byte() {
        let area = AreaKeys {
            offset: Some("50%".parse().unwrap()),
            align: Some("2 MiB".parse().unwrap()),
            size: None,
        };
        assert_eq!(area.first_byte(1001 << 20), 502 << 20);
        assert_eq!(AreaKeys::default().first_byte(1 << 40), 0);
        let at = AreaKeys { offset: Some("3 MiB".parse().unwrap()), ..AreaKeys::default() };
        assert_eq!(at.first_byte(1 << 40), 3 << 20);
        // A start that has no aligned byte after it must not become the first byte.
        let end = AreaKeys { offset: Some(Start::At(Bytes(u64::MAX))), ..AreaKeys::default() };
        assert_eq!(end.first_byte(1 << 40), u64::MAX);
    }

    #[test]
    fn a_start_reads_as_it_is_written() {
        for text in ["50%", "512 MiB", "0%"] {
            assert_eq!(text.parse::<Start>().unwrap().to_string(), text);
        }
        for text in ["100%", "-1%", "half", "12"] {
            assert!(text.parse::<Start>().is_err(), "{text}");
        }
    }
}
