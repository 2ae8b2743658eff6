//! What is known of a search, kept after each step: the same line goes on where it was left.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use assay_base::failure::{Failure, Outcome};
use assay_system::system::System;

use super::{Asked, FORMAT, Search};

/// The directory of searches, beside that of results.
const FOLDER: &str = "bisects";

/// Letters of a file's name, of the hash of what was asked.
const LETTERS: usize = 16;

/// Where a search lies that was asked for in these words.
///
/// # Errors
/// What was asked is no text.
pub fn place(results: &Path, asked: &Asked) -> Outcome<PathBuf> {
    let text = serde_json::to_vec(asked)
        .map_err(|error| Failure::mistake(format!("the search cannot be kept: {error}")))?;
    let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    let home = results.parent().unwrap_or(results);
    Ok(home.join(FOLDER).join(format!("{}.json", &hash[..LETTERS])))
}

/// The search that lies there; none where it was never begun.
///
/// # Errors
/// Refused where it cannot be read, or is one of a later program.
pub fn read(system: &dyn System, place: &Path) -> Outcome<Option<Search>> {
    let refused = |why: String| {
        Failure::refused(format!("{}: {why}; --afresh begins again", place.display()))
    };
    let text = match system.read_text(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|error| refused(error.to_string()))?,
    };
    let found: Search = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    if found.format != FORMAT {
        return Err(refused(format!("it has the format {}, not {FORMAT}", found.format)));
    }
    Ok(Some(found))
}

/// Keeps a search.
///
/// # Errors
/// Refused where it cannot be written.
pub fn keep(system: &dyn System, place: &Path, search: &Search) -> Outcome<()> {
    let fail = |error: io::Error| {
        Failure::refused(format!("{} cannot be written: {error}", place.display()))
    };
    let text = serde_json::to_vec_pretty(search).map_err(|error| fail(error.into()))?;
    system.create_directory(place.parent().unwrap_or(place)).map_err(fail)?;
    system.write_whole(place, &text).map_err(fail)
}

/// Forgets a search that came to its end: the same line begins again.
///
/// # Errors
/// Refused where it cannot be written.
pub fn forget(system: &dyn System, place: &Path, asked: Asked) -> Outcome<Search> {
    let search = Search::new(asked);
    keep(system, place, &search)?;
    Ok(search)
}
