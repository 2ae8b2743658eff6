//! Does it keep what it said it has? What a program promised against what is there after the power went.
//!
//! Here belongs what needs no machine: how programs write, the log of their writes and syncs, moments without power
//! and what survives them, drives as models, the judge of promises, the bound, and the words. A log is that of the program's
//! own writes, or what the drive of a virtual machine was asked below a kernel. How bytes are moved does not (`assay-load`), nor how a study comes to it
//! (the kind of work `durability` in `assay-kinds`), nor how a virtual machine is started and what it can open
//! (`assay_runner::real`). Nothing here opens a file but through the door to the machine that it is handed.
//!
//! The types to know: [`trial::Course`] (one trial), [`trial::Medium`] (what it writes to), [`log::Log`] (what was asked
//! of a device), [`drive::Drive`] (what lies on it after a cut), [`judge::Written`] (what was promised, and judges it),
//! [`tell::Facts`] (what is said of it); of trials in virtual machines [`outage::Outage`], [`served::Served`] (the drive of
//! one) and [`guest::work`] (the job in one); of a machine whose plug is pulled [`plug::Plug`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod asked;
pub mod below;
pub mod bound;
pub mod command;
pub mod cut;
pub mod drive;
pub mod files;
pub mod grade;
pub mod guest;
pub mod image;
pub mod judge;
#[cfg(test)]
mod known_tests;
pub mod log;
#[cfg(test)]
mod log_files;
pub mod metrics;
pub mod outage;
pub mod pages;
pub mod pattern;
pub mod plug;
pub mod program;
pub mod reached;
pub mod served;
pub mod sync;
pub mod tally;
pub mod tell;
pub mod trial;
