//! Parts of figures: rows with names, series by kind of mark, bars, time spans.

use super::Unit;
use super::figure::{
    Axis, AxisScale, AxisSpan, Colour, Figure, Mark, Point, Series, Slot, SpanKind, with_marks,
};

/// Ratio of largest to smallest value from which the scale is logarithmic.
const WIDE: f64 = 30.0;

/// Maximum axis length of a bar chart, relative to its longest bar.
pub const BEYOND: f64 = 1.6;

#[derive(Default)]
pub struct FigureRows(Vec<Slot>);

impl FigureRows {
    pub fn heading(&mut self, name: &str) {
        self.0.push(Slot { name: name.to_owned(), heading: true });
    }

    /// Adds a row and returns the position of its marks.
    pub fn add(&mut self, name: &str) -> f64 {
        self.0.push(Slot { name: name.to_owned(), heading: false });
        (self.0.len() - 1) as f64
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn axis(self) -> Axis {
        Axis::new("", AxisScale::Category(self.0), Unit::Number)
    }
}

/// Legend entry of a series: key, name, color and shape.
pub type Sort<K> = (K, &'static str, Colour, usize);

/// A series for each legend entry (`sorts`) that has points, in the order of the legend.
pub fn by_sort<K: PartialEq>(
    sorts: impl IntoIterator<Item = Sort<K>>,
    all: impl IntoIterator<Item = (K, Point)>,
    mark: Mark,
) -> Vec<Series> {
    let mut sorted: Vec<(K, Series)> = Vec::new();
    for (key, name, colour, shape) in sorts {
        let series = Series { name: name.to_owned(), colour, shape, mark, points: Vec::new() };
        sorted.push((key, series));
    }
    for (key, point) in all {
        if let Some((_, series)) = sorted.iter_mut().find(|(known, _)| *known == key) {
            series.points.push(point);
        }
    }
    with_marks(sorted.into_iter().map(|(_, series)| series).collect()).unwrap_or_default()
}

/// Rows of bars on an axis to `times` the longest bar. It clips longer intervals: few trials may have endless ones.
pub fn of_bars(
    rows: Axis,
    title: String,
    unit: Unit,
    times: f64,
    series: Vec<Series>,
) -> Option<Figure> {
    let series = with_marks(series)?;
    let values = || series.iter().flat_map(|one| &one.points).map(|bar| bar.value);
    let ends = [values().fold(0.0, f64::min), values().fold(0.0, f64::max)];
    let value =
        Axis::new(title, AxisScale::Linear, unit).from_zero().within(ends.map(|end| times * end));
    let notes = clipped(&series, &value).into_iter().collect();
    Some(Figure { notes, ..Figure::lying(rows, value, series) })
}

/// Value axis, linear from zero or logarithmic for a wide range, with the smallest and largest value.
pub fn as_wide(title: &str, unit: Unit, series: &[Series]) -> (Axis, [f64; 2]) {
    let values = || series.iter().flat_map(|one| &one.points).map(|point| point.value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let axis = if least > 0.0 && most / least > WIDE {
        Axis::new(title, AxisScale::Log10, unit)
    } else {
        Axis::new(title, AxisScale::Linear, unit).from_zero()
    };
    (axis, [least, most])
}

/// Maximum number of points with one trial each, and maximum number of shared points.
const MOST_POINTS: usize = 80;
const MERGED_POINTS: usize = 40;

pub fn trials_per_point(trials: usize) -> usize {
    if trials <= MOST_POINTS { 1 } else { trials.div_ceil(MERGED_POINTS) }
}

/// One point for several trials, each with its order and ratio: at their mean order, with the range of their ratios.
pub fn merged_point(trials: &[(u32, f64)], mean: f64) -> Point {
    let mean_order =
        trials.iter().map(|(order, _)| f64::from(*order)).sum::<f64>() / trials.len() as f64;
    let mut ends = [f64::INFINITY, 0.0_f64];
    for (_, ratio) in trials {
        ends = [ends[0].min(*ratio), ends[1].max(*ratio)];
    }
    let order_of = |trial: Option<&(u32, f64)>| trial.map_or(0, |(order, _)| *order);
    let (first, last) = (order_of(trials.first()), order_of(trials.last()));
    let name = if first == last { first.to_string() } else { format!("{first} to {last}") };
    Point::new(mean_order, Unit::Ratio, &name, mean, Some(ends))
}

/// Splits a time span at the end of the ramp of `ramp_s` seconds.
pub fn with_ramp(whole: AxisSpan, name: &str, ramp_s: f64) -> Vec<AxisSpan> {
    let ramp = AxisSpan {
        to: whole.from + ramp_s.min(whole.to - whole.from),
        kind: SpanKind::Ramp,
        text: format!("{name}: ramp, not counted"),
        label: String::new(),
        ..whole
    };
    [whole, ramp].into_iter().filter(|span| span.to > span.from).collect()
}

/// Distinct values, in the order of their first appearance.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for value in values {
        if !known.contains(&value) {
            known.push(value);
        }
    }
    known
}

/// Groups items by key, in the order of first appearance.
pub fn parted<T: Copy, K: PartialEq>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut parts: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match parts.iter_mut().find(|(known, _)| *known == key) {
            Some((_, part)) => part.push(item),
            None => parts.push((key, vec![item])),
        }
    }
    parts
}

/// Returns a note if intervals exceed the axis.
pub fn clipped(series: &[Series], value: &Axis) -> Option<String> {
    let [least, most] = value.limits?;
    let points = series.iter().flat_map(|one| &one.points);
    let mut ends = points.filter_map(|point| point.interval).flatten();
    let is_beyond = ends.any(|end| end < least || end > most);
    is_beyond.then(|| "Some intervals extend beyond the figure; see the table.".to_owned())
}

/// Returns at most `most` figures; a note in the last one counts the omitted ones. `one` is the noun of a figure.
pub fn at_most(mut figures: Vec<Figure>, most: usize, one: &str) -> Vec<Figure> {
    let count = figures.len().saturating_sub(most);
    figures.truncate(most);
    if let Some(last) = figures.last_mut() {
        last.notes.extend(left_out(count, one));
    }
    figures
}

/// Returns a note on omitted figures; `None` if all are shown.
pub fn left_out(count: usize, one: &str) -> Option<String> {
    let several = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("Omitted: {count} {one}{several}. The result has all data."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_sorted_by_the_legend_and_sorts_without_any_have_no_key() {
        let sorts = [2, 1, 0].map(|of| (of, ["a", "b", "c"][of], Colour::Series(of), of));
        // Marks without a legend entry are not drawn.
        let marks = [(0, 5), (2, 6), (0, 7), (9, 8)];
        let marks = marks.map(|(sort, place)| (sort, at(place)));
        let series = by_sort(sorts, marks, Mark::Line);
        let told: Vec<(&str, usize, Vec<f64>)> = series.iter().map(told).collect();
        assert_eq!(told, [("c", 2, vec![6.0]), ("a", 0, vec![5.0, 7.0])]);
        assert!(by_sort([(1, "b", Colour::Same, 0)], [(0, at(5))], Mark::Line).is_empty());
    }

    fn at(place: i32) -> Point {
        Point::new(f64::from(place), Unit::Number, "", 1.0, None)
    }

    fn told(series: &Series) -> (&str, usize, Vec<f64>) {
        let places = series.points.iter().map(|point| point.at).collect();
        (series.name.as_str(), series.shape, places)
    }

    #[test]
    fn bars_have_room_beyond_the_longest() {
        let series = Series::each([("none", vec![]), ("one", vec![at(1)])], Mark::Bars);
        let axis = || FigureRows::default().axis();
        assert_eq!(of_bars(axis(), String::new(), Unit::Number, 1.6, Vec::new()), None);
        let figure = of_bars(axis(), String::new(), Unit::Number, 1.6, series).unwrap();
        assert_eq!((figure.value.limits, figure.notes.len()), (Some([0.0, 1.6]), 0));
    }

    #[test]
    fn values_far_apart_go_by_factors() {
        let drawn = |most: f64| {
            let values = [1.0, most].map(|value| Point { value, ..at(0) });
            as_wide("", Unit::Number, &Series::each([("", values.to_vec())], Mark::Points))
        };
        let ((near, ends), (far, _)) = (drawn(30.0), drawn(31.0));
        assert_eq!((&near.scale, near.from_zero, ends), (&AxisScale::Linear, true, [1.0, 30.0]));
        assert_eq!((&far.scale, far.from_zero), (&AxisScale::Log10, false));
    }

    #[test]
    fn headings_take_a_place_but_have_no_marks() {
        let mut rows = FigureRows::default();
        rows.heading("writes");
        assert_eq!([rows.add("ext4"), rows.add("xfs")], [1.0, 2.0]);
        assert_eq!(rows.count(), 3);
        assert_eq!(rows.axis().text(1.0), "ext4");
    }

    #[test]
    fn a_ramp_is_no_longer_than_its_stretch() {
        let (from, to, kind) = (2.0, 5.0, SpanKind::Alternate);
        let whole = AxisSpan { from, to, kind, text: String::new(), label: "up".to_owned() };
        let ends = |ramp_s: f64| -> Vec<[f64; 2]> {
            let spans = with_ramp(whole.clone(), "phase up", ramp_s);
            spans.iter().map(|span| [span.from, span.to]).collect()
        };
        assert_eq!(ends(1.5), [[2.0, 5.0], [2.0, 3.5]]);
        assert_eq!(ends(60.0), [[2.0, 5.0], [2.0, 5.0]]);
        assert_eq!(ends(0.0), [[2.0, 5.0]]);
        assert_eq!(with_ramp(whole, "phase up", 1.0)[1].text, "phase up: ramp, not counted");
    }

    #[test]
    fn what_comes_first_stands_first() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
        assert_eq!(parted([3, 1, 5, 2], |one| one % 2), [(1, vec![3, 1, 5]), (0, vec![2])]);
    }
}
