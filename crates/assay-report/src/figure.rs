//! A figure as data: what is drawn in which units, and what each mark says. It knows nothing of
//! pixels and colours; [`super::svg`] draws it, and [`Figure::table`] is the same in words.

mod table;
mod unit;

pub use unit::Unit;

/// A chart with everything that a reader of it, a listener and a table need.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Stable name, safe as an id in a page: lower-case letters, digits and `-`.
    pub id: String,
    /// What it shows, with the unit.
    pub title: String,
    /// How it is read, in sentences.
    pub description: String,
    pub layout: Layout,
    /// The axis that marks stand along: arms, seconds, levels.
    pub along: Axis,
    pub value: Axis,
    /// What is drawn, in the order of the legend.
    pub series: Vec<Series>,
    /// Stretches of the axis along which something else is to be told.
    pub spans: Vec<Span>,
    /// Values that others are held against.
    pub guides: Vec<Guide>,
    /// What the ends of intervals are: `95% CI`.
    pub interval: String,
    /// What was left out or needs to be known, a sentence each.
    pub notes: Vec<String>,
    /// The workload that it is of, where it is of one.
    pub workload: Option<String>,
    /// The metric that it shows, where it is one that workloads are known by.
    pub metric: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Values go up.
    Upright,
    /// Values go to the right, names stand on the left.
    Lying,
    /// Two series with names in the middle of both: the first to the left, the second to the right.
    Mirrored,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
    pub unit: Unit,
    /// Whether a linear axis begins at zero.
    pub from_zero: bool,
    /// What it shows at most; ends of intervals beyond are drawn as open.
    pub limits: Option<[f64; 2]>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Equal steps.
    Linear,
    /// Equal factors, steps of ten.
    Log10,
    /// Equal factors, steps of two.
    Log2,
    /// Quantiles (0 to 1) by `1 - 10^-n`: each nine has the same room.
    Percentile,
    /// Names, the first at 0.
    Category(Vec<Slot>),
    Time,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    pub name: String,
    /// A heading over the names that follow; it has no marks.
    pub heading: bool,
}

/// Marks that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name; may be empty where there is only one.
    pub name: String,
    pub colour: Colour,
    /// Shape of its points and pattern of its line.
    pub shape: usize,
    pub marks: Marks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One of eight that are told apart.
    Series(usize),
    /// One of eight steps from few to many.
    Heat(usize),
    /// One of three steps of better.
    Better(usize),
    /// One of three steps of worse.
    Worse(usize),
    Same,
}

/// Steps of [`Colour::Heat`].
pub const HEAT_STEPS: usize = 8;
/// Colours of [`Colour::Series`], and shapes.
pub const SERIES_COLOURS: usize = 8;

/// What the ends of intervals are, unless a figure says otherwise.
const INTERVAL: &str = "95% CI";

/// Lines of one figure up to which intervals are bands; more would hide each other.
pub const MOST_BANDS: usize = 3;

/// What marks look like.
#[derive(Clone, Debug, PartialEq)]
pub enum Marks {
    /// Points, each with its interval.
    Points(Vec<Point>),
    /// Points joined by a line, intervals as a band; of more than [`MOST_BANDS`] as strokes.
    Line(Vec<Point>),
    /// A line that keeps each value until the next.
    Steps(Vec<Point>),
    /// Bars from the beginning of the axis.
    Bars(Vec<Point>),
    /// Rectangles of a table or of a plane.
    Tiles(Vec<Tile>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where it stands along the axis: the number of the name on an axis of names.
    pub at: f64,
    pub value: f64,
    pub interval: Option<[f64; 2]>,
    pub look: Look,
    /// All that it says, in one line.
    pub text: String,
    /// What is printed beside it.
    pub label: Option<String>,
    /// Why it is marked.
    pub remark: Option<String>,
    /// Whether a line goes to it from the one before.
    pub joined: bool,
}

/// How a mark is to be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Nothing special.
    #[default]
    Solid,
    /// With care: suspect, left out by design.
    Hollow,
    /// Not what it says it is: invalid, disturbed.
    Crossed,
    Ringed,
    /// Of another sort than the others: emulated.
    Hatched,
}

/// A rectangle that stands for an amount.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// From where to where along the axis.
    pub at: [f64; 2],
    /// From where to where on the axis of values.
    pub value: [f64; 2],
    /// The amount in a few letters.
    pub label: String,
    pub printed: bool,
    /// All that it says, in one line.
    pub text: String,
}

/// A stretch of the axis along.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub from: f64,
    pub to: f64,
    pub kind: SpanKind,
    /// What it is, in one line.
    pub text: String,
    /// Printed above it where there is room.
    pub label: String,
}

/// What a stretch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Every other one of equal parts.
    Alternate,
    /// Run, but not counted.
    Ramp,
    Disturbed,
}

/// A value, or a range of them, that others are held against.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    pub from: f64,
    /// Where it ends; the same for a line.
    pub to: f64,
    pub name: String,
}

impl Axis {
    pub fn new(title: impl Into<String>, scale: Scale, unit: Unit) -> Self {
        Self { title: title.into(), scale, unit, from_zero: false, limits: None }
    }

    pub fn names(title: impl Into<String>, names: impl IntoIterator<Item = String>) -> Self {
        let slots = names.into_iter().map(|name| Slot { name, heading: false });
        Self::new(title, Scale::Category(slots.collect()), Unit::Number)
    }

    #[must_use]
    pub fn from_zero(self) -> Self {
        Self { from_zero: true, ..self }
    }

    /// The same with no more shown than what lies between two values.
    #[must_use]
    pub fn within(self, limits: [f64; 2]) -> Self {
        Self { limits: Some(limits), ..self }
    }

    /// What stands at a place of it, in words.
    pub fn text(&self, value: f64) -> String {
        match &self.scale {
            Scale::Category(slots) => {
                let slot = slots.get(value.round().max(0.0) as usize);
                slot.map_or_else(String::new, |slot| slot.name.clone())
            }
            _ => self.unit.text(value),
        }
    }
}

impl Marks {
    /// The points, whatever they look like; none of tiles.
    pub fn points(&self) -> &[Point] {
        match self {
            Self::Points(points)
            | Self::Line(points)
            | Self::Steps(points)
            | Self::Bars(points) => points,
            Self::Tiles(_) => &[],
        }
    }

    /// The tiles; none of others.
    pub fn tiles(&self) -> &[Tile] {
        if let Self::Tiles(tiles) = self { tiles } else { &[] }
    }

    pub fn len(&self) -> usize {
        self.points().len() + self.tiles().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Series {
    /// A series told apart by its place in the figure.
    pub fn new(index: usize, name: impl Into<String>, marks: Marks) -> Self {
        Self {
            name: name.into(),
            colour: Colour::Series(index % SERIES_COLOURS),
            shape: index,
            marks,
        }
    }

    /// A series for each name, told apart by their places.
    pub fn each<N: Into<String>, T>(
        named: impl IntoIterator<Item = (N, Vec<T>)>,
        marks: impl Fn(Vec<T>) -> Marks,
    ) -> Vec<Self> {
        let named = named.into_iter().enumerate();
        named.map(|(index, (name, own))| Self::new(index, name, marks(own))).collect()
    }
}

impl Guide {
    pub fn line(value: f64, name: String) -> Self {
        Self { from: value, to: value, name }
    }
}

impl Figure {
    /// Series over axes, values going up. What it says of itself is added by its maker.
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

    pub fn marks(&self) -> usize {
        self.series.iter().map(|series| series.marks.len()).sum()
    }

    /// How many bars share a place along the axis at most, and which of them a series is, from 0.
    /// Bars that never meet have all the room.
    pub fn bars_beside(&self, index: usize) -> [usize; 2] {
        let is_bars = |series: &&Series| matches!(series.marks, Marks::Bars(_));
        let count = |part: &[Series]| part.iter().filter(is_bars).count();
        let mut known: Vec<f64> = Vec::new();
        for point in self.series.iter().filter(is_bars).flat_map(|one| one.marks.points()) {
            if known.contains(&point.at) {
                return [count(&self.series), count(&self.series[..index])];
            }
            known.push(point.at);
        }
        [1, 0]
    }

    /// Smallest and largest place along the axis.
    pub fn extent_along(&self) -> Option<[f64; 2]> {
        let all = self.series.iter().map(|series| &series.marks);
        let points = all.clone().flat_map(|marks| marks.points().iter().map(|point| point.at));
        let tiles = all.flat_map(|marks| marks.tiles().iter().flat_map(|tile| tile.at));
        let spans = self.spans.iter().flat_map(|span| [span.from, span.to]);
        extent(points.chain(tiles).chain(spans), self.along.limits)
    }

    /// Smallest and largest value, intervals and guides included.
    pub fn extent_of_values(&self) -> Option<[f64; 2]> {
        let all = self.series.iter().map(|series| &series.marks);
        let own = |point: &Point| {
            [
                Some(point.value),
                point.interval.map(|ends| ends[0]),
                point.interval.map(|ends| ends[1]),
            ]
        };
        let points = all.clone().flat_map(|marks| marks.points().iter().flat_map(own)).flatten();
        let tiles = all.flat_map(|marks| marks.tiles().iter().flat_map(|tile| tile.value));
        let guides = self.guides.iter().flat_map(|guide| [guide.from, guide.to]);
        extent(points.chain(tiles).chain(guides), self.value.limits)
    }
}

fn extent(values: impl Iterator<Item = f64>, limits: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let within = |value: f64| limits.map_or(value, |[least, most]| value.max(least).min(most));
    let finite = values.filter(|value| value.is_finite()).map(within);
    finite.fold(None, |known: Option<[f64; 2]>, value| {
        Some(known.map_or([value, value], |[least, most]| [least.min(value), most.max(value)]))
    })
}

/// Letters of an id.
const LONGEST_ID: usize = 60;

/// An id from words that may be anything: what is no letter or digit becomes `-`.
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
