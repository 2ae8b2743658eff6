//! What `assay run --vm` runs in the virtual machine: the study, with what happens told as data to this
//! program on the other side. The result itself goes there as files.

use std::path::Path;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::study_arguments::Permitted;
use super::{output, running, studies};
use assay_base::failure::{Failure, Outcome};
use assay_runner::runner::{Event, Request};
use assay_study::plan::allocation::Quick;
use assay_system::system::{System, virtual_machine};
use assay_verdict::analysis;

/// Name of the command.
pub const COMMAND: &str = "in-vm";

/// A study in the virtual machine that was made for it; `run --vm` calls it.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The study's file.
    study: String,
    /// A quick look.
    #[arg(long)]
    quick: bool,
    /// Replicates that were named for it.
    #[arg(long, requires = "quick")]
    replicates: Option<u32>,
    #[command(flatten)]
    permitted: Permitted,
}

/// A line that is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Said {
    /// Something happened.
    Event(Event),
    /// It ended, perhaps not well.
    Ended(Ending),
}

/// How a study ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ending {
    /// What is the matter, if anything.
    pub failure: Option<Failure>,
    /// Finished trials.
    pub trials: usize,
}

fn say(said: &Said) {
    // What is text and numbers can always be written.
    output::line(&serde_json::to_string(said).unwrap_or_default());
}

/// Runs the command; how it ended is told, and no failure of this side.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    if virtual_machine::own(system).is_none() {
        return Err(Failure::mistake(format!(
            "assay {COMMAND} is what runs in a virtual machine: say assay run STUDY --vm"
        )));
    }
    let ending = study(system, arguments)
        .unwrap_or_else(|failure| Ending { failure: Some(failure), trials: 0 });
    say(&Said::Ended(ending));
    Ok(())
}

fn study(system: &dyn System, arguments: &Arguments) -> Outcome<Ending> {
    let path = Path::new(&arguments.study).display().to_string();
    let study = studies::load(system, &path)?;
    let word = study.target.as_ref().map(assay_study::study::Target::word);
    let request = Request {
        consented: arguments.permitted.consented(&[])?,
        results: running::results_directory(system)?,
        quick: arguments.quick.then_some(Quick { replicates: arguments.replicates }),
        read: Some(analysis::trial_metric),
        ..Request::bare(study, vec![word.unwrap_or_else(|| ".".to_owned())])
    };
    let ran = running::run_telling(system, request, &mut |event| say(&Said::Event(event)))?;
    let trials = ran.trials();
    Ok(Ending { failure: running::close(system, ran).err(), trials })
}
