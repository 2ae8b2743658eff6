//! What a study of durability runs in a virtual machine whose power it takes: the job that writes, and reads back what is there.

use clap::Args;

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, virtual_machine};
use assay_runner::real::guest::place;

/// The job on the drive of the virtual machine that was made for it; a study calls it.
#[derive(Debug, Args)]
pub struct InVmDriveArguments {}

/// Runs the command: what it is to do comes through a port.
pub fn run(system: &dyn System, _: &InVmDriveArguments) -> Outcome<()> {
    if !virtual_machine::is_one(system) {
        return Err(Failure::mistake(
            "this command is for use inside the test VM only; use assay run durability --set method=kill",
        ));
    }
    place::obey().map_err(Failure::refused)
}
