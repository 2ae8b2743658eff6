//! A degraded device or machine: throttled by a control group, shared with busy neighbors, frozen repeatedly.

use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::{Done, Mounted, Scratch, call};

/// The lane; removed when dropped (its processes must have ended).
#[derive(Debug)]
pub struct SlowLane {
    group: PathBuf,
    // Dropped after the group is removed.
    _mount: Option<Mounted>,
    _scratch: Option<Scratch>,
}

impl SlowLane {
    /// A lane in which the device with this number takes `writes` writes a second (control groups 1).
    pub fn new(number: &str, writes: u32) -> Done<Self> {
        Self::limited(number, "write_iops_device", writes)
    }

    /// A lane with another limit: `read_iops_device`, `read_bps_device`, ...
    pub fn limited(number: &str, what: &str, per_second: u32) -> Done<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (root, mount, scratch) = controller()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let group = root.join(format!("assay-lab-{}-{count}", std::process::id()));
        fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        let lane = Self { group, _mount: mount, _scratch: scratch };
        let limit = lane.group.join(format!("blkio.throttle.{what}"));
        fs::write(&limit, format!("{number} {per_second}"))
            .map_err(|error| format!("blkio throttling: {error}"))?;
        Ok(lane)
    }

    /// The file of a limit: `read_bps_device`, ...
    pub fn limit(&self, what: &str) -> PathBuf {
        self.group.join(format!("blkio.throttle.{what}"))
    }

    /// The words that start a program in the lane.
    pub fn through(&self) -> Vec<String> {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.group.display());
        ["sh", "-c", &enter, "sh"].map(str::to_owned).to_vec()
    }
}

impl Drop for SlowLane {
    fn drop(&mut self) {
        let group = self.group.display().to_string();
        crate::insist("rmdir", &[&group]);
    }
}

type Controller = (PathBuf, Option<Mounted>, Option<Scratch>);

fn controller() -> Done<Controller> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let there = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_it = words.get(2) == Some(&"cgroup")
            && words.get(3).is_some_and(|options| options.split(',').any(|word| word == "blkio"));
        // A lane of another test is removed with that test.
        let is_it = is_it && !words[1].contains("/assay-lab-");
        is_it.then(|| PathBuf::from(words[1]))
    });
    if let Some(root) = there {
        return throttles(&root).map(|()| (root, None, None));
    }
    let scratch = Scratch::new("blkio")?;
    let point = scratch.path().join("blkio");
    let mount = Mounted::new(&["-t", "cgroup", "-o", "blkio", "none"], &point)
        .map_err(|error| format!("no blkio control group of version 1: {error}"))?;
    throttles(&point)?;
    Ok((point, Some(mount), Some(scratch)))
}

fn throttles(root: &Path) -> Done<()> {
    let file = root.join("blkio.throttle.write_iops_device");
    if file.exists() { Ok(()) } else { Err("the kernel has no blkio throttling".to_owned()) }
}

/// Shortest and longest possible duration of a stall: on busy CPUs each call takes time.
#[derive(Clone, Copy, Debug)]
pub struct Standstill {
    pub least: Duration,
    pub most: Duration,
}

impl Standstill {
    /// Freezes the file system of this directory once, after a delay, for a time.
    pub fn of(directory: &Path, after: Duration, frozen: Duration) -> Done<Self> {
        let directory = directory.display().to_string();
        let _thaw = ThawAtEnd::of(&directory)?;
        thread::sleep(after);
        let freezing = Instant::now();
        call("fsfreeze", &["--freeze", &directory])?;
        let still = Instant::now();
        thread::sleep(frozen);
        let least = still.elapsed();
        crate::insist("fsfreeze", &["--unfreeze", &directory]);
        Ok(Self { least, most: freezing.elapsed() })
    }

    /// Bounds of the p99 of the response, in seconds: the slowest hundredth meant to start in the standstill.
    pub fn p99_s(self, rate_per_s: u64, seconds: u64) -> [f64; 2] {
        let slowest = (rate_per_s * seconds) as f64 / 100.0;
        [self.least, self.most].map(|time| time.as_secs_f64() - slowest / rate_per_s as f64)
    }
}

/// A process that thaws a file system when dropped, and also when the thread that started it is killed. The end of its
/// input would not suffice: a killed process keeps its pipes as long as a thread of it waits for the file system.
#[derive(Debug)]
struct ThawAtEnd(Child);

impl ThawAtEnd {
    fn of(directory: &str) -> Done<Self> {
        let script =
            "thaw() { fsfreeze --unfreeze \"$0\"; exit; }; trap thaw TERM; read -r _; thaw";
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "sh", "-c", script, directory]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        command.spawn().map(Self).map_err(|error| format!("setpriv: {error}"))
    }
}

impl Drop for ThawAtEnd {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Background activity during a measurement, in threads of the test process, until dropped.
#[derive(Debug)]
pub struct Neighbour {
    stop: Arc<AtomicBool>,
    work: Vec<JoinHandle<()>>,
}

impl Neighbour {
    /// Repeats some work in so many threads until it fails.
    fn repeating(count: usize, work: impl Fn() -> bool + Clone + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let begin = |_| {
            let (work, stop) = (work.clone(), Arc::clone(&stop));
            thread::spawn(move || while !stop.load(Ordering::Relaxed) && work() {})
        };
        let work = (0..count).map(begin).collect();
        Self { stop, work }
    }

    /// Writes 4 MiB to this file and syncs it, again and again.
    pub fn writing(file: &Path) -> Done<Self> {
        let told = |error| format!("{}: {error}", file.display());
        let file = Arc::new(fs::File::create(file).map_err(told)?);
        let bytes = vec![0x5a; 4 << 20];
        let write = move || file.write_all_at(&bytes, 0).and_then(|()| file.sync_data()).is_ok();
        Ok(Self::repeating(1, write))
    }

    /// Reads this device past the page cache, from its beginning to its end, again and again.
    pub fn reading(device: &str) -> Self {
        let input = format!("if={device}");
        Self::repeating(1, move || {
            let words = [&*input, "of=/dev/null", "bs=1M", "iflag=direct", "status=none"];
            call("dd", &words).is_ok()
        })
    }

    pub fn computing(threads: usize) -> Self {
        Self::repeating(threads, || {
            std::hint::spin_loop();
            true
        })
    }

    /// Freezes the file system of this directory for `frozen`, again and again, `between` apart.
    pub fn freezing(directory: &Path, frozen: Duration, between: Duration) -> Self {
        let directory = directory.display().to_string();
        let thaw = Arc::new(ThawAtEnd::of(&directory));
        Self::repeating(1, move || {
            thread::sleep(between);
            let is_frozen = thaw.is_ok() && call("fsfreeze", &["--freeze", &directory]).is_ok();
            if is_frozen {
                thread::sleep(frozen);
                crate::insist("fsfreeze", &["--unfreeze", &directory]);
            }
            is_frozen
        })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for work in self.work.drain(..) {
            // One only ends early when it was refused, and then did not disturb.
            let _ = work.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_stood_still_the_first_tenth_of_a_second_is_the_slowest_hundredth() {
        let frozen =
            Standstill { least: Duration::from_secs(2), most: Duration::from_millis(2100) };
        let [least, most] = frozen.p99_s(500, 10);
        assert!((least - 1.9).abs() < 1e-9 && (most - 2.0).abs() < 1e-9, "{least} {most}");
    }
}
