//! `assay aa-test`: measures the noise floor of this machine with identical configurations.

use clap::Args;

use super::{output, running, studies};
use assay_analysis::inference;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_runner::run::{Consented, Request};
use assay_study::file::{StopRule, Study};

/// Four copies of the baseline give six pairs.
const DEFAULT_COPIES: u32 = 4;

/// Measure the noise floor with identical configurations
///
/// Runs a study with identical copies of the baseline. All differences between the copies are noise; a significant
/// difference is a false positive.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay aa-test                       run the workloads of assay check here
  assay aa-test check /mnt/card       run the same workloads on a card
  assay aa-test depth.toml /mnt/card  run the workloads of a study file
  assay aa-test --copies 6 --replicates 10")]
pub struct AaTestArguments {
    /// Study file or preset
    #[arg(value_name = "STUDY", default_value = "check")]
    study: String,
    /// Directory, file or block device [default: target of the study]
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Number of identical configurations
    #[arg(long, value_name = "N", default_value_t = DEFAULT_COPIES)]
    copies: u32,
    /// Run N complete passes
    #[arg(long, value_name = "N", default_value_t = assay_study::file::DEFAULT_REPLICATES)]
    replicates: u32,
    /// Set the seed of order, offsets and data [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite this device: ID and +NAMEs as printed by assay plan
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    how: running::Printing,
}

pub fn run(system: &dyn System, arguments: AaTestArguments) -> Outcome<()> {
    if !(2..=26).contains(&arguments.copies) {
        return Err(mistake!("--copies {}: use 2 to 26", arguments.copies));
    }
    let replicates = arguments.replicates;
    if !(3..=1000).contains(&replicates) {
        return Err(mistake!(
            "--replicates {replicates}: use 3 to 1000; fewer give no confidence interval"
        ));
    }
    let study = with_copies(studies::load(system, &arguments.study)?, &arguments);
    let study_target = study.target.iter().map(assay_study::file::Target::word).next();
    let target = arguments.target.or(study_target).unwrap_or_else(|| ".".to_owned());
    let request = Request {
        consented: Consented { destroy: arguments.destroy, ..Consented::default() },
        results: running::results_directory(system)?,
        ..Request::bare(study, vec![target])
    };
    running::end(system, running::run(system, request, arguments.how.quiet)?, |findings, _| {
        let test = inference::aa_test(findings);
        if arguments.how.json {
            output::json(&test);
        } else {
            output::text(&assay_report::aa_test::render(&test, output::columns(system)));
        }
        Ok(())
    })
}

/// Returns a study with a single factor, whose levels are identical copies of the baseline.
fn with_copies(study: Study, arguments: &AaTestArguments) -> Study {
    let copies = ('a'..='z').take(arguments.copies as usize).map(String::from).collect();
    let mut study = Study { replicates: arguments.replicates, seed: arguments.seed, ..study };
    if study.preset.as_deref() == Some("check") {
        // A budget of a check assumes seven trials per replicate.
        study.budget = None;
        study = study.quick();
    }
    let mut baseline = assay_study::results::plan::Arm::new();
    for (name, levels) in &study.factors {
        let Some(first) = levels.first() else { continue };
        let level = study.baseline.get(name).unwrap_or(first);
        baseline.insert(name.clone(), level.clone());
    }
    for workload in &mut study.workload {
        if let Ok(changed) = workload.under(&baseline) {
            *workload = changed;
        }
    }
    study.title = format!("Identical settings: {}", study.title);
    study.preset = None;
    study.factors = [("aa_copy".to_owned(), copies)].into();
    study.baseline.clear();
    study.configurations.clear();
    study.hard_to_change.clear();
    study.aa_control = Some(false);
    study.gate = None;
    study.requirements = None;
    // Questions for the next rate to try do not apply to copies.
    study.question.retain(|ask| ask.kind != assay_study::file::AskKind::MaxRate);
    if study.stop.rule != StopRule::Fixed {
        study.stop = assay_study::file::Stop::default();
    }
    study.settled()
}
