//! Files created, replaced, renamed and removed in a directory: calls, their guarantees, and whether these survive.
//!
//! A call guarantees only what is documented: `fsync` of a file its content under any name; `fsync` of the directory
//! its names; `rename` over a file that the name refers to the old or the new file; `rename` to a free name that the
//! file has one of both names. Each file is written once, so the content under a name identifies the file. Unguaranteed
//! state may be anything, and is counted separately.
//!
//! [`FileScript`]: the calls; [`Directory`]: their place; [`CutMoment`]: a power loss; [`Content`]: what a name has then.

pub mod contents;
pub mod judge;
#[cfg(test)]
mod known_tests;
#[cfg(test)]
mod model;
pub mod run;
pub mod script;
pub mod standing;
pub mod story;

pub use contents::{Content, Listing};
pub use judge::{Judgement, LostFile};
pub use run::{Directory, FileCounts, read_back};
pub use script::{Call, CutMoment, FileName, FileScript, FileShape};
pub use standing::PossibleFiles;
pub use story::FileLoss;
