//! The marks, each with its title.

use super::frame::Frame;
use super::pen::{Pen, px, segment, width_of};
use assay_core::exhibit::figure::{Colour, Look, MOST_BANDS, Mark, Point, SERIES_COLOURS, Series};

/// From this number of points on, they are small.
const MANY: usize = 60;
/// Pixels between adjacent lines.
const BESIDE: f64 = 5.0;
/// Dash patterns, which distinguish lines without color.
const DASHES: [&str; 8] = ["", "7 3", "2 3", "9 3 2 3", "13 4", "4 2", "1 4", "9 3 2 3 2 3"];

/// CSS class of a series, which is also the name of its color.
pub(super) fn class(colour: Colour) -> String {
    match colour {
        Colour::Series(index) => format!("c{}", index % SERIES_COLOURS),
        Colour::Heat(step) => format!("h{}", step.min(7)),
        Colour::Better(step) => format!("b{}", step.min(2)),
        Colour::Worse(step) => format!("w{}", step.min(2)),
        Colour::Same => "n0".to_owned(),
    }
}

/// Fill opacity of a series' bars, which distinguishes the series without color.
pub(super) fn bar_opacity(shape: usize) -> &'static str {
    ["", " fill-opacity=\"0.45\"", " fill-opacity=\"0.75\"", " fill-opacity=\"0.2\""][shape % 4]
}

pub(super) fn line_attributes(shape: usize) -> String {
    match DASHES[shape % DASHES.len()] {
        "" => "class=\"line\" fill=\"none\"".to_owned(),
        pattern => format!("class=\"line\" fill=\"none\" stroke-dasharray=\"{pattern}\""),
    }
}

/// Corners of markers relative to their center, in radii; a circle has none.
const SHAPES: [&[[f64; 2]]; 8] = [
    &[],
    &[[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]],
    &[[0.0, -1.2], [1.2, 1.0], [-1.2, 1.0]],
    &[[0.0, -1.4], [1.2, 0.0], [0.0, 1.4], [-1.2, 0.0]],
    &[[0.0, 1.2], [1.2, -1.0], [-1.2, -1.0]],
    &[[-1.3, -0.6], [1.3, -0.6], [1.3, 0.6], [-1.3, 0.6]],
    &[
        [-1.2, -1.2],
        [0.0, -0.5],
        [1.2, -1.2],
        [0.5, 0.0],
        [1.2, 1.2],
        [0.0, 0.5],
        [-1.2, 1.2],
        [-0.5, 0.0],
    ],
    &[[-0.6, -1.3], [0.6, -1.3], [0.6, 1.3], [-0.6, 1.3]],
];

/// The path of a marker with radius `r`: a circle as two arcs, or a polygon.
fn marker(center: [f64; 2], shape: usize, r: f64) -> String {
    let [x, y] = center;
    let corners = SHAPES[shape % SHAPES.len()];
    if corners.is_empty() {
        let (left, r, d) = (px(x - r), px(r), px(2.0 * r));
        return format!("M{left} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z", px(y));
    }
    polyline(corners.iter().map(|[right, down]| [x + r * right, y + r * down])) + "z"
}

fn polyline(places: impl Iterator<Item = [f64; 2]>) -> String {
    let mut path = String::new();
    for [x, y] in places {
        let command = if path.is_empty() { "M" } else { "L" };
        path += &[command, &px(x), " ", &px(y)].concat();
    }
    path
}

/// Draws a series as a group, whose index the page's script uses to highlight the series.
pub(super) fn draw_series(pen: &mut Pen, frame: &Frame<'_>, index: usize, series: &Series) {
    let class = class(series.colour);
    let (fill, stroke) = (pen.colour("fill", &class), pen.colour("stroke", &class));
    let stroke = match series.mark {
        Mark::Tiles | Mark::Cells => " shape-rendering=\"crispEdges\"".to_owned(),
        Mark::Bars => stroke + bar_opacity(series.shape),
        _ => stroke + " stroke-width=\"1.5\"",
    };
    pen.add(&format!("<g class=\"series {class}\" data-series=\"{index}\"{fill}{stroke}>\n"));
    match series.mark {
        Mark::Points => draw_points(pen, frame, series, true),
        Mark::Line => draw_line_and_points(pen, frame, index),
        Mark::Steps => draw_steps(pen, frame, series),
        Mark::Bars => draw_bars(pen, frame, index),
        Mark::Tiles | Mark::Cells => draw_tiles(pen, frame, series),
    }
    pen.add("</g>\n");
}

/// Attributes of a mark. Its title is the text that the page's script shows immediately.
fn mark_attributes(pen: &Pen, look: Look) -> String {
    match look {
        Look::Solid | Look::Ringed => "class=\"mark\"".to_owned(),
        Look::Hollow | Look::Crossed | Look::Hatched => {
            format!("class=\"mark hollow\"{} fill-opacity=\"1\"", pen.colour("fill", "paper"))
        }
    }
}

/// The path of a marker; invalid numbers have a cross in it.
pub(super) fn marker_of_look(place: [f64; 2], shape: usize, r: f64, look: Look) -> String {
    let mut path = marker(place, shape, r);
    let [x, y] = place;
    if look == Look::Crossed {
        let c = 0.7 * r;
        path += &segment([x - c, y - c], [x + c, y + c]);
        path += &segment([x - c, y + c], [x + c, y - c]);
    }
    path
}

fn draw_points(pen: &mut Pen, frame: &Frame<'_>, series: &Series, whiskers: bool) {
    let radius = if series.points.len() > MANY { 2.2 } else { 4.0 };
    for point in &series.points {
        let place = frame.place(point.at, point.value);
        let mut path = String::new();
        if whiskers {
            path += &whisker(frame, frame.along.at(point.at), point, radius);
        }
        path += &marker_of_look(place, series.shape, radius, point.look);
        pen.path(&mark_attributes(pen, point.look), &path, &point.text);
        if point.look == Look::Ringed {
            pen.path("class=\"line\" fill=\"none\"", &marker(place, 0, radius + 4.0), "");
        }
    }
}

/// The path of an interval at the pixel `along`: from the marker to each finite end, with a cap, or an arrow if cut.
fn whisker(frame: &Frame<'_>, along: f64, point: &Point, radius: f64) -> String {
    let centre = frame.value.at(point.value);
    let mut path = String::new();
    for end in point.interval.into_iter().flatten().filter(|end| end.is_finite()) {
        let tip = frame.value.at(end);
        let away = (tip - centre).signum();
        if (tip - centre).abs() > radius {
            path += &segment(frame.point(along, centre + away * radius), frame.point(along, tip));
        }
        // A cap is at the tip; the wings of an arrow are 5 pixels behind the tip.
        let wings = tip - if frame.value.shows(end) { 0.0 } else { away * 5.0 };
        let corners = [(along - 3.5, wings), (along, tip), (along + 3.5, wings)];
        path += &polyline(corners.into_iter().map(|(along, value)| frame.point(along, value)));
    }
    path
}

/// Draws a line with its points. Many lines are slightly shifted, with strokes instead of bands that would overlap.
fn draw_line_and_points(pen: &mut Pen, frame: &Frame<'_>, index: usize) {
    let series = &frame.figure.series[index];
    let is_banded = |series: &&Series| {
        series.mark == Mark::Line && series.points.iter().any(|point| point.interval.is_some())
    };
    let count = frame.figure.series.iter().filter(is_banded).count();
    if count <= MOST_BANDS {
        draw_line(pen, frame, series, true);
        draw_points(pen, frame, series, false);
        return;
    }
    // The lines are spread evenly around their true position.
    let before = frame.figure.series[..index].iter().filter(is_banded).count();
    let shifted = frame.shifted(BESIDE * (before as f64 - (count - 1) as f64 / 2.0));
    draw_line(pen, &shifted, series, false);
    draw_points(pen, &shifted, series, true);
}

/// Sequences of points that a line connects.
fn strands(points: &[Point]) -> impl Iterator<Item = &[Point]> {
    points.chunk_by(|_, next| next.joined)
}

fn draw_line(pen: &mut Pen, frame: &Frame<'_>, series: &Series, bands: bool) {
    for strand in strands(&series.points) {
        if bands {
            let has = |point: &Point| point.interval.is_some();
            // An area must not cover points without an interval.
            for run in strand.chunk_by(|point, next| has(point) && has(next)) {
                draw_band(pen, frame, run);
            }
        }
        let places = strand.iter().map(|point| frame.place(point.at, point.value));
        pen.path(&line_attributes(series.shape), &polyline(places), "");
    }
}

/// Draws the intervals of consecutive points as an area, and the interval of a single point as a stroke.
fn draw_band(pen: &mut Pen, frame: &Frame<'_>, run: &[Point]) {
    if let [point] = run {
        if point.interval.is_some() {
            let stroke = whisker(frame, frame.along.at(point.at), point, 0.0);
            pen.path("class=\"line\" fill=\"none\"", &stroke, "");
        }
        return;
    }
    let end = |point: &Point, index: usize| Some(frame.place(point.at, point.interval?[index]));
    let lower = run.iter().filter_map(|point| end(point, 0));
    let upper = run.iter().rev().filter_map(|point| end(point, 1));
    let area = polyline(lower.chain(upper)) + "z";
    pen.path("class=\"bare\" stroke=\"none\" fill-opacity=\"0.22\"", &area, "");
}

/// Draws a thick line over the width of each value, connected by thin lines.
fn draw_steps(pen: &mut Pen, frame: &Frame<'_>, series: &Series) {
    // All values are equally wide: the smallest distance of two connected ones.
    let joined = series.points.windows(2).filter(|pair| pair[1].joined);
    let gaps = joined.map(|pair| pair[1].at - pair[0].at).filter(|gap| *gap > 0.0);
    let wide = gaps.reduce(f64::min).unwrap_or(1.0);
    let ends = |point: &Point| [point.at, point.at + wide].map(|at| frame.place(at, point.value));
    for strand in strands(&series.points) {
        pen.path(&line_attributes(series.shape), &polyline(strand.iter().flat_map(ends)), "");
    }
    for point in &series.points {
        let [from, to] = ends(point);
        let attributes = mark_attributes(pen, Look::Solid) + " stroke-width=\"3\"";
        pen.path(&attributes, &segment(from, to), &point.text);
    }
}

/// Draws the bars of one series with their labels, and their intervals in front of them.
fn draw_bars(pen: &mut Pen, frame: &Frame<'_>, index: usize) {
    // Bars of several series share the slot of a name.
    let [count, place] = frame.figure.bars_beside(index);
    let room = frame.along.slot() - frame.name_height - 8.0;
    let thickness = (room / count as f64).max(1.0);
    let mut whiskers = String::new();
    for point in &frame.figure.series[index].points {
        let centre = frame.along.at(point.at) + thickness * (place as f64 + 0.5) - room / 2.0;
        // Adjacent bars are one pixel apart.
        let half = thickness / 2.0 - 0.5;
        let [x1, y1] = frame.point(centre - half, frame.value.origin());
        let [x2, y2] = frame.point(centre + half, frame.value.at(point.value));
        let dashed = if point.look == Look::Crossed { " stroke-dasharray=\"3 2\"" } else { "" };
        let corners = [[x1, y1], [x2, y1], [x2, y2], [x1, y2]].into_iter();
        let attributes = mark_attributes(pen, point.look) + dashed;
        pen.path(&attributes, &(polyline(corners) + "z"), &point.text);
        if point.look == Look::Hatched {
            let lines = hatching([x1.min(x2), y1.min(y2), x1.max(x2), y1.max(y2)]);
            pen.path("class=\"line\" fill=\"none\" pointer-events=\"none\"", &lines, "");
        }
        whiskers += &whisker(frame, centre, point, 0.0);
        draw_bar_label(pen, frame, centre, point);
    }
    if !whiskers.is_empty() {
        let ink = pen.colour("stroke", "ink");
        let attributes = format!("class=\"guide line\" fill=\"none\"{ink}");
        pen.path(&format!("{attributes} pointer-events=\"none\""), &whiskers, "");
    }
}

/// Draws the label of a bar behind the bar and its interval, if it has one.
fn draw_bar_label(pen: &mut Pen, frame: &Frame<'_>, centre: f64, point: &Point) {
    let Some(label) = &point.label else { return };
    let end = point.interval.map_or(point.value, |ends| ends[1].max(point.value));
    let [x, y] = frame.point(centre, frame.value.at(end));
    let ink = pen.colour("fill", "ink") + " fill-opacity=\"1\"";
    // Text in front of a guide has a background.
    let attributes = if frame.figure.guides.is_empty() {
        ink + " stroke=\"none\""
    } else {
        let paper = pen.colour("stroke", "paper");
        format!("class=\"halo\"{ink}{paper} stroke-width=\"4\" paint-order=\"stroke\"")
    };
    pen.text([x + 6.0, y + 4.0], "start", attributes.trim_start(), label, f64::INFINITY);
}

/// Pixels between hatching lines.
const HATCH: f64 = 6.0;

/// The path of diagonal lines in a rectangle of left, top, right and bottom.
pub(super) fn hatching(rectangle: [f64; 4]) -> String {
    let [left, top, right, bottom] = rectangle;
    let (wide, tall) = (right - left, bottom - top);
    let count = ((wide + tall) / HATCH).ceil().clamp(0.0, 1000.0) as usize;
    let line = |index: usize| {
        // Each line runs from the upper or right edge down to the left or lower one.
        let along = (index as f64 + 0.5) * HATCH;
        let begin = [left + along.min(wide), top + (along - wide).max(0.0)];
        let end = [left + (along - tall).max(0.0), top + along.min(tall)];
        (along < wide + tall).then(|| segment(begin, end))
    };
    (0..count).filter_map(line).collect()
}

fn draw_tiles(pen: &mut Pen, frame: &Frame<'_>, series: &Series) {
    // Tables have lines between their cells, planes do not.
    let gap = if series.mark == Mark::Cells { 1.0 } else { 0.0 };
    for tile in &series.points {
        let [at, value] = tile.ends();
        let [x1, y1] = frame.place(at[0], value[0]);
        let [x2, y2] = frame.place(at[1], value[1]);
        let (left, top) = (x1.min(x2), y1.min(y2));
        let (wide, tall) = ((x2 - x1).abs() - gap, (y2 - y1).abs() - gap);
        pen.rect(&mark_attributes(pen, Look::Solid), [left, top, wide, tall], &tile.text);
        if let Some(label) = &tile.label
            && series.mark == Mark::Cells
            && width_of(label) <= wide - 2.0
        {
            let middle = [left + wide / 2.0, top + tall / 2.0 + 4.0];
            let ink = pen.colour("fill", "ink") + " pointer-events=\"none\"";
            pen.text(middle, "middle", ink.trim_start(), label, f64::INFINITY);
        }
    }
}
