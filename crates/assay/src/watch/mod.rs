//! What block devices and the machine around them do at this moment, and did since somebody began
//! to look: `assay watch`. The [`sampler`] reads, [`State`] remembers, and the rest shows it: as a
//! page of the terminal, as lines, as text at the end, as a document, as a bundle; [`requests`] records them one by one.

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
