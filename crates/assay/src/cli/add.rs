//! `assay import FILE.assay`: adds results from other machines.

use std::path::{Path, PathBuf};

use crate::store::{self, parcel};
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, identity};

/// Adds each file separately; `print` gets its ID and how it was added. Fails with the messages of all failures.
pub fn add_files(
    system: &dyn System,
    files: &[PathBuf],
    mut print: impl FnMut(&str, &Path, &str) -> Outcome<()>,
) -> Outcome<()> {
    let mut failed: Vec<Failure> = Vec::new();
    for file in files {
        let added = parcel::add(system, file).and_then(|added| {
            let how = if added.was_there {
                "already existed"
            } else {
                let directory = identity::results_directory(system)?.join(&added.id);
                store::update_headline(system, &directory);
                "added as foreign"
            };
            print(&added.id, file, how)
        });
        failed.extend(added.err());
    }
    let Some(first) = failed.first() else { return Ok(()) };
    let messages: Vec<&str> = failed.iter().map(|failure| failure.message.as_str()).collect();
    Err(Failure { kind: first.kind, message: messages.join("\n") })
}
