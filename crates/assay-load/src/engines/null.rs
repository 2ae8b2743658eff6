//! Completes at once under the real clock: measures the overhead of the loop itself.

use std::io;

use super::buffer;
use crate::buffer::Buffer;
use crate::clock::Alarm;
use crate::drive::{Part, Worker, work as drive};
use crate::engine::{Completion, Engine, Request, Setup};
use crate::{EngineEntry, EngineKind, LoadError, QueueFacts};

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "null",
    summary: "transfers no data and completes immediately (measures the overhead of Assay)",
    needs_file: false,
    available: || Ok(()),
    standard: EngineKind::Null,
    work,
};

fn work(worker: &Worker<'_>) -> Result<Option<Part>, LoadError> {
    drive::<Null>(worker)
}

pub(super) struct Null {
    /// Content is generated too, because that is part of the overhead.
    buffer: Buffer,
    ready: Vec<Completion>,
    submitted: u64,
    alarm: Alarm,
}

impl Engine<'_> for Null {
    fn open(setup: &Setup<'_>) -> Result<Self, LoadError> {
        Ok(Self {
            buffer: buffer(setup)?,
            ready: Vec::with_capacity(setup.job.depth as usize),
            submitted: 0,
            alarm: Alarm::new(),
        })
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffer.slot_mut(slot)
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        self.submitted += requests.len() as u64;
        let done =
            |request: &Request| Completion { slot: request.slot, result: request.bytes as i32 };
        self.ready.extend(requests.iter().map(done));
        Ok(())
    }

    fn complete(&mut self, _: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        into.append(&mut self.ready);
        Ok(())
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        if self.ready.is_empty() {
            self.alarm.wait_until(deadline_ns);
        }
        self.complete(1, into)
    }

    fn queue(&self) -> QueueFacts {
        QueueFacts { looked_at: self.submitted, already_complete: self.submitted }
    }
}
