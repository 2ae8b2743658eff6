//! A short summary of a result for lists (`headline.json`), valid only for the same trials.

use std::path::Path;

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use serde::{Deserialize, Serialize};

use super::bundle;

const FORMAT: &str = "assay-headline/1";
const FILE: &str = "headline.json";
const TRIALS: &str = "trials.jsonl";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headline {
    /// Large numbers of a check, verdicts of a study.
    pub text: String,
    /// How far it can be trusted: `3 trusted, 4 suspect`.
    pub trust: String,
}

#[derive(Serialize, Deserialize)]
struct StoredHeadline {
    format: String,
    trials_bytes: u64,
    #[serde(flatten)]
    headline: Headline,
}

/// Stores the headline of a result. A failure costs only a line of a list.
pub fn keep(system: &dyn System, directory: &Path, headline: &Headline) -> Outcome<()> {
    let path = directory.join(FILE);
    let stored = StoredHeadline {
        format: FORMAT.to_owned(),
        trials_bytes: trials_bytes(system, directory),
        headline: headline.clone(),
    };
    let text = serde_json::to_string(&stored).unwrap_or_default() + "\n";
    system
        .write_whole(&path, text.as_bytes())
        .map_err(|error| Failure::refused(format!("{}: {error}", path.display())))
}

/// The headline of a result; `None` if it does not match the current trials.
pub fn read(system: &dyn System, directory: &Path) -> Option<Headline> {
    let stored: StoredHeadline = bundle::versioned(system, &directory.join(FILE), FORMAT).ok()?;
    let same = stored.trials_bytes == trials_bytes(system, directory);
    same.then_some(stored.headline)
}

fn trials_bytes(system: &dyn System, directory: &Path) -> u64 {
    system.status(&directory.join(TRIALS)).map_or(0, |status| status.size_bytes)
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    #[test]
    fn a_headline_counts_for_its_own_trials_only() {
        let fake = Fake::default();
        let directory = Path::new("/results/20261122-100000-0001");
        fake.put(directory.join(TRIALS), "one\n");
        assert_eq!(read(&fake, directory), None);
        let headline = Headline { text: "19 MiB/s".to_owned(), trust: "all 7 trusted".to_owned() };
        keep(&fake, directory, &headline).unwrap();
        assert_eq!(read(&fake, directory), Some(headline));
        fake.put(directory.join(TRIALS), "one\ntwo\n");
        assert_eq!(read(&fake, directory), None);
    }
}
