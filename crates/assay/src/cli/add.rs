//! `assay import FILE.assay`: adds results from other machines.

use std::path::{Path, PathBuf};

use crate::store::{self, parcel};
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, identity};

/// Adds each file separately, and prints its ID and how it was added.
pub fn bring(
    system: &dyn System,
    files: &[PathBuf],
    mut tell: impl FnMut(&str, &Path, &str) -> Outcome<()>,
) -> Outcome<()> {
    let mut failed: Vec<Failure> = Vec::new();
    for file in files {
        let added = parcel::add(system, file).and_then(|added| {
            let how = if added.was_there {
                "already existed"
            } else {
                let directory = identity::results_directory(system)?.join(&added.id);
                if let Ok(findings) = store::findings_at(system, &directory) {
                    store::keep_headline(system, &directory, &findings);
                }
                "added as foreign"
            };
            tell(&added.id, file, how)
        });
        match added {
            Ok(()) => {}
            Err(failure) => failed.push(failure),
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        several => {
            let messages: Vec<&str> = several.iter().map(|it| it.message.as_str()).collect();
            Err(Failure { kind: several[0].kind, message: messages.join("\n") })
        }
    }
}
