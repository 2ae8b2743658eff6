//! Verifies writes: stamps in every sector, the possible contents of each block, and a pass that reads everything.
//!
//! A write contains its run, its address, its number in the stream of its thread, and the completed writes at its start
//! ([`stamp`]). The job's seed determines the offsets of all writes, so the pass draws them again and collects the
//! possible writes per block ([`standing`]): if two were in flight at once, either. Their order ([`marks`]) comes from
//! the loop, or from the found stamps if the run was killed. The pass reports only certain errors.

mod inspect;
mod judge;
mod marks;
mod pass;
mod stamp;
mod standing;
#[cfg(test)]
mod tests;

pub use inspect::{FoundRun, Inspected, inspect};
pub use judge::{Fault, Stood, WrongData};
pub use marks::{ThreadMarks, WriteMark, Written};
pub use pass::{FaultCounts, Verified, verify};

pub(crate) use marks::Stamper;
pub(crate) use stamp::{SECTOR, read_words};
