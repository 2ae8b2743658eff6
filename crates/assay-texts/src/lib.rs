//! Texts that others write become data: boots of the systemd journal, and numbers that programs print.
//!
//! Here belongs what a text says, whoever read it, and how it is found there. Where it is read, and what a study makes of
//! it, does not: that are the kinds of work `boot` and `command` in `assay-kinds`. Nothing here reads a file, and no text
//! may make it slow or large.
//!
//! The types to know: [`journal::entry::Entry`] (one of the journal), [`journal::timeline::Boot`] (one of the machine),
//! [`readings::Reading`] (where a number stands), [`readings::Reader`] (ready to read it), [`readings::Number`] (what came).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod journal;
pub mod readings;
