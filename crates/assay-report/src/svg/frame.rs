//! Layout of a figure: legend, plot, space for the labels of its axes.

use super::pen::{shortened, width_of, wrapped};
use super::scale::{Ruler, Tick};
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Layout, Look, Mark, Slot, SpanKind};

/// Figures up to this width have no space for long names next to a plot.
const NARROW: f64 = 500.0;
/// Maximum width of names next to the plot of a narrow figure; longer names are above their marks.
const NARROW_NAMES: f64 = 100.0;
/// Height of the plot of an upright figure.
const PLOT: f64 = 280.0;
/// Heights of a row: of a table, of other marks, and of marks in figures with more than `MANY_ROWS`.
const TABLE_ROW: f64 = 30.0;
const ROW: f64 = 22.0;
const DENSE_ROW: f64 = 17.0;
const MANY_ROWS: f64 = 40.0;
/// Height of a bar, and space around the bars of a row.
const BAR: f64 = 13.0;
const BAR_SPACE: f64 = 10.0;
/// Space above the plot: with the labels of spans, or without any.
const SPAN_LABELS: f64 = 14.0;
const NO_LABELS: f64 = 6.0;
/// Height of a line of text.
pub(super) const LINE: f64 = 18.0;
const EDGE: f64 = 8.0;
/// Maximum width of names next to a plot.
pub(super) const NAMES: f64 = 250.0;
/// Maximum length of a slanted name below a plot.
pub(super) const ASLANT: f64 = 150.0;
pub(super) const BOLD: f64 = 1.15;
/// Width of a legend key, without its name.
const SWATCH: f64 = 26.0;
const KEY_GAP: f64 = 12.0;
const KEY_ROW: f64 = 20.0;

#[derive(Clone)]
pub(super) struct LegendKey {
    pub of: KeyOf,
    pub name: String,
    pub x: f64,
    pub y: f64,
    pub width: f64,
}

#[derive(Clone, Copy)]
pub(super) enum KeyOf {
    Series(usize),
    Guide { line: bool },
    Span(SpanKind),
    Look(Look),
}

#[derive(Clone)]
pub(super) struct Frame<'a> {
    pub figure: &'a Figure,
    pub width: f64,
    /// Height of a name above its mark; 0 if names are next to the plot.
    pub name_height: f64,
    pub along: Ruler<'a>,
    pub value: Ruler<'a>,
    /// Left, top, right and bottom of the plot.
    pub plot: [f64; 4],
    pub height: f64,
    /// Baseline of the last line of the title above the plot.
    pub heading: f64,
    pub keys: Vec<LegendKey>,
    pub aslant: bool,
}

impl<'a> Frame<'a> {
    /// Lays a figure out from `top` down: legend, title of the side axis, plot, labels and title of the axis below.
    pub fn new(figure: &'a Figure, top: f64, width: f64) -> Self {
        let (keys, legend_end) = lay_out_legend(figure, top, width);
        let upright = figure.layout == Layout::Upright;
        let (side, below) =
            if upright { (&figure.value, &figure.along) } else { (&figure.along, &figure.value) };
        // The title of the side axis is above the plot.
        let title_lines = if side.title.is_empty() { 0 } else { axis_title(side, width).len() };
        let title_end = legend_end + LINE * title_lines as f64;
        let plot_top = title_end + if figure.spans.is_empty() { NO_LABELS } else { SPAN_LABELS };
        let name_height = name_height(figure, width);
        let height = plot_height(figure, name_height);
        let title_below = LINE * axis_title(below, width).len() as f64;
        let (side_extent, below_extent) = if upright {
            (figure.extent_of_values(), figure.extent_along())
        } else {
            (figure.extent_along(), figure.extent_of_values())
        };
        // Names begin at the top, values at the bottom.
        let (top, bottom) = (plot_top, plot_top + height);
        let runs_down = matches!(side.scale, AxisScale::Category(_)) || !upright;
        let ends = if runs_down { [top, bottom] } else { [bottom, top] };
        let side = Ruler::new(side, side_extent, ends);
        // Names above their marks need no space at the left. The plot has at least a third of the width.
        let left = EDGE + if name_height > 0.0 { 4.0 } else { side_room(&side, width) };
        let right = (width - EDGE - right_room(figure)).max(left + width / 3.0);
        let below = Ruler::new(below, below_extent, [left, right]);
        let aslant = is_aslant(&below);
        let labels_below = if aslant { height_aslant(&below) } else { LINE };
        let plot = [left, top, right, bottom];
        let (along, value) = if upright { (below, side) } else { (side, below) };
        // Marks move down by half of the name above them, into the rest of their slot.
        let along = along.over(along.px.map(|px| px + name_height / 2.0));
        Self {
            figure,
            width,
            name_height,
            along,
            value,
            plot,
            heading: title_end - 4.0,
            keys,
            aslant,
            height: bottom + labels_below + title_below + EDGE,
        }
    }

    /// The same frame with its marks shifted along the axis.
    pub fn shifted(&self, pixels: f64) -> Self {
        let along = self.along.over(self.along.px.map(|px| px + pixels));
        Self { along, ..self.clone() }
    }

    /// Pixel position of a place along the axis and a value.
    pub fn place(&self, along: f64, value: f64) -> [f64; 2] {
        let slot = along.round();
        // A name takes the upper part of its slot, so offsets within the slot shrink.
        let along = if self.name_height > 0.0 {
            self.along.at(slot) + (along - slot) * (self.along.slot() - self.name_height)
        } else {
            self.along.at(along)
        };
        self.point(along, self.value.at(value))
    }

    /// The pixels along the axis and of a value as x and y.
    pub fn point(&self, along: f64, value: f64) -> [f64; 2] {
        if self.figure.layout == Layout::Upright { [along, value] } else { [value, along] }
    }

    pub fn ticks_below(&self, ruler: &Ruler<'_>) -> Vec<Tick> {
        let wide = (ruler.px[1] - ruler.px[0]).abs();
        let ticks = ruler.ticks((wide / 60.0).clamp(3.0, 12.0));
        let room = |tick: &Tick| if self.aslant { 14.0 } else { width_of(&tick.text) + 10.0 };
        thin_out(ticks, room)
    }

    pub fn ticks_aside(ruler: &Ruler<'_>) -> Vec<Tick> {
        let tall = (ruler.px[1] - ruler.px[0]).abs();
        thin_out(ruler.ticks((tall / 40.0).clamp(3.0, 8.0)), |_| 13.0)
    }

    /// The axis at the left of the plot, and the one below it.
    pub fn side_and_below(&self) -> (&Ruler<'a>, &Ruler<'a>) {
        let upright = self.figure.layout == Layout::Upright;
        if upright { (&self.value, &self.along) } else { (&self.along, &self.value) }
    }
}

/// Keeps every tick, or every second, third and so on, until adjacent labels fit; `room` is the space of a label.
fn thin_out(ticks: Vec<Tick>, room: impl Fn(&Tick) -> f64) -> Vec<Tick> {
    let fits = |stride: usize| {
        let candidates: Vec<&Tick> = ticks.iter().step_by(stride).collect();
        let is_free = |pair: &[&Tick]| {
            (pair[1].px - pair[0].px).abs() >= f64::midpoint(room(pair[0]), room(pair[1]))
        };
        candidates.windows(2).all(is_free)
    };
    let stride = (1..=ticks.len().max(1)).find(|stride| fits(*stride)).unwrap_or(1);
    ticks.into_iter().step_by(stride).collect()
}

pub(super) fn axis_title(axis: &Axis, width: f64) -> Vec<String> {
    let lines = wrapped(&axis.title, width - 16.0);
    if lines.is_empty() { vec![String::new()] } else { lines }
}

/// Height of a name above its mark, for horizontal figures with long names; otherwise 0.
fn name_height(figure: &Figure, width: f64) -> f64 {
    let AxisScale::Category(slots) = &figure.along.scale else { return 0.0 };
    let limit = if width <= NARROW { NARROW_NAMES } else { NAMES };
    let is_long = |slot: &Slot| !slot.heading && width_of(&slot.name) > limit;
    let is_above = figure.layout == Layout::Lying && slots.iter().any(is_long);
    if is_above { LINE - 2.0 } else { 0.0 }
}

/// Height of the plot: the same for all upright figures except tables; else enough for each row with its name and bars.
fn plot_height(figure: &Figure, name_height: f64) -> f64 {
    let slots = |axis: &Axis| match &axis.scale {
        AxisScale::Category(slots) => slots.len().max(1) as f64,
        _ => 1.0,
    };
    let has_bars = figure.series.iter().any(|series| series.mark == Mark::Bars);
    // Bars of several series share a slot (row).
    let bars = if has_bars { figure.bars_beside(0)[0] } else { 0 };
    match figure.layout {
        Layout::Upright if matches!(figure.value.scale, AxisScale::Category(_)) => {
            slots(&figure.value) * TABLE_ROW
        }
        Layout::Upright => PLOT,
        Layout::Lying if bars > 0 => {
            slots(&figure.along) * (BAR * bars as f64 + BAR_SPACE + name_height)
        }
        Layout::Lying => {
            let row = if slots(&figure.along) > MANY_ROWS { DENSE_ROW } else { ROW };
            slots(&figure.along) * (name_height + row)
        }
    }
}

/// Width of the labels at the left of the plot, at least 24 pixels, and 10 pixels between them and the axis.
fn side_room(side: &Ruler<'_>, width: f64) -> f64 {
    let tick_width = |tick: Tick| {
        let bold = if side.is_heading(&tick) { BOLD } else { 1.0 };
        bold * width_of(&tick.text)
    };
    let widths = Frame::ticks_aside(side).into_iter().map(tick_width);
    let most = if width <= NARROW { width / 2.5 } else { NAMES };
    widths.fold(24.0, f64::max).min(most) + 10.0
}

/// Width of the labels at the ends of bars, or of half the last tick's label.
fn right_room(figure: &Figure) -> f64 {
    let bars = figure.series.iter().filter(|series| series.mark == Mark::Bars);
    let points = bars.flat_map(|series| &series.points);
    let widths = points.filter_map(|point| point.label.as_deref()).map(width_of);
    widths.fold(28.0, |most, width| most.max(width + 10.0))
}

fn is_aslant(below: &Ruler<'_>) -> bool {
    let AxisScale::Category(slots) = &below.axis.scale else { return false };
    slots.iter().any(|slot| width_of(&slot.name) + 8.0 > below.slot())
}

/// Height of slanted labels: 0.58 of their length at 35 degrees, and of the letters.
fn height_aslant(below: &Ruler<'_>) -> f64 {
    let longest = below.ticks(0.0).iter().map(|tick| width_of(&tick.text)).fold(0.0, f64::max);
    longest.min(ASLANT) * 0.58 + 16.0
}

pub(super) fn name_room(width: f64) -> f64 {
    width - 2.0 * EDGE - SWATCH - 12.0
}

/// Places the legend keys in rows from `top` on; returns them with the lower end of the legend.
fn lay_out_legend(figure: &Figure, top: f64, width: f64) -> (Vec<LegendKey>, f64) {
    let mut keys: Vec<LegendKey> = Vec::new();
    let (mut x, mut y) = (EDGE, top + 2.0);
    for (of, name) in legend_entries(figure) {
        let shown = shortened(&name, name_room(width));
        let key_width = SWATCH + width_of(&shown) + KEY_GAP;
        if x + key_width > width - EDGE && x > EDGE {
            (x, y) = (EDGE, y + KEY_ROW);
        }
        keys.push(LegendKey { of, name, x, y, width: key_width });
        x += key_width;
    }
    let bottom = if keys.is_empty() { top } else { y + KEY_ROW };
    (keys, bottom)
}

/// The marks that need a key in the legend, with their names.
fn legend_entries(figure: &Figure) -> Vec<(KeyOf, String)> {
    let mut keys = Vec::new();
    let named = figure.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
    keys.extend(named.map(|(index, series)| (KeyOf::Series(index), series.name.clone())));
    for guide in figure.guides.iter().filter(|guide| !guide.name.is_empty()) {
        keys.push((KeyOf::Guide { line: guide.from == guide.to }, guide.name.clone()));
    }
    for (kind, name) in [(SpanKind::Ramp, "ramp, not counted"), (SpanKind::Disturbed, "disturbed")]
    {
        if figure.spans.iter().any(|span| span.kind == kind) {
            keys.push((KeyOf::Span(kind), name.to_owned()));
        }
    }
    // Looks of single points have a key if the remark of any such point contains the reason.
    let has_remark = |look: Look, reason: &str| {
        let mut points = figure.points().filter(|point| point.look == look);
        points.any(|point| point.remark.as_ref().is_some_and(|remark| remark.contains(reason)))
    };
    let mut hollow = vec!["suspect", "no CI"];
    hollow.retain(|reason| has_remark(Look::Hollow, reason));
    if !hollow.is_empty() {
        keys.push((KeyOf::Look(Look::Hollow), hollow.join(" or ")));
    }
    if has_remark(Look::Crossed, "invalid") {
        keys.push((KeyOf::Look(Look::Crossed), "invalid".to_owned()));
    }
    keys
}
