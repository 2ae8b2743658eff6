//! Rules of the source tree: permitted dependencies, maximum lengths, and contents that a public repository must not
//! have.

#![allow(clippy::disallowed_methods, reason = "this test reads the source tree")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "tidy/dialect.rs"]
mod dialect;
#[path = "tidy/kinds.rs"]
mod kinds;
#[path = "tidy/markdown.rs"]
mod markdown;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/prose.rs"]
mod prose;
#[path = "tidy/source.rs"]
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assay_testkit::layers::{self, Layers};
use source::{DECIDING, RUNNING, blanked, files, functions, used_below, used_modules};

const REPORT: &str = "assay-report";
/// Crates of one room: `layers.txt` gives no order to their modules.
const WHOLE: [(&str, &str); 2] = [(REPORT, "report"), ("assay-workloads", "workloads")];
/// Crates that access the machine.
const TOUCHING: [&str; 4] = ["clap", "nix", "rustix", "signal-hook"];
/// System calls that deciding crates may use: kernel counters, and files in memory.
const COUNTERS: [&str; 15] = [
    "BlockClass",
    "BlockRequest",
    "BlockTotals",
    "ClassTotals",
    "DirectoryPolicy",
    "DeviceTotals",
    "LATENCY_BUCKETS",
    "LatencyTotals",
    "MOST_TRACED",
    "RequestFlags",
    "TraceMeans",
    "latency_bucket",
    "latency_bucket_from_ns",
    "memory_copy",
    "memory_file",
];
const LONGEST_FILE: usize = 800;
const LONGEST_FUNCTION: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn rust_files() -> Vec<(String, String)> {
    let root = root();
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    let relative = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    files(&root)
        .into_iter()
        .filter(is_rust)
        .map(|path| (relative(&path), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn in_crate(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("crates/")?.split_once("/src/")
}

/// Returns a file as `room/file`.
fn in_house(name: &str) -> Option<String> {
    let (crate_, inner) = in_crate(name)?;
    if let Some((_, room)) = WHOLE.iter().find(|(name, _)| *name == crate_) {
        return Some(format!("{room}/{inner}"));
    }
    // A crate's lib.rs has no code.
    let is_room = crate_ == "assay" || (has_rooms(crate_) && inner != "lib.rs");
    is_room.then(|| inner.to_owned())
}

fn has_rooms(crate_: &str) -> bool {
    crate_ == RUNNING || DECIDING.contains(&crate_)
}

fn is_pure(crate_: &str) -> bool {
    crate_ == REPORT || DECIDING.contains(&crate_)
}

/// Returns the contents of `crates/layers.txt`.
fn house() -> &'static Layers {
    static HOUSE: LazyLock<Layers> = LazyLock::new(|| {
        let text = fs::read_to_string(root().join(layers::PATH)).unwrap();
        Layers::read(&text).unwrap_or_else(|error| panic!("{error}"))
    });
    &HOUSE
}

/// Returns the forbidden uses of other modules in a file of `module`.
fn misuses(module: &str, text: &str) -> Vec<String> {
    let used = used_modules(&blanked(text));
    let house = house();
    let is_known = |other: &str| house.of(other).is_some() || house.is_leaf(other);
    used.into_iter().filter(|other| is_known(other) && !house.may_use(module, other)).collect()
}

#[test]
fn every_module_uses_only_what_is_below_it() {
    let mut wrong = Vec::new();
    for (name, text) in rust_files() {
        let Some(inner) = in_house(&name) else { continue };
        let module = inner.split('/').next().unwrap().trim_end_matches(".rs");
        if house().of(module).is_none() && !house().is_leaf(module) {
            wrong.push(format!("{name}: module `{module}` has no layer in {}", layers::PATH));
        }
        wrong.extend(misuses(module, &text).iter().map(|other| format!("{name} uses {other}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_room_lies_in_its_crate() {
    let rooms = house().layers.iter().flatten().chain(&house().leaves);
    let files: Vec<String> = rust_files().into_iter().map(|(name, _)| name).collect();
    let mut seen = Vec::new();
    for room in rooms {
        let is_whole = WHOLE.contains(&(room.crate_.as_str(), room.name.as_str()));
        let mut start = format!("crates/{}/src", room.crate_);
        if !is_whole {
            start = format!("{start}/{}", room.name);
        }
        let there = |name: &String| {
            name.strip_prefix(&start).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
        };
        assert!(files.iter().any(there), "{}: no room {start}", layers::PATH);
        assert!(!seen.contains(&&room.name), "{} stands there twice", room.name);
        seen.push(&room.name);
    }
}

/// Returns the highest and the lowest layer of a crate with rooms, counted from the top.
fn layers_of(crate_: &str) -> Option<[usize; 2]> {
    let has = |layer: &[layers::Room]| layer.iter().any(|room| room.crate_ == crate_);
    let all = house().layers.iter().enumerate();
    let own: Vec<usize> = all.filter(|(_, layer)| has(layer)).map(|(at, _)| at).collect();
    Some([*own.first()?, *own.last()?])
}

/// Only the program may have layers at any level.
#[test]
fn no_crate_needs_one_that_stands_above_it() {
    for one in house().crates.iter().filter(|one| one.name != "assay") {
        let Some([_, lowest]) = layers_of(&one.name) else { continue };
        for needed in &one.needs {
            let Some([highest, _]) = layers_of(needed) else { continue };
            assert!(highest > lowest, "{} needs {needed}, which does not stand below", one.name);
        }
    }
    let [verdict, base] = ["assay-analysis", "assay-core"].map(|name| layers_of(name).unwrap());
    assert!(verdict[0] < verdict[1] && verdict[1] < base[0]);
}

fn needed(manifest: &str) -> Vec<&str> {
    let (_, own) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
    let own = own.split("\n[").next().unwrap_or_default();
    let names = own.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| name.starts_with("assay")).collect()
}

#[test]
fn every_crate_needs_what_the_layers_say() {
    let mut folders: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    for one in &house().crates {
        let manifest = root().join("crates").join(&one.name).join("Cargo.toml");
        assert_eq!(needed(&fs::read_to_string(manifest).unwrap()), one.needs, "{}", one.name);
        folders.retain(|name| *name != one.name);
    }
    assert!(folders.is_empty(), "{} does not know {folders:?}", layers::PATH);
    let text = "[package]\n\n[dependencies]\nassay-sys.workspace = true\ntar = \"1\"\n\n[dev-dependencies]\nassay-testkit = \"1\"\n";
    assert_eq!(needed(text), ["assay-sys"]);
}

#[test]
fn at_most_twelve_members_on_seven_floors() {
    let manifest: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    assert!(members.len() <= 12, "{members:?}");
    let mut floors = BTreeMap::new();
    // Each crate precedes those that it needs.
    for one in house().crates.iter().rev() {
        let below = one.needs.iter().map(|name| floors[name.as_str()]).max().unwrap_or(0);
        floors.insert(one.name.as_str(), below + 1);
    }
    assert!(floors.values().all(|floor| *floor <= 7), "{floors:?}");
}

#[test]
fn a_forbidden_use_is_found() {
    let found = |module: &str, text: &str| misuses(module, text).join(" ");
    assert_eq!(found("rules", "use crate::run::session;"), "run");
    assert_eq!(found("inference", "fn f() { crate::run::go() }"), "run");
    assert_eq!(
        found("system", "use crate::{\n failure::Failure,\n plan::{Arm, order},\n};"),
        "plan"
    );
    assert_eq!(found("factors", "use assay_workloads::io;"), "workloads");
    assert_eq!(found("failure", "use crate::system::System;"), "system");
    assert_eq!(found("run", "use assay_analysis::{inference::judge, rules};"), "inference");
    assert_eq!(found("system", "fn f() { assay_study::plan::go() }"), "plan");
    assert_eq!(found("run", "use crate::vm::machine;"), "vm");
    assert_eq!(found("cli", "use assay_runner::vm::{Asked, kernel::Kernel};"), "vm");
    assert_eq!(found("real", "use crate::vm::Asked;"), "");
    assert_eq!(found("store", "use assay_report::html;"), "");
    assert_eq!(found("run", "use assay_report::html;"), "report");
    assert_eq!(found("rules", "use crate::results::Plan; // crate::run in a comment"), "");
    assert_eq!(found("run", "let text = \"crate::cli\"; use crate::plan::order;"), "");
}

#[test]
fn what_decides_and_what_shows_touches_nothing() {
    let mut wrong = Vec::new();
    for crate_ in DECIDING.into_iter().chain([REPORT]) {
        let manifest = format!("crates/{crate_}/Cargo.toml");
        let text = fs::read_to_string(root().join(&manifest)).unwrap();
        let needed = text.split("[dev-dependencies]").next().unwrap();
        let names: Vec<&str> =
            needed.lines().filter_map(|line| line.split(['.', ' ', '=']).next()).collect();
        let touching = TOUCHING.iter().filter(|name| names.contains(name));
        wrong.extend(touching.map(|name| format!("{manifest} needs {name}")));
    }
    for (name, text) in rust_files() {
        let pure = in_crate(&name).is_some_and(|(crate_, _)| is_pure(crate_));
        if pure && text.contains("disallowed_methods") && !name.contains("tests") {
            wrong.push(format!("{name} allows what this crate may not call"));
        }
        let raw = if pure { used_below(&blanked(&text), "assay_sys::") } else { Vec::new() };
        let more = raw.into_iter().filter(|used| !used.is_empty() && !COUNTERS.contains(&&**used));
        wrong.extend(more.map(|used| format!("{name} uses assay_sys::{used}")));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn files_and_functions_stay_short() {
    let mut wrong = Vec::new();
    for (name, text) in rust_files() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{name}: {lines} lines, at most {LONGEST_FILE}"));
        }
        for (line, length) in functions(&blanked(&text)) {
            if length > LONGEST_FUNCTION {
                wrong.push(format!("{name}:{line}: a function of {length} lines"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let long = format!("fn long() {{\n{}}}\n", "call();\n".repeat(LONGEST_FUNCTION));
    assert_eq!(functions(&blanked(&long)), [(1, LONGEST_FUNCTION + 2)]);
}

/// Returns whether a file names the type of a study, outside tests; `Fresh::Study` is different.
fn sees_the_study(text: &str) -> bool {
    let code = blanked(text);
    let own = code.split("mod tests {").next().unwrap_or_default();
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    own.match_indices("Study").any(|(at, word)| {
        let before = &own[..at];
        let whole = !before.ends_with(letter) && !own[at + word.len()..].starts_with(letter);
        whole && (!before.ends_with("::") || before.ends_with("file::"))
    })
}

/// A step of a run receives data derived from the study once (`plan/design.rs`), and does not read the study.
#[test]
fn few_files_of_the_runner_see_the_study() {
    const MOST: usize = 8;
    // Test setup is not a step.
    let apart = |name: &str| name.contains("tests") || name.contains("/known/");
    let of_runner = |name: &str| name.starts_with("crates/assay-runner/src/run/") && !apart(name);
    let files = rust_files().into_iter().filter(|(name, _)| of_runner(name));
    let seeing = files.filter(|(_, text)| sees_the_study(text));
    let seeing: Vec<String> = seeing.map(|(name, _)| name).collect();
    assert!((1..=MOST).contains(&seeing.len()), "at most {MOST}: {seeing:?}");
    assert!(sees_the_study("use assay_study::file::{Study, Target};"));
    assert!(sees_the_study("fn f(study: &assay_study::file::Study) {}"));
    assert!(!sees_the_study("// Study\nlet same = fresh == Fresh::Study; struct StudyFacts;"));
}

#[test]
fn only_two_crates_hold_unsafe_code() {
    let allowed = ["crates/assay-load/", "crates/assay-sys/"];
    let word =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe");
    for (name, text) in rust_files() {
        let outside = !allowed.iter().any(|start| name.starts_with(start));
        assert!(!(outside && word(&blanked(&text))), "{name} holds unsafe code");
    }
}

/// Forbidden in the measured loop, in addition to allocation (`engines/no_alloc.rs` of `assay-load`).
const NOT_IN_A_LOOP: [&str; 8] =
    ["Condvar", "Mutex", "RwLock", "eprintln", "mpsc", "println", "stderr", "stdout"];

#[test]
fn what_moves_bytes_takes_no_lock_and_prints_nothing() {
    // Where the threads of a run wait for each other before it starts.
    let gate = "crates/assay-load/src/gate.rs";
    let found = |text: &str| {
        let text = blanked(text);
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.filter(|word| NOT_IN_A_LOOP.contains(word)).count()
    };
    for (name, text) in rust_files() {
        if name.starts_with("crates/assay-load/src/") {
            assert_eq!(found(&text) > 0, name == gate, "{name} takes a lock, or prints");
        }
    }
    assert_eq!(found("use std::sync::Mutex; // RwLock"), 1);
}

fn begins_a_path(text: &str, folder: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    text.match_indices(folder).any(|(at, _)| !text[..at].ends_with(inside))
}

#[test]
fn nothing_here_names_a_workplace_or_a_registry() {
    // Split to keep these names out of this file, too.
    let folders = [concat!("/wo", "rk/"), concat!("/fa", "rm/")];
    let hosts = [
        concat!("crates", ".io"),
        concat!("deb.deb", "ian.org"),
        concat!("py", "pi.org"),
        concat!("npm", "js.org"),
        concat!("go", "lang.org"),
    ];
    for path in files(&root()).iter().filter(|path| !path.ends_with("Cargo.lock")) {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        let found = hosts.iter().find(|host| text.contains(**host));
        let found = found.or(folders.iter().find(|folder| begins_a_path(&text, folder)));
        assert_eq!(found, None, "{}", path.display());
    }
    let [folder, _] = folders;
    assert!(begins_a_path(&format!("in `{folder}x`"), folder));
    assert!(!begins_a_path(&format!("crates/assay-core/src{folder}x, and ..{folder}"), folder));
}

fn tests_of(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("#[test]\n").map(|(at, mark)| {
        let indent = text[..at].rsplit('\n').next().unwrap_or_default();
        let rest = &text[at + mark.len()..];
        rest.split(&format!("\n{indent}}}\n")).next().unwrap_or(rest)
    })
}

fn named(body: &str) -> &str {
    let mut lines = body.lines().map(str::trim_start);
    lines.find(|line| line.starts_with("fn ")).unwrap_or_default()
}

/// Returns tests that rewrite expected files and are ignored.
fn forgotten(text: &str) -> Vec<&str> {
    let writes = |body: &&str| {
        ["Expected::default()", "expected::expect(", " expect("]
            .iter()
            .any(|call| body.contains(call))
    };
    tests_of(text).filter(writes).filter(|body| body.contains("#[ignore")).map(named).collect()
}

#[test]
fn a_test_that_writes_what_is_expected_is_not_ignored() {
    for (name, text) in rust_files().iter().filter(|(name, _)| !name.ends_with("tidy.rs")) {
        assert_eq!(forgotten(text), Vec::<&str>::new(), "{name}: UPDATE_EXPECT=1 cargo test");
    }
    let body = "#[test]\nfn a() {\n    let mut files = Expected::default();\n}\n";
    assert_eq!(forgotten(body), Vec::<&str>::new());
    let ignored = body.replace("]\nfn", "]\n#[ignore = \"needs 4 s\"]\nfn");
    assert_eq!(forgotten(&ignored), ["fn a() {"]);
    let within = format!("    {}\n", ignored.trim_end().replace('\n', "\n    "));
    assert_eq!(forgotten(&within), ["fn a() {"]);
    let other = "#[test]\n#[ignore = \"needs 4 s\"]\nfn b() {\n}\n";
    assert_eq!(forgotten(&[other, body].concat()), Vec::<&str>::new());
}

/// Returns the number of code blocks in documentation; blocks that name another language do not count.
fn begins_code(text: &str) -> usize {
    let fences = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
        comment.trim_start().strip_prefix("```")
    });
    fences.step_by(2).filter(|what| !what.starts_with("text")).count()
}

/// Cargo runs no documentation tests (`doctest = false`): an example would be untested.
#[test]
fn documentation_shows_no_code_that_nothing_compiles() {
    for (path, text) in rust_files() {
        assert_eq!(begins_code(&text), 0, "{path}: write a test, or ```text");
    }
    assert_eq!(begins_code("/// ```\n/// f();\n/// ```\n"), 1);
    assert_eq!(begins_code("//! ```text\n//! a\n//! ```\n"), 0);
}
