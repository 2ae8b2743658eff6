//! A device made worse: throttled by a control group, or shared with a busy neighbour.

use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::{Done, Mounted, Scratch};

/// The lane; removed when dropped (its processes must have ended).
#[derive(Debug)]
pub struct SlowLane {
    group: PathBuf,
    // Dropped after the group is removed.
    _mount: Option<Mounted>,
    _scratch: Option<Scratch>,
}

impl SlowLane {
    /// A lane in which the device with this number takes `writes` writes a second (blkio of
    /// control groups version 1). The error says why there is none here.
    pub fn new(number: &str, writes: u32) -> Done<Self> {
        Self::limited(number, "write_iops_device", writes)
    }

    /// A lane with another limit: `read_iops_device`, `read_bps_device`, ...
    pub fn limited(number: &str, what: &str, per_second: u32) -> Done<Self> {
        let (root, mount, scratch) = controller()?;
        let group = root.join(format!("assay-lab-{}", std::process::id()));
        fs::create_dir(&group).map_err(|error| format!("{}: {error}", group.display()))?;
        let lane = Self { group, _mount: mount, _scratch: scratch };
        let limit = lane.group.join(format!("blkio.throttle.{what}"));
        fs::write(&limit, format!("{number} {per_second}"))
            .map_err(|error| format!("blkio throttling: {error}"))?;
        Ok(lane)
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

/// Another process at work on a device: writes to a file and syncs it, again and again, until
/// dropped. (The process is the one that runs the tests.)
#[derive(Debug)]
pub struct Neighbour {
    stop: Arc<AtomicBool>,
    work: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Starts to write 4 MiB at a time to this file.
    pub fn writing(file: &Path) -> Done<Self> {
        let mut file =
            fs::File::create(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let work = thread::spawn(move || {
            let bytes = vec![0x5a; 4 << 20];
            while !seen.load(Ordering::Relaxed) {
                let again = file.rewind().and_then(|()| file.write_all(&bytes));
                if again.and_then(|()| file.sync_data()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { stop, work: Some(work) })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(work) = self.work.take() {
            // It only ends early when the file could not be written, and then did not disturb.
            let _ = work.join();
        }
    }
}
