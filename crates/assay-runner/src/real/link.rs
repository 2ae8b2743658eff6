//! Network load between two ends: the client opens streams and probes; the [`peer`] checks the token.

pub mod ledger;
pub mod peer;
mod pump;
mod strangers;
mod wire;

pub(super) use wire::is_for_now;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use assay_core::digest::Digest;
use assay_machine::system::network::protocol::{self, ConnectionRole, ControlOrder, Side, Way};
use assay_machine::system::network::{
    LinkJob, LinkRun, Load, NetworkProbe, PeerAt, PhaseJob, PhaseRun, SLICE_NS, Token, lab,
};
use pump::PumpSpan;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use wire::Wire;

const CONNECT: Duration = Duration::from_secs(6);
/// Timeout for the peer's answer to an order: on a full link, it comes after all queued data.
const ANSWER: Duration = Duration::from_secs(20);
const LATE: Duration = Duration::from_secs(2);
/// Number of recent probes whose answers may still arrive.
const AWAITED_PROBES: usize = 1024;
const DRAIN: Duration = Duration::from_secs(6);
/// A round trip less than this above that of an idle link shows that the queue is empty.
const DRAINED: Duration = Duration::from_millis(5);
const LOOK: Duration = Duration::from_millis(50);

/// Runs the phases of a job against its peer, or against a peer that it starts in the lab.
pub fn load(job: &LinkJob<'_>) -> io::Result<LinkRun> {
    match job.peer {
        PeerAt::Address(address) => {
            let token = job.token.ok_or_else(|| link_error("no token given"))?;
            LinkClient::begin(address, token, job)?.run(job)
        }
        PeerAt::Lab => load_in_lab(job),
    }
}

/// Runs both ends in the lab's network namespaces, as threads of this process.
fn load_in_lab(job: &LinkJob<'_>) -> io::Result<LinkRun> {
    let token = Token::drawn(&super::random_bytes()?);
    let (token, over) = (&token, &AtomicBool::new(false));
    let (listening, listens) = mpsc::channel();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            enter_namespace(lab::SERVER)?;
            let address: SocketAddr = lab::ADDRESS.parse().map_err(|_| link_error("no address"))?;
            let peer = peer::Peer::bind(address, token.clone(), peer::PeerLimits::default())?;
            // The receiver is gone only if the client has ended.
            let _ = listening.send(());
            peer.serve(over);
            io::Result::Ok(())
        });
        let client = scope.spawn(move || {
            enter_namespace(lab::CLIENT)?;
            listens.recv().map_err(|_| link_error("the peer does not listen"))?;
            LinkClient::begin(lab::ADDRESS, token, job)?.run(job)
        });
        let ran = client.join();
        over.store(true, Ordering::Relaxed);
        let served = server.join();
        let ran = ran.unwrap_or_else(|_| Err(link_error("the load stopped early")));
        match served.unwrap_or_else(|_| Err(link_error("the peer stopped early"))) {
            Err(error) => Err(error),
            Ok(()) => ran,
        }
    })
}

fn enter_namespace(space: &str) -> io::Result<()> {
    let file = std::fs::File::open(Path::new(lab::PLACE).join(space))
        .map_err(|error| link_error(format!("the namespace {space} no longer exists: {error}")))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).map_err(|error| {
        link_error(format!("cannot enter the namespace {space}: {}", io::Error::from(error)))
    })
}

pub(super) fn link_error(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

fn lost(error: &io::Error) -> io::Error {
    link_error(format!("lost the connection to the peer: {error}"))
}

struct LinkClient<'t> {
    address: SocketAddr,
    token: &'t Token,
    control: Wire,
    session: u64,
    key: Digest,
    probe: UdpSocket,
    next: u64,
}

impl<'t> LinkClient<'t> {
    /// Connects to the peer, begins a session, and opens a socket for probes.
    fn begin(peer: &str, token: &'t Token, job: &LinkJob<'_>) -> io::Result<Self> {
        let (address, stream) = connect(peer)?;
        if job.stop.load(Ordering::Relaxed) {
            return Err(link_error("interrupted"));
        }
        let (control, session, key) = sign_in(stream, token, &ConnectionRole::Control)?;
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let probe = UdpSocket::bind((any, 0))?;
        probe.connect(address)?;
        probe.set_nonblocking(true)?;
        Ok(Self { address, token, control, session, key, probe, next: 1 })
    }

    /// Runs all phases in order; stops between them if the user interrupts.
    fn run(mut self, job: &LinkJob<'_>) -> io::Result<LinkRun> {
        let began = Instant::now();
        let stopped = || job.stop.load(Ordering::Relaxed);
        let (mut phases, mut congestion) = (Vec::new(), String::new());
        for (index, phase) in job.phases.iter().enumerate() {
            if index > 0 {
                self.drain(job);
            }
            if stopped() {
                break;
            }
            let began_ns = began.elapsed().as_nanos() as u64;
            let (run, used) = self
                .run_phase(job, *phase, began_ns)
                .map_err(|error| link_error(format!("phase {}: {error}", phase.load.name())))?;
            phases.push(run);
            if !used.is_empty() {
                congestion = used;
            }
        }
        Ok(LinkRun { phases, peer: self.address.to_string(), congestion, stopped: stopped() })
    }

    /// Runs one phase; also returns the congestion control of its streams, empty without streams.
    fn run_phase(
        &mut self,
        job: &LinkJob<'_>,
        phase: PhaseJob,
        began_ns: u64,
    ) -> io::Result<(PhaseRun, String)> {
        if phase.load == Load::Idle {
            let probes = self.ping(job, phase, Instant::now());
            let none = || vec![0; slices(phase)];
            let run =
                PhaseRun { job: phase, began_ns, probes, up_bytes: none(), down_bytes: none() };
            return Ok((run, String::new()));
        }
        let open_streams = |is_used: bool, way: Way| -> io::Result<Vec<TcpStream>> {
            let number = if is_used { job.streams } else { 0 };
            (0..number).map(|_| self.open_stream(way, job.congestion)).collect()
        };
        let up = open_streams(phase.load.goes_up(), Way::Up)?;
        let down = open_streams(phase.load.goes_down(), Way::Down)?;
        let congestion = up.first().or(down.first()).map(sockopt::tcp_congestion);
        let congestion = congestion.transpose()?.unwrap_or_default();
        let go = ControlOrder::Go {
            up: up.len() as u32,
            down: down.len() as u32,
            ms: phase.whole_ns() / 1_000_000,
        };
        self.send_order(go, "going")?;
        let began = Instant::now();
        let time = Duration::from_nanos(phase.whole_ns());
        let span = PumpSpan { began, until: began + time, slices: slices(phase), most: None };
        let (probes, down_bytes) = thread::scope(|scope| {
            let sender = scope.spawn(|| pump::send(&up, &span, job.stop));
            let receiver = scope.spawn(|| pump::receive(&down, &span, job.stop));
            let probes = self.ping(job, phase, began);
            let _ = sender.join();
            (probes, receiver.join().unwrap_or_default())
        });
        // Discard data in the local buffers.
        up.iter().chain(&down).for_each(pump::cut_off);
        drop((up, down));
        let up_bytes = self.request_report(slices(phase), job.stop)?;
        Ok((PhaseRun { job: phase, began_ns, probes, up_bytes, down_bytes }, congestion))
    }

    fn open_stream(&self, way: Way, congestion: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&self.address, CONNECT).map_err(|e| lost(&e))?;
        sockopt::set_tcp_congestion(&stream, congestion).map_err(|_| {
            link_error(format!(
                "congestion control {congestion} is unavailable or needs root; see sysctl \
                 net.ipv4.tcp_available_congestion_control"
            ))
        })?;
        let congestion = congestion.to_owned();
        let role = ConnectionRole::Stream { session: self.session, way, congestion };
        let (wire, ..) = sign_in(stream, self.token, &role)?;
        wire.stream.set_nonblocking(true)?;
        Ok(wire.stream)
    }

    /// Sends an order; fails unless the peer replies with `answer`.
    fn send_order(&mut self, order: ControlOrder, answer: &str) -> io::Result<()> {
        self.control.say(&order.to_string()).map_err(|error| lost(&error))?;
        let said = self.control.line(Instant::now() + ANSWER).map_err(|error| lost(&error))?;
        if said.trim() == answer {
            return Ok(());
        }
        Err(link_error("the peer did not respond to a request"))
    }

    /// Bytes that reached the peer, by slice. This may take a while if the link is full.
    fn request_report(&mut self, slices: usize, stop: &AtomicBool) -> io::Result<Vec<u64>> {
        self.control.say(&ControlOrder::Report.to_string()).map_err(|error| lost(&error))?;
        let until = Instant::now() + ANSWER;
        let mut bytes = Vec::new();
        while bytes.len() < slices && !stop.load(Ordering::Relaxed) {
            let line = self.control.line(until).map_err(|error| lost(&error))?;
            let before = bytes.len();
            bytes.extend(line.split_whitespace().map_while(|word| word.parse::<u64>().ok()));
            if bytes.len() == before {
                return Err(link_error("the peer sent an invalid report"));
            }
        }
        bytes.truncate(slices);
        Ok(bytes)
    }

    /// Sends datagrams at a constant rate during a phase, and receives the answers.
    fn ping(&mut self, job: &LinkJob<'_>, phase: PhaseJob, began: Instant) -> Vec<NetworkProbe> {
        let first = self.next;
        let end = began + Duration::from_nanos(phase.whole_ns());
        // At most 1000 probes per second.
        let interval = Duration::from_nanos(job.probe_ns.max(1_000_000));
        let mut probes: Vec<NetworkProbe> = Vec::new();
        let mut sent: Vec<Instant> = Vec::new();
        let mut next_at = began.max(Instant::now());
        loop {
            let now = Instant::now();
            // Older ones without an answer are lost.
            let has_open =
                probes.iter().rev().take(AWAITED_PROBES).any(|probe| probe.rtt_ns.is_none());
            let is_over = now >= end && (!has_open || now >= end + LATE);
            if is_over || job.stop.load(Ordering::Relaxed) {
                break;
            }
            if now >= next_at && now < end {
                let question = protocol::datagram(&self.key, Side::Client, self.session, self.next);
                self.next += 1;
                let sent_at = Instant::now();
                // A failed send counts as lost; the analysis detects a missed rate.
                let _ = self.probe.send(&question);
                let sent_ns = sent_at.duration_since(began).as_nanos() as u64;
                probes.push(NetworkProbe { sent_ns, rtt_ns: None });
                sent.push(sent_at);
                next_at += interval;
                // After a stall, missed probes are not sent.
                if next_at < now {
                    next_at = now + interval;
                }
            }
            let next = if next_at < end { next_at } else { end + LATE };
            let wait = next.saturating_duration_since(Instant::now()).min(LOOK);
            if let Some(number) = self.receive_answer(wait)
                && let Some(index) = number.checked_sub(first).map(|index| index as usize)
                && let (Some(probe), Some(sent)) = (probes.get_mut(index), sent.get(index))
            {
                let rtt_ns = sent.elapsed().as_nanos() as u64;
                probe.rtt_ns = probe.rtt_ns.or(Some(rtt_ns));
            }
        }
        probes
    }

    /// The number of a returned datagram; `None` on timeout.
    fn receive_answer(&self, wait: Duration) -> Option<u64> {
        let mut bytes = [0; 2 * protocol::DATAGRAM];
        // The socket's timeout has the resolution of the kernel's tick, which is too coarse.
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut socket = [PollFd::new(&self.probe, PollFlags::IN)];
        if !poll(&mut socket, Some(&time)).is_ok_and(|ready| ready > 0) {
            return None;
        }
        let length = self.probe.recv(&mut bytes).ok()?;
        protocol::read_datagram(&self.key, Side::Peer, &bytes[..length])
    }

    /// Waits until three answers in a row are fast: the queues of the last phase are empty.
    fn drain(&mut self, job: &LinkJob<'_>) {
        let until = Instant::now() + DRAIN;
        let mut fast = 0;
        while Instant::now() < until && fast < 3 && !job.stop.load(Ordering::Relaxed) {
            let number = self.next;
            self.next += 1;
            let sent = Instant::now();
            let question = protocol::datagram(&self.key, Side::Client, self.session, number);
            let _ = self.probe.send(&question);
            let mut is_answered = false;
            while !is_answered && sent.elapsed() < 4 * LOOK {
                is_answered = self.receive_answer(LOOK) == Some(number);
            }
            fast = if is_answered && sent.elapsed() < DRAINED { fast + 1 } else { 0 };
            thread::sleep(LOOK.saturating_sub(sent.elapsed()));
        }
    }
}

fn slices(phase: PhaseJob) -> usize {
    (phase.whole_ns() / SLICE_NS) as usize
}

/// Connects to the first address of a peer that accepts; explains why none does.
fn connect(peer: &str) -> io::Result<(SocketAddr, TcpStream)> {
    let unknown =
        |error: &io::Error| link_error(format!("peer {peer}: cannot resolve the name: {error}"));
    let mut last = None;
    for address in peer.to_socket_addrs().map_err(|error| unknown(&error))? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok((address, stream)),
            Err(error) => last = Some((address, error)),
        }
    }
    let Some((address, error)) = last else {
        return Err(link_error(format!("peer {peer} has no address")));
    };
    let hint = match error.kind() {
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable
            if address.is_ipv4() =>
        {
            "; this machine has no IPv4 route to the peer; use its IPv6 address, [ADDRESS]:PORT"
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::AddrNotAvailable => {
            "; this machine has no IPv6 route to the peer; use its IPv4 address"
        }
        io::ErrorKind::ConnectionRefused => {
            "; start assay peer on that machine with --listen and this address"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "; the peer does not answer; check the firewall"
        }
        _ => "",
    };
    Err(link_error(format!("cannot reach peer {address}: {error}{hint}")))
}

/// Shows the token to the peer; returns the connection, its session, and the key of the session.
fn sign_in(
    stream: TcpStream,
    token: &Token,
    role: &ConnectionRole,
) -> io::Result<(Wire, u64, Digest)> {
    stream.set_nodelay(true)?;
    let until = Instant::now() + CONNECT;
    let mut wire = Wire::new(stream);
    let greeting = wire.line(until).map_err(|error| lost(&error))?;
    let challenge = protocol::USE.read_greeting(&greeting).map_err(link_error)?;
    let own_challenge = super::random_bytes()?;
    wire.say(&protocol::hello(token, role, &challenge, &own_challenge))
        .map_err(|error| lost(&error))?;
    let answer = wire.line(until).map_err(|error| lost(&error))?;
    let refusal = |why| io::Error::new(io::ErrorKind::PermissionDenied, why);
    let session =
        protocol::read_welcome(token, &challenge, &own_challenge, &answer).map_err(refusal)?;
    Ok((wire, session, protocol::USE.key(token, &challenge, &own_challenge)))
}

#[cfg(test)]
mod tests;
