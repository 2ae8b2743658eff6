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
    pub sync_ns: u64,
    /// Files that were not accessed because its share of the time was over.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub left: u64,
}

impl FilesDetail {
    /// Files per second in a phase.
    pub fn rate(&self, act: FileAct) -> Result<f64, String> {
        match self.phases.iter().find(|phase| phase.act == act) {
            Some(phase) if phase.operations > 0 && phase.elapsed_ns > 0 => {
                Ok(1e9 / (phase.elapsed_ns as f64 / phase.operations as f64))
            }
            _ => Err(format!("the phase {} processed no file", act.name())),
        }
    }

    /// Files per second through all phases, weighted by the time per file.
    pub fn through_all(&self) -> Result<f64, String> {
        let mut file_s = 0.0;
        for act in FileAct::ALL {
            file_s += 1.0 / self.rate(act)?;
        }
        Ok(1.0 / file_s)
    }
}

impl Counts for FilesDetail {
    fn operations(&self) -> u64 {
        self.phases.iter().fold(0, |sum, phase| sum.saturating_add(phase.operations))
    }
}
