//! Rolls back a harmful level: at a multiple of the worst value that the baseline sustained for three seconds.

use std::collections::BTreeMap;
use std::fmt;

use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::detail::Second;

/// Consecutive seconds for a breach, and for the baseline's values.
pub const IN_A_ROW: usize = 3;
/// Fewest requests of a class per second for a meaningful mean.
const ENOUGH: u64 = 10;
/// Lower limit of the baseline's share of waiting.
const LEAST_PRESSURE: f64 = 0.10;
/// Lower limits of the baseline's mean and p99, nanoseconds: smaller values are noise.
const LEAST_MEAN_NS: f64 = 1_000_000.0;
const LEAST_P99_NS: f64 = 5_000_000.0;
/// Lower limit of the age of the baseline's oldest request, nanoseconds.
const LEAST_AGE_NS: f64 = 500_000_000.0;
const SHORTEST_NS: u64 = 500_000_000;

/// Factor over the baseline's worst at which a level is rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Harm(Option<f64>);

const FACTORS: [(&str, Option<f64>); 7] = [
    ("off", None),
    ("1.5x", Some(1.5)),
    ("2x", Some(2.0)),
    ("3x", Some(3.0)),
    ("4x", Some(4.0)),
    ("5x", Some(5.0)),
    ("10x", Some(10.0)),
];

pub fn words() -> Vec<&'static str> {
    FACTORS.iter().map(|(word, _)| *word).collect()
}

impl Default for Harm {
    fn default() -> Self {
        Self(Some(2.0))
    }
}

impl Harm {
    /// The factor; `None` if levels are never rolled back.
    pub fn factor(self) -> Option<f64> {
        self.0
    }

    pub fn words(self) -> String {
        match self.0 {
            Some(_) => format!(", rolled back above {self} the worst value of the baseline"),
            None => ", without early rollback".to_owned(),
        }
    }
}

impl fmt::Display for Harm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = FACTORS.iter().find(|(_, factor)| *factor == self.0);
        out.write_str(word.map_or("off", |(word, _)| word))
    }
}

impl std::str::FromStr for Harm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = FACTORS.iter().find(|(word, _)| *word == text.trim());
        known
            .map(|(_, factor)| Self(*factor))
            .ok_or_else(|| format!("unknown value `{text}`; use one of {}", words().join(", ")))
    }
}

assay_core::as_text!(Harm);

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HarmLimits {
    pub classes: BTreeMap<String, ClassLimits>,
    pub oldest_ns: f64,
    /// Share of the time in which some task waits for a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
}

impl HarmLimits {
    /// Limits: `factor` times the worst value sustained in the baseline; `None` if its stretches are too short.
    pub fn from_baseline(factor: f64, baseline: &[&[Second]]) -> Option<Self> {
        let limit = |value_of: &dyn Fn(&Second) -> Option<f64>, least: f64| {
            let all = baseline.iter().filter_map(|stretch| sustained_value(stretch, value_of));
            all.max_by(f64::total_cmp).map(|worst| factor * worst.max(least))
        };
        let oldest_ns = limit(&|second| Some(second.oldest_ns as f64), LEAST_AGE_NS)?;
        let mut classes = BTreeMap::new();
        for class in baseline.iter().copied().flatten().flat_map(|second| second.classes.keys()) {
            let mean_ns = limit(&|second| mean(second, class), LEAST_MEAN_NS);
            let p99_ns = limit(&|second| p99(second, class), LEAST_P99_NS);
            classes.insert(class.clone(), ClassLimits { mean_ns, p99_ns });
        }
        // A limit above 100% can never be exceeded.
        let pressure =
            limit(&|second| second.pressure, LEAST_PRESSURE).filter(|limit| *limit < 1.0);
        Some(Self { classes, oldest_ns, pressure })
    }

    /// The limit that a second exceeds by the largest factor, if any.
    fn largest_breach(&self, second: &Second) -> Option<Breach> {
        if second.span_ns < SHORTEST_NS {
            return None;
        }
        let mut breaches = Vec::new();
        let mut check = |what, class: &str, seen: Option<f64>, limit: Option<f64>| {
            if let (Some(seen), Some(limit)) = (seen, limit)
                && seen > limit
            {
                breaches.push(Breach { what, class: class.to_owned(), seen, limit });
            }
        };
        for (class, limits) in &self.classes {
            check(HarmKind::Mean, class, mean(second, class), limits.mean_ns);
            check(HarmKind::P99, class, p99(second, class), limits.p99_ns);
        }
        check(HarmKind::Age, "", Some(second.oldest_ns as f64), Some(self.oldest_ns));
        check(HarmKind::Pressure, "", second.pressure, self.pressure);
        breaches.into_iter().max_by(|a, b| (a.seen / a.limit).total_cmp(&(b.seen / b.limit)))
    }
}

/// The largest value that three consecutive seconds reach; a second without a value interrupts them.
fn sustained_value(stretch: &[Second], value_of: &dyn Fn(&Second) -> Option<f64>) -> Option<f64> {
    let smallest = |row: &[Second]| {
        let values: Vec<f64> = row.iter().map(value_of).collect::<Option<_>>()?;
        Some(values.into_iter().fold(f64::INFINITY, f64::min))
    };
    stretch.windows(IN_A_ROW).filter_map(smallest).max_by(f64::total_cmp)
}

fn mean(second: &Second, class: &str) -> Option<f64> {
    second.classes.get(class).filter(|counts| counts.requests >= ENOUGH)?.mean_ns()
}

fn p99(second: &Second, class: &str) -> Option<f64> {
    second.classes.get(class)?.p99_ns
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HarmKind {
    Mean,
    P99,
    Age,
    Pressure,
}

/// A limit exceeded for three consecutive seconds, with the value of the last one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Breach {
    pub what: HarmKind,
    /// Its class; empty for limits of the whole device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub class: String,
    pub seen: f64,
    pub limit: f64,
}

impl Breach {
    /// `mean latency of reads 12 ms, limit 3 ms`.
    pub fn words(&self) -> String {
        let [seen, limit] = [self.seen, self.limit].map(|amount| match self.what {
            HarmKind::Pressure => show::percent(100.0 * amount),
            HarmKind::Mean | HarmKind::P99 | HarmKind::Age => show::duration(amount),
        });
        let class = &self.class;
        match self.what {
            HarmKind::Mean => format!("mean {class} latency {seen}, limit {limit}"),
            HarmKind::P99 => format!("p99 {class} latency {seen}, limit {limit}"),
            HarmKind::Age => {
                format!("a request was in progress for at least {seen}, limit {limit}")
            }
            HarmKind::Pressure => {
                format!("tasks waited for devices {seen} of the time, limit {limit}")
            }
        }
    }
}

pub struct HarmJudge<'a> {
    limits: Option<&'a HarmLimits>,
    in_a_row: usize,
}

impl<'a> HarmJudge<'a> {
    pub fn new(limits: Option<&'a HarmLimits>) -> Self {
        Self { limits, in_a_row: 0 }
    }

    /// Adds the next second; returns a breach with the third consecutive one.
    pub fn take(&mut self, second: &Second) -> Option<Breach> {
        let breach = self.limits?.largest_breach(second);
        self.in_a_row = if breach.is_some() { self.in_a_row + 1 } else { 0 };
        breach.filter(|_| self.in_a_row >= IN_A_ROW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::production::ClassRequests;

    fn second(requests: u64, mean_ms: u64) -> Second {
        let sum_ns = requests * mean_ms * 1_000_000;
        let served = ClassRequests { requests, sum_ns, ..ClassRequests::default() };
        Second {
            span_ns: 1_000_000_000,
            classes: [("read".to_owned(), served)].into(),
            ..Second::default()
        }
    }

    fn limits(baseline: &[Second]) -> HarmLimits {
        HarmLimits::from_baseline(2.0, &[baseline]).unwrap()
    }

    fn after(limits: &HarmLimits, seconds: &[Second]) -> Option<usize> {
        let mut judge = HarmJudge::new(Some(limits));
        seconds.iter().position(|second| judge.take(second).is_some()).map(|at| at + 1)
    }

    #[test]
    fn the_baselines_worst_three_seconds_in_a_row_are_the_measure() {
        let baseline = [3, 9, 4, 5, 6, 2].map(|ms| second(100, ms));
        // 4, 5, 6 all reach 4; so do 9, 4, 5.
        let found = limits(&baseline).classes["read"].mean_ns;
        assert_eq!(found, Some(8e6));
        assert_eq!(HarmLimits::from_baseline(2.0, &[&baseline[..2]]), None);
    }

    #[test]
    fn three_seconds_in_a_row_take_a_level_back() {
        let limits = limits(&[second(100, 4), second(100, 4), second(100, 4)]);
        let level = [4, 9, 9, 4, 9, 9, 9].map(|ms| second(100, ms));
        assert_eq!(after(&limits, &level), Some(7));
        let just_not = [8, 8, 8, 8].map(|ms| second(100, ms));
        assert_eq!(after(&limits, &just_not), None);
        let too_few = [90, 90, 90].map(|ms| second(3, ms));
        assert_eq!(after(&limits, &too_few), None);
    }

    #[test]
    fn what_hangs_and_what_waits_is_seen_without_a_single_request() {
        let baseline = [second(100, 4), second(100, 4), second(100, 4)];
        let still = |age_s: u64, pressure: f64| Second {
            span_ns: 1_000_000_000,
            oldest_ns: age_s * 1_000_000_000,
            pressure: Some(pressure),
            ..Second::default()
        };
        let known = limits(&baseline);
        let hangs = [1, 2, 3, 4].map(|age| still(age, 0.0));
        assert_eq!(after(&known, &hangs), Some(4));
        let quiet = baseline.clone().map(|one| Second { pressure: Some(0.02), ..one });
        let known = limits(&quiet);
        assert_eq!(after(&known, &[still(0, 0.15), still(0, 0.15), still(0, 0.15)]), None);
        assert_eq!(after(&known, &[still(0, 0.3), still(0, 0.3), still(0, 0.3)]), Some(3));
        let busy = baseline.map(|one| Second { pressure: Some(0.8), ..one });
        assert_eq!(limits(&busy).pressure, None);
    }

    #[test]
    fn a_breach_says_what_and_by_how_much() {
        let limits = limits(&[second(100, 4), second(100, 4), second(100, 4)]);
        let mut judge = HarmJudge::new(Some(&limits));
        let told: Vec<_> = (0..3).filter_map(|_| judge.take(&second(100, 20))).collect();
        assert_eq!(told[0].words(), "mean read latency 20 ms, limit 8 ms");
    }

    #[test]
    fn a_factor_is_one_of_some_words() {
        for word in words() {
            assert_eq!(word.parse::<Harm>().unwrap().to_string(), word);
        }
        assert!("2".parse::<Harm>().is_err() && "0x".parse::<Harm>().is_err());
        assert_eq!(Harm::default().to_string(), "2x");
    }

    #[test]
    fn of_several_limits_that_are_passed_the_worst_is_told() {
        let calm = [second(100, 4), second(100, 4), second(100, 4)].map(|mut one| {
            one.classes.get_mut("read").unwrap().p99_ns = Some(10e6);
            Second { pressure: Some(0.2), ..one }
        });
        let limits = limits(&calm);
        // Twice the worst: 8 ms, 20 ms, at least 1 s, 40%.
        let told = |mean_ms: u64, p99: f64, oldest_ns: u64, pressure: f64, span_ns: u64| {
            let mut one = second(100, mean_ms);
            one.classes.get_mut("read").unwrap().p99_ns = Some(p99);
            let one = Second { oldest_ns, pressure: Some(pressure), span_ns, ..one };
            limits.largest_breach(&one).map(|breach| breach.words())
        };
        let full = 1_000_000_000;
        for (found, words) in [
            (told(8, 20e6, full, 0.4, full), None),
            (told(9, 20e6, full, 0.4, full), Some("mean read latency 9 ms, limit 8 ms")),
            (told(9, 40e6, full, 0.4, full), Some("p99 read latency 40 ms, limit 20 ms")),
            (
                told(9, 40e6, 3 * full, 0.4, full),
                Some("a request was in progress for at least 3 s, limit 1 s"),
            ),
            (
                told(8, 20e6, full, 0.5, full),
                Some("tasks waited for devices 50% of the time, limit 40%"),
            ),
            (told(800, 40e6, full, 0.5, 499_999_999), None),
            (told(800, 40e6, full, 0.5, 500_000_000), Some("mean read latency 800 ms, limit 8 ms")),
        ] {
            assert_eq!(found.as_deref(), words);
        }
    }

    #[test]
    fn what_is_far_below_is_noise() {
        let mut calm = [second(10, 0), second(10, 0), second(10, 0)];
        for one in &mut calm {
            one.classes.get_mut("read").unwrap().p99_ns = Some(1.0);
            (one.pressure, one.oldest_ns) = (Some(0.0), 7);
        }
        let limits = HarmLimits::from_baseline(3.0, &[&calm]).unwrap();
        let class = ClassLimits { mean_ns: Some(3e6), p99_ns: Some(15e6) };
        assert_eq!(limits.classes["read"], class);
        assert_eq!(
            (limits.oldest_ns, limits.pressure.map(|own| (own * 10.0).round())),
            (1.5e9, Some(3.0))
        );
        // Nine requests give no mean.
        let few = [second(9, 5), second(9, 5), second(9, 5)];
        let own = HarmLimits::from_baseline(3.0, &[&few]).unwrap().classes["read"];
        assert_eq!(own, ClassLimits { mean_ns: None, p99_ns: None });
        // A gap between two stretches interrupts consecutive seconds.
        assert_eq!(HarmLimits::from_baseline(3.0, &[&few[..2], &few[..2]]), None);
    }

    #[test]
    fn a_share_of_all_of_the_time_is_no_limit() {
        let with = |pressure| {
            [second(100, 4), second(100, 4), second(100, 4)]
                .map(|one| Second { pressure: Some(pressure), ..one })
        };
        assert_eq!(limits(&with(0.5)).pressure, None);
        assert_eq!(limits(&with(0.25)).pressure, Some(0.5));
    }
}
