//! Files that are created, replaced, renamed and removed in one directory: what a program does, what each call
//! promises, and whether that is there after a cut.
//!
//! A call promises what is documented of it, and no more, whatever a file system does beside that: `fsync` of a file
//! that its contents are there, wherever its name is; `fsync` of the directory that its names are as they were;
//! `rename` over a file that either it or the new one is under the name, and never neither; `rename` to a free name
//! that the file is under one of both. Each file is written once, so that what is under a name says which file it is.
//! What no call promised may be anything, and is told apart.
//!
//! [`Script`] is what is done, [`Directory`] where, [`Moment`] what is known of a cut, [`Content`] what is
//! under a name afterwards.

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
pub use judge::{Judgement, Lost};
pub use run::{Directory, Done, read_back};
pub use script::{Call, Moment, Name, Script, Shape};
pub use standing::Standing;
pub use story::Story;
