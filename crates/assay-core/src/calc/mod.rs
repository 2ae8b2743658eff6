//! Calculators: pure functions that need no privileges and change nothing.
//!
//! Each calculation is a type with units in its field names; [`Answer`] writes it as JSON.

pub mod edid;
pub mod flash_time;
pub mod memmap;
pub mod modeline;
pub mod pts;
pub mod raid;
mod reading;
pub mod requests;
pub mod source_tree;
pub mod zram;

use serde::Serialize;

pub use reading::{bytes_per_s, number, pair, size_of};

pub const FORMAT: &str = "assay-calc/1";

#[derive(Debug, Serialize)]
pub struct CalcAnswer<'a, T> {
    format: &'static str,
    calculation: &'static str,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> CalcAnswer<'a, T> {
    pub fn new(calculation: &'static str, result: &'a T) -> Self {
        Self { format: FORMAT, calculation, result }
    }
}
