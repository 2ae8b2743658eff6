//! The rate over the area, from its first byte to its last.

use super::words::{Names, point, short, trusted};
use super::{Drawing, at_most, left_out};
use crate::evidence::Evidence;
use crate::figure::{Axis, Figure, Layout, Marks, Point, Scale, Series, Unit, id_of};
use assay_core::catalogue::About;
use assay_core::findings::Surface;

/// The registry's entry.
pub static SURFACE: Drawing = Drawing {
    about: About {
        name: "surface",
        summary: "rate over the area, from its first byte to its last",
        text: "The line goes through the geometric means of the trials in each tenth of the area, \
               the band from the lowest to the highest of them. A disk falls towards its end, a \
               drive that was written in part shows what was never written.",
    },
    draw,
};

const RATE: &str = "bandwidth_bytes_per_s";
const MOST_LINES: usize = 8;
const MOST_FIGURES: usize = 4;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let names = Names::of(&evidence.findings);
    let surfaces = &evidence.findings.surfaces;
    let mut workloads: Vec<&str> = surfaces.iter().map(|one| one.workload.as_str()).collect();
    workloads.dedup();
    let figures = workloads.into_iter().filter_map(|workload| {
        let own: Vec<&Surface> = surfaces.iter().filter(|one| one.workload == workload).collect();
        figure(&names, workload, &own)
    });
    at_most(figures.collect(), MOST_FIGURES, "workload")
}

fn figure(names: &Names, workload: &str, own: &[&Surface]) -> Option<Figure> {
    let made = own.iter().take(MOST_LINES).enumerate().map(|(index, surface)| {
        let name = names.arm(&surface.arm);
        let points = points(surface, &name);
        Series::new(index, name, Marks::Line(points))
    });
    let series: Vec<Series> = made.filter(|series| !series.marks.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let mut notes: Vec<String> = own
        .iter()
        .filter_map(|one| one.note.as_ref())
        .map(|note| format!("Not whole: {note}."))
        .collect();
    notes.extend(left_out(own.len().saturating_sub(MOST_LINES), "arm"));
    Some(Figure {
        id: id_of(&["surface", workload]),
        title: format!("{}: rate over the area, from its first byte to its last", short(workload)),
        description: "The line goes through the geometric means of the trials in each tenth of the area; the band \
                      is from the lowest to the highest trial.".to_owned(),
        layout: Layout::Upright,
        along: Axis::new("of the area", Scale::Linear, Unit::Percent),
        value: Axis::new("rate", Scale::Linear, Unit::Metric(RATE.to_owned())).from_zero(),
        series,
        spans: Vec::new(),
        guides: Vec::new(),
        interval: "lowest to highest".to_owned(),
        notes,
workload: Some(workload.to_owned()),
metric: None,
    })
}

fn points(surface: &Surface, name: &str) -> Vec<Point> {
    let unit = Unit::Metric(RATE.to_owned());
    let mut before = None;
    let mut points = Vec::new();
    for band in &surface.bands {
        let Some(value) = band.bandwidth_bytes_per_s.filter(|value| value.is_finite()) else {
            continue;
        };
        let place = format!("{} to {} %", band.from_percent, band.to_percent);
        let place = if name.is_empty() { place } else { format!("{name}, {place}") };
        let ends = band.min.zip(band.max).map(|(low, high)| [low, high]);
        let at = f64::from(band.from_percent + band.to_percent) / 2.0;
        let told = trusted(point(at, &unit, &place, value, ends), surface.trust);
        points.push(Point { joined: before == Some(band.from_percent), ..told });
        before = Some(band.to_percent);
    }
    points
}
