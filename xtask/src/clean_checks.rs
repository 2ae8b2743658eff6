//! `cargo xtask clean-checks`: how often `assay check --quick` raises a false alarm.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::lab::clean::{Spoken, allowed, fault};
use crate::lab::process::Assay;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, is_root};
use crate::options::Options;
use crate::{bench, build, facts};

const LIMIT: Duration = Duration::from_secs(60);

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() {
        return Err("needs root to create a loop device".to_owned());
    }
    let count = options.number("--count");
    let head = facts::lines();
    let binary = build::release_binary()?;
    let volume = Volume::on_drive(Filesystem::Ext4, 2048)?;
    let home = volume.scratch().folder("home", 0o755, None)?;
    let assay = Assay::new(&binary, &home);
    let target = volume.directory().display().to_string();
    let mut checks = Vec::new();
    let mut lines = Vec::new();
    for number in 1..=count {
        let ended = assay.run(&["check", &target, "--quick", "--json"], LIMIT)?;
        if ended.code != 0 {
            return Err(format!("check {number} ended with {}: {}", ended.code, ended.stderr));
        }
        let spoken = Spoken::of(&ended.json()?);
        let line = format!("{number:3}: {:.1} s, {}", ended.time.as_secs_f64(), spoken.line());
        println!("{line}");
        lines.push(line);
        checks.push(spoken);
    }
    let page = page(&head, &checks, &lines);
    println!();
    bench::keep(options, "clean-checks.md", &page)?;
    Ok(fault(&checks).is_none())
}

fn page(head: &[String], checks: &[Spoken], lines: &[String]) -> String {
    let mut page = format!(
        "# False alarms of `assay check --quick`\n\n\
         {} consecutive checks of an ext4 filesystem on a quiet loop device\n\
         (`cargo xtask clean-checks --count {}`).\n\n{}\n\n",
        checks.len(),
        checks.len(),
        head.join("\n")
    );
    page.push_str(&bench::table("rule | trust | checks with the rule | cells"));
    for (trust, rules) in [
        ("invalid", tally(checks, |spoken| &spoken.invalid)),
        ("suspect", tally(checks, |spoken| &spoken.suspect)),
    ] {
        for (rule, (runs, cells)) in rules {
            // Writing to a String cannot fail.
            let _ = writeln!(page, "| {rule} | {trust} | {runs} | {cells} |");
        }
    }
    let limit = allowed(checks.len());
    let suspect = checks.iter().filter(|spoken| spoken.is_falsely_suspect()).count();
    let verdict =
        fault(checks).map_or_else(|| "Passed.".to_owned(), |fault| format!("**FAILED: {fault}.**"));
    let _ = write!(
        page,
        "\nAllowed: no invalid number, and at most {limit} checks with a suspect number for a reason other than\n\
         foreign or steal; there were {suspect}. {verdict}\n\nEach check:\n\n```text\n{}\n```\n",
        lines.join("\n")
    );
    page
}

type Tally = BTreeMap<String, (usize, usize)>;

fn tally(checks: &[Spoken], of: fn(&Spoken) -> &BTreeMap<String, Vec<String>>) -> Tally {
    let mut tally = Tally::new();
    for (rule, cells) in checks.iter().flat_map(of) {
        let entry = tally.entry(rule.clone()).or_default();
        entry.0 += 1;
        entry.1 += cells.len();
    }
    tally
}
