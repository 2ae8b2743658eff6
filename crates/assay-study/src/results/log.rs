//! Events of a study (`log.jsonl`): resumes, and the reason of its end.

use assay_machine::system::System;
use serde::{Deserialize, Serialize};

/// The event of a study that ended by a rule or with its last trial: it cannot be resumed.
pub const ENDED: &str = "ended";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub at: String,
    /// What: `resumed`, `setup-once`, `lead-in`, `cut`, `ended`.
    pub event: String,
    pub text: String,
}

impl LogEntry {
    pub fn new(system: &dyn System, event: &str, text: &str) -> Self {
        Self { at: system.now(), event: event.to_owned(), text: text.to_owned() }
    }
}

/// The entries of a log; a line that cannot be read is passed over, as a crash may have cut it.
pub fn entries(text: &str) -> Vec<LogEntry> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
