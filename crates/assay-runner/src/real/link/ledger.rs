//! The client of a promise ledger: it reports promises to a peer, and reads them back after its power loss.

use std::io;
use std::time::{Duration, Instant};

use super::wire::Wire;
use super::{connect, sign_in};
use assay_machine::system::network::Token;
use assay_machine::system::network::ledger::{Carries, Client, Ledger};
use assay_machine::system::network::protocol::ConnectionRole;

/// Timeout for the peer's answer: it has no other work.
const ANSWER: Duration = Duration::from_secs(20);

pub fn reach(peer: &str, token: &Token) -> io::Result<Box<dyn Ledger>> {
    let (_, stream) = connect(peer)?;
    let (wire, _, key) = sign_in(stream, token, &ConnectionRole::Ledger)?;
    Ok(Box::new(Client::new(key, wire)))
}

impl Carries for Wire {
    fn carry(&mut self, line: &str) -> io::Result<String> {
        self.say(line)?;
        self.line(Instant::now() + ANSWER)
    }
}
