//! Models of drives, honest or with observed defects: which logged writes are on the medium after a power loss.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::{draws::Draws, quantity::Bytes};
use serde::{Deserialize, Serialize};

use crate::durability::cut::{Cut, Landed, has_returned, land_survivors};
use crate::durability::log::{DriveStep, Log, Write};
use crate::keys::names;

/// Number of writes that [`Drive::LosesLast`] loses.
const LOST_WRITES: u32 = 4;
/// [`Drive::ReturnsStale`] returns older data at one in this many places.
const STALE_OF: u64 = 8;

/// A drive with a volatile cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Drive {
    /// Flushed writes are on the medium, in any order until then.
    #[default]
    HonorsFlushes,
    /// A flush does nothing; a FUA write survives.
    DropsFlushes,
    /// A flush returns when it starts: its writes are on the medium when the next one returns.
    AcknowledgesEarly,
    /// It claims an atomic unit, but tears the current write between sectors.
    TearsWrites,
    /// One write before a flush stays in the cache until the next flush.
    ReordersWrites,
    /// The last four writes are lost, even if flushed.
    LosesLast,
    /// After the restart some places have their content before the last write.
    ReturnsStale,
}

names!(
    Drive: HonorsFlushes = "honors-flushes", DropsFlushes = "drops-flushes",
    AcknowledgesEarly = "acknowledges-early", TearsWrites = "tears-writes",
    ReordersWrites = "reorders-writes", LosesLast = "loses-last", ReturnsStale = "returns-stale"
);

impl Drive {
    pub fn assumed(self, atomic_bytes: u64) -> String {
        let (words, whole) = (self.words(), Bytes(atomic_bytes));
        match self {
            Self::TearsWrites => {
                format!("an assumed drive that claims to write {whole} atomically but {words}")
            }
            _ => format!("an assumed drive that {words} and writes {whole} atomically"),
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::HonorsFlushes => "keeps flushed data",
            Self::DropsFlushes => "drops flushes",
            Self::AcknowledgesEarly => "acknowledges flushes before the data is written",
            Self::TearsWrites => "tears writes at 512 bytes",
            Self::ReordersWrites => "reorders writes across flushes",
            Self::LosesLast => "loses its last 4 writes",
            Self::ReturnsStale => "returns older data after a restart",
        }
    }

    /// Cuts the power after these steps; returns the writes on the medium in order. `unit` sectors are atomic.
    pub fn cut(self, log: &Log, steps: usize, unit: u32, draws: &mut Draws) -> (Vec<Landed>, Cut) {
        let FlushedWrites { flushed, cached } = self.flush_writes(log, steps, draws);
        let entire = |write: &u32| Landed {
            write: *write,
            first: 0,
            sectors: log.writes[*write as usize].sectors,
        };
        let mut landed: Vec<Landed> = flushed.iter().map(entire).collect();
        let survivors = land_survivors(log, steps, &cached, unit, &mut landed, draws);
        match self {
            Self::TearsWrites => tear_last(log, steps, &cached, &mut landed, draws),
            // A write left in the cache is older than writes that were flushed later.
            Self::ReordersWrites => landed.sort_by_key(|landing| landing.write),
            Self::LosesLast => {
                let first_lost = log.known(steps).begun.saturating_sub(LOST_WRITES);
                landed.retain(|landing| landing.write < first_lost);
            }
            Self::ReturnsStale => drop_newest_of_places(log, &mut landed, draws),
            Self::HonorsFlushes | Self::DropsFlushes | Self::AcknowledgesEarly => {}
        }
        // Count now, because a defective drive may have dropped survivors.
        let mut is_on_medium = vec![false; log.writes.len()];
        for landing in &landed {
            is_on_medium[landing.write as usize] = true;
        }
        let survived = cached.iter().filter(|write| is_on_medium[**write as usize]).count() as u32;
        (landed, Cut { steps, survivors, cached: cached.len() as u32, survived })
    }

    /// Separates the writes of these steps into flushed and cached ones, as this drive flushes.
    fn flush_writes(self, log: &Log, steps: usize, draws: &mut Draws) -> FlushedWrites {
        let mut writes = FlushedWrites::default();
        let FlushedWrites { flushed, cached } = &mut writes;
        // Number of cached writes that the previous flush already acknowledged.
        let mut acknowledged_early = 0;
        for step in &log.steps[..steps] {
            match step {
                DriveStep::Write(number) => cached.push(*number),
                DriveStep::Promise(_) => {}
                DriveStep::Flush => match self {
                    Self::DropsFlushes => {}
                    Self::AcknowledgesEarly => {
                        flushed.extend(cached.drain(..acknowledged_early));
                        acknowledged_early = cached.len();
                    }
                    Self::ReordersWrites if !cached.is_empty() => {
                        let delayed = cached.swap_remove(draws.below(cached.len() as u64) as usize);
                        flushed.append(cached);
                        cached.push(delayed);
                    }
                    _ => flushed.append(cached),
                },
            }
        }
        writes
    }
}

#[derive(Default)]
struct FlushedWrites {
    flushed: Vec<u32>,
    cached: Vec<u32>,
}

/// Tears the newest cached write, which was in progress.
fn tear_last(log: &Log, steps: usize, cached: &[u32], landed: &mut Vec<Landed>, draws: &mut Draws) {
    let Some(newest) = cached.last() else { return };
    // A single sector cannot tear, and a returned FUA write is on the medium.
    let Write { sectors, through, .. } = log.writes[*newest as usize];
    if sectors < 2 || (through && has_returned(log, steps, *newest)) {
        return;
    }
    landed.retain(|landing| landing.write != *newest);
    let first_part = 1 + draws.below(u64::from(sectors) - 1) as u32;
    landed.push(Landed { write: *newest, first: 0, sectors: first_part });
}

/// Drops the newest write of some places that were written several times.
fn drop_newest_of_places(log: &Log, landed: &mut Vec<Landed>, draws: &mut Draws) {
    let mut writes_at: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for landing in &*landed {
        let writes = writes_at.entry(log.writes[landing.write as usize].at).or_default();
        // The parts of a torn write follow each other.
        if writes.last() != Some(&landing.write) {
            writes.push(landing.write);
        }
    }
    let mut dropped: BTreeSet<u32> = BTreeSet::new();
    for writes in writes_at.values().filter(|writes| writes.len() > 1) {
        if draws.below(STALE_OF) == 0 {
            dropped.extend(writes.last());
        }
    }
    landed.retain(|landing| !dropped.contains(&landing.write));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two writes of one place, each flushed and acknowledged, and a third in progress.
    fn log() -> Log {
        let mut log = Log::default();
        let write = Write { at: 0, sectors: 8, through: false };
        for _ in 0..2 {
            log.write(write);
            log.flush();
            log.promise();
        }
        log.write(write);
        log
    }

    fn seen(drive: Drive, steps: usize, seed: u64) -> Vec<u32> {
        let (landed, _) = drive.cut(&log(), steps, 8, &mut Draws::new(seed, "test"));
        landed.iter().map(|own| own.write).collect()
    }

    #[test]
    fn an_honest_one_has_what_flushes_cover_and_perhaps_more() {
        for seed in 0..50 {
            assert_eq!(seen(Drive::HonorsFlushes, 6, seed), [0, 1]);
            assert!(seen(Drive::HonorsFlushes, 7, seed).starts_with(&[0, 1]));
            assert!(seen(Drive::HonorsFlushes, 4, seed).starts_with(&[0]));
        }
    }

    #[test]
    fn each_liar_does_now_and_then_what_it_is_called_by() {
        let ever = |drive, steps, is_so: &dyn Fn(&[u32]) -> bool| {
            (0..60).any(|seed| is_so(&seen(drive, steps, seed)))
        };
        assert!(ever(Drive::DropsFlushes, 6, &<[u32]>::is_empty));
        assert!(ever(Drive::AcknowledgesEarly, 6, &|own| own == [0]));
        assert!(!ever(Drive::AcknowledgesEarly, 6, &<[u32]>::is_empty));
        assert!(ever(Drive::ReordersWrites, 6, &|own| !own.contains(&1)));
        assert!(ever(Drive::LosesLast, 6, &<[u32]>::is_empty));
        assert!(ever(Drive::ReturnsStale, 6, &|own| own == [0]));
        let (landed, _) = Drive::TearsWrites.cut(&log(), 7, 8, &mut Draws::new(1, "test"));
        assert!(landed.iter().any(|own| own.write == 2 && own.sectors < 8), "{landed:?}");
        let (landed, _) = Drive::TearsWrites.cut(&log(), 6, 8, &mut Draws::new(1, "test"));
        assert!(landed.iter().all(|own| own.sectors == 8), "nothing was under way: {landed:?}");
    }

    /// A counterexample states how many cached writes survived.
    #[test]
    fn what_a_liar_takes_away_or_tears_is_counted_as_it_lies_there() {
        for seed in 0..60 {
            let after = |drive: Drive| drive.cut(&log(), 7, 1, &mut Draws::new(seed, "test"));
            let (landed, cut) = after(Drive::DropsFlushes);
            let there: BTreeSet<u32> = landed.iter().map(|own| own.write).collect();
            assert_eq!([cut.cached, cut.survived], [3, there.len() as u32], "seed {seed}");
            let (_, cut) = after(Drive::TearsWrites);
            assert_eq!(cut.survived, 1, "a part of the newest one is there, seed {seed}");
            let (landed, cut) = after(Drive::LosesLast);
            assert_eq!((cut.survived, landed), (0, Vec::new()), "seed {seed}");
        }
    }

    #[test]
    fn what_is_assumed_does_not_contradict_itself() {
        let tears = Drive::TearsWrites.assumed(4096);
        assert!(tears.contains("claims to write 4 KiB atomically but tears"), "{tears}");
        let honest = Drive::HonorsFlushes.assumed(512);
        assert_eq!(honest, "an assumed drive that keeps flushed data and writes 512 B atomically");
    }
}
