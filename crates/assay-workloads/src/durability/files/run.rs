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
    /// Runs all calls in an empty directory; `told` is called at each report with the number of returned calls, and may
    /// end it.
    pub fn run(
        &self,
        run: u64,
        directory: &mut dyn Directory,
        report: &mut dyn FnMut(usize) -> Result<ControlFlow<()>, String>,
    ) -> Result<FileCounts, String> {
        let mut done = FileCounts::default();
        for (at, call) in self.calls.iter().enumerate() {
            let because = |error: String| format!("call {} ({}): {error}", at + 1, call.words());
            self.call(*call, run, directory, &mut done).map_err(because)?;
            done.calls += 1;
            done.syncs += u64::from(self.promises(at));
            if self.is_told(at + 1) && report(at + 1)?.is_break() {
                break;
            }
        }
        done.rounds = self.rounds.iter().filter(|end| **end as u64 <= done.calls).count() as u64;
        Ok(done)
    }

    fn call(
        &self,
        call: Call,
        run: u64,
        directory: &mut dyn Directory,
        done: &mut FileCounts,
    ) -> Result<(), String> {
        match call {
            Call::Create { name, .. } => {
                done.files += 1;
                directory.create(&name.to_string(), self.sync == Sync::Dsync)
            }
            Call::Write { file } => {
                let bytes = self.contents(run, file);
                done.written_bytes += bytes.len() as u64;
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
        let content = match FileName::find(&name) {
            Some(_) => match directory.read(&name, MOST_READ_BYTES) {
                Ok(bytes) => script.look(run, &bytes),
                Err(_) => Content::Unreadable,
            },
            None => Content::Strange,
        };
        listing.insert(name, content);
    }
    Ok(listing)
}
