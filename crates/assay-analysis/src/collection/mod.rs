//! The collection: one row a device and measurement, claimed against measured, of whoever sends one.
//!
//! A row is a small file whose name is the hash of what is in it, so that two people never change the
//! same file and git merges all of them. Rows of others are data: [`file::read`] takes what a row is and
//! names what is none. Who measured and on which machine is not in a row unless that was asked for.

mod extract;
pub mod file;
pub mod flat;
pub mod numbers;
pub mod published;
mod row;
mod table;

pub use extract::{Extra, rows};
pub use row::{CollectionRow, FORMAT, Identity, Number, Published};
pub use table::{Group, Spread, groups, key};
