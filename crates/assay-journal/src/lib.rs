//! What the systemd journal tells of boots: texts of its entries become entries, and entries become boots with their
//! phases and their slowest units.
//!
//! Here belongs what a text of the journal says, whoever read it. Where it is read, and what a study makes of boots,
//! does not: that is the kind of work `boot` in `assay-kinds`. Nothing here reads a file.
//!
//! The types to know: [`entry::Entry`] (one of the journal), [`entry::Read`] (what a text came to),
//! [`timeline::Boot`] (one of the machine), [`timeline::End`] (how it ended), [`timeline::Unit`] (what started in it).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod entry;
mod finished;
pub mod timeline;
