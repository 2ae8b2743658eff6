//! Stamps of written sectors.
//!
//! A sector begins with a header of eight words, which determines the rest, so a check finds every flipped bit, and
//! mixed writes. A mask drawn from the checksum hides the header, so sectors share no words and do not compress.

use crate::random::{at, mix64};

/// Bytes per stamp: the smallest unit of any drive.
pub(crate) const SECTOR: usize = 512;
const WORDS: usize = SECTOR / 8;
/// `ASSAYVR1`; the last letter is the version.
const MAGIC: u64 = u64::from_le_bytes(*b"ASSAYVR1");
/// Magic, run, seed, address, generation, all that had ended, when, checksum.
const HEAD: usize = 8;
const SUM: usize = HEAD - 1;
/// Maximum number of differing bits in a header; in unrelated data half of them differ.
const MOST_TURNED: u32 = 24;
/// Maximum number of flipped bits after a header; more mean that another write was there.
pub(super) const MOST_FLIPPED: u32 = 512;

/// Which write it was: the thread, and the number of the operation in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Generation {
    pub thread: u32,
    pub index: u64,
}

const INDEX_BITS: u32 = 48;

impl Generation {
    /// Packs the value into one word, which is never 0.
    pub fn packed(self) -> u64 {
        u64::from(self.thread) << INDEX_BITS | (self.index + 1)
    }

    pub fn unpacked(word: u64) -> Option<Self> {
        let index = (word & ((1 << INDEX_BITS) - 1)).checked_sub(1)?;
        Some(Self { thread: (word >> INDEX_BITS) as u32, index })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteStamp {
    /// Key of the run: its start in nanoseconds since 1970.
    pub run: u64,
    pub seed: u64,
    pub address: u64,
    pub generation: Generation,
    /// All operations of the thread with a lower number had ended when this one was begun.
    pub low: u64,
    /// A time at which they had, before this one was begun, on the clock of the engine.
    pub since_ns: u64,
}

impl WriteStamp {
    fn head(&self) -> [u64; HEAD] {
        let generation = self.generation.packed();
        let mut head =
            [MAGIC, self.run, self.seed, self.address, generation, self.low, self.since_ns, 0];
        head[SUM] = checksum(&head);
        head
    }
}

/// The words of a head under the mask of its checksum, or without it again.
fn masked(mut head: [u64; HEAD]) -> [u64; HEAD] {
    let mask = !head[SUM];
    for (word, index) in head[..SUM].iter_mut().zip(0..) {
        *word ^= at(mask, index);
    }
    head
}

/// Checksum of all header words except the last: a flipped bit changes half of its bits.
fn checksum(head: &[u64; HEAD]) -> u64 {
    head[..SUM].iter().fold(MAGIC, |sum, word| mix64(sum ^ mix64(*word)).wrapping_add(MAGIC))
}

/// Fills sectors from an address on; an incomplete sector at the end stays unchanged.
#[inline]
pub(crate) fn fill(bytes: &mut [u8], first: &WriteStamp) {
    let mut stamp = *first;
    for sector in bytes.chunks_exact_mut(SECTOR) {
        let head = stamp.head();
        let (words, _) = sector.as_chunks_mut::<8>();
        let (start, rest) = words.split_at_mut(HEAD);
        for (bytes, word) in start.iter_mut().zip(masked(head)) {
            *bytes = word.to_le_bytes();
        }
        for (bytes, index) in rest.iter_mut().zip(0..) {
            *bytes = at(head[SUM], index).to_le_bytes();
        }
        stamp.address += SECTOR as u64;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectorContent {
    /// A valid header, and the number of wrong bits after it.
    Stamped {
        stamp: WriteStamp,
        wrong_bits: u32,
    },
    Zero,
    Unknown,
}

/// Reads the stamp of a sector and compares the data after it.
pub(super) fn read_stamp(sector: &[u8]) -> SectorContent {
    let words = read_words(sector);
    let (hidden, rest) = split_head(&words);
    let head = masked(hidden);
    let generation = Generation::unpacked(head[4]);
    let is_whole = head[0] == MAGIC && head[SUM] == checksum(&head);
    if let Some(generation) = generation.filter(|_| is_whole) {
        let [_, run, seed, address, _, low, since_ns, sum] = head;
        let differ = |(index, word): (u64, &u64)| (word ^ at(sum, index)).count_ones();
        let wrong_bits = (0..).zip(rest).map(differ).sum();
        let stamp = WriteStamp { run, seed, address, generation, low, since_ns };
        return SectorContent::Stamped { stamp, wrong_bits };
    }
    if words.iter().all(|word| *word == 0) { SectorContent::Zero } else { SectorContent::Unknown }
}

/// Counts the flipped bits in the head of a sector that this run stamped; `None` if the sector is unrelated.
pub(super) fn flipped_in_head(sector: &[u8], run: u64, seed: u64, address: u64) -> Option<u32> {
    let words = read_words(sector);
    let (hidden, rest) = split_head(&words);
    let flipped_bits = |sum: u64| {
        let mut head = hidden;
        head[SUM] = sum;
        let pairs = masked(head).into_iter().zip([MAGIC, run, seed, address]);
        let in_words: u32 = pairs.map(|(found, wanted)| (found ^ wanted).count_ones()).sum();
        let bits = in_words + (sum ^ hidden[SUM]).count_ones();
        (bits <= MOST_TURNED).then_some(bits.max(1))
    };
    // If nothing matches, the checksum itself may be damaged.
    flipped_bits(hidden[SUM]).or_else(|| flipped_bits(repaired_sum(hidden[SUM], rest)?))
}

/// Repairs a checksum with one or two flipped bits: the data after the header was drawn from the right one.
fn repaired_sum(sum: u64, data: &[u64]) -> Option<u64> {
    let is_right = |sum: &u64| (0..).zip(&data[..3]).any(|(index, word)| at(*sum, index) == *word);
    // A pair of equal bits flips one bit.
    let pairs = (0..64).flat_map(|bit| (bit..64).map(move |other| (bit, other)));
    pairs.map(|(bit, other)| sum ^ (1 << bit | 1 << other)).find(is_right)
}

fn split_head(words: &[u64; WORDS]) -> ([u64; HEAD], &[u64]) {
    let (head, rest) = words.split_at(HEAD);
    let mut header = [0; HEAD];
    header.copy_from_slice(head);
    (header, rest)
}

pub(crate) fn read_words(sector: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let (bytes, _) = sector.as_chunks::<8>();
    for (word, bytes) in words.iter_mut().zip(bytes) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: WriteStamp = WriteStamp {
        run: 77,
        seed: 5,
        address: 40 * 4096,
        generation: Generation { thread: 3, index: 1_000_000 },
        low: 999_990,
        since_ns: 123_456_789,
    };

    fn block() -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        fill(&mut bytes, &STAMP);
        bytes
    }

    #[test]
    fn a_sector_tells_what_was_stamped_into_it() {
        for (index, sector) in (0..).zip(block().chunks_exact(SECTOR)) {
            let stamp = WriteStamp { address: STAMP.address + index * SECTOR as u64, ..STAMP };
            assert_eq!(read_stamp(sector), SectorContent::Stamped { stamp, wrong_bits: 0 });
        }
        assert_eq!(read_stamp(&[0; SECTOR]), SectorContent::Zero);
        assert_eq!(read_stamp(&[255; SECTOR]), SectorContent::Unknown);
    }

    #[test]
    fn every_turned_bit_is_seen() {
        for bit in 0..SECTOR * 8 {
            let mut bytes = block();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let sector = &bytes[..SECTOR];
            match read_stamp(sector) {
                SectorContent::Stamped { wrong_bits, .. } => {
                    assert!(bit >= HEAD * 64);
                    assert_eq!(wrong_bits, 1);
                }
                other => {
                    assert_eq!(other, SectorContent::Unknown, "{bit}");
                    assert_eq!(flipped_in_head(sector, 77, 5, STAMP.address), Some(1), "{bit}");
                }
            }
        }
    }

    #[test]
    fn what_another_wrote_is_no_turned_head() {
        let bytes = block();
        assert_eq!(flipped_in_head(&bytes[..SECTOR], !77, 5, STAMP.address), None);
        assert_eq!(flipped_in_head(&[255; SECTOR], 77, 5, STAMP.address), None);
        assert_eq!(flipped_in_head(&[0; SECTOR], u64::MAX, u64::MAX, 0), None);
    }

    #[test]
    fn no_word_of_a_block_is_like_another() {
        let bytes = block();
        let words: std::collections::HashSet<&[u8]> = bytes.chunks_exact(8).collect();
        assert_eq!(words.len(), 8 * WORDS);
    }

    #[test]
    fn a_checksum_with_two_turned_bits_is_known_again() {
        let mut bytes = block();
        bytes[SUM * 8] ^= 5;
        assert_eq!(read_stamp(&bytes[..SECTOR]), SectorContent::Unknown);
        assert_eq!(flipped_in_head(&bytes[..SECTOR], 77, 5, STAMP.address), Some(2));
        bytes[SUM * 8] ^= 8;
        assert_eq!(flipped_in_head(&bytes[..SECTOR], 77, 5, STAMP.address), None);
    }

    #[test]
    fn a_generation_is_one_word() {
        for generation in [
            Generation { thread: 0, index: 0 },
            Generation { thread: 4095, index: (1 << INDEX_BITS) - 2 },
        ] {
            assert_ne!(generation.packed(), 0);
            assert_eq!(Generation::unpacked(generation.packed()), Some(generation));
        }
        assert_eq!(Generation::unpacked(0), None);
    }
}
