//! Runs a study: survey, plan, trials, one after the other, each one stored before the next starts.

pub mod abilities;
pub mod apply;
pub mod area;
mod around;
mod changes;
pub mod event;
pub mod pilot;
mod places;
mod prepare;
pub mod session;
mod settle;
pub mod stage;
pub mod start;
pub mod survey;
pub mod trial;

pub use event::{Context, Event};
pub use session::Judge;
pub use start::{Consented, Finished, Preview, Request, Unkept, preview, resume, run};

#[cfg(test)]
mod tests;
