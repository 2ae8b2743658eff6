//! Is the number what it says it is? One rule a file; each is a pure function of what the runner
//! recorded, so that an old bundle can be judged again by a newer rule.

use crate::catalogue::About;
use crate::results::findings::{Because, Trust};
use crate::results::plan::{PlannedWorkload, Survey};
use crate::results::record::TrialRecord;
use crate::system::site::Site;

/// Everything that a rule may look at: one workload at one target, with the trials that count.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What the target stands on.
    pub site: &'a Site,
    /// What was found at it beforehand.
    pub survey: &'a Survey,
    /// How the workload was run.
    pub workload: &'a PlannedWorkload,
    /// Its trials, lead-in and failed ones left out.
    pub trials: &'a [&'a TrialRecord],
}

/// What a rule has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How much it takes away; `Trusted` makes it a note.
    pub trust: Trust,
    /// One plain sentence, with numbers and units.
    pub text: String,
}

/// A rule.
pub trait TruthRule: Sync {
    /// Its own words.
    fn about(&self) -> &'static About;
    /// Its remark on a case, if it has one.
    fn judge(&self, case: &Case<'_>) -> Option<Remark>;
    /// For rules about events in time: what happened during this trial that nobody asked for.
    fn disturbance(&self, _case: &Case<'_>, _trial: &TrialRecord) -> Option<String> {
        None
    }
}

/// All rules, in the order in which they are told.
pub static RULES: &[&dyn TruthRule] = &[];

/// Trust and its reasons for a case: the worst word of any rule.
pub fn judge(case: &Case<'_>) -> (Trust, Vec<Because>) {
    let mut worst = Trust::Trusted;
    let mut because = Vec::new();
    for rule in RULES {
        if let Some(remark) = rule.judge(case) {
            worst = worst.max(remark.trust);
            because.push(Because { rule: rule.about().name.to_owned(), text: remark.text });
        }
    }
    (worst, because)
}

/// What disturbed a trial, if anything did.
pub fn disturbance(case: &Case<'_>, trial: &TrialRecord) -> Option<String> {
    let told: Vec<String> = RULES.iter().filter_map(|rule| rule.disturbance(case, trial)).collect();
    (!told.is_empty()).then(|| told.join("; "))
}
