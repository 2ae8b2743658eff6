//! `assay peer` among strangers: it turns them away, stays up and does not grow.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use assay_lab::process::Running;

use crate::home;

/// Bytes of memory that the peer never reaches.
const MOST_MEMORY: u64 = 64 << 20;
/// Threads of it: one a stranger that it hears out, and its own.
const MOST_THREADS: usize = 100;
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn ten_thousand_connections_are_turned_away_and_nothing_grows() {
    let home = home("peer-crowd");
    let mut command = home.assay.command(&["peer", "--listen", "127.0.0.1:0"]);
    command.env("ASSAY_PEER_TOKEN", "a token of sixteen letters and more");
    let (running, output) = Running::start_reading(&mut command).unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening at ").and_then(|rest| rest.split(';').next());
    let address: SocketAddr = address.unwrap_or_else(|| panic!("{line}")).parse().unwrap();
    let threads = || fs::read_dir(format!("/proc/{}/task", running.id())).unwrap().count();
    let mut held = VecDeque::new();
    for at in 0..10_000 {
        if let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(5)) {
            held.push_back(stream);
        }
        // As many as this process may have open, some hundreds: they say nothing and stay.
        if held.len() > 300 {
            held.pop_front();
        }
        if at % 500 == 0 {
            // One that has let its stranger go ends a moment later, on a busy machine many do.
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
    // Strangers are gone when they have, or after five seconds: then it hears the next one out.
    let until = Instant::now() + LIMIT;
    while answer(address).is_empty() {
        assert!(Instant::now() < until, "it says nothing any more");
    }
    running.signal("INT").unwrap();
    assert_eq!(running.end(LIMIT).unwrap().code, 0);
}

/// What it says to somebody who talks nonsense; nothing where it turns him away at once.
fn answer(address: SocketAddr) -> String {
    let mut said = Vec::new();
    let Ok(mut stream) = TcpStream::connect_timeout(&address, LIMIT) else { return String::new() };
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let _ = stream.write_all(b"nonsense\n");
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}
