//! One row per workload and target: its trials in order, and their trust.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use assay_core::presence::Presence;
use assay_core::quantity::metric::{FDATASYNCS, Nature, Side};
use assay_machine::{probes::energy::Energy, system::machine::Machine, system::site::Site};
use assay_study::findings::{AbsentCell, Because, LENT, TrialValue, Trust, measurements::Series};
use assay_study::results::plan::{Arm, Plan, PlannedWorkload};
use assay_study::results::{environment::Environment, record::Trial, tally::Tally};
use assay_workloads::metrics::{is_told, nature, side};
use assay_workloads::{OwnMetric, io};

use super::{cells, hosts, series::cell_trial};
use crate::rules::{self, Case, RuleRemark, Unquiet};

pub(super) struct RowTrials<'a> {
    pub workload: &'a PlannedWorkload,
    pub arm: Arm,
    /// The target's device stack; `None` in a bundle without it.
    pub site: Option<&'a Site>,
    pub idle: &'a Presence<Energy>,
    /// Every started trial, in the order of the plan.
    pub trials: Vec<MeasuredTrial<'a>>,
    pub remarks: Vec<(&'static str, RuleRemark)>,
    /// Counted trials with activity of other programs.
    pub unquiet: Unquiet,
    /// The trust in the row's primary metric; `None` if nothing was measured.
    pub trust: Option<Trust>,
    /// Replicates that do not count, because they lost hosts.
    pub broken: BTreeSet<u32>,
}

pub(super) struct MeasuredTrial<'a> {
    pub record: &'a Trial,
    /// Service times in nanoseconds.
    pub latency_ns: Option<Cow<'a, Tally>>,
    /// Response times of an open loop in nanoseconds, from intended starts.
    pub response_ns: Option<Cow<'a, Tally>>,
    /// Nanoseconds of each `fdatasync` after a write, without the write.
    pub sync_ns: Option<Cow<'a, Tally>>,
    /// All times by class, as stored; `None` if only the record is needed.
    classes: Option<&'a BTreeMap<String, Tally>>,
}

impl<'a> MeasuredTrial<'a> {
    pub fn without_times(record: &'a Trial) -> Self {
        Self { record, latency_ns: None, response_ns: None, sync_ns: None, classes: None }
    }

    /// A trial with its times added up by purpose.
    pub fn new(trial: &'a Trial) -> Self {
        let is_response = |class: &str| io::of_response(class).is_some();
        let is_service = |class: &str| !is_response(class) && class != FDATASYNCS;
        Self {
            record: trial,
            latency_ns: merge_tallies(&trial.latency_ns, is_service),
            response_ns: merge_tallies(&trial.latency_ns, is_response),
            sync_ns: merge_tallies(&trial.latency_ns, |class| class == FDATASYNCS),
            classes: Some(&trial.latency_ns),
        }
    }

    /// The response or service times of one class of operations; `None` if it has none.
    pub fn times_of(&self, class: &str, is_response: bool) -> Option<&'a Tally> {
        let is_wanted = |name: &str| {
            if is_response { io::of_response(name) == Some(class) } else { name == class }
        };
        let mut classes = self.classes?.iter();
        classes.find(|(name, times)| is_wanted(name) && !times.is_empty()).map(|(_, times)| times)
    }

    /// Whether the trial counts: neither failed nor left out by design.
    pub fn counts(&self) -> bool {
        self.record.status.counts()
    }
}

impl<'a> RowTrials<'a> {
    /// Series of this row among those of all rows, including its classes.
    pub fn own_series<'s>(&self, series: &'s mut [Series]) -> impl Iterator<Item = &'s mut Series> {
        let own = (self.workload.name.as_str(), &self.arm, self.workload.control);
        series.iter_mut().filter(move |one| {
            let workload = one.class_of.as_ref().unwrap_or(&one.workload);
            (workload.as_str(), &one.arm, one.control) == own
        })
    }

    /// Adds a remark of a cross-row rule, and lowers the trust in the row and its series.
    pub fn add_remark(&mut self, rule: &'static str, remark: &RuleRemark, series: &mut [Series]) {
        self.trust = self.trust.max(Some(remark.trust));
        for one in self.own_series(series) {
            if remark.is_about(rule, nature(&one.metric)) {
                one.trust = one.trust.max(Some(remark.trust));
                one.because.push(remark.because(rule));
            }
        }
        self.remarks.push((rule, remark.clone()));
    }

    pub fn absent(&self, metric: Option<&str>, reason: String) -> AbsentCell {
        AbsentCell::new(&self.workload.name, &self.arm, metric, reason)
    }

    pub fn counting(&self) -> impl Iterator<Item = &MeasuredTrial<'a>> {
        self.trials.iter().filter(|trial| trial.counts())
    }

    /// Trials that the row's numbers summarize, among those with data.
    pub fn summed(&self, has_data: impl Fn(&MeasuredTrial<'a>) -> bool) -> Vec<&MeasuredTrial<'a>> {
        let trials = self.trials.iter();
        let values: Vec<TrialValue> =
            trials.map(|trial| cell_trial(trial, has_data(trial).then_some(1.0))).collect();
        cells::counted_positions(&values).into_iter().map(|index| &self.trials[index]).collect()
    }

    /// Whether a host provides the drive, whose caches are invisible here.
    pub fn is_borrowed(&self) -> bool {
        self.site.is_some_and(|site| site.drives.iter().any(rules::hides_its_cache))
    }

    /// The metrics that the measured programs report themselves, each once.
    pub fn own_metrics(&self) -> Vec<&OwnMetric> {
        let mut metrics: Vec<&OwnMetric> = Vec::new();
        let measured = self.trials.iter().filter_map(|trial| trial.record.measured.as_ref());
        for metric in measured.flat_map(|measured| measured.detail.own_metrics()) {
            if is_told(&metric.name) && metrics.iter().all(|known| known.name != metric.name) {
                metrics.push(metric);
            }
        }
        metrics
    }

    /// The trust in a metric of the row, and the remarks that affect it.
    pub fn judged(&self, nature: Nature, side: Side) -> (Option<Trust>, Vec<Because>) {
        let remarks = self.remarks.iter().filter(|(rule, remark)| remark.is_about(rule, nature));
        let reasons: Vec<_> = remarks.map(|(rule, remark)| remark.because_of(rule, side)).collect();
        let worst = reasons.iter().map(|because| because.trust).max().unwrap_or(Trust::Trusted);
        (self.trust.map(|_| worst), reasons)
    }

    /// Notes that an amount is that of a virtual drive: the rule is about speed and does not lower its trust.
    pub fn as_given(&self, nature: Nature) -> Option<Because> {
        let (rule, remark) = self.remarks.iter().find(|(rule, _)| *rule == LENT)?;
        let is_unaffected = nature == Nature::Amount && !remark.is_about(rule, nature);
        is_unaffected.then(|| Because { trust: Trust::Trusted, ..remark.because(rule) })
    }
}

/// The row of a workload, with the remarks of the rules on its trials.
pub(super) fn row_of<'a>(
    workload: &'a PlannedWorkload,
    plan: &'a Plan,
    environment: &'a Environment,
    trials: &[&'a Trial],
) -> RowTrials<'a> {
    let mut trials = trials.to_vec();
    // Floating-point sums depend on the order; use that of the plan.
    trials.sort_by_key(|trial| (trial.order, trial.replicate));
    let mut row = bare_row(workload, plan, environment);
    row.trials = trials.into_iter().map(MeasuredTrial::new).collect();
    let site = row.site;
    let judged = judge_trials(workload, plan, site, &environment.machine, &row.trials);
    let Some((remarks, unquiet)) = judged else { return row };
    (row.remarks, row.unquiet) = (remarks, unquiet);
    // The rules of a fleet replace those of one machine.
    let fleet = environment.fleet.as_ref();
    if let Some(remarks) = hosts::remarks(fleet, plan, workload, site, &row.trials) {
        (row.remarks, row.unquiet) = (remarks, Unquiet::default());
    }
    let primary = workload.work.primary(&|_| false);
    let about = row.remarks.iter().filter(|(rule, one)| one.is_about(rule, nature(primary)));
    let trust = about.map(|(rule, remark)| remark.because_of(rule, side(primary)).trust);
    row.trust = Some(trust.max().unwrap_or(Trust::Trusted));
    row
}

/// The row of a workload without trials.
pub(super) fn bare_row<'a>(
    workload: &'a PlannedWorkload,
    plan: &Plan,
    environment: &'a Environment,
) -> RowTrials<'a> {
    let is_bare = workload.arm.is_empty();
    RowTrials {
        workload,
        arm: if is_bare { target_arm(plan, workload.target) } else { workload.arm.clone() },
        site: environment.sites.get(workload.target),
        idle: &environment.surroundings.idle,
        trials: Vec::new(),
        remarks: Vec::new(),
        unquiet: Unquiet::default(),
        trust: None,
        broken: hosts::incomplete_replicates(environment.fleet.as_ref(), plan),
    }
}

/// A row with a single trial, without the remarks of rules.
pub(super) fn row_of_trial<'a>(
    plan: &'a Plan,
    environment: &'a Environment,
    trial: &'a Trial,
) -> RowTrials<'a> {
    let workload = &plan.workloads[trial.workload];
    RowTrials {
        arm: trial.arm.clone(),
        trials: vec![MeasuredTrial::new(trial)],
        ..bare_row(workload, plan, environment)
    }
}

/// Remarks of all rules on a row, and its trials with activity of others; `None` if no trial counts.
fn judge_trials(
    workload: &PlannedWorkload,
    plan: &Plan,
    site: Option<&Site>,
    machine: &Machine,
    trials: &[MeasuredTrial<'_>],
) -> Option<(Vec<(&'static str, RuleRemark)>, Unquiet)> {
    let counting: Vec<&Trial> =
        trials.iter().filter(|trial| trial.counts()).map(|trial| trial.record).collect();
    if counting.is_empty() {
        return None;
    }
    if workload.work.is_only_watched() || workload.work.is_recorded() {
        return Some((rules::remarks_on_recording(&counting), Unquiet::default()));
    }
    let Some((site, survey)) = site.zip(plan.surveys.get(workload.target)) else {
        // Without a site in the bundle there is no evidence, so the row is not trusted.
        let text = "the record does not contain the target's devices".to_owned();
        let remarks = vec![("device-bytes", RuleRemark::new(Trust::Suspect, text))];
        return Some((remarks, Unquiet::default()));
    };
    let emulator = machine.emulator();
    let case = Case { site, survey, workload, trials: &counting, emulator };
    Some((rules::remarks(&case), rules::disturbed_by_others(&case)))
}

/// The arm of a plan without factors: its target, if there are several.
pub(super) fn target_arm(plan: &Plan, target: usize) -> Arm {
    if plan.surveys.len() < 2 {
        return Arm::new();
    }
    let name = plan.surveys.get(target).map_or("?", |survey| survey.target.as_str());
    Arm::from([("target".to_owned(), name.to_owned())])
}

/// The sum of the wanted classes; `None` if it is empty.
fn merge_tallies(
    classes: &BTreeMap<String, Tally>,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<Cow<'_, Tally>> {
    let mut tallies = classes.iter().filter(|(class, _)| is_wanted(class)).map(|(_, own)| own);
    let mut sum = Cow::Borrowed(tallies.next()?);
    for other in tallies {
        sum.to_mut().add(other).ok()?;
    }
    (!sum.is_empty()).then_some(sum)
}
