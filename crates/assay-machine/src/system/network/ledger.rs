//! Count of acknowledged writes that a peer stores for a machine, so the count survives a power cut of that machine. In
//! memory only, under an unguessable key, for one day.
//!
//! Each line is numbered and signed with the key of its connection, so lines cannot be inserted, dropped or replayed.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use assay_core::digest::{Digest, hexadecimal};

use super::handshake::{digest, same, sign};
use super::protocol::Side;

pub const MOST_LEDGERS: usize = 256;
/// Time without messages after which an entry is deleted: one day.
pub const KEPT_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Reports acknowledged writes to a peer, and queries them.
pub trait Ledger {
    fn open(&mut self, trial: &Digest) -> io::Result<()>;

    /// Reports the number of acknowledged writes, one more each time; returns after the peer received it.
    fn tell(&mut self, number: u64) -> io::Result<()>;

    /// Returns the last reported number; `None` if the peer has no such entry.
    fn last_number(&mut self, trial: &Digest) -> io::Result<Option<u64>>;

    fn forget(&mut self, trial: &Digest) -> io::Result<()>;
}

/// Message counters of one connection at one of its ends.
#[derive(Debug)]
pub struct Lines {
    key: Digest,
    own: Side,
    said: u64,
    heard: u64,
}

impl Lines {
    pub const fn new(key: Digest, own: Side) -> Self {
        Self { key, own, said: 0, heard: 0 }
    }

    /// Returns the signed line to send.
    pub fn say(&mut self, text: &str) -> String {
        let mac = line_signature(&self.key, self.own, self.said, text);
        self.said += 1;
        format!("{text} {}\n", hexadecimal(&mac))
    }

    /// Returns the content of a line; `None` unless it is the next line of the other end.
    pub fn hear<'l>(&mut self, line: &'l str) -> Option<&'l str> {
        let (text, mac) = line.trim_end().rsplit_once(' ')?;
        let other = if self.own == Side::Client { Side::Peer } else { Side::Client };
        let wanted = line_signature(&self.key, other, self.heard, text);
        if !same(&wanted, &digest(mac)?) {
            return None;
        }
        self.heard += 1;
        Some(text)
    }
}

fn line_signature(key: &Digest, side: Side, number: u64, text: &str) -> Digest {
    let who: &[u8] = if side == Side::Client { b"ledger asks" } else { b"ledger says" };
    sign(key, &[who, &number.to_be_bytes(), text.as_bytes()])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Open(Digest),
    Tell(u64),
    Ask(Digest),
    Forget(Digest),
}

impl fmt::Display for Order {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(trial) => write!(formatter, "open {}", hexadecimal(trial)),
            Self::Tell(number) => write!(formatter, "tell {number}"),
            Self::Ask(trial) => write!(formatter, "ask {}", hexadecimal(trial)),
            Self::Forget(trial) => write!(formatter, "forget {}", hexadecimal(trial)),
        }
    }
}

impl Order {
    pub fn read(text: &str) -> Option<Self> {
        match text.split_once(' ')? {
            ("open", trial) => digest(trial).map(Self::Open),
            ("tell", number) => number.parse().ok().map(Self::Tell),
            ("ask", trial) => digest(trial).map(Self::Ask),
            ("forget", trial) => digest(trial).map(Self::Forget),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Open,
    Heard(u64),
    Kept(u64),
    Forgotten,
    Unknown,
    Full,
    /// The request does not follow the previous one.
    Wrong,
}

impl fmt::Display for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => formatter.write_str("open"),
            Self::Heard(number) => write!(formatter, "heard {number}"),
            Self::Kept(number) => write!(formatter, "kept {number}"),
            Self::Forgotten => formatter.write_str("forgotten"),
            Self::Unknown => formatter.write_str("unknown"),
            Self::Full => formatter.write_str("full"),
            Self::Wrong => formatter.write_str("wrong"),
        }
    }
}

impl Reply {
    pub fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        match words.as_slice() {
            ["open"] => Some(Self::Open),
            ["heard", number] => number.parse().ok().map(Self::Heard),
            ["kept", number] => number.parse().ok().map(Self::Kept),
            ["forgotten"] => Some(Self::Forgotten),
            ["unknown"] => Some(Self::Unknown),
            ["full"] => Some(Self::Full),
            ["wrong"] => Some(Self::Wrong),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct LedgerBook {
    kept: BTreeMap<Digest, LedgerRecord>,
}

#[derive(Clone, Copy, Debug)]
struct LedgerRecord {
    told: u64,
    heard_ns: u64,
}

impl LedgerBook {
    /// Executes a request of a connection, which may open one ledger (`open`), and returns the reply.
    pub fn answer(&mut self, order: Order, open: &mut Option<Digest>, now_ns: u64) -> Reply {
        // Forgets ledgers of clients that did not write for long.
        self.kept.retain(|_, record| now_ns.saturating_sub(record.heard_ns) < KEPT_NS);
        match order {
            Order::Open(trial) if open.is_some() || self.kept.contains_key(&trial) => Reply::Wrong,
            Order::Open(_) if self.kept.len() >= MOST_LEDGERS => Reply::Full,
            Order::Open(trial) => {
                self.kept.insert(trial, LedgerRecord { told: 0, heard_ns: now_ns });
                *open = Some(trial);
                Reply::Open
            }
            Order::Tell(number) => match open.and_then(|trial| self.kept.get_mut(&trial)) {
                Some(record) if record.told + 1 == number => {
                    *record = LedgerRecord { told: number, heard_ns: now_ns };
                    Reply::Heard(number)
                }
                Some(_) => Reply::Wrong,
                None => Reply::Unknown,
            },
            Order::Ask(trial) => {
                self.kept.get(&trial).map_or(Reply::Unknown, |record| Reply::Kept(record.told))
            }
            Order::Forget(trial) => {
                self.kept.remove(&trial);
                Reply::Forgotten
            }
        }
    }
}

/// Sends a line to a peer and returns its answer.
pub trait Carries {
    fn carry(&mut self, line: &str) -> io::Result<String>;
}

#[derive(Debug)]
pub struct Client<C> {
    lines: Lines,
    carries: C,
}

impl<C: Carries> Client<C> {
    pub const fn new(key: Digest, carries: C) -> Self {
        Self { lines: Lines::new(key, Side::Client), carries }
    }

    fn ask(&mut self, order: Order) -> io::Result<Reply> {
        let said = self.carries.carry(&self.lines.say(&order.to_string()))?;
        let strange = || io::Error::other("the message is not signed with the token");
        let text = self.lines.hear(&said).ok_or_else(strange)?;
        Reply::read(text).ok_or_else(|| io::Error::other("invalid message"))
    }
}

/// The error of a reply that the client did not expect.
fn refused(reply: Reply) -> io::Error {
    io::Error::other(match reply {
        Reply::Full => format!("the peer already stores {MOST_LEDGERS} trials, the maximum"),
        Reply::Unknown => {
            "the peer was restarted or has deleted the records of this trial".to_owned()
        }
        other => format!("unexpected message `{other}`"),
    })
}

impl<C: Carries> Ledger for Client<C> {
    fn open(&mut self, trial: &Digest) -> io::Result<()> {
        match self.ask(Order::Open(*trial))? {
            Reply::Open => Ok(()),
            other => Err(refused(other)),
        }
    }

    fn tell(&mut self, number: u64) -> io::Result<()> {
        match self.ask(Order::Tell(number))? {
            Reply::Heard(heard) if heard == number => Ok(()),
            other => Err(refused(other)),
        }
    }

    fn last_number(&mut self, trial: &Digest) -> io::Result<Option<u64>> {
        match self.ask(Order::Ask(*trial))? {
            Reply::Kept(number) => Ok(Some(number)),
            Reply::Unknown => Ok(None),
            other => Err(refused(other)),
        }
    }

    fn forget(&mut self, trial: &Digest) -> io::Result<()> {
        match self.ask(Order::Forget(*trial))? {
            Reply::Forgotten => Ok(()),
            other => Err(refused(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Digest = [7; 32];

    /// The peer's end, without a connection.
    struct Peer<'b> {
        book: &'b mut LedgerBook,
        lines: Lines,
        open: Option<Digest>,
        now_ns: u64,
    }

    impl<'b> Peer<'b> {
        fn of(book: &'b mut LedgerBook, now_ns: u64) -> Client<Self> {
            let lines = Lines::new(KEY, Side::Peer);
            Client::new(KEY, Self { book, lines, open: None, now_ns })
        }
    }

    impl Carries for Peer<'_> {
        fn carry(&mut self, line: &str) -> io::Result<String> {
            let text = self.lines.hear(line).ok_or_else(|| io::Error::other("strange"))?;
            let order = Order::read(text).ok_or_else(|| io::Error::other("no order"))?;
            let reply = self.book.answer(order, &mut self.open, self.now_ns);
            Ok(self.lines.say(&reply.to_string()))
        }
    }

    #[test]
    fn what_was_told_is_there_for_another_connection_until_it_is_forgotten() {
        let mut book = LedgerBook::default();
        let mut first = Peer::of(&mut book, 1);
        first.open(&[1; 32]).unwrap();
        (1..=3).for_each(|number| first.tell(number).unwrap());
        let mut second = Peer::of(&mut book, 2);
        assert_eq!(second.last_number(&[1; 32]).unwrap(), Some(3));
        assert_eq!(second.last_number(&[2; 32]).unwrap(), None, "that of another trial");
        second.forget(&[1; 32]).unwrap();
        assert_eq!(second.last_number(&[1; 32]).unwrap(), None);
        // A restarted peer has no entries.
        assert_eq!(Peer::of(&mut LedgerBook::default(), 3).last_number(&[1; 32]).unwrap(), None);
    }

    #[test]
    fn promises_are_told_one_after_the_other_and_by_whom_the_ledger_is() {
        let mut book = LedgerBook::default();
        let mut own = Peer::of(&mut book, 1);
        assert!(own.tell(1).unwrap_err().to_string().contains("restarted"));
        own.open(&[1; 32]).unwrap();
        for wrong in [0, 2] {
            assert!(own.tell(wrong).is_err(), "{wrong}");
        }
        own.tell(1).unwrap();
        assert!(own.tell(1).is_err(), "once");
        assert!(own.open(&[2; 32]).is_err(), "one a connection");
        let mut other = Peer::of(&mut book, 1);
        assert!(other.open(&[1; 32]).is_err(), "it is another one's");
        assert!(other.tell(2).is_err());
        assert_eq!(other.last_number(&[1; 32]).unwrap(), Some(1));
    }

    #[test]
    fn there_are_so_many_for_a_day_and_nobody_s_is_given_up_for_another() {
        let mut book = LedgerBook::default();
        let trial = |number: usize| {
            let mut own = [0; 32];
            own[..8].copy_from_slice(&number.to_be_bytes());
            own
        };
        for number in 0..MOST_LEDGERS {
            Peer::of(&mut book, 5).open(&trial(number)).unwrap();
        }
        let full = Peer::of(&mut book, 5).open(&trial(MOST_LEDGERS)).unwrap_err();
        assert!(full.to_string().contains("256 trials"), "{full}");
        assert_eq!(Peer::of(&mut book, 4 + KEPT_NS).last_number(&trial(0)).unwrap(), Some(0));
        assert_eq!(Peer::of(&mut book, 5 + KEPT_NS).last_number(&trial(0)).unwrap(), None);
        Peer::of(&mut book, 5 + KEPT_NS).open(&trial(MOST_LEDGERS)).unwrap();
    }

    #[test]
    fn a_line_of_another_key_another_end_or_another_place_is_none() {
        let say = || Lines::new(KEY, Side::Client).say("tell 1");
        let hears =
            |key: Digest, own: Side, line: &str| Lines::new(key, own).hear(line).map(str::to_owned);
        assert_eq!(hears(KEY, Side::Peer, &say()), Some("tell 1".to_owned()));
        assert_eq!(hears([8; 32], Side::Peer, &say()), None);
        assert_eq!(hears(KEY, Side::Client, &say()), None, "one's own said back");
        assert_eq!(hears(KEY, Side::Peer, &say().replace("tell 1", "tell 2")), None);
        let (line, mut lines) = (say(), Lines::new(KEY, Side::Peer));
        assert_eq!(lines.hear(&line), Some("tell 1"));
        assert_eq!(lines.hear(&line), None, "said again");
        for line in ["", "tell", "tell 1", "tell 1 00\n"] {
            assert_eq!(hears(KEY, Side::Peer, line), None, "{line}");
        }
    }

    #[test]
    fn what_goes_over_the_wire_is_what_it_was() {
        let trial = "01".repeat(32);
        for (order, text) in [
            (Order::Open([1; 32]), format!("open {trial}")),
            (Order::Tell(12), "tell 12".to_owned()),
            (Order::Ask([1; 32]), format!("ask {trial}")),
            (Order::Forget([1; 32]), format!("forget {trial}")),
        ] {
            assert_eq!(order.to_string(), text);
            assert_eq!(Order::read(&text), Some(order));
        }
        for text in ["", "open", "open 00", "tell -1", "tell 1 2", "go 1"] {
            assert_eq!(Order::read(text), None, "{text}");
        }
        for (reply, text) in [
            (Reply::Open, "open"),
            (Reply::Heard(3), "heard 3"),
            (Reply::Kept(0), "kept 0"),
            (Reply::Forgotten, "forgotten"),
            (Reply::Unknown, "unknown"),
            (Reply::Full, "full"),
            (Reply::Wrong, "wrong"),
        ] {
            assert_eq!((reply.to_string().as_str(), Reply::read(text)), (text, Some(reply)));
        }
        assert_eq!([Reply::read("kept"), Reply::read("kept x"), Reply::read("")], [None; 3]);
        let line = Lines::new(KEY, Side::Client).say("tell 1");
        let mac = sign(&KEY, &[b"ledger asks", &[0; 8], b"tell 1"]);
        assert_eq!(line, format!("tell 1 {}\n", hexadecimal(&mac)));
    }
}
