//! What operations do to their blocks.

use std::str::FromStr;

use crate::Class;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum Mix {
    /// Each reads or writes its block, drawn by these shares.
    Shares {
        /// Reads in percent of all operations.
        read_percent: u8,
    },
    /// Each reads its block, changes some bytes of each sector, and writes it back: one operation.
    Rewrite,
    /// Random operations by shares; some trim or zero.
    Parts(MixParts),
}

/// Shares of operations in percent, which add up to 100. Some trim their block or zero it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixParts {
    read: u8,
    write: u8,
    trim: u8,
    zero: u8,
}

/// Words of shares with their classes, in the order in which they are written.
const WORDS: [(&str, Class); 4] =
    [("read", Class::Read), ("write", Class::Write), ("trim", Class::Trim), ("zero", Class::Zero)];

impl MixParts {
    const fn percent(self, class: Class) -> u8 {
        match class {
            Class::Read => self.read,
            Class::Write => self.write,
            Class::Trim => self.trim,
            Class::Zero => self.zero,
            Class::Rewrite | Class::Flush => 0,
        }
    }
}

impl Mix {
    pub const READS: Self = Self::Shares { read_percent: 100 };
    pub const WRITES: Self = Self::Shares { read_percent: 0 };

    /// Operations of a class in percent of all operations.
    pub const fn percent(self, class: Class) -> u8 {
        match (self, class) {
            (Self::Shares { read_percent }, Class::Read) => read_percent,
            (Self::Shares { read_percent }, Class::Write) => 100_u8.saturating_sub(read_percent),
            (Self::Rewrite, Class::Rewrite) => 100,
            (Self::Parts(parts), class) => parts.percent(class),
            _ => 0,
        }
    }

    /// Bytes read in percent of the bytes of all operations.
    pub const fn read_percent(self) -> u8 {
        match self {
            Self::Rewrite => 50,
            Self::Shares { .. } | Self::Parts(_) => self.percent(Class::Read),
        }
    }

    pub const fn reads(self) -> bool {
        self.read_percent() > 0
    }

    /// Returns whether operations change stored data: write, trim or zero it.
    pub const fn writes(self) -> bool {
        self.read_percent() < 100
    }

    /// Returns whether operations transfer data to the target, so its content matters.
    pub const fn carries(self) -> bool {
        self.percent(Class::Write) > 0 || self.percent(Class::Rewrite) > 0
    }

    pub const fn clears(self) -> bool {
        self.percent(Class::Trim) > 0 || self.percent(Class::Zero) > 0
    }

    /// Describes the operations: `reads`, `70% reads, 30% writes`, `rewrites`.
    pub fn words(self) -> String {
        let noun = |class| match class {
            Class::Zero => "zeroing".to_owned(),
            class => format!("{}s", class.name()),
        };
        let shares = Class::ALL.into_iter().filter_map(|class| match self.percent(class) {
            0 => None,
            100 => Some(noun(class)),
            percent => Some(format!("{percent}% {}", noun(class))),
        });
        shares.collect::<Vec<String>>().join(", ")
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text {
            "rewrite" => Some(Self::Rewrite),
            _ => parse_class(text).or_else(|| parse_ratio(text)).or_else(|| parse_shares(text)),
        };
        found.ok_or_else(|| {
            format!(
                "unknown mix `{text}`; use read, write, rewrite, trim, zero, two percentages that add up to 100 \
                 such as 70/30, or shares such as read/60:write/30:trim/10"
            )
        })
    }
}

fn parse_class(text: &str) -> Option<Mix> {
    let (_, class) = WORDS.into_iter().find(|(word, _)| *word == text)?;
    mix_of(&[(class, 100)])
}

/// `70/30`.
fn parse_ratio(text: &str) -> Option<Mix> {
    let (reads, writes) = text.split_once('/')?;
    let share = |text: &str| text.trim().parse::<u8>().ok();
    mix_of(&[(Class::Read, share(reads)?), (Class::Write, share(writes)?)])
}

/// `read/60:write/30:trim/10`.
fn parse_shares(text: &str) -> Option<Mix> {
    let share = |text: &str| {
        let (word, percent) = text.split_once('/')?;
        let (_, class) = WORDS.into_iter().find(|(known, _)| *known == word.trim())?;
        Some((class, percent.trim().parse::<u8>().ok()?))
    };
    let shares: Option<Vec<(Class, u8)>> = text.split(':').map(share).collect();
    mix_of(&shares?)
}

/// Creates a mix from shares of distinct classes that add up to 100; otherwise `None`.
fn mix_of(shares: &[(Class, u8)]) -> Option<Mix> {
    // 0 without a share; `None` if a class has two.
    let percent_of = |class| {
        let mut of_class = shares.iter().filter(|(other, _)| *other == class);
        let percent = of_class.next().map_or(0, |(_, percent)| *percent);
        of_class.next().is_none().then_some(percent)
    };
    let (read, write) = (percent_of(Class::Read)?, percent_of(Class::Write)?);
    let (trim, zero) = (percent_of(Class::Trim)?, percent_of(Class::Zero)?);
    let sum: u32 = [read, write, trim, zero].into_iter().map(u32::from).sum();
    if sum != 100 {
        return None;
    }
    if trim == 0 && zero == 0 {
        return Some(Mix::Shares { read_percent: read });
    }
    Some(Mix::Parts(MixParts { read, write, trim, zero }))
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        match mix {
            Mix::Shares { read_percent: 100 } => "read".to_owned(),
            Mix::Shares { read_percent: 0 } => "write".to_owned(),
            Mix::Shares { read_percent: reads } => {
                format!("{reads}/{}", 100_u8.saturating_sub(reads))
            }
            Mix::Rewrite => "rewrite".to_owned(),
            Mix::Parts(parts) => {
                let shares =
                    WORDS.into_iter().filter_map(|(word, class)| match parts.percent(class) {
                        0 => None,
                        100 => Some(word.to_owned()),
                        percent => Some(format!("{word}/{percent}")),
                    });
                shares.collect::<Vec<String>>().join(":")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_reads_as_it_is_written() {
        for text in [
            "read",
            "write",
            "rewrite",
            "70/30",
            "5/95",
            "trim",
            "zero",
            "read/60:write/30:trim/10",
            "write/97:trim/1:zero/2",
        ] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(String::from(mix), text);
        }
        assert_eq!("100/0".parse(), Ok(Mix::READS));
    }

    #[test]
    fn one_mix_is_written_in_one_way() {
        let of = |text: &str| text.parse::<Mix>().unwrap();
        for (text, usual) in [
            ("read/60:write/40", "60/40"),
            ("write/40:read/60", "60/40"),
            ("trim/100", "trim"),
            ("write/100", "write"),
            ("trim/10:read/90", "read/90:trim/10"),
        ] {
            assert_eq!((of(text), String::from(of(text)).as_str()), (of(usual), usual));
        }
    }

    #[test]
    fn a_mix_that_is_none_says_what_to_write() {
        for text in [
            "",
            "70",
            "70/40",
            "a/b",
            "-5/105",
            "300/-200",
            "read/60",
            "read/60:write/50",
            "read/60:read/40",
            "rewrite/50:read/50",
            "60/read:40/write",
            "trim:zero",
        ] {
            let told = text.parse::<Mix>().unwrap_err();
            assert!(told.contains("such as 70/30") && told.contains("trim/10"), "{text}");
        }
    }

    #[test]
    fn what_takes_bytes_away_needs_what_writing_needs() {
        for (text, reads, writes, carries, clears) in [
            ("read", true, false, false, false),
            ("write", false, true, true, false),
            ("rewrite", true, true, true, false),
            ("70/30", true, true, true, false),
            ("trim", false, true, false, true),
            ("zero", false, true, false, true),
            ("read/99:trim/1", true, true, false, true),
            ("write/50:zero/50", false, true, true, true),
        ] {
            let mix: Mix = text.parse().unwrap();
            let found = (mix.reads(), mix.writes(), mix.carries(), mix.clears());
            assert_eq!(found, (reads, writes, carries, clears), "{text}");
            let all: u32 = Class::ALL.map(|class| u32::from(mix.percent(class))).iter().sum();
            assert_eq!(all, 100, "{text}");
        }
    }

    #[test]
    fn mixes_have_their_words() {
        for (text, words) in [
            ("read", "reads"),
            ("70/30", "70% reads, 30% writes"),
            ("rewrite", "rewrites"),
            ("trim", "trims"),
            ("read/60:write/30:trim/10", "60% reads, 30% writes, 10% trims"),
            ("write/90:zero/10", "90% writes, 10% zeroing"),
        ] {
            assert_eq!(text.parse::<Mix>().unwrap().words(), words);
        }
    }
}
