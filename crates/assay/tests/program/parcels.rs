//! Complete results as files: exchange between two stores, and distrust of foreign files.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_testkit::home::Home;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use crate::home;

const CSV: &str = include_str!("../csv/valid/two-file-systems.csv");

struct Entry {
    name: String,
    kind: EntryType,
    link: Option<&'static str>,
    bytes: Vec<u8>,
}

fn file(name: &str, bytes: impl Into<Vec<u8>>) -> Entry {
    Entry { name: name.to_owned(), kind: EntryType::Regular, link: None, bytes: bytes.into() }
}

fn link(name: &str, kind: EntryType, link: &'static str) -> Entry {
    Entry { name: name.to_owned(), kind, link: Some(link), bytes: Vec::new() }
}

/// Returns a header with the exact name, even one that `tar` refuses.
fn header(entry: &Entry, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(entry.kind);
    header.set_size(size);
    header.set_mode(0o644);
    if let Some(link) = entry.link.filter(|link| !link.is_empty()) {
        header.set_link_name(link).unwrap();
    }
    header.as_mut_bytes()[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
    header.set_cksum();
    header
}

fn packed(entries: &[Entry]) -> Vec<u8> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in entries {
        archive.append(&header(entry, entry.bytes.len() as u64), entry.bytes.as_slice()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn unpacked(path: &Path) -> Vec<Entry> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(path).unwrap()));
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            file(&name, bytes)
        })
        .collect()
}

fn handed_on(test: &str) -> (Home, String, PathBuf) {
    let home = home(test);
    let table = home.file("card.csv", CSV);
    let found = home.json(&["import", &table, "--baseline", "filesystem=ext4", "--json"]);
    let id = found["study"]["id"].as_str().unwrap().to_owned();
    let path = home.scratch.path().join("card.assay");
    home.text(&["export", &id, "--format", "bundle", "-o", path.to_str().unwrap()]);
    (home, id, path)
}

fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.push((path, Vec::new()));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn a_study_says_the_same_in_another_store_and_is_marked() {
    let home = home("parcel-study");
    let study = home.file("depth.toml", crate::DEPTH);
    let own = home.json(&["run", &study, crate::DRIVE, "--json"]);
    let id = own["study"]["id"].as_str().unwrap();
    let path = home.scratch.path().join("depth.assay").display().to_string();
    assert!(home.text(&["export", id, "--format", "bundle", "-o", &path]).contains("depth.assay"));
    // Packing twice gives the same file.
    let first = fs::read(&path).unwrap();
    home.text(&["export", id, "--format", "bundle", "-o", &path]);
    assert_eq!(fs::read(&path).unwrap(), first);

    let other = crate::home("parcel-other");
    let added = other.text(&["import", &path]).trim().to_owned();
    assert_eq!(added, format!("{id}-foreign"));
    let there = other.json(&["show", &added, "--json"]);
    assert_eq!(there["measurements"], own["measurements"]);
    assert_eq!(there["comparisons"], own["comparisons"]);
    let told = there["checks"].as_array().unwrap().iter().find(|check| check["name"] == "foreign");
    assert!(told.unwrap()["text"].as_str().unwrap().contains(id));
    assert!(other.text(&["list"]).contains("foreign"));
    assert!(
        other.run(&["report", &added, "-o", "-"]).stdout.contains("the numbers are unverified")
    );
    for command in [&["advise", "apply"][..], &["advise", "confirm"], &["resume"]] {
        let words = [command, &[&added]].concat();
        assert!(other.told(3, &words).contains("measured elsewhere"), "{words:?}");
    }
    // It is never the newest, even if it is the only result.
    assert!(other.told(2, &["show"]).contains("contains only foreign results"));
    // A second import adds nothing, and a re-exported result equals the original.
    assert_eq!(other.text(&["import", &path]).trim(), added);
    let again = other.scratch.path().join("again.assay").display().to_string();
    other.text(&["export", &added, "--format", "bundle", "-o", &again]);
    let home_again = home.text(&["import", &again]);
    assert_eq!(home_again.trim(), added);
    // It hides no local result by ID, start of an ID, or title.
    for word in [id, &id[..id.len() - 1]] {
        assert_eq!(home.json(&["show", word, "--json"])["study"]["id"], id);
    }
    assert_eq!(home.json(&["show", "--json"])["study"]["id"], id);
    let compared = home.json(&["compare", id, &added, "--json"]);
    assert!(!compared["comparisons"].as_array().unwrap().is_empty());
}

#[test]
fn an_import_can_be_handed_on_and_an_id_that_exists_gets_another_name() {
    let (home, id, path) = handed_on("parcel-import");
    let path = path.display().to_string();
    assert_eq!(home.text(&["import", &path]).trim(), format!("{id}-foreign"));
    home.text(&["note", &id, "--title", "another title"]);
    home.text(&["export", &id, "--format", "bundle", "-o", &path]);
    assert_eq!(home.text(&["import", &path]).trim(), format!("{id}-foreign-2"));
    assert_eq!(home.json(&["show", "--json"])["study"]["id"], id.as_str());
}

/// The files of another tool form one result, which is exported with all of them.
#[test]
fn an_import_of_several_files_is_handed_on_with_all_of_them() {
    let home = home("parcel-files");
    let run =
        |name: &str| format!("{}/tests/importers/fio-json/{name}", env!("CARGO_MANIFEST_DIR"));
    let runs = [run("randread-d4-1.json"), run("randread-d8-1.json")];
    let own = home.json(&["import", &runs[0], &runs[1], "--json"]);
    let id = own["study"]["id"].as_str().unwrap();
    let path = home.scratch.path().join("runs.assay");
    let told = path.display().to_string();
    home.text(&["export", id, "--format", "bundle", "-o", &told]);
    let entries = unpacked(&path);
    for (at, run) in runs.iter().enumerate() {
        let name = format!("source-{:04}", at + 1);
        let entry = entries.iter().find(|entry| entry.name == name).expect("it is not in it");
        assert!(entry.bytes == fs::read(run).unwrap(), "{name}");
    }
    let other = crate::home("parcel-files-other");
    let added = other.text(&["import", &told]).trim().to_owned();
    assert_eq!(added, format!("{id}-foreign"));
    let there = other.json(&["show", &added, "--json"]);
    assert_eq!(there["measurements"], own["measurements"]);
    // Without one of them, it is invalid.
    for (name, reason) in [("source-0001", "is missing"), ("source-0002", "cannot read")] {
        let part: Vec<Entry> =
            unpacked(&path).into_iter().filter(|entry| entry.name != name).collect();
        let cut = other.file("cut.assay", packed(&part));
        assert!(other.told(2, &["import", &cut]).contains(reason), "{name}");
    }
}

#[test]
fn a_bundle_is_known_by_its_name_or_by_what_stands_first_in_it() {
    let (home, id, path) = handed_on("parcel-known");
    let whole = fs::read(&path).unwrap();
    assert_eq!(home.text(&["import", &home.file("card", whole)]).trim(), format!("{id}-foreign"));
    // Another file with the same compression, and an uncompressed one.
    for (name, bytes) in [("other", packed(&[file("log.jsonl", "{}")])), ("plain", b"x".to_vec())] {
        let told = home.told(2, &["import", &home.file(name, bytes)]);
        assert!(!told.contains("nothing was added"), "{name}: {told}");
    }
    let named = home.told(2, &["import", &home.file("plain.assay", "x")]);
    assert!(named.contains("nothing was added"), "{named}");
    let directory = home.scratch.path().join("directory.assay");
    fs::create_dir(&directory).unwrap();
    let told = home.told(2, &["import", directory.to_str().unwrap()]);
    assert!(told.contains("not an assay export bundle"), "{told}");
    assert!(
        home.told(2, &["import", "/nowhere.assay"]).contains("there is no file /nowhere.assay")
    );
}

#[test]
fn what_is_packed_is_counted() {
    let (home, id, path) = handed_on("parcel-counted");
    let told = home.run(&["export", &id, "--format", "bundle", "-o", path.to_str().unwrap()]);
    let own: Vec<Entry> = unpacked(&path).into_iter().skip(1).collect();
    let bytes: usize = own.iter().map(|entry| entry.bytes.len()).sum();
    let shown = assay_core::quantity::units::show::bytes(bytes as u64);
    let words = format!("{} files, {shown} in ", own.len());
    assert!(told.stderr.contains(&words), "{words}: {told:?}");
}

#[test]
fn hostile_files_are_refused_and_nothing_is_written() {
    let (home, _, path) = handed_on("parcel-hostile");
    let parts = || unpacked(&path);
    let with = |more: Vec<Entry>| packed(&parts().into_iter().chain(more).collect::<Vec<_>>());
    let about = |text: &str| {
        let mut parts = parts();
        parts[0] = file("bundle.json", text);
        packed(&parts)
    };
    let without = |name: &str| {
        packed(&parts().into_iter().filter(|entry| entry.name != name).collect::<Vec<_>>())
    };
    let whole = fs::read(&path).unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("above", with(vec![file("../evil", "x")]), "a result contains no file ../evil"),
        ("absolute", with(vec![file("/tmp/evil", "x")]), "a result contains no file /tmp/evil"),
        ("inner", with(vec![file("series/../../evil.json", "x")]), "contains no file series/"),
        ("unknown", with(vec![file("install.sh", "x")]), "a result contains no file install.sh"),
        ("mark", with(vec![file("foreign.json", "{}")]), "a result contains no file foreign.json"),
        ("escape", with(vec![file("series/\u{1b}[2J.json", "x")]), "contains no file series/"),
        ("twice", with(vec![file("import.json", "{}")]), "twice"),
        ("symlink", with(vec![link("log.jsonl", EntryType::Symlink, "/etc/passwd")]), "regular"),
        ("hard", with(vec![link("log.jsonl", EntryType::Link, "/etc/passwd")]), "not a regular"),
        ("device", with(vec![link("log.jsonl", EntryType::Char, "")]), "not a regular"),
        ("directory", with(vec![link("series/", EntryType::Directory, "")]), "not a regular"),
        (
            "long name",
            with(vec![Entry { kind: EntryType::GNULongName, ..file("log.jsonl", "x") }]),
            "not a regular",
        ),
        (
            "holes",
            with(vec![Entry { kind: EntryType::GNUSparse, ..file("log.jsonl", "x") }]),
            "not a regular",
        ),
        ("newer", about(r#"{ "format": "assay-bundle/2", "assay": "9.0" }"#), "assay-bundle/2"),
        ("no json", about("{"), "cannot read bundle.json"),
        ("no about", without("bundle.json"), "it has no format"),
        ("half", without("trials.csv"), "a file of the result is missing"),
        ("cut", whole[..whole.len() / 2].to_vec(), "damaged"),
        ("sum", damaged(&whole), "damaged"),
        ("empty", Vec::new(), "damaged"),
        ("text", b"hello".to_vec(), "damaged"),
        (
            "newer result",
            packed(&renewed(parts(), "import.json", "assay-import/1", "assay-import/9")),
            "assay-import/9",
        ),
        ("other numbers", packed(&renewed(parts(), "trials.csv", "1", "2")), "damaged"),
    ];
    let before = tree(home.assay.home());
    for (name, bytes, words) in cases {
        let file = home.file("hostile.assay", bytes);
        let told = home.told(2, &["import", &file]);
        assert!(told.contains(words), "{name}: {told}");
        assert!(!told.trim_end_matches('\n').contains('\u{1b}'), "{name}: {told:?}");
        assert_eq!(tree(home.assay.home()), before, "{name}");
        assert!(!home.scratch.path().join("evil").exists() && !Path::new("/tmp/evil").exists());
    }
    // An ID is never used as a path.
    let told = about(r#"{ "format": "assay-bundle/1", "id": "../../../evil", "assay": "0.1.0" }"#);
    let added = home.text(&["import", &home.file("id.assay", told)]);
    assert!(added.trim().ends_with("-foreign") && !added.contains(".."), "{added}");
    assert!(home.assay.home().join("results").join(added.trim()).is_dir());
}

#[test]
fn what_is_handed_on_is_the_results_own_files_and_nothing_that_lies_beside_them() {
    let home = home("parcel-own-files");
    let study = home.file("depth.toml", crate::DEPTH);
    let own = home.json(&["run", &study, crate::DRIVE, "--json"]);
    let id = own["study"]["id"].as_str().unwrap();
    let directory = home.assay.home().join("results").join(id);
    fs::write(directory.join("notes.txt"), "of mine").unwrap();
    fs::create_dir(directory.join("label.json")).unwrap();
    fs::write(directory.join("series/.hidden.json"), "{}").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", directory.join("series/link.json")).unwrap();
    let path = home.scratch.path().join("own.assay");
    let told = home.run(&["export", id, "--format", "bundle", "-o", path.to_str().unwrap()]);
    for left_out in ["notes.txt", "label.json", "series/.hidden.json", "series/link.json"] {
        assert!((told.stdout.clone() + &told.stderr).contains(left_out), "{left_out}: {told:?}");
    }
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(&path).unwrap()));
    let mut names = Vec::new();
    for entry in archive.entries().unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o644);
        assert_eq!(entry.header().entry_type(), EntryType::Regular);
        names.push(entry.path().unwrap().display().to_string());
    }
    assert_eq!((names[0].as_str(), names[names.len() - 1].as_str()), ("bundle.json", "plan.json"));
    let alone =
        ["bundle.json", "environment.json", "log.jsonl", "plan.json", "study.toml", "trials.jsonl"];
    let below = |name: &String| name.starts_with("series/") || name.starts_with("histograms/");
    let mut others: Vec<&String> = names.iter().filter(|name| !below(name)).collect();
    others.sort_unstable();
    assert!(others.iter().all(|name| alone.contains(&name.as_str())), "{others:?}");
    assert!(
        !names.iter().any(|name| name.contains("link") || name.contains("hidden")),
        "{names:?}"
    );
    // A result in use by a process is not exported.
    let plan = fs::File::open(directory.join("plan.json")).unwrap();
    plan.lock().unwrap();
    let told = home.told(3, &["export", id, "--format", "bundle", "-o", path.to_str().unwrap()]);
    assert!(told.contains("is still running"), "{told}");
    plan.unlock().unwrap();
    home.text(&["export", id, "--format", "bundle", "-o", path.to_str().unwrap()]);
}

fn damaged(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let last = bytes.len() - 6;
    bytes[last] ^= 0xff;
    bytes
}

fn renewed(parts: Vec<Entry>, name: &str, from: &str, to: &str) -> Vec<Entry> {
    let change = |entry: Entry| {
        if entry.name != name {
            return entry;
        }
        let text = String::from_utf8(entry.bytes).unwrap().replacen(from, to, 1);
        Entry { bytes: text.into_bytes(), ..entry }
    };
    parts.into_iter().map(change).collect()
}

/// Packs zeros without allocating them.
fn zeros(entry: &Entry, bytes: u64, told: u64) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(header(&file("bundle.json", ""), 41).as_bytes()).unwrap();
    packer.write_all(br#"{"format":"assay-bundle/1","assay":"0.1"}"#).unwrap();
    packer.write_all(&[0; 512 - 41]).unwrap();
    packer.write_all(header(entry, told).as_bytes()).unwrap();
    io::copy(&mut io::repeat(0).take(bytes), &mut packer).unwrap();
    packer.finish().unwrap()
}

#[test]
#[ignore = "nightly: 5 s"]
fn what_unpacks_to_too_much_is_refused() {
    let (home, _, _) = handed_on("parcel-bomb");
    let before = tree(home.assay.home());
    // The header states 100 GB, which is refused.
    let told = zeros(&file("trials.csv", ""), 1 << 20, 100_000_000_000);
    let message = home.told(2, &["import", &home.file("told.assay", told)]);
    assert!(message.contains("the limit in a result is 256 MiB"), "{message}");
    // Each file is small, but their total exceeds the limit for the compressed size.
    let many = zeros(&file("trials.csv", ""), 80 << 20, 80 << 20);
    let message = home.told(2, &["import", &home.file("many.assay", many)]);
    assert!(message.contains("MiB or 50000 files"), "{message}");
    // The header does not show it: the data after its last file has no end.
    let silent = zeros(&file("trials.csv", ""), 1_100_000_000, 0);
    let message = home.told(2, &["import", &home.file("silent.assay", silent)]);
    assert!(message.contains("MiB or 50000 files"), "{message}");
    let empty = packed(&[about(), file("series/0001.json", "")]);
    let message = home.told(2, &["import", &home.file("empty.assay", empty)]);
    assert!(message.contains("series/0001.json is empty"), "{message}");
    assert_eq!(tree(home.assay.home()), before);
}

fn about() -> Entry {
    file("bundle.json", r#"{"format":"assay-bundle/1","assay":"0.1"}"#)
}

/// Returns incompressible bytes.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_large_file_costs_little_memory() {
    let (home, id, path) = handed_on("parcel-memory");
    let mut content = noise(4 << 20);
    content.resize(180 << 20, b'0');
    let large = packed(&[about(), file("trials.jsonl", content)]);
    let large = home.file("large.assay", large);
    for (word, code, words) in [
        (large.as_str(), 2, "a file of the result is missing"),
        (path.to_str().unwrap(), 0, &format!("{id}-foreign")),
    ] {
        // The largest unpacks to more than the process's memory limit.
        let mut command = Command::new("sh");
        let line = "ulimit -d 131072; exec \"$0\" import \"$1\"";
        command.args(["-c", line, env!("CARGO_BIN_EXE_assay"), word]);
        let own = home.assay.command(&[]);
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = command.output().unwrap();
        let told = [ended.stdout, ended.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert_eq!(ended.status.code(), Some(code), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn what_a_killed_import_left_is_removed_by_the_next_command_and_nothing_else_is() {
    let (home, id, path) = handed_on("parcel-killed");
    let results = home.assay.home().join("results");
    home.text(&["import", path.to_str().unwrap()]);
    let mark = fs::read(results.join(format!("{id}-foreign/foreign.json"))).unwrap();
    let left = |name: &str, file: &str| {
        let directory = results.join(name);
        fs::create_dir_all(directory.join("series")).unwrap();
        fs::write(directory.join("series/0001.json"), "{}").unwrap();
        if !file.is_empty() {
            fs::write(directory.join(file), &mark).unwrap();
        }
        directory
    };
    let killed = left(".incoming-0123456789abcdef", "foreign.json");
    // As older versions did: a partial result under its final name.
    let half = left("20201120-103107-a3f9-foreign", "foreign.json");
    let running = left(".incoming-fedcba9876543210", "foreign.json");
    let lock = fs::File::open(running.join("foreign.json")).unwrap();
    lock.lock().unwrap();
    let begun = left(".incoming-0000000000000000", "");
    let others = [left("my-foreign-things", ""), left(".hidden", "foreign.json")];
    for command in ["list", "import"] {
        let words =
            if command == "list" { vec!["list"] } else { vec!["import", path.to_str().unwrap()] };
        home.text(&words);
        assert!(!killed.exists() && !half.exists(), "{command}");
        assert!(running.exists() && begun.exists(), "{command}: somebody is at it");
        assert!(others.iter().all(|other| other.exists()), "{command}");
        assert!(results.join(&id).exists() && results.join(format!("{id}-foreign")).exists());
        left(".incoming-0123456789abcdef", "foreign.json");
        left("20201120-103107-a3f9-foreign", "foreign.json");
    }
    drop(lock);
    // A process that another test is starting may hold the lock for a moment.
    for _ in 0..100 {
        home.text(&["list"]);
        if !running.exists() {
            break;
        }
    }
    assert!(!running.exists());
    // Directories with a leading dot are not results, whatever their contents.
    fs::copy(results.join(&id).join("import.json"), begun.join("import.json")).unwrap();
    assert!(!home.text(&["list"]).contains("incoming"));
}

#[test]
fn two_trials_have_no_file_together() {
    let home = home("parcel-shared");
    let study = home.file("depth.toml", crate::DEPTH);
    let own = home.json(&["run", &study, crate::DRIVE, "--json"]);
    let path = home.scratch.path().join("own.assay");
    let id = own["study"]["id"].as_str().unwrap();
    home.text(&["export", id, "--format", "bundle", "-o", path.to_str().unwrap()]);
    let mut parts = unpacked(&path);
    let trials = parts.iter_mut().find(|entry| entry.name == "trials.jsonl").unwrap();
    let text = String::from_utf8(trials.bytes.clone()).unwrap();
    let first = text.lines().next().unwrap().to_owned() + "\n";
    trials.bytes = [first.as_bytes(), text.as_bytes()].concat();
    let told = home.told(2, &["import", &home.file("shared.assay", packed(&parts))]);
    assert!(told.contains("two trials share a file: "), "{told}");
}
