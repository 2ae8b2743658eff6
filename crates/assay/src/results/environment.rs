//! The machine and the targets as they were when the study ran (`environment.json`).

use serde::{Deserialize, Serialize};

use super::watched::Surroundings;
use crate::system::machine::Machine;
use crate::system::site::Site;

/// Format of `environment.json`.
pub const FORMAT: &str = "assay-environment/1";

/// The machine and what the targets stand on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Format and version.
    pub format: String,
    /// Version of the tool that measured.
    pub assay: String,
    /// When the study started, RFC 3339.
    pub started: String,
    /// The machine.
    pub machine: Machine,
    /// One entry a target, in the order of the study.
    pub sites: Vec<Site>,
    /// What was looked at once before and once after the trials.
    #[serde(default, skip_serializing_if = "Surroundings::is_empty")]
    pub surroundings: Surroundings,
    /// What of this process looked on while trials ran, one sentence; none where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observer: Option<String>,
}

impl Environment {
    /// Drives and file system of each target in a few words, each once: `Example SSD, ext4`.
    pub fn drives(&self) -> Vec<String> {
        let mut told: Vec<String> = Vec::new();
        for site in &self.sites {
            let drives = site.drives.iter().map(|drive| drive.model.value().unwrap_or(&drive.name));
            let mut words: Vec<String> = drives.cloned().collect();
            words.push(site.filesystem());
            // Where no drive is known, what the command line named says most.
            let words = if site.drives.is_empty() { site.target.clone() } else { words.join(", ") };
            if !told.contains(&words) {
                told.push(words);
            }
        }
        told
    }
}
