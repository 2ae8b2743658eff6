//! `assay run`: a study from its file.

use clap::Args;

use super::running;
use super::wishes::Wishes;
use crate::failure::Outcome;
use crate::runner::Request;
use crate::system::System;

/// Run a study: every setting under the same control, with intervals and verdicts
///
/// A study file says what to compare: a target, workloads, factors with their levels. The trials
/// run in random order, six replicates of each arm by default, each arm is compared with
/// the baseline within its replicate, and every comparison ends with one of four verdicts: better,
/// worse, equivalent within the margin, or inconclusive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay plan depth.toml                      what it would do, how long, what it can see
  assay run depth.toml                       run it where the file says
  assay run depth.toml /mnt/card             run it there
  assay run depth.toml --set depth=1,4,16    other levels, or another factor
  assay run depth.toml --budget 10m --json   end with the replicate nearest to 10 minutes
  assay run depth.toml --watch               with a live page of the device meanwhile
  assay list factors                         what can vary")]
pub struct Arguments {
    #[command(flatten)]
    wishes: Wishes,
    /// The page of `assay watch` meanwhile, with how far the study is
    #[arg(long, conflicts_with = "quiet")]
    watch: bool,
    #[command(flatten)]
    how: running::Printing,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: Arguments) -> Outcome<()> {
    let (study, targets) = arguments.wishes.study(system)?;
    let quick = arguments.wishes.quick();
    let request = Request {
        study,
        targets,
        allowed: arguments.wishes.allowed.paths()?,
        destroy: arguments.wishes.destroy,
        results: running::results_directory(system)?,
        judge: None,
        observer: None,
        quick,
        foresee: None,
    };
    let finished = if arguments.watch {
        running::run_on_page(system, request)?
    } else {
        running::run(system, request, arguments.how.quiet)?
    };
    running::conclude(system, finished, arguments.how)
}
