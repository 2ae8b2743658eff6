//! `assay tree`: makes the tree that a command is to work in. Nobody has to type it: a study starts it,
//! as whoever runs its commands.

use std::io::ErrorKind;
use std::path::PathBuf;

use clap::Args;

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use assay_workloads::command::tree::{MARK, files};

/// Make a directory with a generated tree of C in it, or an empty one
#[derive(Debug, Args)]
pub struct TreeArguments {
    /// The directory; it must not be there yet
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// How many C files; without this it stays empty but for a mark
    #[arg(long, value_name = "N")]
    c_files: Option<u64>,
}

pub fn run(system: &dyn System, arguments: &TreeArguments) -> Outcome<()> {
    let mark = (MARK.to_owned(), "Created by a study, which removes this directory.\n".to_owned());
    let tree = [mark].into_iter().chain(arguments.c_files.map(files).into_iter().flatten());
    let directory = &arguments.directory;
    system.make_tree(directory, &tree.collect::<Vec<_>>()).map_err(|error| {
        let message = format!("{}: {error}", directory.display());
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::mistake(message),
            _ => Failure::refused(message),
        }
    })
}
