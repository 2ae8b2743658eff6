//! Protocol between both ends of a link. Connections begin with the common handshake ([`super::handshake`]). Datagrams
//! are signed with a session key, and answers have the length of requests, which prevents amplification.

use std::fmt;

use assay_core::digest::Digest;

use super::Token;
pub use super::handshake::refusal;
use super::handshake::{HandshakeAnswer, Use, same, sign};

/// A peer and its client, with the version of the protocol.
pub static USE: Use = Use {
    version: "assay-peer/1",
    labels: [b"client", b"peer", b"datagrams"],
    listener: "the peer",
    ends: "both ends",
    sort: "assay peer",
};
/// Bytes of each datagram, in both directions.
pub const DATAGRAM: usize = 48;
pub const PORT: u16 = 7710;
pub const TOKEN_VARIABLE: &str = "ASSAY_PEER_TOKEN";
pub const TOKEN_FILE_VARIABLE: &str = "ASSAY_PEER_TOKEN_FILE";

/// Direction of a stream, from the client's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionRole {
    /// Begins a session with its parameters.
    Control,
    /// One stream of a session.
    Stream { session: u64, way: Way, congestion: String },
    /// Reports or queries acknowledged writes ([`super::ledger`]).
    Ledger,
}

impl fmt::Display for ConnectionRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => formatter.write_str("control"),
            Self::Ledger => formatter.write_str("ledger"),
            Self::Stream { session, way, congestion } => {
                let way = if *way == Way::Up { "up" } else { "down" };
                write!(formatter, "stream:{session:016x}:{way}:{congestion}")
            }
        }
    }
}

impl ConnectionRole {
    fn read(text: &str) -> Option<Self> {
        match text {
            "control" => return Some(Self::Control),
            "ledger" => return Some(Self::Ledger),
            _ => {}
        }
        let mut parts = text.strip_prefix("stream:")?.split(':');
        let session = u64::from_str_radix(parts.next()?, 16).ok()?;
        let way = match parts.next()? {
            "up" => Way::Up,
            "down" => Way::Down,
            _ => return None,
        };
        let congestion = parts.next()?;
        (is_congestion(congestion) && parts.next().is_none()).then(|| Self::Stream {
            session,
            way,
            congestion: congestion.to_owned(),
        })
    }
}

/// Returns whether a text may be the name of a congestion control.
pub fn is_congestion(name: &str) -> bool {
    let fits = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
    (1..=15).contains(&name.len()) && name.chars().all(fits)
}

pub fn hello(token: &Token, role: &ConnectionRole, riddle: &Digest, own: &Digest) -> String {
    USE.hello(token, &role.to_string(), riddle, own)
}

/// Returns purpose and challenge of a dialer that knows the token.
pub fn read_hello(
    token: &Token,
    riddle: &Digest,
    line: &str,
) -> Result<(ConnectionRole, Digest), &'static str> {
    let (role, own) = USE.read_hello(token, riddle, line)?;
    Ok((ConnectionRole::read(role).ok_or("garbage")?, own))
}

/// Message of the peer to a dialer with the token, with the peer's own proof.
pub fn welcome(token: &Token, riddle: &Digest, own: &Digest, session: u64) -> String {
    USE.welcome(token, riddle, own, &session.to_be_bytes(), &format!("{session:016x}"))
}

/// The session that a welcome names. Fails if the peer refused it or does not know the token itself.
pub fn read_welcome(
    token: &Token,
    riddle: &Digest,
    own: &Digest,
    line: &str,
) -> Result<u64, String> {
    match USE.read_answer(line)? {
        HandshakeAnswer::Taken { shown, more: Some(session) } => {
            let session = u64::from_str_radix(session, 16).map_err(|_| USE.strange())?;
            USE.check(token, riddle, own, &session.to_be_bytes(), &shown)?;
            Ok(session)
        }
        HandshakeAnswer::Refused("busy") => {
            Err("the peer is busy with other clients; try again later".to_owned())
        }
        HandshakeAnswer::Refused("congestion") => {
            Err("the peer's kernel does not support this congestion control".to_owned())
        }
        // The peer parsed the rest of the message, so it does not know this word.
        HandshakeAnswer::Refused("garbage") => Err(format!(
            "the peer is an older assay that does not record acknowledged writes; use the same version on {}",
            USE.ends
        )),
        HandshakeAnswer::Taken { more: None, .. } | HandshakeAnswer::Refused(_) => {
            Err(USE.strange())
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Peer,
}

/// A signed datagram: session and number of a probe. A signature of one side is invalid for the other.
pub fn datagram(key: &Digest, side: Side, session: u64, number: u64) -> [u8; DATAGRAM] {
    let mut bytes = [0; DATAGRAM];
    bytes[..8].copy_from_slice(&session.to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    let mac = sign(key, &[if side == Side::Client { b"ask" } else { b"say" }, &bytes[..16]]);
    bytes[16..48].copy_from_slice(&mac);
    bytes
}

/// Session in the header of a datagram; `None` for another length.
pub fn session_of(bytes: &[u8]) -> Option<u64> {
    (bytes.len() == DATAGRAM).then(|| number(&bytes[..8]))
}

/// The number of a datagram that was signed with this key.
pub fn read_datagram(key: &Digest, side: Side, bytes: &[u8]) -> Option<u64> {
    let session = session_of(bytes)?;
    let told = number(&bytes[8..16]);
    same(&datagram(key, side, session, told), bytes).then_some(told)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlOrder {
    /// Load this many streams in each direction for this many milliseconds.
    Go { up: u32, down: u32, ms: u64 },
    /// Return the result.
    Report,
}

impl fmt::Display for ControlOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go { up, down, ms } => writeln!(formatter, "go {up} {down} {ms}"),
            Self::Report => formatter.write_str("report\n"),
        }
    }
}

impl ControlOrder {
    pub fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["go", up, down, ms] => Some(Self::Go {
                up: up.parse().ok()?,
                down: down.parse().ok()?,
                ms: ms.parse().ok()?,
            }),
            ["report"] => Some(Self::Report),
            _ => None,
        }
    }
}

/// Token bucket: permits `per_second` events per second, in bursts of at most one second's events.
#[derive(Clone, Copy, Debug)]
pub struct RateBucket {
    per_second: u64,
    tokens: f64,
    then_ns: u64,
}

impl RateBucket {
    pub fn new(per_second: u64, now_ns: u64) -> Self {
        Self { per_second, tokens: per_second as f64, then_ns: now_ns }
    }

    /// Adds the tokens of the time since the last call, at most those of 1 s, and takes one; `false` if there is none.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let passed = now_ns.saturating_sub(self.then_ns) as f64 / 1e9;
        let most = self.per_second as f64;
        self.tokens = (self.tokens + passed * most).min(most);
        self.then_ns = now_ns;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::handshake::LONGEST_LINE;
    use super::*;

    const VERSION: &str = USE.version;

    fn token() -> Token {
        Token::new("a token of some length").unwrap()
    }

    #[test]
    fn both_ends_show_that_they_know_the_token() {
        let (riddle, own) = ([1; 32], [2; 32]);
        assert_eq!(USE.read_greeting(&USE.greeting(&riddle)), Ok(riddle));
        let role =
            ConnectionRole::Stream { session: 7, way: Way::Down, congestion: "cubic".to_owned() };
        for role in [ConnectionRole::Control, ConnectionRole::Ledger, role] {
            let line = hello(&token(), &role, &riddle, &own);
            assert!(line.len() < LONGEST_LINE && !line.contains("a token"));
            assert_eq!(read_hello(&token(), &riddle, &line), Ok((role, own)));
            // A recorded message, replayed to another challenge.
            assert_eq!(read_hello(&token(), &[3; 32], &line), Err("token"));
            let other = Token::new("another token, as long").unwrap();
            assert_eq!(read_hello(&other, &riddle, &line), Err("token"));
        }
        let line = welcome(&token(), &riddle, &own, 9);
        assert_eq!(read_welcome(&token(), &riddle, &own, &line), Ok(9));
        assert!(read_welcome(&token(), &[3; 32], &own, &line).is_err());
        assert!(read_welcome(&token(), &riddle, &own, "no token").unwrap_err().contains("same"));
    }

    #[test]
    fn garbage_is_turned_away() {
        let riddle = [1; 32];
        let zeros = "0".repeat(64);
        for line in ["", "\n", "control", "GET / HTTP/1.1", "\u{0}\u{1}", &"x".repeat(511)] {
            assert!(read_hello(&token(), &riddle, line).is_err(), "{line}");
            assert_eq!(ControlOrder::read(line), None);
        }
        assert_eq!(
            read_hello(&token(), &riddle, &format!("control {zeros} {zeros}")),
            Err("token")
        );
        for role in
            ["stream:7:up:cubic:x", "stream:7:sideways:cubic", "stream:7:up:CUBIC", "stream:z:up:a"]
        {
            assert_eq!(ConnectionRole::read(role), None, "{role}");
        }
        assert!(USE.read_greeting("assay-peer/2 00").unwrap_err().contains("assay-peer/2"));
        assert!(USE.read_greeting("SSH-2.0-x").unwrap_err().contains("no assay peer"));
        assert!(USE.read_greeting(&format!("{VERSION} 00")).is_err());
    }

    #[test]
    fn a_datagram_is_answered_with_as_many_bytes_and_another_signature() {
        let key = USE.key(&token(), &[1; 32], &[2; 32]);
        let asked = datagram(&key, Side::Client, 5, 6);
        let said = datagram(&key, Side::Peer, 5, 6);
        assert_eq!(asked.len(), said.len());
        assert_eq!(session_of(&asked), Some(5));
        assert_eq!(read_datagram(&key, Side::Client, &asked), Some(6));
        assert_eq!(read_datagram(&key, Side::Peer, &asked), None, "one's own is no answer");
        assert_eq!(read_datagram(&key, Side::Peer, &said), Some(6));
        let mut changed = asked;
        changed[9] ^= 1;
        assert_eq!(read_datagram(&key, Side::Client, &changed), None);
        assert_eq!(session_of(&asked[..47]), None);
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        for order in [ControlOrder::Go { up: 16, down: 0, ms: 5000 }, ControlOrder::Report] {
            assert_eq!(ControlOrder::read(&order.to_string()), Some(order));
        }
        assert_eq!(ControlOrder::read("go 1 1"), None);
        assert_eq!(ControlOrder::read("go 1 -1 5"), None);
    }

    #[test]
    fn a_bucket_gives_so_many_a_second() {
        let mut own = RateBucket::new(10, 0);
        assert_eq!((0..20).filter(|_| own.take(0)).count(), 10);
        assert_eq!((0..20).filter(|_| own.take(500_000_000)).count(), 5);
        assert!(!own.take(0), "a clock that goes back gives nothing");
    }

    /// The ends may be of different builds: the wire format is fixed.
    #[test]
    fn what_goes_over_the_wire_is_what_it_was() {
        let (riddle, own) = ([1; 32], [2; 32]);
        let role =
            ConnectionRole::Stream { session: 0xab, way: Way::Up, congestion: "bbr".to_owned() };
        assert_eq!(role.to_string(), "stream:00000000000000ab:up:bbr");
        let down =
            ConnectionRole::Stream { session: 1, way: Way::Down, congestion: "bbr2_x".to_owned() };
        assert_eq!(down.to_string(), "stream:0000000000000001:down:bbr2_x");
        assert_eq!(ConnectionRole::read(&down.to_string()), Some(down));
        assert_eq!(USE.greeting(&riddle), format!("assay-peer/1 {}\n", "01".repeat(32)));
        let line = hello(&token(), &role, &riddle, &own);
        let head = format!("stream:00000000000000ab:up:bbr {} ", "02".repeat(32));
        assert!(line.starts_with(&head) && line.ends_with('\n'), "{line}");
        let line = welcome(&token(), &riddle, &own, 0xab);
        assert!(line.starts_with("ok ") && line.ends_with(" 00000000000000ab\n"), "{line}");
        assert_eq!(refusal("busy"), "no busy\n");
        assert!(hello(&token(), &ConnectionRole::Ledger, &riddle, &own).starts_with("ledger 0202"));
        assert_eq!(ControlOrder::Go { up: 16, down: 2, ms: 5000 }.to_string(), "go 16 2 5000\n");
        assert_eq!(ControlOrder::Report.to_string(), "report\n");
        let key = USE.key(&token(), &riddle, &own);
        let told = datagram(&key, Side::Client, 0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
        assert_eq!(told[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(told[8..16], [17, 18, 19, 20, 21, 22, 23, 24]);
        assert_eq!(read_datagram(&key, Side::Client, &told), Some(0x1112_1314_1516_1718));
        assert_eq!(session_of(&told), Some(0x0102_0304_0506_0708));
        assert_eq!(USE.labels, [b"client".as_slice(), b"peer", b"datagrams"]);
    }

    #[test]
    fn each_answer_of_a_peer_says_what_to_do() {
        let (riddle, own) = ([1; 32], [2; 32]);
        let told = |line: &str| read_welcome(&token(), &riddle, &own, line).unwrap_err();
        assert!(told("no token").starts_with("the peer has a different token"));
        assert!(told("no busy").starts_with("the peer is busy"));
        assert!(told("no congestion").contains("does not support this congestion control"));
        assert!(told("no garbage").starts_with("the peer is an older assay that does not record"));
        for line in ["", "no", "no busy now", "no milk", "ok", "ok 0 0", "ok 0 zz"] {
            assert_eq!(told(line), "the peer sent an invalid message", "{line}");
        }
        let other = Token::new("another token, as long").unwrap();
        let foreign = welcome(&other, &riddle, &own, 9);
        assert_eq!(told(&foreign), "the peer does not know the token");
        // A session ID of another connection is rejected.
        let line = welcome(&token(), &riddle, &own, 9).replace("09\n", "08\n");
        assert_eq!(told(&line), "the peer does not know the token");
    }

    #[test]
    fn a_congestion_control_has_a_name_of_up_to_15_letters() {
        for name in ["a", "bbr2_x", "abcdefghijklmno", "9"] {
            assert!(is_congestion(name), "{name}");
        }
        for name in ["", "abcdefghijklmnop", "Bbr", "b-r", "b r", "b:r"] {
            assert!(!is_congestion(name), "{name}");
        }
    }

    #[test]
    fn a_greeting_is_that_of_this_version_and_no_more() {
        let riddle = "01".repeat(32);
        assert_eq!(USE.read_greeting(&format!("{VERSION} {riddle}")), Ok([1; 32]));
        for line in [format!("{VERSION} {riddle} x"), VERSION.to_owned(), String::new()] {
            assert_eq!(USE.read_greeting(&line).unwrap_err(), "no assay peer responds");
        }
        let other = USE.read_greeting(&format!("assay-peer/2 {riddle}")).unwrap_err();
        assert!(other.ends_with("use the same assay version on both ends"), "{other}");
    }

    #[test]
    fn a_bucket_holds_a_second_at_most_and_fills_as_time_goes() {
        let mut own = RateBucket::new(10, 1_000_000_000);
        let mut taken = |ms: u64| (0..30).filter(|_| own.take(ms * 1_000_000)).count();
        assert_eq!(taken(1000), 10);
        assert_eq!(taken(1099), 0);
        assert_eq!(taken(1200), 2);
        assert_eq!(taken(60_000), 10, "no more than a second's worth");
    }
}
