//! `assay watch`: activity of block devices and the machine around them, now and since the start. The [`sampler`]
//! reads, [`State`] accumulates, and other modules show it: as a terminal page, lines, final text, document or bundle;
//! [`requests`] records single requests.

pub mod document;
pub mod members;
pub mod page;
pub mod record;
pub mod requests;
pub mod sampler;
mod state;
pub mod summary;
pub mod words;

pub use state::State;

#[cfg(test)]
pub mod testing;
