//! Boots from the text of a systemd journal: its entries, grouped into boots with their phases and slowest units.

pub mod entry;
mod finished;
pub mod timeline;
