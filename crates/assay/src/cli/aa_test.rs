//! `assay selftest`: what this machine makes of no difference at all.

use clap::Args;

use super::{output, running, studies};
use assay_base::failure::{Failure, Outcome};
use assay_runner::runner::{Consented, Request};
use assay_study::study::{StopRule, Study};
use assay_system::system::System;
use assay_verdict::analysis;

/// Identical arms, until there are enough pairs of them to speak of.
const USUAL_ARMS: u32 = 4;

/// What this machine makes of identical settings: false positives, noise, detectable difference
///
/// Runs a study with copies of its baseline in the place of its settings. Whatever differs between
/// them is noise; pairs that are told apart are false positives of this machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay selftest --null                       with the workloads of assay check, here
  assay selftest --null check /mnt/card       the same, there
  assay selftest --null depth.toml /mnt/card  with those of a study, there
  assay selftest --null --arms 6 --replicates 10")]
pub struct Arguments {
    /// Run identical settings
    #[arg(long, required = true)]
    null: bool,
    /// A study file, or the name of a shipped study
    #[arg(value_name = "STUDY", default_value = "check")]
    study: String,
    /// Directory, file or block device instead of the study's own
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Identical settings
    #[arg(long, value_name = "N", default_value_t = USUAL_ARMS)]
    arms: u32,
    /// Complete passes over all settings
    #[arg(long, value_name = "N", default_value_t = assay_study::study::DEFAULT_REPLICATES)]
    replicates: u32,
    /// Seed of order, offsets and content; drawn where it is not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite the block device: its ID, and +NAME for all it carries; assay plan tells both
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    how: running::Printing,
}

pub fn run(system: &dyn System, arguments: Arguments) -> Outcome<()> {
    if !(2..=26).contains(&arguments.arms) {
        return Err(Failure::mistake(format!("--arms {}: say 2 to 26", arguments.arms)));
    }
    if !(3..=1000).contains(&arguments.replicates) {
        return Err(Failure::mistake(format!(
            "--replicates {}: say 3 to 1000; fewer give no interval",
            arguments.replicates
        )));
    }
    let study = null_study(studies::load(system, &arguments.study)?, &arguments);
    let own = study.target.iter().map(assay_study::study::Target::word).next();
    let target = arguments.target.or(own).unwrap_or_else(|| ".".to_owned());
    let request = Request {
        consented: Consented { destroy: arguments.destroy, ..Consented::default() },
        results: running::results_directory(system)?,
        ..Request::bare(study, vec![target])
    };
    let ran = running::run(system, request, arguments.how.quiet)?;
    running::end(system, ran, |findings, _| {
        let null = analysis::null(findings);
        if arguments.how.json {
            output::json(&null);
        } else {
            output::text(&assay_report::null::render(&null, output::columns(system)));
        }
        Ok(())
    })
}

/// The study with copies of its baseline in the place of its arms.
fn null_study(study: Study, arguments: &Arguments) -> Study {
    let copies = ('a'..='z').take(arguments.arms as usize).map(String::from).collect();
    let mut study = Study { replicates: arguments.replicates, seed: arguments.seed, ..study };
    if study.preset.as_deref() == Some("check") {
        // The budget of a check is for its own seven trials a replicate.
        study.budget = None;
        study = study.quick();
    }
    let first: Vec<_> =
        study.factors.iter().filter_map(|(name, levels)| Some((name, levels.first()?))).collect();
    let baseline: assay_study::results::plan::Arm = first
        .into_iter()
        .map(|(name, level)| (name.clone(), study.baseline.get(name).unwrap_or(level).clone()))
        .collect();
    for workload in &mut study.workload {
        if let Ok(own) = workload.under(&baseline) {
            *workload = own;
        }
    }
    study.title = format!("Identical settings: {}", study.title);
    study.preset = None;
    study.factors = [("copy".to_owned(), copies)].into();
    study.baseline.clear();
    study.arms.clear();
    study.costly.clear();
    study.control = Some(false);
    study.gate = None;
    study.fit = None;
    // Which rate comes next is no setting that could be copied.
    study.question.retain(|ask| ask.kind != assay_study::study::AskKind::MostLoad);
    if study.stop.rule != StopRule::Fixed {
        study.stop = assay_study::study::Stop::default();
    }
    study.settled()
}
