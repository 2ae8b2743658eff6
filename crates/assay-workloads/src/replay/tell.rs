//! Facts and exhibits of a replay: replayed and recorded counts.

use assay_core::catalogue::About;
use assay_core::exhibit::{
    Column, Exhibit, Figure, Levels, Row, Sentence, Subject, Table, Unit, Value, requests,
};
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::{Fidelity, ReplayCounts, ReplayDetail, ReplayPlan, WaitFidelity};
use crate::tell::{FactsFigure, OfRow, RowSource, RowView, Shows, Tells};

/// Fidelity of the least faithful trial of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayFacts {
    pub workload: String,
    pub configuration: Levels,
    /// Number of trials to choose from.
    pub trials: usize,
    pub fidelity: Fidelity,
    /// The same in a sentence.
    pub text: String,
}

impl Tells for ReplayPlan {
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let details = seen.trials.iter().filter_map(|trial| ReplayDetail::of((*trial)?));
        let all: Vec<&Fidelity> = details.map(|detail| &detail.fidelity).collect();
        let worst = all.iter().max_by(|one, other| one.by_faults(other))?;
        let Subject { workload, arm } = seen.subject.clone();
        let (trials, fidelity) = (all.len(), (*worst).clone());
        let text = words(&fidelity, trials);
        Some(ReplayFacts { workload, configuration: arm, trials, fidelity, text }.into())
    }
}

/// Describes the least faithful replay of a row.
fn words(fidelity: &Fidelity, trials: usize) -> String {
    let trial = if trials > 1 {
        format!("the trial with the lowest fidelity of {trials}")
    } else {
        "the trial".to_owned()
    };
    let sum = |count: fn(&ReplayCounts) -> u64| {
        let all = fidelity.requests.values().map(count);
        show::count(all.fold(0, u64::saturating_add))
    };
    let [recorded, played] =
        [fidelity.recorded_ns, fidelity.replayed_ns].map(|span| show::duration(span as f64));
    let timing = fidelity.ks_distance.map_or_else(String::new, |distance| {
        let delay_ns = fidelity.max_delay_ns.unwrap_or_default();
        format!(
            ", KS distance of arrival times {distance:.3}, at most {} late",
            show::duration(delay_ns as f64)
        )
    });
    let pacing = fidelity.dependent.as_ref().map_or_else(String::new, pacing_words);
    let mut changed = String::new();
    for (count, what) in [
        (fidelity.skipped, "cannot be replayed"),
        (fidelity.adjusted.rounded, "were rounded for direct I/O"),
        (fidelity.adjusted.clipped, "were clipped"),
    ] {
        if count > 0 {
            changed = format!("{changed}; {} {what}", show::count(count));
        }
    }
    format!(
        "Replay in {trial}: {} of {} requests in {played} (recorded at this speed: {recorded}){timing}{pacing}; {}{changed}.",
        sum(|counts| counts.replayed.operations),
        sum(|counts| counts.recorded.operations),
        fidelity.placing.words()
    )
}

fn pacing_words(paced: &WaitFidelity) -> String {
    let [recorded, played] = paced.gap_ns.map(show::duration);
    format!(
        ", {} of them after the end of a predecessor, with a mean delay of {played} (recorded: {recorded})",
        show::count(paced.after_end)
    )
}

const LEGEND: &str = "For each row, recorded and replayed requests of the trial with the lowest fidelity. Rule \
                      replay-mismatch reports deviations separately.";

const FIGURE: FactsFigure = FactsFigure {
    key: ReplayFacts::KEY,
    about: About {
        name: "replay",
        summary: "a recorded trace and its replay, by request class",
        text: "For each workload, the row with the lowest fidelity: starts over time, delay behind the schedule, \
               sizes, and distances between requests, for the three most frequent classes. In an accurate replay, the \
               recorded and replayed lines and bars overlap.",
    },
    leads: false,
};
const MOST_DRAWN: usize = 3;

impl Shows for ReplayFacts {
    const KEY: &'static str = "replay";
    const FIGURE: Option<&'static FactsFigure> = Some(&FIGURE);

    fn exhibit(all: &[&Self], rows: &dyn RowSource) -> Exhibit {
        let table = Table {
            title: "recorded and replayed".to_owned(),
            columns: vec![
                Column::left("requests"),
                Column::new("recorded", Unit::Count),
                Column::new("replayed", Unit::Count),
                Column::new("recorded bytes", Unit::Bytes),
                Column::new("replayed bytes", Unit::Bytes),
            ],
            rows: all.iter().flat_map(|row| row.rows()).collect(),
            notes: vec![LEGEND.to_owned()],
        };
        let mut tables = vec![table, timing_table(all, rows)];
        tables.extend(waits_table(all, rows));
        let sentence = |row: &&Self| Sentence { about: row.subject(), text: row.text.clone() };
        Exhibit {
            tables,
            figures: figures(all, rows),
            // Equal work needs no sentence: the tables show it.
            sentences: all.iter().filter(|row| row.is_other_work()).map(sentence).collect(),
            ..Exhibit::default()
        }
    }
}

/// The least faithful row of each workload, as pictures.
fn figures(all: &[&ReplayFacts], rows: &dyn RowSource) -> Vec<Figure> {
    let mut figures = Vec::new();
    for configurations in all.chunk_by(|one, next| one.workload == next.workload).take(MOST_DRAWN) {
        let worst = configurations.iter().max_by(|a, b| a.fidelity.by_faults(&b.fidelity));
        let Some(worst) = worst else { continue };
        let mut notes = Vec::new();
        if configurations.len() > 1 {
            notes.push(format!("Lowest fidelity: the trial of {}.", rows.name(&worst.subject())));
        }
        let drawn = &worst.fidelity.drawn;
        figures.extend(requests::of_play(FIGURE.about.name, &worst.workload, drawn, notes));
    }
    figures
}

fn timing_table(all: &[&ReplayFacts], rows: &dyn RowSource) -> Table {
    let ns = |title| Column::new(title, Unit::Nanoseconds);
    let mut table = Table::new("replay timing");
    table.add(Column::left("replay"), all, |row| rows.name(&row.subject()));
    table.add(ns("recorded"), all, |row| row.fidelity.recorded_ns);
    table.add(ns("replayed"), all, |row| row.fidelity.replayed_ns);
    table.add(Column::new("KS distance", Unit::Share), all, |row| row.fidelity.ks_distance);
    table.add(Column::new("late", Unit::Share), all, |row| row.fidelity.late_share);
    table.add(Column::right("in flight, recorded"), all, |row| row.fidelity.in_flight_recorded());
    table.add(Column::right("in flight, replayed"), all, |row| row.fidelity.in_flight[1]);
    table.notes.push(
        "Recorded: at the speed of the replay. KS distance: between recorded and replayed start times. Late: requests that started more than 1 ms late \
         or never started. The mean number in flight depends on the target and is not a deviation."
            .to_owned(),
    );
    table
}

/// Dependencies in replays with a dependent clock, if any.
fn waits_table(all: &[&ReplayFacts], rows: &dyn RowSource) -> Option<Table> {
    let waits = |row: &&ReplayFacts| Some((rows.name(&row.subject()), row.fidelity.dependent?));
    let paced: Vec<(String, WaitFidelity)> = all.iter().filter_map(waits).collect();
    let ns = |title| Column::new(title, Unit::Nanoseconds);
    let mut table = Table::new("waits in replays with timing = \"dependent\"");
    table.add(Column::left("replay"), &paced, |(name, _)| name);
    table.add(Column::new("after a completion", Unit::Count), &paced, |(_, of)| of.after_end);
    table.add(ns("gap, recorded"), &paced, |(_, of)| of.gap_ns[0]);
    table.add(ns("gap, replayed"), &paced, |(_, of)| of.gap_ns[1]);
    table.add(Column::new("added", Unit::Share), &paced, |(_, of)| of.added_share);
    table.add(Column::new("overtaken", Unit::Count), &paced, |(_, of)| of.overtaken);
    table.notes.push(
        "Dependencies are inferred: a request waits for the latest completion of its type (reads, or writes and \
         other changes) at most 100 ms earlier; other requests start at their recorded distance from the previous \
         start. Added: wait added by late starts. Overtaken: requests that started after a request that comes \
         later in the recording, because the speed of the target differs."
            .to_owned(),
    );
    (!paced.is_empty()).then_some(table)
}

impl OfRow for ReplayFacts {}

impl ReplayFacts {
    fn is_other_work(&self) -> bool {
        !self.fidelity.faults().is_empty()
    }

    fn rows(&self) -> Vec<Row> {
        let row = |(name, counts): (&String, &ReplayCounts)| {
            let cells = [
                Value::from(name),
                counts.recorded.operations.into(),
                counts.replayed.operations.into(),
                counts.recorded.bytes.into(),
                counts.replayed.bytes.into(),
            ];
            Row::about(self.subject(), cells)
        };
        self.fidelity.requests.iter().map(row).collect()
    }
}
