//! A metric over a factor whose levels are numbers.

use super::words::{Names, Subject, cell, metric_title, of_cell, primary, short, subjects};
use super::{Drawing, at_most, bars, clipped, left_out};
use crate::evidence::Evidence;
use crate::figure::{
    Axis, Figure, Layout, Look, MOST_BANDS, Marks, Point, Scale, Series, Unit, id_of,
};
use assay_core::catalogue::About;
use assay_core::findings::{Cell, Findings, Trend};
use assay_core::quantity::Bytes;
use assay_core::results::plan::Arm;

/// The registry's entry.
pub static SWEEP: Drawing = Drawing {
    about: About {
        name: "sweep",
        summary: "results over a factor whose levels are numbers, a line for each combination of the others",
        text: "A line goes through the geometric means of the trials at each level, its band, \
               or a stroke at each point where there are many lines, is the 95 % interval. A ring marks the best level. The axis goes by doublings where the \
               levels do. Latencies stand in a figure of their own.",
    },
    draw,
};

/// Levels from which there is a curve to speak of.
const FEWEST_LEVELS: usize = 3;
/// Lines of one figure.
const MOST_LINES: usize = 8;
/// Lines up to which the median stands beside the tail.
const MOST_WITH_MEDIAN: usize = 3;
const MOST_FIGURES: usize = 12;
/// From this ratio of largest to smallest on, values go by factors.
const WIDE: f64 = 30.0;
/// Beyond this ratio levels that begin at zero would lie on each other.
const FARTHEST_APART: f64 = 10.0;
/// What articles draw of latencies.
const MEAN: &str = "latency_mean_ns";
const LATENCIES: [&str; 2] = ["latency_p50_ns", "latency_p99_ns"];

/// A level as a number: a plain one, or an amount of bytes.
fn number(level: &str) -> Option<f64> {
    let plain = level.parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| level.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
}

/// Factors whose levels are numbers, the one with the most levels first.
pub(super) fn factors(findings: &Findings) -> Vec<String> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for name in Names::of(findings).varied() {
        let cells: Vec<&Cell> = findings.cells.iter().collect();
        let levels = bars::levels(findings, &cells, name);
        if levels.len() >= FEWEST_LEVELS && levels.iter().all(|level| number(level).is_some()) {
            found.push((levels.len(), name.clone()));
        }
    }
    found.sort_by_key(|(levels, _)| std::cmp::Reverse(*levels));
    found.into_iter().map(|(_, name)| name).collect()
}

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let Some(factor) = factors(findings).into_iter().next() else { return Vec::new() };
    let names = Names::of(findings);
    let mut figures = Vec::new();
    for workload in subjects(findings) {
        let sweep = Sweep {
            findings,
            names: &names,
            factor: &factor,
            workload: workload.name,
            subject: workload,
        };
        let lines = sweep.lines();
        figures.extend(sweep.figure(&[workload.metric], &lines));
        let tails = if lines.len() <= MOST_WITH_MEDIAN { &LATENCIES[..] } else { &LATENCIES[1..] };
        if !LATENCIES.contains(&workload.metric) {
            figures.extend(sweep.figure(tails, &lines));
        }
        if workload.metric != MEAN && !LATENCIES.contains(&workload.metric) {
            figures.extend(sweep.figure(&[MEAN], &lines));
        }
    }
    at_most(figures, MOST_FIGURES, "figure")
}

/// One workload over one factor.
struct Sweep<'a> {
    findings: &'a Findings,
    names: &'a Names,
    factor: &'a str,
    workload: &'a str,
    subject: Subject<'a>,
}

impl Sweep<'_> {
    /// Levels of the other factors, in the order of the study.
    fn lines(&self) -> Vec<Arm> {
        let mut found: Vec<Arm> = Vec::new();
        for cell in primary(self.findings, self.subject) {
            let mut arm = cell.arm.clone();
            arm.remove(self.factor);
            if !found.contains(&arm) {
                found.push(arm);
            }
        }
        found
    }

    fn figure(&self, metrics: &[&str], lines: &[Arm]) -> Option<Figure> {
        let mut series = Vec::new();
        let mut dropped = 0;
        for metric in metrics {
            for arm in lines {
                let points = self.points(metric, arm);
                if points.len() < 2 {
                    continue;
                }
                if series.len() == MOST_LINES {
                    dropped += 1;
                    continue;
                }
                let name = self.line_name(metric, arm, metrics.len() > 1);
                series.push(Series::new(series.len(), name, Marks::Line(points)));
            }
        }
        let values: Vec<f64> =
            series.iter().flat_map(|one| one.marks.points()).map(|point| point.value).collect();
        let metric = metrics.last().filter(|_| !values.is_empty())?;
        let what = if metrics.len() > 1 { "latency".to_owned() } else { metric_title(metric) };
        let value = values_axis(&what, metric, &values);
        let mut notes = self.peaks(metric);
        notes.extend(clipped(&series, &value));
        notes.extend(left_out(dropped, "line"));
        Some(Figure {
            id: id_of(&["sweep", self.workload, self.factor, metric]),
            title: format!("{}: {what} over {}", short(self.workload), short(self.factor)),
            description: format!(
                "Lines go through geometric means of the trials; {} are 95 % intervals; a ring marks \
                 the best level.",
                if series.len() > MOST_BANDS {
                    "lines stand a little beside each other, and the strokes at their points"
                } else {
                    "bands"
                }
            ),
            layout: Layout::Upright,
            along: self.along(),
            value,
            series,
            spans: Vec::new(),
            guides: Vec::new(),
            interval: "95 % interval".to_owned(),
            notes,
            workload: Some(self.workload.to_owned()),
            metric: Some((*metric).to_owned()),
        })
    }

    fn line_name(&self, metric: &str, arm: &Arm, several: bool) -> String {
        let name = self.names.arm_without(arm, self.factor);
        match (several, name.is_empty()) {
            (false, _) => name,
            (true, true) => metric_title(metric),
            (true, false) => format!("{name}, {}", metric_title(metric)),
        }
    }

    fn points(&self, metric: &str, arm: &Arm) -> Vec<Point> {
        let own = primary(self.findings, self.subject).into_iter().filter(|cell| {
            arm.iter().all(|(name, level)| cell.arm.get(name) == Some(level))
                && cell.arm.contains_key(self.factor)
        });
        let mut points: Vec<Point> = own
            .filter_map(|one| {
                let cell = cell(self.findings, self.workload, &one.arm, metric)?;
                let level = number(one.arm.get(self.factor)?)?;
                let name = self.names.arm(&one.arm);
                let point = of_cell(self.findings, self.place(level)?, &name, cell)?;
                Some(self.peaked(metric, arm, level, point))
            })
            .collect();
        points.sort_by(|left, right| left.at.total_cmp(&right.at));
        points
    }

    fn trends<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Trend> {
        self.findings.trends.iter().filter(move |trend| {
            trend.workload == self.workload && trend.metric == metric && trend.factor == self.factor
        })
    }

    /// The point, ringed where it is the best of its line.
    fn peaked(&self, metric: &str, arm: &Arm, level: f64, point: Point) -> Point {
        let best = self.trends(metric).find(|trend| trend.arm == *arm && trend.peak == level);
        match best {
            Some(trend) if point.look == Look::Solid => {
                let [low, high] = trend.peak_range;
                let why = if low == high {
                    "the best level".to_owned()
                } else {
                    format!("the best level, which could be {low} to {high}")
                };
                let text = format!("{}; {why}", point.text);
                Point { look: Look::Ringed, text, remark: Some(why), ..point }
            }
            _ => point,
        }
    }

    /// What trends say, one sentence a line.
    fn peaks(&self, metric: &str) -> Vec<String> {
        let told = |trend: &Trend| {
            let mut text = trend.text.clone();
            if !text.ends_with('.') {
                text.push('.');
            }
            text
        };
        self.trends(metric).take(MOST_LINES).map(told).collect()
    }

    /// The levels as numbers, in ascending order.
    fn levels(&self) -> Vec<f64> {
        let cells: Vec<&Cell> = self.findings.cells.iter().collect();
        let levels = bars::levels(self.findings, &cells, self.factor);
        let mut numbers: Vec<f64> = levels.iter().filter_map(|level| number(level)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        numbers
    }

    /// Where a level stands on the axis.
    fn place(&self, level: f64) -> Option<f64> {
        let levels = self.levels();
        if !is_uneven(&levels) {
            return Some(level);
        }
        levels.iter().position(|known| *known == level).map(|place| place as f64)
    }

    fn along(&self) -> Axis {
        let cells: Vec<&Cell> = self.findings.cells.iter().collect();
        let written = bars::levels(self.findings, &cells, self.factor);
        let bytes = written.iter().any(|level| level.parse::<f64>().is_err());
        let unit = if bytes { Unit::Bytes } else { Unit::Number };
        let numbers = self.levels();
        if is_uneven(&numbers) {
            return Axis::names(short(self.factor), numbers.iter().map(|level| unit.text(*level)));
        }
        let doubling = numbers.iter().all(|number| *number > 0.0 && number.log2().fract() == 0.0);
        let scale = match (doubling, numbers.iter().all(|number| *number > 0.0)) {
            (true, _) => Scale::Log2,
            (false, true) => Scale::Log10,
            _ => Scale::Linear,
        };
        Axis::new(short(self.factor), scale, unit)
    }
}

/// Whether levels go by factors but begin at zero: they stand side by side, as names do.
fn is_uneven(levels: &[f64]) -> bool {
    let least = levels.iter().copied().filter(|level| *level > 0.0).fold(f64::INFINITY, f64::min);
    let below = levels.iter().any(|level| *level <= 0.0);
    below && levels.iter().any(|level| level / least > FARTHEST_APART)
}

/// From zero on, or by factors where values differ by more than can be seen so.
fn values_axis(title: &str, metric: &str, values: &[f64]) -> Axis {
    let unit = Unit::Metric(metric.to_owned());
    let (least, most) = values.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(*value), most.max(*value))
    });
    // Intervals of few trials may be endless; lines are to be seen all the same.
    let by_factors = least > 0.0 && most / least > WIDE;
    let limits = if by_factors { [least / 10.0, most * 10.0] } else { [0.0, most * 1.5] };
    let scale = if by_factors { Scale::Log10 } else { Scale::Linear };
    let axis = Axis { limits: Some(limits), ..Axis::new(title, scale, unit) };
    if by_factors { axis } else { axis.from_zero() }
}
