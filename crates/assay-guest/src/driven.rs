//! Guests whose drive is ours ([`nbd`](crate::nbd)) and whose program is spoken to line by line: started again and again,
//! all alike, each with another drive behind it.
//!
//! Drive and words go through a pair of sockets each, of which QEMU has one end as its standard input and output: they
//! have no names, nobody else can reach them, and they are gone with either side.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::files::Files;
use crate::machine::{Accelerator, Machine, Setup};
use crate::nbd::{Store, serve};
use crate::{Asked, Done, PAUSE, SIGN_OF_LIFE, setup};

/// The port through which the program in the guest speaks and is spoken to.
pub const TALK: &str = "talk";
/// Its drive, in the guest.
pub const DRIVE: &str = "/dev/vda";
/// A line is no longer.
const LONGEST_LINE: usize = 64 << 20;

/// What makes guests that are alike: what they boot from is packed once.
pub struct Mould {
    setup: Setup,
    files: Files,
    complaint: File,
    /// Of their kernel.
    release: String,
    /// Whether one of them was up.
    has_lived: bool,
}

impl Mould {
    /// Of a guest that has no other drive.
    pub fn new(asked: &Asked) -> Done<Self> {
        let accelerator = asked.accelerator.unwrap_or_else(Accelerator::likely);
        let mut files = Files::new(&asked.place);
        let mut setup = setup(asked, accelerator, &mut files)?;
        setup.hears = None;
        setup.more.extend(words());
        let path = files.make("qemu")?;
        let complaint = File::options().append(true).open(&path);
        let complaint = complaint.map_err(|error| format!("{}: {error}", path.display()))?;
        let release = asked.kernel.release.clone();
        Ok(Self { setup, files, complaint, release, has_lived: false })
    }

    /// The release of their kernel.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What carries them out.
    pub fn accelerator(&self) -> Accelerator {
        self.setup.accelerator
    }

    /// Starts one with this drive.
    pub fn start(&mut self, store: &Arc<dyn Store + Send + Sync>) -> Done<Driven<'_>> {
        let mut own = self.begun(store)?;
        if !self.has_lived {
            if self.setup.accelerator == Accelerator::Kvm && !self.lives(&mut own.0) {
                drop(own);
                self.setup.accelerator = Accelerator::Tcg;
                own = self.begun(store)?;
            }
            self.has_lived = true;
        }
        let (machine, talk, server) = own;
        Ok(Driven { files: &self.files, machine, talk, server: Some(server), rest: Vec::new() })
    }

    fn begun(&self, store: &Arc<dyn Store + Send + Sync>) -> Done<Begun> {
        let pair = || UnixStream::pair().map_err(|error| format!("a pair of sockets: {error}"));
        let [(mut drive, its_drive), (talk, its_talk)] = [pair()?, pair()?];
        let ends = [OwnedFd::from(its_drive), OwnedFd::from(its_talk)];
        let machine = Machine::driven(&self.setup, &self.complaint, ends)?;
        let store = Arc::clone(store);
        // It ends with the stream: however that is, the guest has no drive any more.
        let server = thread::spawn(move || drop(serve(&mut drive, &*store)));
        Ok((machine, talk, server))
    }

    /// Whether the first process says that it is up.
    fn lives(&self, machine: &mut Machine) -> bool {
        let began = Instant::now();
        while began.elapsed() < SIGN_OF_LIFE && !machine.has_ended() {
            if !self.files.from("end", 0).is_empty() {
                return true;
            }
            thread::sleep(PAUSE);
        }
        false
    }
}

type Begun = (Machine, UnixStream, JoinHandle<()>);

/// The drive, the port, and one that the first process waits at and nobody speaks on.
fn words() -> impl Iterator<Item = String> {
    let port = |name: &str| format!("virtserialport,chardev={name},name={name}");
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
        port(TALK),
        "-chardev".to_owned(),
        format!("null,id={}", crate::HEARS),
        "-device".to_owned(),
        port(crate::HEARS),
    ];
    all.into_iter()
}

/// What came of listening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Line(String),
    Nothing,
    /// It has ended; its last words.
    Over(String),
}

/// A guest that runs; its power goes when it is dropped.
pub struct Driven<'a> {
    files: &'a Files,
    machine: Machine,
    talk: UnixStream,
    server: Option<JoinHandle<()>>,
    /// The beginning of a line.
    rest: Vec<u8>,
}

impl Driven<'_> {
    /// Says a line.
    pub fn say(&mut self, line: &str) -> Done<()> {
        let whole = format!("{line}\n");
        self.talk.write_all(whole.as_bytes()).map_err(|error| format!("the guest is gone: {error}"))
    }

    /// Listens for so long.
    pub fn hear(&mut self, wait: Duration) -> Said {
        if let Some(line) = taken(&mut self.rest) {
            return Said::Line(line);
        }
        // A time of zero would be none at all.
        let wait = wait.max(Duration::from_millis(1));
        let mut bytes = [0; 16 << 10];
        let came = self.talk.set_read_timeout(Some(wait)).and_then(|()| self.talk.read(&mut bytes));
        match came {
            Ok(0) => self.over(),
            Ok(_) if self.rest.len() > LONGEST_LINE => self.over(),
            Ok(count) => {
                self.rest.extend(&bytes[..count]);
                taken(&mut self.rest).map_or(Said::Nothing, Said::Line)
            }
            Err(error) if is_late(error.kind()) => Said::Nothing,
            Err(_) => self.over(),
        }
    }

    fn over(&mut self) -> Said {
        self.machine.cut();
        Said::Over(crate::last_words(self.files))
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// The first line of what came, which is taken away.
fn taken(rest: &mut Vec<u8>) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line: Vec<u8> = rest.drain(..=end).collect();
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.machine.cut();
        // Its stream has ended with the machine.
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_whole_and_one_by_one() {
        let mut rest = b"one\ntwo\nthr".to_vec();
        assert_eq!(taken(&mut rest).as_deref(), Some("one"));
        assert_eq!(taken(&mut rest).as_deref(), Some("two"));
        assert_eq!((taken(&mut rest), rest.as_slice()), (None, b"thr".as_slice()));
    }

    #[test]
    fn what_qemu_is_told_names_both_ends_and_no_place() {
        let all = words().collect::<Vec<_>>().join(" ");
        for wanted in ["file.server.str=0", "socket,id=talk,fd=1", "name=talk", "name=ask"] {
            assert!(all.contains(wanted), "{wanted}: {all}");
        }
        assert!(!all.contains('/'), "{all}");
    }
}
