//! Latencies of a class of operations before and after, as bars over powers of two.

use std::collections::BTreeMap;

use super::Drawing;
use super::words::{comparisons_of, notable, subjects};
use crate::evidence::{Evidence, RowLatencies};
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Mark, Point, Series, id_of, short};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_core::{exhibit::parts::at_most, quantity::units::show};
use assay_study::results::tally::Tally;
use assay_study::{findings::Comparison, findings::shown::Names, results::plan::Arm};
use assay_workloads::io;

pub static CLASSES: Drawing = Drawing {
    about: About {
        name: "classes",
        summary: "latency distribution per class of operations, for the baseline and another configuration",
        text: "Bars show the share of the operations of both configurations, or of two `assay watch` results, per \
               bucket; each bucket is twice as wide as the previous one. The share axis is linear and starts at zero, \
               so the figure shows where most operations are; the percentiles show the tail.",
    },
    draw,
};

const MOST_FIGURES: usize = 6;

/// A bucket: from, to (nanoseconds) and count.
type Bucket = (u64, u64, u64);

/// Draws a figure per workload and class of operations, with the baseline and the arm (configuration) farthest from it.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::from_findings(&evidence.findings);
    let rows = || evidence.latencies.iter().filter(|row| !row.control);
    // A workload has many rows, but only one pair of compared arms.
    let mut pairs: BTreeMap<&str, Option<[Arm; 2]>> = BTreeMap::new();
    let mut figures = Vec::new();
    for base in rows() {
        let workload = base.workload.as_str();
        let pair = pairs.entry(workload).or_insert_with(|| compared_arms(evidence, workload));
        let Some([base_arm, other_arm]) = &*pair else { continue };
        if base.arm != *base_arm {
            continue;
        }
        let is_other = |row: &&RowLatencies| {
            row.workload == workload && row.class == base.class && row.arm == *other_arm
        };
        let Some(other) = rows().find(is_other) else { continue };
        let arm_names = [names.arm(base_arm), names.arm(other_arm)];
        let [base_buckets, other_buckets] = [base, other].map(|row| buckets(&row.nanoseconds));
        let title = title_of(evidence, base);
        figures.extend(figure(&title, arm_names, &base_buckets, &other_buckets));
    }
    at_most(figures, MOST_FIGURES, "operation type")
}

fn title_of(evidence: &Evidence, row: &RowLatencies) -> String {
    let name = short(&row.workload);
    if evidence.findings.are_windows() {
        // The workload of a production window is a class, so the name contains the operations.
        return format!("{name}: latencies");
    }
    match io::of_response(&row.class) {
        Some(class) => format!("{name}: response times of {} operations", short(class)),
        None => format!("{name}: latencies of {} operations", short(&row.class)),
    }
}

/// The baseline of a workload and the arm that differs most from it; without comparisons, the two most notable arms.
fn compared_arms(evidence: &Evidence, workload: &str) -> Option<[Arm; 2]> {
    let findings = &evidence.findings;
    let distance = |found: &Comparison| match found.ratio {
        Some(ratio) if ratio > 0.0 => ratio.ln().abs(),
        _ => 0.0,
    };
    let farthest = comparisons_of(findings, workload)
        .max_by(|left, right| distance(left).total_cmp(&distance(right)));
    if let Some(found) = farthest {
        return Some([found.baseline.clone(), found.configuration.clone()]);
    }
    let subject = subjects(findings).into_iter().find(|it| it.name == workload)?;
    let [base, other] = notable(findings, subject, 2).try_into().ok()?;
    Some([base, other])
}

/// The counts of a histogram in buckets, each twice as wide as the previous one.
fn buckets(latencies: &Tally) -> Vec<Bucket> {
    let mut buckets: Vec<Bucket> = Vec::new();
    for (latency_ns, count) in latencies.steps() {
        let from = 1_u64 << latency_ns.max(1).ilog2();
        match buckets.last_mut() {
            Some((last, _, sum)) if *last == from => *sum += count,
            _ => buckets.push((from, from.saturating_mul(2), count)),
        }
    }
    buckets
}

/// Draws two histograms on one axis, with two bars per bucket; `None` if one of them is empty.
fn figure(title: &str, arms: [String; 2], base: &[Bucket], other: &[Bucket]) -> Option<Figure> {
    let rows = bucket_ranges(base, other);
    if total(base) == 0 || total(other) == 0 {
        return None;
    }
    let names = rows.iter().map(|(from, to)| {
        format!("{} to {}", show::duration(*from as f64), show::duration(*to as f64))
    });
    let along = Axis::names("latency", names);
    let [base_name, other_name] =
        arms.map(|name| if name.is_empty() { "operations".to_owned() } else { short(&name) });
    let [base_count, other_count] = [base, other].map(|buckets| show::count(total(buckets)));
    let description = format!(
        "Bars show {base_name} ({base_count} operations) and {other_name} ({other_count}); each bucket is twice as wide as the previous one. \
         All trials are pooled."
    );
    let series = [(base_name, base), (other_name, other)].map(|(name, buckets)| {
        let bars = bars(&along, &name, &rows, buckets);
        (name, bars)
    });
    let value = Axis::new("share of operations", AxisScale::Linear, Unit::Quantile).from_zero();
    Some(Figure {
        id: id_of(&["classes", title]),
        title: format!("{title}: share of operations in each bucket, all trials pooled"),
        description,
        ..Figure::lying(along, value, Series::each(series, Mark::Bars))
    })
}

fn total(buckets: &[Bucket]) -> u64 {
    buckets.iter().fold(0, |sum, (.., count)| sum.saturating_add(*count))
}

/// All buckets from the first to the last nonempty one, including gaps.
fn bucket_ranges(base: &[Bucket], other: &[Bucket]) -> Vec<(u64, u64)> {
    let filled = base.iter().chain(other).filter(|(.., count)| *count > 0);
    let mut ranges: Vec<(u64, u64)> = filled.map(|(from, to, _)| (*from, *to)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (from, to) in ranges {
        // Add the empty buckets before this one, each twice as wide as the previous one.
        while let Some(&(start, end)) = all.last()
            && (start > 0 && end < from && end / 2 == start)
        {
            all.push((end, end.saturating_mul(2).min(from)));
        }
        all.push((from, to));
    }
    all
}

/// A bar per bucket with operations; the position of a bucket is its index in `rows`.
fn bars(along: &Axis, name: &str, rows: &[(u64, u64)], buckets: &[Bucket]) -> Vec<Point> {
    let total = total(buckets);
    let mut bars = Vec::new();
    for (index, (row_from, _)) in rows.iter().enumerate() {
        let in_row = buckets.iter().filter(|(from, ..)| from == row_from);
        let count = in_row.fold(0_u64, |sum, (.., count)| sum.saturating_add(*count));
        if count == 0 {
            continue;
        }
        let share = count as f64 / total as f64;
        let text = format!(
            "{name}, {}: {} of {} operations, {}",
            along.text(index as f64),
            show::count(count),
            show::count(total),
            Unit::Quantile.text(share)
        );
        let remark = Some(format!("{} operations", show::count(count)));
        let label = Some(Unit::Quantile.text(share));
        let bar = Point::new(index as f64, Unit::Quantile, "", share, None);
        bars.push(Point { text, remark, label, ..bar });
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(title: &str, before: &[Bucket], after: &[Bucket]) -> Option<Figure> {
        figure(title, ["before", "after"].map(str::to_owned), before, after)
    }

    #[test]
    fn buckets_make_a_figure() {
        let before = [(262_144, 524_288, 900), (524_288, 1_048_576, 99), (4_194_304, 8_388_608, 1)];
        let figure = drawn("reads", &before, &[(524_288, 1_048_576, 10)]).unwrap();
        // 1 to 4 ms is empty in both, but has rows.
        let AxisScale::Category(slots) = &figure.along.scale else { panic!("names") };
        assert_eq!(slots.len(), 5);
        assert_eq!(figure.series[0].points.len(), 3);
        assert_eq!(
            figure.series[0].points[2].text,
            "before, 4.19 ms to 8.39 ms: 1 of 1,000 operations, 0.1%"
        );
        assert_eq!(drawn("none", &before, &[]), None);
        assert_eq!(drawn("none", &[], &before), None);
    }

    #[test]
    fn a_histogram_is_summed_by_doublings() {
        let mut latencies = Tally::default();
        for ns in [1, 2, 3, 4, 1023, 1024, 2047, 5_000_000] {
            latencies.record(ns, 1);
        }
        let found = buckets(&latencies);
        assert_eq!(found.iter().map(|(.., count)| count).sum::<u64>(), 8);
        assert_eq!(found[0], (1, 2, 1));
        assert_eq!(found[1], (2, 4, 2));
    }
}
