//! Pages of the area in the page cache: `cachestat` where it tells, `mincore` where it does not.

use std::fs::File;
use std::ops::Range;

use super::Probe;
use crate::catalogue::About;
use crate::seen::Seen;
use crate::system::{CachedPages, System};

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "page-cache",
        summary: "how much of the area lies in memory",
        text: "Asks the kernel how many pages of the area are in the page cache, before the idle \
               gap and after everything written was on the device: by cachestat, and by mincore \
               where that does not tell (Linux before 6.5, overlay). Gives no metric: the rule \
               `cached` reads it. Costs microseconds by cachestat; mincore looks at every page of \
               the area. Needs a file: the pages of a block device are not looked at.",
    },
    metrics: &[],
};

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
