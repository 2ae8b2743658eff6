//! Two factors as a table: each cell has its result, its colour says how that is to the baseline.

use super::words::{Names, metric_title, primary, short, subjects};
use super::{Drawing, at_most, bars};
use crate::document::{comparison_of, numbers, result, trust_word};
use crate::evidence::Evidence;
use crate::figure::{Axis, Colour, Figure, Layout, Marks, Series, Tile, id_of};
use assay_core::catalogue::About;
use assay_core::findings::{Cell, Comparison, Findings, Trust};
use assay_core::quantity::Better;
use assay_core::results::plan::{Arm, level_words};

/// The registry's entry.
pub static GRID: Drawing = Drawing {
    about: About {
        name: "grid",
        summary: "two settings as a table, coloured by the ratio to the baseline",
        text: "Each cell has the geometric mean of its trials; blue is better than the baseline, \
               orange worse, the deeper the further. The colours are of the means alone: which \
               differences are clear stands in the verdicts.",
    },
    draw,
};

const MOST_FIGURES: usize = 4;
/// Columns of a table.
const MOST_COLUMNS: usize = 16;
const FEWEST_CELLS: usize = 6;
/// Where steps of colour begin, as ratios.
const STEPS: [f64; 3] = [1.05, 1.5, 3.0];

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let names = Names::of(findings);
    let [first, second] = names.varied() else { return Vec::new() };
    let figures = subjects(findings).into_iter().filter_map(|workload| {
        let cells = primary(findings, workload);
        let [down, across] =
            [first, second].map(|factor| (factor, bars::levels(findings, &cells, factor)));
        let (down, across) =
            if down.1.len() <= across.1.len() { (down, across) } else { (across, down) };
        if across.1.len() > MOST_COLUMNS || cells.len() < FEWEST_CELLS || down.1.len() < 2 {
            return None;
        }
        let table = Grid {
            findings,
            names: &names,
            workload: workload.name,
            metric: workload.metric,
            down,
            across,
        };
        table.figure(&cells, workload.better)
    });
    at_most(figures.collect(), MOST_FIGURES, "workload")
}

struct Grid<'a> {
    findings: &'a Findings,
    names: &'a Names,
    workload: &'a str,
    metric: &'a str,
    down: (&'a String, Vec<String>),
    across: (&'a String, Vec<String>),
}

impl Grid<'_> {
    fn figure(&self, cells: &[&Cell], better: Better) -> Option<Figure> {
        let base = self
            .findings
            .comparisons
            .iter()
            .find(|found| found.primary && found.workload == self.workload)
            .map(|found| &found.baseline);
        let mut tiles: Vec<(Colour, Tile)> = Vec::new();
        for one in cells {
            let place = |(factor, levels): &(&String, Vec<String>)| {
                levels.iter().position(|level| one.arm.get(*factor) == Some(level))
            };
            let (Some(row), Some(column), Some(value)) = (
                place(&self.down),
                place(&self.across),
                result(one, comparison_of(self.findings, one)),
            ) else {
                continue;
            };
            tiles.push(self.tile(one, [column as f64, row as f64], value, better));
        }
        if tiles.len() < FEWEST_CELLS {
            return None;
        }
        let what = metric_title(self.metric);
        let several = base.is_none_or(|base| {
            self.findings.comparisons.iter().any(|found| found.primary && found.baseline != *base)
        });
        let against = match base {
            Some(base) if !several => self.names.arm(base),
            Some(_) => "the baseline at the same level".to_owned(),
            None => "no baseline".to_owned(),
        };
        Some(Figure {
            id: id_of(&["grid", self.workload, self.metric]),
            title: format!("{}: {what} by {} and {}, coloured against {against}", short(self.workload), short(self.down.0), short(self.across.0)),
            description: "Each cell has the geometric mean of its trials. Blue is better than the baseline, orange \
                          worse; ? marks what is suspect, ! what is invalid.".to_owned(),
            layout: Layout::Upright,
            along: axis(&self.across),
            value: axis(&self.down),
            series: series(&tiles),
            spans: Vec::new(),
            guides: Vec::new(),
            interval: what,
            notes: Vec::new(),
workload: Some(self.workload.to_owned()),
metric: Some(self.metric.to_owned()),
        })
    }

    /// How much better than its baseline: over 1 is better, whichever way that is.
    fn times_better(&self, arm: &Arm, better: Better) -> Option<f64> {
        let own = |found: &&Comparison| found.primary && found.workload == self.workload;
        let compared: Vec<&Comparison> = self.findings.comparisons.iter().filter(own).collect();
        let ratio = match compared.iter().find(|found| found.arm == *arm) {
            Some(found) => found.ratio?,
            // What nothing was compared with has no colour.
            None => compared.iter().any(|found| found.baseline == *arm).then_some(1.0)?,
        };
        Some(if better == Better::Higher { ratio } else { 1.0 / ratio })
            .filter(|times| times.is_finite())
    }

    fn tile(
        &self,
        one: &Cell,
        [column, row]: [f64; 2],
        value: f64,
        better: Better,
    ) -> (Colour, Tile) {
        let times = self.times_better(&one.arm, better);
        let (mark, trust) = match one.trust {
            Some(trust @ Trust::Suspect) => (" ?", format!("; {}", trust_word(trust))),
            Some(trust @ Trust::Invalid) => (" !", format!("; {}", trust_word(trust))),
            _ => ("", String::new()),
        };
        let told = numbers::value(self.metric, value);
        let name = format!(
            "{}, {}",
            level_name(&one.arm, self.down.0),
            level_name(&one.arm, self.across.0)
        );
        let ends = one.ci95.map(|ends| ends.map(|end| numbers::under_heading(self.metric, end)));
        let ends = ends.map(|[low, high]| format!(" ({low} to {high})")).unwrap_or_default();
        let tile = Tile {
            at: [column - 0.5, column + 0.5],
            value: [row - 0.5, row + 0.5],
            label: format!("{}{mark}", numbers::under_heading(self.metric, value)),
            printed: true,
            text: format!("{name}: {told}{ends}{trust}"),
        };
        (colour(times), tile)
    }
}

fn axis((factor, levels): &(&String, Vec<String>)) -> Axis {
    Axis::names(short(factor), levels.iter().map(|level| short(level)))
}

fn level_name(arm: &Arm, factor: &str) -> String {
    short(&arm.get(factor).map(|level| level_words(factor, level)).unwrap_or_default())
}

fn colour(times: Option<f64>) -> Colour {
    let Some(times) = times.filter(|times| *times > 0.0) else { return Colour::Same };
    let far = times.max(1.0 / times);
    match STEPS.iter().rposition(|step| far >= *step) {
        None => Colour::Same,
        Some(step) if times > 1.0 => Colour::Better(step),
        Some(step) => Colour::Worse(step),
    }
}

/// A series a colour, from worst to best.
fn series(tiles: &[(Colour, Tile)]) -> Vec<Series> {
    let steps = [
        (Colour::Worse(2), "over 3 times worse"),
        (Colour::Worse(1), "1.5 to 3 times worse"),
        (Colour::Worse(0), "1.05 to 1.5 times worse"),
        (Colour::Same, "within 5 %"),
        (Colour::Better(0), "1.05 to 1.5 times better"),
        (Colour::Better(1), "1.5 to 3 times better"),
        (Colour::Better(2), "over 3 times better"),
    ];
    let made = steps.into_iter().map(|(colour, name)| {
        let own = tiles.iter().filter(|(own, _)| *own == colour).map(|(_, tile)| tile.clone());
        Series { name: name.to_owned(), colour, shape: 0, marks: Marks::Tiles(own.collect()) }
    });
    made.filter(|series| !series.marks.is_empty()).collect()
}
