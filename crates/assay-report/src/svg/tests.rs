//! Scales, text and contrasts of the renderer.

use super::SvgMedium;
use super::frame::Frame;
use super::pen::{px, shortened, width_of, wrapped};
use super::scale::{Ruler, Tick};
use super::theme::{RULES, Theme, variables};
use crate::figures::{all, tests::evidences};
use assay_core::exhibit::Unit;
use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Mark, Point};

fn ticks(scale: AxisScale, unit: Unit, extent: [f64; 2], wanted: f64) -> Vec<String> {
    let axis = Axis::new("", scale, unit);
    let told = Ruler::new(&axis, Some(extent), [0.0, 700.0]).ticks(wanted);
    let differ = |pair: &[Tick]| pair[0].px < pair[1].px && pair[0].text != pair[1].text;
    assert!(told.windows(2).all(differ), "{told:?}");
    told.into_iter().map(|tick| tick.text).collect()
}

#[test]
fn powers_of_two_are_ticks() {
    let told = ticks(AxisScale::Log2, Unit::Number, [1.0, 128.0], 10.0);
    assert_eq!(told, ["1", "2", "4", "8", "16", "32", "64", "128"]);
    let sizes = ticks(AxisScale::Log2, Unit::Bytes, [4096.0, 1_048_576.0], 5.0);
    assert_eq!(sizes, ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"]);
}

#[test]
fn each_nine_has_the_same_room() {
    let axis = Axis::new("", AxisScale::Percentile, Unit::Quantile);
    let ruler = Ruler::new(&axis, Some([0.0, 0.9999]), [0.0, 400.0]);
    let told = ruler.ticks(9.0);
    let texts: Vec<&str> = told.iter().map(|tick| tick.text.as_str()).collect();
    assert_eq!(texts, ["0%", "50%", "90%", "99%", "99.9%", "99.99%"]);
    let px: Vec<f64> = told.iter().map(|tick| tick.px.round()).collect();
    assert_eq!(px, [0.0, 30.0, 100.0, 200.0, 300.0, 400.0]);
}

#[test]
fn ticks_are_round_in_their_unit() {
    let rate = Unit::BytesPerS;
    let told = ticks(AxisScale::Linear, rate, [0.0, 900.0 * 1_048_576.0], 5.0);
    assert_eq!(told, ["0", "200 MiB/s", "400 MiB/s", "600 MiB/s", "800 MiB/s"]);
    let told = ticks(AxisScale::Log10, rate, [1e4, 1e9], 6.0);
    assert_eq!(told, ["16 KiB/s", "256 KiB/s", "4 MiB/s", "64 MiB/s", "1 GiB/s"]);
    let told = ticks(AxisScale::Log10, Unit::Nanoseconds, [8e4, 2e9], 8.0);
    assert_eq!(told, ["100 us", "1 ms", "10 ms", "100 ms", "1 s"]);
    let told = ticks(AxisScale::Log10, Unit::Ratio, [0.93, 1.11], 5.0);
    assert_eq!(told, ["0.95", "1", "1.05", "1.1"]);
    let told = ticks(AxisScale::Log10, Unit::Ratio, [0.3, 2.0], 5.0);
    assert_eq!(told, ["0.3", "0.4", "0.5", "0.7", "1", "1.5", "2"]);
    assert_eq!(ticks(AxisScale::Linear, Unit::Count, [14.0, 14.0], 5.0), ["14"]);
    assert!(ticks(AxisScale::Linear, Unit::Iops, [10_012.0, 10_013.0], 5.0).len() > 1);
    assert_eq!(
        ticks(AxisScale::Time, Unit::Seconds, [0.0, 12.0], 6.0),
        ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s", "12 s"]
    );
}

#[test]
fn one_value_and_none_have_an_axis_too() {
    for scale in [
        AxisScale::Linear,
        AxisScale::Log10,
        AxisScale::Log2,
        AxisScale::Time,
        AxisScale::Percentile,
    ] {
        for extent in [None, Some([0.5, 0.5]), Some([0.0, 0.0])] {
            let axis = Axis::new("", scale.clone(), Unit::Number);
            let ruler = Ruler::new(&axis, extent, [10.0, 20.0]);
            assert!((10.0..=20.0).contains(&ruler.at(0.5)), "{scale:?} {extent:?}");
            assert!(ruler.at(f64::NAN).is_finite() && ruler.ticks(5.0).len() < 60);
        }
    }
}

#[test]
fn coordinates_are_short_and_never_odd() {
    let told = [1.0, 1.04, 1.05, -0.04, -3.25, f64::NAN, f64::INFINITY, 759.96].map(px);
    assert_eq!(told, ["1", "1", "1.1", "0", "-3.3", "0", "0", "760"]);
}

#[test]
fn long_words_lose_their_middle() {
    let word = "filesystem=btrfs,threads=128";
    assert_eq!(shortened(word, 300.0), word);
    let short = shortened(word, 120.0);
    assert!(short.starts_with("filesys") && short.ends_with("=128"), "{short}");
    assert!(width_of(&short) <= 120.0);
    assert!(shortened(&"x".repeat(10_000_000), 50.0).chars().count() < 10);
    assert_eq!(wrapped("share of all operations", 90.0), ["share of all", "operations"]);
    assert!(wrapped("", 90.0).is_empty());
}

/// Relative luminance (WCAG 2).
fn luminance(colour: &str) -> f64 {
    let part = |from: usize| {
        let value = f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(theme: Theme, one: &str, other: &str) -> f64 {
    let [one, other] = [one, other].map(|name| luminance(theme.colour(name)));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn words_and_marks_can_be_seen_on_both_grounds() {
    for theme in [Theme::Light, Theme::Dark] {
        for words in ["ink", "muted"] {
            assert!(contrast(theme, words, "paper") >= 4.5, "{theme:?} {words}");
        }
        for tile in ["n0", "b0", "b1", "b2", "w0", "w1", "w2"] {
            let found = contrast(theme, "ink", tile);
            assert!(found >= 4.5, "{theme:?} {tile}: {found:.2}");
        }
        for index in 0..8 {
            let found = contrast(theme, &format!("c{index}"), "paper");
            assert!(found >= 3.0, "{theme:?} c{index}: {found:.2}");
        }
        let heat: Vec<f64> =
            (0..8).map(|step| contrast(theme, &format!("h{step}"), "paper")).collect();
        assert!(
            heat[0] > 1.1 && heat.windows(2).all(|pair| pair[1] > pair[0]),
            "{theme:?} {heat:?}"
        );
    }
}

#[test]
fn every_colour_has_a_rule_and_every_rule_a_colour() {
    let named = |text: &str| -> Vec<String> {
        text.split("--")
            .skip(1)
            .map(|one| one.split([':', ')']).next().unwrap().to_owned())
            .collect()
    };
    let declared = named(variables(Theme::Light));
    assert_eq!(declared, named(variables(Theme::Dark)));
    assert!(named(RULES).iter().all(|used| declared.contains(used)));
    assert!(declared.iter().all(|name| RULES.contains(&format!("var(--{name})"))));
}

#[test]
fn every_value_is_shown_and_no_words_touch() {
    let figures = evidences()
        .iter()
        .flat_map(|(name, evidence)| all(evidence).into_iter().map(move |one| (name, one)));
    let media = [SvgMedium::File(Theme::Light), SvgMedium::Page, SvgMedium::Phone];
    for ((name, figure), medium) in
        figures.flat_map(|one| media.map(|medium| (one.clone(), medium)))
    {
        let width = medium.width();
        let frame = Frame::new(&figure, 0.0, width);
        let [left, top, right, bottom] = frame.plot;
        assert!(left < right && top < bottom && right <= width && bottom < frame.height);
        for point in figure.series.iter().flat_map(|series| &series.points) {
            let [x, y] = frame.place(point.at, point.value);
            assert!(
                (left..=right).contains(&x) && (top..=bottom).contains(&y),
                "{name} {}",
                figure.id
            );
            let shown = frame.along.shows(point.at) && frame.value.shows(point.value);
            assert!(shown || figure.value.limits.is_some(), "{name} {}: {}", figure.id, point.text);
        }
        let ticks = frame.ticks_below(frame.side_and_below().1);
        for pair in ticks.windows(2) {
            let room = f64::midpoint(width_of(&pair[0].text), width_of(&pair[1].text));
            let room = if frame.aslant { 12.0 } else { room };
            assert!(pair[1].px - pair[0].px >= room, "{name} {}: {pair:?}", figure.id);
        }
        for pair in frame.keys.windows(2) {
            let beside = pair[0].y == pair[1].y && pair[0].x + pair[0].width <= pair[1].x;
            assert!(beside || pair[0].y + 20.0 <= pair[1].y, "{name} {}", figure.id);
        }
        let keys = frame.keys.iter().all(|key| key.y + 20.0 <= top && key.x + key.width <= width);
        assert!(keys, "{name} {}", figure.id);
    }
}

/// An area between two points claims values for everything between them: it must not pass a point without an interval.
#[test]
fn no_area_goes_past_a_point_without_an_interval() {
    let line = |figure: &Figure| matches!(&figure.series[..], [own] if own.mark == Mark::Line);
    let figures = evidences();
    let mut figures = figures.iter().flat_map(|(_, evidence)| all(evidence));
    let figure = figures.find(line).expect("a figure of one line");
    let areas = |without: &[usize]| {
        let mut figure = figure.clone();
        let points = &mut figure.series[0].points;
        let first = points[0].clone();
        let made = (0..5_usize).map(|place| Point {
            at: first.at.max(1.0) * f64::from(1 << place),
            interval: (!without.contains(&place)).then_some([0.9, 1.1].map(|by| by * first.value)),
            joined: place > 0,
            ..first.clone()
        });
        *points = made.collect();
        crate::svg::file(&figure, Theme::Light).matches("fill-opacity=\"0.22\"").count()
    };
    assert_eq!(areas(&[]), 1);
    assert_eq!(areas(&[2]), 2);
    // A single one is a stroke.
    assert_eq!(areas(&[1]), 1);
    assert_eq!(areas(&[0, 1, 2, 3, 4]), 0);
}
