//! The drive of a virtual machine in this process: a [`Log`] of its writes and flushes allows rebuilding its content
//! for any kind of drive.

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::draws::Draws;
use assay_machine::system::powered::FarSide;

use crate::durability::cut::Cut;
use crate::durability::drive::Drive;
use crate::durability::log::{Log, SECTOR_BYTES, Write};
use crate::durability::pages::DrivePages;

/// A drive with a volatile cache, and the log of its requests since power-on.
pub struct ServedDrive {
    bytes: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    base: DrivePages,
    now: DrivePages,
    log: Log,
    /// Data of the logged writes; `None` for zeros.
    carried: Vec<Option<Box<[u8]>>>,
    /// Number of steps at each reported round.
    rounds: Vec<usize>,
    /// The power loss after this many steps.
    ends: Option<PlannedPowerCut>,
    is_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPowerCut {
    /// After this number of reported rounds,
    pub rounds: u32,
    /// and this number of later modifying requests.
    pub requests: u32,
    pub answers: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Logged {
    base: DrivePages,
    pub log: Log,
    carried: Vec<Option<Box<[u8]>>>,
    rounds: Vec<usize>,
}

impl ServedDrive {
    pub fn new(bytes: u64) -> Self {
        Self { bytes, inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Powers on with this content and an empty log; `ends` is the time of the power loss, if any.
    pub fn begin(&self, content: &DrivePages, ends: Option<PlannedPowerCut>) {
        let (base, now) = (content.clone(), content.clone());
        *self.inner() = Inner { base, now, ends, ..Inner::default() };
    }

    pub fn content(&self) -> DrivePages {
        self.inner().now.clone()
    }

    /// Records that the program completed a round, and whether it is acknowledged.
    pub fn heard(&self, is_promise: bool) {
        let mut inner = self.inner();
        if is_promise {
            inner.log.promise();
        }
        let steps = inner.log.steps.len();
        inner.rounds.push(steps);
        if inner.is_due() {
            inner.is_off = true;
        }
    }

    /// The program ended: a planned power loss happens now.
    pub fn end(&self) {
        let mut inner = self.inner();
        inner.is_off = inner.is_off || inner.ends.is_some();
    }

    pub fn is_off(&self) -> bool {
        self.inner().is_off
    }

    pub fn logged(&self) -> Logged {
        let Inner { base, log, carried, rounds, .. } = std::mem::take(&mut *self.inner());
        Logged { base, log, carried, rounds }
    }

    /// Performs a modifying request; returns whether it is answered.
    fn change(&self, apply: impl FnOnce(&mut Inner)) -> bool {
        let mut inner = self.inner();
        if inner.is_off {
            return false;
        }
        apply(&mut inner);
        if let Some(ends) = inner.ends.filter(|ends| ends.rounds <= inner.rounds.len() as u32) {
            inner.ends =
                Some(PlannedPowerCut { requests: ends.requests.saturating_sub(1), ..ends });
            inner.is_off = inner.is_due();
        }
        !inner.is_off || inner.ends.is_some_and(|ends| ends.answers)
    }

    fn write_of(at_bytes: u64, bytes: u64, through: bool) -> Write {
        let sectors = (bytes / SECTOR_BYTES) as u32;
        Write { at: at_bytes / SECTOR_BYTES, sectors, through }
    }
}

impl Inner {
    fn is_due(&self) -> bool {
        self.ends.is_some_and(|ends| ends.requests == 0 && ends.rounds <= self.rounds.len() as u32)
    }
}

impl FarSide for ServedDrive {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, at_bytes: u64, into: &mut [u8]) -> bool {
        let inner = self.inner();
        inner.now.read(at_bytes, into);
        !inner.is_off
    }

    fn write(&self, at_bytes: u64, bytes: &[u8], through: bool) -> bool {
        self.change(|inner| {
            inner.now.write(at_bytes, bytes);
            inner.log.write(Self::write_of(at_bytes, bytes.len() as u64, through));
            inner.carried.push(Some(bytes.into()));
        })
    }

    fn clear(&self, at_bytes: u64, bytes: u64, through: bool) -> bool {
        self.change(|inner| {
            inner.now.clear(at_bytes, bytes);
            inner.log.write(Self::write_of(at_bytes, bytes, through));
            inner.carried.push(None);
        })
    }

    fn flush(&self) -> bool {
        self.change(|inner| inner.log.flush())
    }
}

impl Logged {
    /// The content after a power loss after this many steps, with the rounds reported by then.
    pub fn after(
        &self,
        drive: Drive,
        unit: u32,
        steps: usize,
        draws: &mut Draws,
    ) -> (DrivePages, Cut) {
        let (landed, cut) = drive.cut(&self.log, steps, unit, draws);
        let mut pages = self.base.clone();
        for landing in landed {
            let write = self.log.writes[landing.write as usize];
            let at = (write.at + u64::from(landing.first)) * SECTOR_BYTES;
            let (from, bytes) = (
                u64::from(landing.first) * SECTOR_BYTES,
                u64::from(landing.sectors) * SECTOR_BYTES,
            );
            match &self.carried[landing.write as usize] {
                None => pages.clear(at, bytes),
                Some(all) => pages.write(at, &all[from as usize..(from + bytes) as usize]),
            }
        }
        (pages, cut)
    }

    pub fn rounds(&self, steps: usize) -> u32 {
        self.rounds.partition_point(|end| *end <= steps) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1 << 20;

    fn read(pages: &DrivePages, at: u64) -> u8 {
        let mut byte = [0];
        pages.read(at, &mut byte);
        byte[0]
    }

    fn written(ends: Option<PlannedPowerCut>) -> (ServedDrive, Vec<bool>) {
        let own = ServedDrive::new(BYTES);
        own.begin(&DrivePages::default(), ends);
        let mut answered = Vec::new();
        for round in 1..=3_u8 {
            answered.push(own.write(u64::from(round) * 4096, &[round; 4096], false));
            answered.push(own.flush());
            own.heard(true);
        }
        answered.push(own.write(4096, &[9; 512], false));
        (own, answered)
    }

    #[test]
    fn what_was_asked_is_logged_and_rebuilt_as_a_drive_keeps_it() {
        let (own, answered) = written(None);
        assert!(answered.iter().all(|own| *own) && read(&own.content(), 4096) == 9);
        let logged = own.logged();
        assert_eq!((logged.log.steps.len(), logged.log.promises()), (10, 3));
        for seed in 0..40 {
            let mut draws = Draws::new(seed, "test");
            let (pages, _) = logged.after(Drive::HonorsFlushes, 8, 9, &mut draws);
            assert_eq!([1, 2, 3].map(|at| read(&pages, at * 4096)), [1, 2, 3]);
            let (pages, _) = logged.after(Drive::HonorsFlushes, 8, 6, &mut draws);
            assert_eq!([1, 2, 3].map(|at| read(&pages, at * 4096)), [1, 2, 0]);
        }
        assert_eq!([0, 2, 3, 5, 6, 10].map(|steps| logged.rounds(steps)), [0, 0, 1, 1, 2, 3]);
        let mut draws = Draws::new(1, "test");
        let lost = (0..40).any(|_| {
            let (pages, _) = logged.after(Drive::DropsFlushes, 8, 9, &mut draws);
            read(&pages, 8192) == 0
        });
        assert!(lost, "a liar's drive lacks what was flushed");
    }

    #[test]
    fn without_power_it_answers_nothing_and_logs_nothing() {
        for (requests, answers, told) in [
            (0, true, [true, true, true, true, false, false, false]),
            (1, true, [true, true, true, true, true, false, false]),
            (1, false, [true, true, true, true, false, false, false]),
            (2, false, [true, true, true, true, true, false, false]),
        ] {
            let (own, answered) = written(Some(PlannedPowerCut { rounds: 2, requests, answers }));
            assert_eq!(answered, told, "{requests} {answers}");
            assert!(own.is_off() && !own.read(0, &mut [0]));
            let changes = |log: &Log| log.steps.len() as u64 - log.promises();
            assert_eq!(changes(&own.logged().log), 4 + u64::from(requests));
        }
    }

    #[test]
    fn what_was_cleared_is_zeros() {
        let own = ServedDrive::new(BYTES);
        let mut content = DrivePages::default();
        content.write(0, &[5; 8192]);
        own.begin(&content, None);
        assert!(own.clear(0, 4096, false) && own.flush());
        let (pages, _) = own.logged().after(Drive::HonorsFlushes, 8, 2, &mut Draws::new(1, "test"));
        assert_eq!([read(&pages, 0), read(&pages, 4096)], [0, 5]);
    }
}
