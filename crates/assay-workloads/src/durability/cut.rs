//! The moment of a power loss, and which cached writes survive it.

use assay_core::draws::Draws;
use serde::{Deserialize, Serialize};

use crate::durability::log::{DriveStep, Log, Write};

/// One in this many surviving writes is torn, if the drive writes it in several units.
const TORN: u64 = 4;

/// Which unflushed writes survive. All kinds have the same probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Survivors {
    /// None of them.
    Nothing,
    /// All of them.
    Everything,
    /// The first ones.
    Prefix,
    /// Each with a probability of one half.
    Random,
    AllButOne,
    /// The newest one alone.
    Newest,
}

impl Survivors {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Everything,
        Self::Prefix,
        Self::Random,
        Self::AllButOne,
        Self::Newest,
    ];

    fn draw(draws: &mut Draws) -> Self {
        Self::ALL[draws.below(Self::ALL.len() as u64) as usize]
    }

    /// Whether each of `count` writes survives. All kinds draw equally often, so they use the same random numbers.
    fn draw_survivors(self, count: usize, draws: &mut Draws) -> Vec<bool> {
        let prefix_length = draws.below(count as u64 + 1) as usize;
        let missing = draws.below(count.max(1) as u64) as usize;
        let tosses: Vec<bool> = (0..count).map(|_| draws.below(2) == 1).collect();
        let survives = |at: usize| match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Prefix => at < prefix_length,
            Self::Random => tosses[at],
            Self::AllButOne => at != missing,
            Self::Newest => at + 1 == count,
        };
        (0..count).map(survives).collect()
    }
}

/// A part of a write on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landed {
    pub write: u32,
    pub first: u32,
    pub sectors: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    pub steps: usize,
    pub survivors: Survivors,
    pub cached: u32,
    /// Survivors among them, whole or torn.
    pub survived: u32,
}

/// Draws the number of steps before a power loss, from the first acknowledgment on: nothing can be lost before.
pub fn draw_moment(log: &Log, draws: &mut Draws) -> usize {
    let promise = log.steps.iter().position(|step| matches!(step, DriveStep::Promise(_)));
    let first = promise.unwrap_or_default();
    first + 1 + draws.below(log.steps.len().saturating_sub(first).max(1) as u64) as usize
}

/// Adds the writes in the cache that survive to `landed`, perhaps torn; the drive writes `unit` sectors atomically.
pub fn land_survivors(
    log: &Log,
    steps: usize,
    cached: &[u32],
    unit: u32,
    landed: &mut Vec<Landed>,
    draws: &mut Draws,
) -> Survivors {
    let survivors = Survivors::draw(draws);
    for (number, survives) in cached.iter().zip(survivors.draw_survivors(cached.len(), draws)) {
        let write = log.writes[*number as usize];
        // A write-through write that returned does not depend on the cache.
        if write.through && has_returned(log, steps, *number) {
            landed.push(Landed { write: *number, first: 0, sectors: write.sectors });
        } else if survives {
            land_write(*number, write, unit, landed, draws);
        }
    }
    survivors
}

/// Whether a write had returned: the last step counts as in progress.
pub(crate) fn has_returned(log: &Log, steps: usize, number: u32) -> bool {
    log.steps[..steps].last() != Some(&DriveStep::Write(number))
}

/// Adds a write, whole or without a random part of its units. Units are aligned to the drive, not to the write.
fn land_write(number: u32, write: Write, unit: u32, landed: &mut Vec<Landed>, draws: &mut Draws) {
    let unit = u64::from(unit);
    let end = write.at + u64::from(write.sectors);
    let units = write.at / unit..end.div_ceil(unit);
    let count = units.end - units.start;
    if count < 2 || draws.below(TORN) > 0 {
        landed.push(Landed { write: number, first: 0, sectors: write.sectors });
        return;
    }
    // At least this unit is missing, so the write is torn.
    let missing = units.start + draws.below(count);
    for index in units {
        if index != missing && draws.below(2) == 1 {
            let from = write.at.max(index * unit);
            let to = end.min((index + 1) * unit);
            let first = (from - write.at) as u32;
            landed.push(Landed { write: number, first, sectors: (to - from) as u32 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(through: bool) -> Log {
        let mut log = Log::default();
        for at in 0..4 {
            log.write(Write { at: at * 8, sectors: 8, through });
        }
        log.flush();
        log
    }

    #[test]
    fn each_law_lets_survive_what_it_says() {
        let mut draws = Draws::new(1, "test");
        for _ in 0..200 {
            let mut of = |own: Survivors| own.draw_survivors(4, &mut draws);
            assert_eq!(of(Survivors::Nothing), [false; 4]);
            assert_eq!(of(Survivors::Everything), [true; 4]);
            assert_eq!(of(Survivors::Newest), [false, false, false, true]);
            assert!(of(Survivors::Prefix).windows(2).all(|two| two[0] || !two[1]));
            assert_eq!(of(Survivors::AllButOne).iter().filter(|own| **own).count(), 3);
        }
        assert!(Survivors::AllButOne.draw_survivors(0, &mut draws).is_empty());
    }

    #[test]
    fn a_write_that_is_no_longer_than_a_unit_is_there_or_not() {
        let mut draws = Draws::new(2, "test");
        let (log, mut torn) = (log(false), 0);
        for _ in 0..400 {
            let mut whole = Vec::new();
            land_survivors(&log, 4, &[0, 1, 2, 3], 8, &mut whole, &mut draws);
            assert!(whole.iter().all(|own| own.sectors == 8));
            let mut parts = Vec::new();
            land_survivors(&log, 4, &[0], 1, &mut parts, &mut draws);
            torn += usize::from(parts.iter().any(|own| own.sectors == 1));
            assert!(parts.iter().map(|own| own.sectors).sum::<u32>() <= 8);
        }
        assert!(torn > 10, "{torn}");
    }

    /// Sectors 6 to 11 are in the units 0 to 7 and 8 to 15.
    #[test]
    fn a_write_that_lies_across_two_units_is_torn_between_them() {
        let (mut log, mut draws) = (Log::default(), Draws::new(6, "test"));
        log.write(Write { at: 6, sectors: 6, through: false });
        let mut parts = std::collections::BTreeSet::new();
        for _ in 0..400 {
            let mut landed = Vec::new();
            land_survivors(&log, 1, &[0], 8, &mut landed, &mut draws);
            parts.extend(landed.iter().map(|own| [own.first, own.sectors]));
        }
        assert_eq!(parts, [[0, 2], [0, 6], [2, 4]].into());
    }

    #[test]
    fn what_was_to_go_through_is_there_once_the_call_returned() {
        let mut draws = Draws::new(3, "test");
        let log = log(true);
        let mut last = [0; 2];
        for _ in 0..100 {
            let mut landed = Vec::new();
            land_survivors(&log, 4, &[0, 1, 2, 3], 1, &mut landed, &mut draws);
            let whole = |number| landed.contains(&Landed { write: number, first: 0, sectors: 8 });
            assert!(whole(0) && whole(1) && whole(2));
            last[usize::from(whole(3))] += 1;
        }
        assert!(last.iter().all(|count| *count > 0), "{last:?}");
    }

    #[test]
    fn every_step_is_a_moment() {
        let (log, mut draws) = (log(false), Draws::new(4, "test"));
        let mut seen = [0; 6];
        for _ in 0..500 {
            seen[draw_moment(&log, &mut draws)] += 1;
        }
        assert!(seen[0] == 0 && seen[1..].iter().all(|count| *count > 50), "{seen:?}");
    }

    #[test]
    fn before_the_first_promise_there_is_no_cut() {
        let (mut log, mut draws) = (log(false), Draws::new(5, "test"));
        log.promise();
        log.write(Write { at: 0, sectors: 8, through: false });
        let mut seen = [0; 8];
        for _ in 0..200 {
            seen[draw_moment(&log, &mut draws)] += 1;
        }
        assert!(seen[..6] == [0; 6] && seen[6..].iter().all(|count| *count > 50), "{seen:?}");
    }
}
