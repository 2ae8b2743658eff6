//! A study of a small memory, killed at random moments: afterwards swap, zram, zswap, control groups and
//! the directory must be as before.

use std::fs;
use std::path::Path;

use super::rounds::{self, Victim};
use super::{KillPlan, Kills, kernel_settings, names_in, swap_areas, write_study};
use crate::process::Assay;
use crate::{Done, Scratch};

const ZSWAP: &str = "/sys/module/zswap/parameters";
/// Directories of control groups with the memory controller, both versions.
const GROUPS: [&str; 2] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
/// Name prefixes of the program's groups and files.
const OWN: [&str; 2] = ["assay-", ".assay-"];

/// All kinds of swap, and a setting; each working set swaps, but is small to spare other processes.
const STUDY: &str = r#"
replicates = 2
baseline   = { swap = "file" }

[factors]
swap       = ["none", "file", "zswap", "zram"]
swap_size  = ["64 MiB"]
swappiness = [60, 100]

[[workload]]
name  = "pages"
memory = { memory_limit = "32 MiB", working_set = "150%", compressibility = "50%", runtime = "50 ms", ramp_time = "1 ms" }
"#;

pub(super) fn kill(plan: KillPlan<'_>) -> Done<Kills> {
    // Assay refuses a swap file in memory.
    let scratch = Scratch::on_drive("memory-kills")?;
    let assay = Assay::new(plan.program, &scratch.home()?);
    let target = scratch.folder("target", 0o755, None)?;
    let study = write_study(&scratch, "memory", STUDY)?;
    let place = target.display().to_string();
    // Other tests use this drive at the same time.
    let words = ["run", &study, &place, "--quiet", "--wait", "2min"].map(str::to_owned);
    let condition = || Ok(condition(&target, assay.home()));
    let (hosts, runs) = (vec![assay.clone()], vec![words.to_vec()]);
    rounds::kill(
        &Victim { hosts, runs, fleet: None, measures_each: false, condition: &condition },
        plan,
    )
}

fn condition(target: &Path, home: &Path) -> String {
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
    lines.extend(names_in(target, |_| true));
    lines.extend(names_in(&home.join("journal"), |_| true));
    lines.extend(kernel_settings());
    lines.join("\n")
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
