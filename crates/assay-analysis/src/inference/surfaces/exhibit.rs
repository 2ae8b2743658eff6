//! Tables and figures of the rate over the area, from its first byte to its last, and of single access times.

use assay_core::catalogue::About;
use assay_core::exhibit::figure::{
    Axis, AxisScale, Figure, Guide, Mark, Point, Series, id_of, joined, short, with_marks,
};
use assay_core::exhibit::parts::{as_wide, left_out};
use assay_core::exhibit::{Column, Exhibit, Table, Unit};
use assay_study::findings::shown::{Names, Rating, mark_trust};
use assay_study::findings::{Findings, Measurement, Trust};
use assay_study::results::plan::{Arm, arm_in_words};
use assay_workloads::tell::FactsFigure;

use super::super::published::Published;
use super::{Accesses, Extremes, Surface};

pub static SURFACE: FactsFigure = FactsFigure {
    key: TOPIC,
    about: About {
        name: TOPIC,
        summary: "rate over the area, from its first byte to its last, with access times as dots",
        text: "A line connects the geometric means of the trials at each offset, or in each tenth of the area if \
               there are too many offsets; the band spans the lowest to the highest trial. A disk becomes slower \
               towards its end, and a partly written drive shows its unwritten part. Each access time is one \
               operation of one trial, shown as a dot at its offset.",
    },
    leads: false,
};

const TOPIC: &str = "surface";
const RATE: &str = "bandwidth_bytes_per_s";
const LATENCY: &str = "latency_mean_ns";
const MOST_LINES: usize = 8;
const MOST_DOTS: usize = 1000;

/// Tables and figures of all surfaces and accesses; `None` if there are none.
pub fn exhibit(
    found: &Findings,
    published: &[Published],
    surfaces: &[Surface],
    accesses: &[Accesses],
) -> Option<Exhibit> {
    if surfaces.is_empty() && accesses.is_empty() {
        return None;
    }
    let names = Names::from_findings(found);
    let mut tables: Vec<Table> = surfaces.iter().map(|one| surface_table(found, one)).collect();
    if let Some(first) = tables.first_mut() {
        let how = "Rate in each tenth of the area, starting at the first byte: geometric mean of n trials, with the \
                   lowest and highest trial.";
        first.notes.insert(0, how.to_owned());
    }
    if !accesses.is_empty() {
        tables.push(access_table(found, accesses));
    }
    let figures = [rate_figure(published, surfaces, &names), access_figure(accesses, &names)];
    Some(Exhibit {
        topic: TOPIC.to_owned(),
        tables,
        figures: figures.into_iter().flatten().collect(),
        ..Exhibit::default()
    })
}

fn surface_table(found: &Findings, surface: &Surface) -> Table {
    let Surface { workload, configuration, bands, .. } = surface;
    let rating = rating(found.cell(workload, configuration, RATE), surface.trust);
    let name = format!("{workload} {}", arm_in_words(configuration.iter()));
    let mut table = Table::new(format!("{}: rate over the area", name.trim_end()));
    table.add(Column::right("area"), bands, |band| {
        format!("{}-{}%", band.from_percent, band.to_percent)
    });
    table.add(Column::new("rate", Unit::BytesPerS), bands, |band| band.bandwidth_bytes_per_s);
    table.add(Column::new("lowest", Unit::BytesPerS), bands, |band| band.ends.map(|[low, _]| low));
    table.add(Column::new("highest", Unit::BytesPerS), bands, |band| {
        band.ends.map(|[_, high]| high)
    });
    table.add(Column::new("n", Unit::Count), bands, |band| band.n as u64);
    table.add(Column::verdict("trust"), bands, |band| Rating::cell(rating.filter(|_| band.n > 0)));
    if let Some(of) = surface.whole {
        let [lowest, mean, highest] =
            [of.lowest, of.mean, of.highest].map(|rate| Unit::BytesPerS.text(rate));
        let text = format!("Over all positions: lowest {lowest}, highest {highest}, mean {mean}.");
        table.notes.push(text);
    }
    table.notes.extend(surface.note.iter().map(|note| format!("Incomplete: {note}.")));
    table
}

fn access_table(found: &Findings, accesses: &[Accesses]) -> Table {
    let setting = |access: &Accesses| arm_in_words(access.configuration.iter());
    let mut table = Table::new("access times");
    table.add(Column::key("workload"), accesses, |access| &access.workload);
    if accesses.iter().any(|access| access.configuration != accesses[0].configuration) {
        table.add(Column::key("setting"), accesses, setting);
    }
    table.add(Column::new("lowest", Unit::Nanoseconds), accesses, |access| access.whole.lowest);
    table.add(Column::new("mean", Unit::Nanoseconds), accesses, |access| access.whole.mean);
    table.add(Column::new("highest", Unit::Nanoseconds), accesses, |access| access.whole.highest);
    table.add(Column::new("n", Unit::Count), accesses, |access| access.n as u64);
    table.add(Column::verdict("trust"), accesses, |access| {
        let cell = found.cell(&access.workload, &access.configuration, LATENCY);
        Rating::cell(rating(cell, access.trust))
    });
    for (row, access) in table.rows.iter_mut().zip(accesses) {
        row.name = format!("{} {}", access.workload, setting(access));
    }
    let how = "Individual operations at random positions, one at a time, from all n trials.";
    table.notes.push(how.to_owned());
    table
}

fn rating(row: Option<&Measurement>, trust: Option<Trust>) -> Option<Rating> {
    let is_lent = trust == Some(Trust::Trusted) && row.is_some_and(Measurement::is_lent);
    trust.map(|trust| Rating { trust, is_lent })
}

/// Label of a line: its workload if there are several, and its arm.
fn label(names: &Names, several: bool, workload: &str, arm: &Arm) -> String {
    let workload = if several { short(workload) } else { String::new() };
    joined(&[&workload, &names.arm(arm)])
}

/// The rate over the area as a line per surface; all workloads in one figure, to compare reads with writes.
fn rate_figure(published: &[Published], surfaces: &[Surface], names: &Names) -> Option<Figure> {
    let first = surfaces.first()?;
    let several = surfaces.iter().any(|one| one.workload != first.workload);
    let label = |one: &Surface| label(names, several, &one.workload, &one.configuration);
    let shown = surfaces.iter().take(MOST_LINES);
    let lines = shown.clone().map(|one| (label(one), points(one, &label(one))));
    let series = with_marks(Series::each(lines, Mark::Line))?;
    let whole =
        shown.filter_map(|one| Some(extremes_text(&label(one), one.whole?, Unit::BytesPerS)));
    let cut =
        surfaces.iter().filter_map(|one| Some(format!("Incomplete: {}.", one.note.as_ref()?)));
    let more = left_out(surfaces.len().saturating_sub(MOST_LINES), "line");
    let has_positions = surfaces.iter().any(|one| !one.positions.is_empty());
    let each = if has_positions { "position" } else { "tenth" };
    let title = if several { "read and write" } else { &first.workload };
    let along = Axis::new("position in the area", AxisScale::Linear, Unit::Percent);
    let value = Axis::new("rate", AxisScale::Linear, Unit::BytesPerS).from_zero();
    Some(Figure {
        id: id_of(&["surface", &first.workload]),
        title: format!("{}: rate over the area, from its first byte to its last", short(title)),
        description: format!(
            "The line connects the geometric means of the trials per {each} of the area; the band spans the lowest to \
             the highest trial."
        ),
        guides: published_averages(published, surfaces),
        interval: "lowest to highest".to_owned(),
        notes: whole.chain(cut).chain(more).collect(),
        workload: Some(first.workload.clone()),
        ..Figure::upright(along, value, series)
    })
}

/// `surface: minimum 300 MiB/s, mean 512 MiB/s, maximum 560 MiB/s.`
fn extremes_text(name: &str, ends: Extremes, unit: Unit) -> String {
    let [lowest, mean, highest] =
        [ends.lowest, ends.mean, ends.highest].map(|value| unit.text(value));
    let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
    format!("{name}minimum {lowest}, mean {mean}, maximum {highest}.")
}

/// Published rates: averages over a whole surface.
fn published_averages(published: &[Published], surfaces: &[Surface]) -> Vec<Guide> {
    let is_shown = |one: &&Published| {
        one.metric == RATE && surfaces.iter().any(|surface| surface.workload == one.workload)
    };
    let guide = |one: &Published| {
        let value = one.value.filter(|value| value.is_finite() && *value > 0.0)?;
        let name = format!("{}: {} {}", short(&one.workload), short(&one.of), one.text);
        Some(Guide::line(value, name))
    };
    published.iter().filter(is_shown).filter_map(guide).take(2).collect()
}

/// The points of a surface: each position with its rate if known, else the middle of each tenth.
fn points(surface: &Surface, name: &str) -> Vec<Point> {
    let unit = Unit::BytesPerS;
    if !surface.positions.is_empty() {
        let spots = surface.positions.iter().map(|spot| {
            let place = joined(&[name, &format!("{:.0}%", spot.percent)]);
            let (rate, ends) = (spot.bandwidth_bytes_per_s, Some(spot.ends));
            mark_trust(Point::new(spot.percent, unit, &place, rate, ends), surface.trust)
        });
        return spots.collect();
    }
    let mut before = None;
    let mut points = Vec::new();
    for band in &surface.bands {
        let Some(value) = band.bandwidth_bytes_per_s.filter(|value| value.is_finite()) else {
            continue;
        };
        let place = format!("{} to {}%", band.from_percent, band.to_percent);
        let middle = f64::from(band.from_percent + band.to_percent) / 2.0;
        let point = Point::new(middle, unit, &joined(&[name, &place]), value, band.ends);
        let point = mark_trust(point, surface.trust);
        points.push(Point { joined: before == Some(band.from_percent), ..point });
        before = Some(band.to_percent);
    }
    points
}

/// The single operations over the area, as dots; `None` if no trial stored any.
fn access_figure(accesses: &[Accesses], names: &Names) -> Option<Figure> {
    let first = accesses.first()?;
    let several = accesses.iter().any(|one| one.workload != first.workload);
    let unit = Unit::Nanoseconds;
    let mut room = MOST_DOTS;
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (index, one) in accesses.iter().enumerate() {
        if one.dots.is_empty() || one.dots.len() > room || index >= MOST_LINES {
            continue;
        }
        room -= one.dots.len();
        let name = label(names, several, &one.workload, &one.configuration);
        let dot = |(percent, ns): &(f64, u64)| {
            let place = format!("{percent:.1}%");
            mark_trust(Point::new(*percent, unit, &place, *ns as f64, None), one.trust)
        };
        let points = one.dots.iter().map(dot).collect();
        notes.push(extremes_text(&name, one.whole, unit));
        series.push(Series::new(index, name, Mark::Points, points));
    }
    let series = with_marks(series)?;
    let along = Axis::new("position in the area", AxisScale::Linear, Unit::Percent);
    let mean = first.whole.mean;
    let guide = Guide::line(mean, format!("mean {}", unit.text(mean)));
    let (value, _) = as_wide("access time", unit, &series);
    notes.extend(left_out(accesses.len() - series.len(), "configuration"));
    Some(Figure {
        id: id_of(&["surface", &first.workload]),
        title: format!("{}: time of single operations over the area", short(&first.workload)),
        description:
            "Each dot is one operation of one trial at its position; minimum, mean and maximum cover all trials."
                .to_owned(),
        guides: (series.len() == 1).then_some(guide).into_iter().collect(),
        notes,
        workload: Some(first.workload.clone()),
        ..Figure::upright(along, value, series)
    })
}
