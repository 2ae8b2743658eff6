//! The loop of a paced track: a request starts a gap after the end, or start, of its predecessor.

use super::{DriveLoop, Flight};
use crate::LoadError;
use crate::engine::Engine;
use crate::gate::Control;
use crate::waits::Linked;

impl<'a, E: Engine<'a>> DriveLoop<E> {
    /// Runs a paced track: issues each request when its wait is over and a slot is free; returns as [`DriveLoop::run`].
    pub(super) fn run_linked(&mut self, control: &Control<'_>) -> Result<(u64, bool), LoadError> {
        let start = control.start(self.engine.now_ns());
        if let Some(linked) = &mut self.linked {
            linked.begin(start);
        }
        let first = self.submit_ready(start)?;
        self.book.begin(start, first);
        let mut now = first;
        let stopped = loop {
            if self.left == 0 || self.fault.is_some() || self.book.is_over(now) {
                break false;
            }
            if control.stop_asked() || control.failed() {
                break control.stop_asked();
            }
            let due = self.linked.as_ref().and_then(Linked::due);
            if due.is_none() && self.free.len() == self.flights.len() {
                break false; // nothing would ever be due
            }
            let until = due.filter(|_| !self.free.is_empty());
            (now, _) = self.wait(now, until)?;
            if self.fault.is_none() && !self.book.is_over(now) {
                now = self.submit_ready(now)?;
            }
        };
        self.book.close();
        // Requests that were never issued count as scheduled.
        self.pace.add_unstarted(self.left);
        self.left = 0;
        self.drain_paced()?;
        self.result(now, stopped)
    }

    /// Submits due requests while slots are free; returns the time just before.
    #[inline]
    fn submit_ready(&mut self, now: u64) -> Result<u64, LoadError> {
        self.batch.clear();
        // If an engine serves a batch sequentially, the first request would seem to end with the last.
        let most = if E::ONE_AT_A_TIME { 1 } else { usize::MAX };
        while self.left > 0 && self.batch.len() < most {
            let Some(slot) = self.free.last().copied() else { break };
            let Some(linked) = &mut self.linked else { break };
            let Some((step, intended)) = linked.take_due(now, slot) else { break };
            self.free.pop();
            self.left -= 1;
            let flight = Flight { intended, ..Flight::from_step(step) };
            self.begin(slot, flight);
            self.add_to_batch(slot, flight);
        }
        if self.batch.is_empty() {
            return Ok(now);
        }
        let stamp = self.hand_over(0)?;
        for request in &self.batch {
            let intended = self.flights[request.slot as usize].intended;
            let behind_ns = stamp.saturating_sub(intended);
            self.pace.issue(behind_ns, intended <= self.full_until);
            if let Some(linked) = &mut self.linked {
                linked.issue(request.slot, stamp, behind_ns);
            }
        }
        Ok(stamp)
    }
}
