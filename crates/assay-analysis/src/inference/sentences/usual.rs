//! Workloads that an owner knows of, by what they do and not by what they are called.

use assay_workloads::io::Pattern;

use super::super::facts;
use super::super::rows::WorkloadTrials;

const SMALL: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usual {
    RandomRead,
    RandomWrite,
    Commit,
    SequentialRead,
    SequentialWrite,
}

pub(super) fn usual(row: &WorkloadTrials<'_>) -> Option<Usual> {
    // What starts by a clock or rests has not the rate of the drive; of several sizes there is no usual one.
    let io =
        facts::io(row.workload).filter(|io| !io.rate_limited && !io.shaped && !io.partly_synced)?;
    let single = io.size_bytes == SMALL && row.workload.work.asked_in_flight() == 1;
    match (io.pattern, io.only_reads(), io.only_writes()) {
        (Pattern::Sequential, true, _) => Some(Usual::SequentialRead),
        (Pattern::Sequential, _, true) if !io.data_sync => Some(Usual::SequentialWrite),
        (Pattern::Random, true, _) if single => Some(Usual::RandomRead),
        (_, _, true) if single && io.data_sync => Some(Usual::Commit),
        (Pattern::Random, _, true) if single => Some(Usual::RandomWrite),
        _ => None,
    }
}
