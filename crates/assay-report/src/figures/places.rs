//! Places side by side: per cent of the baseline place, and each workload in its own unit.

use super::words::{metric_title, point, short, trusted};
use super::{Drawing, at_most, clipped};
use crate::document::places::{value, work_name};
use crate::evidence::Evidence;
use crate::figure::{
    Axis, Figure, Guide, Layout, Look, Marks, Point, Scale, Series, Slot, Unit, id_of,
};
use assay_core::catalogue::About;
use assay_core::findings::places::{Beside, Places, Row};
use assay_core::quantity::units::show;
use assay_core::results::plan::Arm;

/// The registry's entry.
pub static PLACES: Drawing = Drawing {
    about: About {
        name: "places",
        summary: "the same work in several places, in per cent of one of them and in its own unit",
        text: "Of `assay compare --by place`. The first figure has a bar for each workload in each \
               place: its speed in per cent of the baseline place, with the interval that holds for \
               all places of the workload at once. Then each workload has its numbers in their own \
               unit. Emulated places are hatched: they have no verdict. Published rows stand below \
               the others in a colour of their own, in per cent of their own baseline.",
    },
    draw,
};

const MOST_FIGURES: usize = 9;
/// Bars of one figure; what has more can only be read as a table.
const MOST_BARS: usize = 80;
/// What sets series apart, in the order of the legend.
const SERIES: [&str; 3] = ["places", "emulated: no verdict", "published"];

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let Some(places) = &evidence.findings.places else { return Vec::new() };
    let works = works(places);
    let mut figures: Vec<Figure> = percent(places, &works).into_iter().collect();
    figures.extend(works.iter().filter_map(|work| own_unit(places, work)));
    at_most(figures, MOST_FIGURES, "workload")
}

/// A workload with its settings and its metric.
type Work<'a> = (&'a str, &'a Arm, &'a str);

fn works(places: &Places) -> Vec<Work<'_>> {
    let mut works: Vec<Work<'_>> = Vec::new();
    for row in &places.rows {
        let work = (row.workload.as_str(), &row.arm, row.metric.as_str());
        if !works.contains(&work) {
            works.push(work);
        }
    }
    works
}

fn rows<'a>(places: &'a Places, work: &Work<'a>) -> impl Iterator<Item = &'a Row> {
    let (workload, arm, metric) = *work;
    places
        .rows
        .iter()
        .filter(move |row| row.workload == workload && row.arm == *arm && row.metric == metric)
}

/// Bars as they are gathered: their names, and the points of each of [`SERIES`].
#[derive(Default)]
struct Bars {
    slots: Vec<Slot>,
    points: [Vec<Point>; 3],
}

impl Bars {
    fn heading(&mut self, name: &str) {
        self.slots.push(Slot { name: short(name), heading: true });
    }

    fn add(&mut self, series: usize, name: &str, point: impl FnOnce(f64) -> Point) {
        let made = point(self.slots.len() as f64);
        self.slots.push(Slot { name: short(name), heading: false });
        self.points[series].push(made);
    }

    /// Series with something in them; one alone needs no name, unless it is of emulated places.
    fn series(self) -> (Axis, Vec<Series>) {
        let used: Vec<usize> = (0..3).filter(|at| !self.points[*at].is_empty()).collect();
        let alone = used == [0];
        let series = self.points.into_iter().enumerate().filter(|(_, own)| !own.is_empty()).map(
            |(at, own)| {
                let name = if alone { "" } else { SERIES[at] };
                Series { shape: 0, ..Series::new(at, name, Marks::Bars(own)) }
            },
        );
        let series = series.collect();
        let along = Axis::new("", Scale::Category(self.slots), Unit::Number);
        (along, series)
    }
}

/// Of each workload and place its per cent of the baseline.
fn percent(places: &Places, works: &[Work<'_>]) -> Option<Figure> {
    let mut bars = Bars::default();
    let several = works.len() > 1 || !places.beside.is_empty();
    for work in works {
        let known: Vec<&Row> = rows(places, work).filter(|row| row.percent.is_some()).collect();
        if known.len() < 2 {
            continue;
        }
        if several {
            bars.heading(&work_name(work.0, work.1));
        }
        for row in known {
            let value = row.percent.unwrap_or_default();
            bars.add(usize::from(row.emulated), &row.place, |at| of_row(at, row, value));
        }
    }
    places.beside.iter().for_each(|table| published(&mut bars, table));
    if bars.slots.len() < 2 || bars.slots.len() > MOST_BARS {
        return None;
    }
    let title = format!("Speed in per cent of {}", places.baseline);
    let guide = Guide { from: 100.0, to: 100.0, name: String::new() };
    let value = Axis::new(title.clone(), Scale::Linear, Unit::Percent);
    let (along, series) = bars.series();
    let left_out = left_out(places, None);
    Some(finished("percent", &title, None, (along, value, series), vec![guide], left_out))
}

fn of_row(at: f64, row: &Row, value: f64) -> Point {
    let interval = row.percent_interval();
    let told = point(at, &Unit::Percent, &row.place, value, interval);
    let [percent, low, high] = if row.comparison.is_some() {
        show::percents(value, interval)
    } else {
        ["100".to_owned(), String::new(), String::new()]
    };
    let ends = interval.map_or_else(String::new, |_| format!(" ({low} to {high})"));
    let text = format!("{}: {percent} %{ends}", row.place);
    looking(row, Point { label: Some(format!("{percent} %")), text, ..told })
}

/// Emulated places are hatched; others are marked by how far they can be trusted.
fn looking(row: &Row, point: Point) -> Point {
    if !row.emulated {
        return trusted(point, row.trust);
    }
    let text = format!("{}; emulated", point.text);
    Point { look: Look::Hatched, remark: Some("emulated".to_owned()), text, ..point }
}

/// The rows of a published table, with the digits that were printed.
fn published(bars: &mut Bars, table: &Beside) {
    bars.heading(&format!("{}: {}, as published", table.source, table.work));
    for row in &table.rows {
        bars.add(2, &row.place, |at| {
            let plain = point(at, &Unit::Percent, &row.place, row.printed.percent, None);
            let text = format!("{}, {}: {}, {}", table.source, row.place, row.value, row.percent);
            let doubt =
                (!row.printed.follows).then(|| "does not follow from its number".to_owned());
            let label = match &doubt {
                Some(_) => format!("{} (or {:.2} %)", row.percent, row.printed.computed),
                None => row.percent.clone(),
            };
            Point { text, label: Some(label), remark: doubt, ..plain }
        });
    }
}

/// One workload in its own unit.
fn own_unit(places: &Places, work: &Work<'_>) -> Option<Figure> {
    let (workload, arm, metric) = *work;
    let unit = Unit::Metric(metric.to_owned());
    let mut bars = Bars::default();
    for row in rows(places, work) {
        let Some(mean) = row.value else { continue };
        bars.add(usize::from(row.emulated), &row.place, |at| {
            let told = point(at, &unit, &row.place, mean, row.ci95);
            let told = Point { label: Some(value(row)), ..told };
            looking(
                row,
                if row.ci95.is_some() {
                    told
                } else {
                    Point { text: format!("{}: {}", row.place, value(row)), ..told }
                },
            )
        });
    }
    if bars.slots.len() < 2 || bars.slots.len() > MOST_BARS {
        return None;
    }
    let what = metric_title(metric);
    let title = format!("{}: {what}", short(&work_name(workload, arm)));
    let axis = Axis::new(what, Scale::Linear, unit);
    let (along, series) = bars.series();
    let left_out = left_out(places, Some(work));
    let id = format!("{workload} {} {metric}", work_name("", arm));
    let figure = finished(&id, &title, Some(workload), (along, axis, series), Vec::new(), left_out);
    Some(Figure { metric: Some(metric.to_owned()), ..figure })
}

/// What could not be drawn.
fn left_out(places: &Places, work: Option<&Work<'_>>) -> Vec<String> {
    let own = places.rows.iter().filter(|row| {
        work.is_none_or(|(workload, arm, metric)| {
            row.workload == *workload && row.arm == **arm && row.metric == *metric
        })
    });
    let missing = own.filter_map(|row| {
        let reason = short(row.absent.as_ref()?);
        Some(format!("Not there: {} in {}: {reason}.", short(&row.workload), short(&row.place)))
    });
    missing.take(6).collect()
}

/// The most that an axis shows beyond its longest bar, for intervals.
const BEYOND: f64 = 1.4;

fn finished(
    id: &str,
    title: &str,
    workload: Option<&str>,
    (along, value, series): (Axis, Axis, Vec<Series>),
    guides: Vec<Guide>,
    mut notes: Vec<String>,
) -> Figure {
    let values = series.iter().flat_map(|one| one.marks.points()).map(|bar| bar.value);
    let value = Axis { limits: Some([0.0, BEYOND * values.fold(0.0, f64::max)]), ..value };
    let value = value.from_zero();
    notes.extend(clipped(&series, &value));
    Figure {
        id: id_of(&["places", id]),
        title: title.to_owned(),
        description:
            "Each bar is a place, the line at its end the 95 % interval. Hatched bars are \
                      emulated, hollow ones not to be trusted."
                .to_owned(),
        layout: Layout::Lying,
        along,
        value,
        series,
        spans: Vec::new(),
        guides,
        interval: "95 % interval".to_owned(),
        notes,
        workload: workload.map(str::to_owned),
        metric: None,
    }
}
