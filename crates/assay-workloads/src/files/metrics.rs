//! Metrics of small files: a total rate, and a rate and two latencies per phase.

use crate::metrics::{higher, lower};
use assay_core::quantity::Metric;
use assay_load::FileAct;

pub struct ActMetrics {
    pub act: FileAct,
    pub rate: Metric,
    /// Median latency per file.
    pub half: Metric,
    /// p99 latency per file.
    pub tail: Metric,
}

pub const FILES: Metric = higher(
    "files_per_s",
    "files per second",
    "files per second through all phases (create, stat, read, rename and delete), including syncs",
);

const CREATE: ActMetrics = ActMetrics {
    act: FileAct::Create,
    rate: higher(
        "create_per_s",
        "files created per second",
        "files created and written per second",
    )
    .of_writes(),
    half: lower("create_p50_ns", "median time to create", "median time to create and write a file")
        .of_writes(),
    tail: lower("create_p99_ns", "p99 time to create", "p99 time to create and write a file")
        .of_writes(),
};

const STAT: ActMetrics = ActMetrics {
    act: FileAct::Stat,
    rate: higher("stat_per_s", "stat calls per second", "stat calls per second").of_reads(),
    half: lower("stat_p50_ns", "median time to stat", "median time to stat a file").of_reads(),
    tail: lower("stat_p99_ns", "p99 time to stat", "p99 time to stat a file").of_reads(),
};

const READ: ActMetrics = ActMetrics {
    act: FileAct::Read,
    rate: higher("read_per_s", "files read per second", "files opened, read and closed per second")
        .of_reads(),
    half: lower("read_p50_ns", "median time to read", "median time to open, read and close a file")
        .of_reads(),
    tail: lower("read_p99_ns", "p99 time to read", "p99 time to open, read and close a file")
        .of_reads(),
};

const RENAME: ActMetrics = ActMetrics {
    act: FileAct::Rename,
    rate: higher("rename_per_s", "files renamed per second", "files renamed per second")
        .of_writes(),
    half: lower("rename_p50_ns", "median time to rename", "median time to rename a file")
        .of_writes(),
    tail: lower("rename_p99_ns", "p99 time to rename", "p99 time to rename a file").of_writes(),
};

const DELETE: ActMetrics = ActMetrics {
    act: FileAct::Delete,
    rate: higher("delete_per_s", "files deleted per second", "files deleted per second")
        .of_writes(),
    half: lower("delete_p50_ns", "median time to delete", "median time to delete a file")
        .of_writes(),
    tail: lower("delete_p99_ns", "p99 time to delete", "p99 time to delete a file").of_writes(),
};

const ALL: [ActMetrics; 5] = [CREATE, STAT, READ, RENAME, DELETE];

pub(super) const METRICS: &[&[Metric]] = &[
    &[FILES, CREATE.rate, STAT.rate, READ.rate, RENAME.rate, DELETE.rate],
    &[CREATE.half, CREATE.tail, STAT.half, STAT.tail, READ.half, READ.tail],
    &[RENAME.half, RENAME.tail, DELETE.half, DELETE.tail],
];

pub fn acts() -> impl Iterator<Item = ActMetrics> {
    ALL.into_iter()
}

pub fn rate(metric: &str) -> Option<FileAct> {
    acts().find(|of_act| of_act.rate.name == metric).map(|of_act| of_act.act)
}
