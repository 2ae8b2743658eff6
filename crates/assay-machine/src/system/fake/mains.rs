//! Power of a fake machine: it fails after a chosen acknowledged write, by unwinding the running code.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_core::digest::Digest;
use assay_sys::memory_file;

use super::Fake;
use crate::system::mains::{BOOT, Mains, is_kept_name};
use crate::system::network::Token;
use crate::system::network::ledger::{Carries, Client, Ledger, LedgerBook, Lines, Order};
use crate::system::network::protocol::Side;
use crate::system::{AreaFile, Errno, System};

/// Panic payload of a simulated power failure.
pub const POWER: &str = "the power is gone";
/// Offset of the first written byte in such a file.
const FIRST_BYTE: u64 = 4096;
const KEY: Digest = [9; 32];

/// State that survives a power cut, and the time of the cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Power {
    kept: BTreeMap<PathBuf, Arc<File>>,
    called: Vec<String>,
    book: LedgerBook,
    /// The token that the peer knows, by its first visitor.
    token: Option<Token>,
    cut_at: Option<u64>,
}

impl Fake {
    /// Cuts the power when the peer has received this many acknowledgments of a trial.
    pub fn cut_power_at(&self, promises: u64) -> &Self {
        self.lock().power.cut_at = Some(promises);
        self
    }

    pub fn start_again(&self, boot: &str) -> &Self {
        self.lock().power.cut_at = None;
        self.put(BOOT, boot)
    }

    pub fn restart_peer(&self) -> &Self {
        self.lock().power.book = LedgerBook::default();
        self
    }

    pub fn called(&self) -> Vec<String> {
        self.lock().power.called.clone()
    }

    pub fn kept(&self) -> Vec<(PathBuf, Arc<File>)> {
        self.lock().power.kept.iter().map(|(path, file)| (path.clone(), Arc::clone(file))).collect()
    }

    /// Removes such a file, as if it had not survived a cut.
    pub fn lose_kept(&self) -> &Self {
        self.lock().power.kept.clear();
        self
    }

    pub(super) fn remove_kept(&self, path: &Path) -> bool {
        self.lock().power.kept.remove(path).is_some()
    }
}

fn area(file: &File, path: PathBuf) -> io::Result<AreaFile> {
    Ok(AreaFile { file: file.try_clone()?, name: Some(path), note: None, first_byte: FIRST_BYTE })
}

impl Mains for Fake {
    fn call(&self, text: &str) {
        self.lock().power.called.push(text.to_owned());
    }

    fn create_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile> {
        let mut state = self.lock();
        let path = state.place(&directory.join(name))?;
        if !is_kept_name(name) || state.power.kept.contains_key(&path) {
            return Err(Errno::EXIST.into());
        }
        let file = Arc::new(memory_file(0)?);
        state.power.kept.insert(path.clone(), Arc::clone(&file));
        area(&file, path)
    }

    fn open_kept(&self, directory: &Path, name: &str) -> io::Result<AreaFile> {
        let state = self.lock();
        let path = state.place(&directory.join(name))?;
        let file = state.power.kept.get(&path).ok_or(Errno::NOENT)?;
        area(file, path.clone())
    }

    fn settle(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn ledger(&self, _: &str, token: &Token) -> io::Result<Box<dyn Ledger + '_>> {
        let mut state = self.lock();
        if let Some(why) = &state.network.lost {
            return Err(io::Error::other(why.clone()));
        }
        if state.power.token.get_or_insert_with(|| token.clone()) != token {
            let why = "the peer has another token";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        drop(state);
        let wire = LedgerWire { fake: self, lines: Lines::new(KEY, Side::Peer), open: None };
        Ok(Box::new(Client::new(KEY, wire)))
    }
}

struct LedgerWire<'a> {
    fake: &'a Fake,
    lines: Lines,
    open: Option<Digest>,
}

impl Carries for LedgerWire<'_> {
    fn carry(&mut self, line: &str) -> io::Result<String> {
        // This is the peer's end of the connection: it reads the order, and returns its reply.
        let order = self.lines.hear(line).and_then(Order::read).ok_or(Errno::INVAL)?;
        let now_ns = self.fake.monotonic_ns();
        let mut state = self.fake.lock();
        if let Some(why) = &state.network.lost {
            return Err(io::Error::other(why.clone()));
        }
        let reply = state.power.book.answer(order, &mut self.open, now_ns);
        let cut_at = state.power.cut_at;
        drop(state);
        if let Order::Tell(number) = order
            && cut_at == Some(number)
        {
            // The power fails at this order: ends the run without a reply, as the machine's end would.
            resume_unwind(Box::new(POWER));
        }
        Ok(self.lines.say(&reply.to_string()))
    }
}
