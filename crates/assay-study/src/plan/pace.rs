//! How long trials take: as planned until one has run, then as they did.

use std::collections::BTreeMap;

use super::budget;
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::Trial;

#[derive(Clone, Debug, Default)]
pub struct TrialPace {
    /// Nanoseconds and trials, by workload of the plan and whether it was a warm-up.
    seen: BTreeMap<(usize, bool), (u64, u64)>,
}

impl TrialPace {
    pub fn from_trials<'a>(plan: &Plan, ran: impl IntoIterator<Item = &'a Trial>) -> Self {
        let mut pace = Self::default();
        for record in ran {
            pace.learn(plan, record);
        }
        pace
    }

    /// Adds the duration of a measured trial to those of its workload; warm-ups count separately.
    pub fn learn(&mut self, plan: &Plan, record: &Trial) {
        let (Some(spent), Some(planned)) = (record.spent, plan.trials.get(record.order as usize))
        else {
            return;
        };
        if record.measured.is_none() {
            return;
        }
        let lead_in = planned.is_lead_in() && record.repeats.is_none();
        let (sum, count) = self.seen.entry((record.workload, lead_in)).or_default();
        (*sum, *count) = (sum.saturating_add(spent.trial_ns), *count + 1);
    }

    pub fn expected_ns(&self, plan: &Plan, planned: &PlannedTrial) -> u64 {
        match self.seen.get(&(planned.workload, planned.is_lead_in())) {
            Some((sum, count)) => (sum / count).saturating_add(budget::made_ns(plan, planned)),
            None => budget::expected_ns(plan, planned),
        }
    }
}
