//! A browser that speaks plain HTTP over a socket and looks at every byte.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// No answer takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser of one server on this machine.
#[derive(Debug)]
pub struct Browser {
    /// The server's port.
    pub port: u16,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Headers, the names in lower case.
    headers: Vec<(String, String)>,
    /// What followed.
    pub body: String,
}

impl Answer {
    /// The first header of a name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl Browser {
    /// A browser for the server at a port.
    pub fn new(port: u16) -> Self {
        Self { port }
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &self.host(), &[])
    }

    /// Asks with a method, a host and more headers.
    pub fn ask(&self, method: &str, path: &str, host: &str, headers: &[&str]) -> Answer {
        let more = headers.iter().fold(String::new(), |all, line| all + line + "\r\n");
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"
        ))
    }

    /// Sends anything and reads until the end.
    pub fn raw(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may have closed its end.
        let _ = stream.write_all(request.as_bytes());
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        let mut bytes = Vec::new();
        let _ = reader.read_to_end(&mut bytes);
        Answer { status, headers, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Begins a request and leaves it at that.
    pub fn begin(&self, start: &str) -> Slow {
        let mut stream = self.connect();
        stream.write_all(start.as_bytes()).unwrap();
        Slow { stream }
    }

    /// Listens to events, as a browser does after the last one that it has heard.
    pub fn events(&self, path: &str, last: Option<&str>) -> Events {
        let mut stream = self.connect();
        let last = last.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let host = self.host();
        let head_lines = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{last}\r\n");
        stream.write_all(head_lines.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader);
        assert_eq!(status, 200, "{headers:?}");
        let kind = headers.iter().find(|(name, _)| name == "content-type").unwrap();
        assert_eq!(kind.1, "text/event-stream");
        Events { reader, line: Vec::new(), id: String::new() }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let began = Instant::now();
    let mut line = Vec::new();
    let mut next = || {
        line.clear();
        while began.elapsed() < LIMIT {
            match reader.read_until(b'\n', &mut line) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
                Ok(_) => break,
            }
        }
        String::from_utf8_lossy(&line).trim().to_owned()
    };
    let status = next().split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut headers = Vec::new();
    loop {
        let line = next();
        let Some((name, value)) = line.split_once(": ") else { return (status, headers) };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
}

/// A request that is never finished.
#[derive(Debug)]
pub struct Slow {
    stream: TcpStream,
}

impl Slow {
    /// Whether the server ends it.
    pub fn ends_within(&mut self, limit: Duration) -> bool {
        self.stream.set_read_timeout(Some(limit)).unwrap();
        let mut told = Vec::new();
        self.stream.read_to_end(&mut told).is_ok()
    }
}

/// Events of one connection.
#[derive(Debug)]
pub struct Events {
    reader: BufReader<TcpStream>,
    line: Vec<u8>,
    id: String,
}

impl Events {
    /// The next event: its id and what it says; none when the server ends them.
    pub fn next(&mut self, limit: Duration) -> Option<(String, Value)> {
        let began = Instant::now();
        while began.elapsed() < limit {
            match self.reader.read_until(b'\n', &mut self.line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(_) => return None,
            }
            let line = String::from_utf8_lossy(&self.line).trim_end().to_owned();
            self.line.clear();
            // Lengths of chunks stand on lines of their own.
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut self.id);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((self.id.clone(), serde_json::from_str(data).unwrap()));
            } else if line == "0" {
                return None;
            }
        }
        panic!("no event in {limit:?}");
    }
}
