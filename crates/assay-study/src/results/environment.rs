//! The machine and the targets as they were when the study ran (`environment.json`).

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
        // Grouped by drive: file systems of a factor share it.
        let mut places: Vec<(String, Vec<String>)> = Vec::new();
        for site in &self.sites {
            let drives = site.drives.iter().map(|drive| drive.model.value().unwrap_or(&drive.name));
            let drives: Vec<String> = drives.cloned().collect();
            // If no drive is known, use the target from the command line.
            let place = if drives.is_empty() { site.target.clone() } else { drives.join(", ") };
            let filesystem = (site.mount.value().is_some() && !site.drives.is_empty())
                .then(|| site.filesystem());
            let at = places.iter().position(|(known, _)| *known == place).unwrap_or_else(|| {
                places.push((place, Vec::new()));
                places.len() - 1
            });
            let known = &mut places[at].1;
            known.extend(filesystem.filter(|filesystem| !known.contains(filesystem)));
        }
        let describe = |(place, filesystems): (String, Vec<String>)| match filesystems.as_slice() {
            [] => place,
            [one] => format!("{place}, {one}"),
            many => format!("{place}: {}", many.join(", ")),
        };
        places.into_iter().map(describe).collect()
    }
}
