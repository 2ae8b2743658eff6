//! A race: who won, who was left in, who left when and how far behind it was then. In its words: nothing of it
//! is called better or worse.

use super::numbers::{heading, under_heading};
use super::study::Page;
use super::study_tables::{factor_cells, factor_columns};
use super::{Block, Cell, NONE, Role, Row, Section, Table};
use crate::table::Column;
use assay_base::quantity::Better;
use assay_base::quantity::units::show;
use assay_study::findings::race::{DroppedLevel, RaceAnswer, Runner, ScreenAnswer, ScreenedLevel};
use assay_study::results::plan::level_words;

/// What the figure of a race is called, beside which this stands.
const FIGURE: &str = "race";

/// Settings that are told where not everything is wanted: with more nobody reads on.
const MOST: usize = 24;

/// The section; none of what is no race.
pub(super) fn section(page: &Page<'_>) -> Option<Section> {
    let race = page.findings.race.as_ref().filter(|race| !race.entries.is_empty())?;
    let told = in_order(race);
    let most = if page.full() { told.len() } else { MOST };
    let rows = told.iter().take(most).map(|runner| row(page, race, runner)).collect();
    let mut columns: Vec<Column> = factor_columns(page).collect();
    columns.push(Column::right(heading(&race.metric)));
    columns.extend([Column::right("trials"), Column::right("vs. winner")]);
    columns.push(Column::left("status").words());
    let mut blocks = vec![Block::Table(Table { columns, rows })];
    blocks.push(Block::Text(legend(page, told.len().saturating_sub(most))));
    let way = match race.better {
        Better::Higher | Better::Unknown => "higher wins",
        Better::Lower => "lower wins",
    };
    let caption = format!("race: {}, {way}", heading(&race.metric));
    Some(Section::titled(caption, blocks).with_role(Role::Of(FIGURE)))
}

/// The screen before it; none of a race without one.
pub(super) fn screen(page: &Page<'_>) -> Option<Section> {
    let screen = page.findings.race.as_ref()?.screen.as_ref()?;
    let columns = vec![
        Column::left("factor").key(),
        Column::left("level").key(),
        Column::right("trials"),
        Column::right("vs. best level"),
        Column::left("status").words(),
    ];
    let most = if page.full() { screen.levels.len() } else { MOST };
    let rows = screen.levels.iter().take(most).map(of_level).collect();
    let mut told = how(screen);
    let untold = screen.levels.len().saturating_sub(most);
    if untold > 0 {
        told.push(format!("{untold} more levels are not shown; see {}.", page.more()));
    }
    let blocks = vec![Block::Table(Table { columns, rows }), Block::Text(told)];
    Some(Section::titled("screen before the race", blocks).with_role(Role::Of(FIGURE)))
}

fn of_level(own: &ScreenedLevel) -> Row {
    let beside = match (own.ratio_to_best, own.ends) {
        (Some(ratio), Some(ends)) => {
            let [ratio, low, high] = show::ratios(ratio, ends);
            format!("{ratio}, {low} to {high}")
        }
        (Some(_), None) => "best".to_owned(),
        (None, _) => NONE.to_owned(),
    };
    let became = match (own.eliminated, own.n) {
        (false, _) => "kept",
        (true, 0) => "eliminated: no valid trial",
        (true, _) => "eliminated",
    };
    let cells = [own.factor.clone(), own.level.clone()].map(Cell::from);
    let numbers = [own.n.to_string(), beside].map(Cell::from);
    let cells = cells.into_iter().chain(numbers).chain([Cell::plain(became)]).collect();
    Row { name: level_words(&own.factor, &own.level), cells, notes: Vec::new() }
}

/// How a screen is read, and what it did not look at.
fn how(screen: &ScreenAnswer) -> Vec<String> {
    let told = format!(
        "Main effects from a least-squares fit to log values ({} trials in {} approximately balanced passes): each \
         level relative to the best level of the factor, averaged over all other factors. Assay eliminates levels that \
         are behind (simultaneous 95% confidence over all levels, separate from the 95% confidence of the race). The \
         screen ignores interactions, so it can drop a configuration that is good only with an eliminated level. The \
         race counts its replicates after these passes.",
        screen.trials, screen.passes
    );
    vec![told]
}

/// The winner, others that were left in, and those that left, the last first; each by its place beside the
/// winner.
fn in_order(race: &RaceAnswer) -> Vec<&Runner> {
    let ahead = |runner: &Runner| {
        let way = if race.better == Better::Higher { -1.0 } else { 1.0 };
        runner.ratio_to_winner.map_or(f64::INFINITY, |own| way * own)
    };
    let mut told: Vec<&Runner> = race.entries.iter().collect();
    told.sort_by(|one, other| {
        let stayed = |own: &Runner| own.eliminated.as_ref().map_or(u32::MAX, |left| left.after);
        let is_winner = |own: &Runner| race.winner.as_ref() == Some(&own.configuration);
        (is_winner(other), stayed(other))
            .cmp(&(is_winner(one), stayed(one)))
            .then(ahead(one).total_cmp(&ahead(other)))
    });
    told
}

fn row(page: &Page<'_>, race: &RaceAnswer, runner: &Runner) -> Row {
    let mean =
        runner.mean.map_or_else(|| NONE.to_owned(), |mean| under_heading(&race.metric, mean));
    let beside = runner.ratio_to_winner.map_or_else(|| NONE.to_owned(), show::ratio);
    let mut cells: Vec<Cell> = factor_cells(page, &runner.configuration).collect();
    cells.extend([mean, runner.n.to_string(), beside].map(Cell::from));
    cells.push(Cell::plain(stayed(race, runner)));
    Row { name: page.findings.arm_words(&runner.configuration), cells, notes: Vec::new() }
}

/// How long it stayed, and why no longer.
pub(crate) fn stayed(race: &RaceAnswer, runner: &Runner) -> String {
    let is_winner = race.winner.as_ref() == Some(&runner.configuration);
    let is_baseline = runner.configuration == race.baseline;
    let Some(left) = &runner.eliminated else {
        return match (is_winner, is_baseline, race.end.is_some()) {
            (true, true, true) => "won (baseline)".to_owned(),
            (true, false, true) => "won".to_owned(),
            (true, _, false) => "leads".to_owned(),
            (_, true, _) if race.baseline_eliminated => {
                "baseline (never eliminated); behind (95% confidence)".to_owned()
            }
            (_, true, _) => "remaining (baseline)".to_owned(),
            (..) => "remaining".to_owned(),
        };
    };
    if let Some(DroppedLevel { factor, level }) = &left.dropped {
        return format!("eliminated in the screen, with {}", level_words(factor, level));
    }
    match &left.ratio_to_leader {
        None if left.rolled_back && left.after == 0 => {
            "eliminated in the screen and rolled back: harmed the production workload".to_owned()
        }
        None if left.rolled_back => {
            format!(
                "eliminated after replicate {} and rolled back: harmed the production workload",
                left.after
            )
        }
        None => format!("eliminated after replicate {}: no valid trial", left.after),
        Some(behind) => {
            let [ratio, low, high] = show::ratios(behind.ratio, behind.ends);
            format!("eliminated after replicate {}: ratio {ratio}, {low} to {high}", left.after)
        }
    }
}

/// How the table is read, and what is not in it.
fn legend(page: &Page<'_>, untold: usize) -> Vec<String> {
    let mut told = vec![
        "Means cover the replicates in which a configuration ran. Ratios to the winner cover the replicates in which \
         both ran, and have no CI, because survivors are biased upward. Eliminations show the ratio to the leader."
            .to_owned(),
    ];
    if untold > 0 {
        told.push(format!("{untold} earlier eliminations are not shown; see {}.", page.more()));
    }
    told
}
