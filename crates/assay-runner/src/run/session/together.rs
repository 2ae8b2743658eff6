//! Trials that several hosts run together: what comes before and behind each of them.

use super::{End, Session};
use crate::run::event::{Context, Event};
use crate::run::fleet::Told;
use crate::run::trial::{Done, OUT_OF_TIME};
use assay_study::plan::repeats::Ran;
use assay_study::results::plan::PlannedTrial;
use assay_study::results::record::{Repeats, Trial};

impl Session<'_, '_> {
    /// Whether another rank says which trial comes next.
    pub(super) fn follows(&self) -> bool {
        self.fleet.as_ref().is_some_and(|fleet| !fleet.borrow().leads())
    }

    /// Runs what rank 0 says, until it says that there is no more.
    pub(super) fn follow(&mut self, trials: &mut Vec<Trial>, context: &mut Context<'_>) -> End {
        loop {
            let Some(fleet) = &self.fleet else { return End::Complete };
            let told = fleet.borrow_mut().next(self.plan);
            let (planned, repeats) = match told {
                Some(Told::Trial(planned, repeats)) => (planned, repeats),
                Some(Told::Over(None)) => return End::Complete,
                Some(Told::Over(Some(why))) => return self.ends_early(why),
                None => return End::Interrupted,
            };
            let left = self.plan.trials.iter().skip(planned.order as usize);
            let remaining_ns = self.left_ns(left);
            (context.tell)(self.starting(planned.order as usize, &planned, remaining_ns));
            if let Some(end) = self.step(&planned, repeats, trials, context) {
                return end;
            }
        }
    }

    fn ends_early(&self, why: String) -> End {
        self.log(assay_study::results::log::ENDED, &why);
        End::Early(why)
    }

    /// Says on all hosts that a trial comes; an end where there are no more.
    pub(super) fn announce(
        &mut self,
        planned: &PlannedTrial,
        repeats: Option<Repeats>,
    ) -> Option<End> {
        let fleet = self.fleet.as_ref()?;
        if let Some(why) = fleet.borrow().over() {
            return Some(self.ends_early(why.to_owned()));
        }
        if !self.follows() && !self.is_over() {
            let expected_ns = self.expected_ns(planned);
            fleet.borrow_mut().announce(planned, repeats, expected_ns);
        }
        None
    }

    /// Hands on what was counted here, and on rank 0 makes one trial of all.
    pub(super) fn hand_on(
        &self,
        planned: &PlannedTrial,
        repeats: Option<Repeats>,
        done: &Done,
        context: &mut Context<'_>,
    ) {
        let Some(fleet) = &self.fleet else { return };
        let mut fleet = fleet.borrow_mut();
        if fleet.leads() {
            let alone = (!fleet.is_in_trial()).then_some(OUT_OF_TIME);
            fleet.gather(self.plan, (planned, repeats), done, alone);
        } else {
            fleet.report(done);
        }
        for text in fleet.news() {
            if let Some(bundle) = &self.bundle {
                let entry = assay_study::results::log::Entry::new(self.system, "fleet", &text);
                let _ = bundle.log(&entry);
            }
            (context.tell)(Event::Warning(text));
        }
    }

    /// What has run, as far as it decides what is run again: on rank 0 what all hosts ran.
    pub(super) fn ran_so_far(&self, trials: &[Trial]) -> Vec<Ran> {
        match &self.fleet {
            Some(fleet) if fleet.borrow().leads() => {
                fleet.borrow().trials().iter().map(|trial| Ran::from(&trial.record)).collect()
            }
            _ => trials.iter().map(|trial| Ran::from(&trial.record)).collect(),
        }
    }
}
