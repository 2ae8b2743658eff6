//! The numbers that the source articles print, as tables: the one place of their digits. `assay
//! articles` shows them, and studies name rows of them to be shown beside their own numbers.

mod library;
pub mod sheet;

pub use library::Library;
