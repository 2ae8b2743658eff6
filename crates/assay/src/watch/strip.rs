//! A study that runs meanwhile, in a line or two.

use crate::store::progress::Progress;
use assay_core::quantity::Bytes;
use assay_runner::run::Event;

/// What is told of a study that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    pub title: String,
    pub done: usize,
    /// Trials in all, as far as is known; none before it is planned.
    pub planned: usize,
    pub now: String,
    /// Seconds that it may still take.
    pub left_s: Option<u64>,
    /// Seconds of all trials, until they are planned.
    pub trials_s: Option<u64>,
    /// What a reader should know, the latest last.
    pub warnings: Vec<String>,
    /// Its process, where it is this one.
    pub own: bool,
}

impl From<Progress> for Strip {
    fn from(progress: Progress) -> Self {
        Self {
            title: progress.title,
            done: progress.done,
            planned: progress.planned,
            now: progress.now.unwrap_or_default(),
            left_s: progress.left_s,
            warnings: progress.warnings,
            ..Self::default()
        }
    }
}

impl Strip {
    pub fn own(title: &str) -> Self {
        let now = "checking the target".to_owned();
        Self { title: title.to_owned(), now, own: true, ..Self::default() }
    }

    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Warning(text) => self.warnings.push(text.clone()),
            Event::Filling { done_bytes, of_bytes, remaining_ns, .. } => {
                // Later fills are part of a trial.
                let trials_s = self.trials_s.map(|trials_s| trials_s + seconds(*remaining_ns));
                self.left_s = trials_s.or(self.left_s);
                let (done, of) = (Bytes(done_bytes >> 20 << 20), Bytes(*of_bytes));
                self.now = format!("filling test area {done} of {of}");
            }
            Event::Estimated { expected_ns } => {
                self.trials_s = Some(seconds(*expected_ns)).filter(|trials_s| *trials_s > 0);
                self.left_s = self.trials_s;
            }
            Event::Foreseen { text } => text.clone_into(&mut self.now),
            Event::Waiting { text, .. } => self.now = format!("waiting: {text}"),
            Event::Making { what } => self.now = format!("preparing {what}"),
            Event::Pilot { target } => self.now = format!("pilot trial on {target}"),
            Event::Planned { trials, done, expected_ns, .. } => {
                (self.planned, self.done, self.trials_s) = (*trials, *done, None);
                self.left_s = Some(seconds(*expected_ns));
            }
            Event::Repeating { trials, expected_ns, .. } => {
                self.planned = self.done + trials;
                self.left_s = Some(seconds(*expected_ns));
                "repeating disturbed trials".clone_into(&mut self.now);
            }
            Event::Racing { text, trials, done, most_ns, .. } => {
                (self.planned, self.done, self.trials_s) = (done + trials, *done, None);
                self.left_s = Some(seconds(*most_ns));
                text.clone_into(&mut self.now);
            }
            Event::TrialStarted { index, workload, remaining_ns, .. } => {
                self.done = *index;
                let trial = index + 1;
                self.left_s = Some(seconds(*remaining_ns));
                self.now = format!("{workload}, trial {trial} of {}", self.planned.max(trial));
            }
            Event::TrialEnded { index, result } => {
                self.done = (*index + 1).max(self.done);
                if let Err(reason) = result {
                    self.warnings.push(format!("trial {index} failed: {reason}"));
                }
            }
        }
    }
}

fn seconds(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::results::plan::Turn;

    #[test]
    fn the_events_of_a_study_end_in_its_strip() {
        let mut strip = Strip::own("Depth");
        strip.take(&Event::Planned { trials: 9, warm_ups: 3, done: 0, expected_ns: 9_500_000_000 });
        assert_eq!((strip.done, strip.planned, strip.left_s), (0, 9, Some(10)));
        let (workload, target) = ("read".to_owned(), "/mnt".to_owned());
        strip.take(&Event::TrialStarted {
            index: 4,
            workload,
            target,
            turn: Turn { replicate: 2, lead_in: false },
            remaining_ns: 5_000_000_000,
        });
        assert_eq!((strip.done, strip.now.as_str()), (4, "read, trial 5 of 9"));
        strip.take(&Event::TrialEnded { index: 4, result: Err("gone".to_owned()) });
        assert_eq!((strip.done, strip.left_s), (5, Some(5)));
        assert_eq!(strip.warnings, ["trial 4 failed: gone"]);
    }
}
