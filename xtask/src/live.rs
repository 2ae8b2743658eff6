//! `cargo xtask live`: settings under others' work, on a loop device with processes of production.

use std::path::{Path, PathBuf};

use crate::lab::{Done, is_root, live, turn};
use crate::options::Options;
use crate::{build, facts};

/// The moments of the kills are drawn from this.
const SEED: u64 = 20_261_123;
/// Of twenty studies of identical levels this many may find a winner.
const MOST_WINNERS: u32 = 3;

type Check = fn(&Path) -> Done<String>;

/// Runs all checks, or those of one name, and keeps their lines as a page.
pub fn run(options: &Options) -> Done<bool> {
    if !is_root() {
        return Err("needs root to create loop devices".to_owned());
    }
    let program = match options.text("--program") {
        Some(program) => PathBuf::from(program),
        None => build::built_binary(&[])?,
    };
    let only = options.text("--only");
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut lines = Vec::new();
    let mut tell = |line: &str| {
        println!("{line}");
        lines.push(line.to_owned());
    };
    let single: [(&str, Check); 4] = [
        ("throttled", live::throttled),
        ("taken-back", live::taken_back),
        ("doubled", live::doubled),
        ("closed-loop", live::closed_loop),
    ];
    for (_, check) in single.iter().filter(|(name, _)| wanted(name)) {
        let _turn = turn()?;
        tell(&check(&program)?);
    }
    if wanted("kills") {
        let _turn = turn()?;
        let count = options.number("--kills") as u32;
        let longest = live::kill(&program, count, SEED, &mut tell)?;
        tell(&format!("{count} kills: everything restored within {} ms", longest.as_millis()));
    }
    if wanted("identical") {
        let count = options.number("--studies") as u32;
        let winners = live::identical(&program, count, &mut tell)?;
        tell(&format!("{winners} of {count} studies of identical levels found a winner"));
        if winners > MOST_WINNERS {
            return Err(format!("{winners} of {count} studies found a winner"));
        }
    }
    if options.has("--write") {
        build::write_page("live.md", &page(&lines))?;
    }
    Ok(true)
}

fn page(lines: &[String]) -> String {
    format!(
        "# Settings under a production workload\n\n\
         A reader and a writer (separate fio processes) use a partition of a loop device in memory\n\
         while `observe` changes settings (`cargo xtask live`). Assay must report a level that a control\n\
         group limit throttles as worse for reads, and with a harm limit roll it back within 8 s and\n\
         continue without it. Double load at one of two levels must give no verdict (`unequal-load`). A\n\
         closed loop that becomes faster and busier must be better. The script ends studies with\n\
         `kill -9` of their process group at random moments; everything must be restored within 2 s while\n\
         the production workload continues. Studies of identical levels have periods of 5 s, 6 replicates\n\
         and three classes; at most 3 of 20 may find a winner.\n\n{}\n\n```text\n{}\n```\n",
        facts::lines().join("\n"),
        lines.join("\n")
    )
}
