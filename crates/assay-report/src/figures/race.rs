//! A race: each setting at its elimination, and its distance to the leader then.

use super::Drawing;
use crate::document::outcome;
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{Axis, AxisScale, Colour, Figure, Guide, Mark, Point, id_of};
use assay_core::exhibit::parts::{by_sort, left_out};
use assay_core::quantity::Better;
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::race::{RaceAnswer, Runner};
use assay_study::findings::shown::{Names, metric_title};

pub static RACE: Drawing = Drawing {
    about: About {
        name: "race",
        summary: "when a race eliminated each configuration, and how far the configuration was behind the leader",
        text: "Each point is a configuration, at the replicate that eliminated it and at the ratio of its mean to the \
               leader's. The line is the confidence sequence of the elimination, simultaneous over all replicates and \
               configurations; the whole line is on the worse side of 1. Survivors are at the last replicate and have \
               no line, because the winner's gain is biased upward. Only new trials (assay advise confirm) give the \
               winner's CI against the baseline.",
    },
    draw,
};

/// Limit on settings per figure: with more, leave out those eliminated first.
const MOST_SETTINGS: usize = 600;

/// Draws each configuration at the replicate that eliminated it, with its ratio to the leader.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let Some(race) = &findings.race else { return Vec::new() };
    let names = Names::from_findings(findings);
    let mut points: Vec<(RaceOutcome, Point)> =
        race.entries.iter().filter_map(|runner| point_of(race, &names, runner)).collect();
    // The last to leave the race first. The sort is stable: within a replicate, the order of the plan remains.
    points.sort_by(|left, right| right.1.at.total_cmp(&left.1.at));
    let dropped = points.len().saturating_sub(MOST_SETTINGS);
    points.truncate(MOST_SETTINGS);
    if points.len() < 2 {
        return Vec::new();
    }
    let metric = metric_title(&race.metric);
    let direction = match race.better {
        Better::Higher | Better::Unknown => "higher wins",
        Better::Lower => "lower wins",
    };
    let along = Axis::new("replicate of elimination", AxisScale::Linear, Unit::Count);
    let value =
        Axis::new(format!("{metric} vs. the leader; {direction}"), AxisScale::Log10, Unit::Ratio);
    vec![Figure {
        id: id_of(&["race", &race.workload]),
        title: format!("{}: when each configuration left the race, by {metric}", race.workload),
        description: race.text.clone(),
        guides: vec![Guide::line(1.0, "same as the leader".to_owned())],
        interval: "95% confidence sequence, simultaneous over all configurations".to_owned(),
        notes: left_out(dropped, "configuration").into_iter().chain(screen_note(race)).collect(),
        workload: Some(race.workload.clone()),
        metric: Some(race.metric.clone()),
        ..Figure::upright(along, value, by_sort(SORTS, points, Mark::Points))
    }]
}

/// A note on how many configurations the screen eliminated before the race; `None` if none.
fn screen_note(race: &RaceAnswer) -> Option<String> {
    let settings = race.screen.as_ref()?.settings;
    let several = if settings == 1 { "" } else { "s" };
    (settings > 0).then(|| {
        format!(
            "Not shown: {settings} configuration{several} with levels that the screen before the race eliminated; the \
             screen ignores interactions."
        )
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RaceOutcome {
    Won,
    Remaining,
    Eliminated,
    Baseline,
}

const SORTS: [(RaceOutcome, &str, Colour, usize); 4] = [
    (RaceOutcome::Won, "won", Colour::Series(2), 2),
    (RaceOutcome::Remaining, "remaining", Colour::Series(0), 0),
    (RaceOutcome::Eliminated, "eliminated", Colour::Series(7), 1),
    (RaceOutcome::Baseline, "baseline (never eliminated)", Colour::Series(1), 3),
];

/// The point of a configuration and how it ended; `None` without a valid trial, which gives no ratio.
fn point_of(race: &RaceAnswer, names: &Names, runner: &Runner) -> Option<(RaceOutcome, Point)> {
    let (at, value, ends) = match &runner.eliminated {
        Some(elimination) => {
            let behind = elimination.ratio_to_leader.as_ref()?;
            (elimination.after, behind.ratio, Some(behind.ends))
        }
        None => (race.replicates, runner.ratio_to_winner?, None),
    };
    // Until the race ends, the winner is only the current leader.
    let is_leader = race.winner.as_ref() == Some(&runner.configuration);
    let sort = if is_leader && race.end.is_some() {
        RaceOutcome::Won
    } else if !is_leader && runner.configuration == race.baseline {
        RaceOutcome::Baseline
    } else if runner.eliminated.is_some() {
        RaceOutcome::Eliminated
    } else {
        RaceOutcome::Remaining
    };
    let point =
        Point::new(f64::from(at), Unit::Ratio, &names.arm(&runner.configuration), value, ends);
    let text = format!("{}; {}", point.text, outcome(race, runner));
    Some((sort, Point { text, ..point }))
}
