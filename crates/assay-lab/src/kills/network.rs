//! A study of a link in name spaces of its own, killed at random moments: afterwards `assay restore` must
//! leave no name space, no discipline and no process.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Draws;
use crate::process::Assay;
use crate::{Done, Scratch, call};

/// No run and no recovery takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// A link, shaped and not: short, because what is killed need not be long.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "A link, killed at any moment"
replicates = 3
margin     = "5 %"
control    = false

[factors]
shaper = ["none", "80 %", "95 %"]

[[workload]]
name    = "link"
network = { peer = "lab", interface = "to-router", phases = ["idle", "up"], phase = "1 s", probe = "10 ms" }
"#;

/// What was seen of all kills.
#[derive(Debug, Default)]
pub struct Kills {
    /// Runs that were killed before their end.
    pub killed: u32,
    /// Kills after which something had to be put back.
    pub put_back: u32,
    /// Things that were put back, over all of them.
    pub things: u32,
}

/// Kills `count` runs of the program, the moments drawn from `seed`; an error says what was left.
///
/// # Errors
/// The first kill after which something was left, or something could not be run.
pub fn kill(program: &Path, count: u32, seed: u64, mut tell: impl FnMut(&str)) -> Done<Kills> {
    let scratch = Scratch::new("kills-network")?;
    let home = scratch.folder("home", 0o755, None)?;
    let assay = Assay::new(program, &home);
    let path = scratch.path().join("study.toml");
    std::fs::write(&path, STUDY).map_err(|error| error.to_string())?;
    let path = path.display().to_string();
    let words = ["run", &path, "--quiet"];
    let before = condition()?;
    let mut draws = Draws(seed | 1);
    let mut kills = Kills::default();
    let longest = Duration::from_secs(25);
    for number in 1..=count {
        // Every third one in the first second, in which most is made.
        let span = if number.is_multiple_of(3) { Duration::from_secs(1) } else { longest };
        let after = span.mul_f64(draws.share());
        let mut running = assay.start(&words)?;
        let start = Instant::now();
        while start.elapsed() < after && !running.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let killed = !running.has_ended();
        if killed {
            running.signal("KILL")?;
        }
        running.end(LIMIT)?;
        let things = restored(&assay)?;
        if restored(&assay)? > 0 {
            return Err(format!("kill {number}: a second recovery found something to do"));
        }
        let now = condition()?;
        if now != before {
            return Err(format!("kill {number}: left behind:\n{now}\nbefore:\n{before}"));
        }
        kills.killed += u32::from(killed);
        kills.put_back += u32::from(things > 0);
        kills.things += things;
        let what = if killed { "killed" } else { "ended" };
        tell(&format!("{number:3}: {what} after {:.3} s, {things} put back", after.as_secs_f64()));
    }
    Ok(kills)
}

/// Everything that a run may leave of the network, as text.
fn condition() -> Done<String> {
    let spaces = call("ip", &["netns", "list"])?;
    let links = call("ip", &["-brief", "link", "show"])?;
    // Their state may change by itself.
    let mut links: Vec<&str> =
        links.lines().filter_map(|line| line.split_whitespace().next()).collect();
    links.sort_unstable();
    let queues = call("tc", &["qdisc", "show"])?;
    Ok(format!("{}\n{}\n{}", spaces.trim(), links.join("\n"), queues.trim()))
}

fn restored(assay: &Assay) -> Done<u32> {
    let ended = assay.run(&["restore", "--json"], LIMIT)?;
    if ended.code != 0 {
        return Err(format!("restore: {}: {}{}", ended.code, ended.stdout, ended.stderr));
    }
    Ok(ended.json()?["done"].as_array().map_or(0, Vec::len) as u32)
}
