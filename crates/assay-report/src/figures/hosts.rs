//! Hosts of a fleet: the rate of each in every trial, relative to the mean of all its hosts.

use std::collections::{BTreeMap, BTreeSet};

use super::Drawing;
use crate::evidence::{Evidence, HostRate, TrialEvidence};
use assay_core::exhibit::figure::{
    Axis, AxisScale, Figure, Guide, Look, Mark, Point, Series, id_of, joined, short,
};
use assay_core::exhibit::parts::{merged_point, trials_per_point};
use assay_core::quantity::units::show;
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::results::record::Status;
use assay_study::{findings::hosts::HostFindings, findings::shown::Names, results::fleet::words};

pub static HOSTS: Drawing = Drawing {
    about: About {
        name: "hosts",
        summary: "speed of each host in every trial, relative to the mean of all hosts",
        text: "Multi-host numbers combine all hosts; this figure shows each host. A host that is below 1 in every \
               trial is slow under every configuration. The points of a lost host end when the host is lost. If there \
               are more hosts than colors, only the slowest hosts have their own points; one point combines the \
               others, with a line from the lowest to the highest.",
    },
    draw,
};

/// Limit on hosts with a separate line: with more, only the slowest have one.
const MOST_ALONE: usize = 7;

struct HostPoint<'a> {
    trial: &'a TrialEvidence,
    rank: u32,
    /// Its rate relative to the mean of all hosts of the trial.
    pace: f64,
    per_s: f64,
}

/// Draws the rate of each host relative to all hosts; nothing with fewer than two hosts or trials.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let Some(hosts) = &evidence.findings.environment.hosts else { return Vec::new() };
    let mut shares: Vec<HostPoint<'_>> = evidence.trials.iter().flat_map(points_of_trial).collect();
    shares.sort_by_key(|share| share.trial.order);
    let mut by_rank: BTreeMap<u32, Vec<&HostPoint<'_>>> = BTreeMap::new();
    for share in &shares {
        by_rank.entry(share.rank).or_default().push(share);
    }
    let trials = shares.iter().map(|share| share.trial.order).collect::<BTreeSet<_>>().len();
    if by_rank.len() < 2 || trials < 2 {
        return Vec::new();
    }
    let names = Names::from_findings(&evidence.findings);
    let (shown, others) = slowest_and_others(&by_rank);
    let series_of = |rank: &u32| (host_name(hosts, *rank), points(&names, &by_rank[rank]));
    let mut series = Series::each(shown.iter().map(series_of), Mark::Points);
    if !others.is_empty() {
        let name = format!("the other {} hosts", others.len());
        series.push(Series::new(7, name, Mark::Points, combined_points(&by_rank, &others)));
    }
    let along = Axis::new("position in the run order", AxisScale::Linear, Unit::Number);
    let value = Axis::new("rate relative to the mean of all hosts", AxisScale::Linear, Unit::Ratio);
    vec![Figure {
        id: id_of(&["hosts"]),
        title: "rate of each host relative to the mean of all hosts, per trial".to_owned(),
        description: "Each point is a host in a trial.".to_owned(),
        guides: vec![Guide::line(1.0, "mean of the hosts".to_owned())],
        interval: "lowest to highest".to_owned(),
        notes: notes(trials, others.len()),
        ..Figure::upright(along, value.from_zero(), series)
    }]
}

/// A point per host that ran the trial; none if the trial does not count.
fn points_of_trial(trial: &TrialEvidence) -> Vec<HostPoint<'_>> {
    let rates = || trial.hosts.iter().map(|host| host.per_s).filter(|rate| rate.is_finite());
    let mean = rates().sum::<f64>() / rates().count().max(1) as f64;
    if !trial.status.counts() || mean <= 0.0 {
        return Vec::new();
    }
    let mut points = Vec::new();
    for HostRate { rank, per_s } in trial.hosts.iter().filter(|host| host.per_s.is_finite()) {
        points.push(HostPoint { trial, rank: *rank, pace: per_s / mean, per_s: *per_s });
    }
    points
}

/// The ranks of the slowest hosts, each with its own series, and of the others, which are none or at least two.
fn slowest_and_others(by_rank: &BTreeMap<u32, Vec<&HostPoint<'_>>>) -> (Vec<u32>, Vec<u32>) {
    let mut ranks: Vec<u32> = by_rank.keys().copied().collect();
    if ranks.len() <= MOST_ALONE + 1 {
        return (ranks, Vec::new());
    }
    ranks.sort_by(|left, right| median(&by_rank[left]).total_cmp(&median(&by_rank[right])));
    let mut others = ranks.split_off(MOST_ALONE);
    ranks.sort_unstable();
    others.sort_unstable();
    (ranks, others)
}

fn median(shares: &[&HostPoint<'_>]) -> f64 {
    let mut paces: Vec<f64> = shares.iter().map(|share| share.pace).collect();
    paces.sort_by(f64::total_cmp);
    paces[paces.len() / 2]
}

fn host_name(hosts: &HostFindings, rank: u32) -> String {
    let host = hosts.rows.iter().find(|row| row.rank == rank);
    short(&words(rank, host.map_or("", |row| row.name.as_str())))
}

fn points(names: &Names, shares: &[&HostPoint<'_>]) -> Vec<Point> {
    match trials_per_point(shares.len()) {
        1 => shares.iter().map(|share| trial_point(names, share)).collect(),
        many => shares.chunks(many).map(merged_trials_point).collect(),
    }
}

fn trial_point(names: &Names, share: &HostPoint<'_>) -> Point {
    let HostPoint { trial, pace, per_s, .. } = share;
    let arm = names.arm(&trial.arm);
    let text = joined(&[&arm, &format!("{}/s", show::per_second(*per_s))]);
    let words = format!("{} ({text})", trial.order);
    let point = Point::new(f64::from(trial.order), Unit::Ratio, &words, *pace, None);
    let point = Point { remark: Some(text), ..point };
    if trial.status == Status::Disturbed {
        return point.marked(Look::Crossed, "disturbed");
    }
    point
}

/// One point for the shares of one or several consecutive trials.
fn merged_trials_point(shares: &[&HostPoint<'_>]) -> Point {
    let mean = shares.iter().map(|share| share.pace).sum::<f64>() / shares.len() as f64;
    let paces: Vec<_> = shares.iter().map(|share| (share.trial.order, share.pace)).collect();
    merged_point(&paces, mean)
}

/// Points that combine the hosts of the given ranks, one for each trial or, if trials are many, for several.
fn combined_points(by_rank: &BTreeMap<u32, Vec<&HostPoint<'_>>>, ranks: &[u32]) -> Vec<Point> {
    let mut by_trial: BTreeMap<u32, Vec<&HostPoint<'_>>> = BTreeMap::new();
    for share in ranks.iter().flat_map(|rank| &by_rank[rank]) {
        by_trial.entry(share.trial.order).or_default().push(share);
    }
    let trials: Vec<Vec<&HostPoint<'_>>> = by_trial.into_values().collect();
    trials
        .chunks(trials_per_point(trials.len()))
        .map(|group| merged_trials_point(&group.concat()))
        .collect()
}

fn notes(trials: usize, others: usize) -> Vec<String> {
    let together = trials_per_point(trials);
    let merged = (together > 1).then(|| {
        format!("{trials} trials: a point averages up to {together}; its line is the range.")
    });
    let few = (others > 0).then(|| {
        format!("The slowest {MOST_ALONE} hosts have their own points; one point with its range combines the other \
            {others}.")
    });
    merged.into_iter().chain(few).collect()
}
