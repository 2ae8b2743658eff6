//! Values with units: parsing ("512 MiB", "25%", "2 min") and printing.

pub mod direction;
pub mod metric;
pub mod played;
pub mod printed;
pub mod sets;
pub mod units;

pub use metric::{Better, Metric, Scale};
pub use units::{Bytes, Loss, Percent, Time, level_number};
