//! Retries wrong blocks before they count, and searches the border where they begin.

use super::probe::{BlockSurvey, Pass};
use super::{BLOCK_BYTES, LARGEST_SPACER, PIECE_BYTES, Seen, SeenCounts, WrongBlock};

const PIECE_BLOCKS: u64 = PIECE_BYTES / BLOCK_BYTES;
const MOST_RETRIED: usize = 32;
/// Maximum number of wrong blocks in the report.
const MOST_REPORTED: usize = 8;
/// The spacer of the border search, which has several rounds.
const SMALL_SPACER: u64 = 16 << 20;
const PLACES_PER_ROUND: u64 = 64;
/// If more than one in this many blocks beyond the first wrong one is good, there is no border.
const GOOD_PART: u64 = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Confirmed {
    pub counts: SeenCounts,
    pub wrong: Vec<WrongBlock>,
    /// Real capacity; `None` if no border shows it.
    pub held_blocks: Option<u64>,
}

/// Generation of the retried blocks.
const RETRY: u32 = 2;

/// Writes some of the wrong blocks again, then at most `zone` others that displace them from caches, and reads the
/// former. If all blocks were checked (`is_full`), the number of good ones is the capacity.
pub(super) fn confirm(
    pass: &mut Pass<'_>,
    survey: &BlockSurvey,
    blocks: u64,
    zone: u64,
    is_full: bool,
) -> Confirmed {
    let chosen = rewrite_wrong_blocks(pass, survey, blocks);
    // The spacer must not overwrite the chosen blocks: it goes before or after them.
    let length = zone.min(LARGEST_SPACER / BLOCK_BYTES);
    let fits_before = chosen.first().is_some_and(|first| *first >= length);
    let start = if fits_before { 0 } else { chosen.last().map_or(0, |last| last + 1) };
    pass.write_stretch(start, length.min(blocks.saturating_sub(start)), RETRY);
    pass.settle();
    let mut confirmed = Confirmed::default();
    for block in &chosen {
        let seen = pass.read_one(*block, RETRY);
        confirmed.counts.add(seen);
        if seen != Seen::AsWritten && confirmed.wrong.len() < MOST_REPORTED {
            confirmed.wrong.push(WrongBlock { at_bytes: block * BLOCK_BYTES, seen });
        }
    }
    if confirmed.counts.wrong() == 0 {
        return confirmed;
    }
    // Unless good blocks are scattered among the lost ones, the real capacity ends at one border.
    let may_have_border =
        confirmed.counts.other == 0 && survey.good_beyond * GOOD_PART <= survey.beyond;
    if is_full {
        confirmed.held_blocks = Some(survey.counts.as_written);
    } else if may_have_border {
        confirmed.held_blocks = Some(find_border(pass, survey, zone));
    }
    confirmed
}

/// Writes the first wrong blocks again, then the blocks whose data was found in them; returns the former.
fn rewrite_wrong_blocks(pass: &mut Pass<'_>, survey: &BlockSurvey, blocks: u64) -> Vec<u64> {
    let wrong = &survey.wrong[..survey.wrong.len().min(MOST_RETRIED)];
    let chosen: Vec<u64> = wrong.iter().map(|wrong| wrong.at_bytes / BLOCK_BYTES).collect();
    for block in &chosen {
        pass.write_again(*block, 1, RETRY);
    }
    for wrong in wrong {
        // If addresses wrap, this write is the last one to the same physical block.
        if let Seen::Other { of_bytes, .. } = wrong.seen
            && !chosen.contains(&(of_bytes / BLOCK_BYTES))
            && of_bytes / BLOCK_BYTES < blocks
        {
            pass.write_again(of_bytes / BLOCK_BYTES, 1, RETRY);
        }
    }
    pass.settle();
    chosen
}

/// Searches the first lost block: each round tries evenly spaced blocks between the last good and the first wrong one.
fn find_border(pass: &mut Pass<'_>, survey: &BlockSurvey, zone: u64) -> u64 {
    let mut first_unknown = survey.good_before.map_or(0, |good| good + 1);
    let mut first_wrong = survey.first_wrong.unwrap_or(first_unknown);
    // Each write has a new generation, so a block that retains an earlier write is wrong.
    let mut generation = RETRY;
    // If the drive keeps first writes and loses rewrites, only a second write shows the loss.
    let writes = if survey.counts.older > 0 { 2 } else { 1 };
    while first_unknown < first_wrong && !pass.is_stopped() {
        let step = (first_wrong - first_unknown).div_ceil(PLACES_PER_ROUND);
        let tried: Vec<u64> = (first_unknown..first_wrong).step_by(step as usize).collect();
        for _ in 0..writes {
            generation += 1;
            for block in &tried {
                pass.write_again(*block, 1, generation);
            }
            pass.settle();
        }
        // The spacer must not overwrite the tried blocks.
        let spacer = (SMALL_SPACER / BLOCK_BYTES).min(zone).min(first_unknown);
        pass.write_stretch(0, spacer / PIECE_BLOCKS * PIECE_BLOCKS, generation);
        pass.settle();
        for block in tried {
            if pass.read_one(block, generation) != Seen::AsWritten {
                first_wrong = block;
                break;
            }
            first_unknown = block + 1;
        }
    }
    first_wrong
}
