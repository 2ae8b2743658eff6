//! Intended starts of operations in an open loop, independent of the drive.

use std::sync::Arc;

use crate::Job;
use crate::random::{Purpose, at, key, unit};
use crate::track::Track;
use serde::{Deserialize, Serialize};

const SECOND_NS: u64 = 1_000_000_000;

/// Highest rate over all threads: the clock has steps of a nanosecond.
pub const MOST_PER_S: u64 = 10_000_000;

/// Later than this is late: far above a wake-up, far below any wait on purpose.
pub const LATE_NS: u64 = 1_000_000;

/// Overdue operations are issued for the time divided by this after its end.
pub const OVERTIME_PART: u64 = 4;

/// Law of the gaps between intended starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    #[default]
    Fixed,
    /// Gaps of an exponential law: users who do not know of each other.
    Poisson,
}

names!(Arrivals: Fixed = "fixed", Poisson = "poisson");

/// The open loop of a job, shared by its threads: with fixed arrivals, thread k of n has arrivals k, k + n, ...; with
/// Poisson arrivals, each thread has an independent process with 1/n of the rate, and the sum is Poisson again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub rate_per_s: u64,
    pub arrivals: Arrivals,
}

/// Delays of the operations with an intended start in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pace {
    pub scheduled: u64,
    /// Issued operations, including late ones. The rest had no slot until the limit.
    pub issued: u64,
    /// Issued ones that were handed over more than [`LATE_NS`] after their intended start.
    pub late: u64,
    /// Late ones that found all slots in flight: the drive, and not this machine, was behind.
    pub full: u64,
    /// Longest nanoseconds from an intended start to its submission, or until operations were given up unissued.
    pub max_delay_ns: u64,
}

impl Pace {
    pub const fn unissued(&self) -> u64 {
        self.scheduled.saturating_sub(self.issued)
    }

    /// Counts an issued operation with its delay; `full` if all slots may have been in flight at its intended start.
    #[inline]
    pub(crate) fn issue(&mut self, behind_ns: u64, full: bool) {
        self.scheduled += 1;
        self.issued += 1;
        self.max_delay_ns = self.max_delay_ns.max(behind_ns);
        if behind_ns > LATE_NS {
            self.late += 1;
            self.full += u64::from(full);
        }
    }

    /// Counts an operation that was never issued, with its waiting time.
    pub(crate) fn add_unissued(&mut self, waited_ns: u64) {
        self.scheduled += 1;
        self.max_delay_ns = self.max_delay_ns.max(waited_ns);
    }

    /// Counts operations that were never issued, with unknown waiting times.
    pub(crate) fn add_unstarted(&mut self, count: u64) {
        self.scheduled = self.scheduled.saturating_add(count);
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            scheduled: self.scheduled.saturating_add(other.scheduled),
            issued: self.issued.saturating_add(other.issued),
            late: self.late.saturating_add(other.late),
            full: self.full.saturating_add(other.full),
            max_delay_ns: self.max_delay_ns.max(other.max_delay_ns),
        }
    }
}

/// The intended starts of one thread in their order, up to the end of the time.
pub(crate) struct Starts {
    arrivals: ArrivalTimes,
    start: u64,
    length: u64,
    next: u64,
}

enum ArrivalTimes {
    /// Arrival `index` of the one clock, and every `step`-th after it.
    Fixed {
        index: u64,
        step: u64,
        rate: u64,
    },
    /// Draws by index; the sum in nanoseconds includes fractions, so no time is lost.
    Poisson {
        key: u64,
        drawn: u64,
        at_ns: f64,
        mean_ns: f64,
    },
    Recorded {
        track: Arc<Track>,
        index: usize,
    },
}

impl ArrivalTimes {
    /// Returns the arrivals of one thread; `None` for a closed loop.
    fn for_thread(job: &Job, thread: u32) -> Option<Self> {
        if let Some(track) = job.track.as_ref().filter(|track| track.by_clock()) {
            return Some(Self::Recorded { track: Arc::clone(track), index: 0 });
        }
        let schedule = job.schedule?;
        let (rate, threads) = (schedule.rate_per_s.max(1), u64::from(job.threads.max(1)));
        Some(match schedule.arrivals {
            Arrivals::Fixed => Self::Fixed { index: u64::from(thread), step: threads, rate },
            Arrivals::Poisson => Self::Poisson {
                key: key(job.seed, thread, Purpose::Arrivals),
                drawn: 0,
                at_ns: 0.0,
                mean_ns: SECOND_NS as f64 * threads as f64 / rate as f64,
            },
        })
    }

    /// Returns the nanoseconds from the start to the next arrival, and advances to the one after it.
    #[inline]
    fn next(&mut self) -> u64 {
        match self {
            Self::Fixed { index, step, rate } => {
                // Separate seconds and remainder avoid overflow and accumulated errors.
                let (whole, rest) = (*index / *rate, *index % *rate);
                *index += *step;
                whole * SECOND_NS + rest * SECOND_NS / *rate
            }
            Self::Poisson { key, drawn, at_ns, mean_ns } => {
                let drawn_unit = unit(at(*key, *drawn));
                *drawn += 1;
                *at_ns -= (1.0 - drawn_unit).ln() * *mean_ns; // of (0, 1]: the logarithm is finite
                *at_ns as u64
            }
            Self::Recorded { track, index } => {
                let at = track.steps().get(*index).map_or(u64::MAX, |step| step.at_ns);
                *index += 1;
                at
            }
        }
    }
}

impl Starts {
    /// Arrivals of one thread of a job; `None` for a closed loop.
    pub(crate) fn new(job: &Job, thread: u32) -> Option<Self> {
        let mut arrivals = ArrivalTimes::for_thread(job, thread)?;
        let length =
            u64::try_from(job.ramp.saturating_add(job.time).as_nanos()).unwrap_or(u64::MAX);
        let next = arrivals.next();
        Some(Self { arrivals, start: 0, length, next })
    }

    pub(crate) fn begin(&mut self, start: u64) {
        self.start = start;
    }

    /// Time of the next intended start; `None` after the end of the schedule.
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        (self.next < self.length).then(|| self.start.saturating_add(self.next))
    }

    #[inline]
    pub(crate) fn advance(&mut self) {
        self.next = self.arrivals.next();
    }

    /// Time after which no operation is issued, even if scheduled.
    pub(crate) fn limit(&self) -> u64 {
        self.start.saturating_add(self.length).saturating_add(self.length / OVERTIME_PART)
    }

    /// Ends the schedule: no operation is scheduled after this time.
    pub(crate) fn cut(&mut self, stamp: u64) {
        self.length = self.length.min(stamp.saturating_sub(self.start));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::tests::job;

    fn scheduled(rate_per_s: u64, arrivals: Arrivals, threads: u32) -> Job {
        let schedule = Some(Schedule { rate_per_s, arrivals });
        Job { schedule, threads, time: Duration::from_secs(10), ..job() }
    }

    /// All intended starts of a thread.
    fn starts(job: &Job, thread: u32) -> Vec<u64> {
        let mut starts = Starts::new(job, thread).unwrap();
        let mut all = Vec::new();
        while let Some(next) = starts.next() {
            all.push(next);
            starts.advance();
        }
        all
    }

    #[test]
    fn fixed_arrivals_are_those_of_one_clock_whatever_the_threads() {
        for rate in [1, 3, 7, 100, 4_999, 100_000] {
            let alone = starts(&scheduled(rate, Arrivals::Fixed, 1), 0);
            let exact = |index: usize| (index as u128 * 1_000_000_000 / u128::from(rate)) as u64;
            assert_eq!(alone.len() as u64, 10 * rate);
            assert!(alone.iter().enumerate().all(|(index, at)| *at == exact(index)), "{rate}");
            for threads in [2, 3, 8] {
                let job = scheduled(rate, Arrivals::Fixed, threads);
                let own = |thread: u32| starts(&job, thread);
                for thread in 0..threads {
                    let picked = alone.iter().copied();
                    let picked: Vec<u64> =
                        picked.skip(thread as usize).step_by(threads as usize).collect();
                    assert_eq!(own(thread), picked, "{rate}, thread {thread} of {threads}");
                }
            }
        }
    }

    /// Kolmogorov and Smirnov's distance of a sample from a law.
    fn distance(mut sample: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let apart = |(index, value): (usize, &f64)| {
            let (below, here) = (index as f64 / n, (index + 1) as f64 / n);
            (law(*value) - below).abs().max((here - law(*value)).abs())
        };
        sample.iter().enumerate().map(apart).fold(0.0, f64::max)
    }

    /// Critical distance; one sample in eight thousand exceeds it.
    fn critical(n: usize) -> f64 {
        2.2 / (n as f64).sqrt()
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn gaps_of_poisson_arrivals_are_exponential_at_every_rate() {
        for rate in [100, 1_000, 10_000, 100_000] {
            for seed in 0..5 {
                let job = Job { seed, ..scheduled(rate, Arrivals::Poisson, 1) };
                let all = starts(&job, 0);
                let gaps: Vec<f64> =
                    all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
                let (n, mean) = (gaps.len(), 1e9 / rate as f64);
                // Whole nanoseconds change a gap of 10 us by at most a ten-thousandth.
                let found = distance(gaps, |gap| 1.0 - (-gap / mean).exp());
                assert!(found < critical(n) + 1e-4, "{rate}/s, seed {seed}: {found}");
                // The number in ten seconds is Poisson: five standard deviations.
                let expected = 10.0 * rate as f64;
                assert!((all.len() as f64 - expected).abs() < 5.0 * expected.sqrt());
            }
        }
    }

    #[test]
    fn threads_add_up_to_one_poisson_process_and_differ() {
        let job = scheduled(2_000, Arrivals::Poisson, 4);
        let each: Vec<Vec<u64>> = (0..4).map(|thread| starts(&job, thread)).collect();
        assert!(each.iter().enumerate().all(|(at, one)| !each[at + 1..].contains(one)));
        let mut all = each.concat();
        all.sort_unstable();
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len();
        assert!(distance(gaps, |gap| 1.0 - (-gap / 500_000.0).exp()) < critical(n));
    }

    #[test]
    fn arrivals_of_another_law_are_told_apart_by_that_test() {
        let all = starts(&scheduled(1_000, Arrivals::Fixed, 1), 0);
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let n = gaps.len();
        assert!(distance(gaps, |gap| 1.0 - (-gap / 1e6).exp()) > 10.0 * critical(n));
    }

    #[test]
    fn seeds_decide_and_a_closed_loop_has_no_starts() {
        let at = |seed| starts(&Job { seed, ..scheduled(100, Arrivals::Poisson, 1) }, 0);
        assert_eq!(at(1), at(1));
        assert_ne!(at(1), at(2));
        assert!(Starts::new(&job(), 0).is_none());
    }

    #[test]
    fn a_schedule_that_is_cut_ends_there() {
        let mut own = Starts::new(&scheduled(10, Arrivals::Fixed, 1), 0).unwrap();
        own.begin(5_000);
        assert_eq!((own.next(), own.limit()), (Some(5_000), 12_500_005_000));
        own.advance();
        assert_eq!(own.next(), Some(100_005_000));
        own.cut(100_005_000);
        assert_eq!(own.next(), None);
    }

    #[test]
    fn what_is_late_and_why_is_counted() {
        let mut pace = Pace::default();
        pace.issue(LATE_NS, true);
        pace.issue(LATE_NS + 1, true);
        pace.issue(LATE_NS + 7, false);
        pace.add_unissued(5);
        let one = Pace { scheduled: 4, issued: 3, late: 2, full: 1, max_delay_ns: LATE_NS + 7 };
        assert_eq!((pace, pace.unissued()), (one, 1));
        let both = pace.plus(Pace { scheduled: 1, max_delay_ns: 9, ..Pace::default() });
        assert_eq!((both.scheduled, both.unissued(), both.max_delay_ns), (5, 2, LATE_NS + 7));
    }
}
