//! From an id in an address to the directory of a result, and never to anything else.

use std::path::{Path, PathBuf};

use assay_base::failure::{Failure, Outcome};
use assay_study::results::bundle;
use assay_system::system::{FileKind, System};

/// Folders within folders that a bundle has at most.
const DEEPEST: usize = 3;
/// Files of a bundle that are looked at; a study of ten thousand trials has some forty thousand.
const MOST_FILES: usize = 1_000_000;

/// The directory of a result: its id is a name in the results directory.
///
/// # Errors
/// The user's mistake where no result has that id; refused where it leads elsewhere.
pub(super) fn result(system: &dyn System, results: &Path, id: &str) -> Outcome<PathBuf> {
    let directory = named(system, results, id)?;
    plain(system, &directory).map(|()| directory)
}

/// The same without a look at what is in it.
///
/// # Errors
/// The user's mistake where no result has that id.
pub(super) fn named(system: &dyn System, results: &Path, id: &str) -> Outcome<PathBuf> {
    // A name of the directory's own list is no path: no `..`, no separator, no NUL.
    let names = system.list(results).unwrap_or_default();
    let directory = results.join(id);
    let known = names.iter().any(|name| name == id);
    if !known || !bundle::is_bundle(system, &directory) {
        return Err(Failure::mistake(format!("no result is called {id:?}")));
    }
    Ok(directory)
}

/// Refuses a result that leads out of its directory, or holds anything but files.
pub(super) fn plain(system: &dyn System, directory: &Path) -> Outcome<()> {
    let mut looked = 0;
    is_plain(system, directory, 0, &mut looked)
}

fn is_plain(system: &dyn System, path: &Path, depth: usize, looked: &mut usize) -> Outcome<()> {
    *looked += 1;
    if system.read_link(path).is_ok() {
        return Err(refused(path, "is a link"));
    }
    let Ok(found) = system.status(path) else { return Ok(()) };
    match found.kind {
        FileKind::File => Ok(()),
        _ if *looked > MOST_FILES => Err(refused(path, "is one file too many")),
        FileKind::Directory if depth < DEEPEST => {
            let names = system.list(path).unwrap_or_default();
            names.iter().try_for_each(|name| is_plain(system, &path.join(name), depth + 1, looked))
        }
        FileKind::Directory => Err(refused(path, "lies too deep")),
        _ => Err(refused(path, "is no file")),
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::refused(format!("{} {why}: such a result is not shown here", path.display()))
}
