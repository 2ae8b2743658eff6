//! Content that compresses like the user's files: compresses samples of them in memory, and states the ratio in the
//! study. Never writes or keeps a file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::output;
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::system::{Caching, FileKind, System};

/// Prefix of a directory whose files a level of `compressibility` imitates.
const PREFIX: &str = "like:";
/// Unit of compressing filesystems.
const PIECE: usize = 128 << 10;
/// Allocation unit, in bytes.
const BLOCK: u64 = 4096;
/// Maximum number of samples, evenly spaced over all bytes: 32 MiB.
const PIECES: u64 = 256;
const MOST_LOOKED: usize = 50_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ContentSample {
    files: usize,
    bytes: u64,
    /// Compressed bytes, in complete blocks.
    left: u64,
}

impl ContentSample {
    fn saved_percent(self) -> u64 {
        100 - (100 * self.left).div_ceil(self.bytes.max(1)).min(100)
    }
}

/// Replaces `like:DIR` by the compressibility of its files, and keeps other levels. Fails without readable files.
pub fn compressibility(system: &dyn System, level: &str) -> Outcome<String> {
    let Some(directory) = level.strip_prefix(PREFIX) else { return Ok(level.to_owned()) };
    let sample = sample(system, directory)?;
    let percent = sample.saved_percent();
    output::message(&format!(
        "{level}: compressing {} of the {} files saves {percent}%",
        show::bytes(sample.bytes),
        show::count(sample.files as u64)
    ));
    Ok(format!("{percent}%"))
}

/// Compresses pieces at equal distances in all files below a directory.
fn sample(system: &dyn System, directory: &str) -> Outcome<ContentSample> {
    let wrong = |why: &dyn std::fmt::Display| mistake!("{PREFIX}{directory}: {why}");
    let path = system.canonical(Path::new(directory)).map_err(|error| wrong(&error))?;
    let files = files_below(system, &path);
    let total_bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    if total_bytes == 0 {
        return Err(wrong(&"no readable file with content; give a directory with files"));
    }
    let pieces = total_bytes.div_ceil(PIECE as u64).min(PIECES);
    let mut sample = ContentSample { files: files.len(), ..ContentSample::default() };
    let mut buffer = vec![0; PIECE];
    // The files in sequence count as one; `before_bytes` are those before the file at `index`.
    let (mut index, mut before_bytes) = (0, 0);
    for piece in 0..pieces {
        // The middle of each of `pieces` equal parts: (piece + 1/2) / pieces of all bytes.
        let position = (u128::from(total_bytes) * (2 * u128::from(piece) + 1)
            / (2 * u128::from(pieces))) as u64;
        // Skips the files before this position, and reads the compressed unit that contains it.
        while position >= before_bytes + files[index].1 {
            before_bytes += files[index].1;
            index += 1;
        }
        let offset = (position - before_bytes) / PIECE as u64 * PIECE as u64;
        let read = read(system, &files[index].0, offset, &mut buffer);
        if let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) {
            sample.bytes += bytes.len() as u64;
            sample.left += compressed_bytes(bytes);
        }
    }
    if sample.bytes == 0 {
        return Err(wrong(&"this user cannot read any file in the directory"));
    }
    Ok(sample)
}

/// Returns regular files of the same filesystem with their sizes, without following links.
fn files_below(system: &dyn System, root: &Path) -> Vec<(PathBuf, u64)> {
    let device = system.status(root).ok().map(|status| status.device);
    let (mut files, mut waiting, mut visited) = (Vec::new(), vec![root.to_owned()], 0);
    while visited < MOST_LOOKED
        && let Some(path) = waiting.pop()
    {
        visited += 1;
        if path != root && system.read_link(&path).is_ok() {
            continue;
        }
        let Ok(status) = system.status(&path) else { continue };
        match status.kind {
            FileKind::Directory if Some(status.device) == device => {
                let names = system.list(&path).unwrap_or_default();
                waiting.extend(names.into_iter().rev().map(|name| path.join(name)));
            }
            FileKind::File if status.size_bytes > 0 => files.push((path, status.size_bytes)),
            _ => {}
        }
    }
    files
}

/// Reads a file from an offset; returns 0 if it cannot be read.
fn read(system: &dyn System, path: &Path, offset: u64, into: &mut [u8]) -> usize {
    let opened = system.open_for_reading(path, Caching::Buffered);
    opened.and_then(|file| system.read_at(&file, offset, into)).unwrap_or(0)
}

/// Returns the compressed size of a sample in complete blocks, at most its size.
fn compressed_bytes(bytes: &[u8]) -> u64 {
    let whole_blocks = (bytes.len() as u64).next_multiple_of(BLOCK);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let packed = written.map_or(whole_blocks, |packed| packed.len() as u64);
    // Savings below a block do not count.
    packed.next_multiple_of(BLOCK).min(whole_blocks).min(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;

    fn like_home(fake: &Fake) -> Outcome<String> {
        compressibility(fake, "like:/home/me")
    }

    fn percent(fake: &Fake) -> u32 {
        like_home(fake).unwrap().strip_suffix('%').unwrap().parse().unwrap()
    }

    fn scrambled(length: usize) -> String {
        let mut state = 9_u64;
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(33 + (state >> 33) as u8 % 94)
        };
        (0..length).map(|_| letter()).collect()
    }

    #[test]
    fn content_compresses_as_the_files_do() {
        let fake = Fake::new();
        fake.put("/home/me/a.txt", "all the same ".repeat(40_000));
        assert!(percent(&fake) > 90, "{}", percent(&fake));
        // The same amount of incompressible data reduces it to about half.
        fake.put("/home/me/below/b.bin", scrambled(520_000));
        assert!((40..=65).contains(&percent(&fake)), "{}", percent(&fake));
        assert_eq!(compressibility(&fake, "30%").unwrap(), "30%");
    }

    #[test]
    fn links_are_not_followed_and_a_directory_without_files_is_refused() {
        let fake =
            Fake::recorded("dir /home/me\nlink /home/me/out /etc/passwd\nfile /etc/passwd x\n");
        let told = like_home(&fake.unwrap()).unwrap_err().message;
        assert!(told.starts_with("like:/home/me: no readable file"), "{told}");
    }

    #[test]
    fn what_does_not_pack_takes_what_it_has() {
        assert_eq!(compressed_bytes(&vec![7; 64 << 10]), BLOCK);
        assert_eq!(compressed_bytes(b"short"), 5);
        let sample = ContentSample { files: 1, bytes: 1000, left: 1000 };
        assert_eq!(sample.saved_percent(), 0);
        assert_eq!(ContentSample { left: 1, ..sample }.saved_percent(), 99);
    }
}
