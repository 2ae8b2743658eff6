//! Runs a study: survey, plan, trials, one after the other, each one stored before the next starts.

pub mod abilities;
pub mod area;
pub mod event;
pub mod pilot;
pub mod session;
pub mod survey;
pub mod trial;

pub use event::{Context, Event};
pub use session::{Finished, Request, run};

#[cfg(test)]
mod tests;
