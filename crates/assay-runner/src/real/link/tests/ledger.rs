//! A peer that keeps promises, over sockets.

use super::*;
use crate::real::link::ledger::reach;

const TRIAL: Digest = [3; 32];

#[test]
fn promises_are_there_for_a_machine_that_comes_back() {
    let peer = Served::new();
    let at = peer.address.to_string();
    let mut before = reach(&at, &token()).unwrap();
    before.open(&TRIAL).unwrap();
    (1..=50).for_each(|number| before.tell(number).unwrap());
    // Its end of the connection is still open there: nobody told the peer that the power is gone.
    let mut after = reach(&at, &token()).unwrap();
    assert_eq!(after.last_number(&TRIAL).unwrap(), Some(50));
    assert_eq!(after.last_number(&[4; 32]).unwrap(), None);
    after.forget(&TRIAL).unwrap();
    assert_eq!(after.last_number(&TRIAL).unwrap(), None);
    assert!(before.tell(51).is_err(), "what is forgotten takes nothing more");
    peer.is_up();
}

#[test]
fn another_token_is_turned_away_and_a_peer_started_anew_knows_nothing() {
    let mut peer = Served::new();
    let at = peer.address.to_string();
    let other = Token::new("what only this end knows, sadly").unwrap();
    let told = reach(&at, &other).err().unwrap().to_string();
    assert!(told.contains("a different token"), "{told}");
    let mut before = reach(&at, &token()).unwrap();
    before.open(&TRIAL).unwrap();
    before.tell(1).unwrap();
    peer = Served::new();
    let mut after = reach(&peer.address.to_string(), &token()).unwrap();
    assert_eq!(after.last_number(&TRIAL).unwrap(), None);
}

#[test]
fn a_line_that_is_not_signed_ends_the_connection_and_no_other() {
    let peer = Served::new();
    for line in ["tell 1\n".to_owned(), format!("tell 1 {}\n", "00".repeat(32))] {
        let (mut wire, ..) = sign_in(peer.connect(), &token(), &ConnectionRole::Ledger).unwrap();
        wire.say(&line).unwrap();
        assert!(wire.line(Instant::now() + Duration::from_secs(20)).is_err(), "{line}");
    }
    assert!(reach(&peer.address.to_string(), &token()).unwrap().open(&TRIAL).is_ok());
}

#[test]
fn a_peer_of_before_says_that_it_keeps_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let riddle = "01".repeat(32);
        stream.write_all(format!("assay-peer/1 {riddle}\n").as_bytes()).unwrap();
        let _ = stream.read(&mut [0; 512]);
        stream.write_all(b"no garbage\n").unwrap();
    });
    let told = reach(&address.to_string(), &token()).err().unwrap().to_string();
    assert!(told.contains("does not record acknowledged writes"), "{told}");
    old.join().unwrap();
}
