//! A metric over a numeric factor.

use super::words::{Subject, mean_of, point, primary, subjects};
use super::{Drawing, bars};
use crate::document::numbers::unit_of;
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{
    Axis, AxisScale, Figure, Look, MOST_BANDS, Mark, Point, Series, id_of, joined, short,
};
use assay_core::exhibit::parts::{as_wide, at_most, clipped, distinct, left_out};
use assay_core::quantity::{Bytes, level_number};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::shown::{Names, metric_title};
use assay_study::findings::{Findings, Measurement, Trend};
use assay_study::results::plan::Arm;

pub static SWEEP: Drawing = Drawing {
    about: About {
        name: "sweep",
        summary: "results over a numeric factor, one line per combination of the other factors",
        text: "A line connects the geometric means of the trials at each level. Its band (or a bar at each point, if \
               there are many lines) is the 95% CI. A ring marks the best level. The axis is logarithmic (base 2) if \
               the levels double. Latencies have their own figure.",
    },
    draw,
};

const FEWEST_LEVELS: usize = 3;
const MOST_LINES: usize = 8;
/// Up to this number of lines, the median is drawn with the tail.
const MOST_WITH_MEDIAN: usize = 3;
const MOST_FIGURES: usize = 12;
/// Beyond this ratio, levels that start at zero would overlap.
const FARTHEST_APART: f64 = 10.0;
const MEAN: &str = "latency_mean_ns";
const LATENCIES: [&str; 2] = ["latency_p50_ns", "latency_p99_ns"];

/// The varied factors whose levels are all numbers, the one with the most levels first.
pub(super) fn factors(findings: &Findings) -> Vec<String> {
    let cells: Vec<&Measurement> = findings.measurements.iter().collect();
    let mut factors: Vec<(usize, String)> = Vec::new();
    for name in Names::from_findings(findings).varied() {
        let levels = bars::levels_of(findings, &cells, name);
        let are_numbers = levels.iter().all(|level| level_number(level).is_some());
        if levels.len() >= FEWEST_LEVELS && are_numbers {
            factors.push((levels.len(), name.clone()));
        }
    }
    factors.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    factors.into_iter().map(|(_, name)| name).collect()
}

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let Some(factor) = factors(findings).into_iter().next() else { return Vec::new() };
    let names = Names::from_findings(findings);
    let levels = SweepLevels::new(findings, &factor);
    let mut figures = Vec::new();
    for subject in subjects(findings) {
        let sweep = Sweep { findings, names: &names, factor: &factor, levels: &levels, subject };
        let lines = sweep.line_arms();
        figures.extend(sweep.figure(&[subject.metric], &lines));
        if LATENCIES.contains(&subject.metric) {
            continue;
        }
        let tails = if lines.len() <= MOST_WITH_MEDIAN { &LATENCIES[..] } else { &LATENCIES[1..] };
        figures.extend(sweep.figure(tails, &lines));
        if subject.metric != MEAN {
            figures.extend(sweep.figure(&[MEAN], &lines));
        }
    }
    at_most(figures, MOST_FIGURES, "figure")
}

struct SweepLevels {
    /// In ascending order.
    numbers: Vec<f64>,
    unit: Unit,
    /// Whether levels are spaced by factors but start at zero: then space them evenly, like names.
    uneven: bool,
}

impl SweepLevels {
    /// The levels of a factor in ascending order. `uneven` levels, such as 0, 1 and 1000, do not fit on one scale.
    fn new(findings: &Findings, factor: &str) -> Self {
        let cells: Vec<&Measurement> = findings.measurements.iter().collect();
        let levels = bars::levels_of(findings, &cells, factor);
        // Rates per second have an axis of plain numbers.
        let is_amount = |text: &str| text.parse::<f64>().is_err() && text.parse::<Bytes>().is_ok();
        let has_amounts = levels.iter().any(|level| is_amount(level));
        let unit = if has_amounts { Unit::Bytes } else { Unit::Number };
        let mut numbers: Vec<_> = levels.iter().filter_map(|level| level_number(level)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        // From zero up to far levels, a linear axis is too crowded, and a logarithmic axis has no zero.
        let positive = || numbers.iter().copied().filter(|level| *level > 0.0);
        let least = positive().fold(f64::INFINITY, f64::min);
        let is_spread = positive().any(|level| level / least > FARTHEST_APART);
        let uneven = is_spread && numbers.iter().any(|level| *level <= 0.0);
        Self { numbers, unit, uneven }
    }

    /// Position of a level on the axis; `None` if the level is unknown.
    fn place(&self, level: f64) -> Option<f64> {
        if !self.uneven {
            return Some(level);
        }
        self.numbers.iter().position(|known| *known == level).map(|index| index as f64)
    }

    /// Base 2 if all levels are powers of 2, else logarithmic if all are positive; names if no scale fits.
    fn axis(&self, title: String) -> Axis {
        if self.uneven {
            return Axis::names(title, self.numbers.iter().map(|level| self.unit.text(*level)));
        }
        let are_positive = self.numbers.iter().all(|level| *level > 0.0);
        let scale = if are_positive && self.numbers.iter().all(|it| it.log2().fract() == 0.0) {
            AxisScale::Log2
        } else if are_positive {
            AxisScale::Log10
        } else {
            AxisScale::Linear
        };
        Axis::new(title, scale, self.unit)
    }
}

struct Sweep<'a> {
    findings: &'a Findings,
    names: &'a Names,
    factor: &'a str,
    levels: &'a SweepLevels,
    subject: Subject<'a>,
}

impl Sweep<'_> {
    /// The arms (configurations) without the swept factor: each is a line.
    fn line_arms(&self) -> Vec<Arm> {
        let arms = primary(self.findings, self.subject).into_iter().map(|cell| {
            let mut arm = cell.configuration.clone();
            arm.remove(self.factor);
            arm
        });
        distinct(arms)
    }

    /// A figure with a line per metric and arm; several metrics are latencies. `None` without a line of two points.
    fn figure(&self, metrics: &[&str], arms: &[Arm]) -> Option<Figure> {
        let metric = *metrics.last()?;
        let has_several = metrics.len() > 1;
        let mut lines = Vec::new();
        for metric in metrics {
            for arm in arms {
                let points = self.points(metric, arm);
                if points.len() > 1 {
                    lines.push((self.line_name(metric, arm, has_several), points));
                }
            }
        }
        let dropped = lines.len().saturating_sub(MOST_LINES);
        lines.truncate(MOST_LINES);
        if lines.is_empty() {
            return None;
        }
        let series = Series::each(lines, Mark::Line);
        let intervals = if series.len() > MOST_BANDS {
            "bars (lines are slightly offset from each other)"
        } else {
            "bands"
        };
        let title = if has_several { "latency".to_owned() } else { metric_title(metric) };
        let (value, [least, most]) = as_wide(&title, unit_of(metric), &series);
        // Intervals of few trials may be infinite; lines must remain visible.
        let limits = if value.from_zero { [0.0, most * 1.5] } else { [least / 10.0, most * 10.0] };
        let value = value.within(limits);
        let mut notes = self.peak_notes(metric);
        notes.extend(clipped(&series, &value));
        notes.extend(left_out(dropped, "line"));
        Some(Figure {
            id: id_of(&["sweep", self.subject.name, self.factor, metric]),
            title: format!("{}: {title} over {}", short(self.subject.name), short(self.factor)),
            description: format!(
                "Lines connect {}s of the trials; {intervals} are 95% CIs; a ring marks the best level.",
                mean_of(self.findings, metric)
            ),
            notes,
            workload: Some(self.subject.name.to_owned()),
            metric: Some(metric.to_owned()),
            ..Figure::upright(self.levels.axis(short(self.factor)), value, series)
        })
    }

    fn line_name(&self, metric: &str, arm: &Arm, several: bool) -> String {
        let metric = if several { metric_title(metric) } else { String::new() };
        joined(&[&self.names.arm_without(arm, self.factor), &metric])
    }

    /// The points of the line of `arm`, which has no level of the swept factor, in ascending order of that level.
    fn points(&self, metric: &str, arm: &Arm) -> Vec<Point> {
        let cells = primary(self.findings, self.subject).into_iter().filter(|cell| {
            arm.iter().all(|(name, level)| cell.configuration.get(name) == Some(level))
                && cell.configuration.contains_key(self.factor)
        });
        let points = cells.filter_map(|Measurement { configuration, .. }| {
            let cell = self.findings.cell(self.subject.name, configuration, metric)?;
            let level = level_number(configuration.get(self.factor)?)?;
            let (place, name) = (self.levels.place(level)?, self.names.arm(configuration));
            let point = point(self.findings, place, &name, cell)?;
            Some(self.ringed_if_best(metric, arm, level, point))
        });
        let mut points: Vec<Point> = points.collect();
        points.sort_by(|left, right| left.at.total_cmp(&right.at));
        points
    }

    fn trends<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Trend> {
        self.findings.effects.trends.iter().filter(move |trend| {
            trend.workload == self.subject.name
                && trend.metric == metric
                && trend.factor == self.factor
        })
    }

    fn ringed_if_best(&self, metric: &str, arm: &Arm, level: f64, point: Point) -> Point {
        let peaks_here = |it: &&Trend| it.configuration == *arm && it.peak == level;
        let Some(trend) = self.trends(metric).find(peaks_here) else { return point };
        // An untrusted number already has a look, which is more important.
        if point.look != Look::Solid {
            return point;
        }
        let [low, high] = trend.peak_range;
        let why = if low == high {
            "the best level".to_owned()
        } else {
            format!("the best level (plausible range {low} to {high})")
        };
        let text = format!("{}; {why}", point.text);
        Point { look: Look::Ringed, text, remark: Some(why), ..point }
    }

    fn peak_notes(&self, metric: &str) -> Vec<String> {
        let sentence = |it: &Trend| format!("{}.", it.text.strip_suffix('.').unwrap_or(&it.text));
        self.trends(metric).take(MOST_LINES).map(sentence).collect()
    }
}
