//! `assay check`: the main job.

use clap::Args;

use super::{running, study_arguments};
use crate::runner::{self, Consented};
use assay_base::failure::{Failure, Outcome};
use assay_kinds::work::Kind as _;
use assay_kinds::work::capacity::{self, Probe, Verdict};
use assay_kinds::work::io::{self, Mix};
use assay_study::findings::OfKinds;
use assay_study::study::{Order, Study, Workload, presets};
use assay_system::system::System;

/// Budget of `--quick`.
const QUICK_BUDGET: &str = "15 s";
/// Trials of each workload where targets are compared: of three pairs an interval is so wide that hardly
/// any difference shows.
const COMPARED: u32 = 6;

/// Honest speed of the storage under a directory, a file or a device
///
/// Writes an area of its own with random data, then reads and writes in it with seven workloads,
/// three times each in random order (six times where targets are compared), and says how far each number
/// can be trusted. Needs no root.
/// In a directory it makes its own file and removes it; an existing file or a block device is only
/// read, unless --destroy names the device.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay check                        this directory
  assay check --quick /media/card    a card, in about 15 s
  assay check /mnt/a /mnt/b          two places, compared: which for a database? the line sync-write
  assay check --mix 70/30            with a row of mixed reads and writes
  assay check /dev/sdX               a drive, only read (as root)
  assay check /dev/sdX --destroy ID  a drive, overwritten; ID from: assay plan check /dev/sdX
  assay check --capacity /media/card does a card hold what it says? in its free space, in minutes
  assay check --capacity=full --sustained /dev/sdX --destroy ID
                                     every block, and what it writes for long; all data are lost
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
    /// Whether it holds what it says, instead of its speed: fast in minutes, full writes every block. On a
    /// device with --destroy, or in the free space of a directory; exit code 1 where it holds less, 5 where
    /// memory may have answered
    #[arg(
        long,
        value_name = "fast|full",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "fast",
        conflicts_with_all = ["quick", "mix"]
    )]
    capacity: Option<String>,
    /// What it writes for long, instead of its speed: where the rate falls, and what is left then
    #[arg(long, conflicts_with_all = ["quick", "mix"])]
    sustained: bool,
    /// Add a row of mixed random reads and writes, in percent, such as 70/30
    #[arg(long, value_name = "READ/WRITE")]
    mix: Option<String>,
    /// Seed of order, offsets and content; drawn where it is not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite the block device: its ID, and +NAME for all it carries; assay plan tells both
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    waiting: running::Waiting,
    #[command(flatten)]
    how: running::Printing,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: Arguments) -> Outcome<()> {
    let takes_all = arguments.capacity.is_some() || arguments.sustained;
    if takes_all && arguments.targets.is_empty() {
        return Err(Failure::mistake(
            "this takes all the free space of a directory, or all of a device: name which, such as: assay \
             check --capacity /media/card",
        ));
    }
    let request = runner::Request {
        study: study(&arguments)?,
        targets: if arguments.targets.is_empty() {
            vec![".".to_owned()]
        } else {
            arguments.targets
        },
        consented: arguments
            .waiting
            .with(Consented { destroy: arguments.destroy, ..Consented::default() }),
        results: running::results_directory(system)?,
        judge: None,
        observer: None,
        quick: None,
        foresee: None,
    };
    let first = request.targets.first().cloned().unwrap_or_default();
    let ran = running::run(system, request, arguments.how.quiet)?;
    running::judged(system, ran, arguments.how, |found| gate(&found.of_kinds, &first))
}

/// The gate that `--capacity` is: what was found to hold less than it says fails it, and where memory may
/// have answered it has no statement.
fn gate(told: &OfKinds, only: &str) -> Option<Failure> {
    let names = |wanted: &dyn Fn(&capacity::Facts) -> bool| {
        let named = |own: &capacity::Facts| match own.arm.get("target") {
            Some(target) => target.clone(),
            None => only.to_owned(),
        };
        let looks = told.all().filter_map(capacity::Facts::of);
        let mut names: Vec<String> = looks.filter(|own| wanted(own)).map(named).collect();
        names.dedup();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let short = names(&|own| own.verdict.is_short());
    let untold = || names(&|own| own.verdict == Verdict::NotTold);
    short.map(|names| Failure::gate(format!("{names} does not hold what it says"))).or_else(|| {
        let names = untold()?;
        Some(Failure::partial(format!(
            "no statement about {names}: memory may have answered for the medium"
        )))
    })
}

/// The shipped study as the command line asks for it.
fn study(arguments: &Arguments) -> Outcome<Study> {
    let mut study = asked(arguments)?;
    let quick = arguments.quick.then(|| QUICK_BUDGET.to_owned());
    if let Some(text) = arguments.budget.clone().or(quick) {
        study.budget = Some(study_arguments::budget(&text)?);
    }
    if let Some(text) = &arguments.area {
        study.area.size = Some(study_arguments::area(text)?);
    }
    if let Some(text) = &arguments.mix {
        study.workload.push(mixed(text)?);
    }
    if arguments.targets.len() > 1 && !study.needs_whole() {
        study.replicates = COMPARED;
    }
    study.seed = arguments.seed;
    if study.needs_whole() && study.budget.is_none() {
        // What goes through all of something takes its own time.
        study.workload.iter_mut().for_each(|own| own.work.settle());
    }
    Ok(study)
}

/// The shipped study: of speed, of capacity, of writing for long, or of the latter two.
fn asked(arguments: &Arguments) -> Outcome<Study> {
    let Some(word) = &arguments.capacity else {
        return if arguments.sustained { presets::sustained() } else { presets::check() };
    };
    let probe = Probe::find(word)
        .ok_or_else(|| Failure::mistake(format!("--capacity={word}: say fast or full")))?;
    let mut study = presets::capacity()?;
    for own in study.workload.iter_mut().filter_map(|own| capacity::Asked::of_mut(&mut own.work)) {
        own.probe = probe;
    }
    if arguments.sustained {
        // Before all others: what they write would lie in the cache already.
        study.workload.splice(0..0, presets::sustained()?.workload);
        study.order = Order::Sequential;
    }
    Ok(study)
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

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn of(words: &[&str]) -> Study {
        let command = Arguments::augment_args(clap::Command::new("check"));
        let line = std::iter::once("check").chain(words.iter().copied());
        let matches = command.try_get_matches_from(line).unwrap();
        study(&Arguments::from_arg_matches(&matches).unwrap()).unwrap()
    }

    #[test]
    fn targets_that_are_compared_have_six_trials_each() {
        assert_eq!(of(&["/mnt/a", "/mnt/b"]).replicates, 6);
        assert_eq!(of(&["--quick", "/mnt/a", "/mnt/b"]).replicates, 6);
        assert_eq!((of(&[]).replicates, of(&["/mnt/a"]).replicates), (3, 3));
        // What goes through all of a drive does that once.
        assert_eq!(of(&["--sustained", "/mnt/a", "/mnt/b"]).replicates, 1);
    }
}
