//! `assay peer` with unknown clients: it rejects them, keeps running and does not grow.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ChildStdout;
use std::time::{Duration, Instant};

use assay_machine::system::network::Token;
use assay_machine::system::network::protocol::{self, ConnectionRole};
use assay_testkit::home::Home;
use assay_testkit::process::Running;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::home;

/// Memory limit of the peer in bytes.
const MOST_MEMORY: u64 = 64 << 20;
/// Maximum number of its threads: one per client, and the main thread.
const MOST_THREADS: usize = 100;
const LIMIT: Duration = Duration::from_secs(60);
pub const SECRET: &str = "a token of sixteen letters and more";

/// Starts a peer; returns it with its address. Its output stays open while it runs.
pub fn peer(home: &Home) -> (Running, ChildStdout, SocketAddr) {
    let mut command = home.assay.command(&["peer", "--listen", "127.0.0.1:0"]);
    command.env("ASSAY_PEER_TOKEN", SECRET);
    let (running, mut output) = Running::start_reading(&mut command).unwrap();
    let mut line = String::new();
    BufReader::new(&mut output).read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening on ").and_then(|rest| rest.split(';').next());
    let address = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    (running, output, address)
}

#[test]
#[ignore = "nightly: 2 s"]
fn ten_thousand_connections_are_turned_away_and_nothing_grows() {
    let home = home("peer-crowd");
    let (running, _output, address) = peer(&home);
    let threads = || fs::read_dir(format!("/proc/{}/task", running.id())).unwrap().count();
    let mut held = VecDeque::new();
    for at in 0..10_000 {
        if let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            held.push_back(stream);
        }
        // As many as this process may open, some hundreds: silent and open.
        if held.len() > 300 {
            held.pop_front();
        }
        if at % 500 == 0 {
            // A session ends shortly after rejecting its client, several on a busy machine.
            let until = Instant::now() + LIMIT;
            while threads() >= MOST_THREADS {
                assert!(Instant::now() < until, "{} threads", threads());
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    let memory = running.most_memory().unwrap();
    assert!(memory < MOST_MEMORY, "{memory} bytes");
    drop(held);
    // New clients replace one of them.
    let until = Instant::now() + LIMIT;
    while answer(address).is_empty() {
        assert!(Instant::now() < until, "it sends nothing any more");
    }
    running.signal("INT").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 0);
}

#[test]
#[ignore = "nightly: 2 s"]
fn an_honest_peer_is_greeted_among_any_number_of_silent_strangers() {
    let had = getrlimit(Resource::Nofile);
    let most = had.maximum.unwrap_or(u64::MAX);
    let wanted = Rlimit { current: Some(most.min(20_000)), maximum: had.maximum };
    setrlimit(Resource::Nofile, wanted).unwrap();
    let home = home("peer-strangers");
    for strangers in [0, 64, 1000, 10_000] {
        if most < strangers + 1000 {
            assay_testkit::needs::skip(&format!("only {most} files may be open"));
            break;
        }
        let (running, _output, address) = peer(&home);
        let silent: Vec<TcpStream> =
            (0..strangers).map(|_| TcpStream::connect_timeout(&address, LIMIT).unwrap()).collect();
        // From the same address as all others.
        (0..5).for_each(|_| greeted(address));
        drop(silent);
        running.signal("INT").unwrap();
        assert_eq!(running.end(LIMIT).unwrap().code, 0);
    }
}

/// Sends the token and is accepted eventually: an ended session may still occupy its place.
fn greeted(address: SocketAddr) {
    let (token, own) = (Token::new(SECRET).unwrap(), [7; 32]);
    let until = Instant::now() + LIMIT;
    loop {
        let stream = TcpStream::connect_timeout(&address, LIMIT).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut lines = BufReader::new(&stream);
        let mut line = || {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            line
        };
        let riddle = protocol::USE.read_greeting(&line()).unwrap();
        let hello = protocol::hello(&token, &ConnectionRole::Control, &riddle, &own);
        (&stream).write_all(hello.as_bytes()).unwrap();
        match protocol::read_welcome(&token, &riddle, &own, &line()) {
            Ok(_) => return,
            Err(why) => assert!(why.contains("busy") && Instant::now() < until, "{why}"),
        }
    }
}

/// Returns its answer to invalid input; nothing if it disconnects at once.
fn answer(address: SocketAddr) -> String {
    let mut said = Vec::new();
    let Ok(mut stream) = TcpStream::connect_timeout(&address, LIMIT) else { return String::new() };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let _ = stream.write_all(b"nonsense\n");
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}
