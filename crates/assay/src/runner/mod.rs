//! Runs a study: survey, plan, trials, one after the other, each one stored before the next starts.

pub mod abilities;
pub mod apply;
pub mod area;
pub mod bed;
pub mod boots;
mod changes;
pub mod event;
mod holds;
mod links;
mod lookout;
mod marks;
mod others;
pub mod pilot;
mod places;
mod prepare;
pub mod reboots;
pub mod session;
mod settle;
pub mod start;
mod surroundings;
pub mod survey;
pub mod trial;
mod twice;

pub use event::{Context, Event};
pub use session::Judge;
pub use start::{
    Consented, Finished, Preview, Request, Unkept, preview, preview_in_vm, resume, run,
};

#[cfg(test)]
pub(crate) mod tests;
