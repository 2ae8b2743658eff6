//! Studies by what the user types.

use std::path::Path;

use crate::failure::{Failure, Outcome};
use crate::study::{Study, file, presets};
use crate::system::System;

/// A shipped study by its name, or a study file by its path.
pub fn load(system: &dyn System, word: &str) -> Outcome<Study> {
    if word == "check" {
        return presets::check();
    }
    let text = system
        .read_text(Path::new(word))
        .map_err(|error| Failure::mistake(format!("{word} cannot be read: {error}")))?;
    file::parse(word, &text)
}
