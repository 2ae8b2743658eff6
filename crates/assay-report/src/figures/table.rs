//! The table below a figure.

use assay_core::exhibit::figure::{Axis, AxisScale, Figure, Layout, Point, Series};

use crate::document::{Column, Table};

/// The numbers of a figure as a table: a row for each mark, in the order of the figure.
pub fn table(figure: &Figure) -> Table {
    let along = Column::key(title_or(&figure.along.title, "name"));
    let value = title_or(&figure.value.title, "value");
    let mut points: Vec<(&Series, &Point)> = Vec::new();
    for series in &figure.series {
        points.extend(series.points.iter().map(|point| (series, point)));
    }
    let mut table = Table::default();
    if figure.series.iter().any(|series| series.mark.is_tile()) {
        table.add(along, &points, |(_, point)| range(&figure.along, point.ends()[0]));
        table.add(Column::key(value), &points, |(_, point)| range(&figure.value, point.ends()[1]));
        table.add(Column::right(&figure.interval), &points, |(_, point)| {
            point.label.as_deref().unwrap_or_default()
        });
        return table;
    }
    table.add(along, &points, |(_, point)| name_at(figure, point.at));
    if figure.series.len() > 1 {
        table.add(Column::key("series"), &points, |(series, _)| &series.name);
    }
    let texts = |point: &Point| figure.value.unit.with_interval(point.value, point.interval);
    table.add(Column::right(value), &points, |(_, point)| {
        let [value, _] = texts(point);
        value
    });
    if figure.points().any(|point| point.interval.is_some()) {
        table.add(Column::right(&figure.interval), &points, |(_, point)| {
            let [_, ends] = texts(point);
            ends
        });
    }
    if figure.points().any(|point| point.remark.is_some()) {
        table.add(Column::verdict("remark"), &points, |(_, point)| {
            point.remark.as_deref().unwrap_or_default()
        });
    }
    table
}

fn title_or(title: &str, fallback: &str) -> String {
    if title.is_empty() { fallback.to_owned() } else { title.to_owned() }
}

/// The text at a position along the axis; in a horizontal figure, after the last heading above it.
fn name_at(figure: &Figure, at: f64) -> String {
    let name = figure.along.text(at);
    let AxisScale::Category(slots) = &figure.along.scale else { return name };
    let mut before = slots.iter().take(at.round().max(0.0) as usize).rev();
    match before.find(|slot| slot.heading) {
        Some(heading) if figure.layout == Layout::Lying => format!("{}: {name}", heading.name),
        _ => name,
    }
}

/// `10 to 20`, or the name that a tile is centered on.
fn range(axis: &Axis, ends: [f64; 2]) -> String {
    let [from, to] = ends;
    if let AxisScale::Category(_) = axis.scale {
        return axis.text(f64::midpoint(from, to));
    }
    format!("{} to {}", axis.text(from), axis.text(to))
}
