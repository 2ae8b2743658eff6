//! A study of a small memory, killed at random moments: afterwards swap, zram, zswap, control groups and
//! the directory must be as before.

use std::fs;
use std::path::{Path, PathBuf};

use super::rounds::{self, Victim};
use super::{Kills, kernel_settings, names_in, swap_areas};
use crate::process::Assay;
use crate::{Done, Scratch, turn};

const ZSWAP: &str = "/sys/module/zswap/parameters";
/// Directories of control groups with the memory controller, both versions.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
/// Name prefixes of the program's groups and files.
const OWN: [&str; 2] = ["assay-", ".assay-"];

/// All kinds of swap, and a setting; each working set swaps, but is small to spare other processes.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Killed at any moment"
replicates = 2
margin     = "5%"
aa_control    = false
baseline   = { swap = "file" }

[factors]
swap       = ["none", "file", "zswap", "zram"]
swap_size  = ["64 MiB"]
swappiness = [60, 100]

[[workload]]
name  = "pages"
memory = { memory_limit = "32 MiB", working_set = "150%", compressibility = "50%", runtime = "50 ms", ramp_time = "1 ms" }
"#;

struct Site {
    assay: Assay,
    scratch: Scratch,
    place: PathBuf,
}

/// Kills `count` runs of the program at moments drawn from `seed`; an error names the leftovers.
pub fn kill(program: &Path, count: u32, seed: u64, tell: &mut dyn FnMut(&str)) -> Done<Kills> {
    let _turn = turn()?;
    let site = Site::new(program)?;
    let place = site.place.display().to_string();
    let study = site.scratch.path().join("study.toml").display().to_string();
    // Concurrent tests measure that drive as well.
    let words = ["run", &study, &place, "--quiet", "--wait", "2min"].map(str::to_owned);
    let condition = || Ok(site.condition());
    let victim = Victim { assay: &site.assay, runs: vec![words.to_vec()], condition: &condition };
    rounds::kill(&victim, count, seed, tell)
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

    fn condition(&self) -> String {
        let mut lines = swap_areas();
        for name in ["enabled", "compressor", "max_pool_percent"] {
            let text = fs::read_to_string(format!("{ZSWAP}/{name}")).unwrap_or_default();
            lines.push(format!("zswap {name} {}", text.trim()));
        }
        let own = |name: &str| OWN.iter().any(|mark| name.starts_with(mark));
        lines.extend(names_in(Path::new("/sys/block"), |name| name.starts_with("zram")));
        for folder in GROUPS {
            lines.extend(groups_below(Path::new(folder), &own));
        }
        lines.extend(names_in(&self.place, |_| true));
        lines.extend(names_in(&self.assay.home().join("journal"), |_| true));
        lines.extend(kernel_settings());
        lines.join("\n")
    }
}

/// Returns the process ID in a group name of the program, or of a concurrent test (`assay_testkit::slow`).
fn process_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("assay-")?;
    rest.strip_prefix("lab-").unwrap_or(rest).split('-').next()
}

/// Groups of the program without processes, except those of other running programs.
fn groups_below(folder: &Path, own: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_alive = process_of(&name).is_some_and(|id| Path::new("/proc").join(id).exists());
        if path.is_dir() && own(&name) && !is_alive {
            found.push(path.display().to_string());
        } else if path.is_dir() && !path.is_symlink() {
            found.extend(groups_below(&path, own));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_says_whose_it_is() {
        assert_eq!(process_of("assay-12-trial"), Some("12"));
        assert_eq!(process_of("assay-lab-34-0"), Some("34"));
        assert_eq!(process_of("system.slice"), None);
    }
}
