//! What is measured of small files: a rate of the whole, and a rate and two latencies of each phase.

use assay_core::quantity::metric::metric;
use assay_core::quantity::{Better, Metric};
use assay_load::FileAct;

pub struct Of {
    pub act: FileAct,
    pub rate: Metric,
    /// What half of the files stay below.
    pub half: Metric,
    /// What all but one in a hundred stay below.
    pub tail: Metric,
}

pub const FILES: Metric = metric(
    "files_per_s",
    Better::Higher,
    "files per second",
    "files per second through all phases (create, stat, read, rename and delete), including syncs",
);

const fn files(name: &'static str, noun: &'static str, summary: &'static str) -> Metric {
    metric(name, Better::Higher, noun, summary)
}

const fn time(name: &'static str, noun: &'static str, summary: &'static str) -> Metric {
    metric(name, Better::Lower, noun, summary)
}

const CREATE: Of = Of {
    act: FileAct::Create,
    rate: files("create_per_s", "files created per second", "files created and written per second")
        .of_writes(),
    half: time("create_p50_ns", "median time to create", "median time to create and write a file")
        .of_writes(),
    tail: time("create_p99_ns", "p99 time to create", "p99 time to create and write a file")
        .of_writes(),
};

const STAT: Of = Of {
    act: FileAct::Stat,
    rate: files("stat_per_s", "stat calls per second", "stat calls per second").of_reads(),
    half: time("stat_p50_ns", "median time to stat", "median time to stat a file").of_reads(),
    tail: time("stat_p99_ns", "p99 time to stat", "p99 time to stat a file").of_reads(),
};

const READ: Of = Of {
    act: FileAct::Read,
    rate: files("read_per_s", "files read per second", "files opened, read and closed per second")
        .of_reads(),
    half: time("read_p50_ns", "median time to read", "median time to open, read and close a file")
        .of_reads(),
    tail: time("read_p99_ns", "p99 time to read", "p99 time to open, read and close a file")
        .of_reads(),
};

const RENAME: Of = Of {
    act: FileAct::Rename,
    rate: files("rename_per_s", "files renamed per second", "files renamed per second").of_writes(),
    half: time("rename_p50_ns", "median time to rename", "median time to rename a file")
        .of_writes(),
    tail: time("rename_p99_ns", "p99 time to rename", "p99 time to rename a file").of_writes(),
};

const DELETE: Of = Of {
    act: FileAct::Delete,
    rate: files("delete_per_s", "files deleted per second", "files deleted per second").of_writes(),
    half: time("delete_p50_ns", "median time to delete", "median time to delete a file")
        .of_writes(),
    tail: time("delete_p99_ns", "p99 time to delete", "p99 time to delete a file").of_writes(),
};

const ALL: [Of; 5] = [CREATE, STAT, READ, RENAME, DELETE];

pub(super) const METRICS: &[Metric] = &[
    FILES,
    CREATE.rate,
    STAT.rate,
    READ.rate,
    RENAME.rate,
    DELETE.rate,
    CREATE.half,
    CREATE.tail,
    STAT.half,
    STAT.tail,
    READ.half,
    READ.tail,
    RENAME.half,
    RENAME.tail,
    DELETE.half,
    DELETE.tail,
];

pub fn of() -> impl Iterator<Item = Of> {
    ALL.into_iter()
}

pub fn rate(metric: &str) -> Option<FileAct> {
    of().find(|one| one.rate.name == metric).map(|one| one.act)
}
