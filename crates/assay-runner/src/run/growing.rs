//! A study whose plan does not know all of its work: what a trial runs follows from the trials before it. What
//! follows is decided by `plan::most_load`; here the numbers of the trials are read for it.

use super::session::Session;
use assay_study::file::limit::bracket::Seen;
use assay_study::plan::most_load::{self, Ran};
use assay_study::results::course;
use assay_study::results::plan::PlannedTrial;
use assay_study::results::record::Trial;

impl Session<'_, '_> {
    /// A trial with the setting that it runs under after `trials`; or why the study ends before it.
    pub(super) fn turned(
        &self,
        planned: &PlannedTrial,
        trials: &[Trial],
    ) -> Result<PlannedTrial, String> {
        if !course::is_of(self.plan) {
            return Ok(planned.clone());
        }
        let ran: Vec<Ran> = trials.iter().filter_map(|trial| self.ran(trial)).collect();
        most_load::turned(self.plan, &ran, planned).map_err(|end| end.to_string())
    }

    /// What of a trial the course follows from; none where it follows from none.
    fn ran(&self, trial: &Trial) -> Option<Ran> {
        let (_, limit) = most_load::asked(&self.plan.design)?;
        let read = |metric: &str| {
            let read = self.read?;
            // Whatever is no number of a trial that ran is none.
            read(self.plan, self.environment, trial, metric).ok()
        };
        let seen =
            Seen { percentile_ns: read(limit.metric()), done_per_s: read(most_load::RATE_METRIC) };
        Some(Ran::of(&trial.record, seen))
    }
}
