//! Recorded devices (`crates/assay-machine/tests/fixtures/signatures`) with the signatures of programs that create
//! filesystems, arrays and partition tables.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::Done;

/// A device with recorded bytes; all others are zero.
#[derive(Debug)]
pub struct Recording {
    pub length: u64,
    pub rows: Vec<(u64, Vec<u8>)>,
}

impl Recording {
    pub fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-machine/tests/fixtures/signatures")
    }

    /// Reads a recording; fails if a line has another form.
    pub fn load(name: &str) -> Done<Self> {
        let path = Self::folder().join(format!("{name}.txt"));
        let text = fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let mut recording = Self { length: 0, rows: Vec::new() };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let wrong = || format!("{}: {line}", path.display());
            if let Some(length) = line.strip_prefix("length ") {
                recording.length = length.parse().map_err(|_| wrong())?;
                continue;
            }
            let (offset, digits) = line.split_once(": ").ok_or_else(wrong)?;
            let mut bytes = Vec::new();
            for at in (0..digits.len()).step_by(2) {
                let two = digits.get(at..at + 2).ok_or_else(wrong)?;
                bytes.push(u8::from_str_radix(two, 16).map_err(|_| wrong())?);
            }
            recording.rows.push((u64::from_str_radix(offset, 16).map_err(|_| wrong())?, bytes));
        }
        Ok(recording)
    }

    pub fn names() -> std::io::Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for file in fs::read_dir(Self::folder())? {
            let file = file?.file_name().to_string_lossy().into_owned();
            names.extend(file.strip_suffix(".txt").map(str::to_owned));
        }
        Ok(names)
    }

    /// Writes the device into a file from an offset on; extends the file if it is too short.
    pub fn write(&self, file: &File, start: u64) -> std::io::Result<()> {
        if file.metadata()?.len() < start + self.length {
            file.set_len(start + self.length)?;
        }
        for (offset, bytes) in &self.rows {
            file.write_all_at(bytes, start + offset)?;
        }
        Ok(())
    }
}
