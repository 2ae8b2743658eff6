//! Tables of the numbers in the source articles. `assay articles` shows them, and studies can print rows of them next
//! to their results.

mod library;
pub mod sheet;

pub use library::Library;
