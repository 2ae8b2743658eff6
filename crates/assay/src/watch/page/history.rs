//! History of the last minutes: one character per reading, the latest at the right.

use super::{CYAN, Page, cut};
use crate::watch::words::{clock, rate};

/// Width of a line's heading.
pub(super) const HEAD: usize = 11;
const TAIL: usize = 23;

/// Returns a character for a share: a bar as high as the share, or its first decimal.
pub(super) fn level_char(share: f64, blocks: bool) -> char {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if blocks {
        return BLOCKS[((share * 7.0).round() as usize).min(7)];
    }
    char::from_digit(((share * 10.0) as u32).min(9), 10).unwrap_or('9')
}

/// Returns shares as characters, the latest at the right; each is the mean of several if they do not all fit.
pub(super) fn sparkline(shares: &[f64], columns: usize, blocks: bool) -> String {
    let columns = columns.max(1);
    let group_size = shares.len().div_ceil(columns).max(1);
    // Groups from the right, because the latest character covers as many readings as the others.
    let groups = shares.rchunks(group_size);
    let means = groups.map(|group| group.iter().sum::<f64>() / group.len() as f64);
    let latest_first: Vec<char> = means.map(|mean| level_char(mean, blocks)).collect();
    let sparkline: String = latest_first.into_iter().rev().collect();
    format!("{sparkline:>columns$}")
}

/// Returns the recent throughput of the shown disks, one line each, scaled to its maximum.
pub(super) fn disk_lines(
    page: &Page<'_>,
    shown: &[usize],
    selected: usize,
    width: usize,
    lines: usize,
) -> Vec<String> {
    let columns = width.saturating_sub(HEAD + TAIL + 1);
    let duration = clock(page.state.past_seconds().round() as u64);
    let disk_line = |disk: &usize| {
        let past = page.state.past_of_disk(*disk);
        let most = past.iter().copied().fold(0.0, f64::max);
        let shares: Vec<f64> = past.iter().map(|rate| rate / most.max(1.0)).collect();
        let name = format!(" {}", cut(&page.state.disks[*disk].name, HEAD - 2));
        let sparkline = page.tint(CYAN, &sparkline(&shares, columns, page.style.blocks));
        let tail = format!("{} top, {duration}", rate(most));
        format!("{name:<HEAD$}{sparkline} {tail:<TAIL$}")
    };
    // With space for one line, it shows the selected disk.
    let drawn = shown.iter().filter(|disk| lines > 1 || **disk == selected);
    drawn.take(lines).map(disk_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_is_at_the_right_and_many_become_means() {
        assert_eq!(sparkline(&[0.0, 1.0], 4, true), "  ▁█");
        assert_eq!(sparkline(&[0.0, 1.0, 1.0, 0.0, 0.0], 3, false), "090");
        assert_eq!(sparkline(&[], 2, true), "  ");
    }
}
