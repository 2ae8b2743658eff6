//! A track with dependent requests: each starts a fixed time after the end, or the start, of another one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use crate::Job;
use crate::track::{NEVER, Played, Step, Track};

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The earlier request whose end it waits for; `None` waits for the start of the previous request.
    pub end_of: Option<u32>,
    pub gap_ns: u64,
}

/// Gaps of a track, over the requests issued after the end of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    pub requests: u64,
    /// Nanoseconds from those ends to the starts, summed: as they were meant to be.
    pub gaps_ns: u64,
    /// Nanoseconds that they started after that, summed.
    pub behind_ns: u64,
    /// Nanoseconds from their starts to their own ends, summed.
    pub served_ns: u64,
    /// Requests issued after a later one of the track.
    pub overtaken: u64,
}

/// Returns an error for the first request with an invalid predecessor.
pub(crate) fn fault(waits: &[Wait], steps: usize) -> Option<String> {
    if waits.len() != steps {
        return Some(format!("{} waits do not match {steps} requests", waits.len()));
    }
    let mut has_successor = vec![false; steps];
    for (index, wait) in waits.iter().enumerate() {
        let Some(other) = wait.end_of.map(|other| other as usize) else { continue };
        if other >= index || has_successor[other] {
            return Some(format!(
                "request {index} of the track waits for a later request, or for one that another request waits for"
            ));
        }
        has_successor[other] = true;
    }
    None
}

/// State of a paced track during the replay by its single thread.
pub(crate) struct Linked {
    track: Arc<Track>,
    /// The request that waits for the end of each request.
    after_end: Vec<u32>,
    /// Requests that wait only for their time, with that time. Preallocated for all requests.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<u32>,
    /// Stamp of the start of the run, and of the first of theirs.
    start: u64,
    first: Option<u64>,
    /// The last issued request in the order of the track.
    furthest: u32,
    played: Played,
    waited: WaitCounts,
}

impl Linked {
    /// Creates the state of a paced track, preallocated; `None` for other jobs.
    pub(crate) fn new(job: &Job) -> Option<Self> {
        let track = Arc::clone(job.track.as_ref().filter(|track| track.is_paced())?);
        let count = track.steps().len();
        let mut after_end = vec![NONE; count];
        for (index, wait) in (0_u32..).zip(track.waits()) {
            if let Some(other) = wait.end_of {
                after_end[other as usize] = index;
            }
        }
        Some(Self {
            track,
            after_end,
            ready: BinaryHeap::with_capacity(count),
            slots: vec![0; job.depth as usize],
            start: 0,
            first: None,
            furthest: 0,
            played: Played { issued_ns: vec![NEVER; count], ..Played::default() },
            waited: WaitCounts::default(),
        })
    }

    pub(crate) fn begin(&mut self, start: u64) {
        self.start = start;
        let gap_ns = self.track.waits()[0].gap_ns;
        self.ready.push(Reverse((start.saturating_add(gap_ns), 0)));
    }

    /// Time at which the next request is due, if one waits only for its time.
    #[inline]
    pub(crate) fn due(&self) -> Option<u64> {
        self.ready.peek().map(|Reverse((due, _))| *due)
    }

    /// Assigns a due request to a slot; returns the request and its intended start.
    #[inline]
    pub(crate) fn take_due(&mut self, now: u64, slot: u32) -> Option<(Step, u64)> {
        let Reverse((due, index)) = *self.ready.peek()?;
        if due > now {
            return None;
        }
        self.ready.pop();
        self.slots[slot as usize] = index;
        let next = index + 1;
        let wait = self.track.waits().get(next as usize).copied();
        // A request that waits for no end follows the start of the one before it.
        if let Some(Wait { end_of: None, gap_ns }) = wait {
            self.ready.push(Reverse((due.saturating_add(gap_ns), next)));
        }
        Some((self.track.steps()[index as usize], due))
    }

    /// Records the submission of a slot's request, with its delay.
    #[inline]
    pub(crate) fn issue(&mut self, slot: u32, stamp: u64, behind_ns: u64) {
        let index = self.slots[slot as usize];
        let step = self.track.steps()[index as usize];
        self.played.acts[step.act as usize].add(u64::from(step.bytes));
        self.played.issued_ns[index as usize] = stamp.saturating_sub(self.start);
        let first = *self.first.get_or_insert(stamp);
        self.played.took_ns = stamp.saturating_sub(first);
        let wait = self.track.waits()[index as usize];
        let waited = &mut self.waited;
        if wait.end_of.is_some() {
            waited.requests += 1;
            waited.gaps_ns = waited.gaps_ns.saturating_add(wait.gap_ns);
            waited.behind_ns = waited.behind_ns.saturating_add(behind_ns);
        }
        waited.overtaken += u64::from(index < self.furthest);
        self.furthest = self.furthest.max(index);
    }

    /// Records the end of a slot's request and schedules the requests that wait for it.
    #[inline]
    pub(crate) fn end(&mut self, slot: u32, submitted: u64, stamp: u64) {
        let index = self.slots[slot as usize] as usize;
        if self.track.waits()[index].end_of.is_some() {
            let served_ns = stamp.saturating_sub(submitted);
            self.waited.served_ns = self.waited.served_ns.saturating_add(served_ns);
        }
        let next = self.after_end[index];
        if next != NONE {
            let gap_ns = self.track.waits()[next as usize].gap_ns;
            self.ready.push(Reverse((stamp.saturating_add(gap_ns), next)));
        }
    }

    pub(crate) fn finish(self) -> Played {
        let at_ns = |step: Option<&Step>| step.map_or(0, |step| step.at_ns);
        let steps = self.track.steps();
        let intended_ns = at_ns(steps.last()).saturating_sub(at_ns(steps.first()));
        Played { intended_ns, waited: Some(self.waited), ..self.played }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::{Act, EngineKind, Law, LawShape, Mix, Outcome, Pattern, Target};

    const MS: u64 = 1_000_000;
    const AREA: u64 = 1 << 20;

    fn step(index: u64) -> Step {
        Step { at_ns: index * MS, offset: index * 4096 % AREA, bytes: 4096, act: Act::Read }
    }

    /// A track in which each request waits for the end of the one `beside` places before it.
    fn chains(count: u32, beside: u32, gap_ns: u64) -> Track {
        let wait = |index: u32| {
            let end_of = index.checked_sub(beside);
            Wait { end_of, gap_ns: if end_of.is_some() { gap_ns } else { 0 } }
        };
        Track::paced((0..u64::from(count)).map(step).collect(), (0..count).map(wait).collect())
    }

    fn job(track: Track, depth: u32) -> Job {
        Job {
            depth,
            time: Duration::from_secs(3600),
            operations: Some(track.steps().len() as u64),
            track: Some(Arc::new(track)),
            ..Job::base(Pattern::Random, Mix::READS, 4096, 0..AREA, 1)
        }
    }

    fn played(job: &Job, service_ns: u64, servers: u32) -> Outcome {
        let law = Law::new(LawShape::Fixed { ns: service_ns }, servers).unwrap();
        let target = Target { file: None, memory_alignment: 4096 };
        crate::run(job, &EngineKind::Simulated(law), &target, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn a_request_starts_its_gap_after_the_end_that_it_waits_for_however_long_that_took() {
        for service in [MS / 4, MS, 9 * MS] {
            let outcome = played(&job(chains(1000, 1, MS), 32), service, 32);
            let found = outcome.played.as_ref().unwrap();
            assert_eq!(found.took_ns, 999 * (service + MS));
            assert_eq!(
                (found.intended_ns, found.acts[Act::Read as usize].operations),
                (999 * MS, 1000)
            );
            let waited = found.waited.unwrap();
            assert_eq!((waited.requests, waited.gaps_ns, waited.behind_ns), (999, 999 * MS, 0));
            assert_eq!((waited.served_ns, waited.overtaken), (999 * service, 0));
            assert_eq!(found.issued_ns[999], 999 * (service + MS));
            let pace = outcome.pace.unwrap();
            assert_eq!((pace.scheduled, pace.issued, pace.late), (1000, 1000, 0));
        }
    }

    #[test]
    fn as_many_are_under_way_as_there_were() {
        let took = |servers| {
            let outcome = played(&job(chains(800, 8, MS), 32), MS, servers);
            outcome.played.unwrap().took_ns
        };
        assert_eq!(took(8), 99 * 2 * MS);
        // Sequential requests take 1 ms each: none starts before the previous one ends.
        assert!((790 * MS..800 * MS).contains(&took(1)), "{}", took(1));
    }

    #[test]
    fn what_waits_for_no_end_starts_after_the_start_of_the_one_before_it() {
        let waits = |gap_ns| (0..100).map(|_| Wait { end_of: None, gap_ns }).collect();
        let track = |gap_ns| Track::paced((0..100).map(step).collect(), waits(gap_ns));
        let outcome = played(&job(track(MS), 64), 20 * MS, 64);
        let found = outcome.played.unwrap();
        assert_eq!((found.took_ns, found.waited.unwrap().requests), (99 * MS, 0));
        // With too few slots they are late, which is counted.
        let outcome = played(&job(track(MS), 1), 20 * MS, 1);
        assert_eq!(outcome.played.unwrap().took_ns, 99 * 20 * MS);
        let pace = outcome.pace.unwrap();
        assert_eq!((pace.issued, pace.late, pace.full), (100, 99, 99));
    }

    #[test]
    fn chains_that_go_on_at_their_own_speed_overtake_each_other() {
        // Even ones have no gap, odd ones a long one.
        let wait = |index: u32| {
            let end_of = index.checked_sub(2);
            let gap_ns = if end_of.is_some() && index % 2 == 1 { 9 * MS } else { 0 };
            Wait { end_of, gap_ns }
        };
        let track = Track::paced((0..100).map(step).collect(), (0..100).map(wait).collect());
        let own = job(track, 8);
        let found = played(&own, MS, 8).played.unwrap();
        let issued = found.issued(own.track.as_ref().unwrap());
        assert!(issued.len() == 100 && issued.is_sorted_by_key(|(at_ns, _)| *at_ns));
        assert!(!issued.is_sorted_by_key(|(_, step)| step.at_ns));
        let waited = found.waited.unwrap();
        assert!((40..50).contains(&waited.overtaken), "{waited:?}");
        assert_eq!((waited.requests, waited.behind_ns), (98, 0));
    }

    #[test]
    fn a_play_that_takes_too_long_ends_with_its_time() {
        let short = Job { time: Duration::from_millis(100), ..job(chains(1000, 1, MS), 4) };
        let outcome = played(&short, 4 * MS, 1);
        let pace = outcome.pace.unwrap();
        assert_eq!((pace.scheduled, pace.issued, pace.unissued()), (1000, 20, 980));
        let found = outcome.played.unwrap();
        assert_eq!(
            (found.issued_ns[20..].iter().all(|at| *at == NEVER), found.issued_ns[1]),
            (true, 5 * MS)
        );
        assert_eq!(found.acts[Act::Read as usize].operations, 20);
    }

    #[test]
    fn waits_that_would_never_end_are_refused() {
        let refused = |change: &dyn Fn(&mut Vec<Wait>)| {
            let plain = chains(4, 1, MS);
            let mut waits = plain.waits().to_vec();
            change(&mut waits);
            let own = job(Track::paced(plain.steps().to_vec(), waits), 1);
            own.track.as_ref().and_then(|track| track.fault(&own))
        };
        assert_eq!(refused(&|_| {}), None);
        assert!(refused(&|waits| waits[2].end_of = Some(2)).unwrap().contains("request 2"));
        assert!(refused(&|waits| waits[1].end_of = Some(99)).is_some());
        assert!(refused(&|waits| waits[3].end_of = Some(1)).unwrap().contains("request 3"));
        assert!(refused(&|waits| waits.truncate(3)).unwrap().contains("3 waits"));
        let target = Target { file: None, memory_alignment: 4096 };
        let run = |job: &Job| {
            let found = crate::run(job, &EngineKind::Null, &target, &AtomicBool::new(false));
            found.map(|_| ()).map_err(|error| error.to_string())
        };
        let own = job(chains(4, 1, 0), 1);
        assert_eq!(run(&own), Ok(()));
        let endless = Job { operations: None, ..own };
        assert!(run(&endless).unwrap_err().contains("needs an operation count"));
    }
}
