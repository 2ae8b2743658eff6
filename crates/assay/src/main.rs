//! The `assay` command.

use std::process::ExitCode;

use assay::cli;
use assay::system::Real;

fn main() -> ExitCode {
    let arguments = match cli::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(told) => return told,
    };
    cli::run(&Real::new(), arguments)
}
