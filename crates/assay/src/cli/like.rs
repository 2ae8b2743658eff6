//! Content that compresses as the user's own files do: pieces of them are read, packed and thrown away, and
//! what that saved is the share that the study states. No file is opened for writing, none is kept.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::output;
use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::units::show;
use assay_kinds::work::io::{self, Content};
use assay_study::study::Study;
use assay_study::study::file::Typed;
use assay_system::system::{Caching, FileKind, System};

/// What compressing file systems take at once.
const PIECE: usize = 128 << 10;
/// Bytes in which they give room.
const BLOCK: u64 = 4096;
/// Pieces at most, evenly spaced over all bytes: 32 MiB.
const PIECES: u64 = 256;
/// Files and directories that are looked at.
const MOST_LOOKED: usize = 50_000;

/// Files that stand for the content.
#[derive(Debug, Default, PartialEq, Eq, Args)]
pub struct LikeArguments {
    /// Write data that compresses like the files below DIR
    ///
    /// Assay reads at most 32 MiB of them, evenly spaced.
    #[arg(long, value_name = "DIR")]
    like: Option<String>,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    files: usize,
    bytes: u64,
    /// Bytes of them that packing leaves, in whole blocks.
    left: u64,
}

impl Sample {
    fn saved_percent(self) -> u64 {
        100 - (100 * self.left).div_ceil(self.bytes.max(1)).min(100)
    }
}

impl LikeArguments {
    /// The option, where it was typed, with the key that it sets.
    pub fn typed(&self) -> Option<Typed> {
        let directory = self.like.as_ref()?;
        Some(Typed::new(format!("--like {directory}"), "workload/*/io/compressibility"))
    }

    /// The study with that content, wherever it states one.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn liked(&self, system: &dyn System, mut study: Study) -> Outcome<Study> {
        let Some(directory) = &self.like else { return Ok(study) };
        let stated = |asked: &&mut io::Asked| matches!(asked.compressibility, Content::Partly(_));
        let asked = study.workload.iter_mut().filter_map(|own| io::Asked::of_mut(&mut own.work));
        let asked: Vec<&mut io::Asked> = asked.filter(stated).collect();
        if asked.is_empty() {
            return Err(Failure::mistake(
                "--like: this study does not set a compression ratio; use a study such as compression",
            ));
        }
        let sample = sample(system, directory)?;
        let percent = sample.saved_percent();
        let content = match percent {
            0 => Content::Random,
            percent => format!("{}%", percent.min(99)).parse().map_err(Failure::mistake)?,
        };
        output::message(&format!(
            "--like {directory}: of {} of {} files, compressing them saves {percent}%; the content is as compressible",
            show::bytes(sample.bytes),
            show::count(sample.files as u64)
        ));
        for own in asked {
            own.compressibility = content;
        }
        Ok(study)
    }
}

/// Packs pieces of the files below a directory.
fn sample(system: &dyn System, directory: &str) -> Outcome<Sample> {
    let wrong =
        |why: &dyn std::fmt::Display| Failure::mistake(format!("--like {directory}: {why}"));
    let path = system.canonical(Path::new(directory)).map_err(|error| wrong(&error))?;
    let files = files_below(system, &path);
    let all: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    if all == 0 {
        return Err(wrong(&"no readable file with content; name a directory with files"));
    }
    let pieces = all.div_ceil(PIECE as u64).min(PIECES);
    let mut sample = Sample { files: files.len(), ..Sample::default() };
    let mut buffer = vec![0; PIECE];
    let (mut at, mut before) = (0, 0);
    for piece in 0..pieces {
        let place =
            (u128::from(all) * (2 * u128::from(piece) + 1) / (2 * u128::from(pieces))) as u64;
        while place >= before + files[at].1 {
            before += files[at].1;
            at += 1;
        }
        let offset = (place - before) / PIECE as u64 * PIECE as u64;
        let read = read(system, &files[at].0, offset, &mut buffer);
        if let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) {
            sample.bytes += bytes.len() as u64;
            sample.left += packed(bytes);
        }
    }
    if sample.bytes == 0 {
        return Err(wrong(&"this user cannot read any of its files"));
    }
    Ok(sample)
}

/// Regular files on the same file system, with their bytes; no link is followed.
fn files_below(system: &dyn System, root: &Path) -> Vec<(PathBuf, u64)> {
    let device = system.status(root).ok().map(|found| found.device);
    let (mut found, mut waiting, mut looked) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(path) = waiting.pop().filter(|_| looked < MOST_LOOKED) {
        looked += 1;
        if path != root && system.read_link(&path).is_ok() {
            continue;
        }
        let Ok(status) = system.status(&path) else { continue };
        match status.kind {
            FileKind::Directory if Some(status.device) == device => {
                let names = system.list(&path).unwrap_or_default();
                waiting.extend(names.into_iter().rev().map(|name| path.join(name)));
            }
            FileKind::File if status.size_bytes > 0 => found.push((path, status.size_bytes)),
            _ => {}
        }
    }
    found
}

/// Bytes of a file from an offset on; none where it cannot be read.
fn read(system: &dyn System, path: &Path, offset: u64, into: &mut [u8]) -> usize {
    let opened = system.open_for_reading(path, Caching::Buffered);
    opened.and_then(|file| system.read_at(&file, offset, into)).unwrap_or(0)
}

/// Bytes that a piece takes packed, in whole blocks: never more than it has.
fn packed(bytes: &[u8]) -> u64 {
    let whole = (bytes.len() as u64).next_multiple_of(BLOCK);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let packed = written.map_or(whole, |packed| packed.len() as u64);
    // Of less than a block nothing is saved by halves.
    packed.next_multiple_of(BLOCK).min(whole).min(bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::study::presets;
    use assay_system::system::Fake;

    fn liked(fake: &Fake, preset: &str) -> Outcome<Study> {
        let arguments = LikeArguments { like: Some("/home/me".to_owned()) };
        arguments.liked(fake, presets::find(preset).unwrap().unwrap())
    }

    /// What the workload that compresses was given.
    fn content(study: &Study) -> String {
        io::Asked::of(&study.workload[0].work).unwrap().compressibility.to_string()
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
        let study = liked(&fake, "compression").unwrap();
        let percent: u32 = content(&study).strip_suffix('%').unwrap().parse().unwrap();
        assert!(percent > 90, "{percent}");
        // What is stated as random stays so.
        assert_eq!(
            io::Asked::of(&study.workload[2].work).unwrap().compressibility,
            Content::Random
        );
        // As much again that saves little brings it to about half.
        fake.put("/home/me/below/b.bin", scrambled(520_000));
        let mixed = content(&liked(&fake, "compression").unwrap());
        let percent: u32 = mixed.strip_suffix('%').unwrap().parse().unwrap();
        assert!((40..=65).contains(&percent), "{percent}");
    }

    #[test]
    fn links_are_not_followed_and_what_has_nothing_to_read_is_told() {
        let fake =
            Fake::recorded("dir /home/me\nlink /home/me/out /etc/passwd\nfile /etc/passwd x\n");
        let told = liked(&fake.unwrap(), "compression").unwrap_err().message;
        assert!(told.starts_with("--like /home/me: no readable file"), "{told}");
        let told = liked(&Fake::new(), "queue-depth").unwrap_err().message;
        assert!(told.contains("such as compression"), "{told}");
        let none = LikeArguments::default();
        let study = presets::find("compression").unwrap().unwrap();
        assert_eq!(none.liked(&Fake::new(), study.clone()).unwrap(), study);
    }

    #[test]
    fn what_does_not_pack_takes_what_it_has() {
        assert_eq!(packed(&vec![7; 64 << 10]), BLOCK);
        assert_eq!(packed(b"short"), 5);
        let sample = Sample { files: 1, bytes: 1000, left: 1000 };
        assert_eq!(sample.saved_percent(), 0);
        assert_eq!(Sample { left: 1, ..sample }.saved_percent(), 99);
    }
}
