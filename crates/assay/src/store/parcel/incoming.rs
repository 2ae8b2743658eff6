//! An incoming result: unpacked in a directory with a leading dot, checked, and renamed once complete. The next command
//! removes what a killed process left.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{FileKind, HoldError, Locking, System};
use assay_study::results::foreign::{self, ImportMark};
use assay_study::results::trials::Trials;
use assay_study::results::{bundle, imported};

use super::super::findings_at;
use super::limits::DIRECTORIES;

/// Prefix of such directories.
const BEGINNING: &str = ".incoming-";
/// Maximum size of tables and other tools' files that are parsed on import; larger ones are only checked against their
/// hashes.
const MOST_READ_BYTES: u64 = 2 << 20;
/// A directory without a lock that did not change for this time is abandoned.
const UNTOUCHED: Duration = Duration::from_secs(60);

/// Creates a result, marked as foreign, from what `fill` writes to the directory that it gets. Fails, and stores
/// nothing, if it cannot be written or is not a result.
pub fn store_incoming(
    system: &dyn System,
    directory: &Path,
    mark: &ImportMark,
    fill: &mut dyn FnMut(&Path) -> Outcome<()>,
) -> Outcome<()> {
    let unwritable = |error: io::Error| refused!("cannot write {}: {error}", directory.display());
    let results = directory.parent().unwrap_or(directory);
    let nonce = assay_core::digest::hexadecimal(&system.random().map_err(unwritable)?);
    let incoming = results.join(format!("{BEGINNING}{}", &nonce[..16]));
    let mut fill_and_place = || {
        system.create_directory(&incoming).map_err(unwritable)?;
        // Writes the mark first: the result is foreign even if the rest fails.
        foreign::set(system, &incoming, mark).map_err(unwritable)?;
        // On filesystems without locks, a recent modification protects the directory.
        let _lock = system.lock_file(&incoming.join(foreign::FILE), Locking::Mark).ok();
        for (below, _) in DIRECTORIES {
            system.create_directory(&incoming.join(below)).map_err(unwritable)?;
        }
        fill(&incoming)?;
        check_readable(system, &incoming)
            .map_err(|failure| mistake!("cannot read the result: {}", failure.message))?;
        system.place_directory(&incoming, directory).map_err(unwritable)
    };
    let Err(failure) = fill_and_place() else { return Ok(()) };
    Err(match system.remove_directory(&incoming) {
        Ok(()) => failure,
        Err(error) if error.kind() == io::ErrorKind::NotFound => failure,
        Err(error) => Failure {
            message: format!(
                "{}; cannot remove the leftover {}: {error}",
                failure.message,
                incoming.display()
            ),
            ..failure
        },
    })
}

/// Reads a result trial by trial: checks that it is readable before storing it, with the memory of one trial.
fn check_readable(system: &dyn System, directory: &Path) -> Outcome<()> {
    if imported::is_one(system, directory) {
        // Checks that each file is present and as imported.
        let stored = imported::read(system, directory)?;
        let bytes: usize = stored.contents.iter().map(Vec::len).sum();
        drop(stored);
        if bytes as u64 <= MOST_READ_BYTES {
            return findings_at(system, directory).map(drop);
        }
        return Ok(());
    }
    let stored = bundle::frame(system, directory)?;
    let trials = Trials::open(system, directory, &stored.plan)?;
    let mut named: BTreeSet<String> = BTreeSet::new();
    trials.each_record(&mut |mut record| {
        for file in record.histograms.values().chain(&record.series) {
            if !named.insert(file.clone()) {
                return Err(mistake!("two trials share a file: {file}"));
            }
        }
        bundle::read_latencies(system, directory, &mut record)
    })
}

/// Removes incomplete incoming results of killed processes, also under the names that older versions used. Skips those
/// of running processes.
pub fn sweep(system: &dyn System, results: &Path) {
    for name in system.list(results).unwrap_or_default() {
        let directory = results.join(&name);
        if is_incoming(system, &name, &directory) && !is_in_use(system, &directory) {
            // Ignores files that cannot be removed, for example another user's.
            let _ = system.remove_directory(&directory);
        }
    }
}

fn is_incoming(system: &dyn System, name: &str, directory: &Path) -> bool {
    let is_directory = || {
        system.read_link(directory).is_err()
            && system.status(directory).is_ok_and(|status| status.kind == FileKind::Directory)
    };
    if name.starts_with(BEGINNING) {
        return is_directory();
    }
    // Older versions unpacked in the final place, and wrote the mark first.
    foreign::is_name(name)
        && is_directory()
        && !bundle::is_bundle(system, directory)
        && foreign::mark(system, directory).is_some()
}

/// Returns whether a running process fills a directory.
fn is_in_use(system: &dyn System, directory: &Path) -> bool {
    match system.lock_file(&directory.join(foreign::FILE), Locking::Mark) {
        Ok(_) => false,
        Err(HoldError::Held { .. }) => true,
        // Its process has not written the mark yet, or never will.
        Err(HoldError::Failed(_)) => system.status(directory).is_ok_and(|status| {
            let since_ns = system.wall_ns().saturating_sub(status.modified_ns.max(0) as u64);
            u128::from(since_ns) < UNTOUCHED.as_nanos()
        }),
    }
}
