//! The events in each second of the trials.

use super::words::{notable, subjects};
use super::{Drawing, LONGEST_TRIAL};
use crate::document::numbers::{heading, unit_of};
use crate::evidence::{Evidence, TrialEvidence};
use assay_core::exhibit::figure::{
    Axis, AxisScale, AxisSpan, Figure, Look, Mark, Point, Series, SpanKind, id_of, joined, short,
};
use assay_core::exhibit::parts::{at_most, distinct, left_out, with_ramp};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::results::record::Status;
use assay_study::{findings::Findings, findings::shown::Names, results::plan::Arm};

pub static SERIES: Drawing = Drawing {
    about: About {
        name: "series",
        summary: "rate and longest latency in each second of the trials",
        text: "Trials are in run order. Shaded areas are disturbed trials and the ramp, which Assay does not count. \
               The figure shows the baseline, the best and the worst configuration, and all disturbed trials.",
    },
    draw,
};

/// Limit on points per figure; more seconds are averaged.
const MOST_POINTS: usize = 60;
const MOST_TRIALS: usize = 12;
const MOST_ARMS: usize = 2;
const MOST_FIGURES: usize = 4;
const FEWEST_SECONDS: usize = 3;

/// Draws the notable configurations of each workload, and those with disturbed trials.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::from_findings(&evidence.findings);
    let mut figures = Vec::new();
    for subject in subjects(&evidence.findings) {
        // Seconds of phases have a separate figure.
        if super::timeline::has_phases(&evidence.findings, subject.name) {
            continue;
        }
        let mut arms = notable(&evidence.findings, subject, MOST_ARMS);
        let trials = evidence.trials.iter().filter(|trial| *trial.workload == subject.name);
        let disturbed = trials.filter(|trial| trial.status == Status::Disturbed);
        arms.extend(disturbed.map(|trial| Arm::clone(&trial.arm)).take(MOST_ARMS));
        for arm in distinct(arms) {
            if let Some(run) = SeriesRun::new(evidence, subject.name, subject.metric, &arm) {
                figures.extend(run.figures(&names));
            }
        }
    }
    // Rates first, because only they show the primary metric; disturbed trials before the rest.
    figures.sort_by_key(|figure| {
        let is_disturbed = figure.spans.iter().any(|span| span.kind == SpanKind::Disturbed);
        (figure.metric.is_none(), !is_disturbed)
    });
    at_most(figures, MOST_FIGURES, "figure")
}

struct SeriesRun<'a> {
    trials: Vec<&'a TrialEvidence>,
    omitted: usize,
    workload: &'a str,
    arm: &'a Arm,
    /// The metric of the rates: bandwidth or IOPS.
    metric: &'static str,
    /// Counted time of each trial; 0 if unknown.
    time_ns: u64,
    /// Seconds per point.
    wide: usize,
}

#[derive(Clone, Copy, Default)]
struct SecondPoint {
    /// Bytes or operations, as in the metric.
    amount: u64,
    slowest_ns: u64,
    seconds: u32,
}

impl<'a> SeriesRun<'a> {
    /// Chooses the trials to show, and the width of a point in seconds; `None` if no trial lasts for some seconds.
    fn new(evidence: &'a Evidence, workload: &'a str, metric: &str, arm: &'a Arm) -> Option<Self> {
        let is_shown = |it: &&TrialEvidence| it.status != Status::Warmup && !it.series.is_empty();
        let mut trials: Vec<_> = evidence.of_arm(workload, arm).filter(is_shown).collect();
        let omitted = trials.len().saturating_sub(MOST_TRIALS);
        trials.truncate(MOST_TRIALS);
        let time_ns = time_ns(&evidence.findings, workload, arm);
        let metric =
            if metric.ends_with("_bytes_per_s") { "bandwidth_bytes_per_s" } else { "iops" };
        let mut run = Self { trials, omitted, workload, arm, metric, time_ns, wide: 1 };
        let total: usize = run.trials.iter().map(|trial| run.seconds(trial)).sum();
        run.wide = total.div_ceil(MOST_POINTS).max(1);
        // One or two seconds per trial show no more than its result.
        run.trials.iter().any(|trial| run.seconds(trial) >= FEWEST_SECONDS).then_some(run)
    }

    /// Whole seconds of a trial, without the last recorded one: the trial ends within that second.
    fn seconds(&self, trial: &TrialEvidence) -> usize {
        let last = trial.series.iter().map(|row| row.second as usize).max().unwrap_or(0);
        let recorded = last.min(LONGEST_TRIAL);
        if self.time_ns == 0 {
            return recorded;
        }
        recorded.min((trial.ramp_ns.saturating_add(self.time_ns) / 1_000_000_000) as usize)
    }

    /// The whole seconds of a trial, `wide` per point; the last point may have fewer.
    fn points(&self, trial: &TrialEvidence) -> Vec<SecondPoint> {
        let seconds = self.seconds(trial);
        let mut points = vec![SecondPoint::default(); seconds.div_ceil(self.wide)];
        for second in 0..seconds {
            points[second / self.wide].seconds += 1;
        }
        for row in trial.series.iter().filter(|row| (row.second as usize) < seconds) {
            let point = &mut points[row.second as usize / self.wide];
            let amount = if self.metric == "iops" { row.operations } else { row.bytes };
            point.amount = point.amount.saturating_add(amount);
            point.slowest_ns = point.slowest_ns.max(row.latency_max_ns);
        }
        points
    }

    /// The rates and the longest latencies of all trials, one trial after another.
    fn figures(&self, names: &Names) -> Vec<Figure> {
        let rate_unit = unit_of(self.metric);
        let (mut rates, mut slowest, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        let mut begin = 0.0;
        for trial in &self.trials {
            let points = self.points(trial);
            if points.is_empty() {
                continue;
            }
            let end = begin + (points.len() * self.wide) as f64;
            for (index, point) in points.iter().enumerate() {
                let at = begin + (index * self.wide) as f64;
                let rate = point.amount as f64 / f64::from(point.seconds.max(1));
                rates.push(self.point(trial, at, rate_unit, rate, index));
                if point.slowest_ns > 0 {
                    let slowest_ns = point.slowest_ns as f64;
                    let point = self.point(trial, at, Unit::Nanoseconds, slowest_ns, index);
                    // A line does not connect trials.
                    let is_first = slowest.last().is_none_or(|last: &Point| last.at < begin);
                    slowest.push(Point { joined: !is_first, ..point });
                }
            }
            spans.extend(trial_spans(trial, begin, end));
            // A gap of half a point separates trials.
            begin = end + 0.5 * self.wide as f64;
        }
        let title = match self.metric {
            "iops" => "operations in each second",
            _ => "bandwidth in each second",
        };
        let value = Axis::new(heading(self.metric), AxisScale::Linear, rate_unit).from_zero();
        let rates = Series::new(0, "", Mark::Steps, rates);
        let rate = self.figure(names, "rate", title, value, rates, &spans);
        let rate = rate.map(|rate| Figure { metric: Some(self.metric.to_owned()), ..rate });
        let title = "the slowest operation in each second";
        let value = Axis::new("longest latency", AxisScale::Log10, Unit::Nanoseconds);
        let slowest = Series::new(1, "", Mark::Points, slowest);
        let latency = self.figure(names, "latency", title, value, slowest, &spans);
        rate.into_iter().chain(latency).collect()
    }

    /// The point at `index` of a trial: a rate or a latency. It is joined to the previous point of the same trial.
    fn point(&self, trial: &TrialEvidence, at: f64, unit: Unit, value: f64, index: usize) -> Point {
        let second = index * self.wide;
        let name = format!("trial {}, second {second}", trial.order);
        let point = Point::new(at, unit, &name, value, None);
        let point = if trial.status == Status::Disturbed {
            point.marked(Look::Solid, "disturbed")
        } else if (second as f64) < uncounted_ramp_s(trial) {
            point.marked(Look::Solid, "ramp, not counted")
        } else {
            point
        };
        Point { joined: index > 0, ..point }
    }

    fn figure(
        &self,
        names: &Names,
        kind: &str,
        title: &str,
        value: Axis,
        series: Series,
        spans: &[AxisSpan],
    ) -> Option<Figure> {
        if series.points.len() < 2 {
            return None;
        }
        let arm = names.arm(self.arm);
        let along = Axis::new("seconds of the trials", AxisScale::Time, Unit::Seconds);
        let wide = (self.wide > 1).then(|| format!("One point covers {} seconds.", self.wide));
        Some(Figure {
            id: id_of(&["series", kind, self.workload, &arm]),
            title: format!("{}: {title}", joined(&[&short(self.workload), &arm])),
            description:
                "Trials are in run order; the ramp at the start of each trial is not counted. The last, partial \
                 second of each trial is omitted."
                    .to_owned(),
            spans: spans.to_vec(),
            notes: wide.into_iter().chain(left_out(self.omitted, "later trial")).collect(),
            workload: Some(self.workload.to_owned()),
            ..Figure::upright(along, value, vec![series])
        })
    }
}

/// The background of a trial, and of its ramp (the start of a trial) if the ramp does not count.
fn trial_spans(trial: &TrialEvidence, begin: f64, end: f64) -> Vec<AxisSpan> {
    let name = format!("trial {}", trial.order);
    let (mut kind, mut text) = (SpanKind::Alternate, name.clone());
    if trial.status == Status::Disturbed {
        kind = SpanKind::Disturbed;
        text = match &trial.reason {
            Some(reason) => format!("{name}, disturbed: {}", short(reason)),
            None => format!("{name}, disturbed"),
        };
    }
    let span = AxisSpan { from: begin, to: end, kind, text, label: name.clone() };
    with_ramp(span, &name, uncounted_ramp_s(trial))
}

/// Seconds at the beginning of a trial that its numbers exclude.
fn uncounted_ramp_s(trial: &TrialEvidence) -> f64 {
    if trial.ramp_counts { 0.0 } else { trial.ramp_ns as f64 / 1e9 }
}

/// Counted time of each trial in nanoseconds; 0 if unknown.
fn time_ns(findings: &Findings, workload: &str, arm: &Arm) -> u64 {
    let of_workload = findings.workloads.iter().filter(|facts| facts.name == workload);
    // Facts without a configuration are the same for all arms.
    let of_arm = of_workload.filter(|it| it.configuration.is_empty() || it.configuration == *arm);
    of_arm.map(|facts| facts.time_ns).max().unwrap_or(0)
}
