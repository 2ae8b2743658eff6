//! Handshake of a connection between two ends that share a token. The listener sends a unique challenge, so recorded
//! answers cannot be replayed; the dialer proves that it knows the token and sends its own challenge, which the
//! listener answers likewise. The token is never sent.
//!
//! A [`Use`] defines the purpose: its labels are part of every signature, so messages of one use are invalid in
//! another, even with the same token.

use std::fmt;

use assay_core::digest::{Digest, hexadecimal};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Maximum length of a line in bytes, including its end; longer ones are rejected.
pub const LONGEST_LINE: usize = 512;
const SHORTEST_TOKEN: usize = 16;
const LONGEST_TOKEN: usize = 1024;

#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(..)")
    }
}

impl Token {
    /// Parses the token in a text, ignoring surrounding space.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let advice = "create a token of at least 16 characters: head -c 24 /dev/urandom | base64";
        match text.len() {
            0 => Err(format!("no token; {advice}")),
            length if length < SHORTEST_TOKEN => Err(format!("the token is too short; {advice}")),
            length if length > LONGEST_TOKEN => Err("the token is too long".to_owned()),
            _ => Ok(Self(text.as_bytes().to_vec())),
        }
    }

    pub fn drawn(random: &Digest) -> Self {
        Self(hexadecimal(random).into_bytes())
    }

    pub fn sign(&self, parts: &[&[u8]]) -> Digest {
        sign(&assay_core::digest::sha256(&self.0), parts)
    }
}

/// The HMAC of some parts, each with its length before it.
pub fn sign(key: &Digest, parts: &[&[u8]]) -> Digest {
    // HMAC pads a key with zeros to the block size of the hash.
    let mut padded_key = [0; 64];
    padded_key[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&padded_key.into());
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Compares two values in constant time.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Parses a hash, or a number of its length, in hexadecimal.
pub fn digest(text: &str) -> Option<Digest> {
    let mut found = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in found.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(found)
}

#[derive(Debug)]
pub struct Use {
    /// Greeting of the listener: a name, `/` and the version of the protocol.
    pub version: &'static str,
    /// Distinct labels in the signatures of the dialer and the listener, and of the key.
    pub labels: [&'static [u8]; 3],
    pub listener: &'static str,
    pub ends: &'static str,
    /// Noun of the expected server, for errors if another one answers.
    pub sort: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeAnswer<'a> {
    /// The listener accepts and proves its knowledge of the token; further data.
    Taken { shown: Digest, more: Option<&'a str> },
    /// The listener rejects the connection, with a reason.
    Refused(&'a str),
}

impl Use {
    pub fn greeting(&self, riddle: &Digest) -> String {
        format!("{} {}\n", self.version, hexadecimal(riddle))
    }

    /// Returns the riddle (challenge) in a listener's greeting; an error for another program or protocol version.
    pub fn read_greeting(&self, line: &str) -> Result<Digest, String> {
        let own = self.version;
        let words: Vec<&str> = line.split_whitespace().collect();
        let version = words.first().copied().unwrap_or_default();
        if let [_, riddle] = words[..]
            && version == own
            && let Some(riddle) = digest(riddle)
        {
            return Ok(riddle);
        }
        if version != own && name_of(version).is_some() && name_of(version) == name_of(own) {
            return Err(format!(
                "{} uses {}, but this machine uses {own}; use the same assay version on {}",
                self.listener,
                assay_core::outside::spelled(version),
                self.ends
            ));
        }
        Err(format!("no {} responds", self.sort))
    }

    /// Answer of the dialer: purpose, its own challenge, and the proof that it knows the token.
    pub fn hello(&self, token: &Token, what: &str, riddle: &Digest, challenge: &Digest) -> String {
        let mac = token.sign(&[self.labels[0], what.as_bytes(), riddle, challenge]);
        format!("{what} {} {}\n", hexadecimal(challenge), hexadecimal(&mac))
    }

    /// Returns purpose and challenge of a dialer that knows the token: its line `PURPOSE CHALLENGE MAC` signs our
    /// `riddle`. The error is the word of the refusal.
    pub fn read_hello<'a>(
        &self,
        token: &Token,
        riddle: &Digest,
        line: &'a str,
    ) -> Result<(&'a str, Digest), &'static str> {
        let mut words = line.split_whitespace();
        let purpose = words.next().ok_or("garbage")?;
        let challenge = words.next().and_then(digest).ok_or("garbage")?;
        let mac = words.next().and_then(digest).ok_or("garbage")?;
        if words.next().is_some() {
            return Err("garbage");
        }
        let wanted = token.sign(&[self.labels[0], purpose.as_bytes(), riddle, &challenge]);
        if same(&wanted, &mac) { Ok((purpose, challenge)) } else { Err("token") }
    }

    /// The listener's signature, which proves that it knows the token and sent `said`.
    fn proof(&self, token: &Token, riddle: &Digest, challenge: &Digest, said: &[u8]) -> Digest {
        token.sign(&[self.labels[1], riddle, challenge, said])
    }

    /// Answer of the listener to an accepted dialer: a signature of both challenges (the listener's `riddle`, the
    /// dialer's `challenge`) and of `said`, then the unsigned `more`.
    pub fn welcome(
        &self,
        token: &Token,
        riddle: &Digest,
        challenge: &Digest,
        said: &[u8],
        more: &str,
    ) -> String {
        let mac = hexadecimal(&self.proof(token, riddle, challenge, said));
        let space = if more.is_empty() { "" } else { " " };
        format!("ok {mac}{space}{more}\n")
    }

    /// Parses the answer of a listener. Fails if it is invalid or the tokens differ.
    pub fn read_answer<'a>(&self, line: &'a str) -> Result<HandshakeAnswer<'a>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (mac, more) = match words[..] {
            ["ok", mac] => (mac, None),
            ["ok", mac, more] => (mac, Some(more)),
            ["no", "token"] => {
                return Err(format!(
                    "{} has a different token; use the same token on {}",
                    self.listener, self.ends
                ));
            }
            ["no", why] => return Ok(HandshakeAnswer::Refused(why)),
            _ => return Err(self.strange()),
        };
        let shown = digest(mac).ok_or_else(|| self.strange())?;
        Ok(HandshakeAnswer::Taken { shown, more })
    }

    /// Fails unless the signature `shown` proves that the listener knows the token and sent `said`.
    pub fn check(
        &self,
        token: &Token,
        riddle: &Digest,
        challenge: &Digest,
        said: &[u8],
        shown: &Digest,
    ) -> Result<(), String> {
        if same(&self.proof(token, riddle, challenge, said), shown) {
            return Ok(());
        }
        Err(format!("{} does not know the token", self.listener))
    }

    pub fn strange(&self) -> String {
        format!("{} sent an invalid message", self.listener)
    }

    pub fn key(&self, token: &Token, riddle: &Digest, own: &Digest) -> Digest {
        token.sign(&[self.labels[2], riddle, own])
    }
}

fn name_of(version: &str) -> Option<&str> {
    version.split_once('/').map(|(name, _)| name)
}

/// Message of the listener to a rejected dialer.
pub fn refusal(why: &str) -> String {
    format!("no {why}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Use = Use {
        version: "assay-one/3",
        labels: [b"one dials", b"one answers", b"one follows"],
        listener: "the first",
        ends: "both sides",
        sort: "number one",
    };
    const OTHER: Use = Use { labels: [b"other dials", b"other answers", b"other follows"], ..ONE };
    const RIDDLE: &Digest = &[1; 32];
    const OWN: &Digest = &[2; 32];

    fn token() -> Token {
        Token::new("a token of some length").unwrap()
    }

    #[test]
    fn a_token_is_not_guessed_and_not_shown() {
        assert!(Token::new("short").unwrap_err().contains("16 characters"));
        assert!(Token::new(" \n").unwrap_err().contains("no token"));
        assert_eq!(format!("{:?}", token()), "Token(..)");
    }

    #[test]
    fn a_token_has_from_16_to_1024_letters() {
        let of = |length: usize| Token::new(&format!(" {}\n", "x".repeat(length))).map(drop);
        assert!(of(15).unwrap_err().starts_with("the token is too short"));
        assert_eq!((of(16), of(1024)), (Ok(()), Ok(())));
        assert_eq!(of(1025).unwrap_err(), "the token is too long");
        assert_eq!(
            Token::new(&"x".repeat(16)).unwrap(),
            Token::new(&format!("\t{}", "x".repeat(16))).unwrap()
        );
        assert!(Token::drawn(&[1; 32]) != Token::drawn(&[2; 32]));
        assert_eq!(Token::drawn(&[171; 32]), Token::new(&"ab".repeat(32)).unwrap());
    }

    #[test]
    fn hashes_are_read_and_nothing_else_is() {
        assert_eq!(digest(&"zz".repeat(32)), None);
        assert_eq!(digest(&"01".repeat(31)), None);
        assert_eq!(digest(&"0a".repeat(32)), Some([10; 32]));
    }

    #[test]
    fn whoever_knows_the_token_is_known() {
        assert_eq!(ONE.read_greeting(&ONE.greeting(&[1; 32])), Ok([1; 32]));
        let line = ONE.hello(&token(), "x/y", RIDDLE, OWN);
        assert!(line.len() < LONGEST_LINE && !line.contains("a token"));
        assert_eq!(ONE.read_hello(&token(), &[1; 32], &line), Ok(("x/y", [2; 32])));
        let line = ONE.welcome(&token(), RIDDLE, OWN, b"7", "seven");
        let Ok(HandshakeAnswer::Taken { shown, more: Some("seven") }) = ONE.read_answer(&line)
        else {
            panic!("{line}")
        };
        assert_eq!(ONE.check(&token(), RIDDLE, OWN, b"7", &shown), Ok(()));
        let why = ONE.check(&token(), RIDDLE, OWN, b"8", &shown).unwrap_err();
        assert_eq!(why, "the first does not know the token");
    }

    /// With one token for both, recorded messages are invalid in another use, and cannot be reflected.
    #[test]
    fn a_token_shown_for_one_use_is_none_for_another() {
        let line = ONE.hello(&token(), "x/y", RIDDLE, OWN);
        assert_eq!(OTHER.read_hello(&token(), &[1; 32], &line), Err("token"));
        let line = ONE.welcome(&token(), RIDDLE, OWN, b"7", "");
        let Ok(HandshakeAnswer::Taken { shown, more: None }) = ONE.read_answer(&line) else {
            panic!("{line}")
        };
        assert!(OTHER.check(&token(), RIDDLE, OWN, b"7", &shown).is_err());
        assert_ne!(ONE.key(&token(), RIDDLE, OWN), OTHER.key(&token(), RIDDLE, OWN));
        let said = ONE.hello(&token(), "7", RIDDLE, OWN);
        let own = said.split_whitespace().last().and_then(digest).unwrap();
        assert!(
            ONE.check(&token(), RIDDLE, OWN, b"7", &own).is_err(),
            "its own words are no answer"
        );
    }

    /// HMAC-SHA256 by RFC 2104, of each part with its length before it.
    #[test]
    fn what_is_signed_is_fixed_to_the_byte() {
        let mac = sign(&[7; 32], &[b"ab", b""]);
        assert_eq!(mac, by_hand(&[7; 32], b"\0\0\0\0\0\0\0\x02ab\0\0\0\0\0\0\0\0"));
    }

    fn by_hand(key: &[u8; 32], text: &[u8]) -> Digest {
        let padded =
            |with: u8| -> Vec<u8> { key.iter().chain(&[0; 32]).map(|byte| byte ^ with).collect() };
        let inner = assay_core::digest::sha256([padded(0x36), text.to_vec()].concat());
        assay_core::digest::sha256([padded(0x5c), inner.to_vec()].concat())
    }
}
