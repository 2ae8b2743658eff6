//! The part of Assay that performs and times I/O.
//!
//! A [`Job`] defines the load, a [`Target`] the place, an [`EngineKind`] the method; [`run`] returns an [`Outcome`]:
//! counts, one latency histogram per operation class, one row per second, and facts of the engine; for an open loop
//! ([`Schedule`]) also response times and delays. A [`FileTree`] works below a directory that the caller passes. The
//! crate opens no other files and prints nothing, and its measured path allocates nothing.
//!
//! This crate contains the code of the measured time, and the types of jobs and outcomes. `assay-workloads` contains
//! the keys and the meaning of workloads. `unsafe` is allowed.
//!
//! Main types: [`Job`], [`Target`], [`EngineKind`], [`Outcome`], [`FileTree`].
// docs/dev/decisions/timing.md lists the cost of calls in the measured loop.
#![allow(
    clippy::inline_always,
    reason = "a third of the instructions of the measured loop were its calls"
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

/// Names the values of a closed set, as files have them: `ALL`, `name`, `names`, `find` and `parse`.
#[macro_export]
macro_rules! names {
    ($own:ident: $($value:ident = $name:literal),+ $(,)?) => {
        impl $own {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            pub fn names() -> Vec<&'static str> {
                Self::ALL.map(Self::name).to_vec()
            }

            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }

            pub fn parse(text: &str) -> Result<Self, String> {
                let unknown = || format!("unknown value `{text}`; use {}", Self::names().join(", "));
                Self::find(text).ok_or_else(unknown)
            }
        }
    };
}

/// Reads a type from a string and writes it as one, as its parser and its display do.
macro_rules! as_text {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(own: $name) -> Self {
                own.to_string()
            }
        }
    )+};
}

mod access;
mod buffer;
mod capacity;
mod check;
mod clock;
mod content;
pub mod digits;
mod distribution;
mod drive;
mod duplicates;
mod engine;
mod engines;
mod error;
mod files;
mod fresh;
mod gate;
mod job;
mod latency;
mod law;
mod merge;
mod micro;
mod mix;
mod one_by_one;
mod one_directory;
mod outcome;
mod pages;
mod pattern;
mod pin;
mod poll;
mod purge;
mod random;
mod rehearsal;
mod run;
mod scatter;
mod schedule;
mod sizes;
mod spent;
mod sync;
mod track;
mod verify;
mod waits;

pub use access::{Access, Thousandths, Zone, Zones};
pub use capacity::{
    BLOCK_BYTES, CapacityJob, CapacityOutcome, CapacityShape, Lie, SMALL_BYTES, Seen, SeenCounts,
    Store, WrongBlock, capacity, capacity_costs, set_aside,
};
pub use content::{Compressible, Content};
pub use duplicates::Duplicates;
pub use engine::{EngineEntry, EngineKind};
pub use engines::ENGINES;
pub use error::LoadError;
pub use files::{FileAct, FileJob, FileOutcome, FileSync, FileTree, Room};
pub use job::{Apart, Job, Pattern, Slices, Target};
pub use law::{Law, LawShape};
pub use micro::{Micro, MicroOutcome, repeat};
pub use mix::{Mix, MixParts};
pub use one_by_one::{Medium, OneByOne};
pub use one_directory::{Directory, OneDirectory};
pub use outcome::{
    Class, ClassOutcome, EngineFacts, LATENCY_BUCKETS, Outcome, QueueFacts, SecondRow, Totals,
    latency_bucket, latency_bucket_from_ns, new_histogram,
};
pub use pages::{PageJob, PageOutcome, PageSet};
pub use pattern::{random_offsets, spread_offset};
pub use poll::Poll;
pub use purge::discard;
pub use random::mix64;
pub use rehearsal::{Rehearsal, Rehearsed};
pub use run::{run, run_beside};
pub use schedule::{Arrivals, LATE_NS, MOST_PER_S, OVERTIME_PART, Pace, Schedule};
pub use sizes::{SizeShare, Sizes};
pub use spent::{Bystanders, waited_ns};
pub use sync::WriteSync;
pub use track::{Act, MOST_STEPS, Moved, NEVER, Played, Step, Track};
pub use verify::{
    Fault, FaultCounts, FoundRun, Inspected, Stood, ThreadMarks, Verified, WriteMark, Written,
    WrongData, inspect, verify,
};
pub use waits::{Wait, WaitCounts};
