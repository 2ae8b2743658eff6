//! Lines over a connection, each with a time limit and a maximum length.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use assay_machine::system::network::handshake::LONGEST_LINE;

pub struct Wire {
    pub stream: TcpStream,
    rest: Vec<u8>,
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, rest: Vec::new() }
    }

    /// Reads the next line; fails on timeout, on a line that is too long or not text, or if the peer is gone.
    pub fn line(&mut self, until: Instant) -> io::Result<String> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let after = self.rest.split_off(end + 1);
                let line = std::mem::replace(&mut self.rest, after);
                return String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into());
            }
            if self.rest.len() >= LONGEST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not answer"));
            }
            self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            let mut bytes = [0; LONGEST_LINE];
            let room = LONGEST_LINE - self.rest.len();
            match self.stream.read(&mut bytes[..room]) {
                Ok(0) => {
                    let gone = "the peer closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, gone));
                }
                Ok(length) => self.rest.extend_from_slice(&bytes[..length]),
                Err(error) if is_for_now(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn say(&mut self, line: &str) -> io::Result<()> {
        self.stream.set_write_timeout(Some(Duration::from_secs(20)))?;
        self.stream.write_all(line.as_bytes())
    }
}

pub fn is_for_now(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
