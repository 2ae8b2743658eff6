//! Stacks of layers, killed at random moments: during creation, encryption, assembly, mount, measurement or removal.
//! Afterwards nothing may be assembled, open, mounted, looped or running.

use std::fs;
use std::path::Path;

use super::rounds::{self, Victim};
use super::{KillPlan, Kills, lines_with, loops_with, names_in, swap_areas, write_study};
use crate::fleet::{Rank, Ranks};
use crate::process::Assay;
use crate::{Done, Scratch, has, kernel_knows};

/// Stacks on this kernel: directories encrypted in two ways, on a zram and on a loop device; a file system on two
/// devices with compression.
const HERE: [(&str, &str); 2] = [
    (
        "encrypted",
        r#"
replicates = 1
baseline   = { encryption = "none" }
target     = { loop = "96 MiB" }
[factors]
zram       = ["lzo-rle", "none"]
filesystem = ["ext4"]
encryption = ["none", "fscrypt", "gocryptfs"]
"#,
    ),
    (
        "spread",
        r#"
replicates    = 1
baseline      = { btrfs_profile = "raid1" }
target        = { loop = "128 MiB" }
members       = 2
[factors]
filesystem    = ["btrfs"]
btrfs_profile = ["raid1", "raid0"]
compression   = ["none", "zstd:1"]
"#,
    ),
];

/// A stack on device names that the kernel reuses between trials and rounds: the target of one arm is swap in the next,
/// and a file system gets the number that swap had.
const AGAIN: [(&str, &str); 1] = [(
    "named-again",
    r#"
replicates = 2
baseline   = { zram = "none", swap = "none" }
target     = { loop = "96 MiB" }
[factors]
filesystem = ["ext4"]
zram       = ["none", "lzo-rle"]
swap       = ["none", "zram:lzo-rle", "zram:lzo"]
swap_size  = ["32 MiB"]
"#,
)];

/// Stacks that need the device mapper and md: encrypted members of an array, with a file system on top.
const WITH_MAPPER: [(&str, &str); 1] = [(
    "mapped",
    r#"
replicates = 1
baseline   = { encryption = "none" }
target     = { loop = "64 MiB" }
members    = 3
[factors]
filesystem = ["ext4"]
encryption = ["none", "dm-crypt"]
raid       = ["raid5", "raid1"]
raid_chunk = ["defaults"]
raid_resync  = ["none", "2 MB/s"]
"#,
)];

/// Common part of the studies.
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "NAME, killed at any moment"
margin     = "5%"
aa_control    = false
area       = { size = "16 MiB" }
"#;

const WORK: &str = r#"
[[workload]]
name = "write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", direct = false, sync = "fdatasync", runtime = "20 ms", ramp_time = "1 ms" }
"#;

const ZRAM: &str = "/sys/class/zram-control/hot_add";
const SWAPS: &str = "/proc/swaps";

/// Programs that a run starts and must not leave behind.
const SERVING: [&str; 4] = ["gocryptfs", "cryptsetup", "mdadm", "mkfs"];

/// Kills `count` runs of the program at moments drawn from `seed`. An error names the leftovers.
pub fn kill(program: &Path, count: u32, seed: u64, tell: &mut dyn FnMut(&str)) -> Done<Kills> {
    kill_of(&studies()?, (program, count, seed), tell)
}

/// The same, with only the stack on reused names.
pub fn kill_named_again(
    program: &Path,
    count: u32,
    seed: u64,
    tell: &mut dyn FnMut(&str),
) -> Done<Kills> {
    let scratch = Scratch::new("kills-stacks")?;
    let home = |host: usize| {
        let folder = scratch.folder(&format!("home-{host}"), 0o755, None)?;
        Ok(Assay::new(plan.program, &folder))
    };
    let hosts = (0..hosts).map(home).collect::<Done<Vec<Assay>>>()?;
    let (mut runs, mut fleet) = (Vec::new(), None);
    for (name, text) in studies {
        (plan.log)(&format!("{name}: {}", text.split_whitespace().collect::<Vec<_>>().join(" ")));
        let path = write_study(&scratch, name, &format!("{AREA}{text}{WORK}"))?;
        let rank = |assay: &Assay| Rank { assay: assay.clone(), target: "--wait=2min".to_owned() };
        let ranks = Ranks::new(Path::new(&path), hosts.iter().map(rank).collect());
        fleet = Some(ranks).filter(|_| hosts.len() > 1);
        runs.push(["run", &path, "--quiet"].map(str::to_owned).to_vec());
    }
    let condition = || condition(scratch.path());
    let victim = Victim { hosts, runs, fleet: fleet.as_ref(), condition: &condition };
    rounds::kill(&victim, plan)
}

fn studies() -> Done<Vec<(&'static str, &'static str)>> {
    let mut all = Vec::new();
    if kernel_knows("btrfs") && has("gocryptfs") && has("fusermount3") {
        all.extend(HERE);
    }
    if [ZRAM, SWAPS].iter().all(|path| Path::new(path).exists()) {
        all.extend(REUSED_NAMES);
    }
    if has("cryptsetup") && has("mdadm") && Path::new("/sys/module/dm_mod").exists() {
        all.extend(WITH_MAPPER);
    }
    if all.is_empty() {
        return Err(
            "needs btrfs and gocryptfs, zram and swap, or the device mapper with cryptsetup and mdadm"
                .to_owned()
        );
    }
    Ok(all)
}

fn condition(scratch: &Path) -> Done<String> {
    let own = scratch.display().to_string();
    let mut lines = lines_with("/proc/self/mounts", &own);
    lines.extend(loops_with(&own)?);
    // Device-mapper devices, arrays and zram devices have no identifying name, so all of them count.
    let made = |name: &str| ["dm-", "md", "zram"].iter().any(|kind| name.starts_with(kind));
    lines.extend(names_in(Path::new("/sys/block"), made));
    lines.extend(names_in(Path::new("/dev/mapper"), |name| name != "control"));
    lines.extend(swap_areas());
    for home in names_in(scratch, |name| name.starts_with("home")) {
        for folder in ["room", "journal"] {
            lines.extend(names_in(&scratch.join(&home).join(folder), |_| true));
        }
    }
    lines.extend(serving(&own));
    Ok(lines.join("\n"))
}

/// Command lines of processes of these programs that name a path of the test.
fn serving(own: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        // Processes that end during the scan have no command line.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(own) && SERVING.iter().any(|name| line.contains(name)) {
            found.push(line);
        }
    }
    found
}
