//! Small files as they will be gone through.

use assay_core::{quantity::Bytes, quantity::units::show};
use assay_load::FileJob;
use serde::{Deserialize, Serialize};

use super::{FILES, FileSync, FilesDetail, Pattern, rate, run};
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

/// bonnie++ counts files in thousands of this kind.
const BONNIE_UNIT: u32 = 1024;

const NOT_SAID: &[&str] = &[
    "bonnie++ prints only the maximum latency, and no rates for phases under half a second",
    "bonnie++ does not measure renames, or stat separately from reads",
    "bonnie++ syncs all filesystems (sync), not only the measured one",
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesPlan {
    pub files: u32,
    pub directories: u32,
    pub levels: u32,
    pub size_bytes: u32,
    pub pattern: Pattern,
    pub threads: u32,
    pub fsync: FileSync,
    /// With an empty page cache before each phase but the first.
    pub cold: bool,
}

impl FilesPlan {
    pub(super) fn job(&self, seed: u64) -> FileJob {
        FileJob {
            files: self.files,
            directories: self.directories,
            depth: self.levels,
            size_bytes: self.size_bytes,
            pattern: self.pattern,
            threads: self.threads,
            sync: self.fsync,
            seed,
        }
    }

    /// The same work on fewer files, as many to a directory.
    #[must_use]
    pub(super) fn with_files(&self, files: u32) -> Self {
        let files = files.max(self.threads).max(1);
        let scaled = u64::from(self.directories) * u64::from(files) / u64::from(self.files.max(1));
        Self { files, directories: (scaled as u32).clamp(1, files), ..self.clone() }
    }

    /// `10,000 files of 4 KiB in 100 directories`.
    pub(super) fn files_words(&self) -> String {
        let number = |amount: u32| show::count(u64::from(amount));
        let files = if self.files == 1 { "file" } else { "files" };
        let size = match self.size_bytes {
            0 => format!("empty {files}"),
            size => format!("{files} of {}", Bytes(u64::from(size))),
        };
        let plural = if self.directories == 1 { "directory" } else { "directories" };
        format!("{} {size} in {} {plural}", number(self.files), number(self.directories))
    }
}

impl PlannedWork for FilesPlan {
    fn words(&self) -> String {
        let levels = (self.levels > 1).then(|| format!(", {} levels deep", self.levels));
        let threads = (self.threads > 1).then(|| format!(" by {} threads", self.threads));
        let order = match self.pattern {
            Pattern::Sequential => "in creation order",
            Pattern::Random | Pattern::Stride | Pattern::Spaced => "in random order",
        };
        let sync = match self.fsync {
            FileSync::None => "no sync",
            FileSync::EachPhase => "synced after each phase",
            FileSync::EachFile => "each file synced after writing",
        };
        let cache = if self.cold { "page cache dropped before each phase" } else { "cached" };
        format!(
            "{}{}: create, stat, read, rename and delete{} {order}; {sync}; {cache}",
            self.files_words(),
            levels.unwrap_or_default(),
            threads.unwrap_or_default()
        )
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        run::run(self, run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = FilesDetail::of(measured)?;
        if metric == FILES.name {
            return Some(detail.through_all());
        }
        rate(metric).map(|act| detail.rate(act)).or_else(|| measured.value(metric))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        FILES.name
    }

    fn operations(&self) -> Option<u64> {
        Some(u64::from(self.files))
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        Some(self.with_files(self.files.div_ceil(2)).into())
    }

    fn asked_in_flight(&self) -> u32 {
        self.threads
    }

    fn in_flight(&self) -> u32 {
        self.threads
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn drain_within(
        &mut self,
        operation_ns: u64,
        trial_ns: u64,
        is_level: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        let most_files = (trial_ns / operation_ns.max(1)).clamp(1, u64::from(u32::MAX)) as u32;
        if self.files <= most_files {
            return None;
        }
        let cost = show::duration(operation_ns as f64);
        let asked = self.files_words();
        if ["files", "directories"].into_iter().any(is_level) {
            return Some(format!(
                "{asked}: each file takes {cost}, so a phase may end before it has processed all files"
            ));
        }
        *self = self.with_files(most_files);
        Some(format!("{} instead of {asked}, because each file takes {cost}", self.files_words()))
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let thousands = self.files.div_ceil(BONNIE_UNIT);
        let tree =
            format!("{thousands}:{size}:{size}:{}", self.directories, size = self.size_bytes);
        let words = ["bonnie++", "-q", "-d", how.path, "-s", "0", "-n", &tree];
        let mut words = words.map(str::to_owned).to_vec();
        words.extend((self.fsync == FileSync::EachFile).then(|| "-b".to_owned()));
        let files = show::count(u64::from(thousands) * u64::from(BONNIE_UNIT));
        let mut remarks = vec![format!("as root, add -u root; bonnie++ uses {files} files")];
        if self.threads > 1 {
            remarks.push("bonnie++ uses one thread".to_owned());
        }
        if self.levels > 1 {
            remarks.push("bonnie++ creates all directories at one level".to_owned());
        }
        if self.cold {
            remarks.push("bonnie++ does not drop the page cache between phases".to_owned());
        }
        ManualCommand { words, remarks }
    }

    fn not_said(&self) -> &'static [&'static str] {
        NOT_SAID
    }
}
