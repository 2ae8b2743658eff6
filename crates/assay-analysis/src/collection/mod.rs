//! The collection: one row per device and measurement, claimed against measured. A row's file name is the hash of its
//! content, so git merges all rows without conflicts. Rows name contributor and machine only on request.

mod extract;
pub mod file;
pub mod flat;
pub mod numbers;
pub mod published;
mod row;
mod table;

pub use extract::{Extra, rows};
pub use row::{CollectionRow, FORMAT, Identity, PublishedRow, RowValue};
pub use table::{DeviceRows, Spread, groups, key};
