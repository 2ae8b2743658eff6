//! A device with a false size: a loop device over the only file of a FUSE file system that stores less than it claims.
//!
//! The server implements the kernel's protocol (`include/uapi/linux/fuse.h`): one directory, one file, uncached reads
//! and writes. It stores blocks in memory, so a file of a terabyte takes only the written space.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::{Done, LoopDevice, Scratch};

/// Behavior beyond the stored size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Honest: stores everything it claims.
    None,
    /// Wraps around to its beginning.
    Wraps,
    /// Drops writes: reads return the old data.
    Drops,
    /// Writes are taken, and zeros are read.
    Zeroes,
    /// Retains the first write to a block and drops later ones.
    Keeps,
}

#[derive(Clone, Copy, Debug)]
pub struct Character {
    pub claimed: u64,
    /// Bytes that it has: whole sectors.
    pub held: u64,
    pub lie: Lie,
    /// Bytes of fast writes, and the delay per MiB after them.
    pub slow_after: Option<(u64, Duration)>,
    /// Idle time after which the fast writes are available again.
    pub rests: Option<Duration>,
}

impl Character {
    /// A device that claims `claimed` and stores `held` bytes.
    pub const fn new(claimed: u64, held: u64, lie: Lie) -> Self {
        Self { claimed, held, lie, slow_after: None, rests: None }
    }
}

const SECTOR: usize = 512;
const NODE: u64 = 2;
const NAME: &[u8] = b"card";
const MOST_WRITE: usize = 1 << 20;

mod code {
    pub const LOOKUP: u32 = 1;
    pub const FORGET: u32 = 2;
    pub const GETATTR: u32 = 3;
    pub const SETATTR: u32 = 4;
    pub const OPEN: u32 = 14;
    pub const READ: u32 = 15;
    pub const WRITE: u32 = 16;
    pub const STATFS: u32 = 17;
    pub const RELEASE: u32 = 18;
    pub const FSYNC: u32 = 20;
    pub const FLUSH: u32 = 25;
    pub const INIT: u32 = 26;
    pub const OPENDIR: u32 = 27;
    pub const RELEASEDIR: u32 = 29;
    pub const BATCH_FORGET: u32 = 42;
}

const NOT_THERE: i32 = -2;
const NOT_DONE_HERE: i32 = -38;
/// Past the page cache, each read and write for itself.
const DIRECT_IO: u32 = 1;

/// Sectors by number; unwritten ones are noise, as on a used card.
struct Card {
    character: Character,
    sectors: HashMap<u64, [u8; SECTOR]>,
    written: Arc<AtomicU64>,
    /// Bytes since its cache was empty, and the time of the last write.
    cached: (u64, Instant),
}

impl Card {
    fn new(character: Character, written: Arc<AtomicU64>) -> Self {
        Self { character, sectors: HashMap::new(), written, cached: (0, Instant::now()) }
    }

    /// Physical sector of an address; `None` if there is none.
    fn place(&self, sector: u64) -> Option<u64> {
        let held = self.character.held / SECTOR as u64;
        match self.character.lie {
            Lie::None | Lie::Keeps => Some(sector),
            _ if sector < held => Some(sector),
            Lie::Wraps => Some(sector % held),
            Lie::Drops | Lie::Zeroes => None,
        }
    }

    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let end = (offset + length as u64).min(self.character.claimed);
        let first = offset / SECTOR as u64;
        let sectors = first..end.div_ceil(SECTOR as u64).max(first);
        let bytes: Vec<u8> = sectors.flat_map(|sector| self.sector(sector)).collect();
        let from = (offset - first * SECTOR as u64) as usize;
        let to = from + end.saturating_sub(offset) as usize;
        bytes.get(from..to).unwrap_or_default().to_vec()
    }

    fn sector(&self, sector: u64) -> [u8; SECTOR] {
        let found = self.place(sector).map(|place| self.sectors.get(&place));
        match found {
            Some(Some(bytes)) => *bytes,
            None if self.character.lie == Lie::Zeroes => [0; SECTOR],
            _ => noise(sector),
        }
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let held = self.character.held / SECTOR as u64;
        // A loop device writes whole sectors.
        for (index, sector) in bytes.chunks_exact(SECTOR).enumerate() {
            let number = offset / SECTOR as u64 + index as u64;
            if let Some(place) = self.place(number) {
                let mut own = [0; SECTOR];
                own.copy_from_slice(sector);
                if self.character.lie != Lie::Keeps || place < held {
                    self.sectors.insert(place, own);
                } else {
                    self.sectors.entry(place).or_insert(own);
                }
            }
        }
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let (before, last) = self.cached;
        let rested = self.character.rests.is_some_and(|rest| last.elapsed() >= rest);
        let before = if rested { 0 } else { before };
        if let Some((fast, cost)) = self.character.slow_after
            && before >= fast
        {
            std::thread::sleep(cost.mul_f64(bytes.len() as f64 / f64::from(1 << 20)));
        }
        self.cached = (before + bytes.len() as u64, Instant::now());
    }
}

/// Old data of a sector.
fn noise(sector: u64) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    for (index, chunk) in bytes.chunks_exact_mut(8).enumerate() {
        let word = (sector * 64 + index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        chunk.copy_from_slice(&(word ^ word >> 29).to_le_bytes());
    }
    bytes
}

struct Request<'a> {
    code: u32,
    unique: u64,
    node: u64,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let code = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
        Some(Self { code, unique: number(8)?, node: number(16)?, body: bytes.get(40..)? })
    }

    fn u32(&self, at: usize) -> u32 {
        let own = self.body.get(at..at + 4).and_then(|own| own.try_into().ok());
        own.map_or(0, u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> u64 {
        let own = self.body.get(at..at + 8).and_then(|own| own.try_into().ok());
        own.map_or(0, u64::from_le_bytes)
    }
}

/// `struct fuse_attr` of the directory or of the file.
fn attributes(node: u64, size: u64) -> Vec<u8> {
    let (size, mode) = if node == NODE { (size, 0o100_600) } else { (0, 0o040_700) };
    let mut bytes = [node, size, size.div_ceil(512), 0, 0, 0].map(u64::to_le_bytes).concat();
    // Nanoseconds of three times, mode, links, owner, group, device, block size, flags.
    bytes.extend([0, 0, 0, mode, 1, 0, 0, 0, 4096, 0].map(u32::to_le_bytes).concat());
    bytes
}

/// The answer to a request: its body, or an error; `None` if the kernel expects none.
fn answer(card: &mut Card, request: &Request<'_>) -> Option<Result<Vec<u8>, i32>> {
    let size = card.character.claimed;
    Some(match request.code {
        code::FORGET | code::BATCH_FORGET => return None,
        code::INIT => {
            // Version 7.31, readahead, flags, requests in the background, write size, granularity of times.
            let mut body = [7, 31, 0, 0].map(u32::to_le_bytes).concat();
            body.extend([16, 12].map(u16::to_le_bytes).concat());
            body.extend([MOST_WRITE as u32, 1].map(u32::to_le_bytes).concat());
            body.resize(64, 0);
            Ok(body)
        }
        code::LOOKUP if request.body.split(|byte| *byte == 0).next() == Some(NAME) => {
            let mut body = [NODE, 0, 3600, 3600, 0].map(u64::to_le_bytes).concat();
            body.extend(attributes(NODE, size));
            Ok(body)
        }
        code::LOOKUP => Err(NOT_THERE),
        code::GETATTR | code::SETATTR => {
            let mut body = [3600, 0].map(u64::to_le_bytes).concat();
            body.extend(attributes(request.node, size));
            Ok(body)
        }
        code::OPEN | code::OPENDIR => Ok([0, 0, DIRECT_IO, 0].map(u32::to_le_bytes).concat()),
        code::READ => Ok(card.read(request.u64(8), request.u32(16) as usize)),
        code::WRITE => {
            let length = request.u32(16) as usize;
            let bytes = request.body.get(40..40 + length).unwrap_or_default();
            card.write(request.u64(8), bytes);
            Ok([bytes.len() as u32, 0].map(u32::to_le_bytes).concat())
        }
        code::STATFS => Ok(vec![0; 80]),
        code::RELEASE | code::RELEASEDIR | code::FSYNC | code::FLUSH => Ok(Vec::new()),
        _ => Err(NOT_DONE_HERE),
    })
}

fn serve(mut kernel: File, mut card: Card) {
    let mut bytes = vec![0; MOST_WRITE + 8192];
    loop {
        let length = match kernel.read(&mut bytes) {
            Ok(length) => length,
            // An aborted request, or a signal.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 4)) => continue,
            Err(_) => return,
        };
        let Some(request) = Request::of(&bytes[..length]) else { return };
        let Some(answer) = answer(&mut card, &request) else { continue };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(error) => (error, Vec::new()),
        };
        let mut told = ((16 + body.len()) as u32).to_le_bytes().to_vec();
        told.extend(error.to_le_bytes());
        told.extend(request.unique.to_le_bytes());
        told.extend(body);
        // The requester may have ended.
        let _ = kernel.write_all(&told);
    }
}

/// A loop device over a file with a false size; removed on drop.
#[derive(Debug)]
pub struct Liar {
    device: Option<LoopDevice>,
    point: PathBuf,
    server: Option<JoinHandle<()>>,
    written: Arc<AtomicU64>,
    scratch: Scratch,
}

impl Liar {
    /// Returns the requirement that this machine lacks; `None` if there is none.
    pub fn missing() -> Option<String> {
        let opened = File::options().read(true).write(true).open("/dev/fuse");
        opened.err().map(|error| format!("/dev/fuse: {error}"))
    }

    /// Creates one with direct I/O.
    pub fn new(character: Character) -> Done<Self> {
        Self::on(character, LoopDevice::over)
    }

    /// Creates one whose loop device uses the page cache.
    pub fn buffered(character: Character) -> Done<Self> {
        Self::on(character, LoopDevice::buffered)
    }

    fn on(character: Character, device: fn(PathBuf) -> Done<LoopDevice>) -> Done<Self> {
        let scratch = Scratch::new("liar")?;
        let point = scratch.path().join("card");
        let fail = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
        fs::create_dir(&point).map_err(fail("a directory"))?;
        let kernel = File::options().read(true).write(true).open("/dev/fuse");
        let kernel = kernel.map_err(fail("/dev/fuse"))?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0\0", kernel.as_raw_fd());
        let options = std::ffi::CString::from_vec_with_nul(options.into_bytes())
            .map_err(|error| error.to_string())?;
        mount("assay-lab", &point, "fuse", MountFlags::empty(), options.as_c_str())
            .map_err(|error| format!("mount: {error}"))?;
        let written = Arc::new(AtomicU64::new(0));
        let card = Card::new(character, Arc::clone(&written));
        let server = std::thread::spawn(move || serve(kernel, card));
        let mut own = Self { device: None, point, server: Some(server), written, scratch };
        own.device = Some(device(own.point.join("card"))?);
        Ok(own)
    }

    pub fn device(&self) -> Done<&LoopDevice> {
        self.device.as_ref().ok_or_else(|| "there is no device yet".to_owned())
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        // Its file is open as long as the loop device is there.
        drop(self.device.take());
        for _ in 0..50 {
            if unmount(&self.point, UnmountFlags::empty()).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = unmount(&self.point, UnmountFlags::DETACH);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(lie: Lie) -> Card {
        let character = Character::new(16 * 512, 8 * 512, lie);
        Card::new(character, Arc::new(AtomicU64::new(0)))
    }

    /// Content of a sector after writes of ones and then twos.
    fn twice(lie: Lie, sector: u64) -> u8 {
        let mut card = card(lie);
        for byte in [1, 2] {
            card.write(sector * 512, &[byte; SECTOR]);
        }
        card.read(sector * 512, SECTOR)[0]
    }

    #[test]
    fn a_card_does_what_its_character_says() {
        for lie in [Lie::None, Lie::Wraps, Lie::Drops, Lie::Zeroes, Lie::Keeps] {
            assert_eq!(twice(lie, 7), 2, "{lie:?} below what it holds");
        }
        let beyond = [Lie::None, Lie::Wraps, Lie::Drops, Lie::Zeroes, Lie::Keeps];
        let first = noise(12)[0];
        assert_eq!(beyond.map(|lie| twice(lie, 12)), [2, 2, first, 0, 1]);
        let mut wraps = card(Lie::Wraps);
        wraps.write(12 * 512, &[9; SECTOR]);
        assert_eq!(wraps.read(4 * 512, SECTOR)[0], 9);
    }
}
