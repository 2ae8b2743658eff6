//! Guests with a drive of this program ([`nbd`](crate::vm::nbd)) and a line-based protocol to their program: identical
//! guests started repeatedly, each with another drive.
//!
//! Drive and protocol use one socket pair each, inherited by QEMU as its standard input and output; a third one
//! controls QEMU ([`Monitor`]): they have no names, nobody else can reach them, and they close with either side.
//!
//! With emulation, a guest boots once: its state at its first message is saved to a file, and each later guest starts
//! from it. Clock and random numbers are those of the saved state: the caller has to send new ones.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::vm::files::Files;
use crate::vm::machine::{Accelerator, QemuMachine, Setup};
use crate::vm::monitor::{QemuMonitor, take_line};
use crate::vm::nbd::serve;
use crate::vm::{Asked, Done, PAUSE, SIGN_OF_LIFE, setup};
use assay_machine::system::powered::{FarSide, HeardLine};

/// The port for the protocol with the program in the guest.
pub const TALK: &str = "talk";
pub const DRIVE: &str = "/dev/vda";
const SAVED: &str = "kept";
const LONGEST_LINE: usize = 64 << 20;

/// Template of identical guests: their boot files are packed once.
pub struct GuestTemplate {
    setup: Setup,
    files: Files,
    release: String,
    has_booted: bool,
    saved: SavedState,
}

enum SavedState {
    NotYet,
    Saved(SavedGuest),
    /// Saving failed, or the saved state does not run.
    Never,
}

struct SavedGuest {
    path: PathBuf,
    /// Output that was not read before saving: each guest from the saved state repeats it.
    said: Vec<u8>,
    /// Size of the drive, equal for all.
    drive_bytes: u64,
}

struct Guest {
    machine: QemuMachine,
    talk: UnixStream,
    monitor: QemuMonitor,
    server: JoinHandle<()>,
}

impl GuestTemplate {
    /// For a guest without another drive.
    pub fn new(asked: &Asked) -> Done<Self> {
        let accelerator = asked.accelerator.unwrap_or_else(Accelerator::likely);
        let mut files = Files::new(&asked.place);
        let mut setup = setup(asked, accelerator, &mut files)?;
        setup.more.extend(qemu_words());
        let release = asked.kernel.release.clone();
        Ok(Self { setup, files, release, has_booted: false, saved: SavedState::NotYet })
    }

    pub fn release(&self) -> &str {
        &self.release
    }

    pub fn accelerator(&self) -> Accelerator {
        self.setup.accelerator
    }

    /// Starts a guest with a drive, from the saved state if there is one.
    pub fn start(&mut self, store: &Arc<dyn FarSide>) -> Done<Driven<'_>> {
        let drive_bytes = store.bytes();
        if let Some((launched, said)) = self.start_from_saved(store)? {
            return Ok(Driven::new(self, launched, said, drive_bytes));
        }
        let mut launched = self.launch(store, Vec::new())?;
        if !self.has_booted {
            if self.setup.accelerator == Accelerator::Kvm && !self.boots(&mut launched.machine) {
                drop(launched);
                self.setup.accelerator = Accelerator::Tcg;
                launched = self.launch(store, Vec::new())?;
            }
            self.has_booted = true;
        }
        Ok(Driven::new(self, launched, Vec::new(), drive_bytes))
    }

    /// Starts a guest from the saved state; returns it with the output before that. `None` without a usable state.
    fn start_from_saved(&mut self, store: &Arc<dyn FarSide>) -> Done<Option<(Guest, Vec<u8>)>> {
        let SavedState::Saved(saved) = &self.saved else { return Ok(None) };
        if saved.drive_bytes != store.bytes() {
            return Ok(None);
        }
        let words = vec!["-incoming".to_owned(), format!("exec:cat {}", saved.path.display())];
        let mut launched = self.launch(store, words)?;
        if launched.monitor.wait_until_it_runs().is_err() {
            self.saved = SavedState::Never;
            return Ok(None);
        }
        Ok(Some((launched, saved.said.clone())))
    }

    /// Starts QEMU with the drive, the protocol and the control socket; `words` are more arguments.
    fn launch(&self, store: &Arc<dyn FarSide>, words: Vec<String>) -> Done<Guest> {
        let pair = || UnixStream::pair().map_err(|error| format!("socket pair: {error}"));
        let [(mut drive, its_drive), (talk, its_talk), (monitor, its_monitor)] =
            [pair()?, pair()?, pair()?];
        let ends = [its_drive, its_talk, its_monitor].map(OwnedFd::from);
        let mut setup = self.setup.clone();
        setup.more.extend(words);
        let machine = QemuMachine::driven(&setup, ends)?;
        let store = Arc::clone(store);
        // It ends with the stream: then the guest has no drive any more.
        let server = thread::spawn(move || drop(serve(&mut drive, &*store)));
        Ok(Guest { machine, talk, monitor: QemuMonitor::new(monitor), server })
    }

    /// Returns whether a guest produces output in time: with broken KVM, it does not.
    fn boots(&self, machine: &mut QemuMachine) -> bool {
        let began = Instant::now();
        while began.elapsed() < SIGN_OF_LIFE && !machine.has_ended() {
            if !self.files.from("end", 0).is_empty() {
                return true;
            }
            thread::sleep(PAUSE);
        }
        false
    }

    /// Saves the state of a guest if booting another one is slow; the guest continues.
    fn save_state(&mut self, monitor: &mut QemuMonitor, said: &[u8], drive_bytes: u64) -> Done<()> {
        if !matches!(self.saved, SavedState::NotYet) || self.setup.accelerator != Accelerator::Tcg {
            return Ok(());
        }
        self.saved = SavedState::Never;
        let path = self.files.make(SAVED)?;
        if monitor.save(&path).is_ok() {
            self.saved = SavedState::Saved(SavedGuest { path, said: said.to_owned(), drive_bytes });
        } else {
            // If it does not fit, each guest boots, and the partial file is removed.
            self.files.let_go(SAVED);
        }
        monitor.resume()
    }
}

/// Arguments for the inherited sockets: the drive on 0, the protocol on 1, the control of QEMU on 2.
fn qemu_words() -> impl Iterator<Item = String> {
    let all = [
        "-drive".to_owned(),
        "if=none,id=ours,format=raw,discard=unmap,cache=writeback,werror=report,rerror=report,\
         file.driver=nbd,file.server.type=fd,file.server.str=0"
            .to_owned(),
        "-device".to_owned(),
        "virtio-blk-pci,drive=ours,serial=ours".to_owned(),
        "-chardev".to_owned(),
        format!("socket,id={TALK},fd=1"),
        "-device".to_owned(),
        format!("virtserialport,chardev={TALK},name={TALK}"),
        "-chardev".to_owned(),
        "socket,id=monitor,fd=2".to_owned(),
        "-mon".to_owned(),
        "chardev=monitor,mode=control".to_owned(),
    ];
    all.into_iter()
}

pub struct Driven<'a> {
    template: &'a mut GuestTemplate,
    machine: QemuMachine,
    talk: UnixStream,
    monitor: QemuMonitor,
    server: Option<JoinHandle<()>>,
    drive_bytes: u64,
    rest: Vec<u8>,
    /// All output before the first input.
    said: Vec<u8>,
    has_input: bool,
}

impl<'a> Driven<'a> {
    fn new(template: &'a mut GuestTemplate, guest: Guest, said: Vec<u8>, drive_bytes: u64) -> Self {
        let Guest { machine, talk, monitor, server } = guest;
        let (rest, server) = (said.clone(), Some(server));
        let has_input = false;
        Self { template, machine, talk, monitor, server, drive_bytes, rest, said, has_input }
    }

    /// Sends a line to the guest. Before the first one, saves its state for later guests.
    pub fn say(&mut self, line: &str) -> Done<()> {
        if !self.has_input {
            self.has_input = true;
            self.template.save_state(&mut self.monitor, &self.said, self.drive_bytes)?;
        }
        let whole = format!("{line}\n");
        self.talk.write_all(whole.as_bytes()).map_err(|error| format!("lost the guest: {error}"))
    }

    /// Waits for the next line of the guest; nothing if it does not come in time.
    pub fn hear(&mut self, wait: Duration) -> HeardLine {
        if let Some(line) = take_line(&mut self.rest) {
            return HeardLine::Line(line);
        }
        // A zero timeout would disable it.
        let wait = wait.max(Duration::from_millis(1));
        let mut bytes = [0; 16 << 10];
        let read = self.talk.set_read_timeout(Some(wait)).and_then(|()| self.talk.read(&mut bytes));
        match read {
            Ok(0) => self.end(),
            Ok(_) if self.rest.len() > LONGEST_LINE => self.end(),
            Ok(count) => {
                self.rest.extend(&bytes[..count]);
                if !self.has_input {
                    self.said.extend(&bytes[..count]);
                }
                take_line(&mut self.rest).map_or(HeardLine::Nothing, HeardLine::Line)
            }
            Err(error) if is_late(error.kind()) => HeardLine::Nothing,
            Err(_) => self.end(),
        }
    }

    fn end(&mut self) -> HeardLine {
        self.machine.cut();
        let console = self.template.files.from("console", 0);
        HeardLine::Over(crate::vm::last_lines(&[self.monitor.complaints(), &console]))
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.machine.cut();
        // Its stream ended with the machine.
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_qemu_is_told_names_both_ends_and_no_place() {
        let all = qemu_words().collect::<Vec<_>>().join(" ");
        for wanted in ["file.server.str=0", "socket,id=talk,fd=1", "fd=2", "name=talk"] {
            assert!(all.contains(wanted), "{wanted}: {all}");
        }
        assert!(!all.contains('/'), "{all}");
    }
}
