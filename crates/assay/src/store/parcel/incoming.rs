//! A result on its way here: unpacked under a name with a dot, looked through, and given its own name once it
//! is whole. What a killed process left of that is removed by the next command that looks.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{FileKind, HoldError, Locking, System};
use assay_study::results::foreign::{self, Mark};
use assay_study::results::trials::Trials;
use assay_study::results::{bundle, imported};

use super::super::findings_at;
use super::limits::DIRECTORIES;

/// What the names of such directories begin with.
const BEGINNING: &str = ".incoming-";
/// Bytes of tables and of files of other tools up to which they are read on their way; larger ones are only
/// held against their hashes.
const MOST_READ_BYTES: u64 = 2 << 20;
/// A directory that has no lock and did not change for so long is nobody's any more.
const UNTOUCHED: Duration = Duration::from_secs(60);

/// Makes a result of what `fill` writes into a directory, marked as foreign.
///
/// # Errors
/// Where it cannot be written, or is none; then nothing of it is kept.
pub fn bring(
    system: &dyn System,
    directory: &Path,
    mark: &Mark,
    fill: &mut dyn FnMut(&Path) -> Outcome<()>,
) -> Outcome<()> {
    let unwritable = |error: io::Error| refused!("cannot write {}: {error}", directory.display());
    let results = directory.parent().unwrap_or(directory);
    let nonce = system.random().map_err(unwritable)?;
    let nonce = assay_core::digest::hexadecimal(&nonce);
    let incoming = results.join(format!("{BEGINNING}{}", &nonce[..16]));
    let mut brought = || {
        system.create_directory(&incoming).map_err(unwritable)?;
        // The mark comes first: whatever becomes of the rest, it is none of ours.
        foreign::set(system, &incoming, mark).map_err(unwritable)?;
        // Where there are no locks, what is touched all the time is left alone for a while.
        let _lock = system.lock_file(&incoming.join(foreign::FILE), Locking::Mark).ok();
        for (below, _) in DIRECTORIES {
            system.create_directory(&incoming.join(below)).map_err(unwritable)?;
        }
        fill(&incoming)?;
        look_through(system, &incoming)
            .map_err(|failure| mistake!("cannot read the result: {}", failure.message))?;
        system.place_directory(&incoming, directory).map_err(unwritable)
    };
    let Err(failure) = brought() else { return Ok(()) };
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

/// Reads a result once, one trial after the other: that it can be read is to be known before it is kept, and
/// is not to cost more memory than one of them.
fn look_through(system: &dyn System, directory: &Path) -> Outcome<()> {
    if imported::is_one(system, directory) {
        // Each of its files is there and as it was imported.
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
        let files = record.histograms.values().chain(&record.series);
        for file in files {
            if !named.insert(file.clone()) {
                return Err(mistake!("two trials share a file: {file}"));
            }
        }
        bundle::read_latencies(system, directory, &mut record)
    })
}

/// Removes what killed processes left of results on their way here, also under the names that older versions
/// gave them at once. What a running process is at stays.
pub fn sweep(system: &dyn System, results: &Path) {
    for name in system.list(results).unwrap_or_default() {
        let directory = results.join(&name);
        if is_left_over(system, &name, &directory) && !is_worked_on(system, &directory) {
            // Nobody waits for it: what cannot be removed, say another user's, stays where it is.
            let _ = system.remove_directory(&directory);
        }
    }
}

fn is_left_over(system: &dyn System, name: &str, directory: &Path) -> bool {
    let is_directory = || {
        system.read_link(directory).is_err()
            && system.status(directory).is_ok_and(|found| found.kind == FileKind::Directory)
    };
    if name.starts_with(BEGINNING) {
        return is_directory();
    }
    let is_half = |directory: &Path| {
        !bundle::is_bundle(system, directory) && foreign::mark(system, directory).is_some()
    };
    foreign::is_name(name) && is_directory() && is_half(directory)
}

fn is_worked_on(system: &dyn System, directory: &Path) -> bool {
    match system.lock_file(&directory.join(foreign::FILE), Locking::Mark) {
        Ok(_) => false,
        Err(HoldError::Held { .. }) => true,
        // Its maker has not come as far as the mark, or never will.
        Err(HoldError::Failed(_)) => system.status(directory).is_ok_and(|found| {
            let since = system.wall_ns().saturating_sub(found.modified_ns.max(0) as u64);
            u128::from(since) < UNTOUCHED.as_nanos()
        }),
    }
}
