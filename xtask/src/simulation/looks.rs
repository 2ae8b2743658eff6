//! S7: studies of equal configurations that may stop early after interim analyses.

use super::chance::Chance;
use super::experiment::{Bound, Conclusions, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, World};
use assay_analysis::inference;
use assay_study::findings::Verdict;
use assay_study::results::design::Stopping;
use assay_testkit::Done;

const LOOKS: [u32; 6] = [5, 7, 10, 14, 20, 28];
/// Interim analyses of an open study.
const OPEN: std::ops::RangeInclusive<u32> = 3..=100;

pub fn experiments() -> Vec<Experiment> {
    let looks = Stopping::Looks { at: LOOKS.to_vec(), half_width: None };
    let open = Stopping::Open { half_width: None };
    let declared = "null, 2 configurations, interim analyses at 5 7 10 14 20 28";
    let every = "null, 2 configurations, open from 3 to 100";
    let mut open = stopping("S7-open", every, open, OPEN.collect(), 5.0);
    // A study with 98 interim analyses takes as long as 100 others.
    open.one_in = 4;
    vec![stopping("S7-looks", declared, looks, LOOKS.to_vec(), 5.5), open]
}

fn stopping(
    purpose: &str,
    setting: &str,
    stopping: Stopping,
    looks: Vec<u32>,
    highest: f64,
) -> Experiment {
    let longest = looks.last().copied().unwrap_or(0) as usize;
    let world = World::null(2, longest);
    let question = Question { stopping, ..Question::about(&world) };
    let counts = vec![
        count("better or worse at any interim analysis", Bound::at_most(highest)),
        count("stopped by a false verdict", Bound::Free),
        count("stopped as equivalent", Bound::Free),
    ];
    Experiment::new("S7", purpose.to_owned(), setting.to_owned(), counts, move |chance| {
        look(&world, &question, &looks, chance)
    })
}

/// Analyzes until the verdict is better or worse. The product also stops at the verdict equivalent, so it reports better
/// or worse less often; the counts contain both.
fn look(
    world: &World,
    question: &Question,
    looks: &[u32],
    chance: &mut Chance,
) -> Done<Conclusions> {
    let trials = world::run(world, chance);
    let (mut text, mut written) = (seam::table(&[], &question.labels), 0);
    let (mut ended, mut differs) = (None, false);
    for &replicates in looks {
        let until = trials.iter().filter(|trial| trial.replicate <= replicates).count();
        for trial in &trials[written..until] {
            seam::row(&mut text, trial, &question.labels);
        }
        written = until;
        let found = seam::judge(seam::read(&text, question)?);
        let comparison = question.comparison(&found, 1)?;
        if ended.is_none() && inference::enough(&found, &question.stopping).is_some() {
            ended = comparison.verdict;
        }
        differs = seam::differs(comparison);
        if differs {
            break;
        }
    }
    let equivalent = ended == Some(Verdict::Equivalent);
    Ok(vec![differs, differs && !equivalent, equivalent])
}
