//! What is known of a search, kept after each step: the same line goes on where it was left.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use assay_base::digest::{hexadecimal, sha256};
use assay_base::failure::{Failure, Outcome};
use assay_system::system::{FileKind, System};

use super::{Asked, FORMAT, Search};

/// The directory of searches, beside that of results.
const FOLDER: &str = "bisects";

/// Letters of a file's name, of the hash of what was asked.
const LETTERS: usize = 16;

/// Bytes of a search at most: one of a thousand steps, each with all that a build said, is smaller.
const MOST_BYTES: u64 = 16 << 20;

/// What files of all formats begin with.
#[derive(Deserialize)]
struct Head {
    format: String,
}

/// Where a search lies that was asked for in these words.
///
/// # Errors
/// What was asked is no text.
pub fn place(results: &Path, asked: &Asked) -> Outcome<PathBuf> {
    let text = serde_json::to_vec(asked)
        .map_err(|error| Failure::mistake(format!("the search cannot be kept: {error}")))?;
    let hash = hexadecimal(&sha256(text));
    let home = results.parent().unwrap_or(results);
    Ok(home.join(FOLDER).join(format!("{}.json", &hash[..LETTERS])))
}

/// The search that lies there; none where it was never begun.
///
/// # Errors
/// Refused where it cannot be read, is one of a later program, or of something else.
pub fn read(system: &dyn System, place: &Path, asked: &Asked) -> Outcome<Option<Search>> {
    let refused = |why: String| {
        Failure::refused(format!("{}: {why}; --afresh begins again", place.display()))
    };
    let status = match system.status(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        status => status.map_err(|error| refused(error.to_string()))?,
    };
    // Under sudo it lies where the caller may write, who lets root neither wait at a pipe nor run git by options.
    if status.kind != FileKind::File || status.size_bytes > MOST_BYTES {
        return Err(refused("this is no search".to_owned()));
    }
    let text = system.read_text(place).map_err(|error| refused(error.to_string()))?;
    let wrong = |error: serde_json::Error| refused(error.to_string());
    let Head { format } = serde_json::from_str(&text).map_err(wrong)?;
    if format != FORMAT {
        return Err(refused(format!("it has the format {format}, not {FORMAT}")));
    }
    let found: Search = serde_json::from_str(&text).map_err(wrong)?;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if found.asked != *asked || !found.steps.iter().all(|step| is_id(&step.commit.id)) {
        return Err(refused("this is no search for what was asked".to_owned()));
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
