//! Where requests go: the area without what is never touched, the blocks in it, and how often each is met.

use std::collections::BTreeMap;

use super::One;

const MIB: u64 = 1 << 20;
/// Parts of the extent of which it is asked whether they are touched.
const PARTS: u64 = 1024;
/// Requests for each of them at least, so that chance leaves none empty.
const ENOUGH: u64 = 10;
/// Smaller units than a sector, and larger ones than this, are none.
const UNIT_BITS: std::ops::RangeInclusive<u32> = 9..=20;
/// Requests that begin at multiples of the unit.
const ALIGNED: f64 = 0.995;
/// Cells that an area is divided into: shares of it are told in percent.
pub(super) const CELLS: usize = 100;

/// The area of requests.
pub(super) struct Ground {
    low: u64,
    part_bytes: u64,
    /// By part how many touched ones lie before it, where others are left out.
    before: Option<Vec<u64>>,
    /// Its size.
    pub bytes: u64,
    /// The share of the extent that is left out.
    pub left_out: f64,
}

impl Ground {
    /// That of some requests, one at least.
    pub(super) fn of(all: &[One]) -> Self {
        let low = all.iter().map(|one| one.offset).min().unwrap_or_default() / MIB * MIB;
        let high = all.iter().map(One::end).max().unwrap_or_default().next_multiple_of(MIB);
        let extent = (high - low).max(MIB);
        let part_bytes = extent.div_ceil(PARTS).next_multiple_of(MIB);
        let parts = extent.div_ceil(part_bytes) as usize;
        let mut touched = vec![false; parts];
        for one in all {
            let first = ((one.offset - low) / part_bytes) as usize;
            let last = ((one.end() - 1 - low) / part_bytes) as usize;
            touched[first..=last].fill(true);
        }
        let count = touched.iter().filter(|touched| **touched).count() as u64;
        let empty = parts as u64 - count;
        // One in twenty may be chance.
        if (all.len() as u64) < ENOUGH * parts as u64 || empty * 20 <= parts as u64 {
            return Self { low, part_bytes, before: None, bytes: extent, left_out: 0.0 };
        }
        let mut sum = 0;
        let before = touched.iter().map(|touched| {
            sum += u64::from(*touched);
            sum - u64::from(*touched)
        });
        let before = Some(before.collect());
        let left_out = empty as f64 / parts as f64;
        Self { low, part_bytes, before, bytes: count * part_bytes, left_out }
    }

    /// Where a place of the device lies in it.
    fn at(&self, offset: u64) -> u64 {
        let from = offset - self.low;
        match &self.before {
            None => from,
            Some(before) => {
                let part = (from / self.part_bytes) as usize;
                before[part] * self.part_bytes + from % self.part_bytes
            }
        }
    }
}

/// What nearly all requests begin at a multiple of, a power of two.
pub(super) fn unit(all: &[One]) -> u64 {
    let is_at = |bits: &u32| {
        let count = all.iter().filter(|one| one.offset.trailing_zeros() >= *bits).count();
        count as f64 >= ALIGNED * all.len() as f64
    };
    1 << UNIT_BITS.rev().find(is_at).unwrap_or(*UNIT_BITS.start())
}

/// How often blocks are met.
pub(super) struct Counts {
    /// Blocks of the area.
    pub blocks: u64,
    /// Requests.
    pub requests: u64,
    /// How many blocks are met so often; those that are never met are not in it.
    pub met: BTreeMap<u64, u64>,
    /// Requests by hundredths of the area.
    pub cells: [u64; CELLS],
}

impl Counts {
    /// Of requests of at most so many bytes in an area.
    pub(super) fn of(all: &[One], ground: &Ground, unit: u64, largest: u64) -> Self {
        let blocks = ground.bytes.saturating_sub(largest) / unit + 1;
        let block = |one: &One| (ground.at(one.offset) / unit).min(blocks - 1);
        let mut places: Vec<u64> = all.iter().map(block).collect();
        places.sort_unstable();
        let (mut met, mut cells) = (BTreeMap::new(), [0; CELLS]);
        for same in places.chunk_by(|one, other| one == other) {
            let count = same.len() as u64;
            *met.entry(count).or_default() += 1;
            let cell = u128::from(same[0]) * CELLS as u128 / u128::from(blocks);
            cells[cell as usize] += count;
        }
        Self { blocks, requests: all.len() as u64, met, cells }
    }

    /// Blocks that are met.
    pub(super) fn places(&self) -> u64 {
        self.met.values().sum()
    }

    /// Blocks of the area before a cell.
    pub(super) fn before(&self, cell: usize) -> u64 {
        (u128::from(self.blocks) * cell as u128).div_ceil(CELLS as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::Act;
    use super::*;

    fn one(offset: u64) -> One {
        One { at_ns: 0, ended_ns: 0, offset, bytes: 4096, act: Act::Read }
    }

    #[test]
    fn what_is_never_touched_is_left_out_where_there_are_enough_requests() {
        let at = |at: u64| one(at % 4 * (256 * MIB) + at * 7919 % 2048 * 4096);
        let many: Vec<One> = (0..20_000).map(at).collect();
        let found = Ground::of(&many);
        assert_eq!((found.bytes, found.at(0)), (32 * MIB, 0));
        assert_eq!(found.at(256 * MIB + 4096), 8 * MIB + 4096);
        assert!(found.left_out > 0.9);
        let few = Ground::of(&many[..1000]);
        assert_eq!((few.bytes, few.left_out), (776 * MIB, 0.0));
        assert_eq!(few.at(256 * MIB), 256 * MIB);
    }

    #[test]
    fn the_unit_is_what_nearly_all_begin_at() {
        let mut all: Vec<One> = (0..1000).map(|at| one(at * 16_384)).collect();
        assert_eq!(unit(&all), 16_384);
        all.push(one(512));
        assert_eq!(unit(&all), 16_384);
        all.extend((0..10).map(|at| one(at * 16_384 + 512)));
        assert_eq!(unit(&all), 512);
    }

    #[test]
    fn blocks_are_counted_once_and_by_cell() {
        let all: Vec<One> = [0, 0, 0, 4096, MIB - 4096].map(one).to_vec();
        let found = Counts::of(&all, &Ground::of(&all), 4096, 4096);
        assert_eq!((found.blocks, found.requests, found.places()), (256, 5, 3));
        assert_eq!(found.met, BTreeMap::from([(1, 2), (3, 1)]));
        assert_eq!((found.cells[0], found.cells[99]), (4, 1));
        assert_eq!((found.before(0), found.before(50), found.before(100)), (0, 128, 256));
    }
}
