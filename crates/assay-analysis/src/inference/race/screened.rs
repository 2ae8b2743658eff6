//! The screen before a race, as it is told: which levels left, and what was not looked at.

use assay_core::quantity::Better;
use assay_study::findings::race::{DroppedLevel, RaceAnswer, ScreenAnswer, ScreenedLevel};
use assay_study::plan::race::screen::Level;
use assay_study::plan::race::{Left, Race, Why};
use assay_study::results::plan::{Plan, level_words};

use super::super::verdicts::words::counted;
use super::{ends_of, ratio_of};

/// Levels that a sentence names; of more it tells how many.
const MOST_NAMED: usize = 6;

/// What came of it; none where there is none, or it is under way.
pub(super) fn answer(plan: &Plan, race: &Race, better: Better) -> Option<ScreenAnswer> {
    let screen = race.screen.as_ref()?;
    let is_there = |own: &DroppedLevel| {
        let mut arms = plan.workloads.iter().map(|planned| &planned.arm);
        arms.any(|arm| arm.get(&own.factor) == Some(&own.level))
    };
    let told = |own: &Level| {
        // Of what cannot be had here the plan tells.
        let named = level(plan, own.factor, own.level).filter(is_there)?;
        let DroppedLevel { factor, level } = named;
        Some(ScreenedLevel {
            factor,
            level,
            n: own.n,
            ratio_to_best: own.beside.map(|own| ratio_of(better, own.by)),
            // Of the best itself there are none.
            ends: (own.beside.filter(|own| own.by < 0.0 || own.width > 0.0))
                .map(|own| ends_of(better, own.by, own.width)),
            eliminated: own.left,
        })
    };
    let gone = |left: &&Left| matches!(left.why, Why::Level { .. });
    let mut answer = ScreenAnswer {
        passes: plan.design.stopping.passes(),
        trials: screen.trials,
        settings: race.standing.left.iter().flatten().filter(gone).count(),
        levels: screen.levels.iter().filter_map(told).collect(),
        text: String::new(),
    };
    answer.text = words(&answer);
    Some(answer)
}

pub(super) fn level(plan: &Plan, factor: usize, level: usize) -> Option<DroppedLevel> {
    let factor = plan.design.factors.get(factor)?;
    let level = factor.levels.get(level)?.clone();
    Some(DroppedLevel { factor: factor.name.clone(), level })
}

pub(super) fn under_way(answer: &RaceAnswer, pass: u32, passes: u32) -> String {
    let settings = answer.entries.len();
    let complete = pass.saturating_sub(1);
    let verb = if answer.end.is_some() { "ended during the screen" } else { "has not begun" };
    format!(
        "The race among {settings} configurations {verb}: {complete} of {passes} passes are complete."
    )
}

fn words(answer: &ScreenAnswer) -> String {
    let before = format!(
        "A screen of {} first estimated the main effects of {} levels",
        counted(answer.trials, "trial"),
        answer.levels.len()
    );
    let told = answer.levels.iter().any(|own| own.ratio_to_best.is_some());
    let left: Vec<&ScreenedLevel> = answer.levels.iter().filter(|own| own.eliminated).collect();
    if left.is_empty() {
        return if told {
            format!("{before}: none was worse (95% confidence), so all entered the race.")
        } else {
            format!(
                "A screen of {} first found no significant difference between factor levels, so all configurations \
                 entered the race.",
                counted(answer.trials, "trial")
            )
        };
    }
    let named = left.iter().take(MOST_NAMED);
    let mut names: Vec<String> = named.map(|own| level_words(&own.factor, &own.level)).collect();
    let more = left.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let settings = counted(answer.settings, "configuration");
    format!(
        "{before} (simultaneous 95% confidence) and eliminated {} with {settings}: {}. The screen ignores \
         interactions, so the race omits any configuration that is good only with one of these levels.",
        counted(left.len(), "level"),
        names.join(", ")
    )
}
