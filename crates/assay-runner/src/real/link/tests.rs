mod ledger;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use assay_machine::system::network::PhaseJob;

use super::peer::{Peer, PeerLimits};
use super::*;

const SECRET: &str = "what both ends of this test know";

fn token() -> Token {
    Token::new(SECRET).unwrap()
}

/// A peer on loopback, as long as it is there.
struct Served {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Served {
    fn new() -> Self {
        Self::at("127.0.0.1:0")
    }

    fn at(address: &str) -> Self {
        let peer = Peer::bind(address.parse().unwrap(), token(), PeerLimits::default()).unwrap();
        let address = peer.address().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let thread = Some(thread::spawn(move || peer.serve(&stop)));
        Self { address, over, thread }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn is_up(&self) {
        let ran = self.run(&token(), &[short(Load::Up)]).unwrap();
        assert!(ran.phases[0].up_bytes.iter().sum::<u64>() > 0);
    }

    fn run(&self, token: &Token, phases: &[PhaseJob]) -> io::Result<LinkRun> {
        load(&LinkJob {
            peer: &PeerAt::Address(self.address.to_string()),
            token: Some(token),
            streams: 2,
            congestion: "reno",
            probe_ns: 10_000_000,
            phases,
            stop: &AtomicBool::new(false),
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn short(load: Load) -> PhaseJob {
    PhaseJob { load, ramp_ns: 100_000_000, time_ns: 300_000_000 }
}

/// All that a connection still says until it is closed.
fn rest(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_link_is_loaded_each_way_and_probed_meanwhile() {
    let peer = Served::new();
    let ran = peer.run(&token(), &Load::ALL.map(short)).unwrap();
    assert_eq!(ran.congestion, "reno");
    assert_eq!(ran.peer, peer.address.to_string());
    for phase in &ran.phases {
        let sum = |bytes: &[u64]| bytes.iter().sum::<u64>();
        let load = phase.job.load;
        assert_eq!(sum(&phase.up_bytes) > 0, load.goes_up(), "{load:?}");
        assert_eq!(sum(&phase.down_bytes) > 0, load.goes_down(), "{load:?}");
        assert!(phase.probes.iter().any(|probe| probe.rtt_ns.is_some()), "{load:?}");
        assert!(phase.probes.windows(2).all(|two| two[0].sent_ns < two[1].sent_ns));
    }
}

#[test]
fn another_token_another_version_and_nobody_are_told_apart() {
    let peer = Served::new();
    let other = Token::new("what only this end knows, sadly").unwrap();
    let told = |token: &Token| peer.run(token, &[short(Load::Idle)]).unwrap_err().to_string();
    assert!(told(&other).contains("a different token"), "{}", told(&other));
    peer.is_up();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"assay-peer/0 hello\n").unwrap();
        let _ = stream.read(&mut [0; 512]);
    });
    let (_, stream) = connect(&address.to_string()).unwrap();
    let told = sign_in(stream, &token(), &ConnectionRole::Control).err().unwrap().to_string();
    assert!(told.contains("assay-peer/0") && told.contains("both ends"), "{told}");
    old.join().unwrap();
    let told = connect(&address.to_string()).err().unwrap().to_string();
    assert!(told.contains("cannot reach") && told.contains("--listen"), "{told}");
}

#[test]
fn a_peer_is_reached_over_ipv6_where_there_is_one() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return assay_testkit::needs::skip("no IPv6 here");
    };
    drop(listener);
    Served::at("[::1]:0").is_up();
}

#[test]
fn garbage_and_what_is_too_long_are_refused_and_the_peer_stays_up() {
    let peer = Served::new();
    let long = vec![b'x'; 100_000];
    let said: [&[u8]; 6] =
        [b"\n", b"GET / HTTP/1.1\r\n\r\n", &[0xff; 300], &long, b"control 00 00\n", b""];
    for bytes in said {
        let mut stream = peer.connect();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let answer = rest(stream);
        assert!(answer.len() < 200 && !answer.contains("ok "), "{answer}");
    }
    peer.is_up();
}

#[test]
fn what_was_overheard_opens_nothing() {
    let peer = Served::new();
    let mut first = Wire::new(peer.connect());
    let until = || Instant::now() + Duration::from_secs(20);
    let riddle = protocol::USE.read_greeting(&first.line(until()).unwrap()).unwrap();
    let hello = protocol::hello(&token(), &ConnectionRole::Control, &riddle, &[7; 32]);
    first.say(&hello).unwrap();
    assert!(first.line(until()).unwrap().starts_with("ok "));
    let mut again = Wire::new(peer.connect());
    again.line(until()).unwrap();
    again.say(&hello).unwrap();
    assert_eq!(again.line(until()).unwrap(), "no token\n");
    drop(first);
    peer.is_up();
}

fn session(peer: &Served) -> (Wire, u64, Digest) {
    sign_in(peer.connect(), &token(), &ConnectionRole::Control).unwrap()
}

/// Whether a datagram is answered, and with how many bytes.
fn answered(socket: &UdpSocket, bytes: &[u8]) -> Option<usize> {
    socket.send(bytes).unwrap();
    let mut into = [0; 4096];
    socket.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    socket.recv(&mut into).ok()
}

#[test]
fn datagrams_are_answered_once_at_their_own_length_and_only_to_whom_they_are_from() {
    let peer = Served::new();
    let (_wire, number, key) = session(&peer);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(peer.address).unwrap();
    let ask = |own: u64| protocol::datagram(&key, Side::Client, number, own);
    assert_eq!(answered(&socket, &ask(1)), Some(protocol::DATAGRAM));
    assert_eq!(answered(&socket, &ask(1)), None, "said again");
    let said = protocol::datagram(&key, Side::Peer, number, 2);
    assert_eq!(answered(&socket, &said), None, "the peer's own");
    let mut changed = ask(3);
    changed[40] ^= 1;
    assert_eq!(answered(&socket, &changed), None, "changed");
    let other = protocol::datagram(&key, Side::Client, number ^ 1, 4);
    assert_eq!(answered(&socket, &other), None, "of nobody's session");
    let longer = [&ask(5)[..], &[0; 1000]].concat();
    assert_eq!(answered(&socket, &longer), None, "too long");
    assert_eq!(answered(&socket, &ask(6)[..47]), None, "too short");
    assert_eq!(answered(&socket, &[]), None, "empty");
    // From another address of this machine: the session is not its.
    let elsewhere = UdpSocket::bind("127.0.0.2:0").unwrap();
    elsewhere.connect(peer.address).unwrap();
    assert_eq!(answered(&elsewhere, &ask(7)), None, "from elsewhere");
    assert_eq!(answered(&socket, &ask(8)), Some(protocol::DATAGRAM));
}

#[test]
fn datagrams_have_a_rate_that_is_kept() {
    let peer = Served::new();
    let (_wire, number, key) = session(&peer);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(peer.address).unwrap();
    for own in 1..=3000 {
        let _ = socket.send(&protocol::datagram(&key, Side::Client, number, own));
    }
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut came = 0;
    let mut into = [0; 64];
    let began = Instant::now();
    while socket.recv(&mut into).is_ok() {
        came += 1;
    }
    // A second's worth at once, and what the time since gave.
    let most = 500.0 * (2.0 + began.elapsed().as_secs_f64());
    assert!(f64::from(came) <= most, "{came} of {most}");
    assert!(came > 0);
}

#[test]
#[ignore = "nightly: 2 s"]
fn orders_that_make_no_sense_end_the_session_and_no_other() {
    for order in
        ["go 1 1 999999999\n", "go 65 0 100\n", "nonsense\n", "go -1 0 5\n", &"y".repeat(600)]
    {
        let peer = Served::new();
        let (mut wire, ..) = session(&peer);
        wire.say(order).unwrap();
        let said = wire.line(Instant::now() + Duration::from_secs(20));
        assert!(said.as_ref().map_or(true, |line| line.starts_with("no ")), "{order}: {said:?}");
        drop(wire);
        peer.is_up();
    }
}

#[test]
fn sessions_are_few_and_streams_belong_to_one() {
    let peer = Served::new();
    let held = [session(&peer), session(&peer)];
    let told =
        sign_in(peer.connect(), &token(), &ConnectionRole::Control).err().unwrap().to_string();
    assert!(told.contains("busy"), "{told}");
    let stream = |session: u64, congestion: &str| {
        let congestion = congestion.to_owned();
        let role = ConnectionRole::Stream { session, way: Way::Down, congestion };
        sign_in(peer.connect(), &token(), &role).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(stream(held[0].1, "reno"), Ok(()));
    assert!(stream(held[0].1 ^ 1, "reno").unwrap_err().contains("busy"));
    assert!(stream(held[0].1, "no_such").unwrap_err().contains("congestion"));
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_peer_that_dies_is_lost_and_no_good_link() {
    let peer = Served::new();
    let address = PeerAt::Address(peer.address.to_string());
    let ending = thread::spawn(move || {
        thread::sleep(Duration::from_millis(700));
        drop(peer);
    });
    let phases = [PhaseJob { load: Load::Up, ramp_ns: 0, time_ns: 3_000_000_000 }; 2];
    let told = load(&LinkJob {
        peer: &address,
        token: Some(&token()),
        streams: 2,
        congestion: "reno",
        probe_ns: 10_000_000,
        phases: &phases,
        stop: &AtomicBool::new(false),
    });
    ending.join().unwrap();
    let told = told.unwrap_err().to_string();
    assert!(told.contains("lost the connection to the peer"), "{told}");
}
