//! Recorded loads on a loop device, and their replay.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::process::{Assay, Ended, Running};
use crate::{Done, LoopDevice, Mounted, call, has, patiently};

/// MiB of a device that a load is recorded on.
pub const MEBIBYTES: u64 = 256;
const LIMIT: Duration = Duration::from_secs(300);

/// Load during the recording of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Reads and writes of two sizes anywhere on the device, by fio.
    Mix,
    /// SQLite inserts rows one by one, each in a new process and transaction.
    Inserts,
    /// tar packs, unpacks and deletes a tree of small files.
    Tree,
}

impl Load {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mix => "fio-mix",
            Self::Inserts => "sqlite-inserts",
            Self::Tree => "tar-untar",
        }
    }

    pub fn missing(self) -> Option<String> {
        let programs: &[&str] = match self {
            Self::Mix => &["fio"],
            Self::Inserts => &["sqlite3", "mkfs.ext4"],
            Self::Tree => &["tar", "mkfs.ext4"],
        };
        let missing = programs.iter().find(|program| !has(program))?;
        Some(format!("needs the program {missing}"))
    }

    /// Records so many seconds of it under its name, and leaves an unused device.
    pub fn record(self, assay: &Assay, device: &LoopDevice, seconds: u64) -> Done<Value> {
        let site = self.begin(device, assay.home())?;
        let recorded = record(assay, device, seconds, self.name(), site)?;
        let to = format!("of={}", device.device());
        // The whole device, because superblock copies are far behind the first one.
        let count = format!("count={MEBIBYTES}");
        call("dd", &["if=/dev/zero", &to, "bs=1M", &count, "conv=fsync,notrunc"])?;
        device.wait_until_free()?;
        Ok(recorded)
    }

    fn begin(self, device: &LoopDevice, scratch: &Path) -> Done<Site> {
        let path = device.device();
        if self == Self::Mix {
            let words = format!(
                "exec fio --name=mix --filename={path} --rw=randrw --rwmixread=70 --bssplit=4k/60:16k/40 \
                 --ioengine=libaio --iodepth=4 --direct=1 --rate_iops=200,80 --time_based --runtime=300 --thread"
            );
            return Ok(Site { work: shell(&words)?, _mount: None });
        }
        patiently("mkfs.ext4", &["-q", "-F", "-m", "0", "-E", NOT_LATER, path])?;
        let mount = Mounted::new(&[path], &scratch.join("mnt"))?;
        let point = mount.point().display().to_string();
        let words = if self == Self::Inserts {
            format!(
                "while :; do sqlite3 {point}/rows.db 'create table if not exists rows(a, b); \
                 insert into rows values(random(), hex(randomblob(300)))'; done"
            )
        } else {
            // The source tree is on another device: the recording shows unpacking and repacking only.
            let beside = scratch.join("tree");
            let beside = beside.display();
            let make = format!(
                "mkdir -p {beside}/t && cd {beside}/t && for d in 1 2 3 4 5 6 7 8; do mkdir -p $d; \
                 for f in 1 2 3 4 5 6 7 8 9; do head -c $((d * f * 900)) /dev/zero >$d/$f; done; done"
            );
            call("sh", &["-c", &make])?;
            format!(
                "while :; do tar -C {beside} -cf {point}/t.tar t; tar -C {point} -xf {point}/t.tar; sync -f {point}; \
                 rm -r {point}/t; sync -f {point}; sleep 0.1; done"
            )
        };
        Ok(Site { work: shell(&words)?, _mount: Some(mount) })
    }
}

/// Initializes everything at once, so that only the load writes.
const NOT_LATER: &str = "lazy_itable_init=0,lazy_journal_init=0";

/// The load and its file system; the load ends first.
struct Site {
    work: Running,
    _mount: Option<Mounted>,
}

fn shell(words: &str) -> Done<Running> {
    Running::start(Command::new("sh").args(["-c", words]))
}

/// Records the requests of a shell command to a device.
pub fn record_line(
    assay: &Assay,
    device: &LoopDevice,
    seconds: u64,
    (name, line): (&str, &str),
) -> Done<Value> {
    record(assay, device, seconds, name, Site { work: shell(line)?, _mount: None })
}

fn record(
    assay: &Assay,
    device: &LoopDevice,
    seconds: u64,
    name: &str,
    mut site: Site,
) -> Done<Value> {
    let time = format!("{seconds}s");
    let words = ["watch", device.name(), "--duration", &time, "--quiet", "--record-trace", name];
    let seen = assay.run(&words, LIMIT)?;
    if site.work.has_ended() {
        return Err(format!("{name} ended while it was recorded: {}", seen.stderr));
    }
    drop(site);
    if seen.code != 0 {
        return Err(format!("{name} was not recorded: {}", seen.stderr));
    }
    let shown = assay.run(&["show", name, "--json"], LIMIT)?.json()?;
    Ok(shown["trace"][0]["recorded"].clone())
}

pub fn play(assay: &Assay, study: &Path, devices: &[&LoopDevice], mebibytes: u64) -> Done<Ended> {
    let study = study.display().to_string();
    let mut words = vec!["run".to_owned(), study, "--json".to_owned(), "--quiet".to_owned()];
    for device in devices {
        let id = format!("{}:{mebibytes}MiB", device.name());
        words.extend([device.device().to_owned(), "--destroy".to_owned(), id]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assay.run(&words, LIMIT)
}
