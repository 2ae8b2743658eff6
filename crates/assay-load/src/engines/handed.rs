//! Requests that the loop passes to an engine: which writes are synced, and that trims and zeroing have no data.

use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::null::Null;
use crate::check::tests::job as any_job;
use crate::drive::{Part, Worker, work};
use crate::engine::{Completion, Engine, Move, Request, Setup};
use crate::gate::Control;
use crate::{EngineKind, Job, LoadError, QueueFacts, Target, WriteSync};

/// The null engine with a count of requests, reported as its note.
struct Handed {
    null: Null,
    writes: u64,
    synced: u64,
    cleared: u64,
    /// Invalid requests: a write of a zeroing block, or a sync of anything except a write.
    odd: u64,
}

impl Engine<'_> for Handed {
    fn open(setup: &Setup<'_>) -> Result<Self, LoadError> {
        Ok(Self { null: Null::open(setup)?, writes: 0, synced: 0, cleared: 0, odd: 0 })
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.null.slot_mut(slot)
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        for request in requests {
            self.synced += u64::from(request.synced);
            match request.way {
                Move::Write => {
                    self.writes += 1;
                    let is_empty = self.null.slot_mut(request.slot).iter().all(|byte| *byte == 0);
                    self.odd += u64::from(is_empty);
                }
                Move::Trim | Move::Zero => {
                    self.cleared += 1;
                    self.odd += u64::from(request.synced);
                }
                Move::Read | Move::Sync => self.odd += u64::from(request.synced),
            }
        }
        self.null.submit(requests)
    }

    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        self.null.complete(at_least, into)
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        self.null.complete_by(deadline_ns, into)
    }

    fn queue(&self) -> QueueFacts {
        self.null.queue()
    }

    fn notes(&self) -> Vec<String> {
        let Self { writes, synced, cleared, odd, .. } = self;
        vec![format!("{writes} writes, {synced} synced, {cleared} cleared, {odd} odd")]
    }
}

fn run_handed(mix: &str, sync: WriteSync, depth: u32) -> Part {
    let job = Job {
        mix: mix.parse().unwrap(),
        sync,
        depth,
        time: Duration::from_secs(3600),
        operations: Some(1000),
        ..any_job()
    };
    let (target, stop) = (Target { file: None, memory_alignment: 4096 }, AtomicBool::new(false));
    let control = Control::new(1, &stop);
    let kind = &EngineKind::Null;
    let worker = Worker { job: &job, kind, target: &target, thread: 0, control: &control };
    work::<Handed>(&worker).unwrap().unwrap()
}

#[test]
fn every_nth_write_is_synced() {
    for depth in [1, 7] {
        for (sync, synced) in [
            (WriteSync::None, 0),
            (WriteSync::EachWrite, 1000),
            (WriteSync::EachNth(8), 125),
            (WriteSync::EachNth(300), 3),
            (WriteSync::EachNth(1001), 0),
        ] {
            let notes = run_handed("write", sync, depth).notes;
            assert_eq!(notes, [format!("1000 writes, {synced} synced, 0 cleared, 0 odd")]);
        }
    }
    let rewrites = run_handed("rewrite", WriteSync::EachNth(10), 7).notes;
    assert!(rewrites[0].starts_with("1000 writes, 100 synced, 0 cleared"), "{rewrites:?}");
}

#[test]
fn syncs_count_only_writes_of_a_mix() {
    let part = run_handed("read/20:write/30:trim/30:zero/20", WriteSync::EachNth(5), 4);
    let totals = part.found.totals;
    let cleared = totals.trim_operations + totals.zero_operations;
    let writes = totals.write_operations;
    let expected = format!("{writes} writes, {} synced, {cleared} cleared, 0 odd", writes / 5);
    assert_eq!(part.notes, [expected]);
    assert!(writes > 200 && totals.trim_operations > 200 && totals.zero_operations > 100);
}
