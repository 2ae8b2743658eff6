//! Power loss of this machine: finding files afterwards, and prompting the user to cut the power.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

use super::{Real, area, files, link};
use assay_machine::system::AreaFile;
use assay_machine::system::mains::{Mains, is_kept_name};
use assay_machine::system::network::Token;
use assay_machine::system::network::ledger::Ledger;
use rustix::fs::{self, FileType, Mode, OFlags};

/// Prints to the user; process-wide, because trials only receive a `System`.
static HEARD_BY: OnceLock<fn(&str)> = OnceLock::new();
/// Offset of the data, after the mark.
const FIRST_BYTE: u64 = 1 << 20;

pub fn be_heard_by(says: fn(&str)) {
    // Only the first call counts: that of this program.
    let _ = HEARD_BY.set(says);
}

impl Mains for Real {
    fn call(&self, text: &str) {
        if let Some(says) = HEARD_BY.get() {
            says(text);
        }
    }

    /// Fails if another run removed the file as a leftover before it was locked.
    fn create_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile> {
        if !is_kept_name(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = directory.join(name);
        let made = area::mark_at(self, &path)?;
        let (file, _) = made.ok_or(io::ErrorKind::NotFound)?;
        files::sync_directory_of(&path)?;
        Ok(AreaFile { file, name: Some(path), note: None, first_byte: FIRST_BYTE })
    }

    fn open_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile> {
        if !is_kept_name(name) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let path = directory.join(name);
        // A pipe must not block root, nor may root read files of other users.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(fs::open(&path, flags, Mode::empty())?);
        let found = file.metadata()?;
        let is_file = FileType::from_raw_mode(found.mode()) == FileType::RegularFile;
        if !is_file || !area::is_ours(self, found.uid()) {
            return Err(area::not_a_leftover("this user does not own the file"));
        }
        Ok(AreaFile { file, name: Some(path), note: None, first_byte: FIRST_BYTE })
    }

    fn settle(&self, directory: &Path) -> io::Result<()> {
        Ok(fs::syncfs(File::open(directory)?)?)
    }

    fn ledger(&self, peer: &str, token: &Token) -> io::Result<Box<dyn Ledger + '_>> {
        link::ledger::reach(peer, token)
    }
}
