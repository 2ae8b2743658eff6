//! Facts and exhibits of rounds: the measurement window, mixes by sizes, the convergence, and deviations.

use std::iter;

use assay_core::catalogue::About;
use assay_core::exhibit::figure::{
    Axis, AxisScale, AxisSpan, Figure, Guide, NamedValues, SpanKind, lines_over_steps,
};
use assay_core::exhibit::{Column, Exhibit, Levels, List, Row, Sentence, Table, Unit, Value};
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::planned::cells_in_window;
use super::{
    BANDWIDTH, IOPS, InWindow, LATENCY, SteadyJudgement, SteadyStateDetail, SteadyStatePlan,
    SteadyWindow, judge_trial,
};
use crate::Measured;
use crate::tell::{FactsFigure, OfRow, Resting, RowSource, RowView, Shows, Tells};
use assay_core::calc::pts::{Measure, PtsClass, PtsPoint, Test};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyStateFacts {
    pub workload: String,
    pub configuration: Levels,
    pub test: Test,
    pub class: PtsClass,
    pub tracking_cell: PtsPoint,
    /// Its value in each round.
    pub rounds: Vec<f64>,
    /// Bytes written since the purge, up to the end of each round.
    pub written_bytes: Vec<u64>,
    /// Seconds from the start of the first round to the end of each.
    pub ended_s: Vec<f64>,
    /// The counted rounds; `None` with fewer than five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement_window: Option<SteadyWindow>,
    /// Each cell in these rounds.
    pub cells: Vec<InWindow>,
    /// Deviations from the specification; empty without a visible one.
    pub deviations: Vec<String>,
    /// Index of the trial and number of trials, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<[usize; 2]>,
    /// The same in sentences.
    pub text: String,
}

impl Tells for SteadyStatePlan {
    /// With several trials, uses the last: the drive is preconditioned most.
    fn facts(&self, seen: &RowView<'_>) -> Option<crate::WorkFacts> {
        let judged_trial = |(at, measured): (usize, Option<&Measured>)| {
            let detail = SteadyStateDetail::of(measured?)?.clone();
            let judged = judge_trial(self, &detail).filter(|judged| !judged.tracked.is_empty())?;
            Some((at, detail, judged))
        };
        let (at, detail, judged) =
            seen.trials.iter().copied().enumerate().filter_map(judged_trial).next_back()?;
        let trial = (seen.trials.len() > 1).then(|| [at + 1, seen.trials.len()]);
        let text = words(self, &detail, &judged, trial);
        let facts = SteadyStateFacts {
            workload: seen.subject.workload.clone(),
            configuration: seen.subject.arm.clone(),
            test: self.test,
            class: self.class,
            tracking_cell: self.tracked(),
            rounds: judged.tracked,
            written_bytes: detail.rounds.iter().map(|round| round.written_bytes).collect(),
            ended_s: detail.rounds.iter().map(|round| round.ended_ns as f64 / 1e9).collect(),
            measurement_window: judged.window,
            cells: cells_in_window(self, &detail),
            deviations: judged.departures,
            trial,
            text,
        };
        Some(facts.into())
    }
}

fn unit(measure: Measure) -> Unit {
    match measure {
        Measure::Iops => Unit::Iops,
        Measure::Bandwidth => Unit::BytesPerS,
        Measure::Latency => Unit::Nanoseconds,
    }
}

/// Describes the result and the deviations from the specification.
fn words(
    planned: &SteadyStatePlan,
    detail: &SteadyStateDetail,
    judged: &SteadyJudgement,
    trial: Option<[usize; 2]>,
) -> String {
    let mut text = result_words(planned, detail, judged);
    text += " ";
    text += &conformity_words(planned.test, &judged.departures);
    if let Some([trial, trials]) = trial {
        text = format!("{text} This is trial {trial} of {trials}.");
    }
    text
}

/// Describes the measurement window, or the mean over too few rounds.
fn result_words(
    planned: &SteadyStatePlan,
    detail: &SteadyStateDetail,
    judged: &SteadyJudgement,
) -> String {
    let (measure, tracked) = (planned.test.measure(), planned.tracked().words());
    let rounds = judged.tracked.len();
    let Some(window) = &judged.window else {
        let mean = judged.tracked.iter().sum::<f64>() / rounds.max(1) as f64;
        return format!(
            "{tracked}: {} over {rounds} rounds, too few to determine a steady state.",
            unit(measure).alone(mean)
        );
    };
    let SteadyWindow { first, last, mean, range_share, slope_share: rise_share, steady } = *window;
    let state = if steady { "Steady" } else { "Not steady" };
    let last_round = detail.rounds.get(last - 1).or_else(|| detail.rounds.last());
    let written = last_round.map_or(0, |round| round.written_bytes);
    let is_fresh = planned.fill_bytes.is_none() && written < detail.prepared.range_bytes;
    let fresh = if is_fresh {
        ", less than the whole area, so some blocks may never have been written"
    } else {
        ""
    };
    format!(
        "{state} in rounds {first} to {last}: {tracked} at {} (range {:.1}%, change {:.1}%), after {} of \
         writes{fresh}.",
        unit(measure).alone(mean),
        100.0 * range_share,
        100.0 * rise_share,
        show::bytes(written)
    )
}

fn conformity_words(test: Test, departures: &[String]) -> String {
    let title = test.title();
    if departures.is_empty() {
        return format!("No deviation from PTS {title} detected.");
    }
    format!("Does not conform to PTS {title}: {}.", departures.join("; "))
}

const LEGEND: &str = "Steady: in five consecutive rounds, the range is at most 20% of the mean, and the fitted line \
                      changes by at most 10%. The numbers come from the first steady rounds, or from the last five if \
                      no rounds are steady; write saturation always uses the last five. A single run has no CIs.";

const FIGURE: FactsFigure = FactsFigure {
    key: SteadyStateFacts::KEY,
    about: About {
        name: "convergence",
        summary: "convergence of the rounds: the tracking cell of the steady-state test, round by round",
        text: "Each point is a round. Shading marks the measurement window, and two lines mark 10% above and below its \
               mean. With several configurations, the figure shows one line per configuration, without shading.",
    },
    leads: true,
};

impl Shows for SteadyStateFacts {
    const KEY: &'static str = "steady_state";
    const FIGURE: Option<&'static FactsFigure> = Some(&FIGURE);

    fn exhibit(all: &[&Self], _: &dyn RowSource) -> Exhibit {
        let table = Table {
            title: "steady state".to_owned(),
            columns: vec![
                Column::new("rounds", Unit::Count),
                Column::left("window"),
                Column::left("tracking cell"),
                Column::left("mean"),
                Column::new("range", Unit::Share),
                Column::new("change", Unit::Share),
                Column::verdict("state"),
            ],
            rows: all.iter().map(|row| row.row()).collect(),
            notes: vec![LEGEND.to_owned()],
        };
        let sentence = |row: &&Self| Sentence { about: row.subject(), text: row.text.clone() };
        Exhibit {
            tables: iter::once(table).chain(all.iter().flat_map(|row| row.tables())).collect(),
            lists: all.iter().filter_map(|row| row.deviations()).collect(),
            figures: all
                .chunk_by(|one, next| one.workload == next.workload)
                .filter_map(figure)
                .collect(),
            sentences: all.iter().map(sentence).collect(),
            leads: true,
            ..Exhibit::default()
        }
    }
}

impl OfRow for SteadyStateFacts {
    fn resting(&mut self) -> Option<Resting<'_>> {
        let unsaid = Some("The steady-state performance is unknown.");
        Some(Resting { text: &mut self.text, unsaid })
    }
}

impl SteadyStateFacts {
    fn measure(&self) -> Measure {
        self.test.measure()
    }

    /// A title with the workload and its levels.
    fn title(&self, what: &str) -> String {
        let names: Vec<&str> = [&self.workload]
            .into_iter()
            .chain(self.configuration.values())
            .map(String::as_str)
            .collect();
        format!("{what}: {}", names.join(", "))
    }

    fn row(&self) -> Row {
        let window = self.measurement_window.as_ref();
        let mean = window.map(|found| unit(self.measure()).alone(found.mean));
        let state = match window {
            Some(found) if found.steady => "steady",
            Some(_) => "not steady",
            None => "too few rounds",
        };
        let cells = [
            Value::from(self.rounds.len() as u64),
            window.map(|found| format!("{} to {}", found.first, found.last)).into(),
            self.tracking_cell.words().into(),
            mean.into(),
            window.map(|found| found.range_share).into(),
            window.map(|found| found.slope_share).into(),
            state.into(),
        ];
        Row::about(self.subject(), cells)
    }

    /// The tables of one test: its cells, and its rounds.
    fn tables(&self) -> Vec<Table> {
        let means = match self.measure() {
            Measure::Iops => {
                "Mean IOPS in the measurement window; mixes are reads/writes, in percent."
            }
            Measure::Bandwidth => "Mean in the measurement window; mixes are reads/writes.",
            Measure::Latency => {
                "Mean service time in the measurement window; mixes are reads/writes."
            }
        };
        let mut tables =
            vec![self.table_of_cells("sizes by read/write mix", means, |found| found.mean)];
        if self.measure() == Measure::Latency {
            let slowest = "Slowest operation in the measurement window.";
            let slowest_ns = |found: &InWindow| found.slowest_ns as f64;
            tables.push(self.table_of_cells("slowest operation", slowest, slowest_ns));
        }
        tables.push(self.table_of_rounds());
        tables
    }

    fn deviations(&self) -> Option<List> {
        let title = self.title(&format!("deviations from PTS {}", self.test.title()));
        let items = self.deviations.clone();
        (!items.is_empty()).then_some(List { title, items })
    }

    /// One row per size, one column per mix; `value` picks the number of a cell, which `note` explains.
    fn table_of_cells(&self, title: &str, note: &str, value: fn(&InWindow) -> f64) -> Table {
        let mut mixes: Vec<u8> = Vec::new();
        let mut sizes: Vec<u64> = Vec::new();
        for found in &self.cells {
            if !mixes.contains(&found.cell.read_percent) {
                mixes.push(found.cell.read_percent);
            }
            if !sizes.contains(&found.cell.size_bytes) {
                sizes.push(found.cell.size_bytes);
            }
        }
        let unit = match unit(self.measure()) {
            Unit::Iops => Unit::Count,
            unit => unit,
        };
        let mut table = Table::new(self.title(title));
        table.add(Column::left("size"), &sizes, |size_bytes| Bytes(*size_bytes).to_string());
        for read_percent in mixes {
            let mix = PtsPoint { read_percent, size_bytes: 0 }.mix();
            table.add(Column::new(mix, unit), &sizes, |size_bytes| {
                let cell = PtsPoint { read_percent, size_bytes: *size_bytes };
                self.cells.iter().find(|found| found.cell == cell).map(value)
            });
        }
        table.notes.push(note.to_owned());
        table
    }

    /// One row per round; with many rounds, every `step`th one and those in the window.
    fn table_of_rounds(&self) -> Table {
        const MOST_STEPS: usize = 30;
        let all = self.rounds.len();
        let window = self.measurement_window;
        let is_counted = |round: usize| {
            window.is_some_and(|window| (window.first..=window.last).contains(&(round + 1)))
        };
        let step = all.div_ceil(MOST_STEPS).max(1);
        let is_shown = |round: &usize| round.is_multiple_of(step) || is_counted(*round);
        let shown: Vec<usize> = (0..all).filter(is_shown).collect();
        let mut table = Table::new(self.title("rounds"));
        table.add(Column::left("round"), &shown, |round| (round + 1).to_string());
        table.add(Column::left("tracking cell"), &shown, |round| {
            unit(self.measure()).alone(self.rounds[*round])
        });
        table.add(Column::new("ended after", Unit::Seconds), &shown, |round| {
            self.ended_s.get(*round).copied()
        });
        table.add(Column::new("written", Unit::Bytes), &shown, |round| {
            self.written_bytes.get(*round).copied()
        });
        table.add(Column::left("window"), &shown, |round| is_counted(*round).then_some("counts"));
        if step > 1 {
            table.notes.push(format!("Every {step}th round, and the measurement window."));
        }
        table
    }
}

/// Draws the tracking cell by round; a single configuration also shows its measurement window.
fn figure(all: &[&SteadyStateFacts]) -> Option<Figure> {
    let (first, alone) = (all[0], all.len() == 1);
    let metric = match first.measure() {
        Measure::Iops => IOPS,
        Measure::Bandwidth => BANDWIDTH,
        Measure::Latency => LATENCY,
    };
    let line = |facts: &&SteadyStateFacts| {
        let arm: Vec<&str> = facts.configuration.values().map(String::as_str).collect();
        let name = if alone { facts.tracking_cell.words() } else { arm.join(", ") };
        NamedValues { name, values: facts.rounds.clone() }
    };
    let lines: Vec<NamedValues> = all.iter().map(line).collect();
    let value = Axis::new(metric.noun, AxisScale::Linear, Unit::of_metric(metric.name)).from_zero();
    let mut figure = lines_over_steps("round", value, &lines)?.of_workload(
        FIGURE.about.name,
        &first.workload,
        &format!("{}, round by round", first.tracking_cell.words()),
        "Each point is a round; shading marks the measurement window.",
    );
    if let Some(window) = first.measurement_window.as_ref().filter(|_| alone) {
        let text = if window.steady { "steady" } else { "the last five rounds, not steady" };
        figure.spans.push(AxisSpan {
            from: window.first as f64,
            to: window.last as f64,
            kind: SpanKind::Alternate,
            text: text.to_owned(),
            label: text.to_owned(),
        });
        for (name, by) in [("10% above the mean", 1.1), ("10% below the mean", 0.9)] {
            figure.guides.push(Guide::line(by * window.mean, name.to_owned()));
        }
    }
    Some(figure)
}
