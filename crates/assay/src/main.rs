//! The `assay` command.

use std::process::ExitCode;

use assay::cli;
use assay::real::Real;

fn main() -> ExitCode {
    let arguments = match cli::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(told) => return told,
    };
    let code = cli::run(&Real::new(), arguments);
    assay::real::leave();
    code
}
