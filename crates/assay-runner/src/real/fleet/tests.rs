use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fleet::hello::{self, HelloCaller};
use crate::fleet::message::Message;
use crate::fleet::ranks::RankPlace;
use crate::fleet::{Heard, RankLine as _};
use assay_machine::system::network::Token;

use super::{Sockets, dial, listen};

const LIMIT: Duration = Duration::from_secs(60);

fn token() -> Token {
    Token::new("a token of sixteen letters and more").unwrap()
}

fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Rank 0 and the other ranks, authenticated.
fn fleet(
    ranks: u32,
    strangers: impl FnOnce(SocketAddr) + Send + 'static,
) -> (Sockets, Vec<Sockets>) {
    let (address, stop) = (free(), AtomicBool::new(false));
    let text = address.to_string();
    let stranger = thread::spawn(move || strangers(address));
    thread::scope(|scope| {
        let zero = scope.spawn(|| listen(&text, &token(), ranks, LIMIT, &stop).unwrap());
        stranger.join().unwrap();
        let others: Vec<_> = (1..ranks)
            .map(|rank| {
                let (text, stop) = (&text, &stop);
                scope.spawn(move || {
                    dial(text, &token(), RankPlace { rank, ranks }, LIMIT, stop).unwrap()
                })
            })
            .collect();
        let others = others.into_iter().map(|own| own.join().unwrap()).collect();
        (zero.join().unwrap(), others)
    })
}

fn heard(of: &mut Sockets) -> (u32, Heard) {
    of.hear(LIMIT, &AtomicBool::new(false)).unwrap()
}

#[test]
fn all_ranks_hear_each_other_and_who_goes_is_named() {
    let (mut zero, mut others) = fleet(4, |_| {});
    for (rank, other) in (1_u64..).zip(&mut others) {
        other.say(0, &Message::Ready { meeting: rank }).unwrap();
    }
    let mut seen: Vec<(u32, Heard)> = (1..4).map(|_| heard(&mut zero)).collect();
    seen.sort_by_key(|(rank, _)| *rank);
    for (rank, said) in seen {
        assert_eq!(said, Heard::Said(Box::new(Message::Ready { meeting: u64::from(rank) })));
    }
    let long = Message::Void { meeting: 1, why: "x".repeat(300_000) };
    zero.say(2, &long).unwrap();
    assert_eq!(heard(&mut others[1]), (0, Heard::Said(Box::new(long))));
    drop(others.remove(0));
    let (rank, Heard::Gone(why)) = heard(&mut zero) else { panic!("it is gone") };
    assert_eq!((rank, why.as_str()), (1, "the connection is closed"));
    zero.let_go(3);
    assert!(matches!(heard(&mut others[1]), (0, Heard::Gone(_))));
}

#[test]
fn strangers_are_turned_away_and_counted() {
    let (zero, _others) = fleet(2, |address| {
        let until = Instant::now() + LIMIT;
        // As soon as it listens.
        let connect = || loop {
            match TcpStream::connect(address) {
                Ok(stream) => return stream,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        };
        let said =
            [b"GET / HTTP/1.1\r\n\r\n".as_slice(), b"1/2 00 00\n", &[b'x'; 2000], b"\xff\xfe\n"];
        for words in said {
            let mut stream = connect();
            stream.write_all(words).unwrap();
            let mut answer = Vec::new();
            // It closes the connection, in any way.
            let _ = stream.read_to_end(&mut answer);
            assert!(!String::from_utf8_lossy(&answer).contains("ok"));
        }
        let other = Token::new("another token of sixteen letters").unwrap();
        let stop = AtomicBool::new(false);
        let place = RankPlace { rank: 1, ranks: 2 };
        let why = dial(&address.to_string(), &other, place, LIMIT, &stop).err().unwrap();
        assert!(why.contains("use the same token on all hosts"), "{why}");
        let place = RankPlace { rank: 1, ranks: 3 };
        let why = dial(&address.to_string(), &token(), place, LIMIT, &stop).err().unwrap();
        assert!(why.contains("a different number of ranks than 3"), "{why}");
    });
    // On a busy machine, an attempt may fail and be repeated.
    assert!(zero.turned_away >= 6, "{}", zero.turned_away);
}

#[test]
fn another_version_is_named_at_once_and_ends_it_for_all() {
    let (address, stop) = (free().to_string(), AtomicBool::new(false));
    thread::scope(|scope| {
        let zero = scope.spawn(|| listen(&address, &token(), 3, LIMIT, &stop));
        let place = RankPlace { rank: 1, ranks: 3 };
        let mut came = dial(&address, &token(), place, LIMIT, &stop).unwrap();
        let mut stream = TcpStream::connect(&address).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let riddle = hello::USE.read_greeting(&line).unwrap();
        let place = RankPlace { rank: 2, ranks: 3 };
        let other = HelloCaller { place, assay: "9.8.7".to_owned() };
        stream.write_all(hello::hello(&token(), &other, &riddle, &[7; 32]).as_bytes()).unwrap();
        line.clear();
        lines.read_line(&mut line).unwrap();
        let why = hello::read_welcome(&token(), place, &riddle, &[7; 32], &line).unwrap_err();
        assert!(why.starts_with("rank 0 runs another version of assay than "), "{why}");
        // It does not wait for the others: the limit is far away.
        let why = zero.join().unwrap().err().unwrap();
        assert!(why.starts_with("127.0.0.1: rank 2 runs assay 9.8.7, and rank 0 "), "{why}");
        assert_eq!(heard(&mut came), (0, Heard::Said(Box::new(Message::End { why: Some(why) }))));
    });
}

#[test]
fn who_does_not_come_is_named_and_nobody_is_waited_for_for_ever() {
    let (address, stop) = (free().to_string(), AtomicBool::new(false));
    let why = listen(&address, &token(), 3, Duration::from_millis(300), &stop).err().unwrap();
    assert!(why.contains("1 of 3 ranks") && why.contains("rank 1, 2"), "{why}");
    let place = RankPlace { rank: 1, ranks: 2 };
    let why = dial(&address, &token(), place, Duration::from_millis(300), &stop).err().unwrap();
    assert!(why.contains("rank 0 was not available"), "{why}");
    // Connected ranks receive the reason for the end.
    let ends = AtomicBool::new(false);
    let why = thread::scope(|scope| {
        let zero = scope.spawn(|| listen(&address, &token(), 3, LIMIT, &ends));
        let place = RankPlace { rank: 1, ranks: 3 };
        let mut came = dial(&address, &token(), place, LIMIT, &stop).unwrap();
        ends.store(true, Ordering::Relaxed);
        let why = zero.join().unwrap().err().unwrap();
        assert_eq!(
            heard(&mut came),
            (0, Heard::Said(Box::new(Message::End { why: Some(why.clone()) })))
        );
        why
    });
    assert_eq!(why, "interrupted before all ranks connected");
}

#[test]
fn nonsense_after_the_token_ends_that_connection_alone() {
    let (mut zero, mut others) = fleet(3, |_| {});
    let mut raw = &others[0].ends[&0].stream;
    raw.write_all(&[0; 64]).unwrap();
    let (rank, Heard::Gone(why)) = heard(&mut zero) else { panic!("it talks nonsense") };
    assert_eq!((rank, why.as_str()), (1, "the message is not signed with the token"));
    others[1].say(0, &Message::Ready { meeting: 5 }).unwrap();
    assert_eq!(heard(&mut zero), (2, Heard::Said(Box::new(Message::Ready { meeting: 5 }))));
}
