//! The drive of a virtual machine in this process; from its [`Log`], the content of any kind of drive is rebuilt.

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
    state: Mutex<DriveState>,
}

#[derive(Debug, Default)]
struct DriveState {
    /// The content at power-on.
    base: DrivePages,
    now: DrivePages,
    log: Log,
    /// Data of the logged writes; `None` for zeros.
    data: Vec<Option<Box<[u8]>>>,
    /// Number of steps at each reported round.
    rounds: Vec<usize>,
    /// The planned power loss; its requests are those that remain.
    cut: Option<PlannedPowerCut>,
    is_off: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPowerCut {
    /// After this number of reported rounds,
    pub rounds: u32,
    /// and this number of later modifying requests.
    pub requests: u32,
    /// Whether the drive answers the last of these requests.
    pub answers: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Logged {
    base: DrivePages,
    pub log: Log,
    data: Vec<Option<Box<[u8]>>>,
    rounds: Vec<usize>,
}

impl ServedDrive {
    pub fn new(bytes: u64) -> Self {
        Self { bytes, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, DriveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Powers on with this content, an empty log, and perhaps a planned power loss.
    pub fn power_on(&self, content: &DrivePages, cut: Option<PlannedPowerCut>) {
        let (base, now) = (content.clone(), content.clone());
        *self.state() = DriveState { base, now, cut, ..DriveState::default() };
    }

    pub fn content(&self) -> DrivePages {
        self.state().now.clone()
    }

    /// Records that the program completed a round, and whether it is acknowledged.
    pub fn add_round(&self, is_promise: bool) {
        let mut state = self.state();
        if is_promise {
            state.log.promise();
        }
        let steps = state.log.steps.len();
        state.rounds.push(steps);
        if state.is_cut_due() {
            state.is_off = true;
        }
    }

    /// The program has ended: a planned power loss happens now.
    pub fn cut_at_end(&self) {
        let mut state = self.state();
        state.is_off = state.is_off || state.cut.is_some();
    }

    pub fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// Takes the log; the drive is empty afterwards.
    pub fn take_log(&self) -> Logged {
        let DriveState { base, log, data, rounds, .. } = std::mem::take(&mut *self.state());
        Logged { base, log, data, rounds }
    }

    /// Performs a modifying request; returns whether it is answered.
    fn change(&self, apply: impl FnOnce(&mut DriveState)) -> bool {
        let mut state = self.state();
        if state.is_off {
            return false;
        }
        apply(&mut state);
        let rounds = state.rounds.len() as u32;
        // The planned number of requests counts down after the planned round.
        if let Some(cut) = state.cut.as_mut().filter(|cut| cut.rounds <= rounds) {
            cut.requests = cut.requests.saturating_sub(1);
        }
        state.is_off = state.is_cut_due();
        !state.is_off || state.cut.is_some_and(|cut| cut.answers)
    }

    fn logged_write(at_bytes: u64, bytes: u64, through: bool) -> Write {
        Write { at: at_bytes / SECTOR_BYTES, sectors: (bytes / SECTOR_BYTES) as u32, through }
    }
}

impl DriveState {
    fn is_cut_due(&self) -> bool {
        self.cut.is_some_and(|cut| cut.requests == 0 && cut.rounds <= self.rounds.len() as u32)
    }
}

impl FarSide for ServedDrive {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, at_bytes: u64, into: &mut [u8]) -> bool {
        let state = self.state();
        state.now.read(at_bytes, into);
        !state.is_off
    }

    fn write(&self, at_bytes: u64, bytes: &[u8], through: bool) -> bool {
        self.change(|state| {
            state.now.write(at_bytes, bytes);
            state.log.write(Self::logged_write(at_bytes, bytes.len() as u64, through));
            state.data.push(Some(bytes.into()));
        })
    }

    fn clear(&self, at_bytes: u64, bytes: u64, through: bool) -> bool {
        self.change(|state| {
            state.now.clear(at_bytes, bytes);
            state.log.write(Self::logged_write(at_bytes, bytes, through));
            state.data.push(None);
        })
    }

    fn flush(&self) -> bool {
        self.change(|state| state.log.flush())
    }
}

impl Logged {
    /// Cuts the power of such a drive after `step` (from 1); returns its content. `unit` sectors are atomic.
    pub fn cut(&self, kind: Drive, unit: u32, step: usize, draws: &mut Draws) -> (DrivePages, Cut) {
        let (landed, cut) = kind.cut(&self.log, step, unit, draws);
        let mut pages = self.base.clone();
        for landing in landed {
            let write = self.log.writes[landing.write as usize];
            let at = (write.at + u64::from(landing.first)) * SECTOR_BYTES;
            let from = u64::from(landing.first) * SECTOR_BYTES;
            let bytes = u64::from(landing.sectors) * SECTOR_BYTES;
            match &self.data[landing.write as usize] {
                None => pages.clear(at, bytes),
                Some(data) => pages.write(at, &data[from as usize..(from + bytes) as usize]),
            }
        }
        (pages, cut)
    }

    /// Number of rounds reported within this many steps.
    pub fn rounds_by(&self, steps: usize) -> u32 {
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
        own.power_on(&DrivePages::default(), ends);
        let mut answered = Vec::new();
        for round in 1..=3_u8 {
            answered.push(own.write(u64::from(round) * 4096, &[round; 4096], false));
            answered.push(own.flush());
            own.add_round(true);
        }
        answered.push(own.write(4096, &[9; 512], false));
        (own, answered)
    }

    #[test]
    fn what_was_asked_is_logged_and_rebuilt_as_a_drive_keeps_it() {
        let (own, answered) = written(None);
        assert!(answered.iter().all(|own| *own) && read(&own.content(), 4096) == 9);
        let logged = own.take_log();
        assert_eq!((logged.log.steps.len(), logged.log.promises()), (10, 3));
        for seed in 0..40 {
            let mut draws = Draws::new(seed, "test");
            let (pages, _) = logged.cut(Drive::HonorsFlushes, 8, 9, &mut draws);
            assert_eq!([1, 2, 3].map(|at| read(&pages, at * 4096)), [1, 2, 3]);
            let (pages, _) = logged.cut(Drive::HonorsFlushes, 8, 6, &mut draws);
            assert_eq!([1, 2, 3].map(|at| read(&pages, at * 4096)), [1, 2, 0]);
        }
        assert_eq!([0, 2, 3, 5, 6, 10].map(|steps| logged.rounds_by(steps)), [0, 0, 1, 1, 2, 3]);
        let mut draws = Draws::new(1, "test");
        let lost = (0..40).any(|_| {
            let (pages, _) = logged.cut(Drive::DropsFlushes, 8, 9, &mut draws);
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
            assert_eq!(changes(&own.take_log().log), 4 + u64::from(requests));
        }
    }

    #[test]
    fn what_was_cleared_is_zeros() {
        let own = ServedDrive::new(BYTES);
        let mut content = DrivePages::default();
        content.write(0, &[5; 8192]);
        own.power_on(&content, None);
        assert!(own.clear(0, 4096, false) && own.flush());
        let (pages, _) = own.take_log().cut(Drive::HonorsFlushes, 8, 2, &mut Draws::new(1, "test"));
        assert_eq!([read(&pages, 0), read(&pages, 4096)], [0, 5]);
    }
}
