//! Stacks of layers, killed at random moments: while Assay creates, encrypts, joins, mounts, measures or removes one.
//! Afterwards, no array, mapping, mount, loop device or process may remain.

use std::fs;
use std::path::Path;

use super::rounds::{self, Victim};
use super::{KillPlan, Kills, lines_with, loops_with, names_in, swap_areas, write_study};
use crate::fleet::{Rank, Ranks};
use crate::process::Assay;
use crate::{Done, Scratch, has, kernel_knows};

/// Stacks that need only modules of most kernels: directories encrypted in two ways, on a zram and on a loop device; a
/// compressing filesystem on two devices.
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

/// A stack on device names that the kernel reuses, from trial to trial and from run to run: a zram device is the target
/// in one configuration and swap in the next one.
pub(super) const REUSED_NAMES: [(&str, &str); 1] = [(
    "reused-names",
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

/// Needs the device mapper and md: encrypted members, joined, with a filesystem on top.
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

/// Filesystems and settings on a loop device per host.
pub(super) const OF_FLEET: [(&str, &str); 1] = [(
    "fleet",
    r#"
replicates = 2
target     = { loop = "64 MiB" }
[factors]
filesystem = ["ext4", "ext2"]
scheduler  = ["none", "bfq"]
"#,
)];
pub(super) const HOSTS: usize = 3;

const AREA: &str = "area = { size = \"16 MiB\" }\n";

const WORK: &str = r#"
[[workload]]
name = "write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", direct = false, sync = "fdatasync", runtime = "20 ms", ramp_time = "1 ms" }
"#;

const ZRAM: &str = "/sys/class/zram-control/hot_add";
const SWAPS: &str = "/proc/swaps";

/// Programs that a run starts and that must end with the run.
const SERVING: [&str; 4] = ["gocryptfs", "cryptsetup", "mdadm", "mkfs"];

pub(super) fn kill(plan: KillPlan<'_>) -> Done<Kills> {
    kill_studies(&studies()?, 1, plan)
}

/// Kills studies, of a fleet if there are several hosts: one host is killed, and the others must restore everything.
pub(super) fn kill_studies(
    studies: &[(&str, &str)],
    hosts: usize,
    plan: KillPlan<'_>,
) -> Done<Kills> {
    let scratch = Scratch::new("kills-stacks")?;
    let homes = scratch.home()?;
    let home = |host: usize| {
        let folder = homes.join(host.to_string());
        fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
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
    let condition = || condition(scratch.path(), &homes);
    let victim =
        Victim { hosts, runs, fleet: fleet.as_ref(), measures_each: true, condition: &condition };
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

fn condition(scratch: &Path, homes: &Path) -> Done<String> {
    // The homes are below a folder of this name, too.
    let own = scratch.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut lines = lines_with("/proc/self/mounts", &own);
    lines.extend(loops_with(&own)?);
    // The names of these devices do not name their owner, so all of them count.
    let made = |name: &str| ["dm-", "md", "zram"].iter().any(|kind| name.starts_with(kind));
    lines.extend(names_in(Path::new("/sys/block"), made));
    lines.extend(names_in(Path::new("/dev/mapper"), |name| name != "control"));
    lines.extend(swap_areas());
    for home in names_in(homes, |_| true) {
        for folder in ["room", "journal"] {
            lines.extend(names_in(&homes.join(&home).join(folder), |_| true));
        }
    }
    lines.extend(serving(&own));
    Ok(lines.join("\n"))
}

/// Command lines of processes of these programs that name a path of the test.
fn serving(own: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        // Empty if the process has ended.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(own) && SERVING.iter().any(|name| line.contains(name)) {
            found.push(line);
        }
    }
    found
}
