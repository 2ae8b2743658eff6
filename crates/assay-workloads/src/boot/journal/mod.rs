//! What the systemd journal tells of boots: texts of its entries become entries, and entries become boots with their
//! phases and their slowest units.

pub mod entry;
mod finished;
pub mod timeline;
