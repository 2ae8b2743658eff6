//! Stamps of blocks: every 512 bytes contain run and address.

use super::{BLOCK_BYTES, Seen};
use crate::random::mix64;
use crate::verify::read_words;

/// Small stamped units, so wraps within a block are detected.
const SECTOR: usize = 512;
const WORDS: usize = SECTOR / 8;
/// `ASSAYCAP` in byte order of the medium.
const MAGIC: u64 = u64::from_le_bytes(*b"ASSAYCAP");
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// Maximum number of flipped bits of the 4096 bits in a sector: unrelated data differ in half of them.
const MOST_FLIPPED: u32 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Key of the run, including its pilot and passes.
    pub run: u64,
    pub pass: u64,
    /// Bytes from the beginning of the area.
    pub address: u64,
    /// How often the place was written by then.
    pub generation: u32,
}

/// Header words of a sector: magic, run, pass, address, generation.
const HEAD: usize = 5;

/// Returns the words of a sector: head, filling, checksum.
fn sector_words(stamp: Stamp) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let Stamp { run, pass, address, generation } = stamp;
    words[..HEAD].copy_from_slice(&[MAGIC, run, pass, address, u64::from(generation)]);
    let state = mix64(run ^ mix64(pass ^ mix64(address ^ u64::from(generation) << 40)));
    for (index, word) in words[HEAD..WORDS - 1].iter_mut().enumerate() {
        *word = mix64(state.wrapping_add((index as u64 + 1).wrapping_mul(GOLDEN)));
    }
    words[WORDS - 1] = checksum(&words);
    words
}

/// Checksum of all words except the last: a flipped bit changes half of its bits.
fn checksum(words: &[u64; WORDS]) -> u64 {
    words[..WORDS - 1].iter().fold(GOLDEN, |sum, word| mix64(sum ^ word).wrapping_add(GOLDEN))
}

pub(super) fn fill(bytes: &mut [u8], first: Stamp) {
    for (sector, address) in bytes.chunks_exact_mut(SECTOR).zip((first.address..).step_by(SECTOR)) {
        let words = sector_words(Stamp { address, ..first });
        for (bytes, word) in sector.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Classifies a block by its first sector that differs from the written data.
pub(super) fn classify_block(block: &[u8], wanted: Stamp) -> Seen {
    debug_assert_eq!(block.len() as u64, BLOCK_BYTES);
    let mut flipped = 0;
    for (sector, address) in block.chunks_exact(SECTOR).zip((wanted.address..).step_by(SECTOR)) {
        match classify_sector(sector, Stamp { address, ..wanted }) {
            Seen::AsWritten => {}
            Seen::Flipped { bits } => flipped += bits,
            other => return other,
        }
    }
    if flipped == 0 { Seen::AsWritten } else { Seen::Flipped { bits: flipped } }
}

/// Compares a sector with its expected stamp.
fn classify_sector(sector: &[u8], wanted: Stamp) -> Seen {
    let (found, expected) = (read_words(sector), sector_words(wanted));
    if found == expected {
        return Seen::AsWritten;
    }
    if found.iter().all(|word| *word == 0) {
        return Seen::Zero;
    }
    let has_valid_checksum = checksum(&found) == found[WORDS - 1];
    if has_valid_checksum && found[..2] == [MAGIC, wanted.run] {
        let (pass, address) = (found[2], found[3]);
        if address == wanted.address {
            return Seen::Older;
        }
        // Data of another pass at a wrong address may result from layers recreated in between.
        if pass == wanted.pass {
            return Seen::Other { at_bytes: wanted.address, of_bytes: address };
        }
    }
    let bits = found.iter().zip(expected).map(|(word, wanted)| (word ^ wanted).count_ones()).sum();
    if bits <= MOST_FLIPPED { Seen::Flipped { bits } } else { Seen::Foreign }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { run: 77, pass: 5, address: 40 * BLOCK_BYTES, generation: 1 };

    fn block(stamp: Stamp) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        fill(&mut bytes, stamp);
        bytes
    }

    #[test]
    fn what_was_written_is_known_again_and_nothing_else() {
        let own = block(STAMP);
        assert_eq!(classify_block(&own, STAMP), Seen::AsWritten);
        let elsewhere = Stamp { address: 3 * BLOCK_BYTES, ..STAMP };
        let found = classify_block(&block(elsewhere), STAMP);
        assert_eq!(found, Seen::Other { at_bytes: STAMP.address, of_bytes: elsewhere.address });
        let of_another_run = block(Stamp { run: 78, ..STAMP });
        assert_eq!(classify_block(&of_another_run, STAMP), Seen::Foreign);
        assert_eq!(classify_block(&own, Stamp { generation: 2, ..STAMP }), Seen::Older);
        // A block of an earlier pass was lost at its own address; at another address it is foreign.
        let of_the_pilot = Stamp { pass: 4, ..STAMP };
        assert_eq!(classify_block(&block(of_the_pilot), STAMP), Seen::Older);
        let moved = Stamp { address: elsewhere.address, ..of_the_pilot };
        assert_eq!(classify_block(&block(moved), STAMP), Seen::Foreign);
        assert_eq!(classify_block(&vec![0; own.len()], STAMP), Seen::Zero);
        assert_eq!(classify_block(&vec![255; own.len()], STAMP), Seen::Foreign);
    }

    #[test]
    fn turned_bits_are_counted_and_are_no_lie() {
        let mut bytes = block(STAMP);
        for at in [0, 8, 16, 700, 4095] {
            bytes[at] ^= 1;
        }
        assert_eq!(classify_block(&bytes, STAMP), Seen::Flipped { bits: 5 });
    }

    #[test]
    fn a_wrap_in_the_middle_of_a_block_is_seen() {
        let mut bytes = block(STAMP);
        let other = block(Stamp { address: 0, ..STAMP });
        bytes[1024..].copy_from_slice(&other[..3072]);
        let at_bytes = STAMP.address + 1024;
        assert_eq!(classify_block(&bytes, STAMP), Seen::Other { at_bytes, of_bytes: 0 });
    }

    #[test]
    fn a_damaged_block_of_elsewhere_names_no_address() {
        let mut bytes = block(Stamp { address: 0, ..STAMP });
        bytes[300] ^= 4;
        assert_eq!(classify_block(&bytes, STAMP), Seen::Foreign);
    }

    #[test]
    fn a_sector_with_an_eighth_of_its_bits_turned_is_still_known() {
        let turned = |bits: usize| {
            let mut bytes = block(STAMP);
            (0..bits).for_each(|bit| bytes[8 + bit / 8] ^= 1 << (bit % 8));
            classify_block(&bytes, STAMP)
        };
        assert_eq!(turned(512), Seen::Flipped { bits: 512 });
        assert_eq!(turned(513), Seen::Foreign);
        // Each sector is checked separately, and flipped bits are added.
        let mut bytes = block(STAMP);
        for sector in bytes.chunks_exact_mut(SECTOR) {
            sector[8..48].iter_mut().for_each(|byte| *byte ^= 255);
        }
        assert_eq!(classify_block(&bytes, STAMP), Seen::Flipped { bits: 8 * 320 });
    }

    #[test]
    fn words_stand_where_they_are_said_to_stand() {
        let bytes = block(STAMP);
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..8 * at + 8].try_into().unwrap());
        assert_eq!(&bytes[..8], b"ASSAYCAP");
        assert_eq!([1, 2, 3, 4].map(word), [77, 5, 40 * BLOCK_BYTES, 1]);
        // The next sector has the next address and different padding.
        assert_eq!(word(WORDS + 3), 40 * BLOCK_BYTES + 512);
        let filling: std::collections::HashSet<u64> =
            (HEAD..WORDS).chain(WORDS + HEAD..2 * WORDS).map(word).collect();
        assert_eq!(filling.len(), 2 * (WORDS - HEAD));
        // A whole sector with another magic number is not from this tool.
        let mut strange = sector_words(STAMP);
        strange[0] ^= 1 << 63;
        strange[3] = 0;
        strange[WORDS - 1] = checksum(&strange);
        let strange: Vec<u8> = strange.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut other = block(STAMP);
        other[..SECTOR].copy_from_slice(&strange);
        assert!(!matches!(classify_block(&other, STAMP), Seen::Other { .. }));
    }
}
