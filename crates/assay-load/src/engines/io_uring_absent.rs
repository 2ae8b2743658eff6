//! Replacement for io_uring on platforms that cannot build it.

use crate::drive::{Part, Worker};
use crate::{EngineEntry, EngineKind, LoadError};

const REASON: &str = "io_uring needs a 64-bit build of this program";

pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: "io_uring",
    summary: "many operations in flight per thread, through kernel ring buffers",
    needs_file: true,
    available,
    standard: EngineKind::IoUring,
    work,
};

fn available() -> Result<(), String> {
    Err(REASON.to_owned())
}

fn work(_: &Worker<'_>) -> Result<Option<Part>, LoadError> {
    Err(LoadError::Unavailable { engine: ENTRY.name, reason: REASON.to_owned() })
}
