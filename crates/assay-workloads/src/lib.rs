//! Kinds of work: what a workload of a study may be.
//!
//! Here belongs all that only one kind knows, in one folder: its keys in study files, its parameters, how it
//! is planned, run and measured, its metrics and its words. What several kinds have in common with
//! everything else does not (`assay-core`), nor what is concluded of numbers (`assay-analysis`). How bytes are
//! moved and timed belongs in `assay-load`.
//!
//! The types to know: [`work::Work`] (as a study asks for it), [`work::Planned`] (as it will be run),
//! [`work::Measured`] (what came of it), [`work::Parameter`] (what a level may set),
//! [`work::Claims`] (what others say of a device).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod work;
