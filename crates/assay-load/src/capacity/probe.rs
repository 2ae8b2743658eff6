//! The passes: everything is written before anything is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::confirm::{self, Confirmed};
use super::disk::BlockDisk;
use super::{
    BLOCK_BYTES, CapacityJob, CapacityOutcome, CapacityShape, LARGEST_SPACER, PIECE_BYTES, Seen,
    SeenCounts, WrongBlock,
};
use crate::random::{Purpose, at, key};
use crate::{Class, LoadError};

const PIECE_BLOCKS: u64 = PIECE_BYTES / BLOCK_BYTES;
const MOST_WRONG: usize = 4096;
/// Maximum number of I/O errors before a pass ends: each may take the kernel half a minute.
const MOST_REFUSALS: u32 = 64;
/// Generations of a block: before the check, at the check, and after it in a full pass.
const BEFORE: u32 = 0;
const CHECKED: u32 = 1;
const REWRITE: u32 = 1000;
/// Percent of the time after which the phases of writing end.
const BEFORE_PERCENT: u64 = 20;
const SAMPLES_PERCENT: u64 = 40;
const WRITING_PERCENT: u64 = 60;
const COST_PIECES: u64 = 8;
const COST_BLOCKS: u64 = 16;

pub(super) struct Pass<'a> {
    pub disk: &'a mut dyn BlockDisk,
    stop: &'a AtomicBool,
    began_ns: u64,
    limit_ns: u64,
    /// Bytes and number of the successful writes.
    pub written: (u64, u64),
    /// Bytes of the successful reads, and number of all reads.
    pub read: (u64, u64),
    pub refused: Option<String>,
    refusals: u32,
    /// Blocks whose last write failed: first and end.
    unwritten: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteOutcome {
    Yes,
    Refused,
    Full,
}

impl<'a> Pass<'a> {
    fn new(disk: &'a mut dyn BlockDisk, limit_ns: u64, stop: &'a AtomicBool) -> Self {
        let began_ns = disk.now_ns();
        Self {
            disk,
            stop,
            began_ns,
            limit_ns,
            written: (0, 0),
            read: (0, 0),
            refused: None,
            refusals: 0,
            unwritten: BTreeMap::new(),
        }
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.disk.now_ns().saturating_sub(self.began_ns)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns whether a phase has used its percentage of the time.
    fn is_over(&self, percent: u64) -> bool {
        self.elapsed_ns() >= self.limit_ns / 100 * percent
    }

    /// Returns whether a phase may continue: no stop, time left, and few errors.
    fn may_go_on(&self, percent: u64) -> bool {
        !self.is_stopped() && !self.is_over(percent) && self.refusals < MOST_REFUSALS
    }

    /// Writes blocks; fails only if the target refuses the very first write.
    fn write(
        &mut self,
        block: u64,
        count: u64,
        generation: u32,
    ) -> Result<WriteOutcome, LoadError> {
        let error = match self.disk.write(block, count, generation) {
            Ok(()) => {
                self.written.0 += count * BLOCK_BYTES;
                self.written.1 += 1;
                self.unwritten.remove(&block);
                return Ok(WriteOutcome::Yes);
            }
            Err(error) => error,
        };
        // A target that takes not even the first write cannot be checked.
        if self.written.1 == 0 {
            let offset = block * BLOCK_BYTES;
            return Err(LoadError::Operation { class: Class::Write, offset, source: error });
        }
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        if self.disk.may_fill_up() && full.contains(&error.kind()) {
            return Ok(WriteOutcome::Full);
        }
        self.count_refusal(&error);
        self.unwritten.insert(block, block + count);
        Ok(WriteOutcome::Refused)
    }

    /// Writes blocks that were written before; [`Pass::write`] counts failures.
    pub fn write_again(&mut self, block: u64, count: u64, generation: u32) {
        let _ = self.write(block, count, generation);
    }

    /// Writes consecutive blocks in pieces until a stop; counts failures like [`Pass::write`].
    pub fn write_stretch(&mut self, first: u64, count: u64, generation: u32) {
        let mut at = first;
        while at < first + count && !self.is_stopped() {
            let length = PIECE_BLOCKS.min(first + count - at);
            self.write_again(at, length, generation);
            at += length;
        }
    }

    fn count_refusal(&mut self, error: &io::Error) {
        self.refusals += 1;
        self.refused.get_or_insert_with(|| error.to_string());
    }

    pub fn settle(&mut self) {
        if let Err(error) = self.disk.settle() {
            self.count_refusal(&error);
        }
    }

    fn was_refused(&self, block: u64) -> bool {
        let nearest = self.unwritten.range(..=block).next_back();
        nearest.is_some_and(|(_, end)| block < *end)
    }

    pub fn read_one(&mut self, block: u64, generation: u32) -> Seen {
        let mut seen = Vec::with_capacity(1);
        self.read_piece(block, 1, generation, &mut seen);
        seen.pop().unwrap_or(Seen::Failed)
    }

    /// Reads a piece, or its blocks one by one if that fails. A block whose write failed counts as failed.
    fn read_piece(&mut self, block: u64, count: u64, generation: u32, into: &mut Vec<Seen>) {
        let before = into.len();
        self.read.1 += 1;
        match self.disk.read(block, count, generation, into) {
            Ok(()) => self.read.0 += count * BLOCK_BYTES,
            Err(error) if count == 1 || self.refusals >= MOST_REFUSALS => {
                self.count_refusal(&error);
                into.truncate(before);
                into.resize(before + count as usize, Seen::Failed);
            }
            Err(_) => {
                into.truncate(before);
                for block in block..block + count {
                    self.read_piece(block, 1, generation, into);
                }
            }
        }
        for (seen, block) in into[before..].iter_mut().zip(block..) {
            if self.was_refused(block) {
                *seen = Seen::Failed;
            }
        }
    }
}

/// Results of checked blocks, in order of address.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockSurvey {
    pub counts: SeenCounts,
    pub wrong: Vec<WrongBlock>,
    /// The greatest common divisor of the distances between found and written blocks.
    pub apart_bytes: Option<u64>,
    pub first_wrong: Option<u64>,
    /// The last good block before the first wrong one.
    pub good_before: Option<u64>,
    /// Number of blocks from the first wrong one on, and of the good ones among them.
    pub beyond: u64,
    pub good_beyond: u64,
    last: Option<u64>,
    widest_gap: u64,
}

impl BlockSurvey {
    /// Adds the result of a block; blocks come in order of address.
    pub fn add(&mut self, block: u64, seen: Seen) {
        self.counts.add(seen);
        let gap = block - self.last.map_or(0, |last| last + 1);
        self.widest_gap = self.widest_gap.max(gap);
        self.last = Some(block);
        let is_good = seen == Seen::AsWritten;
        if !is_good {
            self.first_wrong.get_or_insert(block);
            if self.wrong.len() < MOST_WRONG {
                self.wrong.push(WrongBlock { at_bytes: block * BLOCK_BYTES, seen });
            }
        }
        if let Seen::Other { at_bytes, of_bytes } = seen {
            let apart = at_bytes.abs_diff(of_bytes);
            self.apart_bytes = Some(common_divisor(apart, self.apart_bytes.unwrap_or(0)));
        }
        if self.first_wrong.is_none() {
            self.good_before = Some(block);
        } else {
            self.beyond += 1;
            self.good_beyond += u64::from(is_good);
        }
    }

    /// Recounts blocks as wrong that read as written at first, but lost their rewrite. `self` must not contain data of
    /// other blocks: only the distance found by the rewrites is used.
    fn merge_lost_rewrites(&mut self, rewrites: &Self) {
        let counted: BTreeSet<u64> = self.wrong.iter().map(|wrong| wrong.at_bytes).collect();
        for wrong in rewrites.wrong.iter().filter(|wrong| !counted.contains(&wrong.at_bytes)) {
            self.counts.as_written = self.counts.as_written.saturating_sub(1);
            self.counts.add(wrong.seen);
        }
        self.first_wrong = self.first_wrong.into_iter().chain(rewrites.first_wrong).min();
        self.apart_bytes = rewrites.apart_bytes;
    }
}

fn common_divisor(mut length: u64, mut other: u64) -> u64 {
    while other > 0 {
        (length, other) = (other, length % other);
    }
    length
}

struct SurveyResult {
    checked: BlockSurvey,
    /// Rewritten blocks; also part of `checked`.
    rewrites: BlockSurvey,
    sampled: SeenCounts,
    zone_blocks: u64,
    samples: u64,
    between_bytes: u64,
    zone_write_ns: u64,
    cut_short: bool,
}

/// Surveys all blocks or a sample, then retries wrong blocks before they count.
pub(super) fn run(
    disk: &mut dyn BlockDisk,
    job: &CapacityJob,
    stop: &AtomicBool,
) -> Result<CapacityOutcome, LoadError> {
    let claimed_bytes = job.area.end - job.area.start;
    let blocks = claimed_bytes / BLOCK_BYTES;
    let (mut shape, mut note) = (job.shape, None);
    if !shape.full
        && let Err(reason) = disk.set_aside()
    {
        shape = CapacityShape::new(claimed_bytes, true);
        note = Some(format!(
            "Assay wrote all blocks instead of a sample, because the filesystem cannot reserve \
             space ({reason})"
        ));
    }
    let mut pass = Pass::new(disk, job.time.as_nanos() as u64, stop);
    let survey = if shape.full {
        survey_all_blocks(&mut pass, job.seed, blocks, &shape)?
    } else {
        survey_sample(&mut pass, job.seed, blocks, &shape)?
    };
    let survey_ns = pass.elapsed_ns();
    let confirmed = retry_wrong_blocks(&mut pass, &survey, shape.full, blocks);
    let elapsed_ns = pass.elapsed_ns();
    // A filesystem that filled up did not claim the missing space.
    let claimed_bytes = if pass.disk.may_fill_up() && shape.full && !survey.cut_short {
        survey.zone_blocks * BLOCK_BYTES
    } else {
        claimed_bytes
    };
    Ok(CapacityOutcome {
        claimed_bytes,
        shape,
        zone_bytes: survey.zone_blocks * BLOCK_BYTES,
        samples: survey.samples,
        rewritten: survey.rewrites.counts.all(),
        first: survey.checked.counts,
        sampled: survey.sampled,
        widest_gap_bytes: gap_bytes(&survey.checked, claimed_bytes / BLOCK_BYTES),
        between_bytes: survey.between_bytes,
        again: confirmed.counts,
        wrong: confirmed.wrong,
        wraps_after_bytes: survey.checked.apart_bytes.filter(|_| confirmed.counts.other > 0),
        held_bytes: confirmed.held_blocks.map(|blocks| blocks * BLOCK_BYTES),
        written: pass.written,
        read: pass.read,
        zone_write_ns: survey.zone_write_ns,
        elapsed_ns,
        again_ns: elapsed_ns - survey_ns,
        cut_short: survey.cut_short,
        note,
        refused: pass.refused.clone(),
        stopped: pass.is_stopped(),
    })
}

/// Retries wrong blocks; none without wrong blocks. If rewrites were lost, only they show where the real capacity ends.
fn retry_wrong_blocks(
    pass: &mut Pass<'_>,
    survey: &SurveyResult,
    is_full: bool,
    blocks: u64,
) -> Confirmed {
    let SurveyResult { checked, rewrites, zone_blocks, .. } = survey;
    if checked.first_wrong.is_none() || pass.is_stopped() {
        return Confirmed::default();
    }
    let blocks = if is_full { *zone_blocks } else { blocks };
    let lost_rewrites = rewrites.counts.older > 0 || (is_full && rewrites.first_wrong.is_some());
    if lost_rewrites {
        return confirm::confirm(pass, rewrites, blocks, *zone_blocks, false);
    }
    confirm::confirm(pass, checked, blocks, *zone_blocks, is_full)
}

/// The longest gap without a checked block, up to the end.
fn gap_bytes(checked: &BlockSurvey, blocks: u64) -> u64 {
    let after = blocks.saturating_sub(checked.last.map_or(0, |last| last + 1));
    checked.widest_gap.max(after) * BLOCK_BYTES
}

/// Writes everything, then reads it; repeats some blocks if only second writes were lost.
fn survey_all_blocks(
    pass: &mut Pass<'_>,
    seed: u64,
    blocks: u64,
    shape: &CapacityShape,
) -> Result<SurveyResult, LoadError> {
    let (written, write_ns) = write_zone(pass, blocks)?;
    // Writes that end before their time limit have filled the filesystem.
    let is_filled = pass.disk.may_fill_up() && !pass.is_over(WRITING_PERCENT);
    let (mut checked, mut blocks_read, mut piece) = (BlockSurvey::default(), 0, Vec::new());
    while blocks_read < written && pass.may_go_on(100) {
        let count = PIECE_BLOCKS.min(written - blocks_read);
        piece.clear();
        pass.read_piece(blocks_read, count, CHECKED, &mut piece);
        for (seen, block) in piece.iter().zip(blocks_read..) {
            checked.add(block, *seen);
        }
        blocks_read += count;
    }
    let mut rewrites = BlockSurvey::default();
    // If all wrong blocks are older writes of the pilot or a pass, only rewrites can find the border.
    let only_older = checked.counts.wrong() == checked.counts.older;
    if blocks_read == written && only_older && shape.rewrites > 0 {
        rewrites = check_rewrites(pass, seed, written, shape.rewrites.min(written))?;
        checked.merge_lost_rewrites(&rewrites);
    }
    Ok(SurveyResult {
        sampled: checked.counts,
        checked,
        rewrites,
        zone_blocks: written,
        samples: 0,
        // The first block is read after all others were written, the last after all others were read.
        between_bytes: (written.saturating_sub(PIECE_BLOCKS)) * BLOCK_BYTES,
        zone_write_ns: write_ns,
        cut_short: blocks_read < written || (written < blocks && !is_filled),
    })
}

/// Rewrites one block per stretch and reads it; returns the results within the time limit. It alternates between the
/// two halves, so writes to one half exceed the cache for the other.
fn check_rewrites(
    pass: &mut Pass<'_>,
    seed: u64,
    blocks: u64,
    count: u64,
) -> Result<BlockSurvey, LoadError> {
    let mut checked = BlockSurvey::default();
    let places = stratified_blocks_to_the_end(seed ^ 2, 0..blocks, count); // a separate stream
    let middle = blocks / 2;
    let (first, second) = places.split_at(places.partition_point(|place| *place < middle));
    for (half, other_half) in [(first, middle..blocks), (second, 0..middle)] {
        let written = write_blocks(pass, half, REWRITE, 100)?;
        pass.settle();
        let spacer = (other_half.end - other_half.start).min(LARGEST_SPACER / BLOCK_BYTES);
        if !written.is_empty() {
            pass.write_stretch(other_half.start, spacer, CHECKED);
            pass.settle();
        }
        for place in written {
            if !pass.may_go_on(100) {
                break;
            }
            let seen = pass.read_one(place, REWRITE);
            checked.add(place, seen);
        }
    }
    Ok(checked)
}

/// Writes blocks until a percentage of the time is used; returns the written ones.
fn write_blocks(
    pass: &mut Pass<'_>,
    places: &[u64],
    generation: u32,
    percent: u64,
) -> Result<Vec<u64>, LoadError> {
    let mut written = Vec::with_capacity(places.len());
    for place in places {
        if !pass.may_go_on(percent) {
            break;
        }
        pass.write(*place, 1, generation)?;
        written.push(*place);
    }
    Ok(written)
}

/// Writes the first `blocks` in order and syncs them; returns the number of written ones, and nanoseconds.
fn write_zone(pass: &mut Pass<'_>, blocks: u64) -> Result<(u64, u64), LoadError> {
    let began_ns = pass.elapsed_ns();
    let mut at = 0;
    while at < blocks && pass.may_go_on(WRITING_PERCENT) {
        let count = PIECE_BLOCKS.min(blocks - at);
        if pass.write(at, count, CHECKED)? == WriteOutcome::Full {
            break;
        }
        at += count;
    }
    pass.settle();
    Ok((at, pass.elapsed_ns() - began_ns))
}

/// Writes a sample of the blocks behind the zone, then the zone; reads the sample and a part of the zone. Blocks in
/// `rewritten` were written once before.
fn survey_sample(
    pass: &mut Pass<'_>,
    seed: u64,
    blocks: u64,
    shape: &CapacityShape,
) -> Result<SurveyResult, LoadError> {
    let zone = shape.zone_bytes / BLOCK_BYTES;
    let places = sample_blocks(seed, zone..blocks, shape.samples);
    let first_places = &places[..places.len().min(shape.rewrites as usize)];
    let rewritten = write_blocks(pass, first_places, BEFORE, BEFORE_PERCENT)?;
    let rewritten: BTreeSet<u64> = rewritten.into_iter().collect();
    if !rewritten.is_empty() {
        pass.settle();
    }
    let written = write_blocks(pass, &places, CHECKED, SAMPLES_PERCENT)?;
    pass.settle();
    let (zone_blocks, zone_write_ns) = write_zone(pass, zone)?;
    let mut read_blocks = Vec::with_capacity(written.len());
    // Only the first half of the zone: writes of as many bytes followed each of its blocks.
    let half = zone_blocks / 2;
    let zone_sample = stratified_blocks(seed ^ 1, 0..half, shape.zone_samples.min(half));
    let to_read = written.len() + zone_sample.len();
    for place in written.iter().copied().chain(zone_sample) {
        if !pass.may_go_on(100) {
            break;
        }
        read_blocks.push((place, pass.read_one(place, CHECKED)));
    }
    let is_whole =
        written.len() == places.len() && zone_blocks == zone && read_blocks.len() == to_read;
    read_blocks.sort_unstable_by_key(|(place, _)| *place);
    let mut checked = BlockSurvey::default();
    let (mut rewrites, mut sampled) = (BlockSurvey::default(), SeenCounts::default());
    for (place, seen) in read_blocks {
        checked.add(place, seen);
        if place >= zone {
            sampled.add(seen);
        }
        if rewritten.contains(&place) {
            rewrites.add(place, seen);
        }
    }
    Ok(SurveyResult {
        checked,
        rewrites,
        sampled,
        zone_blocks,
        samples: written.len() as u64,
        between_bytes: half * BLOCK_BYTES,
        zone_write_ns,
        cut_short: !is_whole,
    })
}

/// Draws one block per equal stretch, including the very last block, in random order.
fn sample_blocks(seed: u64, within: std::ops::Range<u64>, count: u64) -> Vec<u64> {
    let mut places = stratified_blocks_to_the_end(seed, within, count);
    // Fisher-Yates shuffle: blocks that a time limit cuts off are spread evenly.
    let shuffle = key(seed, 1, Purpose::Offsets);
    for index in (1..places.len()).rev() {
        places.swap(index, (at(shuffle, index as u64) % (index as u64 + 1)) as usize);
    }
    places
}

/// Like [`stratified_blocks`], but the last one is the very last block.
fn stratified_blocks_to_the_end(seed: u64, within: std::ops::Range<u64>, count: u64) -> Vec<u64> {
    let end = within.end;
    let mut places = stratified_blocks(seed, within, count);
    if let Some(place) = places.last_mut() {
        *place = end - 1;
    }
    places
}

/// Draws one block from each of `count` equal stretches, in order of address.
fn stratified_blocks(seed: u64, within: std::ops::Range<u64>, count: u64) -> Vec<u64> {
    let (length, draws) = (within.end - within.start, key(seed, 0, Purpose::Offsets));
    let start_of = |index: u64| (u128::from(length) * u128::from(index) / u128::from(count)) as u64;
    let draw = |index: u64| {
        let start = start_of(index);
        // A stretch may be shorter than a block.
        let end = start_of(index + 1).max(start + 1);
        within.start + start + at(draws, index) % (end - start)
    };
    (0..count).map(draw).collect()
}

/// Measures nanoseconds per MiB written in one piece, and per write or read of a single block.
pub(super) fn costs(disk: &mut dyn BlockDisk, bytes: u64) -> Result<(u64, u64), LoadError> {
    let never = AtomicBool::new(false);
    let blocks = bytes / BLOCK_BYTES;
    let mut pass = Pass::new(disk, u64::MAX, &never);
    let pieces = COST_PIECES.min(blocks / PIECE_BLOCKS).max(1);
    let (_, piece_ns) = write_zone(&mut pass, (pieces * PIECE_BLOCKS).min(blocks))?;
    let began_ns = pass.elapsed_ns();
    let tried = stratified_blocks(1, 0..blocks, COST_BLOCKS.min(blocks));
    for place in &tried {
        pass.write(*place, 1, 0)?;
    }
    pass.settle();
    for place in &tried {
        pass.read_one(*place, 0);
    }
    let single_ns = (pass.elapsed_ns() - began_ns) / (2 * tried.len() as u64).max(1);
    Ok(((piece_ns / pieces).max(1), single_ns.max(1)))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn sample_has_one_block_per_stretch_and_the_last_block() {
        let mut found = sample_blocks(7, 1000..101_000, 500);
        assert_ne!(found, stratified_blocks(7, 1000..101_000, 500), "in an order drawn");
        found.sort_unstable();
        assert_eq!(found.last(), Some(&100_999));
        assert!(
            found
                .iter()
                .zip(0..)
                .take(499)
                .all(|(place, index)| { (1000 + index * 200..1200 + index * 200).contains(place) })
        );
        assert_eq!(stratified_blocks(1, 0..4, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn distances_have_a_common_measure() {
        let apart = [96, 64, 160].into_iter().fold(0, |sum, own| common_divisor(own, sum));
        assert_eq!(apart, 32);
    }
}
