//! Boots from the systemd journal: parses its text to entries, and groups entries into boots with their phases and
//! slowest units.

pub mod entry;
mod finished;
pub mod timeline;
