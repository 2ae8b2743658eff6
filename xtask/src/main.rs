//! Chores of the workspace: `cargo xtask help` lists them. Not shipped.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a chore is for")]

mod bench;
mod bpf;
mod browser;
mod build;
mod fuzz;
mod guest;
mod instructions;
mod kills;
mod lab_guest;
mod pages;
mod plug;
#[cfg(feature = "schema")]
mod schemas;
mod simulation;
mod vm;

use std::process::ExitCode;

use assay_testkit as lab;
use clap::Parser;
use lab::Done;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Chore {
    /// Run a command with assay in a QEMU guest and copy the results back
    Lab(lab_guest::LabOptions),
    /// Write docs/reference and the picture of the README
    Pages(pages::PagesOptions),
    /// Write docs/reference/schemas
    #[cfg(feature = "schema")]
    Schemas {
        /// Fail if a schema is stale instead of writing it
        #[arg(long)]
        check: bool,
    },
    /// Test all pages in Chromium; skip the tests if Chromium is not installed
    Browser {
        /// Test only the report page
        #[arg(long)]
        report: bool,
    },
    /// Compare two commands per row of xtask/bench.toml with `assay run`
    Bench(bench::BenchOptions),
    /// Count instructions per operation of the null engine with callgrind; fail above the limit
    Instructions {
        /// Only run this number of operations
        #[arg(long, hide = true)]
        operations: Option<u64>,
    },
    /// Build the BPF program that counts block requests (needs clang, llvm-strip)
    Bpf,
    /// Kill studies that change the machine and check that assay restore restores it (root)
    Kills(kills::KillsOptions),
    /// End every study that changes the machine with one to three signals (root)
    Signals {
        #[arg(long, default_value_t = 200)]
        count: u32,
    },
    /// Measure false verdicts, power and coverage on simulated studies with a known truth
    Simulate(simulation::SimulationOptions),
    /// Feed damaged files to all readers, which must accept or reject them but never panic
    Fuzz(fuzz::FuzzOptions),
}

fn main() -> ExitCode {
    match run(Chore::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the exit code: 1 if a chore found a fault, which it has printed.
fn run(chore: Chore) -> Done<u8> {
    let is_well = match chore {
        Chore::Lab(options) => return lab_guest::run(options),
        Chore::Pages(options) => pages::run(&options)?,
        #[cfg(feature = "schema")]
        Chore::Schemas { check } => schemas::run(check)?,
        Chore::Browser { report } => browser::run(report)?,
        Chore::Bench(options) => bench::run(&options)?,
        Chore::Instructions { operations } => instructions::run(operations)?,
        Chore::Bpf => bpf::run()?,
        Chore::Kills(options) => kills::run(&options)?,
        Chore::Signals { count } => kills::run_signals(count)?,
        Chore::Simulate(options) => simulation::run(&options)?,
        Chore::Fuzz(options) => fuzz::run(&options)?,
    };
    Ok(u8::from(!is_well))
}

/// Prints the context of a table of measurements: machine, load, date.
fn print_machine() {
    println!("{}\n", lab::facts::lines().join("\n"));
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn options_of_chores_are_consistent() {
        super::Chore::command().debug_assert();
    }
}
