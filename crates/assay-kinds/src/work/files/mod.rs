//! Small files: a tree of them is created, looked at, read, renamed and deleted, each a phase of its own.

mod detail;
mod metrics;
mod parameters;
mod planned;
mod run;
#[cfg(test)]
mod tests;
mod tree_cut;

use assay_base::catalogue::About;
use assay_base::catalogue::keys::Fields;
use assay_base::quantity::{Bytes, Metric, Time};

pub use assay_load::{FileAct, FileSync, Pattern};

use super::kind::{self, Complaints, InStudy, Judged, Kind, Needs, OwnParameter, Touch};
use super::place::{Offer, Run};
use super::tell::OwnRule;
use super::{Work, io};

pub use detail::{Detail, Phase};
pub use metrics::{FILES, Of, of, rate};
pub use parameters::Asked;
pub use planned::Planned;

/// A quick look takes one in so many files.
const QUICK_SHARE: u32 = 10;
/// Time of a trial at most where neither the workload nor a budget sets one.
const BOUND: Time = Time(20_000_000_000);
/// The same of a quick look.
const QUICK_BOUND: Time = Time(2_000_000_000);

impl Asked {
    /// The same, as it will be run.
    pub fn planned(&self) -> Planned {
        Planned {
            files: self.files,
            directories: self.directories,
            levels: self.tree_depth,
            size_bytes: self.file_size.0 as u32,
            pattern: self.pattern,
            threads: self.threads,
            fsync: self.fsync,
            cold: self.drop_caches,
        }
    }

    /// Why no such tree can be.
    fn obstacle(&self) -> Option<String> {
        if matches!(self.pattern, Pattern::Spaced | Pattern::Stride) {
            return Some(format!(
                "files are accessed in sequential or random order, not {}",
                self.pattern.name()
            ));
        }
        let least = [(self.threads, "threads"), (self.directories, "directories")];
        least
            .into_iter()
            .find(|(number, _)| *number > self.files)
            .map(|(number, what)| format!("{number} {what} need as many files, not {}", self.files))
    }
}

impl Kind for Asked {
    const ABOUT: About = About {
        name: "files",
        summary: "small files: created, looked at, read, renamed and deleted in a tree",
        text: "In a directory that is made for it a tree of directories is made, and its files are \
               created, looked at (stat), read, renamed and deleted: one after the other for all files, \
               each a phase with a rate and latencies of its own. Names, orders and contents are drawn by \
               the trial's seed and lie in memory before; each thread has files of its own. A change \
               counts as done when the file system was synced after its phase, unless fsync says \
               otherwise. What is read was written a moment ago and comes from the page cache, unless cold \
               is said. Where a file system is too slow for the tree in the time of a trial, the tree is \
               made smaller, or a phase ends at its share of the time; the result says so. The directory \
               is gone afterwards.",
    };
    const KEYS: &'static Fields = &Fields { label: "files", rows: parameters::KEYS };
    const EXAMPLE: &'static str =
        "files = { files = 10000, directories = 100, file_size = \"4 KiB\" }";
    const PARAMETERS: &'static [OwnParameter<Self>] = parameters::FACTORS;
    const METRICS: &'static [&'static [Metric]] = &[metrics::METRICS];
    const JUDGED: &'static [Judged] = &[Judged::Machine, Judged::Medium];
    const RULES: &'static [OwnRule] = &[tree_cut::TREE_CUT];

    fn sample() -> Self {
        Self::some()
    }
}

impl kind::Asks for Asked {
    fn words(&self) -> String {
        self.planned().tree_words()
    }

    fn needs(&self) -> Needs {
        Needs::Directory
    }

    fn touches(&self) -> Touch {
        Touch::default()
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        // What varies is looked at under each arm.
        let varies = ["files", "threads", "directories", "pattern"]
            .into_iter()
            .any(|name| study.factors.contains_key(name));
        if let Some(obstacle) = self.obstacle().filter(|_| !varies) {
            to.key(path, obstacle, None);
        }
    }

    fn time(&self) -> Option<Time> {
        self.runtime
    }

    fn set_span(&mut self, time: Option<Time>, _: Option<Time>) {
        self.runtime = time;
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn settle(&mut self) {
        self.runtime = self.runtime.or(Some(BOUND));
    }

    fn hurry(&mut self, _: Option<Bytes>) {
        let files = (self.files / QUICK_SHARE).max(self.threads).max(1);
        self.directories = (self.directories / QUICK_SHARE).clamp(1, files);
        self.files = files;
        self.runtime = Some(self.runtime.map_or(QUICK_BOUND, |own| own.min(QUICK_BOUND)));
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::Planned, Option<String>), String> {
        if offer.engine.name == io::Engine::Simulated {
            return Err("a simulated drive has no files".to_owned());
        }
        self.obstacle().map_or_else(|| Ok((self.planned().into(), None)), Err)
    }

    /// A small tree, and larger ones until one says what a file costs.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        run::pilot(&self.planned(), run)
    }

    fn costs_like(&self, other: &Work) -> bool {
        let shape = |own: &Self| Planned { files: 0, directories: 0, ..own.planned() };
        Self::of(other).is_some_and(|other| shape(other) == shape(self))
    }
}
