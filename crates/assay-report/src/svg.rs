//! Draws figures as SVG with real text and titles of marks. Pages read the colors from classes, files from attributes.

mod frame;
mod marks;
mod pen;
mod scale;
#[cfg(test)]
mod tests;
mod theme;

use self::frame::{Frame, KeyOf, LINE, LegendKey, axis_title};
use self::pen::{Pen, px, segment, width_of};
use self::scale::{Ruler, Tick};
pub use self::theme::{RULES, Theme, variables};
use super::xml::escaped;
use assay_core::exhibit::figure::{AxisScale, Figure, Layout, Look, Mark, Point, Series, SpanKind};

/// Room for the printed title of a file.
const TITLE: f64 = 28.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum SvgMedium {
    File(Theme),
    Page,
    Phone,
}

impl SvgMedium {
    /// Pixels. A page never shows a figure smaller than this, which keeps letters at 12 pixels.
    fn width(self) -> f64 {
        match self {
            Self::File(_) => 760.0,
            Self::Page => 680.0,
            Self::Phone => 340.0,
        }
    }
}

/// The figure as two `<svg>` elements, the second for narrow windows, for a page whose style sheet has [`variables`]
/// and [`RULES`]. Only the marks of the first have titles, which the script copies.
pub fn inline(figure: &Figure) -> String {
    element(figure, SvgMedium::Page) + &element(figure, SvgMedium::Phone)
}

pub fn file(figure: &Figure, theme: Theme) -> String {
    element(figure, SvgMedium::File(theme))
}

/// The `<svg>` element of a figure. Only a file has a printed title, a background and its own style.
fn element(figure: &Figure, medium: SvgMedium) -> String {
    let theme = if let SvgMedium::File(theme) = medium { Some(theme) } else { None };
    let top = if theme.is_some() { TITLE } else { 0.0 };
    let frame = Frame::new(figure, top, medium.width());
    let mut pen = Pen { out: String::new(), theme, titles: medium != SvgMedium::Phone };
    start_element(&mut pen, &frame, medium);
    if let Some(theme) = theme {
        pen.add(&format!("<style>\nsvg{{{}}}\n{RULES}</style>\n", variables(theme)));
        pen.rect(&pen.paint("paper", "fill"), [0.0, 0.0, frame.width, frame.height], "");
        // The title is printed at 14 pixels; widths are measured at 12.
        let room = (frame.width - 16.0) / (frame::BOLD * 14.0 / 12.0);
        pen.text([8.0, 19.0], "start", "font-size=\"14\" font-weight=\"600\"", &figure.title, room);
    }
    draw(&mut pen, &frame);
    pen.add("</svg>\n");
    pen.out
}

/// Writes the start tag with the title and the description, which only screen readers read.
fn start_element(pen: &mut Pen, frame: &Frame<'_>, medium: SvgMedium) {
    let figure = frame.figure;
    let (id, width, height) = (&figure.id, px(frame.width), px(frame.height));
    let [class, suffix] = match medium {
        SvgMedium::File(_) => ["figure", ""],
        SvgMedium::Page => ["figure wide", ""],
        SvgMedium::Phone => ["figure narrow", "-narrow"],
    };
    pen.add(&format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" id=\"{id}{suffix}\" role=\"img\" \
         aria-labelledby=\"{id}{suffix}-title {id}-desc\" viewBox=\"0 0 {width} {height}\""
    ));
    if matches!(medium, SvgMedium::File(_)) {
        let ink = pen.colour("fill", "ink");
        pen.add(&format!(
            " width=\"{width}\" font-family=\"system-ui,sans-serif\" font-size=\"12\"{ink}"
        ));
    }
    pen.add(&format!(">\n<title id=\"{id}{suffix}-title\">{}</title>\n", escaped(&figure.title)));
    // The narrow figure of a page shares the description of the wide one.
    if medium != SvgMedium::Phone {
        let mut sentences = vec![figure.description.as_str()];
        sentences.extend(figure.notes.iter().map(String::as_str));
        pen.add(&format!("<desc id=\"{id}-desc\">{}</desc>\n", escaped(&sentences.join(" "))));
    }
}

/// Draws everything from back to front.
fn draw(pen: &mut Pen, frame: &Frame<'_>) {
    pen.add("<g class=\"legend\">\n");
    frame.keys.iter().for_each(|key| draw_legend_key(pen, frame, key));
    pen.add("</g>\n");
    draw_spans(pen, frame);
    draw_guide_bands(pen, frame);
    draw_axes(pen, frame);
    draw_guide_lines(pen, frame);
    for (index, series) in frame.figure.series.iter().enumerate() {
        marks::draw_series(pen, frame, index, series);
    }
}

fn draw_legend_key(pen: &mut Pen, frame: &Frame<'_>, key: &LegendKey) {
    let center = [key.x + 12.0, key.y + 10.0];
    let [x, y] = center;
    let swatch = [x - 8.0, y - 6.0, 16.0, 12.0];
    match key.of {
        KeyOf::Series(index) => pen.add(&format!("<g class=\"key\" data-series=\"{index}\">")),
        _ => pen.add("<g>"),
    }
    // The invisible rectangle makes the whole key clickable.
    pen.rect("fill-opacity=\"0\"", [key.x, key.y, key.width, 20.0], "");
    match key.of {
        KeyOf::Series(index) => {
            draw_series_swatch(pen, &frame.figure.series[index], center, swatch);
        }
        KeyOf::Guide { line: true } => draw_guide_line(pen, [x - 9.0, y], [x + 9.0, y]),
        KeyOf::Guide { line: false } => pen.rect(&pen.paint("shade", "fill"), swatch, ""),
        KeyOf::Span(kind) => pen.rect(&pen.paint(span_class(kind), "fill"), swatch, ""),
        KeyOf::Look(look) => {
            let path = marks::marker_of_look(center, 0, 4.5, look);
            let axis_stroke = pen.paint("axis", "stroke");
            pen.path(&format!("{axis_stroke} fill=\"none\""), &path, "");
        }
    }
    pen.text([key.x + 26.0, key.y + 14.0], "start", "", &key.name, frame::name_room(frame.width));
    pen.add("</g>\n");
}

/// Draws a sample of a series' marks: in the rectangle `swatch`, or around its center.
fn draw_series_swatch(pen: &mut Pen, series: &Series, center: [f64; 2], swatch: [f64; 4]) {
    if series.mark == Mark::Bars || series.mark.is_tile() {
        draw_filled_swatch(pen, series, swatch);
    } else {
        draw_line_swatch(pen, series, center);
    }
}

/// Draws the legend's sample of bars or tiles: filled, or hatched if all trusted bars are hatched.
fn draw_filled_swatch(pen: &mut Pen, series: &Series, swatch: [f64; 4]) {
    let class = marks::class(series.colour);
    // Untrusted points are hollow in any series.
    let is_trusted = |point: &&Point| point.look != Look::Crossed;
    let trusted: Vec<&Point> = series.points.iter().filter(is_trusted).collect();
    if trusted.is_empty() || trusted.iter().any(|point| point.look != Look::Hatched) {
        let is_bars = series.mark == Mark::Bars;
        let opacity = if is_bars { marks::bar_opacity(series.shape) } else { "" };
        pen.rect(&(pen.paint(&class, "fill") + opacity), swatch, "");
        return;
    }
    pen.add(&format!("<g {}>", pen.paint(&class, "stroke")));
    let paper = pen.colour("fill", "paper");
    pen.rect(&format!("class=\"hollow\"{paper}"), swatch, "");
    let [left, top, wide, tall] = swatch;
    let lines = marks::hatching([left, top, left + wide, top + tall]);
    pen.path("class=\"line\" fill=\"none\"", &lines, "");
    pen.add("</g>");
}

fn draw_line_swatch(pen: &mut Pen, series: &Series, center: [f64; 2]) {
    let [x, y] = center;
    let class = marks::class(series.colour);
    let (fill, stroke) = (pen.paint(&class, "fill"), pen.colour("stroke", &class));
    pen.add(&format!("<g {fill}{stroke} stroke-width=\"1.5\">"));
    if matches!(series.mark, Mark::Line | Mark::Steps) {
        pen.path(&marks::line_attributes(series.shape), &segment([x - 11.0, y], [x + 11.0, y]), "");
    }
    if series.mark != Mark::Steps {
        let points = &series.points;
        let look = points.first().map_or(Look::Solid, |point| point.look);
        // A ring marks a single point, not its series.
        let is_special = look != Look::Ringed && look != Look::Solid;
        let is_hollow = is_special && points.iter().all(|point| point.look == look);
        let look = if is_hollow { look } else { Look::Solid };
        let paper = if is_hollow { pen.paint("paper", "fill") } else { String::new() };
        pen.path(&paper, &marks::marker_of_look(center, series.shape, 4.0, look), "");
    }
    pen.add("</g>");
}

fn span_class(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Alternate => "shade",
        SpanKind::Ramp => "ramp",
        SpanKind::Disturbed => "disturbed",
    }
}

/// Draws the backgrounds of ranges along the axis, such as trials, with their labels above the plot if these fit.
fn draw_spans(pen: &mut Pen, frame: &Frame<'_>) {
    let [_, mut top, _, mut bottom] = frame.plot;
    // Tile colors are amounts, so spans are a strip above the plot.
    if frame.figure.series.iter().any(|series| series.mark.is_tile()) {
        (top, bottom) = (top - 7.0, top - 2.0);
    }
    let mut last_label_end = f64::NEG_INFINITY;
    for span in &frame.figure.spans {
        let (from, to) = (frame.along.at(span.from), frame.along.at(span.to));
        let paint = pen.paint(span_class(span.kind), "fill");
        pen.rect(&paint, [from, top, (to - from).max(0.5), bottom - top], &span.text);
        let (middle, half_width) = (f64::midpoint(from, to), width_of(&span.label) / 2.0);
        let fits = half_width * 2.0 <= to - from && middle - half_width > last_label_end;
        if !span.label.is_empty() && fits {
            pen.text([middle, top - 4.0], "middle", &pen.muted(), &span.label, f64::INFINITY);
            last_label_end = middle + half_width + 4.0;
        }
    }
}

/// Opposite corners of the part of the plot between two values.
fn value_band(frame: &Frame<'_>, from: f64, to: f64) -> [[f64; 2]; 2] {
    let [left, top, right, bottom] = frame.plot;
    let upright = frame.figure.layout == Layout::Upright;
    let ends = if upright { [left, right] } else { [top, bottom] };
    [frame.point(ends[0], frame.value.at(from)), frame.point(ends[1], frame.value.at(to))]
}

fn draw_guide_bands(pen: &mut Pen, frame: &Frame<'_>) {
    for band in frame.figure.guides.iter().filter(|guide| guide.from != guide.to) {
        let [[x1, y1], [x2, y2]] = value_band(frame, band.from, band.to);
        let rectangle = [x1.min(x2), y1.min(y2), (x2 - x1).abs(), (y2 - y1).abs()];
        pen.rect(&pen.paint("shade", "fill"), rectangle, &band.name);
    }
}

fn draw_guide_lines(pen: &mut Pen, frame: &Frame<'_>) {
    for line in frame.figure.guides.iter().filter(|guide| guide.from == guide.to) {
        let [from, to] = value_band(frame, line.from, line.to);
        draw_guide_line(pen, from, to);
    }
}

fn draw_guide_line(pen: &mut Pen, from: [f64; 2], to: [f64; 2]) {
    let ink = pen.colour("stroke", "ink");
    let attributes = format!("class=\"guide\"{ink} stroke-dasharray=\"3 3\"");
    pen.path(&attributes, &segment(from, to), "");
}

fn draw_axes(pen: &mut Pen, frame: &Frame<'_>) {
    let [left, top, right, bottom] = frame.plot;
    let (side, below) = frame.side_and_below();
    let (side_ticks, below_ticks) = (Frame::ticks_aside(side), frame.ticks_below(below));
    // Names have no grid lines: they do not mark values.
    let has_grid = |ruler: &Ruler<'_>| !matches!(ruler.axis.scale, AxisScale::Category(_));
    let mut grid = String::new();
    if has_grid(side) {
        grid.extend(side_ticks.iter().map(|tick| segment([left, tick.px], [right, tick.px])));
    }
    if has_grid(below) {
        grid.extend(below_ticks.iter().map(|tick| segment([tick.px, top], [tick.px, bottom])));
    }
    pen.path(&pen.paint("grid", "stroke"), &grid, "");
    let lines = segment([left, top], [left, bottom]) + &segment([left, bottom], [right, bottom]);
    pen.path(&pen.paint("axis", "stroke"), &lines, "");
    pen.add("\n");
    for tick in &side_ticks {
        draw_side_label(pen, frame, side, tick);
    }
    for tick in &below_ticks {
        draw_label_below(pen, frame, tick);
    }
    draw_axis_titles(pen, frame);
    pen.add("\n");
}

/// Draws the title of the side axis above the plot, and the other one centered at the bottom.
fn draw_axis_titles(pen: &mut Pen, frame: &Frame<'_>) {
    let [left, _, right, _] = frame.plot;
    let (side, below) = frame.side_and_below();
    let lines = axis_title(side.axis, frame.width);
    let mut y = frame.heading - LINE * (lines.len() - 1) as f64;
    for line in &lines {
        pen.text([8.0, y], "start", &pen.muted(), line, f64::INFINITY);
        y += LINE;
    }
    let lines = axis_title(below.axis, frame.width);
    let mut y = frame.height - 8.0 - LINE * (lines.len() - 1) as f64;
    for line in &lines {
        let half = width_of(line) / 2.0;
        // Centered below the plot, but at least 4 pixels from the edges of the figure.
        let x = f64::midpoint(left, right).min(frame.width - 4.0 - half).max(half + 4.0);
        pen.text([x, y], "middle", &pen.muted(), line, f64::INFINITY);
        y += LINE;
    }
}

/// Draws a label at the left of the plot; a heading begins at the edge.
fn draw_side_label(pen: &mut Pen, frame: &Frame<'_>, side: &Ruler<'_>, tick: &Tick) {
    let (left, y) = (frame.plot[0], tick.px + 4.0);
    // The halo keeps text readable in front of lines.
    let paper = pen.colour("stroke", "paper");
    let halo = format!("class=\"halo\"{paper} stroke-width=\"6\" paint-order=\"stroke\"");
    match &side.axis.scale {
        _ if side.is_heading(tick) => {
            let room = (frame.width - 16.0) / frame::BOLD;
            let bold = format!("{halo} font-weight=\"600\"");
            pen.text([8.0, y - frame.name_height / 2.0], "start", &bold, &tick.text, room);
        }
        // A long name is above its mark, at the top of its slot.
        AxisScale::Category(_) if frame.name_height > 0.0 => {
            let top = tick.px - frame.name_height / 2.0 - side.slot() / 2.0;
            pen.text([8.0, top + 13.0], "start", &halo, &tick.text, frame.width - 16.0);
        }
        AxisScale::Category(_) => pen.text([left - 6.0, y], "end", "", &tick.text, left - 12.0),
        _ => pen.text([left - 6.0, y], "end", &pen.muted(), &tick.text, left - 12.0),
    }
}

/// Draws a label below the plot: slanted if the labels do not fit, else centered below its tick within the figure.
fn draw_label_below(pen: &mut Pen, frame: &Frame<'_>, tick: &Tick) {
    let bottom = frame.plot[3];
    if frame.aslant {
        let place = [tick.px + 4.0, bottom + 14.0];
        let turned = format!("transform=\"rotate(-35 {} {})\"", px(place[0]), px(place[1]));
        pen.text(place, "end", &format!("{} {turned}", pen.muted()), &tick.text, frame::ASLANT);
    } else {
        let half = width_of(&tick.text) / 2.0;
        let x = tick.px.min(frame.width - 2.0 - half).max(half + 2.0);
        pen.text([x, bottom + LINE - 3.0], "middle", &pen.muted(), &tick.text, frame::NAMES);
    }
}
