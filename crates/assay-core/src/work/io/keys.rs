//! The keys of `io`, and of the background load.

use super::parameters;
use crate::catalogue::keys::Fields;

/// Words of `io`.
pub static KEYS: Fields = Fields { label: "io", rows: parameters::KEYS };

/// Words of `background`: those of `io` without an end of its own.
pub static BACKGROUND: Fields = Fields { label: "background", rows: parameters::BACKGROUND };
