//! The marks themselves: each carries what it says.

use std::fmt::Write;

use super::frame::Frame;
use super::pen::{escaped, px, segment, shortened, text};
use super::theme::Theme;
use crate::report::figure::{Colour, Layout, Look, Marks, Point, Series, Tile};

/// Points from which on they are drawn small.
const MANY: usize = 60;
/// Patterns of lines, so that they are told apart in grey.
const DASHES: [&str; 8] = ["", "7 3", "2 3", "9 3 2 3", "13 4", "4 2", "1 4", "9 3 2 3 2 3"];

/// Class and colour of a series: `s0`, and the property's name.
pub(super) fn class(colour: Colour) -> (String, String) {
    match colour {
        Colour::Series(index) => (format!("s{}", index % 8), format!("c{}", index % 8)),
        Colour::Heat(step) => (format!("h{}", step.min(7)), format!("h{}", step.min(7))),
        Colour::Better(step) => (format!("b{}", step.min(2)), format!("b{}", step.min(2))),
        Colour::Worse(step) => (format!("w{}", step.min(2)), format!("w{}", step.min(2))),
        Colour::Same => ("n0".to_owned(), "n0".to_owned()),
    }
}

/// The pattern of a series' line as an attribute.
pub(super) fn dash(shape: usize) -> String {
    let pattern = DASHES[shape % DASHES.len()];
    if pattern.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{pattern}\"") }
}

/// A marker around a place, as a closed path; eight shapes.
pub(super) fn marker([x, y]: [f64; 2], shape: usize, r: f64) -> String {
    let path =
        |from: [f64; 2], steps: &str| format!("M{} {}{steps}z", px(x + from[0]), px(y + from[1]));
    let d = px(2.0 * r);
    let (h, t) = (px(r), px(0.7 * r));
    match shape % 8 {
        0 => path([-r, 0.0], &format!("a{h} {h} 0 1 0 {d} 0a{h} {h} 0 1 0-{d} 0")),
        1 => path([-r, -r], &format!("h{d}v{d}h-{d}")),
        2 => path([0.0, -r], &format!("l{h} {d}h-{d}")),
        3 => path([0.0, -1.2 * r], &format!("l{h} {0}l-{h} {0}l-{h}-{0}", px(1.2 * r))),
        4 => path([0.0, r], &format!("l{h}-{d}h-{d}")),
        5 => path(
            [-0.4 * r, -r],
            &format!("h{0}v{1}h{1}v{0}h-{1}v{1}h-{0}v-{1}h-{1}v-{0}h{1}", px(0.8 * r), px(0.6 * r)),
        ),
        6 => path(
            [0.0, -0.4 * r],
            &format!(
                "l{t}-{t}l{t} {t}l-{t} {t}l{t} {t}l-{t} {t}l-{t}-{t}l-{t} {t}l-{t}-{t}l{t}-{t}l-{t}-{t}l{t}-{t}"
            ),
        ),
        _ => path([-r, -0.5 * r], &format!("l{h}-{0}l{h} {0}v{h}l-{h} {0}l-{h}-{0}", px(0.6 * r))),
    }
}

/// All marks of a series.
pub(super) fn series(
    out: &mut String,
    frame: &Frame<'_>,
    theme: Theme,
    index: usize,
    own: &Series,
) {
    let (class, colour) = class(own.colour);
    let colour = theme.colour(&colour);
    let stroke = match own.marks {
        Marks::Tiles(_) => String::new(),
        _ => format!(" stroke=\"{colour}\" stroke-width=\"1.5\""),
    };
    let _ = write!(
        out,
        "<g class=\"series {class}\" data-series=\"{index}\" fill=\"{colour}\"{stroke}>"
    );
    match &own.marks {
        Marks::Points(all) => points(out, frame, theme, own, all, true),
        Marks::Line(all) => {
            line(out, frame, own, all);
            points(out, frame, theme, own, all, false);
        }
        Marks::Steps(all) => steps(out, frame, own, all),
        Marks::Bars(all) => bars(out, frame, theme, index, all),
        Marks::Tiles(all) => tiles(out, frame, all),
    }
    out.push_str("</g>\n");
}

/// A path that says something.
fn mark(out: &mut String, extra: &str, path: &str, says: &str) {
    let says = escaped(says);
    let _ = write!(
        out,
        "<path class=\"mark{extra} data-t=\"{says}\" d=\"{path}\"><title>{says}</title></path>"
    );
}

/// What follows the class of a mark: the look.
fn look(theme: Theme, look: Look) -> String {
    match look {
        Look::Solid | Look::Ringed => "\"".to_owned(),
        Look::Hollow | Look::Crossed => format!(" hollow\" fill=\"{}\"", theme.colour("paper")),
    }
}

fn points(
    out: &mut String,
    frame: &Frame<'_>,
    theme: Theme,
    own: &Series,
    all: &[Point],
    whiskers: bool,
) {
    let r = if all.len() > MANY { 2.2 } else { 4.0 };
    for point in all {
        let [x, y] = frame.place(point.at, point.value);
        let mut path = if whiskers {
            whisker(frame, frame.along.at(point.at), point, r)
        } else {
            String::new()
        };
        path.push_str(&marker([x, y], own.shape, r));
        if point.look == Look::Crossed {
            path.push_str(&segment([x - r, y - r], [x + r, y + r]));
            path.push_str(&segment([x - r, y + r], [x + r, y - r]));
        }
        mark(out, &look(theme, point.look), &path, &point.text);
        if point.look == Look::Ringed {
            let ring = marker([x, y], 0, r + 4.0);
            let _ = write!(out, "<path class=\"line\" fill=\"none\" d=\"{ring}\"/>");
        }
    }
}

/// The interval as lines beside the marker, with a cap where it ends and an arrow where it goes on.
fn whisker(frame: &Frame<'_>, along: f64, point: &Point, r: f64) -> String {
    let Some(ends) = point.interval else { return String::new() };
    let centre = frame.value.at(point.value);
    let mut path = String::new();
    for end in ends.into_iter().filter(|end| end.is_finite()) {
        let at = frame.value.at(end);
        let away = (at - centre).signum();
        if (at - centre).abs() > r {
            path.push_str(&segment(frame.point(along, centre + away * r), frame.point(along, at)));
        }
        let back = if frame.value.shows(end) { 0.0 } else { away * 5.0 };
        path.push_str(&segment(frame.point(along - 3.5, at - back), frame.point(along, at)));
        path.push_str(&segment(frame.point(along, at), frame.point(along + 3.5, at - back)));
    }
    path
}

/// Points that a line goes through without a break.
fn strands(all: &[Point]) -> impl Iterator<Item = &[Point]> {
    all.chunk_by(|_, next| next.joined)
}

fn line(out: &mut String, frame: &Frame<'_>, own: &Series, all: &[Point]) {
    let through = |places: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut path = String::new();
        for (index, [x, y]) in places.enumerate() {
            let _ = write!(path, "{}{} {}", if index == 0 { "M" } else { "L" }, px(x), px(y));
        }
        path
    };
    for strand in strands(all) {
        let banded: Vec<(f64, [f64; 2])> =
            strand.iter().filter_map(|point| Some((point.at, point.interval?))).collect();
        let up = banded.iter().map(|(at, ends)| frame.place(*at, ends[0]));
        let down = banded.iter().rev().map(|(at, ends)| frame.place(*at, ends[1]));
        let band = through(&mut up.chain(down));
        if banded.len() > 1 {
            let _ = write!(
                out,
                "<path class=\"band\" fill-opacity=\"0.16\" stroke=\"none\" d=\"{band}z\"/>"
            );
        }
        let path = through(&mut strand.iter().map(|point| frame.place(point.at, point.value)));
        let _ = write!(out, "<path class=\"line\" fill=\"none\"{} d=\"{path}\"/>", dash(own.shape));
    }
}

fn steps(out: &mut String, frame: &Frame<'_>, own: &Series, all: &[Point]) {
    let gaps = all.windows(2).filter(|pair| pair[1].joined).map(|pair| pair[1].at - pair[0].at);
    let wide = gaps.filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    let wide = if wide.is_finite() { wide } else { 1.0 };
    for strand in strands(all) {
        let mut path = String::new();
        for (index, point) in strand.iter().enumerate() {
            let [x, y] = frame.place(point.at, point.value);
            let until = frame.place(point.at + wide, point.value)[0];
            let begin =
                if index == 0 { format!("M{} {}", px(x), px(y)) } else { format!("V{}", px(y)) };
            let _ = write!(path, "{begin}H{}", px(until));
        }
        let _ = write!(
            out,
            "<path class=\"line\" fill=\"none\" stroke-width=\"1\"{} d=\"{path}\"/>",
            dash(own.shape)
        );
    }
    for point in all {
        let from = frame.place(point.at, point.value);
        let path = segment(from, frame.place(point.at + wide, point.value));
        mark(out, "\" stroke-width=\"3\"", &path, &point.text);
    }
}

fn bars(out: &mut String, frame: &Frame<'_>, theme: Theme, index: usize, all: &[Point]) {
    let side = |series: &&Series| matches!(series.marks, Marks::Bars(_));
    let figure = frame.figure;
    let mirrored = figure.layout == Layout::Mirrored;
    let count = if mirrored { 1 } else { figure.series.iter().filter(side).count() };
    let place = if mirrored { 0 } else { figure.series[..index].iter().filter(side).count() };
    let value = match &frame.mirror {
        Some(mirror) if index == 0 => mirror,
        _ => &frame.value,
    };
    let room = frame.along.slot() - if mirrored { 2.0 } else { 8.0 };
    let thick = (room / count as f64).max(1.0);
    let mut whiskers = String::new();
    for point in all {
        let centre = frame.along.at(point.at) - room / 2.0 + thick * (place as f64 + 0.5);
        let half = thick / 2.0 - 0.5;
        let (from, to) = (value.origin(), value.at(point.value));
        let [x1, y1] = frame.point(centre - half, from);
        let [x2, y2] = frame.point(centre + half, to);
        let path = format!("M{} {}H{}V{}H{}z", px(x1), px(y1), px(x2), px(y2), px(x1));
        let dashed = if point.look == Look::Crossed { " stroke-dasharray=\"3 2\"" } else { "" };
        mark(out, &format!("{}{dashed}", look(theme, point.look)), &path, &point.text);
        whiskers.push_str(&whisker(frame, centre, point, 0.0));
        if let Some(label) = &point.label {
            let ends = point.interval.unwrap_or([point.value; 2]);
            let [x, y] = frame.point(centre, value.at(point.value).max(value.at(ends[1])));
            text(out, [x + 6.0, y + 4.0], "start", " stroke=\"none\"", label, label);
        }
    }
    if !whiskers.is_empty() {
        let ink = theme.colour("ink");
        let _ = write!(
            out,
            "<path class=\"guide line\" fill=\"none\" stroke=\"{ink}\" pointer-events=\"none\" d=\"{whiskers}\"/>"
        );
    }
}

fn tiles(out: &mut String, frame: &Frame<'_>, all: &[Tile]) {
    for tile in all {
        let [x1, y1] = frame.place(tile.at[0], tile.value[0]);
        let [x2, y2] = frame.place(tile.at[1], tile.value[1]);
        let (left, top) = (x1.min(x2), y1.min(y2));
        // Tables have lines between their cells, planes have none.
        let gap = if tile.printed { 1.0 } else { 0.0 };
        let (wide, tall) = ((x2 - x1).abs() - gap, (y2 - y1).abs() - gap);
        let says = escaped(&tile.text);
        let _ = write!(
            out,
            "<rect class=\"mark\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-t=\"{says}\"><title>{says}</title></rect>",
            px(left),
            px(top),
            px(wide.max(0.1)),
            px(tall.max(0.1))
        );
        if tile.printed {
            let shown = shortened(&tile.label, wide - 2.0);
            let middle = [left + wide / 2.0, top + tall / 2.0 + 4.0];
            text(out, middle, "middle", " pointer-events=\"none\"", &shown, &shown);
        }
    }
}
