//! A figure as data: axes with units, marks, and the text of each mark. Renderers draw it and print it as a table.

use serde::{Deserialize, Serialize};

use super::Unit;
use crate::quantity::units::show;

/// A chart with all that a drawing, a screen reader and a table need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// Stable name, safe as an id in a page: lower-case letters, digits and `-`.
    pub id: String,
    /// Title with the unit.
    pub title: String,
    /// How to read it, in sentences.
    pub description: String,
    pub layout: Layout,
    /// The category or time axis: arms, seconds, levels.
    pub along: Axis,
    pub value: Axis,
    /// Series, in the order of the legend.
    pub series: Vec<Series>,
    pub spans: Vec<AxisSpan>,
    /// Reference values.
    pub guides: Vec<Guide>,
    /// What the ends of intervals are: `95% CI`.
    pub interval: String,
    /// Remarks, one sentence each, such as omitted data.
    pub notes: Vec<String>,
    /// Its workload, if it has one.
    pub workload: Option<String>,
    /// Its metric, if it shows one of a workload.
    pub metric: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Layout {
    /// Values go up.
    Upright,
    /// Values to the right, names on the left.
    Lying,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Axis {
    pub title: String,
    pub scale: AxisScale,
    pub unit: Unit,
    /// Whether a linear axis begins at zero.
    pub from_zero: bool,
    /// Range of the axis; intervals beyond it have open ends.
    pub limits: Option<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AxisScale {
    /// Equal steps.
    Linear,
    /// Equal factors, steps of ten.
    Log10,
    /// Equal factors, steps of two.
    Log2,
    /// Quantiles (0 to 1) on the scale `1 - 10^-n`: each nine takes the same space.
    Percentile,
    /// Names, the first at 0.
    Category(Vec<Slot>),
    Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slot {
    pub name: String,
    /// A heading over the names that follow; it has no marks.
    pub heading: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Name; may be empty for a single series.
    pub name: String,
    pub colour: Colour,
    /// Shape of its points and pattern of its line.
    pub shape: usize,
    pub mark: Mark,
    pub points: Vec<Point>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Colour {
    /// One of eight distinguishable colors.
    Series(usize),
    /// One of eight steps from few to many.
    Heat(usize),
    /// One of three steps of better.
    Better(usize),
    /// One of three steps of worse.
    Worse(usize),
    Same,
}

pub const HEAT_STEPS: usize = 8;
pub const SERIES_COLOURS: usize = 8;
const INTERVAL: &str = "95% CI";

/// Lines of one figure up to which intervals are bands; more would hide each other.
pub const MOST_BANDS: usize = 3;

/// What the points of a series look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Mark {
    Points,
    /// Points joined by a line, intervals as a band; as strokes for more than [`MOST_BANDS`] series.
    Line,
    /// A line that holds each value until the next one.
    Steps,
    /// Bars from the beginning of the axis.
    Bars,
    /// Rectangles of a plane, such as segments of stacked bars.
    Tiles,
    /// Rectangles of a table, with their labels.
    Cells,
}

impl Mark {
    /// Returns whether it is a rectangle with two ends on both axes.
    pub fn is_tile(self) -> bool {
        matches!(self, Self::Tiles | Self::Cells)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Place along the axis: the number of the name on an axis of names.
    pub at: f64,
    pub value: f64,
    /// Where a tile ends along the axis and on the axis of values.
    pub end: Option<[f64; 2]>,
    pub interval: Option<[f64; 2]>,
    pub look: Look,
    /// The text of the mark, in one line.
    pub text: String,
    /// What is printed next to a bar or in a tile.
    pub label: Option<String>,
    pub remark: Option<String>,
    /// Whether a line joins it with the previous one.
    pub joined: bool,
}

/// How a mark is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Look {
    #[default]
    Solid,
    /// Suspect, or excluded by design.
    Hollow,
    /// Invalid or disturbed.
    Crossed,
    Ringed,
    /// A different kind, such as emulated.
    Hatched,
}

/// A stretch of the axis along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisSpan {
    pub from: f64,
    pub to: f64,
    pub kind: SpanKind,
    /// Description in one line.
    pub text: String,
    /// Printed above it if there is space.
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SpanKind {
    /// Every second of equal parts.
    Alternate,
    Ramp,
    Disturbed,
}

/// A reference value or range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guide {
    pub from: f64,
    /// End; equal to the start for a line.
    pub to: f64,
    pub name: String,
}

impl Axis {
    pub fn new(title: impl Into<String>, scale: AxisScale, unit: Unit) -> Self {
        Self { title: title.into(), scale, unit, from_zero: false, limits: None }
    }

    pub fn names(title: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        let slots = names.into_iter().map(|name| Slot { name, heading: false });
        Self::new(title, AxisScale::Category(slots.collect()), Unit::Number)
    }

    #[must_use]
    pub fn from_zero(self) -> Self {
        Self { from_zero: true, ..self }
    }

    /// Limits the axis to a range.
    #[must_use]
    pub fn within(self, limits: [f64; 2]) -> Self {
        Self { limits: Some(limits), ..self }
    }

    /// Formats a position on the axis: the name of a slot, or a value with its unit.
    pub fn text(&self, value: f64) -> String {
        match &self.scale {
            AxisScale::Category(slots) => {
                let slot = slots.get(value.round().max(0.0) as usize);
                slot.map_or_else(String::new, |slot| slot.name.clone())
            }
            _ => self.unit.text(value),
        }
    }
}

impl Point {
    /// A point with its text: `ext4, threads 32: 219 MiB/s (208 to 230)`.
    pub fn new(at: f64, unit: Unit, name: &str, value: f64, interval: Option<[f64; 2]>) -> Self {
        let interval = interval.filter(|ends| ends.iter().all(|end| end.is_finite()));
        let [shown, ends] = unit.with_interval(value, interval);
        let ends = if interval.is_some() { format!(" ({ends})") } else { String::new() };
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let text = format!("{name}{shown}{ends}");
        Self { at, value, interval, text, joined: true, ..Self::default() }
    }

    #[must_use]
    pub fn marked(self, look: Look, why: &str) -> Self {
        Self { look, text: format!("{}; {why}", self.text), ..self.remarked(why) }
    }

    #[must_use]
    pub fn remarked(self, why: &str) -> Self {
        let remark = match self.remark {
            Some(known) => format!("{known}; {why}"),
            None => why.to_owned(),
        };
        Self { remark: Some(remark), ..self }
    }

    /// Both ends of a tile on the two axes; for other points both ends are equal.
    pub fn ends(&self) -> [[f64; 2]; 2] {
        let [along, value] = self.end.unwrap_or([self.at, self.value]);
        [[self.at, along], [self.value, value]]
    }
}

impl Series {
    /// A series with the color of its place in the figure.
    pub fn new(index: usize, name: impl Into<String>, mark: Mark, points: Vec<Point>) -> Self {
        let colour = Colour::Series(index % SERIES_COLOURS);
        Self { name: name.into(), colour, shape: index, mark, points }
    }

    /// One series per name, with the colors of their places.
    pub fn each<N: Into<String>>(
        named: impl IntoIterator<Item = (N, Vec<Point>)>,
        mark: Mark,
    ) -> Vec<Self> {
        let named = named.into_iter().enumerate();
        named.map(|(index, (name, points))| Self::new(index, name, mark, points)).collect()
    }
}

/// Returns the series that have points; `None` if no series has any.
pub fn with_marks(mut series: Vec<Series>) -> Option<Vec<Series>> {
    series.retain(|one| !one.points.is_empty());
    (!series.is_empty()).then_some(series)
}

impl Guide {
    pub fn line(value: f64, name: String) -> Self {
        Self { from: value, to: value, name }
    }
}

impl Figure {
    /// A figure with vertical values. The caller adds title and notes.
    pub fn upright(along: Axis, value: Axis, series: Vec<Series>) -> Self {
        Self {
            id: String::new(),
            title: String::new(),
            description: String::new(),
            layout: Layout::Upright,
            along,
            value,
            series,
            spans: Vec::new(),
            guides: Vec::new(),
            interval: INTERVAL.to_owned(),
            notes: Vec::new(),
            workload: None,
            metric: None,
        }
    }

    /// The same with values going to the right.
    pub fn lying(along: Axis, value: Axis, series: Vec<Series>) -> Self {
        Self { layout: Layout::Lying, ..Self::upright(along, value, series) }
    }

    /// Sets ID, title and description, which name the kind of figure and its workload.
    #[must_use]
    pub fn of_workload(self, kind: &str, workload: &str, title: &str, description: &str) -> Self {
        Self {
            id: id_of(&[kind, workload]),
            title: format!("{}: {title}", short(workload)),
            description: description.to_owned(),
            workload: Some(workload.to_owned()),
            ..self
        }
    }

    pub fn marks(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    /// The number of slots that bars at one position share, one per series, and the slot of the series at `index`;
    /// `[1, 0]`, the full width, if no two bars have the same position.
    pub fn bars_beside(&self, index: usize) -> [usize; 2] {
        let is_bars = |series: &&Series| series.mark == Mark::Bars;
        let count = |part: &[Series]| part.iter().filter(is_bars).count();
        let mut positions: Vec<f64> = Vec::new();
        for point in self.series.iter().filter(is_bars).flat_map(|one| &one.points) {
            if positions.contains(&point.at) {
                return [count(&self.series), count(&self.series[..index])];
            }
            positions.push(point.at);
        }
        [1, 0]
    }

    pub fn extent_along(&self) -> Option<[f64; 2]> {
        let points = self.points().flat_map(|point| point.ends()[0]);
        let spans = self.spans.iter().flat_map(|span| [span.from, span.to]);
        extent(points.chain(spans), self.along.limits)
    }

    /// Smallest and largest value, intervals and guides included.
    pub fn extent_of_values(&self) -> Option<[f64; 2]> {
        let points = self.points().flat_map(|point| point.ends()[1]);
        let intervals = self.points().filter_map(|point| point.interval).flatten();
        let guides = self.guides.iter().flat_map(|guide| [guide.from, guide.to]);
        extent(points.chain(intervals).chain(guides), self.value.limits)
    }
}

fn extent(values: impl Iterator<Item = f64>, limits: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let within = |value: f64| limits.map_or(value, |[least, most]| value.max(least).min(most));
    let finite = values.filter(|value| value.is_finite()).map(within);
    finite.fold(None, |known: Option<[f64; 2]>, value| {
        Some(known.map_or([value, value], |[least, most]| [least.min(value), most.max(value)]))
    })
}

const LONGEST_ID: usize = 60;

/// Returns an ID from arbitrary words: other characters than letters and digits become `-`.
pub fn id_of(words: &[&str]) -> String {
    let mut id = String::new();
    for letter in words.join("-").chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            id.push(letter);
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
        if id.len() >= LONGEST_ID {
            break;
        }
    }
    id.trim_end_matches('-').to_owned()
}

/// Characters of a name; a longer name loses its middle.
const LONGEST_NAME: usize = 60;

/// A name from elsewhere, cleaned; a long one without its middle.
pub fn short(name: &str) -> String {
    if name.chars().nth(LONGEST_NAME).is_none() {
        return show::clean(name);
    }
    let begin = name.chars().take(LONGEST_NAME / 2);
    let end: Vec<char> = name.chars().rev().take(LONGEST_NAME / 2).collect();
    let shortened: String = begin.chain(['\u{2026}']).chain(end.into_iter().rev()).collect();
    show::clean(&shortened)
}

pub fn joined(texts: &[&str]) -> String {
    texts.iter().copied().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
}
const MOST_STEPS: usize = 120;

/// A line with a value per step, or bars with a value per name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedValues {
    pub name: String,
    /// Values in the order of the steps or of the names.
    pub values: Vec<f64>,
}

/// Lines over steps counted from 1, such as rounds. Thins out many steps.
pub fn lines_over_steps(step: &str, value: Axis, lines: &[NamedValues]) -> Option<Figure> {
    let stride = lines.iter().map(|line| line.values.len()).max()?.div_ceil(MOST_STEPS).max(1);
    let points = |line: &NamedValues| {
        let mut points = Vec::new();
        for (index, number) in line.values.iter().enumerate().step_by(stride) {
            let name = joined(&[&line.name, &format!("{step} {}", index + 1)]);
            let point = Point::new((index + 1) as f64, value.unit, &name, *number, None);
            points.push(Point { joined: index > 0, ..point });
        }
        (line.name.clone(), points)
    };
    let series = with_marks(Series::each(lines.iter().map(points), Mark::Line))?;
    let along = Axis::new(step, AxisScale::Linear, Unit::Number);
    let mut figure = Figure::upright(along, value, series);
    if stride > 1 {
        figure.notes.push(format!("Showing 1 of every {stride} {step}s."));
    }
    Some(figure)
}

/// Lines over time, with points at the centers of steps of `step_s` seconds; `None` without a value above zero.
pub fn lines_over_time(step_s: f64, value: Axis, lines: &[NamedValues]) -> Option<Figure> {
    if !lines.iter().flat_map(|line| &line.values).any(|number| *number > 0.0) {
        return None;
    }
    let points = |line: &NamedValues| {
        let name = short(&line.name);
        let mut points = Vec::new();
        for (index, number) in line.values.iter().take(MOST_STEPS).enumerate() {
            let middle = (index as f64 + 0.5) * step_s;
            let text = joined(&[&name, &Unit::Seconds.text(middle)]);
            let point = Point::new(middle, value.unit, &text, *number, None);
            points.push(Point { joined: index > 0, ..point });
        }
        (name, points)
    };
    let series = with_marks(Series::each(lines.iter().map(points), Mark::Line))?;
    // From zero: a recording may be shorter than a second.
    let along = Axis::new("time", AxisScale::Linear, Unit::Seconds).from_zero();
    Some(Figure::upright(along, value, series))
}

/// Bars of each group next to those of the others, a row per name; a value of zero has no bar.
pub fn grouped_bars(
    along: &str,
    names: &[String],
    value: Axis,
    groups: &[NamedValues],
) -> Option<Figure> {
    let points = |group: &NamedValues| {
        let mut points = Vec::new();
        for (index, (name, number)) in names.iter().zip(&group.values).enumerate() {
            if *number > 0.0 {
                let text = joined(&[&short(&group.name), &short(name)]);
                points.push(Point::new(index as f64, value.unit, &text, *number, None));
            }
        }
        (short(&group.name), points)
    };
    let series = with_marks(Series::each(groups.iter().map(points), Mark::Bars))?;
    let along = Axis::names(along, names.iter().map(|name| short(name)));
    Some(Figure::lying(along, value, series))
}

#[derive(Clone, Debug, PartialEq)]
pub struct StackedBar {
    pub name: String,
    /// The length of each segment; `None` if unknown.
    pub segments: Vec<Option<f64>>,
}

/// Half the width of a bar whose rows are 1 apart.
const HALF_BAR: f64 = 0.4;

/// Bars of segments that follow each other, a series per segment. `length_heading` is the heading of the labels.
pub fn stacked_bars(
    length_heading: &str,
    segments: &[&str],
    value: Axis,
    stacks: &[StackedBar],
) -> Option<Figure> {
    let mut row_ends = vec![0.0; stacks.len()];
    let mut series = Vec::new();
    for (index, name) in segments.iter().enumerate() {
        let mut points = Vec::new();
        for (row, stack) in stacks.iter().enumerate() {
            let Some(length) = stack.segments.get(index).copied().flatten() else { continue };
            let (middle, from) = (row as f64, row_ends[row]);
            row_ends[row] = from + length;
            let label = value.unit.alone(length);
            points.push(Point {
                at: middle - HALF_BAR,
                value: from,
                end: Some([middle + HALF_BAR, row_ends[row]]),
                text: format!("{}, {name}: {label}", stack.name),
                label: Some(label),
                ..Point::default()
            });
        }
        series.push(Series::new(index, *name, Mark::Tiles, points));
    }
    let series = with_marks(series)?;
    let along = Axis::names("", stacks.iter().map(|stack| stack.name.clone()));
    Some(Figure { interval: length_heading.to_owned(), ..Figure::lying(along, value, series) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value() -> Axis {
        Axis::new("rate", AxisScale::Linear, Unit::Number).from_zero()
    }

    #[test]
    fn long_lines_are_thinned_out() {
        let lines = |count: usize| {
            let line = NamedValues { name: String::new(), values: vec![1.0; count] };
            lines_over_steps("round", value(), &[line])
        };
        let found = lines(1440).unwrap();
        assert_eq!(found.marks(), 120);
        assert_eq!(found.notes, ["Showing 1 of every 12 rounds."]);
        assert_eq!(lines(0), None);
        let few = lines(3).unwrap();
        let places: Vec<(f64, bool)> = few.points().map(|one| (one.at, one.joined)).collect();
        assert_eq!(places, [(1.0, false), (2.0, true), (3.0, true)]);
        assert_eq!((few.notes.len(), few.series[0].points[0].text.as_str()), (0, "round 1: 1"));
    }

    #[test]
    fn segments_follow_each_other() {
        let stack = |segments: [Option<f64>; 2]| StackedBar {
            name: "row".to_owned(),
            segments: segments.to_vec(),
        };
        let rows = [stack([Some(2.0), Some(3.0)]), stack([None, Some(1.0)])];
        let figure = stacked_bars("time", &["kernel", "userspace"], value(), &rows).unwrap();
        let [kernel, userspace] = [0, 1].map(|index| &figure.series[index].points);
        assert_eq!((kernel.len(), userspace.len()), (1, 2));
        assert_eq!(kernel[0].ends(), [[-0.4, 0.4], [0.0, 2.0]]);
        assert_eq!(userspace[0].ends(), [[-0.4, 0.4], [2.0, 5.0]]);
        assert_eq!(userspace[1].ends()[1], [0.0, 1.0]);
        assert_eq!(kernel[0].text, "row, kernel: 2");
        assert_eq!(stacked_bars("time", &["kernel"], value(), &[stack([None, None])]), None);
    }

    #[test]
    fn series_without_points_are_not_drawn() {
        let point = || Point::new(1.0, Unit::Number, "", 1.0, None);
        let series = || Series::each([("none", vec![]), ("one", vec![point()])], Mark::Bars);
        let kept = with_marks(series()).unwrap();
        // It still has the color of its place.
        assert_eq!((kept.len(), kept[0].colour), (1, Colour::Series(1)));
        assert_eq!(with_marks(series().drain(..1).collect()), None);
    }
}
