//! Counters of small files besides those of all work.

use assay_load::FileAct;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesDetail {
    pub phases: Vec<FilePhase>,
    /// For `drop_caches`: cached bytes of files before and after, of the trial with the largest rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied_bytes: Option<[u64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePhase {
    pub act: FileAct,
    pub operations: u64,
    pub bytes: u64,
    /// Duration including its sync, nanoseconds.
    pub elapsed_ns: u64,
    /// Time of the sync, nanoseconds.
    pub sync_ns: u64,
    /// Files that were not accessed because its share of the time was over.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub left: u64,
}

impl FilePhase {
    fn each_ns(&self) -> Result<f64, String> {
        if self.operations == 0 || self.elapsed_ns == 0 {
            return Err(format!("the phase {} processed no file", self.act.name()));
        }
        Ok(self.elapsed_ns as f64 / self.operations as f64)
    }
}

impl FilesDetail {
    pub fn rate(&self, act: FileAct) -> Result<f64, String> {
        let phase = self.phases.iter().find(|phase| phase.act == act);
        let phase = phase.ok_or_else(|| format!("the phase {} processed no file", act.name()))?;
        phase.each_ns().map(|ns| 1e9 / ns)
    }

    /// Files per second through all phases, weighted by the time per file.
    pub fn through_all(&self) -> Result<f64, String> {
        let each: Result<Vec<f64>, String> =
            FileAct::ALL.into_iter().map(|act| self.rate(act)).collect();
        Ok(1.0 / each?.into_iter().map(|rate| 1.0 / rate).sum::<f64>())
    }
}

impl Counts for FilesDetail {
    fn operations(&self) -> u64 {
        self.phases.iter().fold(0, |sum, phase| sum.saturating_add(phase.operations))
    }
}
