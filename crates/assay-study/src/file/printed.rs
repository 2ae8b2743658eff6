//! Ratings printed on a device: rates, operations per second, and the classes of SD cards.
//!
//! Classes have the limits of the SD Association (Physical Layer Specification 6.1). Speed, UHS and video classes:
//! minimum sequential write rate in MB/s. Application classes: random reads and writes of 4 KiB, and 10 MB/s.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ask::Amount;

#[derive(Clone, Debug, PartialEq)]
pub enum RatedClaim {
    /// Bytes per second without a direction; compared with reads.
    Rate(f64),
    Operations {
        iops: f64,
        writes: bool,
    },
    Class(&'static SpeedClass),
}

#[derive(Debug, PartialEq)]
pub struct SpeedClass {
    pub name: &'static str,
    /// Lowest rate of linear writing, MB/s.
    pub write_mb_s: f64,
    /// Random reads and writes per second; 0 if the class has no limit.
    pub iops: [f64; 2],
}

impl SpeedClass {
    pub fn source(&self) -> &'static str {
        if self.iops[0] > 0.0 {
            "https://www.sdcard.org/developers/sd-standard-overview/application-performance-class/"
        } else {
            "https://www.sdcard.org/developers/sd-standard-overview/speed-class/"
        }
    }
}

const fn writes(name: &'static str, write_mb_s: f64) -> SpeedClass {
    SpeedClass { name, write_mb_s, iops: [0.0; 2] }
}

#[rustfmt::skip]
pub static FAMILIES: [&[SpeedClass]; 4] = [
    &[writes("C2", 2.0), writes("C4", 4.0), writes("C6", 6.0), writes("C10", 10.0)],
    &[writes("U1", 10.0), writes("U3", 30.0)],
    &[writes("V6", 6.0), writes("V10", 10.0), writes("V30", 30.0), writes("V60", 60.0), writes("V90", 90.0)],
    &[
        SpeedClass { name: "A1", write_mb_s: 10.0, iops: [1500.0, 500.0] },
        SpeedClass { name: "A2", write_mb_s: 10.0, iops: [4000.0, 2000.0] },
    ],
];

impl FromStr for RatedClaim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "`{text}` is not a printed rating; use a rating such as 95 MB/s, 1440 IOPS read, 30 IOPS write, C10, \
                 U3, V30 or A1"
            )
        };
        let mut classes = FAMILIES.iter().copied().flatten();
        if let Some(class) = classes.find(|class| class.name.eq_ignore_ascii_case(text)) {
            return Ok(Self::Class(class));
        }
        let (amount, writes) = match text.strip_suffix(" write") {
            Some(amount) => (amount, true),
            None => (text.strip_suffix(" read").unwrap_or(text), false),
        };
        let value = amount.parse::<Amount>().map_err(|_| wrong())?.value;
        if amount.to_ascii_uppercase().ends_with("IOPS") {
            return Ok(Self::Operations { iops: value, writes });
        }
        // A rate is compared with reads.
        if amount.ends_with("/s") && !writes {
            return Ok(Self::Rate(value));
        }
        Err(wrong())
    }
}

/// One or more ratings printed on a device: `95 MB/s, V30, A1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Claimed {
    pub text: String,
    pub claims: Vec<(String, RatedClaim)>,
}

impl Claimed {
    pub fn rate(&self) -> Option<f64> {
        self.claims.iter().find_map(|(_, claim)| match claim {
            RatedClaim::Rate(rate) => Some(*rate),
            _ => None,
        })
    }
}

impl FromStr for Claimed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let claim = |text: &str| Ok((text.trim().to_owned(), text.parse()?));
        let claims = text.split([',', ';']).map(claim).collect::<Result<_, String>>()?;
        Ok(Self { text: text.trim().to_owned(), claims })
    }
}

assay_core::as_text!(Claimed);

impl fmt::Display for Claimed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_rates_operations_and_classes() {
        assert_eq!("95 MB/s".parse(), Ok(RatedClaim::Rate(95e6)));
        assert_eq!("1440 IOPS".parse(), Ok(RatedClaim::Operations { iops: 1440.0, writes: false }));
        assert_eq!(
            "30 IOPS write".parse(),
            Ok(RatedClaim::Operations { iops: 30.0, writes: true })
        );
        assert!(matches!("v30".parse(), Ok(RatedClaim::Class(class)) if class.name == "V30"));
        for wrong in ["fast", "V31", "95", "100 us", "95 MB/s write", "-1 IOPS", ""] {
            assert!(wrong.parse::<RatedClaim>().is_err(), "{wrong}");
        }
        let several: Claimed = "V30, 95 MB/s,A1".parse().unwrap();
        assert_eq!((several.rate(), several.claims.len()), (Some(95e6), 3));
        assert!("V30,".parse::<Claimed>().unwrap_err().contains("is not a printed rating"));
    }
}
