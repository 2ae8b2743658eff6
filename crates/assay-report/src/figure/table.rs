//! The table that stands under a chart: a row for each mark.

use super::{Figure, Layout, Point, Series, Tile};
use crate::document::{Cell, Row, Table, Tone};
use crate::table::Column;

impl Figure {
    /// The same numbers as a table: a row for each mark, in the order of the figure.
    pub fn table(&self) -> Table {
        let parts = Parts::of(self);
        let rows = self.series.iter().flat_map(|series| {
            let points = series.marks.points().iter().map(|point| parts.point(series, point));
            points.chain(series.marks.tiles().iter().map(|tile| parts.tile(series, tile)))
        });
        Table { columns: parts.columns(), rows: rows.collect() }
    }
}

#[allow(clippy::struct_excessive_bools, reason = "each is a column")]
struct Parts<'a> {
    figure: &'a Figure,
    series: bool,
    tiles: bool,
    intervals: bool,
    remarks: bool,
}

impl<'a> Parts<'a> {
    fn of(figure: &'a Figure) -> Self {
        let points = || figure.series.iter().flat_map(|series| series.marks.points());
        let tiles = figure.series.iter().any(|series| !series.marks.tiles().is_empty());
        Self {
            figure,
            series: figure.series.len() > 1 && !tiles,
            tiles,
            intervals: points().any(|point| point.interval.is_some()),
            remarks: points().any(|point| point.remark.is_some()),
        }
    }

    fn columns(&self) -> Vec<Column> {
        let named = |title: &str, other: &str| {
            if title.is_empty() { other.to_owned() } else { title.to_owned() }
        };
        let along = Column::left(named(&self.figure.along.title, "name")).key();
        let value = named(&self.figure.value.title, "value");
        let mut columns = vec![along];
        columns.extend(self.series.then(|| Column::left("series").key()));
        if self.tiles {
            columns
                .extend([Column::left(value).key(), Column::right(self.figure.interval.clone())]);
            return columns;
        }
        columns.push(Column::right(value));
        columns.extend(self.intervals.then(|| Column::right(self.figure.interval.clone())));
        columns.extend(self.remarks.then(|| Column::left("remark").judged()));
        columns
    }

    fn point(&self, series: &Series, point: &Point) -> Row {
        let along = self.along(point.at);
        let unit = &self.figure.value.unit;
        let mut cells = vec![along.clone()];
        cells.extend(self.series.then(|| series.name.clone()));
        let [value, ends] = unit.with_interval(point.value, point.interval);
        cells.push(value);
        cells.extend(self.intervals.then_some(ends));
        cells.extend(self.remarks.then(|| point.remark.clone().unwrap_or_default()));
        row(&format!("{along} {}", series.name), cells)
    }

    /// The name, with the heading that it stands under.
    fn along(&self, at: f64) -> String {
        let name = self.figure.along.text(at);
        let super::Scale::Category(slots) = &self.figure.along.scale else { return name };
        let before = slots.iter().take(at.round().max(0.0) as usize);
        let heading = before.rev().find(|slot| slot.heading);
        match heading {
            Some(heading) if self.figure.layout == Layout::Lying => {
                format!("{}: {name}", heading.name)
            }
            _ => name,
        }
    }

    fn tile(&self, series: &Series, tile: &Tile) -> Row {
        let along = range(&self.figure.along, tile.at);
        let value = range(&self.figure.value, tile.value);
        row(&format!("{along} {value} {}", series.name), vec![along, value, tile.label.clone()])
    }
}

fn range(axis: &super::Axis, [from, to]: [f64; 2]) -> String {
    if let super::Scale::Category(_) = axis.scale {
        return axis.text(f64::midpoint(from, to));
    }
    format!("{} to {}", axis.text(from), axis.text(to))
}

fn row(name: &str, cells: Vec<String>) -> Row {
    let cell = |text| Cell { text, tone: Tone::Plain };
    Row {
        name: name.trim_end().to_owned(),
        cells: cells.into_iter().map(cell).collect(),
        notes: Vec::new(),
    }
}
