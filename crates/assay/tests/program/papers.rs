//! Every command of the program on a page parses, and runs with short trials and substitutes for drives.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use assay_testkit::Scratch;
use assay_testkit::home::{Home, LIMIT, WAIT};
use assay_testkit::process::run;
use clap::error::ErrorKind;

use crate::{DEPTH, git, home};

#[allow(dead_code, reason = "the tidy tests use the rest")]
#[path = "../tidy/markdown.rs"]
mod markdown;

/// Commands that do not run here, and why.
const LISTED: &str = include_str!("../commands-of-pages.csv");
const REASONS: &str = "changes system settings, ends only by Ctrl-C, has its own test, needs a block device, \
                       needs a virtual machine, needs another host, runs for minutes";
/// A slow drive, with few operations to simulate.
const DRIVE: &str = "simulated:lognormal,mean=5ms,p99=20ms,servers=4";

/// Returns hand-written pages with their paths. The changelog names retired commands.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/howto", "docs/explanation", "docs/dev", "docs/dev/decisions"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"))
        {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            if name != "CHANGELOG.md" {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// Returns the words of a call of the program; `None` for other text.
fn call(text: &str) -> Option<Vec<String>> {
    let text = text.strip_prefix("sudo ").unwrap_or(text);
    let text = text.strip_prefix("./").unwrap_or(text);
    let rest = text.strip_prefix("assay ")?;
    rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-').then_some(())?;
    let ends = [" | ", " > ", " 2> "].into_iter().filter_map(|end| text.find(end));
    shell_words::split(&text[..ends.min().unwrap_or(text.len())]).ok()
}

/// Returns why a call would be refused, and whether its command needs more arguments.
fn refusal(words: &[String]) -> Option<(String, bool)> {
    use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument};
    let error = assay::cli::definition().try_get_matches_from(words).err()?;
    let kinds = [DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument];
    error.use_stderr().then(|| (error.to_string(), kinds.contains(&error.kind())))
}

/// Returns the shown commands, with the first position of each.
fn shown() -> BTreeMap<String, String> {
    let (mut found, mut wrong) = (BTreeMap::new(), Vec::new());
    for (page, content) in pages() {
        for (line, text) in markdown::commands(&content) {
            let Some(words) = call(&text) else { continue };
            let at = format!("{page}:{line}");
            // A separate line is complete; a word in a sentence may be a name.
            let is_alone = content.lines().nth(line - 1).unwrap().trim().starts_with(&text);
            match refusal(&words) {
                Some((_, true)) if !is_alone => {}
                Some((why, _)) => wrong.push(format!("{at}: {text}: {why}")),
                None if page.starts_with("docs/dev/") => {}
                None => _ = found.entry(text).or_insert(at),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    found
}

/// Creates what the pages assume: programs, files, a repository and results. Returns the results' IDs: a check and two
/// studies.
fn prepare(home: &Home) -> [String; 3] {
    let folder = home.scratch.path();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    fs::create_dir(folder.join("bin")).unwrap();
    // Each prints the recorded output of the program of its name, if there is one.
    let script = format!(
        "#!/bin/sh\nn=${{0##*/}}; sleep 0.005; cat {0}/foreign/$n.* {0}/importers/$n-json/randread-d4-1.json 2>&-; :",
        tests.display()
    );
    let names = "old new bench speedtest1 bin/make bin/vacuumdb bin/zstd bin/fio bin/iperf3 bin/pgbench \
                 bin/sqlite3 bin/sysbench";
    for name in names.split(' ') {
        let path = home.file(name, &script);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let trace = home.file("trace.txt", include_str!("../importers/blkparse/trace.txt"));
    home.file("old.json", include_str!("../importers/fio-json/randread-d4-1.json"));
    home.file("new.json", include_str!("../importers/fio-json/randread-d4-2.json"));
    for (name, text) in
        [("jobs.fio", "[a]\nrw=randread\nsize=1m\n"), ("words", "word"), ("timed.sql", "")]
    {
        home.file(name, text);
    }
    for (name, page, start) in [
        ("mine.toml", include_str!("../../../../docs/howto/settings.md"), "toml\n# mine.toml"),
        ("datasheet.toml", include_str!("../../../../docs/howto/drive.md"), "toml\n"),
    ] {
        home.file(name, page.split("```").find_map(|part| part.strip_prefix(start)).unwrap());
    }
    let lines = "init -qb main;add bench;commit -qm a;checkout -qb b;commit -qm b --allow-empty";
    for line in lines.split(';') {
        git(folder, &line.split(' ').collect::<Vec<_>>());
    }
    home.text(&["import", &trace, "--title", "busy"]);
    let study = home.file("depth.toml", DEPTH);
    let run = ["run", &study, DRIVE, "--replicates", "6", "--json"];
    [&["check", DRIVE, "--json"][..], &run, &run]
        .map(|words| home.json(words)["study"]["id"].as_str().unwrap().to_owned())
}

/// Returns the words of a command as they run here.
fn stood_in(command: &str, [check, old, new]: &[String; 3]) -> Vec<String> {
    let mut words = call(command).unwrap().split_off(1);
    // Not possible on a simulated drive.
    let needs_folder = command.contains("durability");
    let disk = fs::read_dir("/sys/block").unwrap().next().unwrap().unwrap().file_name();
    let disk = disk.to_string_lossy();
    for word in &mut words {
        *word = match word.as_str() {
            "." | "/srv" if needs_folder => ".",
            "." | "/srv" | "/mnt/ssd" | "/mnt/a" | "/mnt/b" | "/mnt/card" | "/mnt/nas"
            | "/var/lib" | "big.iso" | "old.iso" | "new.iso" | "TARGET" => DRIVE,
            "GOOD,BAD" | "GOOD,BISECT_HEAD" => "main,HEAD",
            "~/src" => ".",
            "ID" => check,
            "A" | "OLD" | "BEFORE" => old,
            "B" | "NEW" | "AFTER" => new,
            "FILE" => "mine.toml",
            "STUDY" => "queue-depth",
            "sda" => &disk,
            "1min" | "10s" => "1s",
            "30" => "3",
            word => word,
        }
        .to_owned();
    }
    let (has, run) = (|text: &str| command.contains(text), words[0] == "run");
    let has_target = has("--command") || needs_folder || words.iter().any(|word| word == DRIVE);
    for (option, is_needed) in [
        (WAIT, run || words[0] == "check"),
        (DRIVE, (run || words[0] == "check") && !has_target),
        ("--replicates=3", run && !has("--replicates")),
        ("--set=runs_per_trial=1", run && has("--command") && !has("runs_per_trial")),
        ("--set=acknowledged_writes=20", run && needs_folder),
        ("--set=crash_points=5", run && needs_folder),
    ] {
        words.extend(is_needed.then(|| option.to_owned()));
    }
    words
}

/// Runs a command in a copy of the prepared home; returns an error if its exit code or output is wrong.
fn failure(home: &Home, command: &str, ids: &[String; 3]) -> Option<String> {
    let words = stood_in(command, ids);
    let scratch = Scratch::new("page").unwrap();
    let (from, to) = (home.scratch.path(), scratch.path());
    assay_testkit::call("cp", &["-aT", from.to_str().unwrap(), to.to_str().unwrap()]).unwrap();
    let path = format!("{}/bin:{}", to.display(), std::env::var("PATH").unwrap());
    let mut line = home.assay.command(&[]);
    line.args(&words).current_dir(to).env("PATH", path).env("HOME", to);
    let ended = run(line.env("ASSAY_HOME", to.join("home")), LIMIT).unwrap();
    let is_gate = ["--gate", "--for ", "run durability"].iter().any(|gate| command.contains(gate));
    let is_right = ended.code == 0 || is_gate && [1, 5].contains(&ended.code);
    (!is_right).then(|| format!("exit {} of {words:?}: {}", ended.code, ended.stderr))
}

#[test]
fn every_command_of_the_pages_runs_or_is_listed() {
    let (mut shown, mut wrong) = (shown(), Vec::new());
    for row in LISTED.lines().skip(1) {
        let (command, reason) = row.rsplit_once(';').unwrap();
        if !REASONS.split(", ").any(|one| one == reason) || shown.remove(command).is_none() {
            wrong.push(format!("{row}: no page shows this, or unknown reason"));
        }
    }
    assert!(LISTED.lines().count() * 2 <= shown.len(), "too many are listed: {}", shown.len());
    let home = home("pages");
    let ids = prepare(&home);
    // The commands wait more than they compute.
    let commands = Mutex::new(shown.into_iter());
    let run_next = || commands.lock().unwrap().next();
    std::thread::scope(|scope| {
        let run_all = || -> Vec<String> {
            let each = std::iter::from_fn(run_next);
            let failed = each.filter_map(|(command, at)| {
                failure(&home, &command, &ids).map(|why| format!("{at}: {command}: {why}"))
            });
            failed.collect()
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(run_all)).collect();
        wrong.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_command_that_is_none_is_found() {
    let refused = |text: &str| call(text).and_then(|words| refusal(&words));
    assert!(refused("assay collection add").is_some_and(|(_, is_name)| is_name));
    // The last is a retired name.
    for wrong in ["assay chek", "assay check --quik", "./assay list drives --jason", "assay add"] {
        assert!(refused(wrong).is_some_and(|(_, is_name)| !is_name), "{wrong}");
    }
    assert_eq!(call("cargo test"), None);
}
