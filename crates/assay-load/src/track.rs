//! A recorded load for the replay.

use std::fmt;
use std::sync::Arc;

use crate::waits::{self, Wait, WaitCounts};
use crate::{Class, Job};
use serde::{Deserialize, Serialize};

/// Maximum number of requests in a track: 256 MB at 32 bytes each during the replay; a paced one takes 72 each.
pub const MOST_STEPS: usize = 8_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    Read,
    Write,
    /// A durable write: replayed as a write followed by an `fdatasync`.
    Fua,
    /// Flush of all earlier writes: an `fdatasync`.
    Flush,
    Discard,
    /// A range becomes zeros without carrying any.
    WriteZeroes,
}

names!(
    Act: Read = "read",
    Write = "write",
    Fua = "fua",
    Flush = "flush",
    Discard = "discard",
    WriteZeroes = "write-zeroes",
);

impl Act {
    pub const fn class(self) -> Class {
        match self {
            Self::Read => Class::Read,
            Self::Write | Self::Fua => Class::Write,
            Self::Flush => Class::Flush,
            Self::Discard => Class::Trim,
            Self::WriteZeroes => Class::Zero,
        }
    }

    /// Returns whether the request transfers data and needs memory.
    pub const fn carries(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Fua)
    }

    /// Returns whether the request changes stored data.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Fua | Self::Discard | Self::WriteZeroes)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Intended start, nanoseconds from the start of the run.
    pub at_ns: u64,
    /// Bytes from the start of the target; 0 of a flush.
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub bytes: u32,
    pub act: Act,
}

impl Step {
    /// Returns whether the request lies in the area of a job and its data fits a buffer.
    fn is_playable(&self, job: &Job) -> bool {
        if self.act == Act::Flush && self.bytes == 0 {
            return true;
        }
        let end = self.offset.checked_add(u64::from(self.bytes));
        let is_inside = self.offset >= job.area.start && end.is_some_and(|end| end <= job.area.end);
        // A completion reports the bytes as `i32`.
        let has_size = self.bytes > 0 && i32::try_from(self.bytes).is_ok();
        is_inside && has_size && (!self.act.carries() || self.bytes <= job.size_bytes)
    }
}

/// Requests in the order in which they are meant to start.
pub struct Track {
    steps: Vec<Step>,
    /// Dependency of each request in a paced track; otherwise empty.
    waits: Vec<Wait>,
    by_clock: bool,
    has: [bool; Class::ALL.len()],
}

impl Track {
    /// Sorts the requests; the replay starts them by the clock, or as soon as slots are free.
    pub fn new(mut steps: Vec<Step>, by_clock: bool) -> Self {
        steps.sort_by_key(|step| step.at_ns);
        Self::from_parts(steps, Vec::new(), by_clock)
    }

    /// A track of requests in order; each starts a gap after the end or start of its predecessor.
    pub fn paced(steps: Vec<Step>, waits: Vec<Wait>) -> Self {
        Self::from_parts(steps, waits, false)
    }

    fn from_parts(steps: Vec<Step>, waits: Vec<Wait>, by_clock: bool) -> Self {
        let mut has = [false; Class::ALL.len()];
        for step in &steps {
            has[step.act.class() as usize] = true;
        }
        Self { steps, waits, by_clock, has }
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    pub fn waits(&self) -> &[Wait] {
        &self.waits
    }

    pub const fn is_paced(&self) -> bool {
        !self.waits.is_empty()
    }

    pub const fn by_clock(&self) -> bool {
        self.by_clock
    }

    pub const fn has(&self, class: Class) -> bool {
        self.has[class as usize]
    }

    /// Returns why a job cannot replay the track.
    pub(crate) fn fault(&self, job: &Job) -> Option<String> {
        if self.steps.is_empty() {
            return Some("the track has no requests to replay".to_owned());
        }
        if self.steps.len() > MOST_STEPS {
            return Some(format!("a track has at most {MOST_STEPS} requests"));
        }
        if let Some(wrong) = self.steps.iter().position(|step| !step.is_playable(job)) {
            return Some(format!(
                "request {wrong} of the track is outside the area or has no size"
            ));
        }
        if self.is_paced() { waits::fault(&self.waits, self.steps.len()) } else { None }
    }
}

impl fmt::Debug for Track {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} requests", self.steps.len())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub operations: u64,
    pub bytes: u64,
}

impl Moved {
    pub fn add(&mut self, bytes: u64) {
        self.operations = self.operations.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Issued requests, in the order of [`Act::ALL`].
    pub acts: [Moved; Act::ALL.len()],
    /// Nanoseconds from the first intended start to the last one.
    pub intended_ns: u64,
    /// Nanoseconds from the first start to the last one.
    pub took_ns: u64,
    /// Kolmogorov distance: the greatest difference, at any time, between the share of requests that should have
    /// started and the share that had; 0 for a paced track, which has no such times.
    pub arrival_distance: f64,
    pub waited: Option<WaitCounts>,
    /// Nanoseconds from the start to each submission; [`NEVER`] for missing ones in a paced track.
    pub issued_ns: Vec<u64>,
}

/// Marks a request without a submission.
pub const NEVER: u64 = u64::MAX;

impl Played {
    /// The issued requests with their times, in order of submission.
    pub fn issued<'s>(&self, track: &'s Track) -> Vec<(u64, &'s Step)> {
        let steps = self.issued_ns.iter().copied().zip(track.steps());
        let mut issued: Vec<_> = steps.filter(|(at_ns, _)| *at_ns != NEVER).collect();
        issued.sort_by_key(|(at_ns, _)| *at_ns);
        issued
    }
}

pub(crate) struct Script {
    track: Arc<Track>,
    next: usize,
    start: u64,
    /// When each was handed over, from the start on.
    issued: Vec<u64>,
}

impl Script {
    /// State for the track of a job, preallocated; `None` for a paced track.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let track = Arc::clone(job.track.as_ref().filter(|track| !track.is_paced())?);
        let issued = Vec::with_capacity(track.steps.len());
        Some(Self { track, next: 0, start: 0, issued })
    }

    pub(crate) fn begin(&mut self, start: u64) {
        self.start = start;
    }

    /// The next request; the last one again after the end. Not inlined: the loop draws most operations instead.
    #[inline(never)]
    pub(crate) fn next(&mut self) -> &Step {
        let index = self.next.min(self.track.steps.len() - 1);
        self.next += 1;
        &self.track.steps[index]
    }

    /// Records the submission of the next `count` requests.
    #[inline]
    pub(crate) fn issue(&mut self, stamp: u64, count: usize) {
        let room = self.issued.capacity() - self.issued.len();
        let after = stamp.saturating_sub(self.start);
        self.issued.extend(std::iter::repeat_n(after, count.min(room)));
    }

    /// Returns what was replayed, up to the last submission.
    pub(crate) fn finish(self) -> Played {
        let steps = &self.track.steps;
        let mut acts = [Moved::default(); Act::ALL.len()];
        for step in &steps[..self.issued.len().min(steps.len())] {
            acts[step.act as usize].add(u64::from(step.bytes));
        }
        let span = |first: Option<u64>, last: Option<u64>| {
            first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first))
        };
        let at_ns = |step: &Step| step.at_ns;
        Played {
            acts,
            intended_ns: span(steps.first().map(at_ns), steps.last().map(at_ns)),
            took_ns: span(self.issued.first().copied(), self.issued.last().copied()),
            arrival_distance: distance(steps.len(), |index| steps[index].at_ns, &self.issued),
            waited: None,
            issued_ns: self.issued,
        }
    }
}

/// Kolmogorov distance between `count` ascending numbers and others; 1 if one side is empty.
fn distance(count: usize, number: impl Fn(usize) -> u64, other: &[u64]) -> f64 {
    if count == 0 || other.is_empty() {
        return 1.0;
    }
    let (mut below, mut other_below, mut greatest) = (0, 0, 0.0_f64);
    while below < count && other_below < other.len() {
        let limit = number(below).min(other[other_below]);
        while below < count && number(below) <= limit {
            below += 1;
        }
        while other_below < other.len() && other[other_below] <= limit {
            other_below += 1;
        }
        let shares = [below as f64 / count as f64, other_below as f64 / other.len() as f64];
        greatest = greatest.max((shares[0] - shares[1]).abs());
    }
    greatest
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::{EngineKind, Law, LawShape, Mix, Outcome, Pattern, Target};

    const MS: u64 = 1_000_000;
    const AREA: u64 = 1 << 20;

    /// A request per millisecond: reads, writes, a flush and a synced write, repeatedly.
    fn steps(count: u64) -> Vec<Step> {
        let acts = [Act::Read, Act::Write, Act::Flush, Act::Fua, Act::Discard, Act::WriteZeroes];
        (0..count)
            .map(|index| {
                let act = acts[index as usize % acts.len()];
                let bytes = if act == Act::Flush { 0 } else { 4096 };
                let offset = if act == Act::Flush { 0 } else { index * 4096 % AREA };
                Step { at_ns: index * MS, offset, bytes, act }
            })
            .collect()
    }

    fn job(steps: Vec<Step>, by_clock: bool, depth: u32) -> Job {
        let length = steps.last().map_or(0, |step| step.at_ns) + 1;
        let count = steps.len() as u64;
        Job {
            depth,
            time: if by_clock { Duration::from_nanos(length) } else { Duration::from_secs(3600) },
            operations: (!by_clock).then_some(count),
            track: Some(Arc::new(Track::new(steps, by_clock))),
            ..Job::base(Pattern::Random, Mix::READS, 4096, 0..AREA, 1)
        }
    }

    fn played(job: &Job, service_ns: u64, servers: u32) -> Outcome {
        let law = Law::new(LawShape::Fixed { ns: service_ns }, servers).unwrap();
        let target = Target { file: None, memory_alignment: 4096 };
        crate::run(job, &EngineKind::Simulated(law), &target, &AtomicBool::new(false)).unwrap()
    }

    fn operations(outcome: &Outcome, class: Class) -> u64 {
        outcome.classes.iter().filter(|own| own.class == class).map(|own| own.operations).sum()
    }

    #[test]
    fn by_the_clock_each_request_starts_when_it_is_meant_to() {
        let outcome = played(&job(steps(600), true, 32), MS / 4, 32);
        let found = outcome.played.as_ref().unwrap();
        assert_eq!(found.acts.map(|moved| moved.operations), [100; 6]);
        assert_eq!(found.acts[Act::Read as usize].bytes, 100 * 4096);
        assert_eq!(found.acts[Act::Flush as usize].bytes, 0);
        assert_eq!((found.intended_ns, found.took_ns), (599 * MS, 599 * MS));
        assert!(found.issued_ns.iter().copied().eq((0..600).map(|at| at * MS)));
        assert_eq!(found.arrival_distance, 0.0);
        assert_eq!(operations(&outcome, Class::Write), 200);
        assert_eq!(operations(&outcome, Class::Flush), 100);
        let pace = outcome.pace.unwrap();
        assert_eq!((pace.scheduled, pace.issued, pace.late), (600, 600, 0));
        let reads = outcome.classes.iter().find(|own| own.class == Class::Read).unwrap();
        assert_eq!(reads.response_ns.as_ref().unwrap().len(), 100);
    }

    #[test]
    fn a_drive_that_falls_behind_is_seen_in_the_distance_and_in_what_was_not_played() {
        let outcome = played(&job(steps(600), true, 4), 4 * MS, 1);
        let found = outcome.played.unwrap();
        assert!(found.arrival_distance > 0.1, "{found:?}");
        let issued: u64 = found.acts.iter().map(|moved| moved.operations).sum();
        let pace = outcome.pace.unwrap();
        assert_eq!((pace.scheduled, pace.issued), (600, issued));
        assert!(issued < 300, "{issued}");
    }

    #[test]
    fn without_a_clock_all_are_played_as_fast_as_it_goes_in_their_order() {
        let outcome = played(&job(steps(600), false, 8), MS / 10, 8);
        let found = outcome.played.unwrap();
        assert_eq!(found.acts.map(|moved| moved.operations), [100; 6]);
        assert!(found.took_ns < 599 * MS / 10, "{found:?}");
        assert!(outcome.pace.is_none());
    }

    #[test]
    fn what_lies_outside_or_does_not_fit_is_never_begun() {
        let refused = |change: &dyn Fn(&mut Step)| {
            let mut own = steps(3);
            change(&mut own[1]);
            Track::new(own, true).fault(&job(steps(3), true, 1))
        };
        assert_eq!(refused(&|_| {}), None);
        assert!(refused(&|step| step.offset = AREA - 4095).is_some());
        assert!(refused(&|step| step.offset = u64::MAX).is_some());
        assert!(refused(&|step| step.bytes = 4097).is_some());
        assert!(refused(&|step| step.bytes = 0).is_some());
        assert!(Track::new(Vec::new(), true).fault(&job(steps(1), true, 1)).is_some());
    }

    #[test]
    fn distances_are_those_of_shares() {
        let of = |one: &[u64], other: &[u64]| distance(one.len(), |index| one[index], other);
        assert_eq!(of(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        assert_eq!(of(&[1, 2, 3, 4], &[5, 6, 7, 8]), 1.0);
        assert_eq!(of(&[1, 2, 3, 4], &[1, 2, 4, 4]), 0.25);
        assert_eq!(of(&[1, 1], &[1]), 0.0);
        assert_eq!(of(&[1], &[]), 1.0);
    }
}
