//! Connections of a fleet: rank 0 listens until all ranks have connected and shown the token.

mod muster;
#[cfg(test)]
mod tests;

pub use muster::{dial, listen};

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::fleet::frame::{FrameSide, Opener, Sealer};
use crate::fleet::message::Message;
use crate::fleet::{Heard, RankLine};
use assay_core::digest::Digest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LOOK: Duration = Duration::from_millis(100);
/// How long rank 0 waits for a rank that does not read its messages: they are short, and the kernel buffers them.
const TAKEN: Duration = Duration::from_secs(20);
/// The same for messages to rank 0, which may still be busy.
const TAKEN_BY_ZERO: Duration = Duration::from_secs(120);
const PART: usize = 16 << 10;

struct SealedEnd {
    stream: TcpStream,
    patience: Duration,
    sealer: Sealer,
    opener: Opener,
}

impl SealedEnd {
    /// `own` is the side of this process: rank 0 waits less for a rank than a rank for rank 0.
    fn new(stream: TcpStream, key: Digest, own: FrameSide) -> std::io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        let (patience, other_side) = match own {
            FrameSide::Zero => (TAKEN, FrameSide::Other),
            FrameSide::Other => (TAKEN_BY_ZERO, FrameSide::Zero),
        };
        // With a check after each part: a peer may read a byte now and then.
        stream.set_write_timeout(Some(LOOK))?;
        let (sealer, opener) = (Sealer::new(key, own), Opener::new(key, other_side));
        Ok(Self { stream, patience, sealer, opener })
    }

    /// Sends a message; fails if the host does not accept it in time.
    fn say(&mut self, message: &Message) -> Result<(), String> {
        let frame = self.sealer.seal(&message.text())?;
        let until = Instant::now() + self.patience;
        let mut left = frame.as_slice();
        while !left.is_empty() {
            match self.stream.write(left) {
                Ok(written) if written > 0 => left = &left[written..],
                Err(error) if super::link::is_for_now(&error) => {}
                Ok(_) | Err(_) => return Err("the connection is closed".to_owned()),
            }
            if !left.is_empty() && Instant::now() >= until {
                return Err("the host does not accept data".to_owned());
            }
        }
        Ok(())
    }

    /// Reads the available bytes; returns the message that they complete, if any.
    fn hear(&mut self) -> Result<Option<Message>, String> {
        let mut bytes = [0; PART];
        let wanted = self.opener.wanted_bytes().min(PART);
        let read = match self.stream.read(&mut bytes[..wanted]) {
            Ok(0) => return Err("the connection is closed".to_owned()),
            Ok(read) => read,
            Err(error) if super::link::is_for_now(&error) => return Ok(None),
            Err(error) => return Err(format!("the connection failed: {error}")),
        };
        let text = self.opener.receive(&bytes[..read])?;
        Ok(text.map(|text| Message::read(&text)).transpose()?)
    }
}

/// The connections of one rank: rank 0 has one to each other rank, which has one to rank 0.
pub struct Sockets {
    ends: BTreeMap<u32, SealedEnd>,
    heard: VecDeque<(u32, Heard)>,
    turned_away: u64,
}

impl Sockets {
    const fn new(ends: BTreeMap<u32, SealedEnd>, turned_away: u64) -> Self {
        Self { ends, heard: VecDeque::new(), turned_away }
    }

    /// Waits for messages and queues them; a lost connection counts as a message.
    fn receive(&mut self, wait: Duration) {
        let wait = wait.min(LOOK);
        if self.ends.is_empty() {
            return std::thread::sleep(wait);
        }
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut polled: Vec<PollFd<'_>> =
            self.ends.values().map(|end| PollFd::new(&end.stream, PollFlags::IN)).collect();
        if poll(&mut polled, Some(&time)).is_err() {
            return;
        }
        let ready = self.ends.keys().zip(polled).filter(|(_, end)| !end.revents().is_empty());
        let ready: Vec<u32> = ready.map(|(rank, _)| *rank).collect();
        for rank in ready {
            let Some(end) = self.ends.get_mut(&rank) else { continue };
            match end.hear() {
                Ok(None) => {}
                Ok(Some(message)) => self.heard.push_back((rank, Heard::Said(Box::new(message)))),
                Err(why) => {
                    self.let_go(rank);
                    self.heard.push_back((rank, Heard::Gone(why)));
                }
            }
        }
    }
}

impl RankLine for Sockets {
    fn say(&mut self, to: u32, message: &Message) -> Result<(), String> {
        let end = self.ends.get_mut(&to).ok_or("the connection is closed")?;
        end.say(message)
    }

    fn hear(&mut self, wait: Duration, stop: &AtomicBool) -> Option<(u32, Heard)> {
        let until = Instant::now() + wait;
        loop {
            if let Some(message) = self.heard.pop_front() {
                return Some(message);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                return None;
            }
            self.receive(left);
        }
    }

    fn let_go(&mut self, rank: u32) {
        if let Some(end) = self.ends.remove(&rank) {
            // The peer notices the end immediately.
            let _ = end.stream.shutdown(Shutdown::Both);
        }
        self.heard.retain(|(own, _)| *own != rank);
    }

    fn turned_away(&self) -> u64 {
        self.turned_away
    }
}
