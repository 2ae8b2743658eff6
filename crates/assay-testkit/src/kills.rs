//! Studies that change the machine, killed at random moments: afterwards `assay restore` must restore everything, and no
//! finished trial may be lost.

pub mod hands;
mod memory;
mod network;
mod rounds;
mod stacks;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::Assay;
use crate::{Done, LoopDevice, Scratch, call, create_image};
use rounds::Victim;

/// No run and no restore takes longer.
const LIMIT: Duration = Duration::from_secs(120);
/// Settings of the device that the study changes, with values that are not defaults.
const SETTINGS: [(&str, &str); 3] =
    [("scheduler", "mq-deadline"), ("read_ahead_kb", "192"), ("nr_requests", "96")];

/// How to kill runs of a program.
pub struct KillPlan<'a> {
    pub program: &'a Path,
    pub count: u32,
    /// The moments are drawn from this.
    pub seed: u64,
    /// Receives a line per kill.
    pub log: &'a mut dyn FnMut(&str),
}

/// An error says what remained.
type Kill = fn(KillPlan<'_>) -> Done<Kills>;

const SUITES: [(&str, Kill); 8] = [
    ("settings", |plan| on_site(SETTINGS_STUDY, plan)),
    ("race", |plan| on_site(RACE_STUDY, plan)),
    ("durability", |plan| on_site(DURABILITY_STUDY, plan)),
    ("fleet", |plan| stacks::kill_studies(&stacks::OF_FLEET, stacks::HOSTS, plan)),
    ("memory", memory::kill),
    ("links", network::kill),
    ("stacks", stacks::kill),
    ("names", |plan| stacks::kill_studies(&stacks::REUSED_NAMES, 1, plan)),
];

/// Three factors that change the machine: a scheduler, filesystems, mount options.
const SETTINGS_STUDY: &str = r#"
replicates = 2
[factors]
filesystem    = ["ext4"]
mount_options = ["defaults", "noatime"]
scheduler     = ["none", "bfq"]
[[workload]]
name = "random-write"
io   = { pattern = "random", mix = "write", block_size = "4 KiB", runtime = "20 ms", ramp_time = "1 ms" }
"#;

/// Drops configurations after the third replicate.
const RACE_STUDY: &str = r#"
replicates = 5
stop       = { rule = "best" }
[factors]
filesystem = ["ext4"]
read_ahead = ["0 KiB", "1 MiB"]
scheduler  = ["none", "bfq"]
[[workload]]
name = "sequential-read"
io   = { pattern = "sequential", mix = "read", block_size = "4 KiB", direct = false, runtime = "20 ms" }
"#;

const DURABILITY_STUDY: &str = r#"
replicates = 2
[factors]
filesystem = ["ext4", "ext2"]
scheduler  = ["none", "bfq"]
[[workload]]
name       = "log"
durability = { writer = "log", acknowledged_writes = 40, crash_points = 20 }
"#;

/// Counts over all runs of a suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kills {
    pub killed: u32,
    pub ended: u32,
    /// Kills after which something had to be restored.
    pub restored: u32,
    pub items: u32,
    /// Finished trials, all of which were still stored.
    pub trials: u32,
    /// Studies that were resumed and completed.
    pub resumed: u32,
}

pub fn kill(suite: &str, plan: KillPlan<'_>) -> Done<Kills> {
    let Some((_, kill)) = SUITES.iter().find(|(name, _)| *name == suite) else {
        let names = SUITES.map(|(name, _)| name).join(", ");
        return Err(format!("{suite}: unknown suite; use one of {names}"));
    };
    kill(plan)
}

/// A loop device whose settings are not the defaults, and a home for the program.
struct Site {
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

/// Kills runs of a study at three places: at two offsets of a device, and on a device that Assay creates.
fn on_site(study: &str, plan: KillPlan<'_>) -> Done<Kills> {
    let site = Site::new(plan.program)?;
    let [begin, middle] =
        [("begin", "align = \"1 MiB\""), ("middle", "offset = \"50%\"")].map(|(name, start)| {
            let area = format!("area = {{ size = \"16 MiB\", {start} }}\n");
            write_study(&site.scratch, name, &format!("{area}{study}"))
        });
    let (begin, middle) = (begin?, middle?);
    let id = format!("{}:128MiB", site.device.name());
    let device = ["--quiet", site.device.device(), "--destroy", &id];
    let runs = [
        [&["run", &begin, "--scratch", "--quiet"][..]].concat(),
        [&["run", &begin], &device[..]].concat(),
        [&["run", &middle], &device[..]].concat(),
    ];
    let runs = runs.map(|words| words.into_iter().map(str::to_owned).collect()).into();
    let condition = || site.condition();
    let hosts = vec![site.assay.clone()];
    rounds::kill(
        &Victim { hosts, runs, fleet: None, measures_each: true, condition: &condition },
        plan,
    )
}

/// Writes a study file and returns its path.
fn write_study(scratch: &Scratch, name: &str, text: &str) -> Done<String> {
    let path = scratch.path().join(format!("{name}.toml"));
    let head = format!(
        "format = \"assay-study/1\"\ntitle = \"{name}, killed at any moment\"\nmargin = \"5%\"\naa_control = false\n"
    );
    fs::write(&path, format!("{head}{text}")).map_err(|error| error.to_string())?;
    Ok(path.display().to_string())
}

impl Site {
    fn new(program: &Path) -> Done<Self> {
        let scratch = Scratch::new("kills")?;
        let home = scratch.home()?;
        let image = scratch.path().join("disk");
        create_image(&image, 128)?;
        let device = LoopDevice::over_with_partitions(image)?;
        let site = Self { assay: Assay::new(program, &home), device, scratch };
        for (name, value) in SETTINGS {
            fs::write(site.setting(name), value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(site)
    }

    fn setting(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/{}/queue/{name}", self.device.name()))
    }

    fn condition(&self) -> Done<String> {
        let mut lines = Vec::new();
        for (name, _) in SETTINGS.iter().chain(&[("wbt_lat_usec", "")]) {
            let text = fs::read_to_string(self.setting(name)).unwrap_or_default();
            lines.push(format!("{name} {}", text.trim()));
        }
        lines.extend(lines_with("/proc/self/mounts", &self.assay.home().display().to_string()));
        lines.extend(loops_with(&self.scratch.path().display().to_string())?);
        for folder in ["room", "journal"] {
            lines.extend(names_in(&self.assay.home().join(folder), |_| true));
        }
        let disk = self.device.name();
        lines.extend(names_in(Path::new("/sys/block").join(disk).as_path(), |name| {
            name.starts_with(disk)
        }));
        lines.push(format!("blank {}", self.is_blank()?));
        lines.extend(kernel_settings());
        Ok(lines.join("\n"))
    }

    /// Whether no file system of the study can be seen on the device.
    fn is_blank(&self) -> Done<bool> {
        for offset in ["0", "67108864"] {
            let found = std::process::Command::new("blkid")
                .args(["--probe", "--offset", offset, self.device.device()])
                .output()
                .map_err(|error| format!("blkid: {error}"))?;
            if !found.stdout.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn lines_with(file: &str, own: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.contains(own)).map(str::to_owned).collect()
}

/// Loop devices whose file contains a text, sorted.
fn loops_with(own: &str) -> Done<Vec<String>> {
    let loops =
        call("losetup", &["--list", "--raw", "--noheadings", "--output", "NAME,BACK-FILE"])?;
    let mut loops: Vec<String> =
        loops.lines().filter(|line| line.contains(own)).map(str::to_owned).collect();
    loops.sort_unstable();
    Ok(loops)
}

fn names_in(folder: &Path, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| wanted(name)).collect();
    names.sort_unstable();
    names
}

fn swap_areas() -> Vec<String> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let areas = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    areas.map(|area| format!("swap {area}")).collect()
}

/// Settings of the kernel's memory; what is no text, or may not be read, is none of ours.
fn kernel_settings() -> Vec<String> {
    let files = fs::read_dir("/proc/sys/vm").into_iter().flatten().flatten();
    let texts = files.filter_map(|file| {
        let text = fs::read_to_string(file.path()).ok()?;
        Some(format!("{} {}", file.path().display(), text.trim()))
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort_unstable();
    texts
}

/// Numbers for the moments; nothing depends on their quality (xorshift).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// From 0 up to 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.share() * end as f64) as usize
    }
}
