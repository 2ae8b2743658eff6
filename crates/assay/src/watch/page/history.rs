//! History of the last minutes: one character per reading, the latest at the right.

use super::{CYAN, Page, cut};
use crate::watch::words::{clock, rate};

/// Width of a line's heading, the same as in the machine's lines.
const HEAD: usize = 11;
const TAIL: usize = 23;

pub(super) fn level(share: f64, blocks: bool) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if blocks {
        return BLOCKS[((share * 7.0).round() as usize).min(7)];
    }
    char::from_digit(((share * 10.0) as u32).min(9), 10).unwrap_or('9')
}

/// Returns shares as characters, the latest at the right; with more shares than columns, each shows the mean of
/// several.
pub(super) fn signs(shares: &[f64], columns: usize, blocks: bool) -> String {
    let columns = columns.max(1);
    let each = shares.len().div_ceil(columns).max(1);
    // The latest character covers as many readings as the others.
    let parts = shares.rchunks(each).map(|part| part.iter().sum::<f64>() / part.len() as f64);
    let mut signs: Vec<char> = parts.map(|share| level(share, blocks)).collect();
    signs.reverse();
    let signs: String = signs.into_iter().collect();
    format!("{signs:>columns$}")
}

/// Returns throughput of the shown disks, one line each, scaled to its maximum.
pub(super) fn of_disks(
    page: &Page<'_>,
    shown: &[usize],
    chosen: usize,
    wide: usize,
    lines: usize,
) -> Vec<String> {
    let columns = wide.saturating_sub(HEAD + TAIL + 1);
    let reach = clock(page.state.past_seconds().round() as u64);
    let line = |disk: &usize| {
        let past = page.state.past_of_disk(*disk);
        let most = past.iter().copied().fold(0.0, f64::max);
        let shares: Vec<f64> = past.iter().map(|value| value / most.max(1.0)).collect();
        let name = format!(" {}", cut(&page.state.disks[*disk].name, HEAD - 2));
        let signs = page.tint(CYAN, &signs(&shares, columns, page.looks.blocks));
        let tail = format!("{} top, {reach}", rate(most));
        format!("{name:<HEAD$}{signs} {tail:<TAIL$}")
    };
    // With space for one line, it shows the selected disk.
    let drawn = shown.iter().filter(|disk| lines > 1 || **disk == chosen);
    drawn.take(lines).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_is_at_the_right_and_many_become_means() {
        assert_eq!(signs(&[0.0, 1.0], 4, true), "  ▁█");
        assert_eq!(signs(&[0.0, 1.0, 1.0, 0.0, 0.0], 3, false), "090");
        assert_eq!(signs(&[], 2, true), "  ");
    }
}
