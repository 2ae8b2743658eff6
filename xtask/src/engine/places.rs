//! Where the sides of `bench-engine` meet: each place is of our own, and taken down when it is dropped.

use std::any::Any;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, LoopDevice, Scratch, call};

/// All of them, with what they are.
pub const PLACES: [(&str, &str); 4] = [
    ("ext4", "a file on ext4 on a loop device on the drive with the temporary directory"),
    ("loop", "a loop device on a file in memory (if it fits), with direct I/O"),
    ("zram", "a zram device with incompressible data"),
    ("tmpfs", "a file on tmpfs"),
];

pub const FILE_BYTES: u64 = 256 << 20;

const ADD: &str = "/sys/class/zram-control/hot_add";
const REMOVE: &str = "/sys/class/zram-control/hot_remove";

/// A file or device that is full of written bytes.
pub struct Place {
    pub file: PathBuf,
    /// What it lies on.
    _kept: Box<dyn Any>,
}

impl Place {
    /// Makes and fills it; the error says why there is none.
    pub fn new(name: &str) -> Done<Self> {
        let mebibytes = FILE_BYTES >> 20;
        let (file, kept): (PathBuf, Box<dyn Any>) = match name {
            "ext4" => in_volume(Volume::on_drive(Filesystem::Ext4, 4 * mebibytes)?),
            "tmpfs" => in_volume(Volume::new(Filesystem::Tmpfs, mebibytes + mebibytes / 4)?),
            "loop" => {
                let scratch = Scratch::new("bench-engine")?;
                let device = LoopDevice::new(scratch.path().join("image"), mebibytes)?;
                // Dropped in this order.
                (device.device().into(), Box::new((device, scratch)))
            }
            "zram" => {
                let device = Zram::new(FILE_BYTES)?;
                (format!("/dev/zram{}", device.number).into(), Box::new(device))
            }
            other => return Err(format!("unknown place `{other}`")),
        };
        written(&file)?;
        let place = Self { file, _kept: kept };
        place.open().map(|_| place)
    }

    /// As the ring test opens it: past the page cache, without times of access.
    pub fn open(&self) -> Done<fs::File> {
        let flags = rustix::fs::OFlags::DIRECT | rustix::fs::OFlags::NOATIME;
        let file =
            OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&self.file);
        file.map_err(|error| format!("{}: {error}", self.file.display()))
    }
}

/// Fills a file or a device with random bytes: blocks that were never written are answered from memory.
fn written(path: &Path) -> Done<()> {
    let fill = || -> io::Result<()> {
        let mut file = File::create(path)?;
        io::copy(&mut File::open("/dev/urandom")?.take(FILE_BYTES), &mut file)?;
        file.sync_all()
    };
    fill().map_err(|error| format!("{}: {error}", path.display()))
}

fn in_volume(volume: Volume) -> (PathBuf, Box<dyn Any>) {
    (volume.directory().join("both"), Box::new(volume))
}

struct Zram {
    number: String,
}

impl Zram {
    fn new(bytes: u64) -> Done<Self> {
        let _ = call("modprobe", &["--quiet", "zram"]);
        let number = fs::read_to_string(ADD).map_err(|error| format!("{ADD}: {error}"))?;
        let own = Self { number: number.trim().to_owned() };
        own.set("disksize", &bytes.to_string())?;
        Ok(own)
    }

    fn set(&self, name: &str, text: &str) -> Done<()> {
        let path = format!("/sys/block/zram{}/{name}", self.number);
        fs::write(&path, text).map_err(|error| format!("{path}: {error}"))
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let reset = self.set("reset", "1");
        let removed = fs::write(REMOVE, &self.number).map_err(|error| format!("{REMOVE}: {error}"));
        if let Err(why) = reset.and(removed) {
            println!("zram{} remains: {why}", self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_not_known_is_told() {
        let told = Place::new("floppy").map(|place| place.file);
        assert_eq!(told, Err("unknown place `floppy`".to_owned()));
    }
}
