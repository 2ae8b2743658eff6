//! The trials of a race (R15): replicate after replicate, each of the arms that are still in. What runs next
//! is asked anew of the plan and of all that has run, so that a race that is gone on with runs the same.

use super::{End, Session};
use crate::run::event::{Context, Event};
use assay_core::quantity::units::show;
use assay_machine::system::site::TargetKind;
use assay_study::plan::race::{self, Next, Over, Race, Run};
use assay_study::results::design::Stopping;
use assay_study::results::log::ENDED;
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::Trial;

impl Session<'_, '_> {
    pub(super) fn race(&mut self, trials: &mut Vec<Trial>, context: &mut Context<'_>) -> End {
        let mut runs: Vec<Run> = trials.iter().map(|trial| self.heard(trial)).collect();
        let mut again = !trials.is_empty();
        if let Err(reason) = self.first_look(trials, context) {
            (context.tell)(Event::Warning(format!("Assay cannot roll back levels: {reason}")));
        }
        loop {
            let Some(at) = race::race(self.plan, &runs) else { return End::Complete };
            let over = at.standing.over.map(|over| self.over_words(over, &at));
            if let Some(reason) = over.or_else(|| self.race_is_out_of_time(&at)) {
                self.log(ENDED, &reason);
                return End::Early(reason);
            }
            let Some(first) = at.next.first() else { return End::Complete };
            if std::mem::take(&mut again) {
                self.lead_in_of_last(trials, first, context);
            }
            if let Some(end) = self.replicate(&at, trials, &mut runs, context) {
                return end;
            }
        }
    }

    /// Runs what is left of a replicate; an end where that comes before its own.
    fn replicate(
        &mut self,
        at: &Race,
        trials: &mut Vec<Trial>,
        runs: &mut Vec<Run>,
        context: &mut Context<'_>,
    ) -> Option<End> {
        let each: Vec<u64> = at.next.iter().map(|(own, _)| self.expected_ns(own)).collect();
        let mut left_ns = each.iter().copied().fold(0, u64::saturating_add);
        let later_ns = at.later_ns(self.plan, left_ns);
        let (done, count) = (trials.len(), at.next.len());
        let text = standing_words(at, self.plan);
        let most_ns = self.within_budget(left_ns.saturating_add(later_ns));
        let expected_ns = left_ns;
        (context.tell)(Event::Racing { text, trials: count, done, expected_ns, most_ns });
        for ((planned, repeats), own_ns) in at.next.iter().zip(each) {
            if let Some(reason) = self.others.is_over(self.plan) {
                self.log(ENDED, &reason);
                return Some(End::Early(reason));
            }
            let remaining_ns = self.within_budget(left_ns.saturating_add(later_ns));
            (context.tell)(self.starting(trials.len(), planned, remaining_ns));
            if let Some(end) = self.step(planned, *repeats, trials, context) {
                return Some(end);
            }
            runs.extend(trials.last().map(|trial| self.heard(trial)));
            left_ns = left_ns.saturating_sub(own_ns);
        }
        None
    }

    fn heard(&self, trial: &Trial) -> Run {
        let log = self.log_of.and_then(|log| log(self.plan, self.environment, trial));
        Run::of(&trial.record, log)
    }

    /// Returns the expected time, but no more than is left of a budget.
    pub(super) fn within_budget(&self, expected_ns: u64) -> u64 {
        let left = self.plan.budget_ns.map(|most| most.saturating_sub(self.elapsed_ns()));
        left.map_or(expected_ns, |left| left.min(expected_ns))
    }

    /// Why it ends before a replicate.
    fn race_is_out_of_time(&self, at: &Race) -> Option<String> {
        let finished = at.complete;
        let expected_ns = || self.left_ns(at.next.iter().map(|(planned, _)| planned));
        (at.begins && finished > 0).then(|| self.is_too_long(expected_ns(), finished)).flatten()
    }

    /// After an interruption, what ran before a trial is run once more and not kept, as in any study (R2c).
    fn lead_in_of_last(&mut self, trials: &[Trial], next: &Next, context: &mut Context<'_>) {
        let Some(record) = trials.last().map(|trial| &trial.record) else { return };
        let target = self.plan.workloads[record.workload].target;
        let simulated = self.environment.sites[target].kind == TargetKind::Simulated;
        if next.0.is_lead_in() || simulated {
            return;
        }
        let before = PlannedTrial {
            order: record.order,
            host: record.host,
            replicate: record.replicate,
            lead_in: true,
            workload: record.workload,
            arm: record.arm.clone(),
            seed: self.plan.seed ^ u64::from(record.order),
        };
        self.run_once_more(&before, context);
    }

    fn over_words(&self, over: Over, at: &Race) -> String {
        let after = at.standing.replicates;
        match over {
            Over::One => format!(
                "after replicate {after}, all configurations but one were behind (95% confidence)"
            ),
            Over::Close => {
                let closeness = match self.plan.design.stopping {
                    Stopping::Race { closeness, .. } => closeness,
                    _ => 0.0,
                };
                format!(
                    "after replicate {after}, no remaining configuration can lead by more than {}",
                    show::share(closeness)
                )
            }
            Over::Replicates => format!("all {after} replicates of the race were run"),
        }
    }
}

/// How it stands, for who waits.
fn standing_words(at: &Race, plan: &Plan) -> String {
    let is_again = at.next.iter().any(|(_, repeats)| repeats.is_some());
    if let Some((pass, passes)) = at.pass(plan) {
        let what = if is_again { "repeating disturbed trials" } else { "some of the settings" };
        return format!("screening before the race, pass {pass} of {passes}: {what}");
    }
    let (all, left) = (at.standing.left.len(), at.standing.running().count());
    let next = at.standing.replicates + 1;
    if is_again {
        return format!("race, replicate {next}: repeating disturbed trials");
    }
    if at.standing.replicates < race::FIRST_LOOK && left == all {
        return format!("race, replicate {next}: {all} configurations");
    }
    format!("race, replicate {next}: {left} of {all} configurations remain")
}
