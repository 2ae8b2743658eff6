//! One trial: a program writes and syncs on a target with a log, which is then cut.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::draws::Draws;
use serde::{Deserialize, Serialize};

use crate::durability::cut::{Cut, Survivors, draw_moment};
use crate::durability::drive::Drive;
use crate::durability::image::{Seen, fill, identify, rebuild, rebuild_all};
use crate::durability::judge::{Found, LostWrite, WrittenRecords};
use crate::durability::log::SECTOR_BYTES;
use crate::durability::pattern::{Action, Pattern, RecordLayout, WrittenItem};
use crate::durability::sync::Sync;
use crate::durability::tally::{Counterexample, CutTally};

pub use assay_load::Medium;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurabilityTrial {
    pub pattern: Pattern,
    pub sync: Sync,
    pub record_bytes: u64,
    pub promises: u32,
    pub time_ns: u64,
    pub cuts: u64,
    pub drive: Drive,
    /// Assumed atomic write unit of the drive in bytes.
    pub atomic_bytes: u64,
    /// Start of the area on the target, and its length, bytes.
    pub area: [u64; 2],
    pub seed: u64,
    /// Distinguishes the run from all others.
    pub run: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteLoss {
    /// The number of the acknowledged write, from 1.
    pub write: u64,
    /// Its offset on the target, and its length, bytes.
    pub at_bytes: u64,
    pub bytes: u64,
    /// The step of the write, and of its acknowledgment, from 1.
    pub written_step: u64,
    pub acknowledged_step: u64,
    /// Steps done at the power loss; `None` if it is missing without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_step: Option<u64>,
    /// Survivors of the unflushed writes: the kind, their number, and the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survivors: Option<(Survivors, u32, u32)>,
    /// The content found there.
    pub found: Found,
    /// The number of the write found there, from 1, if it is an older one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<u64>,
}

impl WriteLoss {
    /// Steps from the write to the end.
    pub fn length(&self) -> u64 {
        self.crash_step.unwrap_or(u64::MAX).saturating_sub(self.written_step)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurabilityDetail {
    pub writes: u64,
    pub written_bytes: u64,
    /// Syncing calls, or write-through writes.
    pub syncs: u64,
    pub rounds: u64,
    pub window_ns: u64,
    #[serde(flatten)]
    pub tally: CutTally,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub stopped: bool,
}

/// Performs the acts of a program on a medium; each write has a number.
pub struct ActWriter {
    sync: Sync,
    run: u64,
    first_byte: u64,
    bytes: Vec<u8>,
    next: u32,
}

impl ActWriter {
    pub fn new(sync: Sync, record_bytes: u64, run: u64, first_byte: u64) -> Self {
        Self { sync, run, first_byte, bytes: vec![0; record_bytes as usize], next: 0 }
    }

    /// Performs an action on the medium; an acknowledgment does nothing there.
    pub fn act(&mut self, act: Action, medium: &mut dyn Medium) -> Result<(), String> {
        match act {
            Action::Write { at, .. } => {
                fill(&mut self.bytes, self.run, at, self.next);
                self.next += 1;
                let through = self.sync == Sync::Dsync;
                medium.write(self.first_byte + at * SECTOR_BYTES, &self.bytes, through)
            }
            Action::Sync if matches!(self.sync, Sync::Fsync | Sync::Fdatasync) => {
                medium.sync(self.sync == Sync::Fsync)
            }
            Action::Sync | Action::Promise => Ok(()),
        }
    }
}

impl DurabilityTrial {
    /// Writes to the target, verifies the data, and judges replayed power losses in the log.
    pub fn run(
        &self,
        medium: &mut dyn Medium,
        stop: &AtomicBool,
    ) -> Result<DurabilityDetail, String> {
        let (written, mut detail) = self.write(medium, stop)?;
        let sectors = written.log.sectors() as usize;
        self.verify_target(medium, &written, sectors, &mut detail)?;
        self.replay_cuts(&written, sectors, stop, &mut detail);
        Ok(detail)
    }

    /// Writes, syncs and acknowledges, until there are enough or the time is over.
    fn write(
        &self,
        medium: &mut dyn Medium,
        stop: &AtomicBool,
    ) -> Result<(WrittenRecords, DurabilityDetail), String> {
        let layout = RecordLayout::new(self.pattern, self.record_bytes, self.area[1])?;
        let mut detail = DurabilityDetail::default();
        let mut writer = ActWriter::new(self.sync, self.record_bytes, self.run, self.area[0]);
        // Draws and allocates before the measured time.
        let rounds: Vec<Vec<Action>> =
            layout.rounds(self.seed).take(self.promises as usize).collect();
        let mut records = WrittenRecords::with_room(layout, rounds.iter().map(Vec::len).sum());
        let began_ns = medium.now_ns();
        let is_over = |now_ns: u64| now_ns.saturating_sub(began_ns) >= self.time_ns;
        for acts in rounds {
            if is_over(medium.now_ns()) || stop.load(Ordering::Relaxed) {
                break;
            }
            for act in acts {
                self.perform(act, &mut records, &mut writer, medium, &mut detail)?;
            }
            detail.rounds += 1;
        }
        detail.stopped = stop.load(Ordering::Relaxed);
        detail.window_ns = medium.now_ns().saturating_sub(began_ns);
        detail.tally.acknowledged_writes = records.log.promises();
        Ok((records, detail))
    }

    /// Performs an act and logs what a drive would see of it.
    fn perform(
        &self,
        act: Action,
        records: &mut WrittenRecords,
        writer: &mut ActWriter,
        medium: &mut dyn Medium,
        detail: &mut DurabilityDetail,
    ) -> Result<(), String> {
        writer.act(act, medium)?;
        match act {
            Action::Write { what, at } => {
                records.write(at, what);
                detail.writes += 1;
                detail.written_bytes += self.record_bytes;
                if self.sync == Sync::Dsync {
                    // With the page cache, a kernel syncs such a write by a flush, without FUA.
                    records.log.flush();
                    detail.syncs += 1;
                }
            }
            Action::Sync if matches!(self.sync, Sync::Fsync | Sync::Fdatasync) => {
                records.log.flush();
                detail.syncs += 1;
            }
            Action::Promise if self.sync != Sync::None => records.log.promise(),
            Action::Sync | Action::Promise => {}
        }
        Ok(())
    }

    /// Reads the target and compares it with the log, to verify that the writes were performed.
    fn verify_target(
        &self,
        medium: &mut dyn Medium,
        written: &WrittenRecords,
        sectors: usize,
        detail: &mut DurabilityDetail,
    ) -> Result<(), String> {
        let expected = rebuild_all(&written.log, sectors);
        let mut found = vec![Seen::Before; sectors];
        let mut record = vec![0; self.record_bytes as usize];
        let per_record = written.layout.sectors as usize;
        for first in (0..sectors).step_by(per_record.max(1)) {
            // A record that the run did not write need not be read.
            if expected[first..first + per_record].iter().all(|sector| *sector == Seen::Before) {
                continue;
            }
            medium.read(self.area[0] + first as u64 * SECTOR_BYTES, &mut record)?;
            for (sector, at) in record.chunks_exact(SECTOR_BYTES as usize).zip(first..) {
                found[at] = identify(sector, self.run, at as u64);
            }
        }
        let [compared, wrong] = &mut detail.tally.read_again;
        for (expected, found) in expected.iter().zip(&found) {
            if *expected != Seen::Before {
                *compared += 1;
                *wrong += u64::from(expected != found);
            }
        }
        let judgement = written.judge(&found, written.log.steps.len());
        let first = judgement.lost.first();
        detail.tally.lost_without_crash =
            first.and_then(|lost| self.write_loss(written, lost, None)).map(Counterexample::Place);
        Ok(())
    }

    /// Judges the content after random power losses in the log; none in an empty log.
    fn replay_cuts(
        &self,
        written: &WrittenRecords,
        sectors: usize,
        stop: &AtomicBool,
        detail: &mut DurabilityDetail,
    ) {
        if written.log.steps.is_empty() {
            return;
        }
        let mut draws = Draws::new(self.seed, "durability cuts");
        let unit = self.atomic_sectors();
        for _ in 0..self.cuts {
            if stop.load(Ordering::Relaxed) {
                detail.stopped = true;
                break;
            }
            let steps = draw_moment(&written.log, &mut draws);
            let (landed, cut) = self.drive.cut(&written.log, steps, unit, &mut draws);
            let image = rebuild(&written.log, &landed, sectors);
            detail.tally.count(&written.judge(&image, steps), |lost| {
                self.write_loss(written, lost, Some(&cut)).map(Counterexample::Place)
            });
        }
    }

    pub(crate) fn atomic_sectors(&self) -> u32 {
        (self.atomic_bytes / SECTOR_BYTES).max(1) as u32
    }

    /// The counterexample of a lost write; `None` if the log does not contain the write or its acknowledgment.
    pub(crate) fn write_loss(
        &self,
        written: &WrittenRecords,
        lost: &LostWrite,
        cut: Option<&Cut>,
    ) -> Option<Box<WriteLoss>> {
        let (step, promised) = written.log.find_steps(lost.write);
        let write = written.log.writes.get(lost.write as usize)?;
        // A block in the transaction log is missing at its final place.
        let home = match written.items.get(lost.write as usize)? {
            WrittenItem::Logged { place, .. } => written.layout.home(*place),
            _ => write.at,
        };
        Some(Box::new(WriteLoss {
            write: u64::from(lost.write) + 1,
            at_bytes: self.area[0] + home * SECTOR_BYTES,
            bytes: u64::from(write.sectors) * SECTOR_BYTES,
            written_step: step? as u64 + 1,
            acknowledged_step: promised? as u64 + 1,
            crash_step: cut.map(|cut| cut.steps as u64),
            survivors: cut.map(|cut| (cut.survivors, cut.survived, cut.cached)),
            found: lost.found,
            older: lost.older.map(|older| u64::from(older) + 1),
        }))
    }
}
