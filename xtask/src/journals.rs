//! `cargo xtask lab --record-journals`: journals of releases of Debian, recorded in guests: plain boots, one
//! that a power cut ended, one whose clock jumped. What tells of a boot is kept, and nobody's name.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::build::root;
use crate::lab::Done;
use crate::lab::Scratch;
use crate::lab_guest::{self, told};
use crate::vm::machine::Accelerator;
use crate::vm::{self, Asked, Stream};

/// Releases, oldest first: systemd 247, 252, 257 and what comes next.
pub const RELEASES: [&str; 4] = ["bullseye", "bookworm", "trixie", "sid"];

/// Where they are kept, from the top of the workspace.
const FOLDER: &str = "crates/assay-workloads/tests/fixtures/journals";

/// Boots of a release, one a call: three plain ones, of which the third ends with the power; one that the
/// log of the third has to be found damaged by; one whose clock begins years ago and is set right in the
/// middle; and one that hands the journal over.
const JOB: &str = r#"
count=$(($(cat /lab/count 2>/dev/null || echo 0) + 1))
echo $count >/lab/count
sync
echo "boot $count"
case $count in
    1 | 2 | 4) systemctl reboot ;;
    3) sleep 5; echo cut >"$LAB"; sleep 600 ;;
    5) journalctl --sync 2>/dev/null; date +%s >/lab/now; echo "off 2021-03-04T05:06:07" >"$LAB"; systemctl poweroff ;;
    6)
        date
        date -s "@$(($(cat /lab/now) + 90))"
        systemctl start --no-block systemd-tmpfiles-clean.service
        sleep 5
        echo "off" >"$LAB"
        systemctl poweroff
        ;;
    7)
        journalctl --sync 2>/dev/null
        journalctl --no-pager --all -o json >"$ASSAY_HOME/results/journal.json"
        journalctl --no-pager --list-boots >"$ASSAY_HOME/results/boots.txt"
        journalctl --version | head -1 >"$ASSAY_HOME/results/version.txt"
        exit 0
        ;;
esac
# The unit is ended with the machine.
sleep 600
"#;

/// Kinds of messages that tell of a boot (systemd.journal-fields(7), sd-messages.h).
const KINDS: [&str; 11] = [
    "b07a249cd024414a82dd00cd181378ff", // startup of the system finished
    "eed00a68ffd84e31882105fd973abdd1", // startup of a user's manager finished
    "7d4958e842da4a758f6c1cdc7b36dcc5", // a unit is starting
    "39f53479d3a045ac8e11786248231fbf", // a unit has started
    "be02cf6855d2428ba40df7e9d022f03d", // a unit has failed
    "d9b373ed55a64feb8242e02dbe79a49c", // a unit's process ended badly
    "c7a787079b354eaaa9e77b371893cd27", // the clock was set
    "f77379a8490b408bbe5f6940505a777b", // the journal began
    "d93fb3c9c24d451a97cea615ce59c00b", // the journal ended
    "98268866d1d54a499c4e98921d93bc40", // the machine goes down
    "a596d6fe7bfa4994828e72309e95d61e", // messages were lost
];

/// Fields that are kept of them.
const FIELDS: [&str; 17] = [
    "__REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
    "__SEQNUM",
    "__SEQNUM_ID",
    "_BOOT_ID",
    "_MACHINE_ID",
    "_TRANSPORT",
    "_PID",
    "_SOURCE_MONOTONIC_TIMESTAMP",
    "MESSAGE_ID",
    "MESSAGE",
    "UNIT",
    "JOB_TYPE",
    "JOB_RESULT",
    "KERNEL_USEC",
    "INITRD_USEC",
    "USERSPACE_USEC",
];

/// Beginnings of the kernel's messages that tell of a boot.
const KERNEL: [&str; 3] = ["Linux version ", "Command line: ", "Kernel command line: "];

pub fn record(releases: &[&str], program: &std::path::Path) -> Done<u8> {
    let kernel = lab_guest::kernel(&[])?;
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for release in releases {
        println!("xtask: lab: {release}: seven boots");
        let asked = Asked {
            accelerator: Some(Accelerator::Tcg),
            root: Some(lab_guest::root_of(release, &kernel)?),
            drives: Vec::new(),
            script: Some(JOB.as_bytes().to_vec()),
            limit: Some(Duration::from_secs(1200)),
            ..lab_guest::usual(program.to_owned(), kernel.clone())
        };
        let going = AtomicBool::new(false);
        let mut pass_on = |_: Stream, bytes: &[u8]| print!("{}", String::from_utf8_lossy(bytes));
        let ended = vm::run(&asked, &going, &mut pass_on)?;
        println!("xtask: lab: {release}: {}", told(&ended));
        if ended.code != 0 {
            return Ok(1);
        }
        let scratch = Scratch::new("journals")?;
        vm::unpack(&ended, scratch.path())?;
        let read = |name: &str| {
            let path = scratch.path().join("results").join(name);
            fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))
        };
        let kept: String = read("journal.json")?.lines().filter_map(needed).collect();
        for (name, text) in [
            (format!("{release}.json"), kept),
            (format!("{release}-boots.txt"), read("boots.txt")?),
            (format!("{release}-version.txt"), read("version.txt")?),
        ] {
            println!("xtask: lab: {FOLDER}/{name}: {} bytes", text.len());
            let written = fs::write(folder.join(&name), text);
            written.map_err(|error| format!("{FOLDER}/{name}: {error}"))?;
        }
    }
    Ok(0)
}

/// An entry of a journal with the fields that are kept; none of an entry that tells of no boot.
fn needed(line: &str) -> Option<String> {
    let entry: Map<String, Value> = serde_json::from_str(line).ok()?;
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let of_kernel = text("_TRANSPORT") == "kernel"
        && KERNEL.iter().any(|start| text("MESSAGE").starts_with(start));
    if !of_kernel && !KINDS.contains(&text("MESSAGE_ID")) {
        return None;
    }
    let kept: Map<String, Value> = FIELDS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), entry.get(*name)?.clone())))
        .collect();
    Some(format!("{}\n", Value::Object(kept)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn what_tells_of_no_boot_and_what_names_somebody_is_left_out() {
        let line = r#"{"MESSAGE_ID":"b07a249cd024414a82dd00cd181378ff","MESSAGE":"Startup finished","_HOSTNAME":"mine","USERSPACE_USEC":"5"}"#;
        let kept: Value = serde_json::from_str(&needed(line).unwrap()).unwrap();
        assert_eq!(kept["USERSPACE_USEC"], "5");
        assert!(kept.get("_HOSTNAME").is_none());
        assert_eq!(needed(r#"{"MESSAGE":"hello","_TRANSPORT":"syslog"}"#), None);
        let kernel = r#"{"_TRANSPORT":"kernel","MESSAGE":"Linux version 6.1"}"#;
        assert!(needed(kernel).is_some());
        assert_eq!(needed(r#"{"_TRANSPORT":"kernel","MESSAGE":"usb 1-1"}"#), None);
        assert_eq!(needed("no json"), None);
    }
}
