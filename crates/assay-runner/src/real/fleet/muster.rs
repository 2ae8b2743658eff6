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
    challenge: Digest,
    received: Vec<u8>,
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
    let mut admission = RankAdmission {
        listener,
        token,
        ranks,
        strangers: Vec::new(),
        connected: BTreeMap::new(),
        turned_away: 0,
        version_mismatch: None,
    };
    while admission.connected.len() + 1 < ranks as usize {
        if stop.load(Ordering::Relaxed) {
            return admission.dismiss("interrupted before all ranks connected".to_owned());
        }
        if Instant::now() >= until {
            let why = admission.describe_missing(wait);
            return admission.dismiss(why);
        }
        if let Some(why) = admission.version_mismatch.take() {
            return admission.dismiss(why);
        }
        admission.serve();
    }
    admission.turned_away += admission.strangers.len() as u64;
    Ok(Sockets::new(admission.connected, admission.turned_away))
}

/// Listens on the address of rank 0. Waits for its name for up to a minute, but not after `until`.
fn bind(address: &str, until: Instant, stop: &AtomicBool) -> Result<TcpListener, String> {
    let refused = |error: &io::Error| match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            format!("{address} is not an address of this host; run rank 0 on the host that has it")
        }
        _ => format!("cannot listen on {address}: {error}"),
    };
    let limit = until.min(Instant::now() + NAMED);
    let all: Vec<SocketAddr> = loop {
        match address.to_socket_addrs() {
            Ok(all) => break all.collect(),
            // A host name may appear together with its rank, but not forever.
            Err(error) if is_over(limit, stop) || error.kind() == io::ErrorKind::InvalidInput => {
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
    let (loopback, reachable): (Vec<SocketAddr>, Vec<_>) =
        all.into_iter().partition(|address| address.ip().is_loopback());
    match loopback.first() {
        Some(address) if reachable.is_empty() => Err(format!(
            "{name} is {} on this host, which other hosts cannot reach; use an address of rank 0",
            address.ip()
        )),
        _ => Ok(reachable),
    }
}

fn is_over(until: Instant, stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed) || Instant::now() >= until
}

struct RankAdmission<'a> {
    listener: TcpListener,
    token: &'a Token,
    ranks: u32,
    strangers: Vec<FleetStranger>,
    connected: BTreeMap<u32, SealedEnd>,
    turned_away: u64,
    /// A rank with the token that does not fit ends the study for all: no other can take its place.
    version_mismatch: Option<String>,
}

impl RankAdmission<'_> {
    fn describe_missing(&self, wait: Duration) -> String {
        let missing = (1..self.ranks).filter(|rank| !self.connected.contains_key(rank));
        // Eight ranks are enough to find the cause.
        let names: Vec<String> = missing.take(8).map(|rank| rank.to_string()).collect();
        let refused = match self.turned_away {
            0 => String::new(),
            count => format!(" ({count} connections were refused)"),
        };
        format!(
            "only {} of {} ranks connected within {} s; missing: rank {}{refused}",
            self.connected.len() + 1,
            self.ranks,
            wait.as_secs(),
            names.join(", ")
        )
    }

    /// Sends all connected ranks the reason for the end, and returns it as an error.
    fn dismiss<T>(mut self, why: String) -> Result<T, String> {
        let message = Message::End { why: Some(why.clone()) };
        for end in self.connected.values_mut() {
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
        for mut peer in std::mem::take(&mut self.strangers) {
            match peer.hear() {
                Ok(Some(line)) => self.admit(peer, &line),
                Ok(None) if peer.since.elapsed() < ADMISSION => waiting.push(peer),
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

    /// Greets a connection; at the limit, it replaces another peer.
    fn greet(&mut self, stream: TcpStream, address: IpAddr) {
        if self.strangers.len() >= MOST_STRANGERS {
            let strangers = self.strangers.iter().enumerate();
            let waiting: Vec<(usize, IpAddr, Instant)> =
                strangers.map(|(index, other)| (index, other.address, other.since)).collect();
            let Some(index) = crowd::select_to_drop(&waiting) else { return };
            self.strangers.remove(index);
            self.turned_away += 1;
        }
        let Ok(challenge) = random_bytes() else { return };
        let greeted = stream
            .set_nonblocking(true)
            .and_then(|()| (&stream).write_all(hello::USE.greeting(&challenge).as_bytes()));
        match greeted {
            Ok(()) => {
                let (since, received) = (Instant::now(), Vec::new());
                self.strangers.push(FleetStranger { stream, address, since, challenge, received });
            }
            Err(_) => self.turned_away += 1,
        }
    }

    /// Checks the version and rank of a caller with the token; fails with the code of the refusal.
    fn check_place(&mut self, caller: &HelloCaller, address: IpAddr) -> Result<(), &'static str> {
        let place = caller.place;
        if let Some(why) = caller.version_mismatch() {
            self.version_mismatch = Some(format!("{address}: {why}"));
            return Err("version");
        }
        if place.ranks != self.ranks {
            return Err("size");
        }
        if place.leads() || self.connected.contains_key(&place.rank) {
            return Err("taken");
        }
        Ok(())
    }

    /// Admits a peer whose answer is right; refuses others with a reason.
    fn admit(&mut self, peer: FleetStranger, line: &str) {
        let FleetStranger { mut stream, challenge, address, .. } = peer;
        let checked = hello::read_hello(self.token, &challenge, line).and_then(|(caller, own)| {
            self.check_place(&caller, address)?;
            Ok((caller.place, own))
        });
        let (place, challenge_of_caller) = match checked {
            Ok(found) => found,
            Err(why) => {
                self.turned_away += 1;
                let _ = stream.write_all(hello::refusal(why).as_bytes());
                return;
            }
        };
        let key = hello::USE.key(self.token, &challenge, &challenge_of_caller);
        let welcome = hello::welcome(self.token, place, &challenge, &challenge_of_caller);
        let taken = stream
            .write_all(welcome.as_bytes())
            .and_then(|()| SealedEnd::new(stream, key, FrameSide::Zero));
        if let Ok(end) = taken {
            self.connected.insert(place.rank, end);
        }
    }
}

impl FleetStranger {
    /// Returns the complete line; `None` until it ends. Fails if the peer leaves, or sends anything but a short line.
    fn hear(&mut self) -> Result<Option<String>, ()> {
        let mut bytes = [0; LONGEST_LINE];
        let room = LONGEST_LINE - self.received.len();
        match self.stream.read(&mut bytes[..room]) {
            Ok(0) => return Err(()),
            Ok(read) => self.received.extend_from_slice(&bytes[..read]),
            Err(error) if is_for_now(&error) => return Ok(None),
            Err(_) => return Err(()),
        }
        match self.received.iter().position(|byte| *byte == b'\n') {
            // Without a welcome, no data may follow.
            Some(end) if end + 1 == self.received.len() => {
                String::from_utf8(std::mem::take(&mut self.received)).map(Some).map_err(|_| ())
            }
            None if self.received.len() < LONGEST_LINE => Ok(None),
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
            Err(JoinFailure::Refused(why)) => return Err(format!("{address}: {why}")),
            Err(JoinFailure::Later(why)) => why,
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

enum JoinFailure {
    /// A later attempt will not succeed either.
    Refused(String),
    Later(String),
}

/// Connects to the first address of rank 0 that accepts, and joins there.
fn attempt(address: &str, token: &Token, place: RankPlace) -> Result<SealedEnd, JoinFailure> {
    let later = |error: io::Error| JoinFailure::Later(error.to_string());
    // A host name may appear together with its rank.
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(later)?.collect();
    let mut last = JoinFailure::Later("the name has no address".to_owned());
    for address in addresses {
        match TcpStream::connect_timeout(&address, ATTEMPT) {
            // Without a listener on this host, a client may get the port that it dials, and connect to itself.
            Ok(stream) if stream.local_addr().ok() == stream.peer_addr().ok() => {
                last = JoinFailure::Later("connection refused".to_owned());
            }
            Ok(stream) => return join(stream, token, place),
            Err(error) => last = later(error),
        }
    }
    Err(last)
}

/// Performs the handshake with rank 0: both ends prove with the other's challenge that they have the token.
fn join(mut stream: TcpStream, token: &Token, place: RankPlace) -> Result<SealedEnd, JoinFailure> {
    let later = |error: io::Error| JoinFailure::Later(error.to_string());
    stream.set_nodelay(true).map_err(later)?;
    let until = Instant::now() + ANSWERED;
    let challenge =
        hello::USE.read_greeting(&read_line(&mut stream, until)?).map_err(JoinFailure::Refused)?;
    let own_challenge = random_bytes().map_err(later)?;
    let said = hello::hello(token, &HelloCaller::own(place), &challenge, &own_challenge);
    stream.write_all(said.as_bytes()).map_err(later)?;
    hello::read_welcome(token, place, &challenge, &own_challenge, &read_line(&mut stream, until)?)
        .map_err(JoinFailure::Refused)?;
    SealedEnd::new(stream, hello::USE.key(token, &challenge, &own_challenge), FrameSide::Other)
        .map_err(later)
}

/// Reads the next line of rank 0, byte by byte: the bytes after it belong to the first frame.
fn read_line(stream: &mut TcpStream, until: Instant) -> Result<String, JoinFailure> {
    let later = |why: &str| JoinFailure::Later(why.to_owned());
    let not_rank_zero = || JoinFailure::Refused("the peer is not rank 0 of assay".to_owned());
    stream.set_read_timeout(Some(LOOK)).map_err(|error| JoinFailure::Later(error.to_string()))?;
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        if Instant::now() >= until {
            return Err(later("the peer sent no data"));
        }
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Err(later("the peer closed the connection")),
            Ok(_) if line.len() < LONGEST_LINE => line.push(byte[0]),
            Ok(_) => return Err(not_rank_zero()),
            Err(error) if is_for_now(&error) => {}
            Err(error) => return Err(JoinFailure::Later(error.to_string())),
        }
    }
    String::from_utf8(line).map_err(|_| not_rank_zero())
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
