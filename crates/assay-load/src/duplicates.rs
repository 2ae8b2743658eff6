//! How many of the written blocks are copies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Share of written 4 KiB pieces that are duplicates, in percent.
///
/// Each piece is, independently with this probability, a copy of one of 256 equally likely blocks. All threads of a run
/// share these blocks, and different runs use different ones. Every other piece is unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Duplicates(u8);

impl Duplicates {
    pub const NONE: Self = Self(0);

    pub const fn percent(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Duplicates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}%", self.0)
    }
}

impl FromStr for Duplicates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|share| share.trim_end().parse::<u8>().ok());
        percent.filter(|percent| *percent <= 100).map(Self).ok_or_else(|| {
            format!(
                "`{text}` is not a share of duplicates; use a percentage of the written blocks, such \
                 as 30%"
            )
        })
    }
}

as_text!(Duplicates);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_written_as_it_is_read() {
        for (text, percent) in [("0%", 0), ("30%", 30), ("100%", 100)] {
            let found: Duplicates = text.parse().unwrap();
            assert_eq!((found.percent(), String::from(found)), (percent, text.to_owned()));
        }
        assert_eq!("7%".parse(), Ok(Duplicates(7)));
        assert_eq!(Duplicates::default(), Duplicates::NONE);
        for text in ["", "30", "%", "-1%", "101%", "2.5%"] {
            assert!(text.parse::<Duplicates>().unwrap_err().contains("such as 30%"), "{text}");
        }
    }
}
