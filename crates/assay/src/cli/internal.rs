//! Internal commands that this program starts by itself, most of them as one process per trial.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{output, watchdog};
use assay_core::failure::{Failure, Outcome};
use assay_load::{Micro, repeat};
use assay_machine::system::{System, virtual_machine};
use assay_runner::real::guest::place;
use assay_workloads::command::tree::{MARK, files};
use assay_workloads::memory::{ChildJob, hold};
use assay_workloads::stacks;

#[derive(Debug, Subcommand)]
pub enum InternalCommand {
    /// Start threads with stacks, and read this process's memory meanwhile
    #[command(hide = true)]
    Stacks {
        /// How many threads
        #[arg(value_name = "N")]
        threads: u32,
        /// Bytes that are reserved for the stack of each
        #[arg(value_name = "BYTES")]
        limit_bytes: u64,
    },
    /// Have pages of memory, go to them, and say what that took
    ///
    /// The kernel may kill this process.
    #[command(hide = true)]
    HoldPages {
        /// What is to be done, as JSON
        #[arg(value_name = "JOB")]
        job: String,
    },
    /// Make a directory with a generated tree of C in it, or an empty one
    #[command(hide = true)]
    Tree {
        /// The directory; it must not be there yet
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
        /// How many C files; without this it stays empty but for a mark
        #[arg(long, value_name = "N")]
        c_files: Option<u64>,
    },
    /// Repeat a basic operation of the machine
    #[command(hide = true)]
    Micro {
        /// Which one
        #[arg(value_name = "OPERATION")]
        operation: String,
        /// For how many nanoseconds
        #[arg(value_name = "NS")]
        time_ns: u64,
    },
    /// Do the job on the drive of the virtual machine that was made for it
    #[command(hide = true)]
    InVmDrive,
    #[command(hide = true)]
    Watchdog(watchdog::WatchdogArguments),
}

impl InternalCommand {
    pub fn run(self, system: &dyn System) -> Outcome<()> {
        match self {
            Self::Stacks { threads, limit_bytes } => {
                let held = stacks::hold(system, threads, limit_bytes);
                output::json(&held.map_err(|error| refused!("cannot start a thread: {error}"))?);
                Ok(())
            }
            Self::HoldPages { job } => {
                let job: ChildJob =
                    serde_json::from_str(&job).map_err(|error| mistake!("not a job: {error}"))?;
                hold(system, &job, &mut |line| output::text(line))
                    .map_err(|error| refused!("cannot allocate the pages: {error}"))
            }
            Self::Tree { directory, c_files } => make_tree(system, &directory, c_files),
            Self::Micro { operation: name, time_ns } => {
                let operation =
                    Micro::find(&name).ok_or_else(|| mistake!("unknown operation `{name}`"))?;
                let done = repeat(operation, time_ns);
                output::json(&done.map_err(|error| refused!("{name}: {error}"))?);
                Ok(())
            }
            Self::InVmDrive if !virtual_machine::is_one(system) => Err(mistake!(
                "this command is for use inside the test VM only; use assay run durability --set method=kill"
            )),
            // What it is to do comes through a port.
            Self::InVmDrive => place::obey().map_err(Failure::refused),
            Self::Watchdog(arguments) => watchdog::run(system, &arguments),
        }
    }
}

/// Creates the tree for a command, as the user who runs the study's commands.
fn make_tree(system: &dyn System, directory: &Path, c_files: Option<u64>) -> Outcome<()> {
    let mark = (MARK.to_owned(), "Created by a study, which removes this directory.\n".to_owned());
    let tree = [mark].into_iter().chain(c_files.map(files).into_iter().flatten());
    system.make_tree(directory, &tree.collect::<Vec<_>>()).map_err(|error| {
        let message = format!("{}: {error}", directory.display());
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::mistake(message),
            _ => Failure::refused(message),
        }
    })
}
