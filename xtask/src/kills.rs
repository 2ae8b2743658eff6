//! `cargo xtask kills`: a study that changes the machine, killed at random moments.

use std::path::Path;

use crate::lab::kills::{self, Kills};
use crate::lab::{Done, is_root};
use crate::options::Options;
use crate::{bench, facts};

/// The moments are drawn from this.
const SEED: u64 = 20_261_120;
/// Where the facts of the machine stand in a page.
pub const FACTS: &str = "{FACTS}";

/// Kills so many runs of a program, the moments drawn from a seed, and tells of each.
type Kill = fn(&Path, u32, u64, &mut dyn FnMut(&str)) -> Done<Kills>;

/// A subject: its studies are killed, and a page tells of it.
struct Subject {
    /// As `--only` names it.
    name: &'static str,
    page: &'static str,
    kill: Kill,
    /// What its page says first, without the number of kills.
    told: &'static str,
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "settings",
        page: "kills.md",
        kill: kills::kill,
        told: "# Killed at random moments\n\n\
               The script ends a study with four factors that change the machine (filesystem, mount options,\n\
               read-ahead, scheduler) with `kill -9` at random moments. Every third run creates a loop device;\n\
               every second run creates filesystems on a partition that only the kernel knows. After each\n\
               kill, the next run must refuse to start and name `assay restore`. After the restore, all\n\
               settings must have their original values, no mount, loop device, partition, file or filesystem\n\
               may remain, a second restore must find nothing to do, and every finished trial must be stored.\n\
               At the first violation, the script ends with an error and writes no page.",
    },
    Subject {
        name: "memory",
        page: "kills-memory.md",
        kill: kills::memory::kill,
        told: "# A small memory, killed at random moments\n\n\
               The script ends a study of all kinds of swap (none, file, zswap, zram) and swappiness under a\n\
               memory limit with `kill -9` at random moments, every third time in the first second. After each\n\
               kill, `assay restore` must restore the swap table, zswap settings, zram devices, control groups,\n\
               `/proc/sys/vm`, the directory and the journal, and a second restore must find nothing to do.\n\
               At the first violation, the script ends with an error and writes no page.",
    },
    Subject {
        name: "network",
        page: "kills-network.md",
        kill: kills::network::kill,
        told: "# A link, killed at random moments\n\n\
               The script ends a study of a link in three network namespaces, with shaped egress, with\n\
               `kill -9` at random moments, every third time in the first second. After each kill and\n\
               `assay restore`, the network namespaces, the interfaces and `tc qdisc show` must be as before,\n\
               and a second restore must find nothing to do. At the first violation, the script ends with an\n\
               error and writes no page. Both ends of the link are threads of the killed process, so no\n\
               process can remain.",
    },
    Subject {
        name: "stacks",
        page: "kills-stacks.md",
        kill: kills::stacks::kill,
        told: "# Stacks of layers, killed at random moments\n\n\
               The script ends studies of device stacks with `kill -9` at random moments, every third time in\n\
               the first second: while Assay creates a filesystem or an array, or encrypts, opens, mounts,\n\
               measures or removes a device or a directory. In `named-again`, the kernel reuses the numbers of\n\
               zram devices from trial to trial and from round to round: the device below a filesystem in one\n\
               configuration is swap in the next. After each kill and `assay restore`, mounts, loop devices,\n\
               mapper devices, arrays, zram devices, swap, helper processes and Assay's directories must be as\n\
               before, and a second restore must find nothing to do. At the first violation, the script ends\n\
               with an error and writes no page.",
    },
    Subject {
        name: "names",
        page: "kills-names.md",
        kill: kills::stacks::kill_named_again,
        told: "# Reused device names, killed at random moments\n\n\
               Only the study `named-again` of the device stacks: the kernel reuses the numbers of zram devices\n\
               from trial to trial and from round to round, and the device below a filesystem in one configuration\n\
               is swap in the next. The script ends the study with `kill -9` at random moments, every third time in\n\
               the first second, and checks the conditions of [the stacks](kills-stacks.md). At the first violation,\n\
               the script ends with an error and writes no page.",
    },
];

/// Kills and recovers, and says what was seen.
pub fn run(options: &Options) -> Done<bool> {
    let name = options.text("--only").unwrap_or(SUBJECTS[0].name);
    let subject = SUBJECTS.iter().find(|subject| subject.name == name).ok_or_else(|| {
        let names = SUBJECTS.map(|subject| subject.name).join(", ");
        format!("unknown subject `{name}`; use one of {names}")
    })?;
    recorded(options, subject.page, |binary, count, tell| {
        (subject.kill)(binary, count, SEED, tell).map(|kills| page(subject, count, &kills))
    })
}

/// Runs a script of so many endings as root, prints its lines as they come, and keeps its page with
/// them: the page says where the facts of this machine stand in it with `{FACTS}`.
pub fn recorded(
    options: &Options,
    name: &str,
    take: impl FnOnce(&Path, u32, &mut dyn FnMut(&str)) -> Done<String>,
) -> Done<bool> {
    if !is_root() {
        return Err("needs root to create loop devices".to_owned());
    }
    let count = options.number("--count") as u32;
    let head = facts::lines().join("\n");
    let binary = bench::program(options)?;
    let mut lines = Vec::new();
    let page = take(&binary, count, &mut |line| {
        println!("{line}");
        lines.push(line.to_owned());
    })?;
    let page = page.replace(FACTS, &head) + &format!("\n```text\n{}\n```\n", lines.join("\n"));
    println!();
    bench::keep(options, name, &page)?;
    Ok(true)
}

fn page(subject: &Subject, count: u32, kills: &Kills) -> String {
    let Subject { name, told, .. } = subject;
    let rows = [
        ("runs killed before their end", Some(kills.killed)),
        ("runs that ended before the kill", Some(kills.ended)),
        ("kills after which something had to be restored", Some(kills.put_back)),
        ("restored items", Some(kills.things)),
        ("finished trials, all still stored", kills.trials),
        ("studies resumed and completed", kills.resumed),
    ];
    let counted: Vec<(&str, u32)> =
        rows.into_iter().filter_map(|(what, number)| Some((what, number?))).collect();
    let counted = bench::counts(&counted);
    format!(
        "{told}\n\n- command: `cargo xtask kills --only {name} --count {count}`\n{FACTS}\n\n{counted}"
    )
}
