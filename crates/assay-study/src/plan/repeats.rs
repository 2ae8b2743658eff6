//! Repeats of disturbed trials (R11b), appended to the hashed plan: short replicates, or trials with their baseline.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::draws::Draws;

use super::race;
use crate::results::design::Order;
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::Repeats;
use crate::results::record::{Status, Trial};

/// A replicate with at most this many trials is repeated completely.
const SHORT: usize = 8;

#[derive(Clone, Copy, Debug)]
pub struct RanTrial {
    pub replicate: u32,
    pub workload: usize,
    pub status: Status,
    pub repeats: Option<Repeats>,
}

impl From<&Trial> for RanTrial {
    fn from(record: &Trial) -> Self {
        let Trial { replicate, workload, status, repeats, .. } = *record;
        Self { replicate, workload, status, repeats }
    }
}

/// Returns the trials to repeat and their originals, none for a race. First runs alone decide, also when resumed.
pub fn repeats(plan: &Plan, ran: &[RanTrial]) -> Vec<(PlannedTrial, Repeats)> {
    if race::is_one(plan) {
        return Vec::new();
    }
    let mut disturbed: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for record in ran.iter().filter(|record| record.repeats.is_none()) {
        if record.status == Status::Disturbed {
            disturbed.entry(record.replicate).or_default().insert(record.workload);
        }
    }
    let mut order = plan.trials.len() as u32;
    let mut wanted = Vec::new();
    let rounds = disturbed.into_iter().take(plan.design.repeats as usize);
    for ((replicate, hit), round) in rounds.zip(plan.replicates.saturating_add(1)..) {
        for (original, lead_in) in draw_repeats(plan, replicate, &hit) {
            let mut draws = Draws::new(plan.seed ^ u64::from(order), "repeats");
            let repeated = Repeats { replicate, order: original.order };
            let seed = draws.bits();
            let trial = PlannedTrial { order, replicate: round, lead_in, seed, ..original.clone() };
            wanted.push((trial, repeated));
            order += 1;
        }
    }
    wanted
}

/// Draws the trials of a replicate to repeat in a new random order; `true` marks their warm-ups.
fn draw_repeats<'a>(
    plan: &'a Plan,
    replicate: u32,
    disturbed: &BTreeSet<usize>,
) -> Vec<(&'a PlannedTrial, bool)> {
    let planned: Vec<&PlannedTrial> =
        plan.trials.iter().filter(|trial| trial.replicate == replicate).collect();
    let trials = planned.iter().filter(|trial| !trial.is_lead_in());
    let workloads: BTreeSet<usize> = trials.map(|trial| trial.workload).collect();
    let repeated = if workloads.len() <= SHORT {
        workloads
    } else {
        disturbed.iter().flat_map(|&workload| partners(plan, workload)).collect()
    };
    let mut draws = Draws::new(plan.seed ^ u64::from(replicate), "repeat order");
    let mut visits: Vec<Vec<(&PlannedTrial, bool)>> = Vec::new();
    // If only the study begins with a warm-up, repeats have none.
    let has_warmups = plan.design.order == Order::Random;
    for visit in planned.chunk_by(|_, next| !next.is_lead_in()) {
        let mut chosen: Vec<&PlannedTrial> = visit.to_vec();
        let has_warmup = has_warmups && chosen.first().is_some_and(|trial| trial.is_lead_in());
        chosen.retain(|trial| !trial.is_lead_in() && repeated.contains(&trial.workload));
        draws.shuffle(&mut chosen);
        let warmup = chosen.first().filter(|_| has_warmup).map(|first| (*first, true));
        let trials = chosen.into_iter().map(|trial| (trial, false));
        visits.push(warmup.into_iter().chain(trials).collect());
    }
    if visits.len() > 1 {
        draws.shuffle(&mut visits);
    }
    visits.concat()
}

/// The workloads to repeat together: a disturbed one and its baseline, or a disturbed baseline and all its arms.
fn partners(plan: &Plan, workload: usize) -> Vec<usize> {
    let planned = &plan.workloads[workload];
    let baseline_of = |arm: &crate::results::plan::Arm| {
        let mut arm = arm.clone();
        arm.extend(plan.design.baseline.clone());
        arm
    };
    let is_baseline = baseline_of(&planned.arm) == planned.arm && !planned.control;
    let is_partner = |index: usize| {
        let other = &plan.workloads[index];
        let is_paired = if is_baseline {
            baseline_of(&other.arm) == planned.arm
        } else {
            other.arm == baseline_of(&planned.arm) && !other.control
        };
        index == workload || (other.name == planned.name && is_paired)
    };
    (0..plan.workloads.len()).filter(|index| is_partner(*index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::text;
    use crate::plan::{self, tests::survey};
    use crate::results::record::Evidence;

    /// A plan of some workloads under copies of one arm, the lead-in left out, and its records.
    fn planned(arms: u32, workloads: u32, replicates: u32) -> (Plan, Vec<Trial>) {
        let copies: Vec<String> = (0..arms).map(|arm| format!("\"c{arm}\"")).collect();
        let mut text = format!(
            "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = {replicates}\n\
             margin = \"5%\"\norder = \"sequential\"\naa_control = false\n\
             [factors]\naa_copy = [{}]\n",
            copies.join(", ")
        );
        let io = "io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }";
        let work = |work| format!("[[workload]]\nname = \"w{work}\"\n{io}\n");
        text.extend((0..workloads).map(work));
        let study = text::parse("test", &text).unwrap();
        let mut plan = plan::make(&study, vec![survey("here", 1)], 9);
        plan.trials.retain(|trial| !trial.is_lead_in());
        plan.trials.sort_by_key(|trial| (trial.replicate, trial.workload));
        for (order, trial) in plan.trials.iter_mut().enumerate() {
            trial.order = order as u32;
        }
        let records = plan.trials.iter().map(record).collect();
        (plan, records)
    }

    fn record(trial: &PlannedTrial) -> Trial {
        Trial::new(trial, Evidence::absent("a test"))
    }

    fn disturb(records: &mut [Trial], orders: &[usize]) {
        for order in orders {
            records[*order].status = Status::Disturbed;
        }
    }

    fn wanted(plan: &Plan, records: &[Trial]) -> Vec<(PlannedTrial, Repeats)> {
        repeats(plan, &records.iter().map(RanTrial::from).collect::<Vec<_>>())
    }

    #[test]
    fn nothing_disturbed_nothing_repeated() {
        let (plan, records) = planned(3, 1, 6);
        assert!(wanted(&plan, &records).is_empty());
    }

    #[test]
    fn a_short_replicate_is_repeated_as_a_whole_and_two_of_six_at_most() {
        let (plan, mut records) = planned(3, 1, 6);
        disturb(&mut records, &[4, 8, 9, 16]);
        let found = wanted(&plan, &records);
        let of: Vec<(u32, u32)> =
            found.iter().map(|(trial, of)| (trial.replicate, of.replicate)).collect();
        assert_eq!(of, [(7, 2), (7, 2), (7, 2), (8, 3), (8, 3), (8, 3)]);
        let orders: Vec<u32> = found.iter().map(|(trial, _)| trial.order).collect();
        assert_eq!(orders, [18, 19, 20, 21, 22, 23]);
    }

    #[test]
    fn of_a_long_replicate_the_pair_is_repeated() {
        let (plan, mut records) = planned(3, 4, 6);
        // The second workload of the last arm in the first replicate: cell 9.
        disturb(&mut records, &[9]);
        let cells: BTreeSet<usize> =
            wanted(&plan, &records).iter().map(|(trial, _)| trial.workload).collect();
        assert_eq!(cells, BTreeSet::from([1, 9]));
        // Repeating a baseline repeats all its comparisons.
        let (plan, mut records) = planned(3, 4, 6);
        disturb(&mut records, &[2]);
        let cells: BTreeSet<usize> =
            wanted(&plan, &records).iter().map(|(trial, _)| trial.workload).collect();
        assert_eq!(cells, BTreeSet::from([2, 6, 10]));
    }

    #[test]
    fn a_repeated_replicate_has_a_lead_in_of_its_own_and_costly_settings_are_visited_once() {
        let text = "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 6\n\
             margin = \"5%\"\naa_control = false\nhard_to_change = [\"engine\"]\n\
             [factors]\nengine = [\"psync\", \"io_uring\"]\nqueue_depth = [\"1\", \"2\"]\n\
             [[workload]]\nname = \"w\"\n\
             io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }\n";
        let plan = plan::make(&text::parse("test", text).unwrap(), vec![survey("here", 1)], 9);
        let mut records: Vec<Trial> = plan.trials.iter().map(record).collect();
        let hit = plan.trials.iter().position(|trial| trial.replicate == 2).unwrap() + 1;
        disturb(&mut records, &[hit]);
        let found: Vec<PlannedTrial> =
            wanted(&plan, &records).into_iter().map(|(trial, _)| trial).collect();
        let lead_ins: Vec<bool> = found.iter().map(|trial| trial.lead_in).collect();
        assert_eq!(lead_ins, [true, false, false, true, false, false]);
        for visit in found.chunks(3) {
            assert_eq!(visit[0].workload, visit[1].workload);
            assert!(visit.iter().all(|trial| trial.arm["engine"] == visit[0].arm["engine"]));
        }
        let cells: BTreeSet<usize> = found.iter().map(|trial| trial.workload).collect();
        assert_eq!(cells.len(), 4);
    }

    #[test]
    fn repeats_hang_on_first_runs_alone() {
        let (plan, mut records) = planned(2, 1, 3);
        disturb(&mut records, &[3]);
        let before = wanted(&plan, &records);
        let (again, of) = before[0].clone();
        let mut repeated = records[again.workload].clone();
        (repeated.order, repeated.replicate) = (again.order, again.replicate);
        (repeated.repeats, repeated.status) = (Some(of), Status::Disturbed);
        records.push(repeated);
        assert_eq!(wanted(&plan, &records), before);
    }
}
