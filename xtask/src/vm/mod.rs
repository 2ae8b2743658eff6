//! Virtual machines for tests (`assay_runner::vm`): the program as built here, and the files that a guest
//! returns.

mod job;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::lab::{Done, Scratch, call, has};

pub use assay_runner::vm::{Asked, Link, found, kernel, machine, missing};
pub use job::{FinishedJob, Stream};

/// Boots a guest, runs its job and passes on its output. `stop` ends it early.
pub fn run(
    asked: &Asked,
    stop: &AtomicBool,
    print: &mut dyn FnMut(Stream, &[u8]),
) -> Done<FinishedJob> {
    let scratch = Scratch::new("guest")?;
    let folder = scratch.path();
    let mut asked = asked.clone();
    folder.clone_into(&mut asked.place);
    asked.assay = stripped(&asked.assay, folder)?;
    job::run(&asked, stop, print)
}

/// Runs a guest to its end; also returns the output of its job.
pub fn run_to_end(asked: &Asked) -> Done<(FinishedJob, String)> {
    let mut printed = Vec::new();
    let mut print = |_, bytes: &[u8]| printed.extend_from_slice(bytes);
    let finished = run(asked, &AtomicBool::new(false), &mut print)?;
    Ok((finished, String::from_utf8_lossy(&printed).into_owned()))
}

/// Returns a copy of a program without debug symbols, or the program itself if `strip` is missing.
fn stripped(program: &Path, into: &Path) -> Done<PathBuf> {
    if !has("strip") {
        return Ok(program.to_owned());
    }
    let copy = into.join("stripped");
    let [to, from] = [&copy, program].map(|path| path.display().to_string());
    call("strip", &["--strip-all", "-o", &to, &from])?;
    Ok(copy)
}

/// Unpacks the files of a guest into a directory, which may exist, and returns the names of the results. `tar` rejects
/// paths that lead elsewhere.
pub fn unpack(finished: &FinishedJob, into: &Path) -> Done<Vec<String>> {
    let scratch = Scratch::new("results")?;
    let archive = scratch.path().join("archive");
    fs::create_dir_all(into)
        .and_then(|()| fs::write(&archive, &finished.results))
        .map_err(|error| format!("{}: {error}", into.display()))?;
    let [from, to] = [archive.as_path(), into].map(|path| path.display().to_string());
    let unpacked = call("tar", &["-xvf", &from, "-C", &to, "--no-same-owner"])?;
    let bundles = unpacked.lines().filter_map(|path| path.strip_suffix("/plan.json"));
    Ok(bundles.filter_map(|path| path.rsplit('/').next()).map(str::to_owned).collect())
}
