//! Loops with start times: the open loop, with a schedule independent of the drive; the closed loop with think time.

use super::{DriveLoop, Flight};
use crate::LoadError;
use crate::engine::Engine;
use crate::gate::Control;
use crate::schedule::Starts;

/// Maximum wait between two checks whether the run must end.
const CHECK_NS: u64 = 100_000_000;

impl<'a, E: Engine<'a>> DriveLoop<E> {
    /// Issues each operation at its scheduled time when a slot is free, then drains; returns as [`DriveLoop::run`].
    ///
    /// Overdue operations are still issued after the end, for at most a part of the time: otherwise a stall near the
    /// end would cut off the operations that waited longest, and percentiles would be too good. The part is small,
    /// because the queue of an overloaded drive grows without limit, and a trial must end. The rest counts as never
    /// issued; their waiting times until then, which are lower bounds, count as response times.
    pub(super) fn run_open(&mut self, control: &Control<'_>) -> Result<(u64, bool), LoadError> {
        let start = control.start(self.engine.now_ns());
        let mut limit = u64::MAX;
        if let Some(starts) = &mut self.starts {
            starts.begin(start);
            limit = starts.limit();
        }
        if let Some(script) = &mut self.script {
            script.begin(start);
        }
        self.book.begin(start, start);
        let mut now = self.engine.now_ns();
        let stopped = loop {
            self.submit_due(now)?;
            let Some(next) = self.starts.as_ref().and_then(Starts::next) else { break false };
            if self.left == 0 {
                break false;
            }
            if control.stop_asked() || control.failed() {
                self.end_at(now);
                break control.stop_asked();
            }
            if now >= limit {
                break false;
            }
            // Without a free slot, only a completion lets the next operation start.
            let until = (!self.free.is_empty()).then_some(next);
            (now, _) = self.wait(now, until)?;
            if self.fault.is_some() {
                self.end_at(now);
                break false;
            }
        };
        let has_unissued = self.left > 0 && self.fault.is_none();
        self.left = 0;
        // Drain first, because operations in flight still take time.
        self.drain_paced()?;
        if has_unissued {
            self.count_unissued(now);
        }
        self.result(now, stopped)
    }

    /// Runs a closed loop with think time: fills all slots except resting ones until the run ends, then drains.
    pub(super) fn run_resting(&mut self, control: &Control<'_>) -> Result<(u64, bool), LoadError> {
        let start = control.start(self.engine.now_ns());
        let first = self.submit()?;
        self.book.begin(start, first);
        let mut now = first;
        let stopped = loop {
            if self.left == 0 || self.fault.is_some() {
                break false;
            }
            if control.stop_asked() || control.failed() {
                break control.stop_asked();
            }
            let until = self.resting.front().map(|(due, _)| *due);
            let is_idle = self.resting.len() == self.flights.len();
            // If all slots rest until long after the end, the run ends without waiting for them.
            if is_idle
                && self.book.is_over(now)
                && until.is_some_and(|due| self.book.is_long_over(due))
            {
                break false;
            }
            let (stamp, ended) = self.wait(now, until)?;
            now = stamp;
            if ended && self.book.is_over(now) {
                break false;
            }
            while self.resting.front().is_some_and(|(due, _)| *due <= now) {
                let rested = self.resting.pop_front().map(|(_, slot)| slot);
                self.free.extend(rested);
            }
            self.submit()?;
        };
        self.book.close();
        self.left = 0;
        self.free.extend(self.resting.drain(..).map(|(_, slot)| slot));
        self.drain_paced()?;
        self.result(now, stopped)
    }

    /// Returns the result of a drained run: its failed operation, or the last stamp and whether a stop ended it.
    pub(super) fn result(&mut self, last: u64, stopped: bool) -> Result<(u64, bool), LoadError> {
        match self.fault.take() {
            Some(fault) => Err(fault),
            None => Ok((last, stopped)),
        }
    }

    /// Submits the writes of rewrites, and due operations while slots are free.
    #[inline]
    fn submit_due(&mut self, now: u64) -> Result<(), LoadError> {
        self.batch.clear();
        self.write_back();
        let continued = self.batch.len();
        // If an engine serves a batch sequentially, the first operation would seem to end with the last.
        let most = if E::ONE_AT_A_TIME { 1 } else { usize::MAX };
        while self.left > 0 && self.batch.len() < most {
            let Some(starts) = &mut self.starts else { break };
            let Some(intended) = starts.next().filter(|intended| *intended <= now) else { break };
            let Some(slot) = self.free.pop() else { break };
            starts.advance();
            self.left -= 1;
            let flight = self.next();
            self.begin(slot, Flight { intended, ..flight });
            self.add_to_batch(slot, flight);
        }
        if self.batch.is_empty() {
            return Ok(());
        }
        let stamp = self.hand_over(continued)?;
        for request in &self.batch[continued..] {
            let intended = self.flights[request.slot as usize].intended;
            if self.book.is_in_window(intended) {
                let behind_ns = stamp.saturating_sub(intended);
                self.book.issue(behind_ns);
                self.pace.issue(behind_ns, intended <= self.full_until);
            }
        }
        Ok(())
    }

    /// Waits for a completion until a time, at most [`CHECK_NS`]; returns the time, and whether an operation ended.
    #[inline]
    pub(super) fn wait(&mut self, now: u64, until: Option<u64>) -> Result<(u64, bool), LoadError> {
        // An engine that serves one operation at a time has no free slot while it does.
        let is_serving = E::ONE_AT_A_TIME && self.free.len() < self.flights.len();
        let was_full = is_serving || self.free.is_empty();
        self.done.clear();
        match until {
            Some(until) => {
                self.engine.complete_by(until.min(now.saturating_add(CHECK_NS)), &mut self.done)
            }
            None => self.engine.complete(1, &mut self.done),
        }
        .map_err(|source| LoadError::Engine { what: "wait for completions", source })?;
        let (stamp, ended) = self.record_completions::<true>();
        if was_full {
            self.full_until = stamp;
        }
        Ok((stamp, ended))
    }

    pub(super) fn drain_paced(&mut self) -> Result<(), LoadError> {
        while self.free.len() < self.flights.len() {
            self.submit()?; // only writes of rewrites, because no operations are left
            self.wait(0, None)?;
        }
        Ok(())
    }

    #[cold]
    fn end_at(&mut self, stamp: u64) {
        if let Some(starts) = &mut self.starts {
            starts.cut(stamp);
        }
        self.book.cut(stamp);
    }

    /// Counts scheduled operations that were never issued, with their waiting times until the end.
    #[cold]
    fn count_unissued(&mut self, ended_ns: u64) {
        while let Some(intended) = self.starts.as_ref().and_then(Starts::next) {
            let class = match &mut self.script {
                Some(script) => script.next().act.class(),
                None => self.classes.next(),
            };
            if self.book.is_in_window(intended) {
                let waited = ended_ns.saturating_sub(intended);
                self.pace.add_unissued(waited);
                self.book.respond_at_least(class, waited);
            }
            if let Some(starts) = &mut self.starts {
                starts.advance();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    use std::io;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    use super::*;
    use crate::check::tests::job;
    use crate::drive::{Part, Worker, work};
    use crate::engine::{Completion, Request, Setup};
    use crate::spent::Spent;
    use crate::{Arrivals, EngineKind, Job, Mix, Pace, QueueFacts, Schedule, Target};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;
    const SERVICE: u64 = MS / 2;

    /// A drive under a virtual clock with a latency of 0.5 ms that stalls from 4 s to 6 s.
    struct Frozen {
        now: u64,
        size: i32,
        in_flight: BinaryHeap<Reverse<(u64, u32)>>,
    }

    impl Engine<'_> for Frozen {
        fn open(setup: &Setup<'_>) -> Result<Self, LoadError> {
            let size = setup.job.size_bytes as i32;
            Ok(Self { now: 0, size, in_flight: BinaryHeap::new() })
        }

        fn slot_mut(&mut self, _: u32) -> &mut [u8] {
            &mut []
        }

        fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
            let end = self.now + SERVICE;
            let frozen = 4 * SECOND..6 * SECOND;
            let end = if frozen.contains(&end) { frozen.end + SERVICE } else { end };
            self.in_flight.extend(requests.iter().map(|request| Reverse((end, request.slot))));
            Ok(())
        }

        fn complete(&mut self, _: usize, into: &mut Vec<Completion>) -> io::Result<()> {
            if let Some(Reverse((end, slot))) = self.in_flight.pop() {
                self.now = self.now.max(end);
                into.push(Completion { slot, result: self.size });
            }
            Ok(())
        }

        fn complete_by(&mut self, deadline: u64, into: &mut Vec<Completion>) -> io::Result<()> {
            match self.in_flight.peek() {
                Some(Reverse((end, _))) if *end <= deadline => self.complete(1, into),
                _ => {
                    self.now = self.now.max(deadline);
                    Ok(())
                }
            }
        }

        fn queue(&self) -> QueueFacts {
            QueueFacts::default()
        }

        fn now_ns(&self) -> u64 {
            self.now
        }

        fn spent(&self) -> Spent {
            Spent::default()
        }
    }

    fn part(job: &Job) -> Part {
        let target = Target { file: None, memory_alignment: 4096 };
        let stop = AtomicBool::new(false);
        let control = Control::new(1, &stop);
        let kind = &EngineKind::Null;
        let worker = Worker { job, kind, target: &target, thread: 0, control: &control };
        work::<Frozen>(&worker).unwrap().unwrap()
    }

    /// 500 operations per second for 10 seconds; the drive stalls for two of them.
    fn paced(depth: u32, arrivals: Arrivals) -> Job {
        let schedule = Some(Schedule { rate_per_s: 500, arrivals });
        Job { schedule, depth, time: Duration::from_secs(10), ..job() }
    }

    fn close(found: u64, expected: u64) {
        let error = (found as f64 / expected as f64 - 1.0).abs();
        assert!(error < 0.002, "{found} for {expected}");
    }

    #[test]
    fn a_stall_is_in_the_response_of_everything_that_was_scheduled_meanwhile() {
        let found = part(&paced(4096, Arrivals::Fixed));
        let class = &found.found.classes[0];
        let responses = class.response_ns.as_ref().unwrap();
        assert_eq!((class.operations, responses.len()), (5000, 5000));
        // The slowest fifty were meant to start at 4.000, 4.002, ... s: the one after them at 4.100 s.
        close(responses.value_at_quantile(0.99), 6 * SECOND + SERVICE - 4100 * MS);
        close(responses.max(), 2 * SECOND + SERVICE);
        // The stall does not affect half of them.
        close(responses.value_at_quantile(0.5), SERVICE);
        // All slots were free in time, so service times equal response times.
        let held = Pace { scheduled: 5000, issued: 5000, ..Pace::default() };
        assert_eq!(found.pace, Some(held));
        assert_eq!(class.latency_ns.value_at_quantile(0.99), responses.value_at_quantile(0.99));
        assert_eq!(found.found.window_ns, 10 * SECOND);
    }

    #[test]
    fn with_one_slot_the_stall_is_in_the_response_and_in_one_service_time() {
        let found = part(&paced(1, Arrivals::Fixed));
        let class = &found.found.classes[0];
        let responses = class.response_ns.as_ref().unwrap();
        // One waits at the drive, those behind it for its slot.
        close(class.latency_ns.value_at_quantile(0.99), SERVICE);
        close(class.latency_ns.max(), 2 * SECOND + SERVICE);
        // The queue drains at twice the arrival rate: of the 1000 delayed operations, number n ends at 6 s + (n + 1) *
        // 0.5 ms, with an intended start at 4 s + 2 n ms. The first after the slowest fifty is number 50.
        close(responses.value_at_quantile(0.99), 6 * SECOND + 51 * SERVICE - 4100 * MS);
        let pace = found.pace.unwrap();
        assert_eq!((pace.scheduled, pace.issued), (5000, 5000));
        // During 2 s of stall plus the time to catch up, all operations except the first and the last few are late,
        // because all slots are in use.
        assert_eq!(pace.late, pace.full);
        assert!((1320..=1340).contains(&pace.late), "{pace:?}");
        assert!(pace.max_delay_ns > 19 * SECOND / 10);
    }

    #[test]
    fn a_stall_under_poisson_arrivals_has_the_same_response() {
        for depth in [1, 4096] {
            let found = part(&paced(depth, Arrivals::Poisson));
            let responses = found.found.classes[0].response_ns.as_ref().unwrap();
            let p99 = responses.value_at_quantile(0.99) as f64;
            // The number of arrivals at the start of a stall is Poisson-distributed.
            assert!((p99 / 1.9e9 - 1.0).abs() < 0.05, "{p99}");
        }
    }

    #[test]
    fn a_drive_that_cannot_keep_up_is_told_of_and_ends_in_time() {
        let too_fast = Some(Schedule { rate_per_s: 20_000, arrivals: Arrivals::Fixed });
        let job = Job { schedule: too_fast, time: Duration::from_secs(2), ..job() };
        let found = part(&job);
        let (pace, class) = (found.pace.unwrap(), &found.found.classes[0]);
        // The drive serves 2,000 per second: for 2 s, and for a quarter of that afterwards.
        assert_eq!(pace.scheduled, 40_000);
        assert!((4_999..=5_001).contains(&pace.issued), "{pace:?}");
        assert_eq!(class.operations, pace.issued);
        assert_eq!(class.response_ns.as_ref().unwrap().len(), pace.scheduled);
        let per_s = class.operations as f64 / (found.found.window_ns as f64 / 1e9);
        assert!((per_s / 2_000.0 - 1.0).abs() < 0.01, "{per_s}");
        assert!(pace.max_delay_ns > 2 * SECOND && pace.late > 4_900 && pace.late == pace.full);
    }

    #[test]
    fn a_drive_that_is_behind_from_the_ramp_on_has_its_rate_all_the_same() {
        // The drive serves 2,000 per second. At 3,000 it reaches the window half a second late, at 20,000 never.
        for (rate_per_s, comes) in [(3_000, true), (20_000, false)] {
            let schedule = Some(Schedule { rate_per_s, arrivals: Arrivals::Fixed });
            let (ramp, time) = (Duration::from_secs(1), Duration::from_secs(2));
            let found = part(&Job { ramp, time, schedule, ..job() });
            let (pace, class) = (found.pace.unwrap(), &found.found.classes[0]);
            assert_eq!(pace.scheduled, 2 * rate_per_s);
            assert_eq!((pace.issued > 0, pace.unissued() > 0), (comes, true));
            assert_eq!(class.response_ns.as_ref().unwrap().len(), pace.scheduled);
            let per_s = class.operations as f64 / (found.found.window_ns as f64 / 1e9);
            assert!((per_s / 2_000.0 - 1.0).abs() < 0.01, "{rate_per_s}/s: {per_s}");
        }
    }

    #[test]
    fn an_operation_count_ends_a_schedule() {
        let job = Job { operations: Some(300), ..paced(8, Arrivals::Fixed) };
        let found = part(&job);
        assert_eq!(found.found.totals.read_operations, 300);
        assert_eq!(found.pace, Some(Pace { scheduled: 300, issued: 300, ..Pace::default() }));
        assert_eq!(found.found.last_ns, 299 * 2 * MS + SERVICE);
    }

    #[test]
    fn a_rewrite_answers_when_it_is_written() {
        let job = Job { mix: Mix::Rewrite, operations: Some(50), ..paced(8, Arrivals::Fixed) };
        let found = part(&job);
        let responses = found.found.classes[0].response_ns.as_ref().unwrap();
        close(responses.max(), 2 * SERVICE);
        assert_eq!(found.found.totals.write_operations, 50);
    }

    #[test]
    fn a_slot_rests_between_its_operations_and_a_closed_loop_has_no_pace() {
        let think = Duration::from_nanos(3 * SERVICE);
        for depth in [1, 4] {
            let time = Duration::from_secs(2);
            let found = part(&Job { depth, time, think, ..job() });
            let class = &found.found.classes[0];
            // One operation per slot every 2 ms, with the same service time.
            let per_s = class.operations as f64 / (found.found.window_ns as f64 / 1e9);
            assert!((per_s / (500.0 * f64::from(depth)) - 1.0).abs() < 0.005, "{per_s}");
            close(class.latency_ns.min(), SERVICE);
            close(class.latency_ns.max(), SERVICE);
            assert!(class.response_ns.is_none() && found.pace.is_none());
        }
        // A think time longer than the run does not extend the run.
        let found = part(&Job { think: Duration::from_secs(3_600), depth: 2, ..job() });
        assert_eq!(found.found.totals.read_operations, 2);
        assert!((SECOND..11 * SECOND / 10 + MS).contains(&found.submitted_ns), "{found:?}");
        let plain = part(&Job { time: Duration::from_secs(1), ..job() });
        assert!(plain.pace.is_none() && plain.found.classes[0].response_ns.is_none());
    }
}
