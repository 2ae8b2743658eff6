//! Patterns of durable writes: the writes and syncs of one acknowledgment after the other.

use std::iter;

use assay_core::{draws::Draws, quantity::Bytes};
use serde::{Deserialize, Serialize};

use crate::durability::log::SECTOR_BYTES;
use crate::keys::names;

/// Maximum number of records per acknowledgment, for patterns with records.
const MOST_RECORDS: u64 = 4;
pub const BLOCKS: u32 = 4;
/// Number of transactions that fit into the log.
pub const SLOTS: u32 = 8;
const MOST_PLACES: u32 = 64;

/// How a program writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Consecutive records: one to four, and a sync.
    #[default]
    Log,
    /// Records overwritten in place: one to four, and a sync.
    InPlace,
    /// Blocks into a log, a sync, a commit block after them, a sync, and then the blocks in their places.
    Transaction,
    /// Files created, replaced, renamed and removed in a directory.
    Files,
    /// The work of a user's command in a directory.
    Command,
}

names!(
    Pattern: Log = "log", InPlace = "in-place", Transaction = "transaction", Files = "files",
    Command = "command"
);

impl Pattern {
    pub const OF_PLACES: [Self; 3] = [Self::Log, Self::InPlace, Self::Transaction];

    pub const fn has_directory(self) -> bool {
        matches!(self, Self::Files | Self::Command)
    }

    /// Writes of one promise at most; `None` if they are not those of records.
    pub const fn most_writes(self) -> Option<u64> {
        match self {
            Self::Log | Self::InPlace => Some(MOST_RECORDS),
            Self::Transaction => Some(2 * BLOCKS as u64 + 1),
            Self::Files | Self::Command => None,
        }
    }

    pub fn words(self, size: Bytes) -> String {
        match self {
            Self::Log => format!("sequential records of {size}"),
            Self::InPlace => format!("records of {size} in place"),
            Self::Transaction => format!("transactions of blocks of {size}"),
            Self::Files => format!("files of up to {size}, created, replaced, moved and removed"),
            Self::Command => "your command".to_owned(),
        }
    }
}

/// A record, or a part of a transaction: a block in the log, the commit, or a block in its final place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenItem {
    Record { place: u32 },
    Logged { transaction: u32, place: u32 },
    Commit { transaction: u32 },
    Home { transaction: u32, place: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Write { what: WrittenItem, at: u64 },
    Sync,
    Promise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    pub pattern: Pattern,
    pub sectors: u32,
    pub places: u32,
}

impl RecordLayout {
    /// Lays out the records in an area; fails if it is too small, or if the pattern writes files.
    pub fn new(pattern: Pattern, record_bytes: u64, area_bytes: u64) -> Result<Self, String> {
        let blocks = area_bytes / record_bytes.max(1);
        // The fewest places, and the blocks of the transaction log before them.
        let (least_places, log_blocks) = match pattern {
            Pattern::Log => (MOST_RECORDS, 0),
            Pattern::InPlace => (1, 0),
            Pattern::Transaction => (u64::from(BLOCKS), u64::from(SLOTS * (BLOCKS + 1))),
            Pattern::Files | Pattern::Command => {
                let name = pattern.name();
                return Err(format!("writer {name} needs a filesystem; use write_to = \"ext4\""));
            }
        };
        let least = least_places + log_blocks;
        if blocks < least {
            let name = pattern.name();
            return Err(format!(
                "writer {name} needs an area of {least} blocks, but the area has {blocks}"
            ));
        }
        let most_places = if pattern == Pattern::Log { u32::MAX } else { MOST_PLACES };
        let places = (blocks - log_blocks).min(u64::from(most_places)) as u32;
        Ok(Self { pattern, sectors: (record_bytes / SECTOR_BYTES) as u32, places })
    }

    const fn logged_blocks(&self) -> u32 {
        match self.pattern {
            Pattern::Transaction => SLOTS * (BLOCKS + 1),
            _ => 0,
        }
    }

    fn sector(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.sectors)
    }

    pub fn home(&self, place: u32) -> u64 {
        self.sector(self.logged_blocks() + place)
    }

    /// The sector of a transaction's block in the log; the last one commits it.
    pub fn logged(&self, transaction: u32, block: u32) -> u64 {
        self.sector(transaction % SLOTS * (BLOCKS + 1) + block)
    }

    /// The acts of a program, one list per acknowledgment. Pattern log ends when the log is full; the others never end.
    pub fn rounds(self, seed: u64) -> impl Iterator<Item = Vec<Action>> {
        let mut program = PatternProgress { draws: Draws::new(seed, "durability writes"), done: 0 };
        iter::from_fn(move || Some(self.next_round(&mut program)).filter(|acts| !acts.is_empty()))
    }

    /// The actions of the next round; empty if there is no place left.
    fn next_round(&self, program: &mut PatternProgress) -> Vec<Action> {
        match self.pattern {
            Pattern::Log => self.append_records(program),
            Pattern::InPlace => self.overwrite_records(program),
            Pattern::Transaction => self.write_transaction(program),
            // These have no places.
            Pattern::Files | Pattern::Command => Vec::new(),
        }
    }

    fn append_records(&self, program: &mut PatternProgress) -> Vec<Action> {
        let count = 1 + program.draws.below(MOST_RECORDS) as u32;
        let first = program.done;
        let end = first.saturating_add(count).min(self.places);
        program.done = end;
        self.write_records(first..end)
    }

    fn overwrite_records(&self, program: &mut PatternProgress) -> Vec<Action> {
        let count = 1 + program.draws.below(MOST_RECORDS) as usize;
        self.write_records(program.draw_places(self.places, count).into_iter())
    }

    /// Writes to these places, a sync and an acknowledgment; nothing without places.
    fn write_records(&self, places: impl Iterator<Item = u32>) -> Vec<Action> {
        let write =
            |place| Action::Write { what: WrittenItem::Record { place }, at: self.home(place) };
        let mut acts: Vec<Action> = places.map(write).collect();
        if !acts.is_empty() {
            acts.extend([Action::Sync, Action::Promise]);
        }
        acts
    }

    /// Writes blocks and a commit to the log, and after the acknowledgment the blocks to their places.
    fn write_transaction(&self, program: &mut PatternProgress) -> Vec<Action> {
        let transaction = program.done;
        program.done += 1;
        let places = program.draw_places(self.places, BLOCKS as usize);
        let logged = places.iter().zip(0..).map(|(place, block)| Action::Write {
            what: WrittenItem::Logged { transaction, place: *place },
            at: self.logged(transaction, block),
        });
        let commit = Action::Write {
            what: WrittenItem::Commit { transaction },
            at: self.logged(transaction, BLOCKS),
        };
        let home = places.iter().map(|place| Action::Write {
            what: WrittenItem::Home { transaction, place: *place },
            at: self.home(*place),
        });
        // The blocks are durable in the log before the commit, and the commit before they go to their places.
        let committed = [Action::Sync, commit, Action::Sync, Action::Promise];
        logged.chain(committed).chain(home).collect()
    }
}

struct PatternProgress {
    draws: Draws,
    /// Records or transactions started.
    done: u32,
}

impl PatternProgress {
    /// Draws this many different places, or all of them if there are fewer.
    fn draw_places(&mut self, places: u32, count: usize) -> Vec<u32> {
        let mut drawn: Vec<u32> = (0..places).collect();
        self.draws.shuffle(&mut drawn);
        drawn.truncate(count);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(pattern: Pattern, area_bytes: u64, promises: usize) -> Vec<Action> {
        let layout = RecordLayout::new(pattern, 4096, area_bytes).unwrap();
        layout.rounds(1).take(promises).flatten().collect()
    }

    fn places(acts: &[Action]) -> Vec<u64> {
        let of = |act: &Action| match act {
            Action::Write { at, .. } => Some(*at),
            _ => None,
        };
        acts.iter().filter_map(of).collect()
    }

    #[test]
    fn a_log_is_written_once_and_ends_with_its_room() {
        let acts = acts(Pattern::Log, 10 * 4096, 40);
        assert_eq!(places(&acts), (0..10).map(|at| at * 8).collect::<Vec<_>>());
        assert_eq!(acts.last(), Some(&Action::Promise));
    }

    #[test]
    fn a_transaction_counts_before_its_blocks_are_put_in_their_places() {
        let layout = RecordLayout::new(Pattern::Transaction, 4096, 1 << 20).unwrap();
        let acts = layout.rounds(1).next().unwrap();
        let order: String = acts
            .iter()
            .map(|act| match act {
                Action::Write { what: WrittenItem::Logged { .. }, .. } => 'l',
                Action::Write { what: WrittenItem::Commit { .. }, .. } => 'c',
                Action::Write { .. } => 'h',
                Action::Sync => 's',
                Action::Promise => 'p',
            })
            .collect();
        assert_eq!(order, "llllscsphhhh");
        let mut all = places(&acts);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 9, "no two of them lie in one place");
        let end = layout.home(layout.places);
        assert!(all.iter().all(|at| *at + 8 <= end) && end * 512 <= 1 << 20, "{all:?}");
    }

    #[test]
    fn what_is_written_over_stays_among_its_places() {
        let mut all = places(&acts(Pattern::InPlace, 1 << 30, 300));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, (0..64).map(|place| place * 8).collect::<Vec<_>>());
        assert!(count > 5 * all.len(), "each place is written several times: {count}");
    }

    #[test]
    fn an_area_has_room_or_says_how_much_it_needs() {
        for (pattern, least) in
            [(Pattern::Log, 4), (Pattern::InPlace, 1), (Pattern::Transaction, 44)]
        {
            let layout = RecordLayout::new(pattern, 4096, (least + 400) * 4096).unwrap();
            let most = layout.rounds(1).take(50).map(|acts| places(&acts).len() as u64).max();
            assert_eq!(most, pattern.most_writes(), "writes of one promise");
            assert!(RecordLayout::new(pattern, 4096, least * 4096).is_ok());
            let told = RecordLayout::new(pattern, 4096, least * 4096 - 1).unwrap_err();
            assert!(told.contains(&format!("{least} blocks")), "{told}");
        }
    }

    #[test]
    fn patterns_without_places_have_no_layout() {
        for without_places in [Pattern::Files, Pattern::Command] {
            assert!(
                RecordLayout::new(without_places, 4096, 1 << 30)
                    .unwrap_err()
                    .contains("write_to = ")
            );
        }
    }
}
