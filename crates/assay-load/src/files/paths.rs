//! Names of the files of a tree, and of its directories.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::ops::Range;

use super::FileJob;
use crate::random::{Purpose, key, mix64};

pub(super) const MOST_DEPTH: u32 = 16;

/// Paths of files below the root, before and after renaming, all of one length.
pub(super) struct Paths {
    bytes: Vec<u8>,
    /// Bytes of a path with the zero at its end.
    stride: usize,
}

/// First letter of a name: before, and after the rename.
const FIRST: char = 'f';
const RENAMED: char = 'r';

impl Paths {
    /// Generates both names of each file, next to each other.
    pub(super) fn new(job: &FileJob, files: Range<u32>) -> Self {
        let (name_key, shape) = (key(job.seed, 0, Purpose::Names), TreeShape::new(job));
        let (mut bytes, mut stride) = (Vec::new(), 0);
        for file in files {
            let leaf = u64::from(file) * u64::from(job.directories) / u64::from(job.files);
            let directory = shape.leaf(leaf);
            // The finalizer is a bijection, so each number has a unique name.
            let name = mix64(name_key.wrapping_add(u64::from(file)));
            for letter in [FIRST, RENAMED] {
                let path = format!("{directory}/{letter}{name:016x}\0");
                stride = path.len();
                bytes.extend_from_slice(path.as_bytes());
            }
        }
        Self { bytes, stride }
    }

    #[inline]
    pub(super) fn first(&self, at: usize) -> &CStr {
        self.path(2 * at)
    }

    #[inline]
    pub(super) fn renamed(&self, at: usize) -> &CStr {
        self.path(2 * at + 1)
    }

    #[inline]
    fn path(&self, at: usize) -> &CStr {
        let bytes = &self.bytes[at * self.stride..(at + 1) * self.stride];
        // Each ends with the only zero in it.
        CStr::from_bytes_with_nul(bytes).unwrap_or_default()
    }
}

struct TreeShape {
    depth: u32,
    fan_out: u64,
    digits: usize,
}

impl TreeShape {
    fn new(job: &FileJob) -> Self {
        let fan_out = fan_out(job.directories, job.depth);
        Self { depth: job.depth, fan_out, digits: (fan_out - 1).to_string().len() }
    }

    /// The directory of the lowest level with a number.
    fn leaf(&self, leaf: u64) -> String {
        let parts = (0..self.depth).rev().map(|level| {
            let part = leaf / self.fan_out.saturating_pow(level) % self.fan_out;
            format!("d{part:0digits$}", digits = self.digits)
        });
        parts.collect::<Vec<_>>().join("/")
    }
}

/// Subdirectories per directory, so the lowest level has enough.
pub(super) fn fan_out(directories: u32, depth: u32) -> u64 {
    let wanted = u64::from(directories);
    let root = f64::from(directories).powf(1.0 / f64::from(depth)).floor() as u64;
    (root.max(1)..=wanted).find(|fan_out| fan_out.saturating_pow(depth) >= wanted).unwrap_or(wanted)
}

/// All directories, each after its parent.
pub(super) fn directories(job: &FileJob) -> Vec<CString> {
    let (shape, mut all) = (TreeShape::new(job), BTreeSet::new());
    for leaf in 0..u64::from(job.directories) {
        let path = shape.leaf(leaf);
        all.extend(path.match_indices('/').map(|(end, _)| path[..end].to_owned()));
        all.insert(path);
    }
    // Consists of letters, digits and slashes, without a zero byte.
    all.into_iter().filter_map(|path| CString::new(path).ok()).collect()
}
