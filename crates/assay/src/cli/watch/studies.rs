//! A running study of this user, found by its bundle.

use std::path::PathBuf;

use crate::store::progress::{StudyProgress, WatchedStudy};
use assay_machine::system::{System, identity};
use assay_study::results::bundle;

/// Time between searches, in nanoseconds.
const SEARCH_NS: u64 = 5_000_000_000;
/// Newest results that are checked for a running one.
const NEWEST: usize = 8;

/// Searches for a study, and then follows it.
pub struct Studies {
    results: Vec<PathBuf>,
    watched: Option<WatchedStudy>,
    searched_ns: Option<u64>,
}

impl Studies {
    pub fn new(system: &dyn System) -> Self {
        let results = identity::results_directories(system).unwrap_or_default();
        Self { results, watched: None, searched_ns: None }
    }

    pub fn update(&mut self, system: &dyn System) -> Option<StudyProgress> {
        if self.watched.is_none() {
            self.watched = self.search(system);
        }
        let watched = self.watched.as_mut()?;
        watched.update(system);
        let progress = watched.progress(system);
        if !progress.running {
            self.watched = None;
            return None;
        }
        Some(progress)
    }

    fn search(&mut self, system: &dyn System) -> Option<WatchedStudy> {
        let now_ns = system.monotonic_ns();
        if self.searched_ns.is_some_and(|then_ns| now_ns.saturating_sub(then_ns) < SEARCH_NS) {
            return None;
        }
        self.searched_ns = Some(now_ns);
        for results in &self.results {
            // Names sort by time; opens only the newest.
            let mut names = system.list(results).unwrap_or_default();
            names.sort_unstable_by(|one, other| other.cmp(one));
            for id in names.into_iter().take(NEWEST) {
                let directory = results.join(id);
                if bundle::is_running(system, &directory)
                    && let Ok(watched) = WatchedStudy::new(system, &directory)
                    && !watched.is_recording()
                {
                    return Some(watched);
                }
            }
        }
        None
    }
}
