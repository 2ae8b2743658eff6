//! Runs the calls, and reads the files afterwards.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::contents::{Content, Listing};
use super::script::{Call, FileName, FileScript};
use crate::durability::sync::Sync;

pub use assay_load::Directory;

/// Limit on bytes read of a foreign file: Assay's files are smaller.
const MOST_READ_BYTES: u64 = 2 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCounts {
    pub calls: u64,
    pub files: u64,
    pub written_bytes: u64,
    /// Syncing calls, or write-through writes.
    pub syncs: u64,
    pub rounds: u64,
}

impl FileScript {
    /// Runs the calls in an empty directory. `report` receives the number of returned calls, and may stop the run.
    pub fn run(
        &self,
        run: u64,
        directory: &mut dyn Directory,
        report: &mut dyn FnMut(usize) -> Result<ControlFlow<()>, String>,
    ) -> Result<FileCounts, String> {
        let mut counts = FileCounts::default();
        for (at, call) in self.calls.iter().enumerate() {
            let name_call = |error: String| format!("call {} ({}): {error}", at + 1, call.words());
            self.perform(*call, run, directory, &mut counts).map_err(name_call)?;
            counts.calls += 1;
            counts.syncs += u64::from(self.promises(at));
            if self.reports_after(at + 1) && report(at + 1)?.is_break() {
                break;
            }
        }
        let is_complete = |end: &&usize| **end as u64 <= counts.calls;
        counts.rounds = self.rounds.iter().filter(is_complete).count() as u64;
        Ok(counts)
    }

    /// Performs a call in the directory, and adds it to the counts.
    fn perform(
        &self,
        call: Call,
        run: u64,
        directory: &mut dyn Directory,
        counts: &mut FileCounts,
    ) -> Result<(), String> {
        match call {
            Call::Create { name, .. } => {
                counts.files += 1;
                directory.create(&name.to_string(), self.sync == Sync::Dsync)
            }
            Call::Write { file } => {
                let bytes = self.contents(run, file);
                counts.written_bytes += bytes.len() as u64;
                directory.write(&bytes)
            }
            Call::SyncFile { .. } => directory.sync_file(self.sync == Sync::Fsync),
            Call::Rename { from, to } => directory.rename(&from.to_string(), &to.to_string()),
            Call::Remove { name } => directory.remove(&name.to_string()),
            Call::SyncNames => directory.sync_names(),
        }
    }
}

/// The content under each name of a directory; names outside the script are not read.
pub fn read_back(
    script: &FileScript,
    run: u64,
    directory: &mut dyn Directory,
) -> Result<Listing, String> {
    let mut listing = Listing::new();
    for name in directory.names()? {
        let content = if FileName::find(&name).is_none() {
            Content::Strange
        } else if let Ok(bytes) = directory.read(&name, MOST_READ_BYTES) {
            script.parse(run, &bytes)
        } else {
            Content::Unreadable
        };
        listing.insert(name, content);
    }
    Ok(listing)
}
