//! The engines, one per file, and their table.

mod clear;
#[cfg(test)]
mod handed;
// The crate io-uring supports only 64-bit machines; elsewhere a replacement reports that.
#[cfg_attr(not(target_pointer_width = "64"), path = "io_uring_absent.rs")]
mod io_uring;
#[cfg(test)]
mod no_alloc;
mod null;
mod psync;
mod simulated;
#[cfg(test)]
pub(crate) mod suite;

use std::os::fd::BorrowedFd;

use crate::buffer::Buffer;
use crate::engine::Setup;
use crate::{EngineEntry, LoadError};

/// Every engine, in the order in which they are shown.
pub static ENGINES: &[EngineEntry] =
    &[null::ENTRY, simulated::ENTRY, psync::ENTRY, io_uring::ENTRY];

fn buffer(setup: &Setup<'_>) -> Result<Buffer, LoadError> {
    let job = setup.job;
    Buffer::new(job.depth, job.size_bytes, setup.target.memory_alignment)
        .map_err(|source| LoadError::Setup { what: "buffers", source })
}

fn file<'a>(setup: &Setup<'a>) -> Result<BorrowedFd<'a>, LoadError> {
    setup.target.file.ok_or_else(|| LoadError::Invalid("no file or device to test".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_contract() {
        for (i, entry) in ENGINES.iter().enumerate() {
            assert_eq!(entry.standard.name(), entry.name);
            assert!(!entry.summary.ends_with('.') && entry.summary.len() > 20);
            assert!(ENGINES[..i].iter().all(|other| other.name != entry.name));
            if let Err(reason) = (entry.available)() {
                assert!(!reason.is_empty());
            }
        }
        assert!(ENGINES.iter().any(|entry| !entry.needs_file));
    }
}
