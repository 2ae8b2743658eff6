//! Levels in the order in which they are to be told.

use std::cmp::Ordering;

use assay_core::quantity::level_number;

/// Numbers and sizes by size, others by name; as positions in what was given.
pub(super) fn in_order(names: &[String]) -> Vec<usize> {
    let mut levels: Vec<usize> = (0..names.len()).collect();
    let sizes: Option<Vec<f64>> = names.iter().map(|level| level_number(level)).collect();
    levels.sort_by(|&one, &other| {
        let by_size = sizes.as_ref().map(|sizes| sizes[one].total_cmp(&sizes[other]));
        by_size.unwrap_or(Ordering::Equal).then_with(|| names[one].cmp(&names[other]))
    });
    levels
}
