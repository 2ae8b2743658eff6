//! `assay calc`: arithmetic behind a setting.

mod flash_time;
mod memmap;
mod modeline;
mod page;
mod raid;
#[cfg(test)]
mod tests;
mod zram;

use clap::{Args, Subcommand};

use super::output;
use assay_core::failure::Outcome;
use assay_machine::system::System;

/// Compute display modes, RAID, zram, memory maps, test times
///
/// Only computes and prints. Needs no privileges and accesses no device.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = false,
    after_help = "\
Examples:
  assay calc modeline 3840x2400 --clock 165 --h 31-105 --v 12-60
      highest refresh rate within these limits
  assay calc raid --level 5 --disks 4 --size 3TB --chunk 128KiB --write 2KiB
      capacity and bytes moved per write
  assay calc zram --memory 512MiB           size, memory cost and settings
  assay calc memmap mem=448M@0M mem=48M@464M --before 448M
      sum, gaps and overlaps of regions
  assay calc flash-time --iops 1,19,90      time of a pass over 512 MiB"
)]
pub struct CalcArguments {
    #[command(subcommand)]
    calculation: Calculation,
}

#[derive(Debug, Subcommand)]
enum Calculation {
    Modeline(modeline::ModelineArguments),
    Raid(raid::RaidArguments),
    Zram(zram::ZramArguments),
    Memmap(memmap::MemmapArguments),
    FlashTime(flash_time::FlashTimeArguments),
}

pub fn run(system: &dyn System, arguments: &CalcArguments) -> Outcome<()> {
    output::text(&output_text(system, &arguments.calculation)?);
    Ok(())
}

fn output_text(system: &dyn System, calculation: &Calculation) -> Outcome<String> {
    match calculation {
        Calculation::Modeline(arguments) => modeline::run(system, arguments),
        Calculation::Raid(arguments) => raid::run(system, arguments),
        Calculation::Zram(arguments) => zram::run(system, arguments),
        Calculation::Memmap(arguments) => memmap::run(system, arguments),
        Calculation::FlashTime(arguments) => flash_time::run(system, arguments),
    }
}
