//! `cargo xtask kills`: a study that changes the machine, killed at random moments.

use std::fmt::Write;
use std::path::Path;

use crate::lab::{Done, is_root, kills};
use crate::options::Options;
use crate::{build, facts};

/// The moments are drawn from this.
const SEED: u64 = 20_261_120;
/// Where the facts of the machine stand in a page.
pub const FACTS: &str = "{FACTS}";

/// Kills and recovers, and says what was seen.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--network") {
        return recorded(options, "kills-network.md", |binary, count, tell| {
            kills::network::kill(binary, count, SEED, tell).map(|kills| network_page(count, &kills))
        });
    }
    recorded(options, "kills.md", |binary, count, tell| {
        kills::kill(binary, count, SEED, tell).map(|kills| page(count, &kills))
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
    let binary = match options.text("--program") {
        Some(program) => std::path::PathBuf::from(program),
        None => build::release_binary()?,
    };
    let mut lines = Vec::new();
    let page = take(&binary, count, &mut |line| {
        println!("{line}");
        lines.push(line.to_owned());
    })?;
    let page = page.replace(FACTS, &head) + &format!("\n```text\n{}\n```\n", lines.join("\n"));
    println!("\n{page}");
    if options.has("--write") {
        build::write_page(name, &page)?;
    }
    Ok(true)
}

/// The same of a study of a small memory.
pub fn run_memory(options: &Options) -> Done<bool> {
    recorded(options, "kills-memory.md", |binary, count, tell| {
        kills::memory::kill(binary, count, SEED, tell).map(|kills| page_of_memory(count, &kills))
    })
}

fn page_of_memory(count: u32, kills: &kills::Kills) -> String {
    format!(
        "# A small memory, killed at random moments\n\n\
         A study with swap of every kind (none, file, zswap, zram) and a setting (swappiness) under a limit of\n\
         memory, ended by `kill -9` at random moments (`cargo xtask kills-memory --count {count}`). After each\n\
         `assay restore` must leave the table of swap, zswap's settings, the zram devices, control groups,\n\
         `/proc/sys/vm`, the directory and the journal as before, and a second one must find nothing to do; at\n\
         the first that is not so the script ends with an error and writes no page.\n\n{FACTS}\n\n\
         | what | count |\n|---|---|\n| runs killed before their end | {} |\n\
         | runs that had ended by themselves | {} |\n\
         | kills after which something had to be put back | {} |\n| things put back | {} |\n",
        kills.killed, kills.ended, kills.put_back, kills.things
    )
}

fn network_page(count: u32, kills: &kills::network::Kills) -> String {
    format!(
        "# A link, killed at random moments\n\n\
         A study of a link in three network name spaces of its own, its way out shaped, ended by `kill -9`\n\
         at random moments (`cargo xtask kills --network --count {count}`), every third one in its first\n\
         second. After each kill `assay restore` runs; then names of name spaces, interfaces and\n\
         `tc qdisc show` must be as before, and a second recovery must find nothing to do; at the first\n\
         that is not so the script ends with an error and writes no page. Both ends of the link are\n\
         threads of the process that is killed: there is none that could be left.\n\n{FACTS}\n\n\
         | what | count |\n|---|---|\n\
         | runs killed before their end | {} |\n\
         | kills after which something had to be put back | {} |\n\
         | things put back | {} |\n",
        kills.killed, kills.put_back, kills.things
    )
}

fn page(count: u32, kills: &kills::Kills) -> String {
    let mut page = format!(
        "# Killed at random moments\n\n\
         A study with four factors that change the machine (file system, mount options, read-ahead,\n\
         scheduler), ended by `kill -9` at random moments (`cargo xtask kills --count {count}`). Every\n\
         third run makes its loop device by itself; every second one makes its file systems on a\n\
         partition that only the kernel knows. After each kill the next run must refuse and name\n\
         `assay restore`; after that every setting must be as before, no mount, loop device,\n\
         partition, file or file system may be left, a second recovery must find nothing to do, and\n\
         every finished trial must be there; at the first that is not so the script ends with an error\n\
         and writes no page.\n\n{FACTS}\n\n"
    );
    let rows = [
        ("runs killed before their end", kills.killed),
        ("runs that had ended by themselves", kills.ended),
        ("kills after which something had to be put back", kills.put_back),
        ("things put back", kills.things),
        ("finished trials that had to be there, and were", kills.trials),
        ("studies gone on with to their end", kills.resumed),
    ];
    page.push_str("| what | count |\n|---|---|\n");
    for (what, number) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {what} | {number} |");
    }
    page
}
