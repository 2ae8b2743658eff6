//! Trust rules, one per file: pure functions of recorded evidence, which allows new rules to judge old bundles.

mod acknowledged;
mod behind;
mod buffered_writes;
mod cache_state;
mod cached;
mod clock;
mod compressed;
mod depth;
mod device_bytes;
mod different_work;
mod emptied;
mod emulated;
mod evidence;
mod fewer_hosts;
mod foreign;
mod host_cache;
mod imported;
mod io_limit;
mod kernel_log;
mod link_ceiling;
mod of_kinds;
mod power_supply;
mod printed_rate;
mod skew;
mod slow_host;
mod slow_member;
mod stalled;
mod starved;
mod swap;
#[cfg(test)]
pub(crate) mod testing;
mod thresholds;
mod throttled;
mod too_small;
pub(crate) mod unstable;
mod unwritten;
mod wrong_data;

use std::{collections::BTreeSet, sync::LazyLock};

use assay_core::catalogue::About;
use assay_core::quantity::metric::{Nature, Side};
use assay_machine::system::site::Site;
use assay_study::findings::{Because, Trust};
use assay_study::results::plan::{PlannedWorkload, Survey};
use assay_study::results::record::Trial;
use assay_workloads::command::{self, ImportEvidence};
use assay_workloads::{Basis, KINDS, Measured, io};
use assay_workloads::{metrics::nature, tell::OwnRule};

pub use acknowledged::{NAME as ACKNOWLEDGED, WriteTimes, cached_flash, costless, one_by_one};
pub use different_work::{NAME as DIFFERENT_WORK, Worked, between};
use evidence::in_trials;
pub use fewer_hosts::NAME as FEWER_HOSTS;
pub use host_cache::{IdleFlush, RULE as HOST_CACHE, hides_its_cache};
pub use imported::apply_import_rules;
pub(crate) use link_ceiling::link_capacity;
use thresholds::Threshold;
pub use wrong_data::NAME as WRONG_DATA;

/// Input of a rule: one workload at one target, with the trials that count.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub site: &'a Site,
    pub survey: &'a Survey,
    pub workload: &'a PlannedWorkload,
    /// Its trials, without warm-ups and failed ones.
    pub trials: &'a [&'a Trial],
    /// The emulator that executed the instructions, if any.
    pub emulator: Option<&'a str>,
}

impl<'a> Case<'a> {
    /// The plan of reads and writes, if the work is of that kind.
    fn io(&self) -> Option<&'a io::IoPlan> {
        io::IoPlan::of(&self.workload.work)
    }

    fn measured(&self) -> impl Iterator<Item = &'a Measured> {
        self.trials.iter().filter_map(|trial| trial.measured.as_ref())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleRemark {
    /// The resulting trust; `Trusted` is a note.
    pub trust: Trust,
    pub text: String,
    /// Direction: for metrics of the other one it is a note.
    pub side: Side,
    /// Affected metrics, if fewer than those of its rule.
    pub changes: Option<&'static [Nature]>,
}

impl RuleRemark {
    /// Affects all metrics of its rule.
    pub(crate) fn new(trust: Trust, text: impl Into<String>) -> Self {
        Self { trust, text: text.into(), side: Side::Both, changes: None }
    }

    fn invalid(text: impl Into<String>) -> Self {
        Self::new(Trust::Invalid, text)
    }

    fn suspect(text: impl Into<String>) -> Self {
        Self::new(Trust::Suspect, text)
    }

    fn note(text: impl Into<String>) -> Self {
        Self::new(Trust::Trusted, text)
    }

    /// The same, for read metrics only.
    #[must_use]
    fn of_reads(self) -> Self {
        Self { side: Side::Reads, ..self }
    }

    /// The same, for speed metrics only.
    #[must_use]
    fn of_speed(self) -> Self {
        Self { changes: Some(SPEED), ..self }
    }

    /// Whether it affects metrics of a nature, given its rule; an unknown rule may affect all.
    pub fn is_about(&self, rule: &str, nature: Nature) -> bool {
        may_change(rule, nature) && self.changes.is_none_or(|own| own.contains(&nature))
    }

    pub fn because(&self, rule: &str) -> Because {
        Because { rule: rule.to_owned(), trust: self.trust, text: self.text.clone() }
    }

    /// The same for a metric of one direction: a remark on the other direction is a note.
    pub fn because_of(&self, rule: &str, side: Side) -> Because {
        let trust = if self.side.reaches(side) { self.trust } else { Trust::Trusted };
        Because { trust, ..self.because(rule) }
    }
}

/// A rule on trials: its input and its judgment.
#[derive(Clone, Copy)]
pub struct Rule {
    pub about: About,
    /// Kind of evidence that it needs: it does not judge work without this evidence.
    looks_at: Basis,
    /// It does not judge metrics of another nature.
    changes: &'static [Nature],
    check: RuleCheck,
    /// For other rules than thresholds and events: an external disturbance of this trial.
    disturbance: Option<OfTrial>,
    /// For rules that make a gate inconclusive: a study with a gate treats these trials as disturbed.
    blinds: Option<OfTrial>,
    /// Judges runs of another tool by the evidence in its files.
    judge_import: fn(&[Vec<ImportEvidence>]) -> Option<RuleRemark>,
    /// Whether it concerns other programs on the machine: it does not judge production work.
    minds_others: bool,
}

#[derive(Clone, Copy)]
enum RuleCheck {
    Threshold(Threshold),
    /// Each trial with an event is disturbed, and its row is suspect. The remark describes the first event.
    Event(OfTrial),
    Kind(&'static OwnRule),
    Custom(fn(&Case<'_>) -> Option<RuleRemark>),
}

type OfTrial = fn(&Case<'_>, &Trial) -> Option<String>;

impl Rule {
    /// Defaults: on the machine's speed, without a remark.
    const NONE: Self = Self {
        about: About { name: "", summary: "", text: "" },
        looks_at: Basis::Machine,
        changes: SPEED,
        check: RuleCheck::Custom(|_| None),
        disturbance: None,
        blinds: None,
        judge_import: |_| None,
        minds_others: false,
    };

    /// Returns the remark on a row; `None` if the rule is not triggered.
    fn judge(&self, case: &Case<'_>) -> Option<RuleRemark> {
        match &self.check {
            RuleCheck::Threshold(threshold) => threshold.judge(case),
            RuleCheck::Event(event) => {
                let all: Vec<String> =
                    case.trials.iter().filter_map(|trial| event(case, trial)).collect();
                let first = all.first()?;
                Some(RuleRemark::suspect(format!("{first}{}", in_trials(all.len(), case))))
            }
            RuleCheck::Kind(own) => of_kinds::remark(own, case),
            RuleCheck::Custom(judge) => judge(case),
        }
    }

    /// Describes what disturbed a trial, by this rule alone.
    fn disturbance(&self, case: &Case<'_>, trial: &Trial) -> Option<String> {
        match &self.check {
            RuleCheck::Threshold(threshold) => threshold.disturbance(case, trial),
            RuleCheck::Event(event) => event(case, trial),
            RuleCheck::Kind(_) | RuleCheck::Custom(_) => {
                self.disturbance.and_then(|own| own(case, trial))
            }
        }
    }

    /// Whether other programs disturbed this trial, so a quieter machine would help.
    fn blames_others(&self, case: &Case<'_>, trial: &Trial) -> bool {
        let blinds = self.blinds.and_then(|own| own(case, trial));
        blinds.is_some() || self.disturbance(case, trial).is_some()
    }
}

/// All rules in the order of reports: on the work, then on single kinds of work, then on the machine.
pub static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let of_kinds = KINDS.iter().flat_map(|kind| kind.rules).map(of_kinds::rule);
    let of_machine = OF_MACHINE.iter().map(|rule| **rule);
    OF_WORK.iter().map(|rule| **rule).chain(of_kinds).chain(of_machine).collect()
});

static OF_WORK: &[&Rule] = &[
    &emulated::RULE,
    &wrong_data::RULE,
    &unwritten::RULE,
    &emptied::RULE,
    &cached::RULE,
    &cache_state::RULE,
    &different_work::RULE,
    &device_bytes::RULE,
    &buffered_writes::RULE,
    &link_ceiling::RULE,
    &io_limit::RULE,
    &host_cache::RULE,
    &acknowledged::RULE,
    &depth::RULE,
    &behind::RULE,
    &compressed::RULE,
    &imported::TOOL_FAULT,
    &printed_rate::RULE,
    &too_small::RULE,
];

static OF_MACHINE: &[&Rule] = &[
    &throttled::RULE,
    &starved::RULE,
    &stalled::RULE,
    &unstable::RULE,
    &slow_member::RULE,
    &thresholds::STEAL,
    &foreign::RULE,
    &swap::RULE,
    &thresholds::OOM,
    &kernel_log::RULE,
    &clock::RULE,
    &power_supply::RULE,
    &fewer_hosts::RULE,
    &skew::RULE,
    &slow_host::RULE,
];

/// Rules on several hosts together; their trials have no evidence of one machine.
static OF_HOSTS: &[&Rule] = &[&fewer_hosts::RULE, &skew::RULE, &slow_host::RULE];

/// Rules whose disturbances can only lower a rate, and the rule on variation, which the interval covers.
static ONLY_SLOW: &[&Rule] = &[
    &throttled::RULE,
    &starved::RULE,
    &thresholds::STEAL,
    &foreign::RULE,
    &swap::RULE,
    &unstable::RULE,
    &stalled::RULE,
];

const SPEED: &[Nature] = &[Nature::Speed];
const MOVED: &[Nature] = &[Nature::Speed, Nature::Traffic];
const ALL: &[Nature] = &[Nature::Speed, Nature::Traffic, Nature::Amount];

/// Whether a rule affects metrics of a nature; an unknown rule may affect all.
fn may_change(rule: &str, nature: Nature) -> bool {
    let rule = RULES.iter().find(|known| known.about.name == rule);
    rule.is_none_or(|rule| rule.changes.contains(&nature))
}

/// Advice to the user on a triggered rule.
pub fn next_step(rule: &str) -> &'static str {
    match rule {
        "cpu-starved" | "foreign-io" | "swap" | "others-swapped" | "oom" | "unstable"
        | "unequal-load" | "unequal-pressure" => "find the program (assay watch), stop it, repeat",
        "steal" | "host-cache" | "emulated" => "measure on the host, or with dedicated hardware",
        "cached" | "cache-state" | "buffered-writes" | "link-ceiling" | "printed-rate"
        | "too-small" => "use a larger test area or direct I/O",
        "device-bytes" | "compressed" => "use incompressible data, or measure the device itself",
        "throttled" => "cool the machine, then repeat",
        "io-limit" => "raise the limit of the control group, then repeat",
        "kernel-log" | "stalled" | "data-mismatch" => "read the kernel log (dmesg) and the health",
        "late-submission" | "low-queue-depth" => "lower the rate, or use more threads",
        "truncated-tree" | "not-steady" => "use a longer runtime",
        "unwritten" | "trimmed-area" => "write the whole area before the trials, without trims",
        _ => "remove the cause and run the study again",
    }
}

/// The rules that made numbers suspect, if each of them can only lower a rate.
pub fn only_slowed(mut reasons: Vec<&Because>) -> Option<String> {
    reasons.retain(|because| because.trust != Trust::Trusted);
    let only_slows = |rule: &str| ONLY_SLOW.iter().any(|known| known.about.name == rule);
    let is_slowed = reasons.iter().all(|one| one.trust == Trust::Suspect && only_slows(&one.rule));
    let names: BTreeSet<&str> = reasons.iter().map(|because| because.rule.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    (is_slowed && !names.is_empty()).then(|| names.join(" and "))
}

/// Rules whose evidence this work has, without those on other programs if other programs do not matter.
fn applicable_rules(case: &Case<'_>) -> impl Iterator<Item = &'static Rule> {
    let work = &case.workload.work;
    let judged = work.kind().judged;
    // Production work consists of other programs; in other work, they take time, but do not change amounts.
    let tolerates_others = work.is_others() || !work.is_of_speed();
    let fits = move |rule: &&Rule| {
        judged.contains(&rule.looks_at) && !(tolerates_others && rule.minds_others)
    };
    RULES.iter().filter(fits)
}

/// Remarks of all rules on a case, with the names of the rules.
pub fn remarks(case: &Case<'_>) -> Vec<(&'static str, RuleRemark)> {
    let own = applicable_rules(case).filter_map(|rule| Some((rule.about.name, rule.judge(case)?)));
    own.chain(remarks_on_tools(case)).collect()
}

/// Remarks on the output of tools that a command ran.
fn remarks_on_tools(case: &Case<'_>) -> Vec<(&'static str, RuleRemark)> {
    let details = case.measured().filter_map(command::CommandDetail::of);
    let runs: Vec<Vec<ImportEvidence>> = details.map(|detail| detail.evidence.clone()).collect();
    if runs.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    RULES.iter().filter_map(|rule| Some((rule.about.name, (rule.judge_import)(&runs)?))).collect()
}

/// Remarks on observed or recorded work: the other rules compare the tool's claims with the devices.
pub fn remarks_on_recording(trials: &[&Trial]) -> Vec<(&'static str, RuleRemark)> {
    clock::of_recording(trials).map(|remark| (clock::RULE.about.name, remark)).into_iter().collect()
}

/// The same for trials of several hosts: the other rules judged each host separately.
pub fn remarks_on_hosts(case: &Case<'_>) -> Vec<(&'static str, RuleRemark)> {
    OF_HOSTS.iter().filter_map(|rule| Some((rule.about.name, rule.judge(case)?))).collect()
}

/// The name of a known rule; `hosts` for an unknown one.
pub fn known_name(rule: &str) -> &'static str {
    let own = RULES.iter().map(|known| known.about.name);
    own.into_iter().find(|name| *name == rule).unwrap_or("hosts")
}

/// Trials disturbed by other programs, and the rules that report it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unquiet {
    pub trials: usize,
    /// Number of trials that count.
    pub of: usize,
    pub rules: Vec<&'static str>,
}

/// Counts the disturbed trials. A trial disturbed under several rules counts once.
pub fn disturbed_by_others(case: &Case<'_>) -> Unquiet {
    let blames = |rule: &&Rule| case.trials.iter().any(|trial| rule.blames_others(case, trial));
    let rules: Vec<&Rule> = applicable_rules(case).filter(blames).collect();
    let is_disturbed = |trial: &&&Trial| rules.iter().any(|rule| rule.blames_others(case, trial));
    let trials = case.trials.iter().filter(is_disturbed).count();
    let names = rules.iter().map(|rule| rule.about.name);
    Unquiet { trials, of: case.trials.len(), rules: names.collect() }
}

/// The disturbance of a trial, if any. In a study with a gate, `gated` is the metric of the gate.
pub fn disturbance(case: &Case<'_>, trial: &Trial, gated: Option<&str>) -> Option<String> {
    // With a gate on a metric that the rule affects, what makes the gate inconclusive disturbs the trial.
    let blinds_gate = |rule: &Rule| {
        let affected = gated.filter(|metric| rule.changes.contains(&nature(metric)));
        affected.and_then(|_| rule.blinds?(case, trial))
    };
    let disturbance =
        |rule: &'static Rule| rule.disturbance(case, trial).or_else(|| blinds_gate(rule));
    let texts: Vec<String> = applicable_rules(case).filter_map(disturbance).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::testing::Bench;
    use super::*;

    fn judge(case: &Case<'_>) -> (Trust, Vec<Because>) {
        let remarks = remarks(case);
        let worst = remarks.iter().map(|(_, remark)| remark.trust).max();
        let because = remarks.iter().map(|(rule, remark)| remark.because(rule)).collect();
        (worst.unwrap_or(Trust::Trusted), because)
    }

    #[test]
    fn every_rule_introduces_itself() {
        let mut names: Vec<_> = RULES.iter().map(|rule| rule.about.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
        for rule in RULES.iter() {
            let about = rule.about;
            assert!(!about.summary.is_empty() && !about.summary.ends_with('.'), "{}", about.name);
            assert!(about.text.ends_with('.'), "{}", about.name);
        }
    }

    #[test]
    fn a_rule_speaks_of_what_it_can_change() {
        for rule in RULES.iter() {
            let name = rule.about.name;
            assert!(may_change(name, Nature::Speed), "{name}: nothing leaves the speed alone");
            let changes = |nature| rule.changes.contains(&nature);
            assert!(!changes(Nature::Amount) || changes(Nature::Traffic), "{name}");
        }
        assert!(
            !may_change("cpu-starved", Nature::Amount)
                && !may_change("cpu-starved", Nature::Traffic)
        );
        assert!(may_change("cached", Nature::Traffic) && !may_change("cached", Nature::Amount));
        assert!(may_change("oom", Nature::Amount));
        assert!(may_change("a rule of a later version", Nature::Amount));
    }

    #[test]
    fn a_remark_may_be_about_less_than_its_rule() {
        let remark = RuleRemark::suspect("the host answered");
        assert!(remark.is_about("cached", Nature::Traffic));
        assert!(!remark.is_about("cached", Nature::Amount), "its rule cannot change it");
        let of_speed = remark.of_speed();
        assert!(of_speed.is_about("cached", Nature::Speed));
        assert!(!of_speed.is_about("cached", Nature::Traffic));
    }

    #[test]
    fn whatever_claims_to_be_of_a_medium_is_judged_by_where_its_files_lie() {
        use assay_workloads::{Basis, KINDS};
        let of_medium = |name: &str| {
            let writers =
                ["io", "files", "capacity", "sustained", "steady_state", "burst", "replay"];
            writers.contains(&name)
        };
        for kind in KINDS {
            let judged = kind.judged.contains(&Basis::Medium);
            assert_eq!(judged, of_medium(kind.about.name), "{}", kind.about.name);
        }
        let in_memory =
            |site: &mut Site| site.backing = assay_machine::system::site::Backing::Memory;
        let (trust, because) = Bench::files().site(in_memory).with_case(judge);
        assert_eq!((trust, because[0].rule.as_str()), (Trust::Invalid, "cached"));
        assert_eq!(Bench::files().with_case(judge), (Trust::Trusted, Vec::new()));
    }

    #[test]
    fn probes_name_rules_that_are_there() {
        for probe in assay_machine::probes::PROBES {
            for rule in probe.rules {
                let known = RULES.iter().any(|known| known.about.name == *rule);
                assert!(known, "{} names {rule}", probe.about.name);
            }
        }
    }

    #[test]
    fn no_rule_minds_a_case_without_trials() {
        for bench in [Bench::read(), Bench::write(), Bench::mixed()] {
            let bench = bench.without_trials();
            assert_eq!(bench.with_case(judge), (Trust::Trusted, Vec::new()));
        }
    }

    #[test]
    fn clean_trials_are_trusted_and_undisturbed() {
        for bench in [Bench::read(), Bench::write(), Bench::mixed()] {
            assert_eq!(bench.with_case(judge), (Trust::Trusted, Vec::new()));
            assert_eq!(bench.with_case(|case| disturbance(case, case.trials[0], None)), None);
        }
    }

    #[test]
    fn the_worst_word_counts_and_all_reasons_are_kept() {
        let bench = Bench::read()
            .each(|trial| testing::device(trial).run.read_bytes = 0)
            .each(|trial| testing::processors(trial).steal = 90);
        let (trust, because) = bench.with_case(judge);
        assert_eq!(trust, Trust::Invalid);
        let rules: Vec<_> = because.iter().map(|because| because.rule.as_str()).collect();
        assert_eq!(rules, ["cached", "steal"]);
    }
}
