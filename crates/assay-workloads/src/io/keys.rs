//! The keys of `io`, and of the background load.

use assay_core::catalogue::keys::Fields;

use super::parameters;

pub static KEYS: Fields = Fields { label: "io", rows: parameters::KEYS };

/// Words of `background`: those of `io` without an end of its own.
pub static BACKGROUND: Fields = Fields { label: "background", rows: parameters::BACKGROUND };
