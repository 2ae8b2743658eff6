//! Runs a study: survey, plan, trials, one after the other, each one stored before the next starts.

pub mod abilities;
pub mod apply;
pub mod area;
pub mod bed;
mod changes;
pub mod conductor;
mod cuts;
pub mod event;
pub mod fleet;
mod holds;
#[doc(hidden)]
pub mod known;
mod lookout;
mod marks;
mod now;
mod others;
pub mod pilot;
mod places;
mod prepare;
pub mod preview;
pub mod reboots;
pub mod recorded;
pub mod request;
pub mod resolve;
mod schedule;
pub mod setting;
pub mod start;
mod surroundings;
pub mod survey;
pub mod trial;
mod twice;
pub mod verify;
pub mod writer;

pub use conductor::Finished;
pub use event::{Context, Event};
pub use preview::{AllHosts, StudyPreview, preview};
pub use request::{Acting, Consented, InterimAnalysis, LogOf, Looks, NumberOf, Request};
pub use start::{resume, run};
pub use writer::Unkept;

#[cfg(test)]
mod tests;
