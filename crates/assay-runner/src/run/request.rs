//! Parameters of a run.

use std::path::PathBuf;
use std::time::Duration;

use super::fleet::FleetMember;
use assay_machine::system::System;
use assay_machine::system::identity::{self, Caller};
use assay_study::file::Study;
use assay_study::plan::allocation::Quick;
use assay_study::results::bundle::Stored;
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;
use assay_study::results::vouch::Voucher;

/// Permissions that the user gave on the command line.
#[derive(Clone, Debug, Default)]
pub struct Consented {
    pub destroy: Vec<String>,
    /// Settings that may be written although studies normally must not.
    pub allowed: Vec<PathBuf>,
    /// Under sudo, run commands as root, not as the calling user.
    pub as_root: bool,
    pub wait: Duration,
}

impl Consented {
    pub(super) fn runs_as(&self, system: &dyn System) -> Option<Caller> {
        if self.as_root { None } else { identity::caller(system) }
    }
}

/// Returns why the trials so far are enough to end the study; `None` if it continues.
pub type InterimAnalysis<'a> = dyn Fn(&Plan, &Environment, &[Trial]) -> Option<String> + 'a;

/// Returns a metric of a trial, or why it is missing.
pub type NumberOf = fn(&Plan, &Environment, &Trial, &str) -> Result<f64, String>;

/// Returns the logarithm of a trial's value in a race, higher is better.
pub type LogOf = fn(&Plan, &Environment, &Trial) -> Option<f64>;

#[derive(Clone, Copy, Default)]
pub struct Looks<'a> {
    pub interim: Option<&'a InterimAnalysis<'a>>,
    pub log: Option<LogOf>,
    /// Called at each trial of a study whose course depends on its numbers.
    pub read: Option<NumberOf>,
}

/// Returns one sentence per workload on what a plan can detect.
pub type Foresee<'a> = dyn Fn(&Plan) -> Vec<String> + 'a;

pub struct Request<'a> {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    pub targets: Vec<String>,
    pub consented: Consented,
    /// Directory of bundles; `None` stores nothing.
    pub results: Option<PathBuf>,
    pub interim: Option<&'a InterimAnalysis<'a>>,
    pub log: Option<LogOf>,
    /// One sentence on this process's own monitoring during the run, if any.
    pub observer: Option<String>,
    pub quick: Option<Quick>,
    pub foresee: Option<&'a Foresee<'a>>,
    pub read: Option<NumberOf>,
    pub fleet: Option<FleetMember<'a>>,
}

impl Request<'_> {
    pub fn bare(study: Study, targets: Vec<String>) -> Self {
        Self {
            study,
            targets,
            consented: Consented::default(),
            results: None,
            interim: None,
            log: None,
            observer: None,
            quick: None,
            foresee: None,
            read: None,
            fleet: None,
        }
    }
}

pub struct Acting {
    pub stored: Stored,
    pub voucher: Voucher,
    pub directory: PathBuf,
}
