//! Small files: a tree is created, listed, read, renamed and deleted, each as a separate phase.

mod detail;
mod metrics;
mod parameters;
mod planned;
mod run;
#[cfg(test)]
mod tests;
mod tree_cut;

use assay_core::catalogue::About;
use assay_core::quantity::{Bytes, Metric, Time};

pub use assay_load::{FileAct, FileSync, Pattern};

use super::keys::runtime;
use super::place::{Offer, Run};
use super::tell::OwnRule;
use super::workload::{Basis, Complaints, InStudy, Needs, WorkloadKind, WorkloadSpec};
use super::{PlannedWork as _, Work, io};

pub use detail::{FilePhase, FilesDetail};
pub use metrics::{ActMetrics, FILES, acts, rate};
pub use parameters::FilesSpec;
pub use planned::FilesPlan;

/// A quick check uses this fraction of the files.
const QUICK_SHARE: u32 = 10;
/// Default time limit of a trial.
const BOUND: Time = Time(20_000_000_000);
const QUICK_BOUND: Time = Time(2_000_000_000);

impl FilesSpec {
    pub fn planned(&self) -> FilesPlan {
        FilesPlan {
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

    /// Explains why the keys do not fit together, if they do not.
    fn obstacle(&self) -> Option<String> {
        if matches!(self.pattern, Pattern::Spaced | Pattern::Stride) {
            return Some(format!(
                "files support pattern sequential or random, not {}",
                self.pattern.name()
            ));
        }
        for (count, what) in [(self.threads, "threads"), (self.directories, "directories")] {
            if count > self.files {
                let files = self.files;
                return Some(format!("{count} {what} need at least {count} files, not {files}"));
            }
        }
        None
    }
}

impl WorkloadKind for FilesSpec {
    const ABOUT: About = About {
        name: "files",
        summary: "small files: create, stat, read, rename and delete in a directory tree",
        text: "Assay creates a directory tree in a new directory, then creates, stats, reads, renames and deletes its \
               files. Each step is a separate phase over all files, with its own rate and latencies. The trial's seed \
               determines names, order and contents; each thread has separate files. Unless fsync is set, a change \
               counts as complete after the filesystem sync at the end of its phase. The page cache serves reads of \
               the new files unless drop_caches is set. If a filesystem is too slow, Assay shrinks the tree or ends a \
               phase early, and reports this in the result. Assay removes the directory afterwards.",
    };
    const EXAMPLE: &'static str =
        "files = { files = 10000, directories = 100, file_size = \"4 KiB\" }";
    const METRICS: &'static [&'static [Metric]] = metrics::METRICS;
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Medium];
    const RULES: &'static [OwnRule] = &[tree_cut::TREE_CUT];
}

impl WorkloadSpec for FilesSpec {
    fn words(&self) -> String {
        self.planned().words()
    }

    fn needs(&self) -> Needs {
        Needs::Directory
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        // Varied values are checked under each arm.
        let varies = ["files", "threads", "directories", "pattern"]
            .into_iter()
            .any(|name| study.factors.contains_key(name));
        if let Some(obstacle) = self.obstacle().filter(|_| !varies) {
            to.key(path, obstacle, None);
        }
    }

    runtime!();

    fn settle(&mut self) {
        self.runtime = self.runtime.or(Some(BOUND));
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        let files = (self.files / QUICK_SHARE).max(self.threads).max(1);
        self.directories = (self.directories / QUICK_SHARE).clamp(1, files);
        self.files = files;
        self.runtime = Some(self.runtime.map_or(QUICK_BOUND, |runtime| runtime.min(QUICK_BOUND)));
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        if offer.engine.name == io::Engine::Simulated {
            return Err("a simulated drive has no files".to_owned());
        }
        self.obstacle().map_or_else(|| Ok((self.planned().into(), None)), Err)
    }

    /// A small tree, then larger ones until the cost per file is measurable.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        run::pilot(&self.planned(), run)
    }

    fn costs_like(&self, other: &Work) -> bool {
        let shape = |spec: &Self| FilesPlan { files: 0, directories: 0, ..spec.planned() };
        Self::of(other).is_some_and(|other| shape(other) == shape(self))
    }
}
