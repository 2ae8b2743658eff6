//! How the ranks of a fleet find each other.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::crowd;
use super::super::link::is_for_now;
use super::super::random_bytes;
use super::{LOOK, SealedEnd, Sockets};
use crate::fleet::frame::FrameSide;
use crate::fleet::hello::{self, HelloCaller, LONGEST_LINE};
use crate::fleet::message::Message;
use crate::fleet::ranks::RankPlace;
use assay_core::digest::Digest;
use assay_machine::system::network::Token;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Limit on simultaneous unauthenticated connections: a newcomer beyond it replaces another.
const MOST_STRANGERS: usize = 64;
const ADMISSION: Duration = Duration::from_secs(5);
/// Limits for one connection attempt, for the answers of rank 0, and the pause between attempts.
const ATTEMPT: Duration = Duration::from_secs(2);
const ANSWERED: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);
const NAMED: Duration = Duration::from_secs(60);

struct FleetStranger {
    stream: TcpStream,
    address: IpAddr,
    since: Instant,
    riddle: Digest,
    said: Vec<u8>,
}

/// Waits on rank 0 until all ranks have connected; fails after `wait`.
pub fn listen(
    address: &str,
    token: &Token,
    ranks: u32,
    wait: Duration,
    stop: &AtomicBool,
) -> Result<Sockets, String> {
    let until = Instant::now() + wait;
    let listener = bind(address, until, stop)?;
    let mut door = Door {
        listener,
        token,
        ranks,
        strangers: Vec::new(),
        ends: BTreeMap::new(),
        turned_away: 0,
        unlike: None,
    };
    while door.ends.len() + 1 < ranks as usize {
        if stop.load(Ordering::Relaxed) {
            return door.dismiss("interrupted before all ranks connected".to_owned());
        }
        if Instant::now() >= until {
            let why = door.describe_missing(wait);
            return door.dismiss(why);
        }
        if let Some(why) = door.unlike.take() {
            return door.dismiss(why);
        }
        door.serve();
    }
    door.turned_away += door.strangers.len() as u64;
    Ok(Sockets::new(door.ends, door.turned_away))
}

fn bind(address: &str, until: Instant, stop: &AtomicBool) -> Result<TcpListener, String> {
    let refused = |error: &io::Error| match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            format!("{address} is not an address of this host; run rank 0 on the host that has it")
        }
        _ => format!("cannot listen on {address}: {error}"),
    };
    let named = until.min(Instant::now() + NAMED);
    let all: Vec<SocketAddr> = loop {
        match address.to_socket_addrs() {
            Ok(all) => break all.collect(),
            // A host name may appear together with its rank, but not forever.
            Err(error) if is_over(named, stop) || error.kind() == io::ErrorKind::InvalidInput => {
                return Err(refused(&error));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    };
    let listener = TcpListener::bind(reachable(address, all)?.as_slice());
    let listener = listener.map_err(|error| refused(&error))?;
    listener.set_nonblocking(true).map_err(|error| refused(&error))?;
    Ok(listener)
}

/// Selects addresses that other hosts can reach: many hosts resolve their own name to 127.0.1.1.
fn reachable(address: &str, all: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
    if name == "localhost" || address.parse::<SocketAddr>().is_ok() {
        return Ok(all);
    }
    let (loopback, others): (Vec<SocketAddr>, Vec<_>) =
        all.into_iter().partition(|address| address.ip().is_loopback());
    match loopback.first() {
        Some(address) if others.is_empty() => Err(format!(
            "{name} is {} on this host, which other hosts cannot reach; use an address of rank 0",
            address.ip()
        )),
        _ => Ok(others),
    }
}

fn is_over(until: Instant, stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed) || Instant::now() >= until
}

struct Door<'a> {
    listener: TcpListener,
    token: &'a Token,
    ranks: u32,
    strangers: Vec<FleetStranger>,
    ends: BTreeMap<u32, SealedEnd>,
    turned_away: u64,
    /// A rank with the token that does not fit ends the study for all: no other can take its place.
    unlike: Option<String>,
}

impl Door<'_> {
    fn describe_missing(&self, wait: Duration) -> String {
        let missing = (1..self.ranks).filter(|rank| !self.ends.contains_key(rank));
        // Eight ranks are enough to find the cause.
        let names: Vec<String> = missing.take(8).map(|rank| rank.to_string()).collect();
        let away = match self.turned_away {
            0 => String::new(),
            count => format!(" ({count} connections were refused)"),
        };
        format!(
            "only {} of {} ranks connected within {} s; missing: rank {}{away}",
            self.ends.len() + 1,
            self.ranks,
            wait.as_secs(),
            names.join(", ")
        )
    }

    /// Sends all connected ranks the reason for the end, and returns it as an error.
    fn dismiss<T>(mut self, why: String) -> Result<T, String> {
        let message = Message::End { why: Some(why.clone()) };
        for end in self.ends.values_mut() {
            // A closed connection needs no message.
            let _ = end.say(&message);
        }
        Err(why)
    }

    /// Waits for data of strangers and new connections, and handles them.
    fn serve(&mut self) {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        let mut polled = vec![PollFd::new(&self.listener, PollFlags::IN)];
        polled.extend(self.strangers.iter().map(|other| PollFd::new(&other.stream, PollFlags::IN)));
        if poll(&mut polled, Some(&time)).is_err() {
            return;
        }
        drop(polled);
        let mut waiting = Vec::with_capacity(self.strangers.len());
        for mut stranger in std::mem::take(&mut self.strangers) {
            match stranger.hear() {
                Ok(Some(line)) => self.admit(stranger, &line),
                Ok(None) if stranger.since.elapsed() < ADMISSION => waiting.push(stranger),
                Ok(None) | Err(()) => self.turned_away += 1,
            }
        }
        self.strangers = waiting;
        for _ in 0..MOST_STRANGERS {
            match self.listener.accept() {
                Ok((stream, address)) => self.greet(stream, address.ip()),
                Err(error) if is_for_now(&error) => return,
                // Such as an exhausted limit: retry after a pause.
                Err(_) => return thread::sleep(LOOK),
            }
        }
    }

    /// Greets a connection; at the limit, it replaces another stranger.
    fn greet(&mut self, stream: TcpStream, address: IpAddr) {
        if self.strangers.len() >= MOST_STRANGERS {
            let strangers = self.strangers.iter().enumerate();
            let waiting: Vec<(usize, IpAddr, Instant)> =
                strangers.map(|(index, other)| (index, other.address, other.since)).collect();
            let Some(index) = crowd::select_to_drop(&waiting) else { return };
            self.strangers.remove(index);
            self.turned_away += 1;
        }
        let Ok(riddle) = random_bytes() else { return };
        let greeted = stream
            .set_nonblocking(true)
            .and_then(|()| (&stream).write_all(hello::USE.greeting(&riddle).as_bytes()));
        match greeted {
            Ok(()) => {
                let (since, said) = (Instant::now(), Vec::new());
                self.strangers.push(FleetStranger { stream, address, since, riddle, said });
            }
            Err(_) => self.turned_away += 1,
        }
    }

    /// Admits a stranger whose answer is right; refuses others with a reason.
    fn admit(&mut self, stranger: FleetStranger, line: &str) {
        let FleetStranger { mut stream, riddle, address, .. } = stranger;
        let checked = hello::read_hello(self.token, &riddle, line).and_then(|(caller, own)| {
            let place = caller.place;
            if let Some(why) = caller.version_mismatch() {
                self.unlike = Some(format!("{address}: {why}"));
                return Err("version");
            }
            if place.ranks != self.ranks {
                return Err("size");
            }
            if place.leads() || self.ends.contains_key(&place.rank) {
                return Err("taken");
            }
            Ok((place, own))
        });
        let (place, own) = match checked {
            Ok(found) => found,
            Err(why) => {
                self.turned_away += 1;
                let _ = stream.write_all(hello::refusal(why).as_bytes());
                return;
            }
        };
        let key = hello::USE.key(self.token, &riddle, &own);
        let welcome = hello::welcome(self.token, place, &riddle, &own);
        let taken = stream
            .write_all(welcome.as_bytes())
            .and_then(|()| SealedEnd::new(stream, key, FrameSide::Zero));
        if let Ok(end) = taken {
            self.ends.insert(place.rank, end);
        }
    }
}

impl FleetStranger {
    /// Returns the complete line; `None` until it ends. Fails if the stranger leaves, sends too much or anything after
    /// the line, or no UTF-8.
    fn hear(&mut self) -> Result<Option<String>, ()> {
        let mut bytes = [0; LONGEST_LINE];
        let room = LONGEST_LINE - self.said.len();
        match self.stream.read(&mut bytes[..room]) {
            Ok(0) => return Err(()),
            Ok(read) => self.said.extend_from_slice(&bytes[..read]),
            Err(error) if is_for_now(&error) => return Ok(None),
            Err(_) => return Err(()),
        }
        match self.said.iter().position(|byte| *byte == b'\n') {
            // Without a welcome, no data may follow.
            Some(end) if end + 1 == self.said.len() => {
                String::from_utf8(std::mem::take(&mut self.said)).map(Some).map_err(|_| ())
            }
            None if self.said.len() < LONGEST_LINE => Ok(None),
            _ => Err(()),
        }
    }
}

/// Connects to rank 0; tries again until `wait` is over.
pub fn dial(
    address: &str,
    token: &Token,
    place: RankPlace,
    wait: Duration,
    stop: &AtomicBool,
) -> Result<Sockets, String> {
    let until = Instant::now() + wait;
    loop {
        let why = match attempt(address, token, place) {
            Ok(end) => return Ok(Sockets::new(BTreeMap::from([(0, end)]), 0)),
            Err(FailedAttempt::Refused(why)) => return Err(format!("{address}: {why}")),
            Err(FailedAttempt::Later(why)) => why,
        };
        if stop.load(Ordering::Relaxed) {
            return Err("interrupted before rank 0 was available".to_owned());
        }
        if Instant::now() >= until {
            return Err(format!(
                "rank 0 was not available within {} s: {address}: {why}",
                wait.as_secs()
            ));
        }
        thread::sleep(PAUSE);
    }
}

enum FailedAttempt {
    /// A later attempt will not succeed either.
    Refused(String),
    Later(String),
}

fn attempt(address: &str, token: &Token, place: RankPlace) -> Result<SealedEnd, FailedAttempt> {
    let later = |error: io::Error| FailedAttempt::Later(error.to_string());
    // A host name may appear together with its rank.
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(later)?.collect();
    let mut last = FailedAttempt::Later("the name has no address".to_owned());
    for address in addresses {
        match TcpStream::connect_timeout(&address, ATTEMPT) {
            // Without a listener on this host, a client may get the port that it dials, and connect to itself.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = FailedAttempt::Later("connection refused".to_owned());
            }
            Ok(stream) => return join(stream, token, place),
            Err(error) => last = later(error),
        }
    }
    Err(last)
}

fn join(
    mut stream: TcpStream,
    token: &Token,
    place: RankPlace,
) -> Result<SealedEnd, FailedAttempt> {
    let later = |error: io::Error| FailedAttempt::Later(error.to_string());
    stream.set_nodelay(true).map_err(later)?;
    let until = Instant::now() + ANSWERED;
    let riddle = hello::USE
        .read_greeting(&read_line(&mut stream, until)?)
        .map_err(FailedAttempt::Refused)?;
    let own = random_bytes().map_err(later)?;
    let said = hello::hello(token, &HelloCaller::own(place), &riddle, &own);
    stream.write_all(said.as_bytes()).map_err(later)?;
    hello::read_welcome(token, place, &riddle, &own, &read_line(&mut stream, until)?)
        .map_err(FailedAttempt::Refused)?;
    SealedEnd::new(stream, hello::USE.key(token, &riddle, &own), FrameSide::Other).map_err(later)
}

/// The next line of rank 0, byte by byte, because frames follow it.
fn read_line(stream: &mut TcpStream, until: Instant) -> Result<String, FailedAttempt> {
    let later = |why: &str| FailedAttempt::Later(why.to_owned());
    let stranger = || FailedAttempt::Refused("the peer is not rank 0 of assay".to_owned());
    stream.set_read_timeout(Some(LOOK)).map_err(|error| FailedAttempt::Later(error.to_string()))?;
    let mut said = Vec::new();
    while said.last() != Some(&b'\n') {
        if Instant::now() >= until {
            return Err(later("the peer sent no data"));
        }
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Err(later("the peer closed the connection")),
            Ok(_) if said.len() < LONGEST_LINE => said.push(byte[0]),
            Ok(_) => return Err(stranger()),
            Err(error) if is_for_now(&error) => {}
            Err(error) => return Err(FailedAttempt::Later(error.to_string())),
        }
    }
    String::from_utf8(said).map_err(|_| stranger())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_others_cannot_reach_it_rank_0_does_not_listen() {
        let own: SocketAddr = "127.0.1.1:7711".parse().unwrap();
        let other: SocketAddr = "10.1.2.3:7711".parse().unwrap();
        let why = reachable("n0:7711", vec![own]).unwrap_err();
        assert!(why.contains("n0 is 127.0.1.1 on this host"), "{why}");
        assert_eq!(reachable("n0:7711", vec![own, other]), Ok(vec![other]));
        assert_eq!(reachable("n0:7711", vec![other]), Ok(vec![other]));
        // Such an address means this host.
        for address in ["127.0.1.1:7711", "localhost:7711"] {
            assert_eq!(reachable(address, vec![own]), Ok(vec![own]));
        }
        assert_eq!(reachable("n0:7711", Vec::new()), Ok(Vec::new()));
    }

    #[test]
    fn an_address_without_a_port_is_refused_at_once() {
        let (stop, until) = (AtomicBool::new(false), Instant::now() + Duration::from_secs(600));
        assert!(bind("n0", until, &stop).unwrap_err().contains("cannot listen on"));
    }
}
