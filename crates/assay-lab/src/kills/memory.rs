//! A study of a small memory, killed at random moments: afterwards swap, zram, zswap, control groups and
//! the directory must be as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Draws, Kills, LIMIT, kernel_settings};
use crate::process::{Assay, Ended};
use crate::{Done, Scratch, turn};

const ZSWAP: &str = "/sys/module/zswap/parameters";
/// Where groups with the memory controller lie, of either version.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
/// What names a group, or a file, as the program's own.
const OWN: [&str; 2] = ["assay-", ".assay-"];

/// All kinds of swap, and a setting; sets of which each swaps, small so that nobody else suffers.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Killed at any moment"
replicates = 2
margin     = "5 %"
control    = false
baseline   = { swap = "file" }

[factors]
swap       = ["none", "file", "zswap", "zram"]
swap-size  = ["64 MiB"]
swappiness = [60, 100]

[[workload]]
name  = "pages"
pages = { memory-limit = "32 MiB", set = "150 %", content = "50 %", time = "50 ms", ramp = "1 ms" }
"#;

struct Site {
    assay: Assay,
    scratch: Scratch,
    place: PathBuf,
}

/// Kills `count` runs of the program, the moments drawn from `seed`; an error says what was left.
///
/// # Errors
/// What was left, or could not be tried.
pub fn kill(program: &Path, count: u32, seed: u64, mut tell: impl FnMut(&str)) -> Done<Kills> {
    let _turn = turn()?;
    let site = Site::new(program)?;
    let before = site.condition();
    let start = Instant::now();
    let ended = site.start()?.end(LIMIT)?;
    if ended.code != 0 {
        return Err(format!("the study ended with {}: {}", ended.code, ended.stderr));
    }
    let whole = start.elapsed();
    tell(&format!("an undisturbed run takes {:.1} s", whole.as_secs_f64()));
    site.is_as(&before)?;
    let (mut draws, mut kills) = (Draws(seed | 1), Kills::default());
    for number in 1..=count {
        let after = whole.mul_f64(draws.share() * 1.02);
        let line = site.one(after, &before, &mut kills).map_err(|error| {
            format!("kill {number} after {:.3} s: {error}", after.as_secs_f64())
        })?;
        tell(&format!("{number:3}: {line}"));
    }
    Ok(kills)
}

impl Site {
    fn new(program: &Path) -> Done<Self> {
        // Swap in memory would wedge the machine; the program refuses it.
        let scratch = Scratch::on_drive("memory-kills")?;
        let home = scratch.folder("home", 0o755, None)?;
        let place = scratch.folder("place", 0o755, None)?;
        let study = scratch.path().join("study.toml");
        fs::write(&study, STUDY).map_err(|error| error.to_string())?;
        Ok(Self { assay: Assay::new(program, &home), scratch, place })
    }

    fn start(&self) -> Done<crate::process::Running> {
        let study = self.scratch.path().join("study.toml").display().to_string();
        self.assay.start(&["run", &study, &self.place.display().to_string(), "--quiet"])
    }

    fn one(&self, after: Duration, before: &str, kills: &mut Kills) -> Done<String> {
        let mut running = self.start()?;
        let start = Instant::now();
        while start.elapsed() < after && !running.has_ended() {
            thread::sleep(Duration::from_millis(1));
        }
        let killed = !running.has_ended();
        if killed {
            running.signal("KILL")?;
        }
        let ended = running.end(LIMIT)?;
        if !killed && ended.code != 0 {
            return Err(format!("ended with {}: {}", ended.code, ended.stderr));
        }
        let things = self.restored()?;
        if self.restored()? > 0 {
            return Err("a second recovery found something to do".to_owned());
        }
        self.is_as(before)?;
        kills.killed += u32::from(killed);
        kills.ended += u32::from(!killed);
        kills.put_back += u32::from(things > 0);
        kills.things += things;
        let what = if killed { "killed" } else { "ended" };
        Ok(format!("{what} after {:.3} s, {things} put back", after.as_secs_f64()))
    }

    fn restored(&self) -> Done<u32> {
        let ended: Ended = self.assay.run(&["restore", "--json"], LIMIT)?;
        if ended.code != 0 {
            return Err(format!("restore: {}: {}{}", ended.code, ended.stdout, ended.stderr));
        }
        Ok(ended.json()?["done"].as_array().map_or(0, Vec::len) as u32)
    }

    /// Everything that a run may leave changed, as text.
    fn condition(&self) -> String {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let swaps = text("/proc/swaps");
        // How much of an area is in use is no business of ours.
        let areas = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        let mut lines: Vec<String> = areas.map(|area| format!("swap {area}")).collect();
        for name in ["enabled", "compressor", "max_pool_percent"] {
            lines.push(format!("zswap {name} {}", text(&format!("{ZSWAP}/{name}")).trim()));
        }
        let named = |folder: &Path, wanted: &dyn Fn(&str) -> bool| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let mut names: Vec<String> = names.filter(|name| wanted(name)).collect();
            names.sort_unstable();
            names
        };
        let own = |name: &str| OWN.iter().any(|mark| name.starts_with(mark));
        lines.extend(named(Path::new("/sys/block"), &|name| name.starts_with("zram")));
        for folder in GROUPS {
            lines.extend(groups_below(Path::new(folder), &own));
        }
        lines.extend(named(&self.place, &|_| true));
        lines.extend(named(&self.assay.home().join("journal"), &|_| true));
        lines.extend(kernel_settings());
        lines.join("\n")
    }

    fn is_as(&self, before: &str) -> Done<()> {
        let now = self.condition();
        if now == before { Ok(()) } else { Err(format!("left behind:\n{now}\nbefore:\n{before}")) }
    }
}

/// Groups of the program's own that have nobody in them: those of others who measure now are not ours.
fn groups_below(folder: &Path, own: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix("assay-").and_then(|rest| rest.split('-').next());
        let is_alive = process.is_some_and(|id| Path::new("/proc").join(id).exists());
        if path.is_dir() && own(&name) && !is_alive {
            found.push(path.display().to_string());
        } else if path.is_dir() && !path.is_symlink() {
            found.extend(groups_below(&path, own));
        }
    }
    found
}
