//! `assay check`: the main job.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;

use super::{output, progress::Progress, results};
use crate::failure::{Failure, Outcome};
use crate::plan::budget::SMALLEST_BUDGET_NS;
use crate::quantity::{Bytes, Time};
use crate::report;
use crate::runner;
use crate::study::{Io, Mix, Pattern, SMALLEST_AREA_BYTES, Study, Workload, presets};
use crate::system::{System, identity};

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
  assay check /dev/sdX --destroy ID  a drive, overwritten; ID from: assay list drives
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
    /// Overwrite the block device with this id (see: assay list drives)
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    /// One JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
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
        destroy: arguments.destroy,
        results: results_directory(system),
    };
    let stop = stop_on_signals()?;
    let mut progress = Progress::new(arguments.quiet);
    let finished = runner::run(system, request, &stop, &mut |event| progress.show(&event));
    progress.finish();
    let finished = finished?;
    if finished.interrupted {
        return Err(interrupted(&finished));
    }
    let kept = finished.directory.is_some();
    let findings = results::findings_of_run(finished);
    if arguments.json {
        output::text(&report::json(&findings));
        return Ok(());
    }
    let document = report::document::make(&findings);
    output::text(&report::text::render(&document, output::columns(system), output::colour(system)));
    if kept && !arguments.quiet {
        output::message(&format!("kept as {}; show it again with: assay show", findings.study.id));
    }
    Ok(())
}

fn interrupted(finished: &runner::Finished) -> Failure {
    let trials = finished.trials.len();
    Failure::interrupted(match &finished.directory {
        Some(_) if trials > 0 => {
            format!("interrupted; {trials} finished trials are kept: assay show {}", finished.id)
        }
        _ => "interrupted; nothing is left behind".to_owned(),
    })
}

fn results_directory(system: &dyn System) -> Option<std::path::PathBuf> {
    match identity::results_directory(system) {
        Ok(directory) => Some(directory),
        Err(failure) => {
            output::message(&format!("the result is not kept: {}", failure.message));
            None
        }
    }
}

/// The shipped study with the command line's wishes.
fn study(arguments: &Arguments) -> Outcome<Study> {
    let mut study = presets::check()?;
    let quick = arguments.quick.then(|| QUICK_BUDGET.to_owned());
    if let Some(text) = arguments.budget.clone().or(quick) {
        study.budget = Some(budget(&text)?);
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

fn budget(text: &str) -> Outcome<Time> {
    let budget: Time =
        text.parse().map_err(|error| Failure::mistake(format!("--budget: {error}")))?;
    if budget.0 < SMALLEST_BUDGET_NS {
        return Err(Failure::mistake(format!(
            "--budget {text}: that is too short to measure anything; say at least 2 s"
        )));
    }
    Ok(budget)
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
    Ok(Workload {
        name: "random-mixed-q32".to_owned(),
        io: Io {
            pattern: Pattern::Random,
            mix,
            size: Bytes(4096),
            depth: 32,
            threads: 1,
            direct: true,
            content: crate::study::Content::Random,
            sync: crate::study::WriteSync::None,
            engine: crate::study::Engine::Auto,
            time: None,
            ramp: None,
        },
    })
}

/// A flag that INT, TERM and HUP raise; a second signal ends the process at once.
fn stop_on_signals() -> Outcome<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the first signal finds the flag down and only raises it.
        let registered =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        registered
            .map_err(|error| Failure::refused(format!("signals cannot be caught: {error}")))?;
    }
    Ok(stop)
}
