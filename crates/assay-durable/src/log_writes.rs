//! What the device-mapper target log-writes keeps: every write, flush, discard and mark of a device, in the
//! order in which they came to lie on the medium.
//!
//! The format is that of `drivers/md/dm-log-writes.c` (version 1), which
//! `Documentation/admin-guide/device-mapper/log-writes.rst` describes: a head in the first sector of the log, then of
//! each entry a sector with its head and, of a write, the sectors that it wrote. Places and lengths count sectors of the
//! device, whose size the head of the log says. Numbers are little-endian.

use crate::cut::Landed;
use crate::log::{Log, SECTOR_BYTES, Write};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
/// Bytes of the head of the log, and of an entry.
const LOG_HEAD: usize = 28;
const ENTRY_HEAD: usize = 32;
/// Sectors that a device may have.
const SECTORS: std::ops::RangeInclusive<u32> = 512..=65_536;

/// What is moved at once.
const PIECE_BYTES: usize = 1 << 20;

const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// Reads bytes of a log from a place on.
pub trait ReadAt {
    /// # Errors
    /// Why not, such as the end.
    fn read_at(&mut self, at_bytes: u64, into: &mut [u8]) -> Result<(), String>;
}

impl ReadAt for &[u8] {
    fn read_at(&mut self, at_bytes: u64, into: &mut [u8]) -> Result<(), String> {
        let from = usize::try_from(at_bytes).ok();
        let own = from.and_then(|from| self.get(from..from.checked_add(into.len())?));
        into.copy_from_slice(own.ok_or("the log ends there")?);
        Ok(())
    }
}

/// Where the bytes of a write are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// In the log, from this byte on.
    At(u64),
    /// Nowhere: it was a discard, after which there may be anything, and zeros are taken.
    Discarded,
}

/// A mark that somebody set: which, and after how many steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub text: String,
    pub steps: usize,
}

/// What was logged, ready to be cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Its steps; sectors are of 512 bytes. A mark that begins with `promise` is a promise.
    pub log: Log,
    /// Where the bytes of each write are, by its number.
    pub bytes: Vec<Bytes>,
    pub marks: Vec<Mark>,
    /// Sectors that the device has at least.
    pub sectors: u64,
}

/// Takes bytes for a place of a device.
type Put<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

impl Recorded {
    /// Puts what landed into a device, in its order: `put` is handed the place and the bytes. Of a discard zeros.
    ///
    /// # Errors
    /// The log cannot be read, or `put` refused.
    pub fn rebuild(
        &self,
        landed: &[Landed],
        log: &mut dyn ReadAt,
        put: &mut Put<'_>,
    ) -> Result<(), String> {
        let mut piece = vec![0; PIECE_BYTES];
        for own in landed {
            let write = self.log.writes[own.write as usize];
            let skipped = u64::from(own.first) * SECTOR_BYTES;
            let to = write.at * SECTOR_BYTES + skipped;
            let length = u64::from(own.sectors) * SECTOR_BYTES;
            for done in (0..length).step_by(PIECE_BYTES) {
                let part = &mut piece[..(length - done).min(PIECE_BYTES as u64) as usize];
                match self.bytes[own.write as usize] {
                    Bytes::At(from) => log.read_at(from + skipped + done, part)?,
                    Bytes::Discarded => part.fill(0),
                }
                put(to + done, part)?;
            }
        }
        Ok(())
    }
}

/// What a mark begins with by which a program says that all before it was acknowledged.
pub const PROMISE: &str = "promise";

struct Entry {
    sector: u64,
    sectors: u64,
    flags: u64,
    data_bytes: u64,
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Reads a log.
///
/// # Errors
/// It is none, of another version, or damaged.
pub fn read(log: &mut dyn ReadAt) -> Result<Recorded, String> {
    let mut head = [0; LOG_HEAD];
    log.read_at(0, &mut head)?;
    if word(&head, 0) != MAGIC {
        return Err("this is no log of dm-log-writes".to_owned());
    }
    if word(&head, 8) != VERSION {
        return Err(format!("the log has version {}, and {VERSION} is known", word(&head, 8)));
    }
    let sector_bytes = head[24..].iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
    if !SECTORS.contains(&sector_bytes) || !sector_bytes.is_power_of_two() {
        return Err(format!("sectors of {sector_bytes} bytes are none"));
    }
    let mut own = Reader { sector_bytes: u64::from(sector_bytes), at: u64::from(sector_bytes) };
    let mut found = Recorded::default();
    for entry in 0..word(&head, 16) {
        let told = |error: String| format!("entry {} of the log: {error}", entry + 1);
        own.entry(log, &mut found).map_err(told)?;
    }
    Ok(found)
}

struct Reader {
    sector_bytes: u64,
    /// Where the next entry begins.
    at: u64,
}

impl Reader {
    fn entry(&mut self, log: &mut dyn ReadAt, found: &mut Recorded) -> Result<(), String> {
        let mut head = [0; ENTRY_HEAD];
        log.read_at(self.at, &mut head)?;
        let entry = Entry {
            sector: word(&head, 0),
            sectors: word(&head, 8),
            flags: word(&head, 16),
            data_bytes: word(&head, 24),
        };
        let data = self.at.checked_add(self.sector_bytes).ok_or("it lies beyond all numbers")?;
        if entry.flags & MARK != 0 {
            self.mark(&entry, log, found)?;
            self.at = data;
            return Ok(());
        }
        // A flush that comes with a write covers what was before it.
        if entry.flags & FLUSH != 0 {
            found.log.flush();
        }
        let is_discard = entry.flags & DISCARD != 0;
        let length = self.bytes(entry.sectors)?;
        if entry.sectors > 0 {
            let bytes = if is_discard { Bytes::Discarded } else { Bytes::At(data) };
            self.write(&entry, bytes, found)?;
        }
        let kept = if is_discard { 0 } else { length };
        self.at = data.checked_add(kept).ok_or("it lies beyond all numbers")?;
        Ok(())
    }

    fn bytes(&self, sectors: u64) -> Result<u64, String> {
        sectors.checked_mul(self.sector_bytes).ok_or_else(|| "it is too long".to_owned())
    }

    fn write(&self, entry: &Entry, bytes: Bytes, found: &mut Recorded) -> Result<(), String> {
        let at = self.bytes(entry.sector)? / SECTOR_BYTES;
        let sectors = u32::try_from(self.bytes(entry.sectors)? / SECTOR_BYTES)
            .map_err(|_| "it is too long".to_owned())?;
        let end = at.checked_add(u64::from(sectors)).ok_or("it ends beyond all numbers")?;
        found.log.write(Write { at, sectors, through: entry.flags & FUA != 0 });
        found.bytes.push(bytes);
        found.sectors = found.sectors.max(end);
        Ok(())
    }

    fn mark(
        &self,
        entry: &Entry,
        log: &mut dyn ReadAt,
        found: &mut Recorded,
    ) -> Result<(), String> {
        if entry.data_bytes > self.sector_bytes - ENTRY_HEAD as u64 {
            return Err("its mark is longer than its sector".to_owned());
        }
        let mut text = vec![0; entry.data_bytes as usize];
        log.read_at(self.at + ENTRY_HEAD as u64, &mut text)?;
        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
        if text.starts_with(PROMISE) {
            found.log.promise();
        }
        found.marks.push(Mark { text, steps: found.log.steps.len() });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Step;

    const SECTOR: usize = 512;

    /// A head as C writes `struct log_write_super`: three words and a half, then zeros.
    fn head(entries: u64, sector_bytes: u32) -> Vec<u8> {
        let mut own = vec![0x72, 0x68, 0x73, 0x77, 0x66, 0x73, 0x6a, 0x00];
        own.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        own.extend(entries.to_le_bytes());
        own.extend(sector_bytes.to_le_bytes());
        own.resize(sector_bytes as usize, 0);
        own
    }

    /// An entry as C writes `struct log_write_entry`, with what stands behind it in its sector.
    fn entry(words: [u64; 4], text: &[u8], sector_bytes: usize) -> Vec<u8> {
        let mut own: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        own.extend(text);
        own.resize(sector_bytes, 0);
        own
    }

    #[test]
    fn a_log_is_read_as_the_kernel_writes_it() {
        let mut bytes = head(6, 512);
        bytes.extend(entry([8, 2, 0, 0], b"", SECTOR));
        bytes.extend([0xaa; 2 * SECTOR]);
        bytes.extend(entry([0, 0, FLUSH, 0], b"", SECTOR));
        bytes.extend(entry([0, 0, MARK, 9], b"promise 1", SECTOR));
        bytes.extend(entry([100, 1, FUA, 0], b"", SECTOR));
        bytes.extend([0xbb; SECTOR]);
        bytes.extend(entry([200, 64, DISCARD, 0], b"", SECTOR));
        bytes.extend(entry([0, 0, MARK, 17], b"dm-log-writes-end", SECTOR));
        let own = read(&mut &bytes[..]).unwrap();
        assert_eq!(
            own.log.steps,
            [Step::Write(0), Step::Flush, Step::Promise(1), Step::Write(1), Step::Write(2)]
        );
        let write = |at, sectors, through| Write { at, sectors, through };
        let wanted = [write(8, 2, false), write(100, 1, true), write(200, 64, false)];
        assert_eq!(own.log.writes, wanted);
        assert_eq!(own.bytes, [Bytes::At(1024), Bytes::At(3584), Bytes::Discarded]);
        assert_eq!(bytes[3584], 0xbb);
        assert_eq!(own.sectors, 264);
        let marks: Vec<(&str, usize)> =
            own.marks.iter().map(|mark| (mark.text.as_str(), mark.steps)).collect();
        assert_eq!(marks, [("promise 1", 3), ("dm-log-writes-end", 5)]);
    }

    /// Every model and cut works on what a kernel logged.
    #[test]
    fn a_device_is_rebuilt_as_of_a_cut() {
        let mut bytes = head(5, 512);
        for (at, fill) in [(0, 1), (1, 2)] {
            bytes.extend(entry([at, 1, 0, 0], b"", SECTOR));
            bytes.extend([fill; SECTOR]);
        }
        bytes.extend(entry([0, 0, FLUSH, 0], b"", SECTOR));
        bytes.extend(entry([0, 2, 0, 0], b"", SECTOR));
        bytes.extend([3; 2 * SECTOR]);
        bytes.extend(entry([1, 1, DISCARD, 0], b"", SECTOR));
        let own = read(&mut &bytes[..]).unwrap();
        let device = |steps: usize, seed: u64| {
            let mut draws = assay_base::draws::Draws::new(seed, "test");
            let (landed, _) = crate::drive::Drive::Honest.after(&own.log, steps, 8, &mut draws);
            let mut device = vec![9; 2 * SECTOR];
            own.rebuild(&landed, &mut &bytes[..], &mut |at, part| {
                let at = at as usize;
                device[at..at + part.len()].copy_from_slice(part);
                Ok(())
            })
            .unwrap();
            [device[0], device[SECTOR]]
        };
        for seed in 0..40 {
            assert_eq!(device(3, seed), [1, 2], "all of it was flushed");
        }
        let later: std::collections::BTreeSet<[u8; 2]> =
            (0..200).map(|seed| device(5, seed)).collect();
        assert_eq!(later, [[1, 0], [1, 2], [3, 0], [3, 3]].into());
    }

    #[test]
    fn sectors_of_4_kib_count_eight_and_a_flush_before_a_write_comes_first() {
        let mut bytes = head(1, 4096);
        bytes.extend(entry([3, 1, FLUSH | FUA, 0], b"", 4096));
        bytes.extend([1; 4096]);
        let own = read(&mut &bytes[..]).unwrap();
        assert_eq!(own.log.steps, [Step::Flush, Step::Write(0)]);
        assert_eq!(own.log.writes, [Write { at: 24, sectors: 8, through: true }]);
        assert_eq!(own.bytes, [Bytes::At(8192)]);
    }

    #[test]
    fn what_is_no_log_is_told() {
        let told = |bytes: &[u8]| read(&mut &bytes[..]).unwrap_err();
        assert!(told(&[0; 512]).contains("no log of dm-log-writes"));
        assert!(told(&[0; 8]).contains("ends there"));
        let mut later = head(0, 512);
        later[8] = 2;
        assert!(told(&later).contains("version 2"));
        assert!(told(&head(0, 700)).contains("700 bytes"));
        assert!(told(&head(1, 512)).contains("entry 1"));
        let mut long = head(1, 512);
        long.extend(entry([0, 0, MARK, 481], b"", SECTOR));
        assert!(told(&long).contains("longer than its sector"));
        let mut far = head(1, 512);
        far.extend(entry([u64::MAX, 1, 0, 0], b"", SECTOR));
        assert!(told(&far).contains("too long"));
        assert_eq!(read(&mut &head(0, 512)[..]).unwrap(), Recorded::default());
    }
}
