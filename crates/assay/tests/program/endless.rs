//! Files without an end, and such that are none: each command that reads a file of the user refuses them.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::home;

/// Far above what a refusal takes in a program that is not optimized.
const LIMIT: Duration = Duration::from_secs(60);

const FILE: &str = "FILE";
const COMMANDS: &[&[&str]] = &[
    &["plan", FILE],
    &["plan", FILE, "--commands"],
    &["run", FILE],
    &["check", "--for", FILE],
    &["import", FILE],
    &["import", "--format", "trials-csv", FILE],
    &["import", "--format", "blkparse", FILE],
    &["show", FILE],
    &["report", FILE],
    &["compare", FILE, FILE],
    &["export", FILE],
    &["calc", "modeline", "--edid", FILE],
    &["collection", "add", FILE],
    &["run", "boot", "--set", "journal=FILE"],
    &["peer", "--token-file", FILE],
];

#[test]
fn commands_refuse_files_without_an_end() {
    let home = home("endless");
    let place = |name: &str| home.scratch.path().join(name);
    File::create(place("sparse")).unwrap().set_len(1 << 40).unwrap();
    symlink("loop", place("loop")).unwrap();
    std::fs::create_dir(place("directory")).unwrap();
    let fifo = place("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let limited = home.assay.through(&["sh", "-c", "ulimit -v 600000; exec \"$@\"", "sh"]);
    for command in COMMANDS {
        for name in ["/dev/zero", "sparse", "loop", "directory", "fifo"] {
            let file = place(name).display().to_string();
            let words: Vec<String> = command.iter().map(|word| word.replace(FILE, &file)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut writer = (name == "fifo").then(|| {
                let mut endless = Command::new("sh");
                endless.args(["-c", "exec cat /dev/zero >\"$0\""]).arg(&fifo);
                endless.stderr(Stdio::null()).spawn().unwrap()
            });
            let ended = limited.run(&words, LIMIT).unwrap();
            if let Some(writer) = &mut writer {
                let _ = writer.kill();
                writer.wait().unwrap();
            }
            let refused = [2, 3].contains(&ended.code) && ended.stderr.starts_with("assay: ");
            assert!(refused, "{words:?}: {} {}", ended.code, ended.stderr);
        }
    }
}
