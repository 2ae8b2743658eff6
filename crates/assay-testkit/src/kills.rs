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
/// Device settings that the study changes, with unusual values.
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
    ("network", network::kill),
    ("stacks", stacks::kill),
    ("names", |plan| stacks::kill_studies(&stacks::REUSED_NAMES, 1, plan)),
];

/// Four factors that change the machine: a scheduler, read-ahead, filesystems, mount options.
const SETTINGS_STUDY: &str = r#"
replicates = 2
[factors]
filesystem    = ["ext4", "ext2"]
mount_options = ["defaults", "noatime"]
read_ahead    = ["0 KiB", "1 MiB"]
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
    pub put_back: u32,
    /// Restored changes in total.
    pub things: u32,
    /// Finished trials that had to be stored, in total; `None` if not counted.
    pub trials: Option<u32>,
    /// Resumed studies; `None` if the test resumes none.
    pub resumed: Option<u32>,
}

/// A loop device with unusual settings, and a home for the program.
struct Site {
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

/// Kills `count` runs of the program at moments drawn from `seed`; an error names the leftovers.
pub fn kill(program: &Path, count: u32, seed: u64, tell: &mut dyn FnMut(&str)) -> Done<Kills> {
    let site = Site::new(program)?;
    rounds::cleared(&site.assay, site.killed(count, seed, tell))
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

    /// Returns whether no file system of the study is on the device.
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

    fn words(&self, number: u32) -> Done<Vec<String>> {
        let start = if number.is_multiple_of(2) { "offset = \"50%\"" } else { "align = \"1 MiB\"" };
        let path = self.scratch.path().join("study.toml");
        fs::write(&path, STUDY.replace("START", start)).map_err(|error| error.to_string())?;
        let path = path.display().to_string();
        // Every third run creates a loop device and its file.
        if number.is_multiple_of(3) {
            return Ok(["run", &path, "--scratch", "--quiet"].map(str::to_owned).to_vec());
        }
        let device = self.device.device();
        let id = format!("{}:128MiB", self.device.name());
        Ok(["run", &path, device, "--destroy", &id, "--quiet"].map(str::to_owned).to_vec())
    }

    fn whole_run(&self) -> Done<Duration> {
        rounds::whole_run(&self.assay, &self.words(1)?)
    }

    fn one(&self, number: u32, after: Duration, before: &str, kills: &mut Kills) -> Done<String> {
        let known = self.results()?;
        let words = self.words(number)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let killed = rounds::kill_after(&self.assay, &words, after)?;
        let finished = self.finished(&known)?;
        if killed {
            kills.killed += 1;
            self.refuses_or_runs(&words)?;
        } else {
            kills.ended += 1;
        }
        let things = rounds::restore(&self.assay)?;
        rounds::is_as(&self.condition()?, before)?;
        kills.put_back += u32::from(things > 0);
        kills.things += things;
        if let Some((id, trials)) = finished {
            kills.trials = kills.trials.map(|seen| seen + trials);
            self.nothing_is_lost(&id, trials, number, kills)?;
        }
        let what = if killed { "killed" } else { "ended" };
        Ok(format!("{what} after {:.3} s, {things} put back", after.as_secs_f64()))
    }

    /// Over an unfinished journal the next run refuses and names the way out.
    fn refuses_or_runs(&self, words: &[&str]) -> Done<()> {
        let journals = fs::read_dir(self.assay.home().join("journal"));
        if journals.into_iter().flatten().count() == 0 {
            return Ok(());
        }
        let ended = self.assay.run(words, LIMIT)?;
        if ended.code == 3 && ended.stderr.contains("assay restore") {
            return Ok(());
        }
        Err(format!("over an unfinished journal: {}: {}", ended.code, ended.stderr))
    }

    fn results(&self) -> Done<Vec<PathBuf>> {
        let entries = fs::read_dir(self.assay.home().join("results")).into_iter().flatten();
        entries.map(|entry| Ok(entry.map_err(|error| error.to_string())?.path())).collect()
    }

    /// Returns whether the new result contains every trial of its plan.
    fn is_complete(&self, known: &[PathBuf]) -> Done<bool> {
        let Some((id, trials)) = self.finished(known)? else { return Ok(false) };
        let path = self.assay.home().join("results").join(id).join("plan.json");
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let plan: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let planned = plan["trials"].as_array().map_or(usize::MAX, Vec::len);
        Ok(trials as usize >= planned)
    }

    /// The result that came about since, with its whole lines of finished trials.
    fn finished(&self, known: &[PathBuf]) -> Done<Option<(String, u32)>> {
        let Some(bundle) = self.results()?.into_iter().find(|path| !known.contains(path)) else {
            return Ok(None);
        };
        let text = fs::read_to_string(bundle.join("trials.jsonl")).unwrap_or_default();
        let id = bundle.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Killed while creating the bundle: it contains no trial.
        let whole = ["study.toml", "plan.json", "environment.json"];
        let complete = whole.iter().all(|name| bundle.join(name).exists());
        Ok(complete.then(|| (id, text.matches('\n').count() as u32)))
    }

    /// Reads the finished trials again; resumes some studies to their end.
    fn nothing_is_lost(&self, id: &str, trials: u32, number: u32, kills: &mut Kills) -> Done<()> {
        let ended = self.assay.run(&["show", id, "--json"], LIMIT)?;
        if trials > 1 {
            let cells = ended.json()?["measurements"].as_array().cloned().unwrap_or_default();
            let primary = cells.iter().filter(|cell| cell["metric"] == "iops");
            let shown: usize = primary.map(|c| c["trials"].as_array().map_or(0, Vec::len)).sum();
            if (shown as u32) < trials - 1 {
                return Err(format!("{trials} trials were finished, {shown} are shown"));
            }
        }
        if trials > 1 && number.is_multiple_of(10) && !number.is_multiple_of(3) {
            let destroy = format!("{}:128MiB", self.device.name());
            let ended = self.assay.run(&["resume", id, "--destroy", &destroy], LIMIT)?;
            if ended.code != 0 {
                // Killed behind its last trial.
                let done = ended.stderr.contains("has ended");
                return if done { Ok(()) } else { Err(format!("resume: {}", ended.stderr)) };
            }
            kills.resumed = kills.resumed.map(|seen| seen + 1);
        }
        Ok(())
    }
}

fn lines_with(file: &str, own: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| line.contains(own)).map(str::to_owned).collect()
}

/// Loop devices with a text in their backing file's name, sorted.
fn loops_with(own: &str) -> Done<Vec<String>> {
    let loops = call("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"])?;
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

/// The kernel's memory settings; skips unreadable and binary files.
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

/// Random numbers for the moments; their quality does not matter (xorshift).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    /// From 0 (inclusive) to 1.
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
