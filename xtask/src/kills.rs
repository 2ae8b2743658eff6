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
    /// File of its page.
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
               A study with four factors that change the machine (file system, mount options, read-ahead,\n\
               scheduler), ended by `kill -9` at random moments. Every third run makes its loop device by\n\
               itself; every second one makes its file systems on a partition that only the kernel knows.\n\
               After each kill the next run must refuse and name `assay restore`; after that every setting\n\
               must be as before, no mount, loop device, partition, file or file system may be left, a second\n\
               recovery must find nothing to do, and every finished trial must be there; at the first that is\n\
               not so the script ends with an error and writes no page.",
    },
    Subject {
        name: "memory",
        page: "kills-memory.md",
        kill: kills::memory::kill,
        told: "# A small memory, killed at random moments\n\n\
               A study with swap of every kind (none, file, zswap, zram) and a setting (swappiness) under a\n\
               limit of memory, ended by `kill -9` at random moments, every third one in its first second.\n\
               After each `assay restore` must leave the table of swap, zswap's settings, the zram devices,\n\
               control groups, `/proc/sys/vm`, the directory and the journal as before, and a second one must\n\
               find nothing to do; at the first that is not so the script ends with an error and writes no page.",
    },
    Subject {
        name: "network",
        page: "kills-network.md",
        kill: kills::network::kill,
        told: "# A link, killed at random moments\n\n\
               A study of a link in three network name spaces of its own, its way out shaped, ended by\n\
               `kill -9` at random moments, every third one in its first second. After each kill `assay\n\
               restore` runs; then names of name spaces, interfaces and `tc qdisc show` must be as before, and\n\
               a second recovery must find nothing to do; at the first that is not so the script ends with an\n\
               error and writes no page. Both ends of the link are threads of the process that is killed:\n\
               there is none that could be left.",
    },
    Subject {
        name: "stacks",
        page: "kills-stacks.md",
        kill: kills::stacks::kill,
        told: "# Stacks of layers, killed at random moments\n\n\
               Studies of stacks in turns, ended by `kill -9` at random moments, every third one in its first\n\
               second: while a file system or an array is made, a device or a directory encrypted, opened,\n\
               mounted, measured or taken down. `named-again` makes zram devices whose numbers the kernel gives\n\
               again from trial to trial and from round to round: what a file system stood on in one arm is swap\n\
               in the next. After each kill `assay restore` runs; then mounts, loop devices, devices of the\n\
               mapper, arrays, zram devices, swap, processes of the programs that serve or make them, and the\n\
               directories of the program must be as before, and a second recovery must find nothing to do; at the\n\
               first that is not so the script ends with an error and writes no page.",
    },
    Subject {
        name: "names",
        page: "kills-names.md",
        kill: kills::stacks::kill_named_again,
        told: "# Names that are given again, killed at random moments\n\n\
               The study `named-again` of the stacks alone: from trial to trial and from round to round the kernel\n\
               gives the numbers of zram devices again, and what a file system stood on in one arm is swap in the\n\
               next. Ended by `kill -9` at random moments, every third one in its first second; what must be so\n\
               afterwards is what [the stacks](kills-stacks.md) ask for, and at the first that is not so the script\n\
               ends with an error and writes no page.",
    },
];

/// Kills and recovers, and says what was seen.
pub fn run(options: &Options) -> Done<bool> {
    let name = options.text("--only").unwrap_or(SUBJECTS[0].name);
    let subject = SUBJECTS.iter().find(|subject| subject.name == name).ok_or_else(|| {
        let names = SUBJECTS.map(|subject| subject.name).join(", ");
        format!("there is no `{name}`: say one of {names}")
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
        return Err("needs root for loop devices of its own".to_owned());
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
        ("runs that had ended by themselves", Some(kills.ended)),
        ("kills after which something had to be put back", Some(kills.put_back)),
        ("things put back", Some(kills.things)),
        ("finished trials that had to be there, and were", kills.trials),
        ("studies gone on with to their end", kills.resumed),
    ];
    let counted: Vec<(&str, u32)> =
        rows.into_iter().filter_map(|(what, number)| Some((what, number?))).collect();
    let counted = bench::counts(&counted);
    format!(
        "{told}\n\n- command: `cargo xtask kills --only {name} --count {count}`\n{FACTS}\n\n{counted}"
    )
}
