//! Amounts with a unit, as in study files and other files: `512 MiB`, `100 us`, `25%`.
//!
//! Bytes: `k`, `K`, `KiB` are 1024 bytes (likewise `M`, `MiB`, `G`, ... in any case, as in fio and dd); `kB`, `KB`,
//! `MB`, `GB`, `TB` with a capital `B` are powers of ten. `Mb` is rejected because it often means bits. Time: `ns`,
//! `us`, `ms`, `s`, `min` or `m`, `h`. `0` needs no unit. The text from [`std::fmt::Display`] parses to the same
//! amount.

mod parse;
pub mod show;

pub use show::bytes as size;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A share in percent: `25%` is `Percent(25.0)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

/// Largest acceptable loss: a share (`5%`), or an amount in the unit of a metric that may be zero (`+10`).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Loss {
    Share(Percent),
    Amount(f64),
}

/// Parse error of an amount: one line that says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(pub String);

impl fmt::Display for UnitError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}

impl From<UnitError> for String {
    fn from(error: UnitError) -> Self {
        error.0
    }
}

/// A level as a number: a plain one, bytes, or a rate (`5000/s`). All code that orders or draws levels uses it.
pub fn level_number(level: &str) -> Option<f64> {
    let plain = level.parse::<f64>().ok().filter(|number| number.is_finite());
    let bytes = || level.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
    let per_s = || level.strip_suffix("/s")?.parse::<u64>().ok().map(|rate| rate as f64);
    plain.or_else(bytes).or_else(per_s)
}

impl Time {
    pub const fn ns(self) -> u64 {
        self.0
    }

    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Percent {
    /// As a fraction: 25% is 0.25.
    pub const fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::amount(text, &parse::BYTES).map(Self)
    }
}

impl FromStr for Time {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::amount(text, &parse::TIME).map(Self)
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::percent(text).map(Self)
    }
}

impl FromStr for Loss {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let Some(amount) = text.trim().strip_prefix('+') else {
            return text.parse().map(Self::Share);
        };
        // Digits only: `parse` alone also accepts `inf`, `1e3` and a second sign.
        let is_plain = amount.chars().all(|sign| sign.is_ascii_digit() || sign == '.');
        match amount.parse::<f64>() {
            Ok(amount) if is_plain && amount.is_finite() => Ok(Self::Amount(amount)),
            _ => Err(UnitError(format!("`{text}` is not an increase; use a value such as +10"))),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&exact(self.0, &parse::BYTES, "B"))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&exact(self.0, &parse::TIME, "s"))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}%", self.0))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => fmt::Display::fmt(share, formatter),
            Self::Amount(amount) => formatter.pad(&format!("+{amount}")),
        }
    }
}

/// The shortest exact form of an amount: the unit with the smallest integer, the earlier one in the table for equals.
fn exact(amount: u64, measure: &parse::UnitFamily, zero: &str) -> String {
    if amount == 0 {
        return format!("0 {zero}");
    }
    let fitting = measure.units.iter().filter(|unit| amount.is_multiple_of(unit.factor));
    fitting.min_by_key(|unit| amount / unit.factor).map_or_else(
        || format!("{amount} {zero}"),
        |unit| format!("{} {}", amount / unit.factor, unit.name),
    )
}

macro_rules! serialised_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serialised_as_text!(Bytes, Time, Percent, Loss);

#[cfg(test)]
mod tests;
