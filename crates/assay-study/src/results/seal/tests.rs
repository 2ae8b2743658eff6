//! Seals hold what was sealed and nothing else; the key is root's alone.

use std::path::Path;

use assay_base::digest::sha256;
use assay_system::system::{Fake, System};

use super::key::Key;
use super::*;

fn key() -> Key {
    Key::of([7; 32])
}

fn about() -> About {
    let text = |text: &str| text.to_owned();
    About {
        format: text(FORMAT),
        id: text("20261120-120000-abcd"),
        store: text("/results"),
        machine: text("m"),
        drives: vec![text("S1")],
        study: hexadecimal(&sha256("study")),
        plan: hexadecimal(&sha256("plan")),
    }
}

fn reading(trials: usize) -> Reading {
    Reading {
        study: sha256("study"),
        plan: sha256("plan"),
        environment: sha256("late"),
        trials: (0..trials).map(|trial| sha256(trial.to_string())).collect(),
        ended: Some(sha256("enough")),
    }
}

/// The seal of a run of three trials.
fn sealed() -> String {
    let (mut chain, mut text) = Chain::begin(key(), &about()).unwrap();
    let more = [(Of::Environment, "early"), (Of::Trial, "0"), (Of::Trial, "1"), (Of::Trial, "2")];
    for (of, what) in more.into_iter().chain([(Of::Ended, "enough"), (Of::Environment, "late")]) {
        text.extend(chain.add(of, &sha256(what)).unwrap());
    }
    String::from_utf8(text).unwrap()
}

fn proven(text: &str) -> Option<Seal> {
    Unproven::read(text).ok()?.prove(&key())
}

/// RFC 4231, test cases 1, 2, 3 and 4: our keys have 32 bytes, shorter ones are filled with zeros.
#[test]
fn tags_are_those_of_the_standard() {
    let key = |text: &[u8]| {
        let mut bytes = [0; 32];
        bytes[..text.len()].copy_from_slice(text);
        Key::of(bytes)
    };
    let ascending: Vec<u8> = (1..=25).collect();
    let rows: [(&[u8], Vec<u8>, &str); 4] = [
        (
            &[0x0b; 20],
            b"Hi There".to_vec(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?".to_vec(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            &[0xaa; 20],
            vec![0xdd; 50],
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        ),
        (
            &ascending,
            vec![0xcd; 50],
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        ),
    ];
    for (own, text, expected) in rows {
        let (start, end) = text.split_at(5);
        assert_eq!(hexadecimal(&key(own).tag(&[start, end])), expected);
        assert!(key(own).is_tag(&[&text], &binary(expected).unwrap()));
    }
}

#[test]
fn what_was_sealed_is_held() {
    let seal = proven(&sealed()).unwrap();
    assert_eq!(seal.holds(&reading(3)), Ok(3));
    assert!(seal.has_ended(&reading(3)));
    // The environment as it was before the last trial is sealed as well.
    let early = Reading { environment: sha256("early"), ..reading(3) };
    assert_eq!(seal.holds(&early), Ok(3));
    // Killed between a trial's own line and its line here.
    assert_eq!(seal.holds(&reading(4)), Ok(3));
}

#[test]
fn whatever_was_changed_is_named() {
    let seal = proven(&sealed()).unwrap();
    let other = sha256("other");
    let mut trial = reading(3);
    trial.trials[1] = other;
    for (read, what) in [
        (Reading { study: other, ..reading(3) }, "study.toml"),
        (Reading { plan: other, ..reading(3) }, "plan.json"),
        (Reading { environment: other, ..reading(3) }, "environment.json"),
        (trial, "trials.jsonl"),
        (reading(2), "trials.jsonl"),
        (reading(5), "trials.jsonl"),
    ] {
        assert!(seal.holds(&read).unwrap_err().starts_with(what), "{what}");
    }
    assert!(!seal.has_ended(&Reading { ended: Some(other), ..reading(3) }));
    assert!(!seal.has_ended(&Reading { ended: None, ..reading(3) }));
}

#[test]
fn no_line_is_changed_left_out_or_moved() {
    let whole = sealed();
    let lines: Vec<&str> = whole.lines().collect();
    let text = |lines: &[&str]| lines.join("\n") + "\n";
    assert!(proven(&text(&lines)).is_some());
    // A run that was killed leaves as many lines as it had come to, the last one perhaps half.
    for killed in 1..=lines.len() {
        let seal = proven(&format!("{}{}", text(&lines[..killed]), "{\"of\":\"tri")).unwrap();
        assert_eq!(seal.lines.len(), killed - 1);
        assert_eq!(seal.whole_bytes, text(&lines[..killed]).len());
    }
    for index in 1..lines.len() - 1 {
        let mut without = lines.clone();
        without.remove(index);
        assert!(proven(&text(&without)).is_none(), "without line {index}");
        let mut moved = lines.clone();
        moved.swap(index, index + 1);
        assert!(proven(&text(&moved)).is_none(), "with line {index} moved");
    }
    for (from, to) in [
        ("\"/results\"", "\"/others\""),
        ("\"S1\"", "\"S2\""),
        ("-abcd\"", "-abce\""),
        ("\"of\":\"ended\"", "\"of\":\"trial\""),
    ] {
        assert!(proven(&whole.replacen(from, to, 1)).is_none(), "{from}");
    }
    let other = Unproven::read(&whole).unwrap().prove(&Key::of([8; 32]));
    assert!(other.is_none());
}

#[test]
fn a_seal_that_is_none_says_so() {
    let whole = sealed();
    let odd = whole.replacen("\"tag\":\"", "\"tag\":\"g", 1);
    for bad in ["", "{", "{}\n", "[]\n", &whole[1..], odd.as_str()] {
        assert!(Unproven::read(bad).is_err(), "{bad}");
    }
    let newer = Unproven::read(&whole.replacen("assay-seal/1", "assay-seal/9", 1));
    assert!(newer.err().is_some_and(|how| how.contains("other than assay-seal/1")));
}

#[test]
fn a_seal_goes_on_where_it_stopped() {
    let whole = sealed();
    let half: String = whole.split_inclusive('\n').take(4).collect();
    let mut chain = proven(&half).unwrap().chain;
    let line = chain.add(Of::Trial, &sha256("2")).unwrap();
    let text = half + &String::from_utf8(line).unwrap();
    assert_eq!(text.lines().last(), whole.lines().nth(4));
}

#[test]
fn the_key_is_made_once_and_read_again_whatever_assay_home_says() {
    let fake = Fake::new();
    fake.create_directory(Path::new("/var/lib")).unwrap();
    fake.set_variable("ASSAY_HOME", "/home/me");
    let missing = key::read(&fake).unwrap_err();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    let made = key::make(&fake).unwrap();
    assert_eq!(made.bytes(), key::make(&fake).unwrap().bytes());
    assert_eq!(made.bytes(), key::read(&fake).unwrap().bytes());
    let text = fake.read_text(Path::new("/var/lib/assay/seal.key")).unwrap();
    assert_eq!(text, format!("{}\n", hexadecimal(made.bytes())));
    assert!(!format!("{made:?}").contains(&text[..4]));
}

#[test]
fn a_key_that_others_may_know_or_have_made_is_refused() {
    type Change = fn(&Fake);
    let rows: [(&str, Change); 5] = [
        ("mode", |fake| {
            fake.add("mode /var/lib/assay/seal.key 0640").unwrap();
        }),
        ("length", |fake| {
            fake.put("/var/lib/assay/seal.key", "00\n");
        }),
        ("sign", |fake| {
            fake.put("/var/lib/assay/seal.key", "g".repeat(64));
        }),
        ("directory", |fake| {
            fake.add("mode /var/lib/assay 0777").unwrap();
        }),
        ("owner", |fake| {
            fake.add("owner /var/lib/assay 1000").unwrap();
        }),
    ];
    for (what, change) in rows {
        let fake = Fake::new();
        fake.create_directory(Path::new("/var/lib")).unwrap();
        key::make(&fake).unwrap();
        change(&fake);
        assert!(key::read(&fake).is_err(), "{what}");
        assert!(key::make(&fake).is_err(), "{what}");
    }
}
