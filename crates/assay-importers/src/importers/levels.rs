//! Levels in the order in which they are to be told.

use std::cmp::Ordering;

use assay_base::quantity::Bytes;

use super::words::is_plain;

/// Numbers and sizes by size, others by name; as positions in what was given.
pub(super) fn in_order(names: &[String]) -> Vec<usize> {
    let mut levels: Vec<usize> = (0..names.len()).collect();
    let size = |level: &String| {
        let number = level.parse::<f64>().ok().filter(|_| is_plain(level));
        number.or_else(|| level.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
    };
    let sizes: Option<Vec<f64>> = names.iter().map(size).collect();
    levels.sort_by(|&one, &other| {
        let by_size = sizes.as_ref().map(|sizes| sizes[one].total_cmp(&sizes[other]));
        by_size.unwrap_or(Ordering::Equal).then_with(|| names[one].cmp(&names[other]))
    });
    levels
}
