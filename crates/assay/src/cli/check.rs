//! `assay check`: the main job.

use clap::Args;

use super::{running, study_arguments};
use crate::runner::{self, Consented};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;
use assay_core::study::{SMALLEST_AREA_BYTES, Study, Workload, presets};
use assay_core::system::System;
use assay_core::work::Kind as _;
use assay_core::work::io::{self, Mix};

/// Budget of `--quick`.
const QUICK_BUDGET: &str = "15 s";

/// Honest speed of the storage under a directory, a file or a block device
///
/// Writes an area of its own with random data, then reads and writes in it with seven workloads,
/// three times each in random order, and says how far each number can be trusted. Needs no root.
/// In a directory it makes its own file and removes it; an existing file or a block device is only
/// read, unless --destroy names the device.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay check                        this directory
  assay check --quick /media/card    a card, in about 15 s
  assay check /mnt/a /mnt/b          two places, compared
  assay check --mix 70/30            with a row of mixed reads and writes
  assay check /dev/sdX               a drive, only read (as root)
  assay check /dev/sdX --destroy ID  a drive, overwritten; ID from: assay plan check /dev/sdX
  assay check --json | jq .cells     for scripts")]
pub struct Arguments {
    /// Directories, files or block devices; several are compared [default: .]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// About 15 s instead of a minute
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// Time for each target, such as 5m [default: 60 s]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Bytes to write and measure in, such as 4GiB [default: 1 GiB or a tenth of the free space]
    #[arg(long, value_name = "SIZE")]
    area: Option<String>,
    /// Add a row of mixed random reads and writes, in percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE")]
    mix: Option<String>,
    /// Seed of order, offsets and content; drawn where it is not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite the block device: its id and +NAME for all it carries (see: assay plan)
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    how: running::Printing,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: Arguments) -> Outcome<()> {
    let request = runner::Request {
        study: study(&arguments)?,
        targets: if arguments.targets.is_empty() {
            vec![".".to_owned()]
        } else {
            arguments.targets
        },
        consented: Consented { destroy: arguments.destroy, ..Consented::default() },
        results: running::results_directory(system)?,
        judge: None,
        observer: None,
        quick: None,
        foresee: None,
    };
    let finished = running::run(system, request, arguments.how.quiet)?;
    running::print(system, finished, arguments.how)
}

/// The shipped study as the command line asks for it.
fn study(arguments: &Arguments) -> Outcome<Study> {
    let mut study = presets::check()?;
    let quick = arguments.quick.then(|| QUICK_BUDGET.to_owned());
    if let Some(text) = arguments.budget.clone().or(quick) {
        study.budget = Some(study_arguments::budget(&text)?);
    }
    if let Some(text) = &arguments.area {
        study.area.size = Some(area(text)?);
    }
    if let Some(text) = &arguments.mix {
        study.workload.push(mixed(text)?);
    }
    study.seed = arguments.seed;
    Ok(study)
}

fn area(text: &str) -> Outcome<Bytes> {
    let size: Bytes = text.parse().map_err(|error| Failure::mistake(format!("--area: {error}")))?;
    if size.0 < SMALLEST_AREA_BYTES {
        return Err(Failure::mistake(format!(
            "--area {text}: the smallest area is {}",
            Bytes(SMALLEST_AREA_BYTES)
        )));
    }
    Ok(size)
}

/// The row that `--mix` adds.
fn mixed(text: &str) -> Outcome<Workload> {
    let mix: Mix = text.parse().map_err(|error| Failure::mistake(format!("--mix: {error}")))?;
    let io = io::Asked { mix, depth: 32, ..io::Asked::sample() };
    Ok(Workload {
        name: "random-mixed-q32".to_owned(),
        work: io.into(),
        background: None,
        optional: false,
    })
}
