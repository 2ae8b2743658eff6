//! What figures are put together from: rows with their names, series by what sets marks apart, bars,
//! stretches of time.

use super::clipped;
use crate::figure::{Axis, Colour, Figure, Marks, Scale, Series, Slot, Span, SpanKind, Unit};

/// From this ratio of largest to smallest on, values go by factors.
const WIDE: f64 = 30.0;

/// Rows of a lying figure as they are gathered.
#[derive(Default)]
pub(super) struct Rows(Vec<Slot>);

impl Rows {
    /// A heading over the rows that follow.
    pub fn heading(&mut self, name: &str) {
        self.0.push(Slot { name: name.to_owned(), heading: true });
    }

    /// One row more, and where its marks stand.
    pub fn add(&mut self, name: &str) -> f64 {
        self.0.push(Slot { name: name.to_owned(), heading: false });
        (self.0.len() - 1) as f64
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn axis(self) -> Axis {
        Axis::new("", Scale::Category(self.0), Unit::Number)
    }
}

/// How the legend has marks of one sort: what sets them apart, their name, colour and shape.
pub(super) type Sort<K> = (K, &'static str, Colour, usize);

/// A series for each sort that has marks, in the order of the legend.
pub(super) fn by_sort<K: PartialEq, T>(
    sorts: impl IntoIterator<Item = Sort<K>>,
    all: impl IntoIterator<Item = (K, T)>,
    marks: impl Fn(Vec<T>) -> Marks,
) -> Vec<Series> {
    let mut sorted: Vec<(Sort<K>, Vec<T>)> =
        sorts.into_iter().map(|sort| (sort, Vec::new())).collect();
    for (key, mark) in all {
        if let Some((_, own)) = sorted.iter_mut().find(|((known, ..), _)| *known == key) {
            own.push(mark);
        }
    }
    sorted.retain(|(_, own)| !own.is_empty());
    let series = |((_, name, colour, shape), own): (Sort<K>, Vec<T>)| Series {
        name: name.to_owned(),
        colour,
        shape,
        marks: marks(own),
    };
    sorted.into_iter().map(series).collect()
}

/// The series that have marks; nothing where none has.
pub(super) fn with_marks(mut series: Vec<Series>) -> Option<Vec<Series>> {
    series.retain(|one| !one.marks.is_empty());
    (!series.is_empty()).then_some(series)
}

/// Rows of bars from zero on, up to so many times the longest: intervals of few trials may be endless,
/// bars are to be seen all the same.
pub(super) fn of_bars(
    rows: Axis,
    (title, unit): (String, Unit),
    times: f64,
    series: Vec<Series>,
) -> Option<Figure> {
    let series = with_marks(series)?;
    let values = || series.iter().flat_map(|one| one.marks.points()).map(|bar| bar.value);
    let ends = [values().fold(0.0, f64::min), values().fold(0.0, f64::max)];
    let value =
        Axis::new(title, Scale::Linear, unit).from_zero().within(ends.map(|end| times * end));
    let notes = clipped(&series, &value).into_iter().collect();
    Some(Figure { notes, ..Figure::lying(rows, value, series) })
}

/// The axis of values with their least and most: from zero on, or by factors where they differ by more
/// than can be seen so.
pub(super) fn as_wide(title: &str, unit: Unit, series: &[Series]) -> (Axis, [f64; 2]) {
    let values = || series.iter().flat_map(|one| one.marks.points()).map(|point| point.value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let axis = if least > 0.0 && most / least > WIDE {
        Axis::new(title, Scale::Log10, unit)
    } else {
        Axis::new(title, Scale::Linear, unit).from_zero()
    };
    (axis, [least, most])
}

/// A stretch of seconds and, of so many at its beginning, the ramp. `name` is what it is of.
pub(super) fn with_ramp(whole: Span, name: &str, ramp_s: f64) -> Vec<Span> {
    let ramp = Span {
        to: whole.from + ramp_s.min(whole.to - whole.from),
        kind: SpanKind::Ramp,
        text: format!("{name}: ramp, not counted"),
        label: String::new(),
        ..whole
    };
    [whole, ramp].into_iter().filter(|span| span.to > span.from).collect()
}

/// Each value once, in the order in which it comes first.
pub(super) fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut known = Vec::new();
    for one in all {
        if !known.contains(&one) {
            known.push(one);
        }
    }
    known
}

/// What has a key in common together, in the order in which that comes first.
pub(super) fn parted<T: Copy, K: PartialEq>(
    all: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> K,
) -> Vec<(K, Vec<T>)> {
    let mut parts: Vec<(K, Vec<T>)> = Vec::new();
    for one in all {
        let own = key(one);
        match parts.iter_mut().find(|(known, _)| *known == own) {
            Some((_, part)) => part.push(one),
            None => parts.push((own, vec![one])),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_sorted_by_the_legend_and_sorts_without_any_have_no_key() {
        let sorts = [2, 1, 0].map(|of| (of, ["a", "b", "c"][of], Colour::Series(of), of));
        // What the legend does not know is not drawn.
        let marks = [(0, 5), (2, 6), (0, 7), (9, 8)];
        let points = |own: Vec<i32>| Marks::Line(own.into_iter().map(at).collect());
        let series = by_sort(sorts, marks, points);
        let told: Vec<(&str, usize, Vec<f64>)> = series.iter().map(told).collect();
        assert_eq!(told, [("c", 2, vec![6.0]), ("a", 0, vec![5.0, 7.0])]);
        assert!(by_sort([(1, "b", Colour::Same, 0)], [(0, 5)], points).is_empty());
    }

    fn at(place: i32) -> crate::figure::Point {
        super::super::words::point(f64::from(place), &Unit::Number, "", 1.0, None)
    }

    fn told(series: &Series) -> (&str, usize, Vec<f64>) {
        let places = series.marks.points().iter().map(|point| point.at).collect();
        (series.name.as_str(), series.shape, places)
    }

    #[test]
    fn nothing_is_drawn_of_series_without_marks() {
        let series = || Series::each([("none", vec![]), ("one", vec![at(1)])], Marks::Bars);
        let kept = with_marks(series()).unwrap();
        // Its colour is still that of its place.
        assert_eq!((kept.len(), kept[0].colour), (1, Colour::Series(1)));
        assert_eq!(with_marks(series().drain(..1).collect()), None);
        let axis = || Rows::default().axis();
        assert_eq!(of_bars(axis(), (String::new(), Unit::Number), 1.6, Vec::new()), None);
        let figure = of_bars(axis(), (String::new(), Unit::Number), 1.6, series()).unwrap();
        assert_eq!((figure.value.limits, figure.notes.len()), (Some([0.0, 1.6]), 0));
    }

    #[test]
    fn values_far_apart_go_by_factors() {
        let drawn = |most: f64| {
            let values = [1.0, most].map(|value| crate::figure::Point { value, ..at(0) });
            as_wide("", Unit::Number, &Series::each([("", values.to_vec())], Marks::Points))
        };
        let ((near, ends), (far, _)) = (drawn(30.0), drawn(31.0));
        assert_eq!((&near.scale, near.from_zero, ends), (&Scale::Linear, true, [1.0, 30.0]));
        assert_eq!((&far.scale, far.from_zero), (&Scale::Log10, false));
    }

    #[test]
    fn headings_take_a_place_but_have_no_marks() {
        let mut rows = Rows::default();
        rows.heading("writes");
        assert_eq!([rows.add("ext4"), rows.add("xfs")], [1.0, 2.0]);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows.axis().text(1.0), "ext4");
    }

    #[test]
    fn a_ramp_is_no_longer_than_its_stretch() {
        let (from, to, kind) = (2.0, 5.0, SpanKind::Alternate);
        let whole = Span { from, to, kind, text: String::new(), label: "up".to_owned() };
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
