//! What operations do to their blocks.

use serde::{Deserialize, Serialize};

/// What operations do to their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mix {
    /// Each reads or writes its block, drawn by these shares.
    Shares {
        /// Reads in percent of all operations.
        read_percent: u8,
    },
    /// Each reads its block, changes some bytes of each sector, and writes it back: one operation.
    Rewrite,
}

impl Mix {
    /// Nothing but reads.
    pub const READS: Self = Self::Shares { read_percent: 100 };
    /// Nothing but writes.
    pub const WRITES: Self = Self::Shares { read_percent: 0 };

    /// Bytes read in percent of all bytes that are moved.
    pub const fn read_percent(self) -> u8 {
        match self {
            Self::Shares { read_percent } => read_percent,
            Self::Rewrite => 50,
        }
    }

    /// Whether anything is read.
    pub const fn reads(self) -> bool {
        self.read_percent() > 0
    }

    /// Whether anything is written.
    pub const fn writes(self) -> bool {
        self.read_percent() < 100
    }

    /// What the operations are called: `reads`, `70 % reads, 30 % writes`, `rewrites`.
    pub fn words(self) -> String {
        match self {
            Self::Shares { read_percent: 100 } => "reads".to_owned(),
            Self::Shares { read_percent: 0 } => "writes".to_owned(),
            Self::Shares { read_percent: reads } => {
                format!("{reads} % reads, {} % writes", 100 - reads)
            }
            Self::Rewrite => "rewrites".to_owned(),
        }
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || {
            format!(
                "`{text}` is no mix: say read, write, rewrite, or two percentages that add up to 100, such as 70/30"
            )
        };
        let read_percent = match text {
            "rewrite" => return Ok(Self::Rewrite),
            "read" => 100,
            "write" => 0,
            _ => {
                let (reads, writes) = text.split_once('/').ok_or_else(advice)?;
                let reads: u8 = reads.trim().parse().map_err(|_| advice())?;
                let writes: u8 = writes.trim().parse().map_err(|_| advice())?;
                if u32::from(reads) + u32::from(writes) != 100 {
                    return Err(advice());
                }
                reads
            }
        };
        Ok(Self::Shares { read_percent })
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        match mix {
            Mix::Shares { read_percent: 100 } => "read".to_owned(),
            Mix::Shares { read_percent: 0 } => "write".to_owned(),
            Mix::Shares { read_percent: reads } => format!("{reads}/{}", 100 - reads),
            Mix::Rewrite => "rewrite".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_reads_as_it_is_written() {
        for text in ["read", "write", "rewrite", "70/30", "5/95"] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(String::from(mix), text);
        }
        assert_eq!("100/0".parse(), Ok(Mix::READS));
    }

    #[test]
    fn a_mix_that_is_none_says_what_to_write() {
        for text in ["", "70", "70/40", "a/b", "-5/105", "300/-200"] {
            assert!(text.parse::<Mix>().unwrap_err().contains("such as 70/30"), "{text}");
        }
    }
}
