//! Two factors as a table: each cell has its result; its color is the comparison with the baseline.

use super::words::{Subject, comparisons_of, primary, subjects};
use super::{Drawing, bars};
use crate::document::{comparison_of, numbers, result};
use crate::evidence::Evidence;
use assay_core::catalogue::About;
use assay_core::exhibit::figure::{Axis, Colour, Figure, Mark, Point, id_of, short};
use assay_core::exhibit::parts::{at_most, by_sort};
use assay_core::quantity::Better;
use assay_study::findings::shown::{Names, metric_title};
use assay_study::findings::{Findings, Measurement, Trust};
use assay_study::results::plan::{Arm, level_words};

pub static GRID: Drawing = Drawing {
    about: About {
        name: "grid",
        summary: "two factors as a table, colored by the ratio to the baseline",
        text: "Each cell is the geometric mean of its trials. Blue is better than the baseline, orange is worse, and \
               darker means a larger difference. Colors show only the means; for significance, see the verdicts.",
    },
    draw,
};

const MOST_FIGURES: usize = 4;
const MOST_COLUMNS: usize = 16;
const FEWEST_CELLS: usize = 6;
/// Thresholds of color steps, as ratios.
const STEPS: [f64; 3] = [1.05, 1.5, 3.0];
const STEPS_BY_NAME: [(Colour, &str); 7] = [
    (Colour::Worse(2), "over 3 times worse"),
    (Colour::Worse(1), "1.5 to 3 times worse"),
    (Colour::Worse(0), "1.05 to 1.5 times worse"),
    (Colour::Same, "within 5%"),
    (Colour::Better(0), "1.05 to 1.5 times better"),
    (Colour::Better(1), "1.5 to 3 times better"),
    (Colour::Better(2), "over 3 times better"),
];

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let names = Names::from_findings(findings);
    let [first, second] = names.varied() else { return Vec::new() };
    let mut figures = Vec::new();
    for subject in subjects(findings) {
        let cells = primary(findings, subject);
        let mut sides = [first, second].map(|side| (side, bars::levels_of(findings, &cells, side)));
        // The factor with more levels goes across, as columns; the other one down, as rows.
        sides.sort_by_key(|(_, levels)| levels.len());
        let [down, across] = sides;
        if across.1.len() <= MOST_COLUMNS && cells.len() >= FEWEST_CELLS && down.1.len() >= 2 {
            let grid = Grid { findings, names: &names, subject, down, across };
            figures.extend(grid.figure(&cells));
        }
    }
    at_most(figures, MOST_FIGURES, "workload")
}

type Side<'a> = (&'a String, Vec<String>);

struct Grid<'a> {
    findings: &'a Findings,
    names: &'a Names,
    subject: Subject<'a>,
    down: Side<'a>,
    across: Side<'a>,
}

impl Grid<'_> {
    fn figure(&self, cells: &[&Measurement]) -> Option<Figure> {
        let Subject { name, metric, .. } = self.subject;
        let tiles: Vec<(Colour, Point)> = cells.iter().filter_map(|cell| self.tile(cell)).collect();
        if tiles.len() < FEWEST_CELLS {
            return None;
        }
        let metric_name = metric_title(metric);
        let sorts = STEPS_BY_NAME.map(|(colour, name)| (colour, name, colour, 0));
        let series = by_sort(sorts, tiles, Mark::Cells);
        Some(Figure {
            id: id_of(&["grid", name, metric]),
            title: format!(
                "{}: {metric_name} by {} and {}, colored relative to {}",
                short(name),
                short(self.down.0),
                short(self.across.0),
                self.baseline_name()
            ),
            description:
                "Each cell is the geometric mean of its trials. Blue cells are better than the baseline, orange cells \
                 worse; ? marks suspect and ! invalid numbers."
                    .to_owned(),
            interval: metric_name,
            workload: Some(name.to_owned()),
            metric: Some(metric.to_owned()),
            ..Figure::upright(axis(&self.across), axis(&self.down), series)
        })
    }

    fn baseline_name(&self) -> String {
        let Some(first) = comparisons_of(self.findings, self.subject.name).next() else {
            return "no baseline".to_owned();
        };
        let mut all = self.findings.comparisons.iter().filter(|it| it.primary);
        if all.all(|it| it.baseline == first.baseline) {
            self.names.arm(&first.baseline)
        } else {
            "the baseline at the same level".to_owned()
        }
    }

    /// Ratio to the baseline, above 1 if better; `None` without a comparison or a known direction.
    fn times_better(&self, arm: &Arm) -> Option<f64> {
        let compared = || comparisons_of(self.findings, self.subject.name);
        let ratio = if let Some(found) = compared().find(|it| it.configuration == *arm) {
            found.ratio?
        } else if compared().any(|it| it.baseline == *arm) {
            1.0
        } else {
            return None;
        };
        let times = match self.subject.better {
            Better::Higher => ratio,
            Better::Lower => 1.0 / ratio,
            Better::Unknown => return None,
        };
        times.is_finite().then_some(times)
    }

    /// The square of a configuration with its result, and the color of its ratio; `None` without a result.
    fn tile(&self, cell: &Measurement) -> Option<(Colour, Point)> {
        let index = |(factor, levels): &Side<'_>| {
            let level = cell.configuration.get(*factor);
            levels.iter().position(|it| level == Some(it)).map(|index| index as f64)
        };
        let (column, row) = (index(&self.across)?, index(&self.down)?);
        let value = result(cell, comparison_of(self.findings, cell))?;
        let (mark, trust) = match cell.trust {
            Some(trust @ Trust::Suspect) => (" ?", format!("; {}", trust.word())),
            Some(trust @ Trust::Invalid) => (" !", format!("; {}", trust.word())),
            _ => ("", String::new()),
        };
        let without_unit = |value| numbers::under_heading(self.subject.metric, value);
        let interval = cell.ci95.map_or_else(String::new, |ends| {
            let [low, high] = ends.map(without_unit);
            format!(" ({low} to {high})")
        });
        let shown = numbers::value(self.subject.metric, value);
        let down = level_name(&cell.configuration, self.down.0);
        let across = level_name(&cell.configuration, self.across.0);
        let tile = Point {
            at: column - 0.5,
            value: row - 0.5,
            end: Some([column + 0.5, row + 0.5]),
            label: Some(format!("{}{mark}", without_unit(value))),
            text: format!("{down}, {across}: {shown}{interval}{trust}"),
            ..Point::default()
        };
        Some((colour_of(self.times_better(&cell.configuration)), tile))
    }
}

fn axis(side: &Side<'_>) -> Axis {
    let (factor, levels) = side;
    Axis::names(short(factor), levels.iter().map(|level| short(level)))
}

fn level_name(arm: &Arm, factor: &str) -> String {
    short(&arm.get(factor).map(|level| level_words(factor, level)).unwrap_or_default())
}

/// The color of a ratio above 1 if better and below 1 if worse; neutral if unknown or small.
fn colour_of(times: Option<f64>) -> Colour {
    let Some(times) = times.filter(|times| *times > 0.0) else { return Colour::Same };
    let distance = times.max(1.0 / times);
    match STEPS.iter().rposition(|step| distance >= *step) {
        None => Colour::Same,
        Some(step) if times > 1.0 => Colour::Better(step),
        Some(step) => Colour::Worse(step),
    }
}
