//! What a run is asked for.

use std::path::PathBuf;
use std::time::Duration;

use super::fleet::Member;
use assay_machine::system::System;
use assay_machine::system::identity::{self, Caller};
use assay_study::file::Study;
use assay_study::plan::allocation::Quick;
use assay_study::results::bundle::Stored;
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;
use assay_study::results::vouch::Voucher;

/// What the user has said himself that a study may do, on the command line and nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Consented {
    pub destroy: Vec<String>,
    /// Settings that may be written though studies usually have no business there.
    pub allowed: Vec<PathBuf>,
    /// Under sudo, commands run as root too, and not as the user who called it.
    pub as_root: bool,
    pub wait: Duration,
}

impl Consented {
    pub(super) fn runs_as(&self, system: &dyn System) -> Option<Caller> {
        if self.as_root { None } else { identity::caller(system) }
    }
}

/// What a judge makes of the trials so far: whether that is enough, and why.
pub type Judge<'a> = dyn Fn(&Plan, &Environment, &[Trial]) -> Option<String> + 'a;

/// Reads a metric off a trial: its value, or why there is none.
pub type NumberOf = fn(&Plan, &Environment, &Trial, &str) -> Result<f64, String>;

/// Reads off a trial the logarithm of what it counts by in a race, the higher the better.
pub type LogOf = fn(&Plan, &Environment, &Trial) -> Option<f64>;

#[derive(Clone, Copy, Default)]
pub struct Looks<'a> {
    pub judge: Option<&'a Judge<'a>>,
    pub log: Option<LogOf>,
    /// At each trial of a study whose course follows from its numbers.
    pub read: Option<NumberOf>,
}

/// Says, in a sentence a workload, what a plan will be able to see.
pub type Foresee<'a> = dyn Fn(&Plan) -> Vec<String> + 'a;

pub struct Request<'a> {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    pub targets: Vec<String>,
    pub consented: Consented,
    /// Directory that holds the bundles; without one nothing is kept.
    pub results: Option<PathBuf>,
    pub judge: Option<&'a Judge<'a>>,
    pub log: Option<LogOf>,
    /// What of this process looks on meanwhile, one sentence, if something does.
    pub observer: Option<String>,
    pub quick: Option<Quick>,
    pub foresee: Option<&'a Foresee<'a>>,
    pub read: Option<NumberOf>,
    pub fleet: Option<Member<'a>>,
}

impl Request<'_> {
    pub fn bare(study: Study, targets: Vec<String>) -> Self {
        Self {
            study,
            targets,
            consented: Consented::default(),
            results: None,
            judge: None,
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
