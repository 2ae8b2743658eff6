//! Doing it, and reading what is there afterwards.

use std::ops::ControlFlow;

use assay_load::OneDirectory;
use serde::{Deserialize, Serialize};

use super::contents::{Content, Listing};
use super::script::{Call, Name, Script};
use crate::durability::sync::Sync;

/// Bytes of a file that nobody wrote which are read at most: more are none of ours.
const MOST_READ_BYTES: u64 = 2 << 20;

/// Where a program has its files: one directory, and of its files the one that was opened last.
pub trait Directory {
    /// Opens a new file under a name; `through`: its writes lie on the medium when they return.
    fn create(&mut self, name: &str, through: bool) -> Result<(), String>;

    /// Writes bytes to the end of the file that was opened last.
    fn write(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Has that file's contents on the medium, `all`: and what else is known of it.
    fn sync_file(&mut self, all: bool) -> Result<(), String>;

    /// Gives a file another name; what had that one is gone.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), String>;

    fn remove(&mut self, name: &str) -> Result<(), String>;

    fn sync_names(&mut self) -> Result<(), String>;

    fn names(&mut self) -> Result<Vec<String>, String>;

    /// What is in a file, so many bytes at most.
    fn read(&mut self, name: &str, most_bytes: u64) -> Result<Vec<u8>, String>;
}

impl Directory for OneDirectory<'_> {
    fn create(&mut self, name: &str, through: bool) -> Result<(), String> {
        Self::create(self, name, through).map_err(|error| error.to_string())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        Self::write(self, bytes).map_err(|error| error.to_string())
    }

    fn sync_file(&mut self, all: bool) -> Result<(), String> {
        Self::sync_file(self, all).map_err(|error| error.to_string())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        Self::rename(self, from, to).map_err(|error| error.to_string())
    }

    fn remove(&mut self, name: &str) -> Result<(), String> {
        Self::remove(self, name).map_err(|error| error.to_string())
    }

    fn sync_names(&mut self) -> Result<(), String> {
        self.sync().map_err(|error| error.to_string())
    }

    fn names(&mut self) -> Result<Vec<String>, String> {
        Self::names(self).map_err(|error| error.to_string())
    }

    fn read(&mut self, name: &str, most_bytes: u64) -> Result<Vec<u8>, String> {
        Self::read(self, name, most_bytes).map_err(|error| error.to_string())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub calls: u64,
    pub files: u64,
    pub written_bytes: u64,
    /// Calls that synced, or writes that went through.
    pub syncs: u64,
    pub rounds: u64,
}

impl Script {
    /// Makes all its calls in an empty directory; `told` hears each time that is to be told how many have returned, and
    /// may end it.
    pub fn run(
        &self,
        run: u64,
        directory: &mut dyn Directory,
        told: &mut dyn FnMut(usize) -> Result<ControlFlow<()>, String>,
    ) -> Result<Done, String> {
        let mut done = Done::default();
        for (at, call) in self.calls.iter().enumerate() {
            let because = |error: String| format!("call {} ({}): {error}", at + 1, call.words());
            self.call(*call, run, directory, &mut done).map_err(because)?;
            done.calls += 1;
            done.syncs += u64::from(self.promises(at));
            if self.is_told(at + 1) && told(at + 1)?.is_break() {
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
        done: &mut Done,
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

/// What is under each name of a directory; of names that no script gives nothing is read.
pub fn read_back(
    script: &Script,
    run: u64,
    directory: &mut dyn Directory,
) -> Result<Listing, String> {
    let mut listing = Listing::new();
    for name in directory.names()? {
        let content = match Name::find(&name) {
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
