//! Experiments: many studies of one kind, and counts of their conclusions.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::chance::Chance;
use assay_testkit::Done;
#[cfg(test)]
use statrs::distribution::{Binomial, DiscreteCDF};

/// Studies per portion of a thread.
const PORTION: u32 = 16;

/// Allowed rate of a conclusion, in percent of the studies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    Within(f64, f64),
    /// Counted for information.
    Free,
}

impl Bound {
    pub const fn at_most(highest: f64) -> Self {
        Self::Within(0.0, highest)
    }

    pub const fn at_least(lowest: f64) -> Self {
        Self::Within(lowest, 100.0)
    }

    pub fn holds(self, rate: f64) -> bool {
        match self {
            Self::Within(lowest, highest) => (lowest..=highest).contains(&rate),
            Self::Free => true,
        }
    }

    pub fn words(self) -> String {
        match self {
            Self::Within(0.0, 0.0) => "none".to_owned(),
            Self::Within(0.0, highest) => format!("at most {highest:.1}"),
            Self::Within(lowest, 100.0) => format!("at least {lowest:.1}"),
            Self::Within(lowest, highest) => format!("{lowest:.1} to {highest:.1}"),
            Self::Free => String::new(),
        }
    }

    /// Returns `ok`, `FAIL`, or `-` without a bound.
    pub fn word(self, rate: f64) -> &'static str {
        match self {
            Self::Within(..) if self.holds(rate) => "ok",
            Self::Within(..) => "FAIL",
            Self::Free => "-",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    pub what: &'static str,
    pub bound: Bound,
}

pub const fn count(what: &'static str, bound: Bound) -> Count {
    Count { what, bound }
}

/// The conclusions of one study, in the order of the counts.
pub type Conclusions = Vec<bool>;

type Study = Box<dyn Fn(&mut Chance) -> Done<Conclusions> + Sync>;

pub struct Experiment {
    pub scenario: &'static str,
    /// Seeds the random numbers; never changed, so that they remain the same.
    pub purpose: String,
    pub setting: String,
    pub counts: Vec<Count>,
    /// Runs one of this number of studies: more than 1 if a study is slow.
    pub one_in: u32,
    pub most: u32,
    pub least: u32,
    /// Whether it runs with fewer studies than the bounds were chosen for.
    pub daily: bool,
    pub study: Study,
}

impl Experiment {
    pub fn new(
        scenario: &'static str,
        purpose: impl Into<String>,
        setting: impl Into<String>,
        counts: Vec<Count>,
        study: impl Fn(&mut Chance) -> Done<Conclusions> + Sync + 'static,
    ) -> Self {
        let study = Box::new(study);
        Self {
            scenario,
            purpose: purpose.into(),
            setting: setting.into(),
            counts,
            one_in: 1,
            most: u32::MAX,
            least: 1,
            daily: true,
            study,
        }
    }

    /// Runs it on all processors. The result does not depend on their number: each study has its own random numbers, and
    /// sums do not depend on the order.
    pub fn run(&self, seed: u32, studies: u32) -> Done<Vec<ExperimentRow>> {
        let studies = (studies / self.one_in).max(self.least).clamp(1, self.most);
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let next = AtomicU32::new(0);
        let sums = Mutex::new(Ok(vec![0; self.counts.len()]));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let own = self.portions(seed, studies, &next);
                    if let Ok(mut sums) = sums.lock() {
                        *sums = add(std::mem::replace(&mut *sums, Ok(Vec::new())), own);
                    }
                });
            }
        });
        let sums = sums.into_inner().map_err(|error| error.to_string())??;
        Ok(self
            .counts
            .iter()
            .zip(sums)
            .map(|(count, sum)| self.row(*count, sum, studies))
            .collect())
    }

    /// Runs portions until none is left.
    fn portions(&self, seed: u32, studies: u32, next: &AtomicU32) -> Done<Vec<u32>> {
        let mut sums = vec![0; self.counts.len()];
        loop {
            let first = next.fetch_add(PORTION, Ordering::Relaxed);
            if first >= studies {
                return Ok(sums);
            }
            for number in first..studies.min(first + PORTION) {
                let said = (self.study)(&mut Chance::new(seed, number, &self.purpose)?)
                    .map_err(|error| format!("{}, study {number}: {error}", self.purpose))?;
                sums.iter_mut().zip(said).for_each(|(sum, said)| *sum += u32::from(said));
            }
        }
    }

    fn row(&self, count: Count, counted: u32, studies: u32) -> ExperimentRow {
        let setting = self.setting.clone();
        ExperimentRow { scenario: self.scenario, setting, count, counted, studies }
    }
}

fn add(left: Done<Vec<u32>>, right: Done<Vec<u32>>) -> Done<Vec<u32>> {
    let (left, right) = (left?, right?);
    Ok(left.into_iter().zip(right).map(|(left, right)| left + right).collect())
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    pub scenario: &'static str,
    pub setting: String,
    pub count: Count,
    pub counted: u32,
    pub studies: u32,
}

impl fmt::Display for ExperimentRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, setting, count: Count { what, bound }, studies, .. } = self;
        let (rate, bounds) = (self.rate(), bound.words());
        let outcome = bound.word(rate);
        write!(
            f,
            "{scenario:4}  {setting:57}  {what:33} {studies:7} {rate:8.2}  {bounds:16} {outcome}"
        )
    }
}

impl ExperimentRow {
    pub fn rate(&self) -> f64 {
        100.0 * f64::from(self.counted) / f64::from(self.studies)
    }

    pub fn holds(&self) -> bool {
        self.count.bound.holds(self.rate())
    }

    /// Whether a count of few studies is compatible with the bound: at the bound itself, a count this extreme has a
    /// probability of at least 0.1%.
    #[cfg(test)]
    pub fn may_hold(&self) -> bool {
        let Bound::Within(lowest, highest) = self.count.bound else { return true };
        let at = |percent: f64| Binomial::new(percent / 100.0, self.studies.into());
        let (Ok(low), Ok(high)) = (at(lowest), at(highest)) else { return false };
        let (counted, rare) = (u64::from(self.counted), 0.001);
        let is_too_many = counted > 0 && high.sf(counted - 1) < rare;
        !is_too_many && low.cdf(counted) >= rare
    }

    pub fn is_bound(&self) -> bool {
        matches!(self.count.bound, Bound::Within(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_at_their_ends() {
        let bound = Bound::Within(3.0, 7.2);
        assert!(bound.holds(3.0) && bound.holds(7.2));
        assert!(!bound.holds(2.99) && !bound.holds(7.21));
        assert_eq!((bound.word(5.0), bound.word(8.0)), ("ok", "FAIL"));
        assert_eq!(Bound::at_most(0.0).words(), "none");
        assert_eq!(Bound::at_least(87.0).words(), "at least 87.0");
        assert_eq!(Bound::Free.word(50.0), "-");
    }

    #[test]
    fn few_studies_break_a_bound_only_beyond_chance() {
        let row = |bound: Bound, counted: u32| ExperimentRow {
            scenario: "X",
            setting: String::new(),
            count: count("x", bound),
            counted,
            studies: 12,
        };
        // Binomial probabilities of 12 at 5%: three or more 0.0196, four or more 0.0022, five or more 0.0002.
        assert!(row(Bound::at_most(5.0), 4).may_hold() && !row(Bound::at_most(5.0), 5).may_hold());
        assert!(row(Bound::at_least(95.0), 8).may_hold());
        assert!(!row(Bound::at_least(95.0), 7).may_hold());
        assert!(row(Bound::at_most(0.0), 0).may_hold() && !row(Bound::at_most(0.0), 1).may_hold());
        assert!(row(Bound::Free, 12).may_hold());
    }

    #[test]
    fn every_study_is_counted_once() {
        let count = count("odd", Bound::Free);
        let study = |chance: &mut Chance| Ok(vec![chance.bits() % 2 == 1, true]);
        let experiment = Experiment::new("X", "test", "", vec![count, count], study);
        let rows = experiment.run(1, 1001).unwrap_or_default();
        assert_eq!(rows[1].counted, 1001);
        let odd = (0..1001).filter(|&number| {
            Chance::new(1, number, "test").is_ok_and(|mut chance| chance.bits() % 2 == 1)
        });
        assert_eq!(rows[0].counted as usize, odd.count());
    }
}
