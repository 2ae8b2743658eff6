//! Platforms side by side: percent of the baseline platform, and each workload in the unit of its metric.

use super::Drawing;
use crate::document::numbers::unit_of;
use crate::document::places::{value, work_name};
use crate::evidence::Evidence;
use assay_core::exhibit::figure::{Colour, Figure, Guide, Look, Mark, Point, id_of, short};
use assay_core::exhibit::parts::{FigureRows, at_most, by_sort, distinct, of_bars};
use assay_core::quantity::units::show;
use assay_core::{catalogue::About, exhibit::Unit};
use assay_study::findings::places::{PlaceRow, Places, PublishedBeside};
use assay_study::findings::shown::{mark_trust, metric_title};
use assay_study::results::plan::Arm;

pub static PLACES: Drawing = Drawing {
    about: About {
        name: "platforms",
        summary: "the same workloads on several platforms, relative to one platform and in their own units",
        text: "For `assay compare --by platform`. In the first figure, each bar shows the speed of a platform in \
               percent of the baseline platform, with a 95% CI that is simultaneous over all platforms of the \
               workload. Further figures show each workload in its own unit. Hatched bars are emulated platforms, \
               which get no verdict. Published rows are below the measured rows in another color, in percent of the \
               published baseline.",
    },
    draw,
};

const MOST_FIGURES: usize = 9;
/// Limit on notes on missing numbers.
const MOST_MISSING: usize = 6;
/// Limit on bars per figure; larger ones are only readable as tables.
const MOST_BARS: usize = 80;
/// Largest ratio of the axis to the longest bar, to show intervals.
const BEYOND: f64 = 1.4;
/// Kinds of series, in the order of the legend.
const SERIES: [&str; 3] = ["platforms", "emulated: no verdict", "published"];
const PUBLISHED_SERIES: usize = 2;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let Some(places) = &evidence.findings.platforms else { return Vec::new() };
    let works = distinct(places.rows.iter().map(work_of));
    let mut figures: Vec<Figure> = percent_figure(places, &works).into_iter().collect();
    figures.extend(works.iter().filter_map(|work| own_unit_figure(places, *work)));
    at_most(figures, MOST_FIGURES, "workload")
}

/// Workload, configuration and metric.
type Work<'a> = (&'a str, &'a Arm, &'a str);

fn work_of(row: &PlaceRow) -> Work<'_> {
    (&row.workload, &row.configuration, &row.metric)
}

fn rows_of<'a>(places: &'a Places, work: Work<'a>) -> impl Iterator<Item = &'a PlaceRow> {
    places.rows.iter().filter(move |row| work_of(row) == work)
}

/// Collected bars: their names, and the points of each of [`SERIES`].
#[derive(Default)]
struct Bars {
    rows: FigureRows,
    points: Vec<(usize, Point)>,
}

impl Bars {
    /// Adds a bar; `point` makes the bar of its row.
    fn add(&mut self, series: usize, name: &str, point: impl FnOnce(f64) -> Point) {
        let row = self.rows.add(&short(name));
        self.points.push((series, point(row)));
    }

    /// The figure, except its subject. A single series needs no name, unless it is of emulated platforms.
    fn figure(self, id: &str, title: String, unit: Unit, missing: Vec<String>) -> Option<Figure> {
        if !(2..=MOST_BARS).contains(&self.rows.count()) {
            return None;
        }
        let is_single = self.points.iter().all(|(series, _)| *series == 0);
        let sorts = [0, 1, 2].map(|index| {
            (index, if is_single { "" } else { SERIES[index] }, Colour::Series(index), 0)
        });
        let series = by_sort(sorts, self.points, Mark::Bars);
        let bars = of_bars(self.rows.axis(), title, unit, BEYOND, series)?;
        Some(Figure {
            id: id_of(&["platforms", id]),
            description:
                "Each bar is a platform, with the 95% CI as a line. Hatched bars are emulated platforms; hollow bars \
                 are suspect or invalid numbers."
                    .to_owned(),
            notes: missing.into_iter().chain(bars.notes).collect(),
            ..bars
        })
    }
}

/// The speed of platforms in percent of the baseline platform, by workload, with published numbers below.
fn percent_figure(places: &Places, works: &[Work<'_>]) -> Option<Figure> {
    let mut bars = Bars::default();
    let has_headings = works.len() > 1 || !places.published.is_empty();
    for work in works {
        let with_percent = rows_of(places, *work).filter_map(|row| Some((row, row.percent?)));
        let measured: Vec<(&PlaceRow, f64)> = with_percent.collect();
        // The workload needs a second platform to compare with.
        if measured.len() < 2 {
            continue;
        }
        if has_headings {
            bars.rows.heading(&short(&work_name(work.0, work.1)));
        }
        for (row, percent) in measured {
            bars.add(usize::from(row.emulated), &row.platform, |at| percent_bar(at, row, percent));
        }
    }
    for table in &places.published {
        add_published(&mut bars, table);
    }
    let title = format!("Speed in percent of {}", places.baseline);
    let figure =
        bars.figure("percent", title.clone(), Unit::Percent, missing_notes(&places.rows))?;
    Some(Figure { title, guides: vec![Guide::line(100.0, String::new())], ..figure })
}

/// The bar of a platform, whose label has rounded digits; the baseline is 100 without an interval.
fn percent_bar(at: f64, row: &PlaceRow, value: f64) -> Point {
    let interval = row.percent_interval();
    let point = Point::new(at, Unit::Percent, &row.platform, value, interval);
    let [percent, low, high] = match row.comparison {
        Some(_) => show::percents(value, interval),
        // The baseline platform.
        None => ["100".to_owned(), String::new(), String::new()],
    };
    let ends = interval.map_or_else(String::new, |_| format!(" ({low} to {high})"));
    let text = format!("{}: {percent}%{ends}", row.platform);
    with_look(row, Point { label: Some(format!("{percent}%")), text, ..point })
}

/// Emulated platforms are hatched; others are marked by their trust.
fn with_look(row: &PlaceRow, point: Point) -> Point {
    if row.emulated {
        point.marked(Look::Hatched, "emulated")
    } else {
        mark_trust(point, row.trust)
    }
}

/// Adds the rows of a published table, with the printed digits.
fn add_published(bars: &mut Bars, table: &PublishedBeside) {
    let heading = format!("{}: {}, as published", table.source, table.work);
    bars.rows.heading(&short(&heading));
    for row in &table.rows {
        bars.add(PUBLISHED_SERIES, &row.platform, |at| {
            let plain = Point::new(at, Unit::Percent, &row.platform, row.printed.percent, None);
            let text =
                format!("{}, {}: {}, {}", table.source, row.platform, row.value, row.percent);
            if row.printed.follows {
                return Point { text, label: Some(row.percent.clone()), ..plain };
            }
            let label = format!("{} (or {:.2}%)", row.percent, row.printed.computed);
            let remark = "inconsistent with the published number".to_owned();
            Point { text, label: Some(label), remark: Some(remark), ..plain }
        });
    }
}

fn own_unit_figure(places: &Places, work: Work<'_>) -> Option<Figure> {
    let (workload, arm, metric) = work;
    let unit = unit_of(metric);
    let mut bars = Bars::default();
    for row in rows_of(places, work) {
        let Some(mean) = row.value else { continue };
        bars.add(usize::from(row.emulated), &row.platform, |at| {
            let point = Point::new(at, unit, &row.platform, mean, row.ci95);
            let label = value(row);
            let text = match row.ci95 {
                Some(_) => point.text,
                None => format!("{}: {label}", row.platform),
            };
            with_look(row, Point { label: Some(label), text, ..point })
        });
    }
    let metric_name = metric_title(metric);
    let id = format!("{workload} {} {metric}", work_name("", arm));
    let figure =
        bars.figure(&id, metric_name.clone(), unit, missing_notes(rows_of(places, work)))?;
    Some(Figure {
        title: format!("{}: {metric_name}", short(&work_name(workload, arm))),
        workload: Some(workload.to_owned()),
        metric: Some(metric.to_owned()),
        ..figure
    })
}

fn missing_notes<'a>(rows: impl IntoIterator<Item = &'a PlaceRow>) -> Vec<String> {
    let missing = rows.into_iter().filter_map(|row| {
        let reason = short(row.absent.as_ref()?);
        Some(format!("Missing: {} on {}; {reason}.", short(&row.workload), short(&row.platform)))
    });
    missing.take(MOST_MISSING).collect()
}
