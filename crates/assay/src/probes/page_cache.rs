//! Pages of the area in the page cache: `cachestat` where it tells, `mincore` where it does not.

use std::fs::File;
use std::ops::Range;

use crate::seen::Seen;
use crate::system::{CachedPages, System};

/// Cached pages of a range. On overlay `cachestat` looks at the upper file's empty mapping and
/// answers 0, so there `mincore` is asked, which maps what lies below.
pub fn read(
    system: &dyn System,
    file: &File,
    range: Range<u64>,
    filesystem: &str,
) -> Seen<CachedPages> {
    let by_mapping = || system.resident_pages(file, range.clone());
    let found = if filesystem == "overlay" {
        by_mapping()
    } else {
        system.cached_pages(file, range.clone()).or_else(|_| by_mapping())
    };
    match found {
        Ok(pages) => Seen::Present(pages),
        Err(error) => Seen::absent(format!("neither cachestat nor mincore tells: {error}")),
    }
}
