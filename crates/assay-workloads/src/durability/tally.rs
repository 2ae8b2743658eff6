//! Totals over crash points: of a trial, and of all trials of a row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::durability::judge::{CutJudgement, CutOutcome, Found, Missing, Unpromised};
use crate::durability::reached::Reached;
use crate::durability::trial::WriteLoss;
use crate::durability::{command, files};

/// The shortest counterexample, by the kind of loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Counterexample {
    Place(Box<WriteLoss>),
    File(Box<files::FileLoss>),
    /// An acknowledged line of a command.
    Command(Box<command::CommandLoss>),
}

impl Counterexample {
    /// Steps or calls from the lost item to the end.
    pub fn length(&self) -> u64 {
        match self {
            Self::Place(own) => own.length(),
            Self::File(own) => own.length(),
            Self::Command(own) => own.length(),
        }
    }
}

/// Crash points by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutTally {
    pub acknowledged_writes: u64,
    pub crash_points: u64,
    /// Crash points after which an acknowledged item was missing.
    pub lost: u64,
    pub outcomes: BTreeMap<CutOutcome, u64>,
    /// Missing acknowledged writes over all crash points, by what was found instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<Found, u64>,
    /// Writes in progress, over all crash points.
    pub unacknowledged_writes: Unpromised,
    /// State of the file system.
    #[serde(flatten)]
    pub reached: Reached,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
    /// Sectors of the target that were read again without a power loss, and those that differ.
    pub read_again: [u64; 2],
    /// An acknowledged item that is missing without a power loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_without_crash: Option<Counterexample>,
}

impl CutTally {
    /// Adds a crash point; `describe` makes a counterexample of a loss.
    pub fn count<L: Missing>(
        &mut self,
        judgement: &CutJudgement<L>,
        describe: impl FnOnce(&L) -> Option<Counterexample>,
    ) {
        self.crash_points += 1;
        *self.outcomes.entry(judgement.outcome()).or_default() += 1;
        self.unacknowledged_writes = self.unacknowledged_writes.plus(judgement.unpromised);
        self.lost += u64::from(!judgement.lost.is_empty());
        for lost in &judgement.lost {
            *self.found.entry(lost.found()).or_default() += 1;
        }
        // The newest of them has the shortest counterexample.
        self.keep_shortest(judgement.lost.last().and_then(describe));
    }

    fn keep_shortest(&mut self, new: Option<Counterexample>) {
        let Some(new) = new else { return };
        if self.counterexample.as_ref().is_none_or(|known| new.length() < known.length()) {
            self.counterexample = Some(new);
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.acknowledged_writes += other.acknowledged_writes;
        self.crash_points += other.crash_points;
        self.lost += other.lost;
        add_counts(&mut self.outcomes, &other.outcomes);
        add_counts(&mut self.found, &other.found);
        self.unacknowledged_writes = self.unacknowledged_writes.plus(other.unacknowledged_writes);
        self.reached.add(&other.reached);
        self.keep_shortest(other.counterexample.clone());
        for (count, more) in self.read_again.iter_mut().zip(other.read_again) {
            *count += more;
        }
        if self.lost_without_crash.is_none() {
            self.lost_without_crash.clone_from(&other.lost_without_crash);
        }
    }

    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut whole = Self::default();
        for tally in all {
            whole.add(tally);
        }
        whole
    }

    pub fn has_lost(&self) -> bool {
        self.lost > 0 || self.lost_without_crash.is_some()
    }
}

fn add_counts<K: Ord + Copy>(counts: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        *counts.entry(*key).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::judge::LostWrite;

    fn story(written_step: u64) -> WriteLoss {
        WriteLoss {
            write: 1,
            at_bytes: 0,
            bytes: 4096,
            written_step,
            acknowledged_step: 42,
            crash_step: Some(50),
            survivors: None,
            found: Found::Nothing,
            older: None,
        }
    }

    fn told(written_step: u64) -> Counterexample {
        Counterexample::Place(Box::new(story(written_step)))
    }

    fn lost(count: u32) -> CutJudgement {
        let lost = (0..count).map(|write| LostWrite { write, found: Found::Nothing, older: None });
        CutJudgement { lost: lost.collect(), unpromised: Unpromised::default() }
    }

    #[test]
    fn cuts_are_counted_and_the_shortest_story_stays() {
        let mut own = CutTally::default();
        own.count(&lost(0), |_| panic!("nothing is to be told"));
        own.count(&lost(2), |lost| Some(told(40 + u64::from(lost.write))));
        own.count(&lost(1), |_| Some(told(30)));
        assert_eq!((own.crash_points, own.lost, own.found[&Found::Nothing]), (3, 2, 3));
        assert_eq!(
            own.counterexample.as_ref().map(Counterexample::length),
            Some(9),
            "that of the newest write"
        );
        assert_eq!(own.outcomes, [(CutOutcome::Quiet, 1), (CutOutcome::Lost, 2)].into());
    }

    #[test]
    fn several_are_one_sample() {
        let mut one = CutTally { acknowledged_writes: 5, read_again: [8, 0], ..Default::default() };
        one.count(&lost(1), |_| Some(told(40)));
        let mut other =
            CutTally { acknowledged_writes: 7, read_again: [8, 1], ..Default::default() };
        other.count(&lost(0), |_| None);
        other.lost_without_crash =
            Some(Counterexample::Place(Box::new(WriteLoss { crash_step: None, ..story(3) })));
        let both = CutTally::sum([&one, &other]);
        assert_eq!(
            (both.acknowledged_writes, both.crash_points, both.lost, both.read_again),
            (12, 2, 1, [16, 1])
        );
        let text = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<CutTally>(&text).unwrap(), both);
        assert_eq!(
            (both.counterexample, both.lost_without_crash),
            (one.counterexample.clone(), other.lost_without_crash.clone())
        );
        assert_eq!(CutTally::sum([]), CutTally::default());
        assert!(!CutTally::default().has_lost() && one.has_lost() && other.has_lost());
    }
}
