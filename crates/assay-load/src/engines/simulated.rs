//! A first-come, first-served queue: equal servers, seeded service times whatever size and offset, a virtual clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::drive::{Part, Worker, work as drive};
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::law::LawSampler;
use crate::spent::Spent;
use crate::{EngineEntry, EngineKind, Law, LawShape, LoadError, QueueFacts};

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "simulated",
    summary: "seeded latencies on a virtual clock with known true values, for tests of Assay",
    needs_file: false,
    available: || Ok(()),
    standard: EngineKind::Simulated(Law {
        shape: LawShape::Lognormal { mean_ns: 100_000.0, p99_ns: 300_000.0 },
        servers: 1,
        store: None,
    }),
    work,
};

fn work(worker: &Worker<'_>) -> Result<Option<Part>, LoadError> {
    drive::<SimulatedEngine>(worker)
}

pub(super) struct SimulatedEngine {
    sampler: LawSampler,
    /// Virtual time in nanoseconds; it advances only while waiting for completions.
    now: u64,
    submitted: u64,
    /// When each server is free again, earliest first.
    servers: BinaryHeap<Reverse<u64>>,
    /// End, index, slot and bytes of operations in flight, earliest end first.
    in_flight: BinaryHeap<Reverse<(u64, u64, u32, u32)>>,
    /// Nanoseconds of the sync after the last write, by slot.
    syncs_ns: Vec<u64>,
}

impl SimulatedEngine {
    /// Starts a request at the server that is free first.
    fn start(&mut self, request: Request) {
        let service = self.sampler.service_ns(self.submitted);
        let mut end = self.now.saturating_add(service);
        if let Some(mut server) = self.servers.peek_mut() {
            end = server.0.max(self.now).saturating_add(service);
            server.0 = end;
        }
        // The service time of a synced write is that of its sync.
        let is_synced = request.synced && request.way == Move::Write;
        self.syncs_ns[request.slot as usize] = if is_synced { service } else { 0 };
        self.in_flight.push(Reverse((end, self.submitted, request.slot, request.bytes)));
        self.submitted += 1;
    }
}

impl Engine<'_> for SimulatedEngine {
    fn open(setup: &Setup<'_>) -> Result<Self, LoadError> {
        let EngineKind::Simulated(law) = setup.kind else {
            return Err(LoadError::Invalid("the simulated engine has a law".to_owned()));
        };
        Ok(Self {
            sampler: law.sampler(setup.job.seed, setup.thread)?,
            now: 0,
            submitted: 0,
            servers: (0..law.servers).map(|_| Reverse(0)).collect(),
            in_flight: BinaryHeap::with_capacity(setup.job.depth as usize),
            syncs_ns: vec![0; setup.job.depth as usize],
        })
    }

    fn slot_mut(&mut self, _: u32) -> &mut [u8] {
        &mut []
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            self.start(*request);
        }
        Ok(())
    }

    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        let mut done = 0;
        while let Some(Reverse((end, _, slot, bytes))) = self.in_flight.peek().copied() {
            if done >= at_least && end > self.now {
                break;
            }
            self.in_flight.pop();
            self.now = self.now.max(end);
            done += 1;
            into.push(Completion { slot, result: bytes as i32 });
        }
        Ok(())
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        match self.in_flight.peek() {
            Some(Reverse((end, ..))) if *end <= deadline_ns.max(self.now) => self.complete(1, into),
            _ => {
                self.now = self.now.max(deadline_ns);
                Ok(())
            }
        }
    }

    fn sync_ns(&self, slot: u32) -> u64 {
        self.syncs_ns[slot as usize]
    }

    fn queue(&self) -> QueueFacts {
        QueueFacts { looked_at: self.submitted, already_complete: 0 }
    }

    fn now_ns(&self) -> u64 {
        self.now
    }

    /// Nothing real may leak into a simulated outcome.
    fn spent(&self) -> Spent {
        Spent::default()
    }
}
