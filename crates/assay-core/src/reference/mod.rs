//! Tables of the numbers in the source articles, for `assay articles` and for studies that print them as comparison.

mod library;
pub mod sheet;

pub use library::Library;
