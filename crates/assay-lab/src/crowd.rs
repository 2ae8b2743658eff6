//! A crowd of clients that are slow on purpose, from addresses of this machine: one thread, sockets
//! that do not block, a round a second. Whoever is sent away comes back in the next round.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How often each client does something.
const ROUND: Duration = Duration::from_secs(1);
/// Bytes that a client's kernel takes before it is read from: as few as there may be.
const SMALL: usize = 2048;
/// Beginning of a request that never ends.
const ENDLESS: &str = "GET / HTTP/1.1\r\nX-Slow: ";

/// What a client does each second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// It sends one byte of a request that never ends.
    SendsOneByte,
    /// It has asked once, and reads one byte.
    ReadsOneByte,
    /// It goes on asking and reads nothing.
    NeverReads,
}

/// Clients that go on until this is dropped.
#[derive(Debug)]
pub struct Crowd {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    rounds: AtomicUsize,
    returned: AtomicUsize,
}

impl Crowd {
    /// As many clients of each habit, spread over the addresses, which ask for a path; returns when
    /// each of them has done something.
    pub fn begin(port: u16, addresses: &[Ipv4Addr], habits: &[(Habit, usize)], path: &str) -> Self {
        raise_the_limit();
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let all = habits.iter().flat_map(|(habit, count)| std::iter::repeat_n(*habit, *count));
        let client = |(habit, from): (Habit, &Ipv4Addr)| Client {
            habit,
            from: *from,
            port,
            request: request.clone(),
            stream: None,
            sent: 0,
        };
        let mut clients: Vec<Client> = all.zip(addresses.iter().cycle()).map(client).collect();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            while !own.ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                for client in &mut clients {
                    if client.act().is_none() {
                        own.returned.fetch_add(1, Ordering::Relaxed);
                    }
                }
                own.rounds.fetch_add(1, Ordering::Relaxed);
                while began.elapsed() < ROUND && !own.ends.load(Ordering::Relaxed) {
                    thread::sleep(ROUND / 20);
                }
            }
        });
        let crowd = Self { shared, thread: Some(thread) };
        crowd.wait(2);
        crowd
    }

    /// Waits until so many rounds have passed since the beginning.
    pub fn wait(&self, rounds: usize) {
        while self.shared.rounds.load(Ordering::Relaxed) < rounds {
            thread::sleep(ROUND / 20);
        }
    }

    /// How often a client was sent away.
    pub fn sent_away(&self) -> usize {
        self.shared.returned.load(Ordering::Relaxed)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there was told there.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Client {
    habit: Habit,
    from: Ipv4Addr,
    port: u16,
    request: String,
    stream: Option<TcpStream>,
    /// Bytes of its request that it has sent.
    sent: usize,
}

impl Client {
    /// Does what it does each second; none where it had to go.
    fn act(&mut self) -> Option<()> {
        if self.stream.is_none() {
            self.stream = Some(connected(self.from, self.port)?);
            self.sent = 0;
        }
        let stream = self.stream.as_mut()?;
        let done = match self.habit {
            Habit::SendsOneByte => {
                let byte = ENDLESS.as_bytes().get(self.sent).copied().unwrap_or(b'x');
                stream.write(&[byte]).map(|_| 1)
            }
            Habit::ReadsOneByte if self.sent == 0 => stream.write(self.request.as_bytes()),
            Habit::ReadsOneByte => stream.read(&mut [0]),
            Habit::NeverReads => stream.write(self.request.as_bytes()),
        };
        match done {
            Ok(count) if count > 0 => self.sent += count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => {
                self.stream = None;
                return None;
            }
        }
        Some(())
    }
}

/// A connection from an address of this machine, begun without waiting for it.
fn connected(from: Ipv4Addr, port: u16) -> Option<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).ok()?;
    sockopt::set_socket_recv_buffer_size(&socket, SMALL).ok()?;
    net::bind(&socket, &SocketAddrV4::new(from, 0)).ok()?;
    match net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)) {
        Ok(()) | Err(Errno::INPROGRESS) => Some(TcpStream::from(socket)),
        Err(_) => None,
    }
}

/// A whole answer to an honest request from an address, and how long it took; none where it was cut
/// off.
pub fn honest(from: Ipv4Addr, port: u16, path: &str) -> Option<(Duration, String)> {
    let began = Instant::now();
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    net::bind(&socket, &SocketAddrV4::new(from, 0)).ok()?;
    net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).ok()?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let lines = format!("Host: 127.0.0.1:{port}\r\nConnection: close\r\n");
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{lines}\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let is_whole = answer.starts_with("HTTP/1.1 200") && answer.trim_end().ends_with("</html>");
    is_whole.then(|| (began.elapsed(), answer))
}

/// More open files than usual: a thousand clients are a thousand.
fn raise_the_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A smaller crowd fits into what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
