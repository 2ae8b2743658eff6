//! A race: the winner, the others, and when and how far behind they were eliminated; without verdicts.

use super::numbers::{heading, under_heading};
use super::study::StudyPage;
use super::study_tables::add_factors;
use super::{Column, Section, SectionRole, Table};
use assay_core::quantity::{Better, units::show};
use assay_study::findings::race::{DroppedLevel, RaceAnswer, Runner};
use assay_study::results::plan::level_words;

const FIGURE: &str = "race";
/// Limit on rows, except in full.
const MOST_ROWS: usize = 24;

/// The configurations of a race, the best first; `None` for other studies. Usual detail omits early eliminations.
pub(super) fn section(page: &StudyPage<'_>) -> Option<Section> {
    let race = page.findings.race.as_ref().filter(|race| !race.entries.is_empty())?;
    let runners = sorted_runners(race);
    let limit = if page.full() { runners.len() } else { MOST_ROWS };
    let shown = &runners[..runners.len().min(limit)];
    let direction = if race.better == Better::Lower { "lower wins" } else { "higher wins" };
    let metric = heading(&race.metric);
    let mut table = Table::new(format!("race: {metric}, {direction}"));
    add_factors(&mut table, page, shown, |runner| &runner.configuration);
    table.add(Column::right(metric), shown, |runner| {
        runner.mean.map(|mean| under_heading(&race.metric, mean))
    });
    table.add(Column::right("trials"), shown, |runner| runner.n.to_string());
    table.add(Column::right("vs. winner"), shown, |runner| runner.ratio_to_winner.map(show::ratio));
    table.add(Column::sentences("status"), shown, |runner| outcome(race, runner));
    for (row, runner) in table.rows.iter_mut().zip(shown) {
        row.name = page.findings.arm_words(&runner.configuration);
    }
    let how = "Means cover the replicates in which a configuration ran. Ratios to the winner cover the replicates in \
               which both ran, and have no CI, because survivors are biased upward. Eliminations show the ratio to the \
               leader.";
    table.notes.push(how.to_owned());
    let hidden = runners.len() - shown.len();
    if hidden > 0 {
        let note = format!("{hidden} earlier eliminations are not shown; see {}.", page.more());
        table.notes.push(note);
    }
    Some(Section::from(table).with_role(SectionRole::Of(FIGURE)))
}

/// The trials before a race that eliminate single levels of factors; `None` for a race without this screen.
pub(super) fn screen(page: &StudyPage<'_>) -> Option<Section> {
    let screen = page.findings.race.as_ref()?.screen.as_ref()?;
    let limit = if page.full() { screen.levels.len() } else { MOST_ROWS };
    let levels = &screen.levels[..screen.levels.len().min(limit)];
    let mut table = Table::new("screen before the race");
    table.add(Column::key("factor"), levels, |it| &it.factor);
    table.add(Column::key("level"), levels, |it| &it.level);
    table.add(Column::right("trials"), levels, |it| it.n.to_string());
    table.add(Column::right("vs. best level"), levels, |level| {
        let ratio = level.ratio_to_best?;
        let Some(ends) = level.ends else { return Some("best".to_owned()) };
        let [ratio, low, high] = show::ratios(ratio, ends);
        Some(format!("{ratio}, {low} to {high}"))
    });
    table.add(Column::sentences("status"), levels, |level| match level.n {
        _ if !level.eliminated => "kept",
        0 => "eliminated: no valid trial",
        _ => "eliminated",
    });
    for (row, level) in table.rows.iter_mut().zip(levels) {
        row.name = level_words(&level.factor, &level.level);
    }
    table.notes.push(format!(
        "Main effects from a least-squares fit to log values ({} trials in {} approximately balanced passes): each \
         level relative to the best level of the factor, averaged over all other factors. Assay eliminates levels that \
         are behind (simultaneous 95% confidence over all levels, separate from the 95% confidence of the race). The \
         screen ignores interactions, so it can drop a configuration that is good only with an eliminated level. The \
         race counts its replicates after these passes.",
        screen.trials, screen.passes
    ));
    let hidden = screen.levels.len() - levels.len();
    if hidden > 0 {
        table.notes.push(format!("{hidden} more levels are not shown; see {}.", page.more()));
    }
    Some(Section::from(table).with_role(SectionRole::Of(FIGURE)))
}

/// The winner, then the others by the replicate that eliminated them, the last first, and by their ratio to the winner.
fn sorted_runners(race: &RaceAnswer) -> Vec<&Runner> {
    let is_winner = |runner: &Runner| race.winner.as_ref() == Some(&runner.configuration);
    let last_replicate = |it: &Runner| it.eliminated.as_ref().map_or(u32::MAX, |left| left.after);
    // A smaller distance is better; runners without a ratio are the last ones.
    let distance = |runner: &Runner| {
        let sign = if race.better == Better::Higher { -1.0 } else { 1.0 };
        runner.ratio_to_winner.map_or(f64::INFINITY, |ratio| sign * ratio)
    };
    let mut runners: Vec<&Runner> = race.entries.iter().collect();
    runners.sort_by(|left, right| {
        (is_winner(right), last_replicate(right))
            .cmp(&(is_winner(left), last_replicate(left)))
            .then(distance(left).total_cmp(&distance(right)))
    });
    runners
}

/// How a configuration ended: whether it won, remained or was eliminated, when and by which ratio.
pub(crate) fn outcome(race: &RaceAnswer, runner: &Runner) -> String {
    let Some(end) = &runner.eliminated else { return remaining(race, runner).to_owned() };
    if let Some(DroppedLevel { factor, level }) = &end.dropped {
        return format!("eliminated in the screen, with {}", level_words(factor, level));
    }
    match &end.ratio_to_leader {
        None if end.rolled_back && end.after == 0 => {
            "eliminated in the screen and rolled back: harmed the production workload".to_owned()
        }
        None if end.rolled_back => format!(
            "eliminated after replicate {} and rolled back: harmed the production workload",
            end.after
        ),
        None => format!("eliminated after replicate {}: no valid trial", end.after),
        Some(behind) => {
            let [ratio, low, high] = show::ratios(behind.ratio, behind.ends);
            format!("eliminated after replicate {}: ratio {ratio}, {low} to {high}", end.after)
        }
    }
}

/// The status of a configuration that was not eliminated. A baseline always remains, even if it is behind.
fn remaining(race: &RaceAnswer, runner: &Runner) -> &'static str {
    let is_baseline = runner.configuration == race.baseline;
    if race.winner.as_ref() == Some(&runner.configuration) {
        return match race.end {
            None => "leads",
            Some(_) if is_baseline => "won (baseline)",
            Some(_) => "won",
        };
    }
    if is_baseline && race.baseline_eliminated {
        return "baseline (never eliminated); behind (95% confidence)";
    }
    if is_baseline { "remaining (baseline)" } else { "remaining" }
}
