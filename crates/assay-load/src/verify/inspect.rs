//! Evaluates the stamps on a medium, of any runs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::judge::{Fault, Stood, WrongData};
use super::marks::{FoundMarks, Written};
use super::pass::{BlockReader, Verified};
use super::stamp::{MOST_FLIPPED, SECTOR, SectorContent, WriteStamp, read_stamp};
use crate::{LoadError, Target, clock};

const PIECE_BYTES: u64 = 1 << 20;
const PAGE_BYTES: u64 = 4096;
/// Maximum number of distinguished runs: the newest, by their start.
const MOST_RUNS: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// Sectors of 512 bytes with its stamp.
    pub sectors: u64,
    pub written: Written,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// Results by sector: stamped ones are sound or wrong, the others are only read.
    pub verified: Verified,
    pub runs: Vec<FoundRun>,
}

#[derive(Default)]
struct SectorRun {
    sectors: u64,
    marks: FoundMarks,
}

/// Looks for wrong stamps in a range; older or missing writes are not detected.
pub fn inspect(
    range: &Range<u64>,
    target: &Target<'_>,
    stop: &AtomicBool,
) -> Result<Inspected, LoadError> {
    let began_ns = clock::monotonic_ns();
    let mut reader = BlockReader::new(target, PIECE_BYTES, range)?;
    let mut found = Verified { block_bytes: SECTOR as u64, ..Verified::default() };
    let mut runs: BTreeMap<(u64, u64), SectorRun> = BTreeMap::new();
    let mut at = range.start;
    while at < range.end {
        if stop.load(Ordering::Relaxed) {
            found.cut_short = true;
            break;
        }
        let end = range.end.min(at + PIECE_BYTES);
        if let Ok(bytes) = reader.read(at, (end - at) as usize) {
            inspect_sectors(bytes, at, &mut found, &mut runs);
        } else {
            // Reads each page separately: no drive loses less than a page.
            for page in (at..end).step_by(PAGE_BYTES as usize) {
                match reader.read(page, PAGE_BYTES.min(end - page) as usize) {
                    Ok(bytes) => inspect_sectors(bytes, page, &mut found, &mut runs),
                    Err(_) => found.blame(wrong_data(page, Fault::Unreadable, None)),
                }
            }
        }
        at = end;
    }
    found.elapsed_ns = clock::monotonic_ns().saturating_sub(began_ns);
    let runs = runs.into_iter().map(|((run, seed), sectors)| FoundRun {
        sectors: sectors.sectors,
        written: sectors.marks.finish(run, seed),
    });
    Ok(Inspected { verified: found, runs: runs.collect() })
}

/// Counts the sectors of a range that begins at `start`, by the runs of their stamps.
fn inspect_sectors(
    bytes: &[u8],
    start: u64,
    found: &mut Verified,
    runs: &mut BTreeMap<(u64, u64), SectorRun>,
) {
    for (sector, at) in bytes.chunks_exact(SECTOR).zip((start..).step_by(SECTOR)) {
        found.read += 1;
        let SectorContent::Stamped { stamp, wrong_bits } = read_stamp(sector) else { continue };
        let key = (stamp.run, stamp.seed);
        let run = runs.entry(key).or_default();
        run.sectors += 1;
        run.marks.add(&stamp);
        if runs.len() > MOST_RUNS {
            runs.pop_first();
        }
        match stamp_fault(&stamp, at, wrong_bits) {
            None => found.intact += 1,
            Some(fault) => {
                let wrong = wrong_data(at, fault, Some(&stamp));
                let bits = (fault == Fault::Flipped).then_some(wrong_bits);
                found.blame(WrongData { bits, ..wrong });
            }
        }
    }
}

/// Returns the fault of a stamped sector; `None` if it is sound.
fn stamp_fault(stamp: &WriteStamp, at: u64, wrong_bits: u32) -> Option<Fault> {
    if stamp.address != at {
        return Some(Fault::Misplaced);
    }
    match wrong_bits {
        0 => None,
        1..=MOST_FLIPPED => Some(Fault::Flipped),
        _ => Some(Fault::Torn),
    }
}

fn wrong_data(at_bytes: u64, fault: Fault, stamp: Option<&WriteStamp>) -> WrongData {
    let found = stamp.map(|stamp| Stood::new(stamp.generation, stamp.address));
    WrongData { at_bytes, fault, expected: None, found, bits: None }
}
