//! Cached pages of the area: from `cachestat`, or otherwise `mincore`.

use std::fs::File;
use std::ops::Range;

use crate::system::site::TargetKind;
use crate::system::{CachedPages, System};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{
    Entry, Moment, Presentation, Probe, SIMULATED, Scene, Unit, field, not_recorded,
};

pub static PROBE: Entry = Entry {
    about: About {
        name: "page-cache",
        summary: "the share of the test area in the page cache",
        text: "Queries how many pages of the test area are in the page cache, before the idle gap and after write-back \
               completes. Uses cachestat, or mincore if cachestat is unavailable (Linux before 6.5, overlay). Provides \
               no metrics; rule `cached` uses the values. Cost: microseconds with cachestat; mincore checks every page \
               of the area. Needs a file; the probe does not work with block devices.",
    },
    fields: &[
        field("before.cached", Unit::Count, "cached pages of the area before the idle gap"),
        field("before.of", Unit::Count, "total pages of the area"),
        field("after.cached", Unit::Count, "cached pages of the area at the end"),
        field("after.of", Unit::Count, "total pages of the area"),
    ],
    rules: &["cached"],
    presentation: Presentation::Tailored,
    here: None,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheObservation {
    #[serde(default = "not_recorded")]
    pub before: Presence<CachedPages>,
    #[serde(default = "not_recorded")]
    pub after: Presence<CachedPages>,
}

#[derive(Default)]
pub struct PageCache {
    before: Option<Presence<CachedPages>>,
    after: Option<Presence<CachedPages>>,
}

impl Probe for PageCache {
    type Observed = CacheObservation;
    const MOMENTS: &'static [Moment] = &[Moment::BeforeRest, Moment::Last];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        let pages = Some(count(scene));
        if moment.is_before() { self.before = pages } else { self.after = pages }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<CacheObservation> {
        match (self.before.take(), self.after.take()) {
            (Some(before), Some(after)) => Presence::Present(CacheObservation { before, after }),
            _ => Presence::absent("Assay could not count the pages each time"),
        }
    }

    fn nothing(reason: &str) -> Presence<CacheObservation> {
        Presence::absent(reason)
    }
}

pub fn count(scene: &Scene<'_>) -> Presence<CachedPages> {
    match &scene.file {
        Some((file, range)) if scene.site.kind != TargetKind::Device => {
            read(scene.system, file, range.clone(), &scene.site.filesystem())
        }
        Some(_) => Presence::absent("Assay does not check the pages of a block device"),
        None if scene.is_simulated() => Presence::absent(SIMULATED),
        None => Presence::absent("the workload has no test area"),
    }
}

/// Cached pages of a range. On overlay it uses `mincore`, because `cachestat` sees an empty mapping there.
fn read(system: &dyn System, file: &File, range: Range<u64>, fs: &str) -> Presence<CachedPages> {
    let by_mapping = || system.resident_pages(file, range.clone());
    let pages = if fs == "overlay" {
        by_mapping()
    } else {
        system.cached_pages(file, range.clone()).or_else(|_| by_mapping())
    };
    match pages {
        Ok(pages) => Presence::Present(pages),
        Err(error) => Presence::absent(format!("neither cachestat nor mincore works: {error}")),
    }
}
