//! A machine at work, and studies that change settings under it: a reader and a writer in processes of
//! their own, on a partition of a loop device, with a limit of a control group that can be a level.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::certain::list;
use crate::kills::Draws;
use crate::needs::is_busy;
use crate::process::{Assay, Ended};
use crate::slow::SlowLane;
use crate::{Done, LoopDevice, Mounted, Scratch, call, create_image, insist};

/// Time limit of these studies.
/// Key of the configuration in a stored trial.
const ARM: &str = "arm";
const LIMIT: Duration = Duration::from_secs(600);
/// A limit in bytes per second that has no effect.
pub const FREE: u32 = 4_000_000_000;
/// Bytes per second below the demand of the readers.
pub const TIGHT: u32 = 1_500_000;
/// What readers ask for: requests of 16 KiB per second.
const ASKED: &str = "--rate_iops=400";
const NO_ROLLBACK: &str = ", rollback_threshold = \"off\"";
/// Restoring may take this long after a kill.
pub const PUT_BACK: Duration = Duration::from_secs(2);

/// A process that works until dropped.
#[derive(Debug)]
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        // Stopped ones end, too: ours alone, the id cannot have been given away before the wait.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A device with others' work on it. Taken down from the top when dropped.
#[derive(Debug)]
pub struct Production {
    workers: Vec<Worker>,
    lane: SlowLane,
    mount: Option<Mounted>,
    device: LoopDevice,
    assay: Assay,
    scratch: Scratch,
}

impl Drop for Production {
    fn drop(&mut self) {
        self.workers.clear();
        self.mount = None;
        insist("delpart", &[self.device.device(), "1"]);
    }
}

impl Production {
    /// A file system on a partition in memory, without processes.
    pub fn new(program: &Path) -> Done<Self> {
        let scratch = Scratch::new("live")?;
        let home = scratch.folder("home", 0o755, None)?;
        let image = scratch.path().join("disk");
        create_image(&image, 320)?;
        let device = LoopDevice::over_with_partitions(image)?;
        call("addpart", &[device.device(), "1", "2048", "614400"])?;
        let lane = SlowLane::limited(&device.number()?, "read_bps_device", FREE)?;
        let assay = Assay::new(program, &home);
        let mut site = Self { workers: Vec::new(), lane, mount: None, device, assay, scratch };
        let part = format!("{}p1", site.device.device());
        let plain = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", &part];
        call("mkfs.ext4", &plain)?;
        site.mount = Some(Mounted::new(&[&part], &site.scratch.path().join("mnt"))?);
        Ok(site)
    }

    /// Starts a reader and a writer; the reader gets these arguments.
    pub fn at_work(program: &Path, reader: &[&str]) -> Done<Self> {
        let mut site = Self::new(program)?;
        let plain = ["--rw=randread", "--iodepth=1"];
        site.work("reader", &[&plain, reader].concat())?;
        site.work("writer", &["--rw=randwrite", "--rate_iops=100", "--fdatasync=8"])?;
        // Until their files are laid out.
        thread::sleep(Duration::from_secs(3));
        site.is_at_work()?;
        Ok(site)
    }

    pub fn directory(&self) -> PathBuf {
        self.scratch.path().join("mnt")
    }

    fn work(&mut self, name: &str, how: &[&str]) -> Done<()> {
        let mut words = self.lane.through();
        let (name, place) =
            (format!("--name={name}"), format!("--directory={}", self.directory().display()));
        let plain = ["fio", &name, &place, "--size=64m", "--bs=16k", "--direct=1"];
        let endless = ["--time_based", "--runtime=1d", "--thread"];
        words.extend(plain.iter().chain(how).chain(&endless).map(|word| (*word).to_owned()));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("fio: {error}"))?;
        self.workers.push(Worker(child));
        Ok(())
    }

    pub fn is_at_work(&mut self) -> Done<()> {
        let ended = self.workers.iter_mut().any(|one| !matches!(one.0.try_wait(), Ok(None)));
        if ended { Err("a process of production ended".to_owned()) } else { Ok(()) }
    }

    pub fn setting(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/{}/queue/{name}", self.device.name()))
    }

    pub fn limits(&self, per_second: &[u32]) -> Done<String> {
        let number = self.device.number()?;
        let levels: Vec<String> =
            per_second.iter().map(|one| format!("\"{number} {one}\"")).collect();
        let file = self.lane.limit("read_bps_device");
        Ok(format!("\"tunable:{}\" = [{}]", file.display(), levels.join(", ")))
    }

    fn set_limit(&self, per_second: u32) -> Done<()> {
        let file = self.lane.limit("read_bps_device");
        fs::write(&file, format!("{} {per_second}", self.device.number()?))
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// A study of this work with a factor; `more` is added to the keys of `production`.
    fn study(
        &self,
        factor: &str,
        replicates: u32,
        runtime: &str,
        settle_time: &str,
        more: &str,
    ) -> Done<String> {
        let text = format!(
            "format = \"assay-study/1\"\ntitle = \"Others' work\"\nreplicates = {replicates}\n\
             aa_control = false\nrepeat_disturbed = false\n[factors]\n{factor}\n[[workload]]\n\
             name = \"live\"\nproduction = {{ runtime = \"{runtime}\", settle_time = \"{settle_time}\"{more} }}\n"
        );
        let path = self.scratch.path().join("live.toml");
        fs::write(&path, text).map_err(|error| error.to_string())?;
        Ok(path.display().to_string())
    }

    /// Runs a study; returns its findings and exit code.
    pub fn run(&self, study: &str, seed: u64) -> Done<(Value, i32)> {
        let (place, seed) = (self.directory().display().to_string(), seed.to_string());
        let words = ["run", study, &place, "--json", "--quiet", "--seed", &seed];
        let ended = self.assay.run(&words, LIMIT)?;
        Ok((ended.json()?, ended.code))
    }

    /// Longest continuous time of the limit at a level, until something is over.
    fn longest_at(&self, per_second: u32, over: &AtomicBool) -> Duration {
        let file = self.lane.limit("read_bps_device");
        let level = format!(" {per_second}");
        let (mut longest, mut since) = (Duration::ZERO, None);
        while !over.load(Ordering::Relaxed) {
            let is_there =
                fs::read_to_string(&file).is_ok_and(|now| now.trim_end().ends_with(&level));
            since = if is_there { since.or_else(|| Some(Instant::now())) } else { None };
            longest = longest.max(since.map_or(Duration::ZERO, |since: Instant| since.elapsed()));
            thread::sleep(Duration::from_millis(10));
        }
        longest
    }

    pub fn condition(&self) -> String {
        let names = ["scheduler", "read_ahead_kb", "nr_requests", "wbt_lat_usec"];
        let mut files: Vec<PathBuf> = names.iter().map(|name| self.setting(name)).collect();
        files.push(self.lane.limit("read_bps_device"));
        let text = |file: &PathBuf| fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        files.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    fn watchers(&self) -> usize {
        let home = self.assay.home().display().to_string();
        let is_one = |process: &Path| {
            let has = |file: &str, word: &str| {
                let text = fs::read(process.join(file)).unwrap_or_default();
                String::from_utf8_lossy(&text).split('\0').any(|part| part.ends_with(word))
            };
            has("cmdline", "watchdog") && has("environ", &home)
        };
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter(|process| is_one(&process.path())).count()
    }

    fn journals(&self) -> usize {
        fs::read_dir(self.assay.home().join("journal")).map_or(0, Iterator::count)
    }

    fn trials(&self) -> Done<Vec<Value>> {
        let results = self.assay.home().join("results");
        let names = fs::read_dir(&results).map_err(|error| error.to_string())?.flatten();
        let newest = names.map(|entry| entry.path()).max().ok_or("there is no result")?;
        let text = fs::read_to_string(newest.join("trials.jsonl"));
        let text = text.map_err(|error| error.to_string())?;
        let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
        lines.map_err(|error| error.to_string())
    }
}

/// Verdict of a class against the baseline, with its comparison.
pub fn verdict<'a>(found: &'a Value, class: &str) -> Done<(&'a str, &'a Value)> {
    let name = format!("live, {class}");
    let all = list(found, "comparisons");
    let own = all.iter().find(|one| one["workload"] == name.as_str() && one["primary"] == true);
    let own = own.ok_or_else(|| format!("{name} was not compared: {}", found["absent"]))?;
    Ok((own["verdict"].as_str().unwrap_or("none"), own))
}

/// Returns whether the rule on loads withheld a verdict.
pub fn is_unequal(comparison: &Value) -> bool {
    list(comparison, "note_facts").iter().any(|note| note["kind"] == "unequal-load")
}

/// A level that throttles the reader is worse for its class.
pub fn throttled(program: &Path) -> Done<String> {
    let site = Production::at_work(program, &[ASKED])?;
    let factor = site.limits(&[FREE, TIGHT])?;
    let study = site.study(&factor, 4, "4 s", "1 s", NO_ROLLBACK)?;
    let (found, _) = site.run(&study, 1)?;
    Ok(format!("a level that holds readers back: {}", reads_are("worse", &found)?))
}

/// Text on reads of a study with this verdict, or without one on a busy machine.
fn reads_are(wanted: &str, found: &Value) -> Done<String> {
    let (reads, told) = verdict(found, "reads")?;
    if reads != wanted && !(reads == "inconclusive" && is_busy()) {
        return Err(format!("reads are {reads}: {told:#}"));
    }
    Ok(told["text"].as_str().unwrap_or_default().to_owned())
}

/// The limit of harm ends its first period early, and the study continues without the level.
pub fn taken_back(program: &Path) -> Done<String> {
    let site = Production::at_work(program, &[ASKED])?;
    let before = site.condition();
    let factor = site.limits(&[FREE, TIGHT, FREE - 294_967_296])?;
    let study = site.study(&factor, 3, "5 s", "1 s", "")?;
    let over = AtomicBool::new(false);
    let (found, longest) = thread::scope(|scope| {
        let watched = scope.spawn(|| site.longest_at(TIGHT, &over));
        let found = site.run(&study, 2);
        over.store(true, Ordering::Relaxed);
        (found, watched.join().unwrap_or(Duration::MAX))
    });
    let (found, code) = found?;
    let trials = site.trials()?;
    let of = |trial: &Value| trial["measured"]["detail"]["production"].clone();
    // A busy machine may hurt under the other levels, too.
    let is_tight = |trial: &&Value| trial[ARM].to_string().contains(&format!(" {TIGHT}"));
    let hurt = trials.iter().filter(|trial| !of(trial)["harm"].is_null()).filter(is_tight);
    let hurt: Vec<&Value> = hurt.collect();
    let [first] = hurt[..] else {
        return Err(format!("{} trials were rolled back: {:#}", hurt.len(), found["summary"]));
    };
    let after_ns = first["measured"]["elapsed_ns"].as_u64().unwrap_or(u64::MAX);
    let whole = |trial: &&Value| trial["status"] == "ok";
    let others = trials.iter().filter(whole).count();
    let own = list(&found, "comparisons");
    let has_ratio =
        own.iter().any(|one| one["configuration"] == first[ARM] && !one["ratio"].is_null());
    // A level that lasted longer than its period stayed until it was restored.
    let late = longest > Duration::from_nanos(after_ns) + Duration::from_secs(1);
    let is_calm = !trials.iter().any(|trial| !is_tight(&trial) && !of(trial)["harm"].is_null());
    let whole = others >= if is_calm { 3 } else { 1 } && !has_ratio && site.condition() == before;
    if after_ns > 5_000_000_000 || late || !whole {
        return Err(format!(
            "{after_ns} ns, there for {longest:?}, {others} other trials, ratio {has_ratio}, exit {code}: \
             {:#}",
            found["summary"]
        ));
    }
    let told = found["summary"][0]["text"].as_str();
    Ok(format!("rolled back; {others} periods of the others ran: {}", told.unwrap_or_default()))
}

/// In a race it leaves after its first period, independent of the interim analyses.
pub fn raced(program: &Path) -> Done<String> {
    let site = Production::at_work(program, &[ASKED])?;
    let before = site.condition();
    let factor = site.limits(&[FREE, TIGHT, FREE - 294_967_296])?;
    let study = site.study(&factor, 3, "5 s", "1 s", "")?;
    let place = site.directory().display().to_string();
    let words =
        ["run", &study, &place, "--until", "best", "--replicates", "3", "--json", "--quiet"];
    let ended = site.assay.run(&[&words[..], &["--seed", "2"]].concat(), LIMIT)?;
    let race = ended.json()?["race"].clone();
    let is_tight = |arm: &Value| arm.to_string().contains(&format!(" {TIGHT}"));
    let left = list(&race, "entries")
        .iter()
        .find(|runner| is_tight(&runner["configuration"]))
        .map(|own| &own["eliminated"]);
    let has_left = left.is_some_and(|left| left["rolled_back"] == true && left["after"] == 1);
    let trials = site.trials()?;
    let own = trials.iter().filter(|trial| is_tight(&trial[ARM]));
    let ran = own.filter(|trial| trial["status"] != "warmup").count();
    let is_put_back = site.condition() == before && site.journals() == 0;
    if !has_left || ran != 1 || is_tight(&race["winner"]) || !is_put_back {
        return Err(format!("{ran} periods, restored {is_put_back}: {race:#}"));
    }
    Ok(race["text"].to_string())
}

/// Number of studies of identical levels in which a class has a winner.
pub fn identical(program: &Path, count: u32, mut tell: impl FnMut(&str)) -> Done<u32> {
    let site = Production::at_work(program, &[ASKED])?;
    let study = site.study("aa_copy = [\"a\", \"b\"]", 6, "5 s", "500 ms", "")?;
    let mut winners = 0;
    for seed in 1..=count {
        let (found, _) = site.run(&study, u64::from(seed))?;
        let all = list(&found, "comparisons");
        let primary: Vec<&Value> = all.iter().filter(|one| one["primary"] == true).collect();
        let sure = |one: &&&Value| one["verdict"] == "better" || one["verdict"] == "worse";
        let sure = primary.iter().filter(sure).count();
        winners += u32::from(sure > 0);
        let told = |one: &&Value| {
            format!("{} {} {}", one["workload"], one["verdict"], one["ratio"]).replace('"', "")
        };
        let told: Vec<String> = primary.iter().map(told).collect();
        tell(&format!("identical levels, study {seed}: {}", told.join("; ")));
    }
    Ok(winners)
}

/// The load doubles under one of two levels without effect: there must be no verdict.
pub fn doubled(program: &Path) -> Done<String> {
    let mut site = Production::at_work(program, &["--rate_iops=110"])?;
    site.work("second", &["--rw=randread", "--iodepth=1", "--rate_iops=110"])?;
    // The limit is saturated, so that latency follows the load.
    site.set_limit(16_384 * 260)?;
    let level = site.setting("read_ahead_kb");
    let second = site.workers.last().ok_or("there is no second reader")?.0.id().to_string();
    thread::sleep(Duration::from_secs(2));
    let study =
        site.study("read_ahead = [\"128 KiB\", \"256 KiB\"]", 6, "3 s", "500 ms", NO_ROLLBACK)?;
    let over = AtomicBool::new(false);
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let now = fs::read_to_string(&level).unwrap_or_default();
                let signal = if now.trim() == "256" { "CONT" } else { "STOP" };
                let _ = call("kill", &["-s", signal, &second]);
                thread::sleep(Duration::from_millis(50));
            }
        });
        let found = site.run(&study, 3);
        over.store(true, Ordering::Relaxed);
        found
    });
    let (found, _) = found?;
    let (reads, told) = verdict(&found, "reads")?;
    if reads != "inconclusive" || !is_unequal(told) {
        return Err(format!("reads are {reads}: {told:#}"));
    }
    Ok(format!("twice the load in one level: {}", told["text"].as_str().unwrap_or_default()))
}

/// A level that lets a reader that asks again at once do more, sooner.
pub fn closed_loop(program: &Path) -> Done<String> {
    let site = Production::at_work(program, &[])?;
    site.set_limit(TIGHT)?;
    let factor = site.limits(&[TIGHT, 4 * TIGHT])?;
    let study = site.study(&factor, 6, "4 s", "1 s", "")?;
    let (found, _) = site.run(&study, 4)?;
    Ok(format!("a closed loop, faster and busier: {}", reads_are("better", &found)?))
}

/// A short run of the shipped study, with a line from the documentation for `/srv`.
pub fn preset(program: &Path, line: &str) -> Done<Value> {
    let site = Production::at_work(program, &[ASKED])?;
    let place = site.directory().display().to_string();
    let told = line.split(' ').skip(1).map(|word| if word == "/srv" { &place } else { word });
    let short = "--set rollback_threshold=off --set runtime=3s --replicates 3 --json --quiet";
    let words: Vec<&str> = told.chain(short.split(' ')).collect();
    let before = site.condition();
    let found = site.assay.run(&words, LIMIT)?.json()?;
    if site.condition() == before { Ok(found) } else { Err(site.condition()) }
}

/// Findings for an unprivileged user, and the refusal of changes.
pub fn unprivileged(program: &Path) -> Done<(Value, String)> {
    let site = Production::at_work(program, &[ASKED])?;
    let folder = site.scratch.folder("nobody", 0o755, None)?;
    let nobody = site.assay.as_nobody(&folder)?;
    let study = site.study("aa_copy = [\"a\", \"b\"]", 3, "3 s", "200 ms", "")?;
    let device = format!("{}p1", site.device.device());
    let found = nobody.run(&["run", &study, &device, "--json", "--quiet"], LIMIT)?.json()?;
    let refused =
        nobody.run(&["run", "production", "--set", "scheduler=none,bfq", &device], LIMIT)?;
    Ok((found, refused.stderr))
}

/// After one signal a study restores everything; after three signals, the watchdog does.
pub fn asked_to_end(program: &Path) -> Done<()> {
    let site = Production::at_work(program, &[ASKED])?;
    let before = site.condition();
    let factor = "read_ahead = [\"192 KiB\", \"256 KiB\"]";
    let study = site.study(factor, 9, "4 s", "100 ms", NO_ROLLBACK)?;
    let place = site.directory().display().to_string();
    for times in [1, 3] {
        let mut running = site.assay.start(&["run", &study, &place, "--quiet"])?;
        running.until(LIMIT, || site.condition() != before && site.watchers() == 1)?;
        // Into a period.
        thread::sleep(Duration::from_millis(1_500));
        for _ in 0..times {
            running.signal("INT")?;
            thread::sleep(Duration::from_millis(2));
        }
        let ended = running.end(LIMIT)?;
        let over = Instant::now();
        while over.elapsed() < PUT_BACK && (site.condition() != before || site.watchers() > 0) {
            thread::sleep(Duration::from_millis(10));
        }
        if site.condition() != before || site.watchers() + site.journals() > 0 {
            return Err(format!("asked {times} times: {}; {}", site.condition(), ended.stderr));
        }
    }
    Ok(())
}

/// The drive is removed within a period, and another one gets its name: its setting must not change.
pub fn pulled(program: &Path, stranger: &str) -> Done<(Ended, String)> {
    let scratch = Scratch::new("pulled")?;
    let assay = Assay::new(program, &scratch.folder("home", 0o755, None)?);
    let device = LoopDevice::new(scratch.path().join("first"), 64)?;
    let other = scratch.path().join("second");
    create_image(&other, 64)?;
    let setting = PathBuf::from(format!("/sys/block/{}/queue/read_ahead_kb", device.name()));
    let now = || fs::read_to_string(&setting).unwrap_or_default().trim().to_owned();
    let before = now();
    let study = scratch.path().join("live.toml");
    let text = "format = \"assay-study/1\"\ntitle = \"Others' work\"\nreplicates = 9\n\
        aa_control = false\n[factors]\nread_ahead = [\"192 KiB\", \"256 KiB\"]\n[[workload]]\n\
        name = \"live\"\nproduction = { runtime = \"3 s\", settle_time = \"100 ms\", rollback_threshold = \"off\" }\n";
    fs::write(&study, text).map_err(|error| error.to_string())?;
    let study = study.display().to_string();
    let mut running = assay.start(&["run", &study, device.device(), "--quiet"])?;
    running.until(LIMIT, || now() != before)?;
    // Into a period.
    thread::sleep(Duration::from_millis(1_500));
    call("losetup", &["--detach", device.device()])?;
    call("losetup", &[device.device(), &other.display().to_string()])?;
    fs::write(&setting, stranger).map_err(|error| error.to_string())?;
    let ended = running.end(LIMIT)?;
    if fs::read_dir(assay.home().join("journal")).map_or(0, Iterator::count) > 0 {
        return Err("a journal is left".to_owned());
    }
    Ok((ended, now()))
}

/// Kills so many studies at random moments with their process group: the watchdog must restore everything in time and
/// touch nothing else. Returns the longest time.
pub fn kill(program: &Path, count: u32, seed: u64, mut tell: impl FnMut(&str)) -> Done<Duration> {
    use std::os::unix::process::CommandExt;
    let mut site = Production::at_work(program, &[ASKED])?;
    let before = site.condition();
    let factors = format!(
        "scheduler = [\"bfq\", \"none\"]\nread_ahead = [\"192 KiB\"]\n{}",
        site.limits(&[FREE - 294_967_296])?
    );
    let study = site.study(&factors, 20, "3 s", "200 ms", NO_ROLLBACK)?;
    let place = site.directory().display().to_string();
    let (mut draws, mut longest) = (Draws(seed | 1), Duration::ZERO);
    for number in 1..=count {
        let after = Duration::from_millis(50 + draws.below(9_000) as u64);
        let mut command = site.assay.command(&["run", &study, &place, "--quiet"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().map_err(|error| error.to_string())?;
        thread::sleep(after);
        let changed = site.condition() != before;
        call("kill", &["-s", "KILL", "--", &format!("-{}", child.id())])?;
        let killed = Instant::now();
        while (site.condition() != before || site.journals() > 0) && killed.elapsed() < PUT_BACK {
            thread::sleep(Duration::from_millis(5));
        }
        let took = killed.elapsed();
        child.wait().map_err(|error| error.to_string())?;
        site.is_at_work()?;
        if site.condition() != before || site.journals() > 0 {
            return Err(format!(
                "kill {number} after {after:?}: {} (before: {before}), {} journals",
                site.condition(),
                site.journals()
            ));
        }
        longest = longest.max(took);
        let what = if changed { "put back" } else { "nothing was changed" };
        tell(&format!(
            "{number:3}: killed after {:.2} s: {what}, {} ms",
            after.as_secs_f64(),
            took.as_millis()
        ));
    }
    Ok(longest)
}
