//! Checks of the study as a whole.

use assay_core::quantity::units::show;
use assay_study::findings::{Check, facts::OrderFacts};
use assay_study::results::design::{Fresh, Order, Stopping};
use assay_study::results::record::{Status, Trial};
use assay_study::results::{course, plan::Plan};

use super::time::TrialTime;

const CUT: &str = "the recording is truncated or still running; export and replay use only the requests recorded so far";

#[derive(Clone, Debug, Default)]
pub(super) struct CheckCounts {
    /// Trials that count or will count: all except warm-ups.
    run: usize,
    repeats: usize,
    /// Trials that repeat no other one, including warm-ups.
    pub first: usize,
    disturbed: usize,
    first_disturbance: Option<String>,
    failed: usize,
    /// Trials that did not run because the time budget ended.
    out_of_time: usize,
    time: TrialTime,
}

impl CheckCounts {
    /// Counts a trial. Only `first` and the time include warm-ups.
    pub fn add(&mut self, trial: &Trial) {
        let is_measured = trial.status != Status::Warmup;
        self.run += usize::from(is_measured);
        self.repeats += usize::from(is_measured && trial.repeats.is_some());
        self.first += usize::from(trial.repeats.is_none());
        if trial.status == Status::Disturbed {
            self.disturbed += 1;
            self.first_disturbance = self.first_disturbance.take().or_else(|| trial.reason.clone());
        }
        self.out_of_time += usize::from(trial.is_out_of_time());
        self.failed += usize::from(trial.status == Status::Failed && !trial.is_out_of_time());
        self.time.add(trial);
    }
}

/// The checks on the trials, in the order of the page; `ended` is why the study stopped early, if it did.
pub(super) fn study_checks(plan: &Plan, counts: &CheckCounts, ended: Option<&str>) -> Vec<Check> {
    let &CheckCounts { run, repeats, .. } = counts;
    let watched = plan.is_only_watched();
    // Disturbed trials only matter to numbers that lead to a verdict.
    let judged = plan.design.margin.is_some() || course::is_of(plan);
    let is_race = matches!(plan.design.stopping, Stopping::Race { .. });
    let mut checks = Vec::new();
    let recorded = plan.design.order == Order::Recorded;
    checks.extend((!watched && !recorded).then(|| order_check(plan)));
    checks.extend(counts.time.text().map(|text| Check::new("time", text)));
    let planned = plan.trials.iter().filter(|trial| !trial.is_lead_in()).count();
    let planned_run = run - repeats;
    if let Some(why) = ended.filter(|why| !why.is_empty()) {
        checks.push(Check::new("stopping", why.to_owned()));
    } else if watched && run < planned {
        checks.push(Check::new("incomplete", CUT.to_owned()));
    } else if planned_run < planned {
        let verb = if planned_run == 1 { "was" } else { "were" };
        let effect = match (judged, is_race) {
            (true, true) => ": no winner before the race ends",
            (true, false) => ": no verdict before the study ends",
            (false, _) => "",
        };
        let text = format!("{planned_run} of {planned} planned trials {verb} run{effect}");
        checks.push(Check::new("incomplete", text));
    }
    checks.extend(stopping_check(plan));
    checks.extend(unaveraged_layout(plan));
    checks.extend(repeated_trials(repeats, is_race));
    checks.extend(disturbed_trials(counts, judged, is_race));
    checks.extend(failed_trials(counts, recorded));
    if counts.out_of_time > 0 {
        let text =
            format!("{} of {run} trials did not run: the time budget ended", counts.out_of_time);
        checks.push(Check::new("time-budget", text));
    }
    checks
}

fn repeated_trials(repeats: usize, is_race: bool) -> Option<Check> {
    let (trials, replicate) = match repeats {
        0 => return None,
        1 => ("1 disturbed trial".to_owned(), " of its replicate"),
        _ => (format!("{repeats} disturbed trials"), " of their replicates"),
    };
    let replicate = if is_race { replicate } else { "" };
    Some(Check::new("repeats", format!("Assay repeated {trials} at the end{replicate}")))
}

fn disturbed_trials(counts: &CheckCounts, judged: bool, is_race: bool) -> Option<Check> {
    let verbs = match (counts.disturbed, judged) {
        (0, _) => return None,
        (1, false) => "was disturbed but still counts",
        (_, false) => "were disturbed but still count",
        (1, true) if is_race => "was disturbed; the race excludes it",
        (_, true) if is_race => "were disturbed; the race excludes them",
        (1, true) => "was disturbed; verdicts exclude it",
        (_, true) => "were disturbed; verdicts exclude them",
    };
    let why = match (counts.disturbed, &counts.first_disturbance) {
        (_, None) => String::new(),
        (1, Some(why)) => format!(": {why}"),
        (_, Some(why)) => format!("; first: {why}"),
    };
    let text = format!("{} of {} trials {verbs}{why}", counts.disturbed, counts.run);
    Some(Check::new("disturbed", text))
}

fn failed_trials(counts: &CheckCounts, recorded: bool) -> Option<Check> {
    let effect = match (counts.failed, recorded) {
        (0, _) => return None,
        (1, true) => " has no number and is excluded",
        (_, true) => " have no number and are excluded",
        (1, false) => " trials failed and is excluded",
        (_, false) => " trials failed and are excluded",
    };
    Some(Check::new("failed", format!("{} of {}{effect}", counts.failed, counts.run)))
}

/// Names the layout or position that trials share: the mean over replicates does not average out its effect (R1b).
fn unaveraged_layout(plan: &Plan) -> Option<Check> {
    let has_area = plan.surveys.iter().any(|survey| survey.area.written && survey.area.fill_ns > 0);
    let has_filesystems = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    if plan.design.margin.is_none() || !has_area {
        return None;
    }
    let text = match plan.design.fresh {
        Fresh::Replicate if has_filesystems => {
            "Assay recreated each filesystem in every replicate: the mean averages over filesystem layouts"
        }
        Fresh::Study if has_filesystems => {
            "one filesystem for all trials: its layout is not averaged out"
        }
        _ => "one area per target for all trials: its position is not averaged out",
    };
    Some(Check::new("level", text.to_owned()))
}

/// The stopping rule; `None` for a fixed number of replicates.
fn stopping_check(plan: &Plan) -> Option<Check> {
    let text = match &plan.design.stopping {
        Stopping::Fixed => return None,
        Stopping::Looks { at, .. } => {
            let at: Vec<String> = at.iter().map(ToString::to_string).collect();
            format!(
                "interim analyses after replicates {}, each with an equal share of the 5% error",
                at.join(", ")
            )
        }
        Stopping::Open { .. } => {
            "an interim analysis after every replicate, with a 95% confidence sequence (valid at any stop)"
                .to_owned()
        }
        Stopping::Race { closeness, screen } => format!(
            "{}a race: from the third replicate, Assay eliminates configurations that are worse (simultaneous 95% \
             confidence sequence); the race ends when one is left, when none can be more than {} better than the \
             leader, or after {} replicates",
            screen_words(*screen),
            show::share(*closeness),
            plan.replicates.saturating_sub(*screen)
        ),
    };
    Some(Check::new("stopping", text))
}

fn screen_words(passes: u32) -> String {
    match passes {
        0 => String::new(),
        _ => format!(
            "a screen of {passes} passes eliminates levels with worse main effects (simultaneous 95% confidence) and \
             ignores interactions; then "
        ),
    }
}

/// How the trials were ordered; the seed identifies the order.
fn order_check(plan: &Plan) -> Check {
    let lead_ins = plan.trials.iter().filter(|trial| trial.is_lead_in()).count() > 1;
    let replicates = plan.replicates.saturating_sub(plan.design.stopping.passes());
    let order = OrderFacts { replicates, order: plan.design.order, warmups: lead_ins };
    let text = format!("{}, seed {}", order.words(), plan.seed);
    Check { order: Some(order), ..Check::new("order", text) }
}
