//! A recorded load made ready to be played again: which recording it is, where its requests go in an area, how fast
//! they come, and what each plausibly waited for.
//!
//! Here belongs what is computed of a recording before anything is played, and what nobody needs a target for. Where
//! recordings are kept and read does not (`assay-study`), nor what a study says of a play and what is told of it: that
//! is the kind of work `replay` in `assay-kinds`. Nothing here reads a file.
//!
//! The types to know: [`Source`] (which recording, and what it comes to), [`Scan`] (counts that), [`Scale`] (how fast),
//! [`Placing`] (how offsets become those of an area), [`Fit`] (makes requests fit there), [`Fitted`] (what that changed),
//! [`Arrived`] (a request, with what its waits are guessed by).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod placing;
pub mod scale;
pub mod source;
pub mod waits;

pub use placing::{Fit, Fitted, Placing, slot_bytes};
pub use scale::Scale;
pub use source::{Part, Recall, Scan, Source, nothing, step_of};
pub use waits::{Arrived, MOST_GAP_NS, guessed};
