//! Judges acknowledged writes: only a missing one is a failure; unacknowledged writes are counted separately.

use serde::{Deserialize, Serialize};

use crate::durability::image::Seen;
use crate::durability::log::{KnownWrites, Log, Write};
use crate::durability::pattern::{BLOCKS, Pattern, RecordLayout, SLOTS, WrittenItem};

/// Content found in place of an acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Data of an older write.
    Older,
    /// Nothing written by this run.
    Nothing,
    /// Only partly from one write.
    Torn,
    /// Data of another place, or changed data.
    Foreign,
    /// No file under the name.
    Missing,
    /// A file without contents.
    Empty,
    /// A removed or renamed file.
    Undeleted,
    /// A file that the file system cannot read.
    Unreadable,
    /// A file system that does not mount, or a missing file.
    Unreachable,
    /// The user's check failed.
    Refused,
}

impl Found {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Older => "an older write",
            Self::Nothing => "the data from before this run",
            Self::Torn => "a torn block",
            Self::Foreign => "data that this run did not write",
            Self::Missing => "no file with this name",
            Self::Empty => "an empty file",
            Self::Undeleted => "removed data",
            Self::Unreadable => "unreadable data",
            Self::Unreachable => "a filesystem that lacks the file or does not mount",
            Self::Refused => "data that the check rejects",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWrite {
    pub write: u32,
    pub found: Found,
    /// The write found there, if it is an older one.
    pub older: Option<u32>,
}

/// Writes that started without being acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpromised {
    /// They are there.
    pub present: u64,
    /// Nothing of them is.
    pub missing: u64,
    /// A part of them is.
    pub torn: u64,
    /// Present ones with a missing earlier one.
    pub out_of_order: u64,
}

impl Unpromised {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            present: self.present + other.present,
            missing: self.missing + other.missing,
            torn: self.torn + other.torn,
            out_of_order: self.out_of_order + other.out_of_order,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutJudgement<L = LostWrite> {
    /// Missing acknowledged writes, in order.
    pub lost: Vec<L>,
    pub unpromised: Unpromised,
}

/// A missing acknowledged item of any kind.
pub trait Missing {
    fn found(&self) -> Found;
}

impl Missing for LostWrite {
    fn found(&self) -> Found {
        self.found
    }
}

/// Outcome of a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CutOutcome {
    /// Nothing was in progress, and everything acknowledged exists.
    Quiet,
    /// Everything in progress exists, too.
    AllThere,
    /// Nothing in progress exists.
    AllGone,
    /// Some of it exists.
    Partly,
    Torn,
    /// An acknowledged item is missing.
    Lost,
}

impl CutOutcome {
    pub const ALL: [Self; 6] =
        [Self::Quiet, Self::AllThere, Self::AllGone, Self::Partly, Self::Torn, Self::Lost];

    /// Summarizes a power loss: `pending` are the writes in progress.
    pub fn classify(is_lost: bool, pending: Unpromised) -> Self {
        if is_lost {
            return Self::Lost;
        }
        if pending.torn > 0 {
            return Self::Torn;
        }
        match (pending.present, pending.missing) {
            (0, 0) => Self::Quiet,
            (_, 0) => Self::AllThere,
            (0, _) => Self::AllGone,
            _ => Self::Partly,
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Quiet => "no pending write",
            Self::AllThere => "all pending writes present",
            Self::AllGone => "all pending writes missing",
            Self::Partly => "some pending writes present",
            Self::Torn => "torn, unacknowledged",
            Self::Lost => "acknowledged write lost",
        }
    }
}

impl<L> CutJudgement<L> {
    pub fn outcome(&self) -> CutOutcome {
        CutOutcome::classify(!self.lost.is_empty(), self.unpromised)
    }
}

#[derive(Clone, Debug)]
pub struct WrittenRecords {
    pub layout: RecordLayout,
    pub log: Log,
    /// The purpose of each write in the log, by its number.
    pub items: Vec<WrittenItem>,
}

impl WrittenRecords {
    /// An empty log, with capacity for this many acts of a program.
    pub fn with_room(layout: RecordLayout, acts: usize) -> Self {
        let mut log = Log::default();
        // A write may be followed by a flush.
        log.steps.reserve(2 * acts);
        log.writes.reserve(acts);
        Self { layout, log, items: Vec::with_capacity(acts) }
    }

    /// Logs a buffered write, which only a flush makes durable.
    pub fn write(&mut self, at: u64, item: WrittenItem) {
        self.log.write(Write { at, sectors: self.layout.sectors, through: false });
        self.items.push(item);
    }

    /// Judges the writes acknowledged after this many steps.
    pub fn judge(&self, image: &[Seen], steps: usize) -> CutJudgement {
        self.judge_known(image, self.log.known(steps))
    }

    /// Compares the sectors of a drive after a power loss with the writes known to be complete or in progress.
    pub fn judge_known(&self, image: &[Seen], known: KnownWrites) -> CutJudgement {
        let lost = match self.layout.pattern {
            Pattern::Log | Pattern::InPlace => self.lost_records(image, known),
            Pattern::Transaction => self.lost_blocks(image, known),
            // These do not write to fixed places.
            Pattern::Files | Pattern::Command => Vec::new(),
        };
        CutJudgement { lost, unpromised: self.count_unpromised(image, known) }
    }

    /// The judgment if nothing is readable: every acknowledged write is missing.
    pub fn lose_all(&self, known: KnownWrites) -> CutJudgement {
        let acknowledged = self.newest_acknowledged(known).into_iter().flatten();
        let lost =
            acknowledged.map(|write| BlockState::Found(Found::Unreachable).in_place_of(write));
        let missing = u64::from(known.begun.saturating_sub(known.promised));
        let unpromised = Unpromised { missing, ..Unpromised::default() };
        CutJudgement { lost: in_order(lost.collect()), unpromised }
    }

    /// Finds out which write the block at sector `at` contains, or what is there instead.
    fn read_block(&self, image: &[Seen], at: u64) -> BlockState {
        let at = at as usize;
        let sectors = image.get(at..at + self.layout.sectors as usize).unwrap_or_default();
        let Some(first) = sectors.first() else { return BlockState::Found(Found::Nothing) };
        BlockState::Found(if sectors.contains(&Seen::Strange) {
            Found::Foreign
        } else if sectors.contains(&Seen::Unreadable) {
            Found::Unreadable
        } else if sectors.iter().any(|seen| seen != first) {
            Found::Torn
        } else if let Seen::Write(write) = first {
            return BlockState::Whole(*write);
        } else {
            Found::Nothing
        })
    }

    /// The newest acknowledged write of each place; a logged block counts as a write of its place.
    fn newest_acknowledged(&self, known: KnownWrites) -> Vec<Option<u32>> {
        let mut newest = vec![None; self.layout.places as usize];
        for (item, number) in self.items[..known.promised as usize].iter().zip(0..) {
            match item {
                WrittenItem::Record { place } | WrittenItem::Logged { place, .. } => {
                    newest[*place as usize] = Some(number);
                }
                WrittenItem::Commit { .. } | WrittenItem::Home { .. } => {}
            }
        }
        newest
    }

    /// The places whose newest acknowledged write, or a newer one, is not there.
    fn lost_records(&self, image: &[Seen], known: KnownWrites) -> Vec<LostWrite> {
        let mut lost = Vec::new();
        for (write, place) in self.newest_acknowledged(known).into_iter().zip(0..) {
            let Some(write) = write else { continue };
            match self.read_block(image, self.layout.home(place)) {
                BlockState::Whole(found) if found >= write => {}
                block => lost.push(block.in_place_of(write)),
            }
        }
        in_order(lost)
    }

    /// The blocks that are lost even after log recovery, which copies complete transactions to their places.
    fn lost_blocks(&self, image: &[Seen], known: KnownWrites) -> Vec<LostWrite> {
        let recovered = self.recover_log(image);
        let mut lost = Vec::new();
        for (write, place) in self.newest_acknowledged(known).into_iter().zip(0..) {
            let Some(write) = write else { continue };
            let block = self.read_block(image, self.layout.home(place));
            let home_transaction = match block {
                BlockState::Whole(found) => self.transaction_of(found),
                BlockState::Found(_) => None,
            };
            // `None`, no transaction, is less than any.
            if home_transaction.max(recovered[place as usize]) < self.transaction_of(write) {
                lost.push(block.in_place_of(write));
            }
        }
        in_order(lost)
    }

    /// The newest transaction of each place that is complete in the log.
    fn recover_log(&self, image: &[Seen]) -> Vec<Option<u32>> {
        let mut newest = vec![None; self.layout.places as usize];
        for slot in 0..SLOTS {
            let Some((transaction, places)) = self.read_transaction(image, slot) else { continue };
            for place in places {
                let newest_here: &mut Option<u32> = &mut newest[place as usize];
                *newest_here = (*newest_here).max(Some(transaction));
            }
        }
        newest
    }

    /// The transaction in a slot of the log, and the places of its blocks; `None` if a block or the commit is missing.
    fn read_transaction(&self, image: &[Seen], slot: u32) -> Option<(u32, Vec<u32>)> {
        let commit = self.read_item(image, self.layout.logged(slot, BLOCKS))?;
        let WrittenItem::Commit { transaction: committed } = commit else { return None };
        let mut places = Vec::new();
        for block in 0..BLOCKS {
            match self.read_item(image, self.layout.logged(slot, block))? {
                WrittenItem::Logged { transaction, place } if transaction == committed => {
                    places.push(place);
                }
                _ => return None,
            }
        }
        Some((committed, places))
    }

    /// The item in the block at a sector, if the block is whole.
    fn read_item(&self, image: &[Seen], at: u64) -> Option<WrittenItem> {
        match self.read_block(image, at) {
            BlockState::Whole(write) => self.items.get(write as usize).copied(),
            BlockState::Found(_) => None,
        }
    }

    /// The number of the transaction of a write; `None` for a plain record.
    fn transaction_of(&self, write: u32) -> Option<u32> {
        match self.items.get(write as usize)? {
            WrittenItem::Logged { transaction, .. }
            | WrittenItem::Commit { transaction }
            | WrittenItem::Home { transaction, .. } => Some(*transaction),
            WrittenItem::Record { .. } => None,
        }
    }

    /// Counts the unacknowledged writes by state, the newest first; of two at one place, only the newer one counts.
    fn count_unpromised(&self, image: &[Seen], known: KnownWrites) -> Unpromised {
        let mut unpromised = Unpromised::default();
        let mut has_newer = vec![false; image.len()];
        for number in (known.promised..known.begun).rev() {
            let write = self.log.writes[number as usize];
            let range = write.at as usize..write.at as usize + write.sectors as usize;
            let (Some(sectors), Some(newer)) = (image.get(range.clone()), has_newer.get_mut(range))
            else {
                continue;
            };
            let is_overwritten = newer.contains(&true);
            newer.fill(true);
            if is_overwritten {
                continue;
            }
            let there = sectors.iter().filter(|seen| **seen == Seen::Write(number)).count();
            if there == 0 {
                unpromised.missing += 1;
                // All present ones so far are newer.
                unpromised.out_of_order = unpromised.present;
            } else if there == sectors.len() {
                unpromised.present += 1;
            } else {
                unpromised.torn += 1;
            }
        }
        unpromised
    }
}

#[derive(Clone, Copy)]
enum BlockState {
    Whole(u32),
    Found(Found),
}

impl BlockState {
    /// The loss of a write in whose place this block was found.
    fn in_place_of(self, write: u32) -> LostWrite {
        match self {
            Self::Whole(older) => LostWrite { write, found: Found::Older, older: Some(older) },
            Self::Found(found) => LostWrite { write, found, older: None },
        }
    }
}

fn in_order(mut lost: Vec<LostWrite>) -> Vec<LostWrite> {
    lost.sort_by_key(|lost_write| lost_write.write);
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::cut::Landed;
    use crate::durability::image::{rebuild, rebuild_all};
    use crate::durability::log::Write;

    const SECTORS: u32 = 2;

    fn all(write: u32) -> Landed {
        Landed { write, first: 0, sectors: SECTORS }
    }

    fn records(pattern: Pattern, places: &[u32]) -> WrittenRecords {
        let layout = RecordLayout { pattern, sectors: SECTORS, places: 4 };
        let mut own = WrittenRecords::with_room(layout, 8);
        for place in places {
            let at = layout.home(*place);
            own.log.write(Write { at, sectors: SECTORS, through: false });
            own.items.push(WrittenItem::Record { place: *place });
            own.log.flush();
            own.log.promise();
        }
        own
    }

    #[test]
    fn an_acknowledged_record_is_there_or_it_is_told_what_lies_there() {
        let own = records(Pattern::InPlace, &[0, 1, 0]);
        let end = own.log.steps.len();
        let judged = |landed: &[Landed]| own.judge(&rebuild(&own.log, landed, 8), end).lost;
        assert_eq!(judged(&[all(0), all(1), all(2)]), []);
        let lost = |write, found, older| LostWrite { write, found, older };
        assert_eq!(judged(&[all(0), all(1)]), [lost(2, Found::Older, Some(0))]);
        assert_eq!(judged(&[all(2)]), [lost(1, Found::Nothing, None)]);
        let torn = [all(0), all(1), Landed { write: 2, first: 0, sectors: 1 }];
        assert_eq!(judged(&torn), [lost(2, Found::Torn, None)]);
        let mut image = rebuild_all(&own.log, 8);
        image[3] = Seen::Strange;
        assert_eq!(own.judge(&image, end).lost, [lost(1, Found::Foreign, None)]);
        // Unacknowledged writes may be missing or torn.
        assert_eq!(own.judge(&rebuild(&own.log, &[all(0), all(1)], 8), end - 1).lost, []);
        assert_eq!(own.judge(&rebuild(&own.log, &[all(0)], 8), 4).lost, []);
    }

    #[test]
    fn what_was_not_promised_is_told_apart() {
        let layout = RecordLayout { pattern: Pattern::Log, sectors: SECTORS, places: 4 };
        let mut own = WrittenRecords::with_room(layout, 8);
        for place in 0..3 {
            own.log.write(Write { at: layout.home(place), sectors: SECTORS, through: false });
            own.items.push(WrittenItem::Record { place });
        }
        let judged = |landed: &[Landed]| {
            let judgement = own.judge(&rebuild(&own.log, landed, 8), 3);
            assert_eq!(judgement.lost, []);
            let Unpromised { present: there, missing: gone, torn, out_of_order: ahead } =
                judgement.unpromised;
            (judgement.outcome(), [there, gone, torn, ahead])
        };
        assert_eq!(judged(&[]), (CutOutcome::AllGone, [0, 3, 0, 0]));
        assert_eq!(judged(&[all(0), all(1), all(2)]), (CutOutcome::AllThere, [3, 0, 0, 0]));
        assert_eq!(judged(&[all(0), all(2)]), (CutOutcome::Partly, [2, 1, 0, 1]));
        let part = Landed { write: 1, first: 1, sectors: 1 };
        assert_eq!(judged(&[all(0), part]), (CutOutcome::Torn, [1, 1, 1, 0]));
        assert_eq!(own.judge(&rebuild_all(&own.log, 8), 0).outcome(), CutOutcome::Quiet);
    }

    /// Two transactions on the same places, and the steps of their acknowledgment.
    fn transactions() -> (WrittenRecords, Vec<usize>) {
        let layout =
            RecordLayout { pattern: Pattern::Transaction, sectors: SECTORS, places: BLOCKS };
        let mut own = WrittenRecords::with_room(layout, 8);
        let mut promised = Vec::new();
        for transaction in 0..2 {
            let mut put = |what, at| {
                own.log.write(Write { at, sectors: SECTORS, through: false });
                own.items.push(what);
            };
            for place in 0..BLOCKS {
                put(WrittenItem::Logged { transaction, place }, layout.logged(transaction, place));
            }
            put(WrittenItem::Commit { transaction }, layout.logged(transaction, BLOCKS));
            own.log.flush();
            own.log.promise();
            promised.push(own.log.steps.len());
            for place in 0..BLOCKS {
                own.log.write(Write { at: layout.home(place), sectors: SECTORS, through: false });
                own.items.push(WrittenItem::Home { transaction, place });
            }
        }
        (own, promised)
    }

    #[test]
    fn a_transaction_is_there_in_its_log_or_in_its_places() {
        let (own, promised) = transactions();
        let sectors = own.log.sectors() as usize;
        let lost = |landed: &[u32], steps| {
            let landed: Vec<Landed> = landed.iter().map(|write| all(*write)).collect();
            own.judge(&rebuild(&own.log, &landed, sectors), steps).lost
        };
        let first: Vec<u32> = (0..5).collect();
        assert_eq!(lost(&first, promised[0]), [], "its log and its commit block are there");
        assert_eq!(lost(&[0, 1, 2, 3], promised[0]).len(), 4, "the commit block is not");
        assert_eq!(lost(&[0, 1, 3, 4], promised[0]).len(), 4, "a block of the log is not");
        assert_eq!(lost(&[5, 6, 7, 8], promised[0]), [], "all of it is in its places");
        let torn = lost(&[0, 1, 2, 3, 4, 5, 6], promised[1]);
        assert_eq!(torn.len(), 4, "the second one is nowhere");
        assert_eq!((torn[0].write, torn[0].found), (9, Found::Older));
        // A place torn by a write in progress is restored from the log.
        let mut landed: Vec<Landed> = first.iter().map(|write| all(*write)).collect();
        landed.push(Landed { write: 5, first: 0, sectors: 1 });
        assert_eq!(own.judge(&rebuild(&own.log, &landed, sectors), promised[0] + 1).lost, []);
    }
}
