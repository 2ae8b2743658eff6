//! Numbers that were measured elsewhere, brought into the one form that verdicts are made from.
//!
//! Here belongs a format of others: what its text says. What is concluded of it does not: that is
//! `assay-verdict`, which gets what comes from here as it gets what was measured here. No file is touched.
//!
//! Requests that others recorded one by one ([`importers::requests`]) become no measurements but the requests of a
//! recording, line by line.
//!
//! The types to know: [`importers::Importer`], [`importers::Brought`] (a text and its name),
//! [`importers::Options`], [`importers::Imported`] (what came of it), and
//! [`Measurements`](assay_study::findings::measurements::Measurements), which it becomes.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod importers;
