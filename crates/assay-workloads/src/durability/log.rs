//! Requests to a device, step by step.

/// Bytes of a sector: the smallest atomic unit of any drive.
pub const SECTOR_BYTES: u64 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The first sector, relative to the logged area.
    pub at: u64,
    pub sectors: u32,
    /// Whether it must be on the medium when the call returns (FUA).
    pub through: bool,
}

/// A step. Each ended before the next one began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveStep {
    Write(u32),
    /// All earlier writes must be on the medium.
    Flush,
    /// An acknowledgment: every write with a lower number is durable.
    Promise(u32),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub steps: Vec<DriveStep>,
    pub writes: Vec<Write>,
}

impl Log {
    pub fn write(&mut self, write: Write) -> u32 {
        let number = self.writes.len() as u32;
        self.writes.push(write);
        self.steps.push(DriveStep::Write(number));
        number
    }

    pub fn flush(&mut self) {
        self.steps.push(DriveStep::Flush);
    }

    pub fn promise(&mut self) {
        self.steps.push(DriveStep::Promise(self.writes.len() as u32));
    }

    /// Sectors up to the end of the last written one.
    pub fn sectors(&self) -> u64 {
        self.writes.iter().map(|write| write.at + u64::from(write.sectors)).max().unwrap_or(0)
    }

    /// The writes that had started and those that were acknowledged after this many steps.
    pub fn known(&self, steps: usize) -> KnownWrites {
        let mut known = KnownWrites { begun: 0, promised: 0 };
        for step in &self.steps[..steps] {
            match step {
                DriveStep::Write(number) => known.begun = number + 1,
                DriveStep::Promise(below) => known.promised = *below,
                DriveStep::Flush => {}
            }
        }
        known
    }

    pub fn promises(&self) -> u64 {
        self.steps.iter().filter(|step| matches!(step, DriveStep::Promise(_))).count() as u64
    }

    /// Finds the step of a write, and of the first acknowledgment that covers it.
    pub fn find_steps(&self, write: u32) -> (Option<usize>, Option<usize>) {
        let written = self.steps.iter().position(|step| *step == DriveStep::Write(write));
        let covers = |step: &DriveStep| matches!(step, DriveStep::Promise(below) if *below > write);
        (written, self.steps.iter().position(covers))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownWrites {
    /// Writes with a lower number had started.
    pub begun: u32,
    /// Writes with a lower number had been acknowledged.
    pub promised: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(at: u64) -> Write {
        Write { at, sectors: 2, through: false }
    }

    #[test]
    fn what_is_known_of_a_moment_follows_from_the_steps_before_it() {
        let mut log = Log::default();
        assert_eq!([log.write(write(0)), log.write(write(2))], [0, 1]);
        log.flush();
        log.promise();
        log.write(write(4));
        let known = |steps| {
            let KnownWrites { begun, promised } = log.known(steps);
            (begun, promised)
        };
        let all: Vec<(u32, u32)> = (0..=log.steps.len()).map(known).collect();
        assert_eq!(all, [(0, 0), (1, 0), (2, 0), (2, 0), (2, 2), (3, 2)]);
        assert_eq!(log.find_steps(1), (Some(1), Some(3)));
        assert_eq!(log.find_steps(2), (Some(4), None));
        assert_eq!((log.promises(), log.sectors(), Log::default().sectors()), (1, 6, 0));
    }
}
