use std::io::{Read as _, Write as _};

use assay_machine::system::Fake;
use assay_study::results::bundle;
use assay_study::results::requests::TraceReader;
use clap::{Args as _, Command, FromArgMatches as _};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::cli::import;
use crate::store::iolog::Iolog;

const LOG: &str = "fio version 3 iolog\n0 /dev/sda add\n5 /dev/sda read 0 4096\n\
                   9 /dev/sda trim 8192 4096\n";

fn arguments(words: &[&str]) -> ImportArguments {
    let command = ImportArguments::augment_args(Command::new("import"));
    let words = [&["import"][..], words].concat();
    ImportArguments::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
}

fn machine(files: &[(&str, &[u8])]) -> Fake {
    let fake = Fake::new();
    fake.set_variable("ASSAY_HOME", "/home/me");
    for (name, bytes) in files {
        fake.put(name, bytes);
    }
    fake
}

fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// Returns the results in order of their IDs.
fn kept(fake: &Fake) -> Vec<PathBuf> {
    let results = identity::results_directory(fake).unwrap();
    let mut ids = bundle::ids(fake, &results);
    ids.sort();
    ids.iter().map(|id| results.join(id)).collect()
}

fn requests_in(fake: &Fake, directory: &Path) -> Vec<BlockRequest> {
    TraceReader::open(fake, directory).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_log_becomes_a_recording_packed_or_not() {
    let gz = packed(LOG);
    let fake = machine(&[("/a.log", LOG.as_bytes()), ("/a.log.gz", &gz)]);
    import::run(&fake, &arguments(&["/a.log", "/a.log.gz"])).unwrap();
    assert_eq!(kept(&fake).len(), 2);
    for directory in kept(&fake) {
        let all = requests_in(&fake, &directory);
        let short = |one: &BlockRequest| (one.arrived_ns, one.class, one.offset_bytes, one.bytes);
        let expected = [
            (Some(5_000), BlockClass::Read, 0, 4096),
            (Some(9_000), BlockClass::Discard, 8192, 4096),
        ];
        assert_eq!(all.iter().map(short).collect::<Vec<_>>(), expected);
        let findings = store::findings_at(&fake, &directory).unwrap();
        let text = serde_json::to_string(&findings).unwrap();
        assert!(text.contains("Recorded 2 requests of sda"), "{text}");
        assert!(text.contains("has no completion times"), "{text}");
    }
}

#[test]
fn what_is_exported_comes_back_as_the_same_requests() {
    let mut log = "fio version 3 iolog\n".to_owned();
    for at in 0..3000_u64 {
        let act = ["read", "write", "trim", "datasync"][(at % 4) as usize];
        let (offset, bytes) =
            if at % 4 == 3 { (0, 0) } else { (at * 7919 % 512 * 4096, 512 << (at % 5)) };
        let device = ["a", "b"][(at % 2) as usize];
        let line = format!("{} /dev/sd{device} {act} {offset} {bytes}\n", at * 250);
        log.push_str(&line);
    }
    let fake = machine(&[("/first.log", log.as_bytes())]);
    import::run(&fake, &arguments(&["/first.log"])).unwrap();
    let [first] = kept(&fake).try_into().unwrap();
    let mut again = String::new();
    Iolog::open(&fake, &first).unwrap().read_to_string(&mut again).unwrap();
    fake.put("/again.log", again.as_bytes());
    import::run(&fake, &arguments(&["/again.log"])).unwrap();
    let other = kept(&fake).into_iter().find(|one| *one != first).unwrap();
    let all = requests_in(&fake, &first);
    assert_eq!((all.len(), all), (3000, requests_in(&fake, &other)));
}

#[test]
fn what_is_wrong_leaves_nothing_behind() {
    let wrong = format!("{LOG}10 /dev/sda read here 4096\n");
    let fake = machine(&[("/a.log", wrong.as_bytes())]);
    let told = import::run(&fake, &arguments(&["/a.log"])).unwrap_err();
    assert!(told.message.starts_with("/a.log:5:1: the offset is here"), "{}", told.message);
    assert!(kept(&fake).is_empty());
}

#[test]
fn what_is_said_of_numbers_and_what_is_none_is_kept_apart() {
    let log = LOG.as_bytes();
    let fake = machine(&[("/a.log", log), ("/b.log", log), ("/c.csv", b"a,b\n")]);
    let told = |words: &[&str]| import::run(&fake, &arguments(words)).unwrap_err().message;
    assert!(told(&["/a.log", "--margin", "2%"]).contains("remove --margin"));
    assert!(told(&["/a.log", "/b.log", "--title", "one"]).contains("--title of several files"));
    assert!(told(&["/a.log", "/c.csv"]).contains("import the files separately"));
    assert!(kept(&fake).is_empty());
}

fn findings_of(text: &str) -> String {
    let fake = machine(&[("/t", text.as_bytes())]);
    import::run(&fake, &arguments(&["/t"])).unwrap();
    let [directory] = kept(&fake).try_into().unwrap();
    serde_json::to_string(&store::findings_at(&fake, &directory).unwrap()).unwrap()
}

#[test]
fn traces_with_ends_show_latencies_by_class() {
    let event = |at: &str, action: &str, place: &str| {
        format!("  8,0    1        7     {at}  4162  {action}   {place} [x]\n")
    };
    let trace = [("0.000001000", "Q"), ("0.000002000", "D"), ("0.000091000", "C")];
    let lines = |place: &str| trace.map(|(at, action)| event(at, action, place)).concat();
    let found = findings_of(&(lines("R 8 + 8") + &lines("W 800 + 8")));
    assert!(found.contains("watched, reads") && found.contains("watched, writes"), "{found}");
    let found = findings_of(LOG);
    assert!(!found.contains("watched, reads"), "{found}");
    assert!(found.contains("the text has no completion times"), "{found}");
}

#[test]
fn traces_without_times_are_not_trusted() {
    let untimed = "fio version 2 iolog\nf read 0 4096\nf write 4096 4096\n";
    let found = findings_of(untimed);
    assert!(found.contains("requests of f without times"), "{found}");
    assert!(found.contains("the trace has no times"), "{found}");
    let found = findings_of(&untimed.replace("f write", "f wait 5\nf write"));
    assert!(found.contains("requests of f in 5 us") && !found.contains("no times"), "{found}");
}
