//! S13: two configurations, one of which is slow after the other (R2d). The first trial of a replicate follows a lead-in
//! of its own configuration, the second follows the other one, so that the mean of both is wrong for each.

use assay_study::findings::notes::Note;
use assay_study::findings::{Comparison, Findings};

use super::experiment::{Bound, Count, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, Trial, World};

const REPLICATES: [usize; 3] = [4, 6, 10];
/// Slowdown of the second configuration after itself and after the other one.
const SLOW: [f64; 2] = [1.03, 1.44];

pub fn experiments() -> Vec<Experiment> {
    let mut all: Vec<Experiment> = REPLICATES.map(null).into();
    all.extend([6, 10].map(slow_after_the_other));
    all
}

fn reports_two_orders(found: &Comparison) -> bool {
    found.note_facts.iter().any(|note| matches!(note, Note::TwoOrders { .. }))
}

fn experiment(
    (purpose, setting): (&str, &str),
    replicates: usize,
    counts: Vec<Count>,
    law: fn(&mut [Trial]),
) -> Experiment {
    let world = World::null(2, replicates);
    let question = Question::about(&world);
    Experiment::new(
        "S13",
        format!("{purpose}-n{replicates}"),
        format!("{setting}, n = {replicates}"),
        counts,
        move |chance| {
            let mut trials = world::run(&world, chance);
            law(&mut trials);
            let found: Findings = seam::findings(&trials, &question)?;
            let one = question.comparison(&found, 1)?;
            Ok(vec![reports_two_orders(one), seam::differs(one), !found.advice.is_empty()])
        },
    )
}

fn null(replicates: usize) -> Experiment {
    let counts = vec![
        count("orders differ", Bound::at_most(7.2)),
        count("better or worse", Bound::at_most(7.2)),
        count("advised", Bound::Free),
    ];
    experiment(("S13-null", "null, 2 configurations"), replicates, counts, |_| {})
}

fn slow_after_the_other(replicates: usize) -> Experiment {
    let counts = vec![
        count("orders differ", Bound::at_least(95.0)),
        count("better or worse", Bound::at_most(5.0)),
        count("advised", Bound::at_most(5.0)),
    ];
    experiment(("S13-after", "2 configurations, one slow afterwards"), replicates, counts, slowed)
}

fn slowed(trials: &mut [Trial]) {
    let mut before = None;
    for trial in trials {
        if trial.arm == 1 {
            trial.value /= SLOW[usize::from(before == Some(0))];
        }
        before = Some(trial.arm);
    }
}
