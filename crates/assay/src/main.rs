//! The `assay` command.

use std::process::ExitCode;

use assay::cli;
use assay_runner::real::Real;

fn main() -> ExitCode {
    cli::hand_over(std::io::stdout(), std::io::stderr());
    let real = Real::new();
    let arguments = match cli::parse(&real, std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let code = cli::run(&real, arguments);
    assay_runner::real::leave();
    code
}
