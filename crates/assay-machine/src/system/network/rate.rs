//! Bits per second, as links are sold by: `4 Mbit/s`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const UNITS: [(&str, u64); 4] =
    [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1000), ("bit/s", 1)];
const MOST: f64 = 1e13;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub u64);

impl BitRate {
    pub fn bytes_in(self, ns: u64) -> u64 {
        (u128::from(self.0) * u128::from(ns) / 8 / 1_000_000_000) as u64
    }

    pub fn from_bytes(bytes: u64, ns: u64) -> Self {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        Self(u64::try_from(bits / u128::from(ns.max(1))).unwrap_or(u64::MAX))
    }
}

impl FromStr for BitRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a link rate; use the form 4 Mbit/s");
        let text = text.trim();
        let end = text.find(|sign: char| !(sign.is_ascii_digit() || sign == '.'));
        let (number, unit) = text.split_at(end.ok_or_else(wrong)?);
        let unit = unit.trim().trim_end_matches("/s");
        let same = |name: &str| name.trim_end_matches("/s").eq_ignore_ascii_case(unit);
        let (_, factor) = UNITS.iter().find(|(name, _)| same(name)).ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bits = (number * *factor as f64).round();
        if !(1.0..MOST).contains(&bits) {
            return Err(wrong());
        }
        Ok(Self(bits as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = UNITS.iter().find(|(_, factor)| self.0 >= *factor);
        let (name, factor) = fitting.copied().unwrap_or(("bit/s", 1));
        formatter.pad(&format!("{} {name}", self.0 as f64 / factor as f64))
    }
}

impl Serialize for BitRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written() {
        for (text, bits) in [
            ("4 Mbit/s", 4_000_000),
            ("4.75mbit", 4_750_000),
            ("500 kbit/s", 500_000),
            ("1 Gbit/s", 1_000_000_000),
            ("64 bit/s", 64),
        ] {
            let rate: BitRate = text.parse().unwrap();
            assert_eq!(rate.0, bits, "{text}");
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        for text in ["4", "4 MB/s", "fast", "-1 Mbit/s", "0 Mbit/s", "", "Mbit/s", "9e9 Gbit/s"] {
            assert!(text.parse::<BitRate>().unwrap_err().contains("4 Mbit/s"), "{text}");
        }
    }

    #[test]
    fn a_rate_is_bytes_in_a_time() {
        assert_eq!(BitRate(5_000_000).bytes_in(600_000_000), 375_000);
        assert_eq!(BitRate::from_bytes(375_000, 600_000_000), BitRate(5_000_000));
    }

    #[test]
    fn a_rate_is_shown_in_the_largest_unit_that_fits() {
        let shown = [0, 1, 999, 1000, 1500, 999_999, 1_000_000, 999_999_999, 1_000_000_000];
        assert_eq!(
            shown.map(|bits| BitRate(bits).to_string()),
            [
                "0 bit/s",
                "1 bit/s",
                "999 bit/s",
                "1 kbit/s",
                "1.5 kbit/s",
                "999.999 kbit/s",
                "1 Mbit/s",
                "999.999999 Mbit/s",
                "1 Gbit/s"
            ]
        );
        assert_eq!(format!("{:>8}|", BitRate(7)), " 7 bit/s|");
    }

    #[test]
    fn the_least_rate_is_a_bit_and_the_most_is_below_ten_terabits() {
        let read = |text: &str| text.parse::<BitRate>().map(|rate| rate.0).ok();
        assert_eq!(read("0.5 bit/s"), Some(1), "it is rounded");
        assert_eq!(read("0.4 bit/s"), None);
        assert_eq!(read("9999 Gbit/s"), Some(9_999_000_000_000));
        assert_eq!(read("10000 Gbit/s"), None);
        assert_eq!(read(" 2 MBIT/s "), Some(2_000_000));
    }

    #[test]
    fn rates_of_no_time_and_of_much_are_none_too_large() {
        assert_eq!(BitRate::from_bytes(1, 0), BitRate(8_000_000_000));
        assert_eq!(BitRate::from_bytes(u64::MAX, 1), BitRate(u64::MAX));
        assert_eq!(BitRate::from_bytes(0, 5), BitRate(0));
        assert_eq!(BitRate(u64::MAX).bytes_in(1_000_000_000), u64::MAX / 8);
    }
}
