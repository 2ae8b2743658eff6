//! The content of a device per sector: after a power loss, or as read.

use assay_load::mix64;
use serde::{Deserialize, Serialize};

use crate::durability::cut::Landed;
use crate::durability::log::{Log, SECTOR_BYTES};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// Not written by this run: earlier content.
    Before,
    Write(u32),
    /// Not written here by this run: data of another place, or changed data.
    Strange,
    Unreadable,
}

/// The sectors of a device with these writes on the medium, in order: a later one overwrites an earlier one.
pub fn rebuild(log: &Log, landed: &[Landed], sectors: usize) -> Vec<Seen> {
    let mut image = vec![Seen::Before; sectors];
    for landing in landed {
        let first = log.writes[landing.write as usize].at as usize + landing.first as usize;
        let end = (first + landing.sectors as usize).min(sectors);
        if let Some(to) = image.get_mut(first..end) {
            to.fill(Seen::Write(landing.write));
        }
    }
    image
}

/// The sectors of a device with all writes of a log.
pub fn rebuild_all(log: &Log, sectors: usize) -> Vec<Seen> {
    let numbered = log.writes.iter().zip(0..);
    let entire =
        numbered.map(|(write, number)| Landed { write: number, first: 0, sectors: write.sectors });
    rebuild(log, &entire.collect::<Vec<_>>(), sectors)
}

const SECTOR: usize = SECTOR_BYTES as usize;
/// `ASSAYDU1`; the last letter is the version.
const MAGIC: u64 = u64::from_le_bytes(*b"ASSAYDU1");
/// Magic, run, place, number of the write, checksum.
const HEAD: usize = 5;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn head(run: u64, at: u64, write: u32) -> [u64; HEAD] {
    let words = [MAGIC, run, at, u64::from(write)];
    let sum = words.iter().fold(MAGIC, |sum, word| mix64(sum ^ mix64(*word)).wrapping_add(STEP));
    [words[0], words[1], words[2], words[3], sum]
}

/// The words after the head, derived from its checksum, so a reader can verify them.
fn words_after_head(sum: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |at: u64| mix64(sum.wrapping_add(at.wrapping_mul(STEP))))
}

/// Fills the sectors of a write that begins at sector `at`.
pub fn fill(bytes: &mut [u8], run: u64, at: u64, write: u32) {
    for (sector, at) in bytes.chunks_exact_mut(SECTOR).zip(at..) {
        let head = head(run, at, write);
        let words = head.into_iter().chain(words_after_head(head[HEAD - 1]));
        for (to, word) in sector.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
    }
}

/// Identifies the write in the sector at `at`, whose head and derived words must both match.
pub fn identify(sector: &[u8], run: u64, at: u64) -> Seen {
    let mut words = sector.chunks_exact(8).map(word);
    let found: Vec<u64> = words.by_ref().take(HEAD).collect();
    let [MAGIC, found_run, _, number, _] = found[..] else { return Seen::Before };
    if found_run != run {
        return Seen::Before;
    }
    let Ok(write) = u32::try_from(number) else { return Seen::Strange };
    let head = head(run, at, write);
    let is_whole =
        found == head && words.eq(words_after_head(head[HEAD - 1]).take(SECTOR / 8 - HEAD));
    if is_whole { Seen::Write(write) } else { Seen::Strange }
}

/// The number of the write or file that begins with these bytes; `None` if this run did not write them there.
pub fn identify_start(bytes: &[u8], run: u64) -> Option<u32> {
    let words: Vec<u64> = bytes.chunks_exact(8).take(HEAD).map(word).collect();
    let number = u32::try_from(*words.get(3)?).ok()?;
    (words == head(run, 0, number)).then_some(number)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::log::Write;

    #[test]
    fn a_sector_says_which_write_it_is_of_and_where_it_belongs() {
        let mut bytes = [0; 2 * SECTOR];
        assert_eq!(identify(&bytes[..SECTOR], 7, 0), Seen::Before);
        fill(&mut bytes, 7, 100, 42);
        let (first, second) = bytes.split_at(SECTOR);
        assert_eq!([identify(first, 7, 100), identify(second, 7, 101)], [Seen::Write(42); 2]);
        assert_eq!(identify(second, 7, 100), Seen::Strange, "it belongs elsewhere");
        assert_eq!(identify(first, 8, 100), Seen::Before, "it is of another run");
        for at in [24, 40, 300, SECTOR - 1] {
            let mut wrong = first.to_vec();
            wrong[at] ^= 1;
            assert_eq!(identify(&wrong, 7, 100), Seen::Strange, "bit of byte {at}");
        }
        assert_eq!(identify(&first[..16], 7, 100), Seen::Before);
        assert_eq!(identify_start(first, 7), None, "it is no first one");
        fill(&mut bytes, 7, 0, 42);
        assert_eq!([identify_start(&bytes[..40], 7), identify_start(&bytes, 8)], [Some(42), None]);
        assert_eq!([identify_start(&bytes[..39], 7), identify_start(&bytes[8..], 7)], [None; 2]);
    }

    #[test]
    fn what_landed_last_is_there_and_a_part_is_a_part() {
        let mut log = Log::default();
        log.write(Write { at: 0, sectors: 4, through: false });
        log.write(Write { at: 2, sectors: 4, through: false });
        let [one, other] = [Seen::Write(0), Seen::Write(1)];
        assert_eq!(rebuild_all(&log, 6), [one, one, other, other, other, other]);
        let part = [Landed { write: 1, first: 1, sectors: 2 }];
        let before = Seen::Before;
        assert_eq!(rebuild(&log, &part, 6), [before, before, before, other, other, before]);
    }
}
