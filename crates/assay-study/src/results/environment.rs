//! The machine and the targets as they were when the study ran (`environment.json`).

use assay_core::exhibit::parts::{distinct, parted};
use assay_machine::system::machine::Machine;
use assay_machine::system::site::Site;
use serde::{Deserialize, Serialize};

use super::fleet::Fleet;
use super::surroundings::Surroundings;

pub const FORMAT: &str = "assay-environment/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub format: String,
    pub assay: String,
    pub started: String,
    pub machine: Machine,
    /// One entry a target, in the order of the study.
    pub sites: Vec<Site>,
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// Activity of this process during the trials, in one sentence; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

impl Environment {
    /// Drives and file system of each target in a few words, each once: `Example SSD, ext4`.
    pub fn drives(&self) -> Vec<String> {
        let drives_of = |site: &Site| {
            let models = site.drives.iter().map(|drive| drive.model.value().unwrap_or(&drive.name));
            let models: Vec<String> = models.cloned().collect();
            // If no drive is known, use the target from the command line.
            if models.is_empty() { site.target.clone() } else { models.join(", ") }
        };
        let describe = |(drives, sites): (String, Vec<&Site>)| {
            let is_mounted =
                |site: &&&Site| site.mount.value().is_some() && !site.drives.is_empty();
            let mounted = sites.iter().filter(is_mounted);
            match distinct(mounted.map(|site| site.filesystem())).as_slice() {
                [] => drives,
                [one] => format!("{drives}, {one}"),
                many => format!("{drives}: {}", many.join(", ")),
            }
        };
        // The filesystems of a factor share their drives.
        parted(&self.sites, drives_of).into_iter().map(describe).collect()
    }
}
