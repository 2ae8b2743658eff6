//! Whether what was written is what is read: stamps in every sector, what may stand where, and a pass of its
//! own that reads all of it.
//!
//! A write carries its run, its place, its number in the stream of its thread, and what had ended when it was
//! begun ([`stamp`]). The places of all writes follow from the seed of the job, so the pass draws them again
//! and keeps of each block those writes that may stand there ([`standing`]): where two were in flight at
//! once, either. What is known of their order ([`marks`]) comes from the loop itself, or where a run was
//! killed from the stamps that are found. Nothing is called wrong that may be right.

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
pub use marks::{Mark, ThreadMarks, Written};
pub use pass::{FaultCounts, Verified, verify};

pub(crate) use marks::Stamper;
pub(crate) use stamp::{SECTOR, read_words};
