//! Which blocks of an area random operations go to more often than to others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How often random operations go to each block of the area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Access {
    #[default]
    Uniform,
    /// Zipf's law: rank k in proportion to k to the power of -theta; ranks are drawn per job.
    Zipf(Thousandths),
    /// fio's Pareto law: the share `h` of the hottest blocks gets `1-h` of the operations. Ranks as for Zipf's law.
    Pareto(Thousandths),
    /// Consecutive parts of the area, each with its share of operations; the first of two is hot.
    Zones(Zones),
}

pub(crate) const MOST_ZONES: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    pub area_percent: u8,
    pub operations_percent: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zones {
    all: [Zone; MOST_ZONES],
    count: usize,
}

impl Zones {
    pub fn all(&self) -> &[Zone] {
        &self.all[..self.count]
    }

    /// Returns `None` if the number of zones is wrong, shares do not add up to 100, or one of them is 0.
    fn new(zones: &[Zone]) -> Option<Self> {
        let area: u32 = zones.iter().map(|zone| u32::from(zone.area_percent)).sum();
        let operations: u32 = zones.iter().map(|zone| u32::from(zone.operations_percent)).sum();
        let has_no_share = |zone: &Zone| zone.area_percent == 0 || zone.operations_percent == 0;
        if (area, operations) != (100, 100)
            || zones.iter().any(has_no_share)
            || !(2..=MOST_ZONES).contains(&zones.len())
        {
            return None;
        }
        let mut all = [Zone::default(); MOST_ZONES];
        all[..zones.len()].copy_from_slice(zones);
        Some(Self { all, count: zones.len() })
    }
}

/// A number above 0 with three digits behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thousandths(u32);

impl Thousandths {
    pub fn value(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Parses a number above 0 and below `below`, with at most three decimals; `None` for other texts.
    fn parse(text: &str, below: u32) -> Option<Self> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let is_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) || part.len() > 3 {
            return None;
        }
        let part = format!("{part:0<3}").parse::<u32>().ok()?;
        let thousandths = whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(part)?;
        (1..below * 1000).contains(&thousandths).then_some(Self(thousandths))
    }
}

impl fmt::Display for Thousandths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:03}", self.0 % 1000);
        match part.trim_end_matches('0') {
            "" => write!(formatter, "{}", self.0 / 1000),
            part => write!(formatter, "{}.{part}", self.0 / 1000),
        }
    }
}

/// Steeper distributions do not occur in practice.
const STEEPEST: u32 = 10;

impl Access {
    const ADVICE: &'static str = "uniform, zipf:1.2 (above 0, below 10), pareto:0.2 (above 0, below 1), or zones \
         such as zoned:80/20:20/80 (80% of I/O in the first 20% of the area)";

    pub const LOOKS: &'static str = concat!(
        r"^\s*(uniform|(zipf|pareto):[0-9]+(\.[0-9]{1,3})?",
        r"|zoned(:[1-9][0-9]?/[1-9][0-9]?)+)\s*$"
    );

    pub fn is_uniform(self) -> bool {
        self == Self::Uniform
    }

    /// Returns the hottest part's share of the places, divided by its share of the operations: at most 1 (if uniform).
    pub fn densest(self, places: u64) -> f64 {
        match self {
            Self::Uniform => 1.0,
            // The share `h` of the places has `1-h` of the operations.
            Self::Pareto(share) => (share.value() / (1.0 - share.value())).min(1.0),
            Self::Zones(zones) => {
                let ratio =
                    |zone: &Zone| f64::from(zone.area_percent) / f64::from(zone.operations_percent);
                zones.all().iter().map(ratio).fold(1.0, f64::min)
            }
            // The hottest fifth of the places, as in a typical hot spot.
            Self::Zipf(theta) => {
                let (all, fifth) = (places.max(1) as f64, (places / 5).max(1) as f64);
                let operations =
                    sum_of_powers(fifth, theta.value()) / sum_of_powers(all, theta.value());
                (fifth / all / operations).min(1.0)
            }
        }
    }

    /// Describes the distribution for the list of workloads; `None` if it is uniform.
    pub fn words(self) -> Option<String> {
        match self {
            Self::Uniform => None,
            Self::Zipf(theta) => Some(format!("Zipf-distributed blocks ({theta}), scattered")),
            Self::Pareto(share) => Some(format!("Pareto-distributed blocks ({share}), scattered")),
            Self::Zones(zones) => {
                let (first, rest) = zones.all().split_first()?;
                let mut text = format!(
                    "{}% of I/O in the first {}% of the area",
                    first.operations_percent, first.area_percent
                );
                // The second of two zones is the remainder and needs no text.
                let described = if rest.len() > 1 { rest } else { &[] };
                text.extend(described.iter().map(|zone| {
                    format!(", {}% in the next {}%", zone.operations_percent, zone.area_percent)
                }));
                Some(text)
            }
        }
    }
}

/// The sum of `k` to the power of `-s` for `k` from 1 to `n` (Euler-Maclaurin), within 1%.
fn sum_of_powers(n: f64, s: f64) -> f64 {
    let integral =
        if (s - 1.0).abs() < 1e-6 { n.ln() } else { (n.powf(1.0 - s) - 1.0) / (1.0 - s) };
    integral + f64::midpoint(1.0, n.powf(-s)) + s * (1.0 - n.powf(-s - 1.0)) / 12.0
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => formatter.write_str("uniform"),
            Self::Zipf(theta) => write!(formatter, "zipf:{theta}"),
            Self::Pareto(share) => write!(formatter, "pareto:{share}"),
            Self::Zones(zones) => {
                formatter.write_str("zoned")?;
                for zone in zones.all() {
                    write!(formatter, ":{}/{}", zone.operations_percent, zone.area_percent)?;
                }
                Ok(())
            }
        }
    }
}

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let (law, parameter) = trimmed.split_once(':').unwrap_or((trimmed, ""));
        let access = match law {
            "uniform" if parameter.is_empty() => Some(Self::Uniform),
            "zipf" => Thousandths::parse(parameter, STEEPEST).map(Self::Zipf),
            "pareto" => Thousandths::parse(parameter, 1).map(Self::Pareto),
            "zoned" => {
                let zones: Option<Vec<Zone>> = parameter.split(':').map(parse_zone).collect();
                zones.and_then(|zones| Zones::new(&zones)).map(Self::Zones)
            }
            _ => None,
        };
        access.ok_or_else(|| format!("unknown distribution `{text}`; use {}", Self::ADVICE))
    }
}

/// Parses a zone in fio's order: percent of the accesses, percent of the area.
fn parse_zone(shares: &str) -> Option<Zone> {
    let percent =
        |text: &str| text.trim().parse::<u8>().ok().filter(|share| (1..=99).contains(share));
    let (operations, area) = shares.split_once('/')?;
    Some(Zone { area_percent: percent(area)?, operations_percent: percent(operations)? })
}

as_text!(Access);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_written_as_it_is_read() {
        for text in [
            "uniform",
            "zipf:1.2",
            "zipf:1",
            "zipf:0.001",
            "pareto:0.2",
            "zoned:80/20:20/80",
            "zoned:50/5:30/15:20/80",
        ] {
            let access: Access = text.parse().unwrap();
            assert_eq!(access.to_string(), text);
            assert_eq!(Access::try_from(String::from(access)), Ok(access));
        }
        for (text, spelled) in [
            ("zipf:1.20", "zipf:1.2"),
            (" zipf:01.0 ", "zipf:1"),
            ("zoned: 95/5 :5/ 95", "zoned:95/5:5/95"),
        ] {
            assert_eq!(text.parse::<Access>().unwrap().to_string(), spelled);
        }
    }

    #[test]
    fn what_is_no_access_says_what_to_write() {
        for text in [
            "",
            "random",
            "zipf",
            "zipf:0",
            "zipf:10",
            "zipf -1",
            "zipf:1.2345",
            "zipf:1e3",
            "zipf .5",
            "pareto:1",
            "pareto:0",
            "hot 20%",
            "zoned:80/0:20/100",
            "zoned",
            "zoned:100/20:0/80",
            "hot 20 80",
            "zoned:80/20",
            "zoned:80/20:20/70",
            "zoned:80/20:30/80",
            "uniform 1",
        ] {
            let told = text.parse::<Access>().unwrap_err();
            assert!(told.contains("zipf:1.2") && told.contains(&format!("`{text}`")), "{told}");
        }
    }

    #[test]
    fn the_part_that_is_met_most_is_so_much_smaller_than_its_share_of_the_operations() {
        let densest = |text: &str, places| text.parse::<Access>().unwrap().densest(places);
        assert_eq!(densest("uniform", 1000), 1.0);
        assert_eq!(densest("zoned:80/20:20/80", 1000), 0.25);
        assert_eq!(densest("zoned:20/80:80/20", 1000), 0.25);
        assert_eq!(densest("zoned:50/5:30/15:20/80", 1000), 0.1);
        assert_eq!(densest("pareto:0.2", 1000), 0.25);
        assert_eq!(densest("pareto:0.5", 1000), 1.0);
        // By the sum itself.
        for theta in [0.5, 1.0, 1.2, 2.0] {
            let sum = |n: u32| (1..=n).map(|k| f64::from(k).powf(-theta)).sum::<f64>();
            let exact = 0.2 / (sum(200) / sum(1000));
            let found = densest(&format!("zipf:{theta}"), 1000);
            assert!((found / exact - 1.0).abs() < 0.01, "{theta}: {found} for {exact}");
        }
        assert_eq!(densest("zipf:1.2", 1), 1.0);
    }

    #[test]
    fn only_what_is_not_uniform_is_told() {
        let words = |text: &str| text.parse::<Access>().unwrap().words();
        assert_eq!(words("uniform"), None);
        assert_eq!(words("zipf:1.20").unwrap(), "Zipf-distributed blocks (1.2), scattered");
        assert_eq!(words("zoned:80/20:20/80").unwrap(), "80% of I/O in the first 20% of the area");
        assert_eq!(
            words("zoned:50/5:30/15:20/80").unwrap(),
            "50% of I/O in the first 5% of the area, 30% in the next 15%, 20% in the next 80%"
        );
    }
}
