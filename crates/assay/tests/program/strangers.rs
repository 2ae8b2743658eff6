//! Results written by another user, given to the built program: nothing in them is executed or applied for any user.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_testkit::home::Home;
use assay_testkit::needs::{Need, have};
use assay_testkit::process::run;

use crate::{DEPTH, DRIVE, home};

const PATTERN: &str = "/proc/sys/kernel/core_pattern";
const COMMANDS: [&[&str]; 4] =
    [&["advise", "apply"], &["advise", "apply", "--yes"], &["advise", "confirm"], &["resume"]];

/// Returns a home with a simulated result of `confirm`, and its path.
fn confirmed(test: &str) -> (Home, PathBuf) {
    let home = home(test);
    let study = home.file("depth.toml", DEPTH);
    home.json(&["run", &study, DRIVE, "--replicates", "6", "--seed", "5", "--json"]);
    let fresh = home.json(&["advise", "confirm", "--seed", "9", "--json"]);
    let id = fresh["study"]["id"].as_str().unwrap();
    let bundle = home.assay.home().join("results").join(id);
    (home, bundle)
}

fn condition(below: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = vec![(PathBuf::from(PATTERN), fs::read(PATTERN).unwrap_or_default())];
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(condition(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

fn is_refused(home: &Home, word: &str, what: &str) {
    let before = condition(home.scratch.path());
    for command in COMMANDS {
        let words: Vec<&str> = [command, &[word]].concat();
        let ended = home.run(&words);
        assert!([2, 3].contains(&ended.code), "{words:?}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.is_empty(), "{words:?}: {}", ended.stdout);
        assert!(ended.stderr.contains(what), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{words:?}: {}", ended.stderr);
        assert!(!ended.stderr.contains('\u{1b}'), "{words:?}: {}", ended.stderr);
        assert_eq!(condition(home.scratch.path()), before, "{words:?}");
    }
}

#[test]
fn a_simulated_result_that_sets_a_program_of_the_kernels_is_refused() {
    let (home, bundle) = confirmed("core-pattern");
    for name in ["study.toml", "plan.json", "trials.jsonl"] {
        let path = bundle.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let name = format!("tunable:{PATTERN}");
        let text = text.replace("\"queue_depth\": \"", &format!("\"{name}\": \""));
        let text = text.replace("\"queue_depth\":\"", &format!("\"{name}\":\""));
        let text = text.replace("\nqueue_depth = [", &format!("\n\"{name}\" = ["));
        let text = text.replace("\"4\"", "\"|/tmp/program\"");
        fs::write(&path, text).unwrap();
    }
    fs::remove_file(bundle.join("log.jsonl")).unwrap();
    is_refused(&home, &bundle.display().to_string(), "was simulated");
}

#[test]
fn a_simulated_result_that_calls_itself_measured_is_refused_to_root() {
    let (home, bundle) = confirmed("measured");
    let target = home.scratch.path().display().to_string();
    for name in ["study.toml", "plan.json", "environment.json"] {
        let path = bundle.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let kind = "\"kind\": \"simulated\"";
        let text =
            text.replace(DRIVE, &target).replace(kind, &kind.replace("simulated", "directory"));
        // Only the engines remain in the plan.
        let text = text.replace("\"simulated\"", "\"psync\"");
        let law = DRIVE.trim_start_matches("simulated:");
        let text = text.replace(&format!("simulated = \"{law}\""), "directory = \".\"");
        fs::write(&path, text).unwrap();
    }
    let root = home.run(&["advise", "apply", &bundle.display().to_string(), "--yes"]);
    assert!([2, 3].contains(&root.code), "{}", root.stderr);
    if assay_testkit::is_root() {
        is_refused(&home, &bundle.display().to_string(), "other users can write to it");
    }
}

#[test]
fn settings_that_are_not_on_the_list_want_to_be_allowed_on_the_command_line() {
    let home = home("allowed");
    let study = home.file("depth.toml", DEPTH);
    let setting = format!("tunable:{PATTERN}=core,|/tmp/program");
    let words = ["plan", study.as_str(), DRIVE, "--set", &setting];
    let told = home.refused(2, &words);
    assert!(told.contains(&format!("{PATTERN} is not a standard setting")), "{told}");
    let ran = home.refused(2, &["run", &study, DRIVE, "--set", &setting]);
    for told in [told, ran] {
        assert!(told.contains("see `assay run --help` for how to allow it"), "{told}");
        assert!(!told.contains("--allow-tunable"), "{told}");
    }
    home.text(&[&words[..], &["--allow-tunable", PATTERN]].concat());
    let told = home.refused(2, &[&words[..], &["--allow-tunable", "/etc/passwd"]].concat());
    assert!(told.contains("below /sys or /proc/sys"), "{told}");
}

/// Returns control characters other than newlines.
fn obeyed(text: &str) -> Vec<char> {
    text.chars().filter(|sign| assay_core::outside::is_unseen(*sign) && *sign != '\n').collect()
}

#[test]
fn no_text_of_a_result_is_obeyed_by_a_terminal() {
    const ODD: &str = "\\u001b]0;x\\u0007\\u009b2J\\u202e\\u2066\\u200fend";
    let (home, bundle) = confirmed("terminal");
    let id = bundle.file_name().unwrap().to_str().unwrap();
    for name in ["study.toml", "environment.json", "plan.json", "log.jsonl"] {
        let path = bundle.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("Fresh trials", &format!("Fresh {ODD} trials"));
        let text = text.replace("\"present\": \"", &format!("\"present\": \"{ODD}"));
        let text =
            text.replace("\"target\": \"simulated", &format!("\"target\": \"{ODD}simulated"));
        fs::write(&path, text).unwrap();
    }
    let label = format!("{{\"title\": \"{ODD}\", \"notes\": [\"{ODD}\", \"a\\u001b[31mb\"]}}");
    fs::write(bundle.join("label.json"), label).unwrap();
    let lines: [&[&str]; 14] = [
        &["show", id],
        &["show", id, "--full"],
        &["show", id, "--json"],
        &["list"],
        &["list", "--json"],
        &["advise", id],
        &["advise", id, "--json"],
        &["plan", id, "--commands"],
        &["plan", id, "--json", "--commands"],
        &["advise", "apply", id],
        &["advise", "apply", id, "--yes"],
        &["advise", "confirm", id],
        &["resume", id],
        &["show", "\u{1b}[2J\u{202e}no-such-result"],
    ];
    for words in lines {
        let ended = home.run(words);
        for text in [&ended.stdout, &ended.stderr] {
            assert_eq!(obeyed(text), Vec::<char>::new(), "{words:?}: {text:?}");
        }
        if words.contains(&"--json") && ended.code == 0 {
            let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
            assert!(document.is_object(), "{words:?}");
        }
    }
}

#[test]
fn links_of_the_caller_of_sudo_lead_root_nowhere() {
    if !have(&[Need::Root]) {
        return;
    }
    let caller = 65534;
    let home = home("strangers-sudo");
    let own = home.scratch.folder("callers", 0o755, Some(caller)).unwrap();
    let secret = home.scratch.folder("secret", 0o700, None).unwrap();
    let check = |home_of_results: &Path| {
        let mut command = home.assay.command(&["check", DRIVE, "--quick", "--quiet"]);
        command.env("SUDO_UID", caller.to_string()).env("SUDO_GID", caller.to_string());
        command.env("ASSAY_HOME", home_of_results);
        run(&mut command, Duration::from_secs(60)).unwrap()
    };
    // The results directory, and one above it.
    fs::create_dir(own.join("one")).unwrap();
    chown(own.join("one"), Some(caller), Some(caller)).unwrap();
    symlink(&secret, own.join("one/results")).unwrap();
    symlink(&secret, own.join("two")).unwrap();
    for below in ["one", "two"] {
        let ended = check(&own.join(below));
        assert!([3, 5].contains(&ended.code), "{below}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains("symbolic link"), "{below}: {}", ended.stderr);
        assert!(ended.stderr.contains("set ASSAY_HOME"), "{below}: {}", ended.stderr);
        assert_eq!(fs::read_dir(&secret).unwrap().count(), 0, "{below}");
    }
    // Without a link it works, and the files belong to the user.
    let ended = check(&own);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let result = fs::read_dir(own.join("results")).unwrap().next().unwrap().unwrap();
    assert_eq!(result.metadata().unwrap().uid(), caller);
}
