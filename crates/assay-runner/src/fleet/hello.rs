//! The handshake with rank 0: a rank names itself and its version; other versions are rejected.

use assay_core::digest::Digest;
use assay_core::outside;
use assay_machine::system::network::Token;
use assay_machine::system::network::handshake::{HandshakeAnswer, Use};
pub use assay_machine::system::network::handshake::{LONGEST_LINE, refusal};

use super::ranks::RankPlace;

/// The handshake between rank 0 and another rank; includes the protocol version.
pub static USE: Use = Use {
    version: "assay-fleet/1",
    labels: [b"fleet rank", b"fleet zero", b"fleet frames"],
    listener: "rank 0",
    ends: "all hosts",
    sort: "fleet of assay",
};
pub const ASSAY: &str = env!("CARGO_PKG_VERSION");
const LONGEST_VERSION: usize = 40;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelloCaller {
    pub place: RankPlace,
    pub assay: String,
}

impl HelloCaller {
    pub fn own(place: RankPlace) -> Self {
        Self { place, assay: ASSAY.to_owned() }
    }

    /// Parses RANK/RANKS/VERSION.
    fn parse(text: &str) -> Option<Self> {
        let (rank, rest) = text.split_once('/')?;
        let (ranks, assay) = rest.split_once('/')?;
        let place = RankPlace::new(rank.parse().ok()?, ranks.parse().ok()?).ok()?;
        let assay = outside::spelled(assay).chars().take(LONGEST_VERSION).collect();
        Some(Self { place, assay })
    }

    /// Returns why a rank of another version cannot join; `None` if the versions match.
    pub fn version_mismatch(&self) -> Option<String> {
        (self.assay != ASSAY).then(|| {
            format!(
                "rank {} runs assay {}, and rank 0 {ASSAY}; use the same version on all hosts",
                self.place.rank, self.assay
            )
        })
    }
}

pub fn hello(token: &Token, caller: &HelloCaller, challenge: &Digest, own: &Digest) -> String {
    USE.hello(token, &format!("{}/{}", place_text(caller.place), caller.assay), challenge, own)
}

/// Returns the caller and its challenge; fails unless the caller signed the challenge of rank 0 with the token.
pub fn read_hello(
    token: &Token,
    challenge: &Digest,
    line: &str,
) -> Result<(HelloCaller, Digest), &'static str> {
    let (text, challenge_of_caller) = USE.read_hello(token, challenge, line)?;
    Ok((HelloCaller::parse(text).ok_or("garbage")?, challenge_of_caller))
}

fn place_text(place: RankPlace) -> String {
    format!("{}/{}", place.rank, place.ranks)
}

pub fn welcome(token: &Token, place: RankPlace, challenge: &Digest, own: &Digest) -> String {
    USE.welcome(token, challenge, own, place_text(place).as_bytes(), "")
}

/// Checks the answer of rank 0 to a hello: `challenge` is that of rank 0, `own` that of this rank.
pub fn read_welcome(
    token: &Token,
    place: RankPlace,
    challenge: &Digest,
    own: &Digest,
    line: &str,
) -> Result<(), String> {
    match USE.read_answer(line)? {
        HandshakeAnswer::Taken { shown, more: None } => {
            USE.check(token, challenge, own, place_text(place).as_bytes(), &shown)
        }
        HandshakeAnswer::Refused("version") => Err(format!(
            "rank 0 runs another version of assay than {ASSAY}; use the same version on all hosts"
        )),
        HandshakeAnswer::Refused("taken") => Err(format!("rank {} has already joined", place.rank)),
        HandshakeAnswer::Refused("size") => {
            Err(format!("rank 0 expects a different number of ranks than {}", place.ranks))
        }
        HandshakeAnswer::Taken { more: Some(_), .. } | HandshakeAnswer::Refused(_) => {
            Err(USE.strange())
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_machine::system::network::protocol;
    use proptest::prelude::*;

    use super::*;

    const PLACE: RankPlace = RankPlace { rank: 2, ranks: 4 };

    fn token() -> Token {
        Token::new("a token of some length").unwrap()
    }

    fn own_hello(riddle: &Digest, own: &Digest) -> String {
        hello(&token(), &HelloCaller::own(PLACE), riddle, own)
    }

    #[test]
    fn both_ends_show_that_they_know_the_token() {
        let (riddle, own) = ([1; 32], [2; 32]);
        assert_eq!(USE.read_greeting(&USE.greeting(&riddle)), Ok(riddle));
        let line = own_hello(&riddle, &own);
        assert!(line.len() < LONGEST_LINE && !line.contains("a token"));
        assert_eq!(read_hello(&token(), &riddle, &line), Ok((HelloCaller::own(PLACE), own)));
        let line = welcome(&token(), PLACE, &riddle, &own);
        assert_eq!(read_welcome(&token(), PLACE, &riddle, &own, &line), Ok(()));
    }

    #[test]
    fn what_was_overheard_or_changed_is_worth_nothing() {
        let (riddle, own) = ([1; 32], [2; 32]);
        let line = own_hello(&riddle, &own);
        assert_eq!(read_hello(&token(), &[3; 32], &line), Err("token"));
        let other = Token::new("another token, as long").unwrap();
        assert_eq!(read_hello(&other, &riddle, &line), Err("token"));
        assert_eq!(read_hello(&token(), &riddle, &line.replace("2/4", "1/4")), Err("token"));
        let line = welcome(&token(), PLACE, &riddle, &own);
        let first = RankPlace { rank: 1, ..PLACE };
        assert!(read_welcome(&token(), first, &riddle, &own, &line).is_err());
        // A replay of its own message is not an answer.
        let mac = own_hello(&riddle, &own).split_whitespace().last().unwrap().to_owned();
        assert!(read_welcome(&token(), PLACE, &riddle, &own, &format!("ok {mac}")).is_err());
        assert_ne!(USE.key(&token(), &riddle, &own), USE.key(&token(), &own, &riddle));
    }

    /// A link and a fleet with the same token: an end of one is not an end of the other.
    #[test]
    fn what_is_shown_to_a_peer_is_nothing_to_a_fleet() {
        let all: Vec<&[u8]> = USE.labels.into_iter().chain(protocol::USE.labels).collect();
        let different: std::collections::BTreeSet<&[u8]> = all.iter().copied().collect();
        assert_eq!(different.len(), all.len());
        let (riddle, own) = ([1; 32], [2; 32]);
        let line = own_hello(&riddle, &own);
        assert_eq!(protocol::read_hello(&token(), &riddle, &line), Err("token"));
        let line = protocol::hello(&token(), &protocol::ConnectionRole::Control, &riddle, &own);
        assert_eq!(read_hello(&token(), &riddle, &line), Err("token"));
        assert_ne!(USE.key(&token(), &riddle, &own), protocol::USE.key(&token(), &riddle, &own));
        assert!(
            USE.read_greeting(&protocol::USE.greeting(&riddle)).unwrap_err().contains("no fleet")
        );
        assert!(protocol::USE.read_greeting(&USE.greeting(&riddle)).is_err());
    }

    #[test]
    fn another_version_is_named_and_the_own_one_is_none() {
        assert_eq!(HelloCaller::own(PLACE).version_mismatch(), None);
        let other = HelloCaller { place: PLACE, assay: "9.8.7".to_owned() };
        let why = other.version_mismatch().unwrap();
        assert!(why.starts_with("rank 2 runs assay 9.8.7, and rank 0 "), "{why}");
        let (riddle, own) = ([1; 32], [2; 32]);
        let line = hello(&token(), &other, &riddle, &own);
        assert_eq!(read_hello(&token(), &riddle, &line), Ok((other, own)));
        let long = HelloCaller { place: PLACE, assay: "9".repeat(300) };
        let line = hello(&token(), &long, &riddle, &own);
        let (read, _) = read_hello(&token(), &riddle, &line).unwrap();
        assert_eq!(read.assay.len(), LONGEST_VERSION);
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let told =
            |line: &str| read_welcome(&token(), PLACE, &[1; 32], &[2; 32], line).unwrap_err();
        assert!(told(&refusal("token")).contains("the same token"));
        assert!(told(&refusal("taken")).contains("rank 2 has already joined"));
        assert!(told(&refusal("size")).contains("than 4"));
        assert!(told(&refusal("version")).contains("use the same version on all hosts"));
        let more = format!("ok {} x", "01".repeat(32));
        for line in ["", "ok", "no", "no milk", "no token today", "OK ab", &more] {
            assert!(told(line).contains("invalid message"), "{line}");
        }
        assert!(USE.read_greeting("assay-fleet/2 00").unwrap_err().contains("use the same assay"));
        assert!(USE.read_greeting("SSH-2.0-x").unwrap_err().contains("no fleet"));
        for text in ["", "2/4", "2/4x/1", "4/4/1", "a/4/1", "-1/4/1"] {
            assert_eq!(HelloCaller::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_is_turned_away(line in ".{0,600}") {
            prop_assert!(read_hello(&token(), &[1; 32], &line).is_err());
            prop_assert!(read_welcome(&token(), PLACE, &[1; 32], &[2; 32], &line).is_err());
        }
    }
}
