//! Rates that meet and rates that exceed a limit (R16), from trials at several rates.

use assay_core::stats::Sample;
use serde::{Deserialize, Serialize};

/// Number of rates that share the error: the maximum that R16 tries.
const RATES: f64 = 9.0;
const ALPHA: f64 = 0.05;
/// Share of the requested rate below which a trial could not issue operations on time. An open loop
/// continues for a quarter of its time, and counts by the time taken.
const ON_TIME: f64 = 0.8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The response is below the limit (95% confidence).
    Within,
    /// The response is above the limit (95% confidence), or operations started late.
    Exceeds,
    Inconclusive,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedRate {
    pub standing: Standing,
    /// Geometric mean of the trials' percentiles, nanoseconds.
    pub middle_ns: Option<f64>,
    pub ends_ns: Option<[f64; 2]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    pub percentile_ns: Option<f64>,
    pub done_per_s: Option<f64>,
}

impl RateSample {
    pub fn is_late(&self, per_s: f64) -> bool {
        self.done_per_s.is_some_and(|done| done < ON_TIME * per_s)
    }

    /// Returns whether one trial meets the limit; guides the search only.
    pub fn passes(&self, per_s: f64, limit_ns: f64) -> bool {
        !self.is_late(per_s) && self.percentile_ns.is_some_and(|value| value < limit_ns)
    }
}

/// Judges a rate by the confidence bounds of the mean of its trials' log percentiles; one late trial fails the rate.
pub fn judge(trials: &[RateSample], per_s: f64, limit_ns: f64) -> JudgedRate {
    let values = trials.iter().filter_map(|trial| trial.percentile_ns);
    let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    let sample = Sample::of(&logs);
    // A two-sided interval with twice the error has the one-sided bounds as its bounds.
    let bounds = sample.and_then(|sample| sample.interval(2.0 * ALPHA / RATES));
    let log_limit = limit_ns.ln();
    let is_late = trials.iter().any(|trial| trial.is_late(per_s));
    let standing = match bounds {
        _ if is_late => Standing::Exceeds,
        Some([_, high]) if high < log_limit => Standing::Within,
        Some([low, _]) if low > log_limit => Standing::Exceeds,
        _ => Standing::Inconclusive,
    };
    JudgedRate {
        standing,
        middle_ns: sample.map(|sample| sample.mean.exp()),
        ends_ns: bounds.map(|bounds| bounds.map(f64::exp)),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bracket {
    /// The highest rate up to which every rate passes.
    pub holds: Option<usize>,
    /// The lowest rate above which every rate fails, inclusive.
    pub fails: Option<usize>,
}

impl Bracket {
    /// Finds the bracket in the outcomes of ascending rates.
    pub fn from_outcomes(standings: &[Standing]) -> Self {
        let holding =
            standings.iter().take_while(|standing| **standing == Standing::Within).count();
        let failing =
            standings.iter().rev().take_while(|standing| **standing == Standing::Exceeds).count();
        Self {
            holds: holding.checked_sub(1),
            fails: (failing > 0).then(|| standings.len() - failing),
        }
    }

    pub const fn is_whole(self) -> bool {
        self.holds.is_some() && self.fails.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT_NS: f64 = 2e6;

    fn trials(values_ms: &[f64]) -> Vec<RateSample> {
        let of = |ms: &f64| RateSample { percentile_ns: Some(ms * 1e6), done_per_s: Some(1000.0) };
        values_ms.iter().map(of).collect()
    }

    fn standing(values_ms: &[f64]) -> Standing {
        judge(&trials(values_ms), 1000.0, LIMIT_NS).standing
    }

    /// The quantile 1 - .05/9 of t is 3.92633 by its closed form for five degrees of freedom. The logs below have
    /// mean ln 1.6 and sd 0.1.
    #[test]
    fn bounds_are_those_of_a_t_of_five_ninths_of_a_percent() {
        let deviation = 0.1 / (6.0_f64 / 5.0).sqrt();
        let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let values = signs.map(|sign: f64| 1.6 * (sign * deviation).exp());
        let found = judge(&trials(&values), 1000.0, LIMIT_NS);
        let half = 3.92633 * 0.1 / 6.0_f64.sqrt();
        let [low, high] = found.ends_ns.unwrap().map(|end| (end / 1.6e6).ln());
        assert!((low + half).abs() < 2e-6 && (high - half).abs() < 2e-6, "{low} {high} {half}");
        assert!((found.middle_ns.unwrap() / 1.6e6 - 1.0).abs() < 1e-9);
        assert_eq!(found.standing, Standing::Within);
    }

    #[test]
    fn a_rate_holds_fails_or_is_between() {
        let around = |middle: f64| [0.97, 1.02, 1.0, 0.99, 1.03, 0.99].map(|by| middle * by);
        assert_eq!(standing(&around(1.5)), Standing::Within);
        assert_eq!(standing(&around(2.0)), Standing::Inconclusive);
        assert_eq!(standing(&around(2.5)), Standing::Exceeds);
        // Too few trials are inconclusive.
        assert_eq!(standing(&[1.0, 1.0]), Standing::Inconclusive);
        assert_eq!(standing(&[]), Standing::Inconclusive);
        // Identical values have an interval of length zero.
        assert_eq!(standing(&[1.9; 6]), Standing::Within);
    }

    #[test]
    fn one_trial_that_could_not_issue_on_time_fails_its_rate() {
        let mut late = trials(&[1.0; 6]);
        late[4].done_per_s = Some(799.0);
        assert_eq!(judge(&late, 1000.0, LIMIT_NS).standing, Standing::Exceeds);
        late[4].done_per_s = Some(801.0);
        assert_eq!(judge(&late, 1000.0, LIMIT_NS).standing, Standing::Within);
        late[4].done_per_s = None;
        assert_eq!(judge(&late, 1000.0, LIMIT_NS).standing, Standing::Within);
        assert!(!RateSample { done_per_s: Some(10.0), ..late[0] }.passes(1000.0, LIMIT_NS));
        assert!(late[0].passes(1000.0, LIMIT_NS) && !late[0].passes(1000.0, 1e5));
    }

    #[test]
    fn a_bracket_is_of_what_holds_from_below_and_fails_from_above() {
        use Standing::{Exceeds, Inconclusive, Within};
        let of = |all: &[Standing]| {
            let Bracket { holds, fails } = Bracket::from_outcomes(all);
            (holds, fails)
        };
        assert_eq!(of(&[Within, Within, Inconclusive, Exceeds, Exceeds]), (Some(1), Some(3)));
        assert_eq!(of(&[Within, Exceeds]), (Some(0), Some(1)));
        // A passing rate above a failing one does not count.
        assert_eq!(of(&[Within, Exceeds, Within, Exceeds]), (Some(0), Some(3)));
        assert_eq!(of(&[Inconclusive, Within, Exceeds]), (None, Some(2)));
        assert_eq!(of(&[Exceeds, Exceeds]), (None, Some(0)));
        assert_eq!(of(&[Within, Within]), (Some(1), None));
        assert_eq!(of(&[]), (None, None));
        assert!(
            !Bracket::from_outcomes(&[Within]).is_whole()
                && Bracket::from_outcomes(&[Within, Exceeds]).is_whole()
        );
    }
}
