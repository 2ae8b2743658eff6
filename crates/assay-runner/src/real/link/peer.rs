//! The other end of a link. It answers only clients with the token, at their own address, and never
//! sends more than it received. Connections and sessions are limited.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::super::random_bytes;
use super::pump::{self, PumpSpan};
use super::strangers::Strangers;
use super::wire::Wire;
use assay_core::digest::Digest;
use assay_machine::system::network::ledger::{self, LedgerBook, Lines};
use assay_machine::system::network::protocol::{
    self, ConnectionRole, ControlOrder, RateBucket, Side, Way,
};
use assay_machine::system::network::{MOST_STREAMS, SLICE_NS, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

/// Limit on simultaneous connections: two sessions with all streams.
const MOST_CONNECTIONS: usize = 300;
/// Queue of unaccepted connections, large enough for a burst.
const BACKLOG: i32 = 4096;
const AT_ONCE: usize = 64;
const MOST_SESSIONS: usize = 2;
const ADMISSION: Duration = Duration::from_secs(1);
const LONGEST_SESSION: Duration = Duration::from_secs(15 * 60);
const LONGEST_PHASE_MS: u64 = 5 * 60 * 1000;
/// A session without messages ends after this time.
const SILENCE: Duration = Duration::from_secs(10 * 60);
/// Maximum connections that report acknowledged writes, including machines without power.
const MOST_LEDGERS: usize = 32;
/// A machine without promises for this long has no power, or has another reason to be silent.
const SILENT: Duration = Duration::from_secs(3 * 60);
/// How long streams are drained after their phase, to empty the queue.
const AFTER: Duration = Duration::from_secs(1);
const MOST_DATAGRAMS: u64 = 500;
const LOOK_NS: i64 = 100_000_000;
const STACK: usize = 192 << 10;
const NUMBERS_PER_LINE: usize = 16;

#[derive(Clone, Copy, Debug)]
pub struct PeerLimits {
    /// Bytes per second in each direction of a session.
    pub bytes_per_s: u64,
}

impl Default for PeerLimits {
    fn default() -> Self {
        // A 10 Gbit/s link.
        Self { bytes_per_s: 1_250_000_000 }
    }
}

pub struct Peer {
    listener: TcpListener,
    datagrams: UdpSocket,
    shared: Arc<PeerState>,
}

struct PeerState {
    token: Token,
    limits: PeerLimits,
    sessions: Mutex<Vec<Session>>,
    /// Promises of other machines, in memory only.
    book: Mutex<LedgerBook>,
    ledgers: AtomicUsize,
    connections: AtomicUsize,
    strangers: Strangers,
    over: AtomicBool,
    began: Instant,
}

struct Admitted {
    wire: Wire,
    role: ConnectionRole,
    session: u64,
    key: Digest,
}

struct Session {
    number: u64,
    key: Digest,
    address: IpAddr,
    until: Instant,
    /// Number of the last datagram: none is answered twice.
    last: u64,
    bucket: RateBucket,
    up: Vec<TcpStream>,
    down: Vec<TcpStream>,
}

struct OpenConnection {
    shared: Arc<PeerState>,
    stranger: Option<u64>,
    /// Whether it counts as a connection that reports promises.
    is_ledger: bool,
}

impl OpenConnection {
    fn leave_strangers(&mut self) {
        if let Some(id) = self.stranger.take() {
            self.shared.strangers.leave(id);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.leave_strangers();
        self.shared.ledgers.fetch_sub(usize::from(self.is_ledger), Ordering::Relaxed);
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Peer {
    pub fn bind(address: SocketAddr, token: Token, limits: PeerLimits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let datagrams = UdpSocket::bind(listener.local_addr()?)?;
        datagrams.set_nonblocking(true)?;
        let state = PeerState {
            token,
            limits,
            sessions: Mutex::default(),
            book: Mutex::default(),
            ledgers: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            strangers: Strangers::default(),
            over: AtomicBool::new(false),
            began: Instant::now(),
        };
        Ok(Self { listener, datagrams, shared: Arc::new(state) })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves clients until `stop`: returns datagrams, accepts connections, and ends old sessions.
    pub fn serve(&self, stop: &AtomicBool) {
        let time = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        while !stop.load(Ordering::Relaxed) {
            let mut both = [
                PollFd::new(&self.listener, PollFlags::IN),
                PollFd::new(&self.datagrams, PollFlags::IN),
            ];
            if poll(&mut both, Some(&time)).is_err() {
                continue;
            }
            let [connections, datagrams] = both.map(|socket| !socket.revents().is_empty());
            if datagrams {
                self.shared.return_datagrams(&self.datagrams);
            }
            if connections {
                self.accept();
            }
            self.shared.sessions().retain(|session| session.until > Instant::now());
        }
        self.shared.over.store(true, Ordering::Relaxed);
    }

    /// Accepts connections. At the limit, a newcomer replaces another stranger or is rejected.
    fn accept(&self) {
        for _ in 0..AT_ONCE {
            if self.shared.strangers.is_crowded() {
                return thread::sleep(Duration::from_millis(1));
            }
            let (stream, address) = match self.listener.accept() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Out of descriptors, or the client left: try again later.
                Err(_) => return thread::sleep(Duration::from_millis(5)),
            };
            if self.shared.connections.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                continue;
            }
            let Ok(stranger) = self.shared.strangers.join(&stream, address.ip()) else { continue };
            // Only this thread increments it, so the limit is exact.
            self.shared.connections.fetch_add(1, Ordering::Relaxed);
            let connection = OpenConnection {
                shared: Arc::clone(&self.shared),
                stranger: Some(stranger),
                is_ledger: false,
            };
            let meet = move || PeerState::serve_client(connection, stream, address);
            // Without a thread, dropping the closure closes the stream.
            let _ = thread::Builder::new().stack_size(STACK).spawn(meet);
        }
    }
}

impl PeerState {
    fn sessions(&self) -> MutexGuard<'_, Vec<Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns datagrams of authenticated clients, each once, at its received length.
    fn return_datagrams(&self, socket: &UdpSocket) {
        // One byte more than allowed, to detect longer ones.
        let mut bytes = [0; protocol::DATAGRAM + 1];
        for _ in 0..MOST_DATAGRAMS {
            let Ok((length, from)) = socket.recv_from(&mut bytes) else { return };
            let Some(number) = protocol::session_of(&bytes[..length]) else { continue };
            let mut sessions = self.sessions();
            let is_senders =
                |session: &&mut Session| session.number == number && session.address == from.ip();
            let Some(session) = sessions.iter_mut().find(is_senders) else { continue };
            let received = protocol::read_datagram(&session.key, Side::Client, &bytes[..length]);
            let Some(sequence) = received.filter(|sequence| *sequence > session.last) else {
                continue;
            };
            let now_ns = self.began.elapsed().as_nanos() as u64;
            if !session.bucket.take(now_ns) {
                continue;
            }
            session.last = sequence;
            let answer = protocol::datagram(&session.key, Side::Peer, number, sequence);
            // A failed send is a loss, as on any link.
            let _ = socket.send_to(&answer, from);
        }
    }

    fn serve_client(mut connection: OpenConnection, stream: TcpStream, address: SocketAddr) {
        let shared = Arc::clone(&connection.shared);
        // Drops an invalid client without affecting others.
        let Ok(admitted) = shared.admit(&mut connection, stream, address) else { return };
        let Admitted { wire, role, session, key } = admitted;
        match role {
            ConnectionRole::Control => {
                shared.run_phases(wire, session);
                shared.sessions().retain(|own| own.number != session);
            }
            ConnectionRole::Stream { way, .. } => shared.add_stream(wire, way, session),
            ConnectionRole::Ledger => shared.serve_ledger(wire, key),
        }
    }

    /// Checks the token of a connection. A control connection begins a session; a stream joins one.
    fn admit(
        &self,
        connection: &mut OpenConnection,
        stream: TcpStream,
        address: SocketAddr,
    ) -> io::Result<Admitted> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let until = Instant::now() + ADMISSION;
        let (challenge, number) = (random_bytes()?, random_bytes()?);
        let mut wire = Wire::new(stream);
        wire.say(&protocol::USE.greeting(&challenge))?;
        let line = wire.line(until)?;
        let refuse = |wire: &mut Wire, why: &str| {
            let _ = wire.say(&protocol::refusal(why));
            io::Error::from(io::ErrorKind::PermissionDenied)
        };
        let hello = protocol::read_hello(&self.token, &challenge, &line);
        let (role, challenge_of_client) = hello.map_err(|why| refuse(&mut wire, why))?;
        // Before the reply: an authenticated connection must not be replaced.
        connection.leave_strangers();
        let key = protocol::USE.key(&self.token, &challenge, &challenge_of_client);
        // The first eight bytes, big-endian.
        let number = number[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let entered = self.enter(connection, &wire, &role, key, number, address.ip());
        let session = entered.map_err(|why| refuse(&mut wire, why))?;
        wire.say(&protocol::welcome(&self.token, &challenge, &challenge_of_client, session))?;
        Ok(Admitted { wire, role, session, key })
    }

    /// Lets a client with the token in; returns its session (0 for a ledger, which has none), or the code of a refusal.
    fn enter(
        &self,
        connection: &mut OpenConnection,
        wire: &Wire,
        role: &ConnectionRole,
        key: Digest,
        number: u64,
        address: IpAddr,
    ) -> Result<u64, &'static str> {
        match role {
            ConnectionRole::Control => {
                let has_begun = self.begin_session(number, key, address);
                if has_begun { Ok(number) } else { Err("busy") }
            }
            ConnectionRole::Stream { session, way, congestion } => {
                if *way == Way::Down
                    && sockopt::set_tcp_congestion(&wire.stream, congestion).is_err()
                {
                    return Err("congestion");
                }
                if self.has_room(*session, address, *way) { Ok(*session) } else { Err("busy") }
            }
            ConnectionRole::Ledger => {
                connection.is_ledger = true;
                let others = self.ledgers.fetch_add(1, Ordering::Relaxed);
                if others < MOST_LEDGERS { Ok(0) } else { Err("busy") }
            }
        }
    }

    /// Records the promises of a machine, signed line by line, until it is silent for too long.
    fn serve_ledger(&self, mut wire: Wire, key: Digest) {
        let (mut lines, mut open) = (Lines::new(key, Side::Peer), None);
        while !self.over.load(Ordering::Relaxed) {
            let Ok(line) = wire.line(Instant::now() + SILENT) else { return };
            let Some(order) = lines.hear(&line).and_then(ledger::Order::read) else { return };
            let now_ns = self.began.elapsed().as_nanos() as u64;
            let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
            let reply = book.answer(order, &mut open, now_ns);
            drop(book);
            if wire.say(&lines.say(&reply.to_string())).is_err() {
                return;
            }
        }
    }

    /// Registers a session; false at the limit.
    fn begin_session(&self, number: u64, key: Digest, address: IpAddr) -> bool {
        let mut sessions = self.sessions();
        if sessions.len() >= MOST_SESSIONS {
            return false;
        }
        let now_ns = self.began.elapsed().as_nanos() as u64;
        sessions.push(Session {
            number,
            key,
            address,
            until: Instant::now() + LONGEST_SESSION,
            last: 0,
            bucket: RateBucket::new(MOST_DATAGRAMS, now_ns),
            up: Vec::new(),
            down: Vec::new(),
        });
        true
    }

    fn has_room(&self, session: u64, address: IpAddr, way: Way) -> bool {
        self.sessions().iter().any(|own| {
            let streams = if way == Way::Up { &own.up } else { &own.down };
            own.number == session && own.address == address && streams.len() < MOST_STREAMS as usize
        })
    }

    /// Adds a stream to its session for the next phase; drops it at the limit.
    fn add_stream(&self, wire: Wire, way: Way, session: u64) {
        if wire.stream.set_nonblocking(true).is_err() {
            return;
        }
        let mut sessions = self.sessions();
        let Some(own) = sessions.iter_mut().find(|own| own.number == session) else { return };
        let streams = if way == Way::Up { &mut own.up } else { &mut own.down };
        if streams.len() < MOST_STREAMS as usize {
            streams.push(wire.stream);
        }
    }

    /// Runs the phases that the client orders, until it leaves.
    fn run_phases(&self, mut wire: Wire, session: u64) {
        let mut load: Option<PeerThreads> = None;
        let until = Instant::now() + LONGEST_SESSION;
        while !self.over.load(Ordering::Relaxed) {
            let Ok(line) = wire.line(until.min(Instant::now() + SILENCE)) else { break };
            let said = match ControlOrder::read(&line) {
                Some(ControlOrder::Go { up, down, ms })
                    if ms <= LONGEST_PHASE_MS && load.is_none() =>
                {
                    let answer = match self.take_streams(session, up, down) {
                        Some([receives, sends]) => {
                            load = self.start_load(receives, sends, ms);
                            if load.is_some() { "going\n" } else { "no busy\n" }
                        }
                        None => "no streams\n",
                    };
                    wire.say(answer)
                }
                Some(ControlOrder::Report) => {
                    let slices = load.take().map(PeerThreads::finish).unwrap_or_default();
                    slices.chunks(NUMBERS_PER_LINE).try_for_each(|some| {
                        let words: Vec<String> = some.iter().map(u64::to_string).collect();
                        wire.say(&(words.join(" ") + "\n"))
                    })
                }
                _ => break,
            };
            if said.is_err() {
                break;
            }
        }
        if let Some(load) = load {
            load.stop.store(true, Ordering::Relaxed);
            load.finish();
        }
    }

    /// Takes the streams of a phase from the session, the client's `up` and `down`; `None` if some do not arrive.
    fn take_streams(&self, session: u64, up: u32, down: u32) -> Option<[Vec<TcpStream>; 2]> {
        // Another thread registers an admitted stream slightly later: wait up to a second.
        for _ in 0..100 {
            let mut sessions = self.sessions();
            let own = sessions.iter_mut().find(|own| own.number == session)?;
            if own.up.len() == up as usize && own.down.len() == down as usize {
                return Some([std::mem::take(&mut own.up), std::mem::take(&mut own.down)]);
            }
            drop(sessions);
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Starts a thread per direction; `None` if a thread cannot start.
    fn start_load(
        &self,
        received_streams: Vec<TcpStream>,
        sent_streams: Vec<TcpStream>,
        ms: u64,
    ) -> Option<PeerThreads> {
        let began = Instant::now();
        let until = began + Duration::from_millis(ms);
        let slices = (ms * 1_000_000 / SLICE_NS) as usize;
        let most = Some(self.limits.bytes_per_s);
        let stop = Arc::new(AtomicBool::new(false));
        let span = PumpSpan { began, until, slices, most };
        let own = Arc::clone(&stop);
        let receiving = thread::Builder::new().stack_size(STACK).spawn(move || {
            pump::receive(&received_streams, &PumpSpan { until: until + AFTER, ..span }, &own)
        });
        let own = Arc::clone(&stop);
        let sending = thread::Builder::new().stack_size(STACK).spawn(move || {
            pump::send(&sent_streams, &span, &own);
            sent_streams.iter().for_each(pump::cut_off);
        });
        Some(PeerThreads { stop, receiving: receiving.ok()?, sending: sending.ok()? })
    }
}

struct PeerThreads {
    stop: Arc<AtomicBool>,
    receiving: JoinHandle<Vec<u64>>,
    sending: JoinHandle<()>,
}

impl PeerThreads {
    /// Waits for both threads; returns the received bytes by slice.
    fn finish(self) -> Vec<u64> {
        let _ = self.sending.join();
        self.receiving.join().unwrap_or_default()
    }
}
