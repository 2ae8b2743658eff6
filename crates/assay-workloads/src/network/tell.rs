//! Exhibits of a link from its metrics: latency idle and under load, its grade, the best shaping, and the phases.

use assay_core::catalogue::About;
use assay_core::exhibit::{BestRow, Column, Exhibit, Table, Unit};
use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use assay_machine::system::network::Load;

use super::grade::{Grade, SCALE};
use super::metrics::{ADDED, ADDED_P95, LOST, MAX, P50, P95, UP_RATE, for_load};
use super::ramp_ns;
use crate::tell::{NumberedRow, OwnFigure, PhaseFigure, ShownNumbers, StudyNumbers, TrialPhase};

/// Barely noticeable latency under load: the limit of grade A.
const SHORT_NS: f64 = 30e6;

/// A table of links, and the figure of their phases.
pub(super) static SHOWN: ShownNumbers =
    ShownNumbers { known_by: ADDED.name, exhibit, figure: Some(&OVER_THE_PHASES) };

static OVER_THE_PHASES: OwnFigure = OwnFigure {
    about: About {
        name: "network",
        summary: "round-trip times of a link that is idle or under upload, download or bidirectional load",
        text: "Each line shows the mean round-trip time per second in the first complete trial of a configuration. \
               Shading marks the phases and their ramps; Assay excludes the ramps. A second figure shows the data \
               that the streams moved in each second.",
    },
    known_by: ADDED.name,
    along: "time over all phases, seconds",
    description: "One line per configuration, from its first complete trial, with a point per second. Shading marks \
                  the phases; the ramp at the start of each phase is excluded.",
    figures: &[
        PhaseFigure {
            name: "latency",
            title: "round-trip times over time",
            values: "mean round-trip time",
            metric: "latency_mean_ns",
            phases: &[phase(Load::Idle), phase(Load::Up), phase(Load::Down), phase(Load::Both)],
        },
        PhaseFigure {
            name: "rate",
            title: "data moved by the streams over time",
            values: "data moved",
            metric: UP_RATE.name,
            phases: &[phase(Load::Up), phase(Load::Down), phase(Load::Both)],
        },
    ],
};

const fn phase(load: Load) -> TrialPhase {
    TrialPhase { name: load.name(), ramp_s: ramp_ns(load) / 1_000_000_000 }
}

fn exhibit(numbers: &StudyNumbers<'_>) -> Exhibit {
    let rows = &numbers.rows;
    let mut table = Table::new("link");
    table.add(Column::right("grade"), rows, |row| {
        number(row, &ADDED).map(|added| Grade::from_added_ns(added).to_string())
    });
    table.add(Column::new("added", Unit::Nanoseconds), rows, |row| number(row, &ADDED));
    for (title, metric, unit) in columns(numbers) {
        table.add(Column::new(title, unit), rows, |row| number(row, &metric));
    }
    for (table_row, row) in table.rows.iter_mut().zip(rows) {
        table_row.subject = Some(row.of.clone());
    }
    table.notes.push(format!(
        "Round-trip times of datagrams: p50 and p95. Added latency is relative to the idle link. The upload rate and \
         the loss come from the upload phase. The grade depends on the mean added latency of upload and download: \
         {SCALE}."
    ));
    Exhibit { tables: vec![table], best: best(numbers), ..Exhibit::default() }
}

/// Columns after the latency under load, with metrics and units, for the phases of the study.
fn columns(numbers: &StudyNumbers<'_>) -> Vec<(String, Metric, Unit)> {
    let has = |load: &Load| numbers.known.contains(for_load(*load)[P50].name);
    let loads: Vec<Load> = Load::ALL.into_iter().filter(has).collect();
    let mut columns = Vec::new();
    for load in &loads {
        let metrics = for_load(*load);
        columns.push((format!("{} p50", load.name()), metrics[P50], Unit::Nanoseconds));
        columns.push((format!("{} p95", load.name()), metrics[P95], Unit::Nanoseconds));
    }
    if loads.contains(&Load::Up) {
        let metrics = for_load(Load::Up);
        columns.push(("up max".to_owned(), metrics[MAX], Unit::Nanoseconds));
        columns.push(("upload".to_owned(), UP_RATE, Unit::BitsPerS));
        columns.push(("up loss".to_owned(), metrics[LOST], Unit::Share));
    }
    columns
}

fn number(row: &NumberedRow<'_>, metric: &Metric) -> Option<f64> {
    row.numbers.get(metric.name).copied()
}

/// The shaped row with the highest upload rate among those that add little delay.
fn best(numbers: &StudyNumbers<'_>) -> Option<BestRow> {
    let added_p95 = for_load(Load::Up)[ADDED_P95];
    let is_short = |ns: f64| ns < SHORT_NS;
    // Only a shaped row has commands that make it permanent.
    let shaped = numbers.rows.iter().filter(|row| !row.lasting.is_empty());
    let short = shaped.filter(|row| number(row, &added_p95).is_some_and(is_short));
    let up_rate = |row: &NumberedRow<'_>| number(row, &UP_RATE).unwrap_or(0.0);
    let best = short.max_by(|one, other| up_rate(one).total_cmp(&up_rate(other)))?;
    let rate = number(best, &UP_RATE).map_or_else(|| "-".to_owned(), show::bit_rate);
    Some(BestRow {
        of: best.of.clone(),
        text: format!(
            "has the highest upload rate ({rate}) of the configurations that add less than {} to the p95 round-trip \
             time under upload. To make it permanent:",
            show::duration(SHORT_NS)
        ),
        lines: best.lasting.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_core::exhibit::Subject;

    use super::*;

    fn row<'a>(shaper: &str, numbers: &[(&'a str, f64)], lasting: &'a [String]) -> NumberedRow<'a> {
        let arm = [("shaper".to_owned(), shaper.to_owned())].into();
        let of = Subject { workload: "link".to_owned(), arm };
        NumberedRow { of, numbers: numbers.iter().copied().collect::<BTreeMap<_, _>>(), lasting }
    }

    fn numbers(rows: Vec<NumberedRow<'_>>) -> StudyNumbers<'_> {
        let known = rows.iter().flat_map(|row| row.numbers.keys().copied()).collect();
        StudyNumbers { rows, known }
    }

    fn read(exhibit: &Exhibit) -> (Vec<&str>, Vec<Vec<String>>) {
        let table = &exhibit.tables[0];
        let headings = table.columns.iter().map(|column| column.title.as_str()).collect();
        (headings, table.rows.iter().map(|row| table.texts(row)).collect())
    }

    #[test]
    fn a_link_is_graded_and_shown_by_the_phases_that_it_had() {
        let all = [
            (ADDED.name, 580e6),
            ("idle_rtt_p50_ns", 120e3),
            ("idle_rtt_p95_ns", 200e3),
            ("up_rtt_p50_ns", 580e6),
            ("up_rtt_max_ns", 900e6),
            (UP_RATE.name, 4.77e6),
            ("up_lost_share", 0.05),
        ];
        let told = exhibit(&numbers(vec![row("none", &all, &[]), row("95%", &[], &[])]));
        let (headings, rows) = read(&told);
        assert_eq!(
            headings,
            [
                "grade", "added", "idle p50", "idle p95", "up p50", "up p95", "up max", "upload",
                "up loss"
            ]
        );
        assert_eq!(
            rows[0],
            ["F", "580 ms", "120 us", "200 us", "580 ms", "-", "900 ms", "4.77 Mbit/s", "5%"]
        );
        assert_eq!(rows[1], ["-"; 9]);
        let table = &told.tables[0];
        assert_eq!((table.title.as_str(), told.best), ("link", None));
        assert!(table.notes[0].ends_with("D 400, else F."), "{:?}", table.notes);
    }

    #[test]
    fn a_link_that_was_not_loaded_up_has_nothing_of_it() {
        let down = [(ADDED.name, 1e6), ("idle_rtt_p50_ns", 1e6), ("down_rtt_p50_ns", 2e6)];
        let told = exhibit(&numbers(vec![row("none", &down, &[])]));
        let (headings, _) = read(&told);
        assert_eq!(headings[2..], ["idle p50", "idle p95", "down p50", "down p95"]);
    }

    #[test]
    fn of_what_adds_little_the_shaping_that_carries_most_is_best() {
        let lines = ["with cake: tc qdisc".to_owned()];
        let of = |added: f64, rate: f64| [("up_added_p95_ns", added), (UP_RATE.name, rate)];
        let (none, short, shorter) = (of(600e6, 5e6), of(20e6, 4.5e6), of(5e6, 4e6));
        let rows =
            vec![row("none", &none, &[]), row("80%", &shorter, &lines), row("95%", &short, &lines)];
        let found = best(&numbers(rows)).unwrap();
        assert_eq!(found.of.arm["shaper"], "95%");
        assert_eq!(
            found.text,
            "has the highest upload rate (4.5 Mbit/s) of the configurations that add less than 30 ms to the p95 \
             round-trip time under upload. To make it permanent:"
        );
        assert_eq!(found.lines, lines);
        // Neither an unshaped row nor one with bufferbloat is a choice.
        assert_eq!(best(&numbers(vec![row("none", &short, &[])])), None);
        assert_eq!(best(&numbers(vec![row("deep:95%", &none, &lines)])), None);
        assert_eq!(best(&numbers(vec![row("95%", &of(30e6, 4e6), &lines)])), None);
    }

    #[test]
    fn a_figure_goes_through_the_phases_and_counts_no_ramp() {
        let [latency, rate] = OVER_THE_PHASES.figures else { panic!("two") };
        let names =
            |lines: &PhaseFigure| lines.phases.iter().map(|phase| phase.name).collect::<Vec<_>>();
        assert_eq!(names(latency), ["idle", "up", "down", "both"]);
        assert_eq!(names(rate), ["up", "down", "both"]);
        let ramps: Vec<u64> = latency.phases.iter().map(|phase| phase.ramp_s).collect();
        assert_eq!(ramps, [0, 2, 2, 2]);
        assert!(crate::metrics::find(rate.metric).is_some());
    }
}
