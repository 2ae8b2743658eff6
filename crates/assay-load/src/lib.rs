//! The part of Assay that moves bytes and times them.
//!
//! A [`Job`] says what to do, a [`Target`] where, an [`EngineKind`] how; [`run`] does it and
//! returns an [`Outcome`]: counts, one latency histogram per operation class, one row per second,
//! and what the engine knows about its own doing. The crate knows no study, opens no file, prints
//! nothing, and its measured path allocates nothing.

mod job;
mod outcome;

pub use job::{Content, Durability, Job, Pattern, Target};
pub use outcome::{
    Class, ClassOutcome, EngineFacts, Outcome, QueueFacts, SecondRow, Totals, new_histogram,
};
