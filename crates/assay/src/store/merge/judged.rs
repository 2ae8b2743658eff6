//! What rules of trust say of one host, by its records as they are read one after the other: what is held of
//! them does not grow with their number.

use assay_runner::runner::fleet::words_of_rules;
use assay_study::results::environment::Environment;
use assay_study::results::fleet::HostSaid;
use assay_study::results::plan::Plan;
use assay_study::results::record::TrialRecord;

/// Records that are held at most; more than a study of a fleet has in most cases.
const MOST_HELD: usize = 512;

/// Takes the records of a host. Where there are more than are held, rules judge those of the workload that has
/// most of them, and the next ones anew: each rule then says its gravest word.
pub(super) struct Words<'a> {
    plan: &'a Plan,
    environment: &'a Environment,
    most: usize,
    /// Of each workload what has not been judged.
    held: Vec<Vec<TrialRecord>>,
    said: Vec<HostSaid>,
}

impl<'a> Words<'a> {
    pub fn new(plan: &'a Plan, environment: &'a Environment) -> Self {
        Self::holding(MOST_HELD, plan, environment)
    }

    fn holding(most: usize, plan: &'a Plan, environment: &'a Environment) -> Self {
        let held = plan.workloads.iter().map(|_| Vec::new()).collect();
        Self { plan, environment, most, held, said: Vec::new() }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: TrialRecord) {
        if !record.status.counts() {
            return;
        }
        let Some(own) = self.held.get_mut(record.workload) else { return };
        own.push(record);
        if self.count() >= self.most {
            let longest = (0..self.held.len()).max_by_key(|at| self.held[*at].len());
            if let Some(at) = longest {
                self.judge(at);
            }
        }
    }

    /// How many are held.
    fn count(&self) -> usize {
        self.held.iter().map(Vec::len).sum()
    }

    /// What rules said, by workload.
    pub fn said(mut self) -> Vec<HostSaid> {
        for at in 0..self.held.len() {
            self.judge(at);
        }
        self.said.sort_by_key(|said| said.workload);
        self.said
    }

    /// Judges what is held of a workload, and holds it no more.
    fn judge(&mut self, at: usize) {
        let held = std::mem::take(&mut self.held[at]);
        let records: Vec<&TrialRecord> = held.iter().collect();
        for word in words_of_rules(self.plan, self.environment, at, &records) {
            let known =
                self.said.iter_mut().find(|own| own.workload == at && own.rule == word.rule);
            match known {
                Some(known) if is_graver(&word, known) => *known = word,
                Some(_) => {}
                None => self.said.push(word),
            }
        }
    }
}

fn is_graver(one: &HostSaid, other: &HostSaid) -> bool {
    one.trust == "invalid" && other.trust != "invalid"
}

#[cfg(test)]
mod tests {
    use assay_base::presence::Presence;
    use assay_machine::probes::processors::{Observed, ProcessorTicks};
    use assay_study::results::record::Status;

    use super::*;
    use assay_runner::runner::known::fleet::one_of_three_lost;

    /// The records of one workload, so many times; the first of them while the hypervisor took time away.
    fn records(of: &[TrialRecord], times: usize) -> Vec<TrialRecord> {
        let mut all: Vec<TrialRecord> = (0..times).flat_map(|_| of.to_vec()).collect();
        let ticks = Presence::Present(ProcessorTicks { total: 1000, steal: 400 });
        let none = || Presence::absent("nobody looked");
        let observed = Observed { ticks, throttle_events: none(), group_throttled: none() };
        all[0].evidence.processors = Presence::Present(observed);
        all
    }

    fn said(
        most: usize,
        plan: &Plan,
        environment: &Environment,
        all: &[TrialRecord],
    ) -> Vec<HostSaid> {
        let mut words = Words::holding(most, plan, environment);
        for record in all {
            words.take(record.clone());
            assert!(words.count() < most, "{} are held", words.count());
        }
        words.said()
    }

    #[test]
    fn ten_times_as_many_trials_are_judged_and_no_more_of_them_are_held() {
        let finished = one_of_three_lost();
        let (plan, environment) = (&finished.plan, &finished.environment);
        let all = finished.trials.iter().map(|trial| trial.record.clone());
        let own: Vec<TrialRecord> = all.filter(|one| one.status == Status::Ok).collect();
        assert!(own.len() > 3 && !environment.sites.is_empty(), "{} of them count", own.len());
        let few = records(&own, 1);
        let whole = said(100, plan, environment, &few);
        let stolen = |said: &[HostSaid]| {
            said.iter()
                .filter(|own| own.rule == "steal")
                .map(|own| own.text.clone())
                .collect::<Vec<_>>()
        };
        let [text] = <[String; 1]>::try_from(stolen(&whole)).unwrap();
        assert!(
            text.starts_with("the hypervisor gave 40 % of the processor time to others"),
            "{text}"
        );
        // Once in the first of the blocks: it is told once, and what is held stays what it was.
        let many = said(4, plan, environment, &records(&own, 10));
        assert_eq!(stolen(&many).len(), 1, "{many:?}");
        let quiet = said(4, plan, environment, &own);
        assert_eq!(stolen(&quiet), Vec::<String>::new());
        let mut sorted = many.clone();
        sorted.sort_by_key(|own| own.workload);
        assert_eq!(sorted, many);
    }

    #[test]
    fn of_two_blocks_the_graver_word_is_told() {
        let of = |trust: &str| HostSaid {
            workload: 0,
            rule: "cached".to_owned(),
            trust: trust.to_owned(),
            text: String::new(),
        };
        assert!(is_graver(&of("invalid"), &of("suspect")));
        assert!(
            !is_graver(&of("suspect"), &of("invalid"))
                && !is_graver(&of("suspect"), &of("suspect"))
        );
    }
}
