//! How a connection begins: rank 0 puts a riddle that is never put twice, the other end shows that it knows
//! the token and says which rank it is, and rank 0 shows that it knows the token, too. The token is never
//! sent.

use assay_base::digest::{Digest, hexadecimal};
use assay_base::outside;
use assay_system::system::network::Token;
use assay_system::system::network::protocol::{digest, same};

use super::ranks::Place;

/// How rank 0 greets, with the version of what follows.
pub const VERSION: &str = "assay-fleet/1";
const ANY_VERSION: &str = "assay-fleet/";
/// Bytes of a line at most, its end counted.
pub const LONGEST_LINE: usize = 512;

/// What rank 0 says first.
pub fn greeting(riddle: &Digest) -> String {
    format!("{VERSION} {}\n", hexadecimal(riddle))
}

/// The riddle of a greeting.
///
/// # Errors
/// It is no fleet, or one of another version.
pub fn read_greeting(line: &str) -> Result<Digest, String> {
    let mut words = line.split_whitespace();
    match (words.next(), words.next().and_then(digest), words.next()) {
        (Some(VERSION), Some(riddle), None) => Ok(riddle),
        (Some(other), ..) if other.starts_with(ANY_VERSION) && other != VERSION => Err(format!(
            "rank 0 speaks {}, this is {VERSION}: take the same assay on all hosts",
            outside::spelled(other)
        )),
        _ => Err("what answers there is no fleet of assay".to_owned()),
    }
}

fn parts<'a>(
    side: &'a [u8],
    place: &'a [u8],
    riddle: &'a Digest,
    own: &'a Digest,
) -> [&'a [u8]; 4] {
    [side, place, riddle, own]
}

fn written(place: Place) -> String {
    format!("{}/{}", place.rank, place.ranks)
}

/// The answer of whoever dials.
pub fn hello(token: &Token, place: Place, riddle: &Digest, own: &Digest) -> String {
    let place = written(place);
    let mac = token.sign(&parts(b"fleet rank", place.as_bytes(), riddle, own));
    format!("{place} {} {}\n", hexadecimal(own), hexadecimal(&mac))
}

/// Who dials and the riddle that it puts in turn, where it knows the token.
///
/// # Errors
/// In a word why it is turned away.
pub fn read_hello(
    token: &Token,
    riddle: &Digest,
    line: &str,
) -> Result<(Place, Digest), &'static str> {
    let mut words = line.split_whitespace();
    let text = words.next().ok_or("garbage")?;
    let (Some(own), Some(mac), None) =
        (words.next().and_then(digest), words.next().and_then(digest), words.next())
    else {
        return Err("garbage");
    };
    if !same(&mac, &token.sign(&parts(b"fleet rank", text.as_bytes(), riddle, &own))) {
        return Err("token");
    }
    let (rank, ranks) = text.split_once('/').ok_or("garbage")?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| "garbage");
    let place = Place::new(number(rank)?, number(ranks)?).map_err(|_| "garbage")?;
    Ok((place, own))
}

/// What rank 0 says to one that it takes.
pub fn welcome(token: &Token, place: Place, riddle: &Digest, own: &Digest) -> String {
    let place = written(place);
    format!(
        "ok {}\n",
        hexadecimal(&token.sign(&parts(b"fleet zero", place.as_bytes(), riddle, own)))
    )
}

/// What rank 0 says to one that it does not take.
pub fn refusal(why: &str) -> String {
    format!("no {why}\n")
}

/// Why it was not taken, in words.
///
/// # Errors
/// What to do.
pub fn read_welcome(
    token: &Token,
    place: Place,
    riddle: &Digest,
    own: &Digest,
    line: &str,
) -> Result<(), String> {
    let mut words = line.split_whitespace();
    match (words.next(), words.next(), words.next()) {
        (Some("ok"), Some(mac), None) => {
            let text = written(place);
            let known = token.sign(&parts(b"fleet zero", text.as_bytes(), riddle, own));
            let shown = digest(mac).is_some_and(|mac| same(&mac, &known));
            shown.then_some(()).ok_or_else(|| "rank 0 does not know the token".to_owned())
        }
        (Some("no"), Some("token"), None) => {
            Err("rank 0 has another token: give all hosts the same one".to_owned())
        }
        (Some("no"), Some("taken"), None) => {
            Err(format!("rank {} has been there before: a rank joins once", place.rank))
        }
        (Some("no"), Some("size"), None) => {
            Err(format!("rank 0 counts on another number of ranks than {}", place.ranks))
        }
        _ => Err("what rank 0 says makes no sense".to_owned()),
    }
}

/// The key of all that follows on this connection.
pub fn key(token: &Token, riddle: &Digest, own: &Digest) -> Digest {
    token.sign(&[b"fleet frames", riddle, own])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLACE: Place = Place { rank: 2, ranks: 4 };

    fn token() -> Token {
        Token::of("a token of some length").unwrap()
    }

    #[test]
    fn both_ends_show_that_they_know_the_token() {
        let (riddle, own) = ([1; 32], [2; 32]);
        assert_eq!(read_greeting(&greeting(&riddle)), Ok(riddle));
        let line = hello(&token(), PLACE, &riddle, &own);
        assert!(line.len() < LONGEST_LINE && !line.contains("a token"));
        assert_eq!(read_hello(&token(), &riddle, &line), Ok((PLACE, own)));
        let line = welcome(&token(), PLACE, &riddle, &own);
        assert_eq!(read_welcome(&token(), PLACE, &riddle, &own, &line), Ok(()));
    }

    #[test]
    fn what_was_overheard_or_changed_is_worth_nothing() {
        let (riddle, own) = ([1; 32], [2; 32]);
        let line = hello(&token(), PLACE, &riddle, &own);
        assert_eq!(read_hello(&token(), &[3; 32], &line), Err("token"));
        let other = Token::of("another token, as long").unwrap();
        assert_eq!(read_hello(&other, &riddle, &line), Err("token"));
        assert_eq!(read_hello(&token(), &riddle, &line.replace("2/4", "1/4")), Err("token"));
        let line = welcome(&token(), PLACE, &riddle, &own);
        let first = Place { rank: 1, ..PLACE };
        assert!(read_welcome(&token(), first, &riddle, &own, &line).is_err());
        // Its own words sent back are no answer.
        let mac =
            hello(&token(), PLACE, &riddle, &own).split_whitespace().last().unwrap().to_owned();
        assert!(read_welcome(&token(), PLACE, &riddle, &own, &format!("ok {mac}")).is_err());
        assert_ne!(key(&token(), &riddle, &own), key(&token(), &own, &riddle));
    }

    #[test]
    fn each_refusal_says_what_to_do() {
        let told =
            |line: &str| read_welcome(&token(), PLACE, &[1; 32], &[2; 32], line).unwrap_err();
        assert!(told(&refusal("token")).contains("the same one"));
        assert!(told(&refusal("taken")).contains("rank 2 has been there"));
        assert!(told(&refusal("size")).contains("than 4"));
        for line in ["", "ok", "no", "no milk", "no token today", "OK ab"] {
            assert!(told(line).contains("no sense"), "{line}");
        }
        assert!(read_greeting("assay-fleet/2 00").unwrap_err().contains("take the same assay"));
        assert!(read_greeting("SSH-2.0-x").unwrap_err().contains("no fleet"));
    }

    proptest! {
        #[test]
        fn nonsense_is_turned_away(line in ".{0,600}") {
            prop_assert!(read_hello(&token(), &[1; 32], &line).is_err());
            prop_assert!(read_welcome(&token(), PLACE, &[1; 32], &[2; 32], &line).is_err());
        }
    }
}
