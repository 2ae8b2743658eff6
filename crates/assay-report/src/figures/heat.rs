//! Number of operations by latency, second by second.

use std::collections::{BTreeMap, BTreeSet};

use super::{Drawing, LONGEST_TRIAL};
use crate::evidence::{Evidence, TrialEvidence};
use assay_core::exhibit::figure::{
    Axis, AxisScale, AxisSpan, Colour, Figure, HEAT_STEPS, Mark, Point, Series, SpanKind, id_of,
    joined, short,
};
use assay_core::{catalogue::About, exhibit::Unit};
use assay_core::{exhibit::parts::left_out, quantity::units::show};
use assay_study::results::series::bucket_from_ns;
use assay_study::{findings::shown::Names, results::plan::Arm, results::record::Status};

pub static HEAT: Drawing = Drawing {
    about: About {
        name: "heatmap",
        summary: "latency distribution over time, in seconds",
        text: "Columns are seconds of the trials, one trial after another. Rows are latency buckets, two per \
               doubling; darker cells contain more operations. A pause appears as a gap, a full cache appears as a \
               step, and two kinds of operations appear as two bands.",
    },
    draw,
};

const FEWEST_COLUMNS: usize = 8;
/// Most columns of a figure; the next number if these need too many tiles.
const MOST_COLUMNS: [usize; 3] = [60, 30, 15];
/// Lower end of the axis: bucket 0 begins at 0, which a logarithmic axis cannot show.
const LEAST_NS: u64 = 128;
/// Larger buckets count as this one.
const LAST_BUCKET: u32 = 64;
const MOST_SPANS: usize = 60;
const MOST_ROWS: u32 = 32;
const MOST_FIGURES: usize = 2;
/// With more arms than this, only the arm with the widest range of latencies has a figure.
const MANY_ARMS: usize = 12;
const MOST_TILES: usize = 320;

/// Draws the arms with the widest ranges of latencies; a note counts the others.
fn draw(evidence: &Evidence) -> Vec<Figure> {
    let [most_columns, ..] = MOST_COLUMNS;
    let names = Names::from_findings(&evidence.findings);
    let mut candidates: Vec<(u32, [String; 2], Vec<&TrialEvidence>)> = Vec::new();
    for ((workload, arm), trials) in trials_by_arm(evidence) {
        let columns = HeatColumns::new(&trials, most_columns);
        let Some([lowest, highest]) = columns.bucket_range() else { continue };
        if columns.counts.len() >= FEWEST_COLUMNS {
            candidates.push((highest - lowest, [short(workload), names.arm(arm)], trials));
        }
    }
    candidates.sort_by_key(|(range, ..)| std::cmp::Reverse(*range));
    let most_figures = if candidates.len() > MANY_ARMS { 1 } else { MOST_FIGURES };
    let mut figures: Vec<Figure> = Vec::new();
    for (_range, name, trials) in candidates.iter().take(most_figures) {
        figures.extend(figure(name, trials));
    }
    if let Some(last) = figures.last_mut() {
        let note = left_out(candidates.len().saturating_sub(most_figures), "configuration");
        last.notes.extend(note.map(|note| format!("Showing the widest latency ranges. {note}")));
    }
    figures
}

/// The figure of an arm with as many columns as possible without too many tiles, else with the fewest columns.
fn figure(name: &[String; 2], trials: &[&TrialEvidence]) -> Option<Figure> {
    let mut figure = None;
    for most_columns in MOST_COLUMNS {
        let drawn = HeatColumns::new(trials, most_columns).figure(name)?;
        let fits = drawn.marks() <= MOST_TILES;
        figure = Some(drawn);
        if fits {
            break;
        }
    }
    figure
}

/// The trials by workload and arm (configuration) in run order, without warm-ups and the A/A control.
fn trials_by_arm(evidence: &Evidence) -> Vec<((&str, &Arm), Vec<&TrialEvidence>)> {
    let mut indices: BTreeMap<(&str, &Arm), usize> = BTreeMap::new();
    let mut groups: Vec<((&str, &Arm), Vec<&TrialEvidence>)> = Vec::new();
    for trial in &evidence.trials {
        let key = (trial.workload.as_str(), &*trial.arm);
        let index = *indices.entry(key).or_insert(groups.len());
        if index == groups.len() {
            groups.push((key, Vec::new()));
        }
        if !trial.control && trial.status != Status::Warmup {
            groups[index].1.push(trial);
        }
    }
    groups
}

struct HeatColumns {
    /// Seconds per column.
    wide: usize,
    /// Operations of each column by latency bucket.
    counts: Vec<BTreeMap<u32, u64>>,
    /// First and last second of each trial, its order, and whether it was disturbed.
    trials: Vec<HeatTrial>,
}

type HeatTrial = (usize, usize, u32, bool);

impl HeatColumns {
    /// Lays the seconds of all trials end to end in at most `most` columns of equal width.
    fn new(trials: &[&TrialEvidence], most: usize) -> Self {
        let seconds = |trial: &TrialEvidence| {
            let ends = trial.series.iter().map(|row| row.second as usize + 1);
            ends.max().unwrap_or(0).min(LONGEST_TRIAL)
        };
        let total: usize = trials.iter().map(|trial| seconds(trial)).sum();
        // Seconds per column.
        let wide = total.div_ceil(most).max(1);
        let counts = vec![BTreeMap::new(); total.div_ceil(wide)];
        let mut columns = Self { wide, counts, trials: Vec::new() };
        let mut begin = 0;
        for trial in trials {
            // Later seconds would count in the columns of the next trial.
            for row in trial.series.iter().filter(|row| (row.second as usize) < LONGEST_TRIAL) {
                let index = (begin + row.second as usize) / wide;
                let Some(column) = columns.counts.get_mut(index) else { continue };
                for [bucket, count] in &row.latency_buckets {
                    *column.entry((*bucket).min(LAST_BUCKET)).or_default() += u64::from(*count);
                }
            }
            let end = begin + seconds(trial);
            columns.trials.push((begin, end, trial.order, trial.status == Status::Disturbed));
            begin = end;
        }
        columns
    }

    /// First and last nonempty bucket; `None` without counts.
    fn bucket_range(&self) -> Option<[u32; 2]> {
        let buckets = || self.counts.iter().flat_map(BTreeMap::keys).copied();
        Some([buckets().min()?, buckets().max()?])
    }

    /// The figure of a workload and arm, which `name` contains; `None` without operations.
    fn figure(&self, name: &[String; 2]) -> Option<Figure> {
        let [least, most] = self.bucket_range()?;
        // A row is half a doubling of latency, or a whole one if there are too many rows.
        let tall = if most - least >= MOST_ROWS { 2 } else { 1 };
        let merged = self.rates_by_row(tall);
        let largest = merged.iter().flat_map(BTreeMap::values).copied().max()?.max(1);
        let along = format!("seconds of {} trials, one after another", self.trials.len());
        let along = Axis::new(along, AxisScale::Time, Unit::Seconds);
        let value = Axis::new("latency", AxisScale::Log10, Unit::Nanoseconds);
        let disturbed = self.trials.iter().filter(|(.., disturbed)| *disturbed);
        let span = |(from, to, order, _): &HeatTrial| AxisSpan {
            from: *from as f64,
            to: *to as f64,
            kind: SpanKind::Disturbed,
            text: format!("trial {order}: disturbed"),
            label: String::new(),
        };
        let [workload, arm] = name;
        Some(Figure {
            id: id_of(&["heatmap", workload, arm]),
            title: format!("{}: operations by latency and second", joined(&[workload, arm])),
            description:
                "Columns are seconds of the trials, one after another; rows are latencies, two per doubling; colors \
                 show operations per second, from few to many."
                    .to_owned(),
            spans: disturbed.take(MOST_SPANS).map(span).collect(),
            interval: "operations/s".to_owned(),
            notes: self.notes(tall),
            ..Figure::upright(along, value, self.series(&merged, tall, largest))
        })
    }

    fn notes(&self, tall: u32) -> Vec<String> {
        let wide = (self.wide > 1).then(|| format!("Each column covers {} seconds.", self.wide));
        let tall = (tall > 1).then(|| "Each row covers a full doubling.".to_owned());
        wide.into_iter().chain(tall).collect()
    }

    fn seconds(&self, column: usize) -> f64 {
        (column * self.wide) as f64
    }

    /// For each column, the operations per second (at least 1) by row; a row covers `tall` buckets of latency.
    fn rates_by_row(&self, tall: u32) -> Vec<BTreeMap<u32, u64>> {
        let mut columns = Vec::new();
        for column in &self.counts {
            let mut rows: BTreeMap<u32, u64> = BTreeMap::new();
            for (bucket, count) in column {
                *rows.entry(row_of(*bucket, tall)).or_default() += count;
            }
            for count in rows.values_mut() {
                *count = count.div_ceil(self.wide as u64);
            }
            columns.push(rows);
        }
        columns
    }

    /// One series per color; adjacent tiles of a row with the same color are merged.
    fn series(&self, merged: &[BTreeMap<u32, u64>], tall: u32, largest: u64) -> Vec<Series> {
        let bounds = color_thresholds(largest);
        let color_of = |count: u64| bounds.iter().rposition(|bound| count >= *bound).unwrap_or(0);
        let mut tiles: Vec<Vec<Point>> = vec![Vec::new(); bounds.len()];
        let rows: BTreeSet<u32> = merged.iter().flat_map(BTreeMap::keys).copied().collect();
        for row in rows {
            let count = |column: &BTreeMap<u32, u64>| column.get(&row).copied().unwrap_or(0);
            let counts: Vec<u64> = merged.iter().map(count).collect();
            let mut from = 0;
            let same_color = |left: &u64, right: &u64| {
                *left > 0 && *right > 0 && color_of(*left) == color_of(*right)
            };
            for run in counts.chunk_by(same_color) {
                if run[0] > 0 {
                    tiles[color_of(run[0])].push(self.tile(from, row, tall, run));
                }
                from += run.len();
            }
        }
        let mut series = Vec::new();
        for (index, points) in tiles.into_iter().enumerate() {
            let bound = show::count(bounds[index]);
            let is_one_count = bounds.get(index + 1) == Some(&(bounds[index] + 1));
            let name = if is_one_count { bound } else { format!("{bound}+") };
            // If few colors are used, spread them over the whole color scale.
            let colour = Colour::Heat(index * (HEAT_STEPS - 1) / (bounds.len() - 1).max(1));
            series.push(Series { name, colour, shape: 0, mark: Mark::Tiles, points });
        }
        series
    }

    /// The tile of consecutive columns of a row, from column `from` on, with their rates.
    fn tile(&self, from: usize, row: u32, tall: u32, run: &[u64]) -> Point {
        let ends = [first_bucket(row, tall), first_bucket(row.saturating_add(tall), tall)];
        let value = ends.map(|bucket| bucket_from_ns(bucket).max(LEAST_NS) as f64);
        let least = run.iter().min().copied().unwrap_or_default();
        let most = run.iter().max().copied().unwrap_or_default();
        let counts = if least == most {
            show::count(most)
        } else {
            format!("{} to {}", show::count(least), show::count(most))
        };
        let at = [self.seconds(from), self.seconds(from + run.len())];
        Point {
            at: at[0],
            value: value[0],
            end: Some([at[1], value[1]]),
            text: format!(
                "{} to {}, {} to {} s: {counts} per second",
                Unit::Nanoseconds.text(value[0]),
                Unit::Nanoseconds.text(value[1]),
                at[0],
                at[1]
            ),
            label: Some(counts),
            ..Point::default()
        }
    }
}

/// The first bucket of the row that contains `bucket`. Bucket 0, below the first doubling, is a separate row.
fn row_of(bucket: u32, tall: u32) -> u32 {
    if bucket == 0 { 0 } else { (bucket - 1) / tall * tall + 1 }
}

/// First bucket of a row, or of the row after it: row 0 is one bucket tall, so that bucket 1 follows.
fn first_bucket(row: u32, tall: u32) -> u32 {
    if row == tall { 1 } else { row }
}

/// The least count of each color, ascending: from 1 to at most `largest` by equal factors, without repetitions.
fn color_thresholds(largest: u64) -> Vec<u64> {
    let factor = (largest as f64).powf(1.0 / HEAT_STEPS as f64);
    let mut bounds: Vec<u64> =
        (0..HEAT_STEPS).map(|step| factor.powi(step as i32).round() as u64).collect();
    bounds.dedup();
    bounds.retain(|bound| *bound <= largest);
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_by_equal_factors_and_never_repeat() {
        assert_eq!(color_thresholds(1), [1]);
        assert_eq!(color_thresholds(2), [1, 2]);
        assert_eq!(color_thresholds(65_536), [1, 4, 16, 64, 256, 1024, 4096, 16_384]);
        for largest in [3, 5, 17, 100, 12_345] {
            let found = color_thresholds(largest);
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]) && found[0] == 1, "{found:?}");
        }
    }

    #[test]
    fn rows_of_doublings_begin_at_doublings() {
        for (bucket, row) in [(0, 0), (1, 1), (2, 1), (3, 3), (4, 3)] {
            assert_eq!(row_of(bucket, 2), row);
        }
        assert_eq!(bucket_from_ns(row_of(4, 2)), 512);
    }
}
