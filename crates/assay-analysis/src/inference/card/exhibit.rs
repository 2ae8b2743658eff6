//! The flash table, and random operations of a card next to published ones as a figure.

use assay_core::exhibit::figure::{
    Axis, AxisScale, Colour, Figure, Guide, Look, Mark, Point, id_of, short,
};
use assay_core::exhibit::parts::{FigureRows, Sort, by_sort};
use assay_core::exhibit::{Column, Exhibit, Row, Table, Unit, Value};
use assay_core::{catalogue::About, quantity::units::show};
use assay_study::findings::shown::mark_trust;
use assay_workloads::tell::FactsFigure;

use super::{CardNumber, CardRow, FlashRow, RatingResult};
use crate::inference::{distinct, with_levels};

pub static CARD: FactsFigure = FactsFigure {
    key: TOPIC,
    about: About {
        name: TOPIC,
        summary: "random IOPS of a card next to published values",
        text: "Filled points are geometric means of the trials, with the 95% CI as a line. Hollow points are \
               published values of other devices, from vendors or the article's author. The axis is logarithmic \
               because the IOPS of equally priced cards differ by up to a factor of 1000. A card below the line of \
               the laptop disk feels slower than such a disk.",
    },
    leads: false,
};

const TOPIC: &str = "card";

pub fn exhibit(rows: &[CardRow]) -> Option<Exhibit> {
    let first = rows.first()?;
    let cards: Vec<&CardRow> = rows.iter().take(MOST_CARDS).collect();
    Some(Exhibit {
        topic: TOPIC.to_owned(),
        tables: vec![table(first, rows)],
        figures: figure(&cards).into_iter().collect(),
        ..Exhibit::default()
    })
}

fn table(first: &CardRow, rows: &[CardRow]) -> Table {
    let per = first.price.as_ref().map_or("price", |price| price.currency.as_str());
    let mb = |number: &Option<CardNumber>| number.as_ref().map(|one| show::mb_per_s(one.value));
    let iops = |number: &Option<CardNumber>| number.as_ref().map(|one| show::per_second(one.value));
    let mut table = Table::new("flash table");
    table.add(Column::left("device"), rows, name);
    table.add(Column::right("read MB/s"), rows, |row| mb(&row.sequential_read));
    table.add(Column::right("write MB/s"), rows, |row| mb(&row.sequential_write));
    table.add(Column::right("read IOPS").breaks(), rows, |row| iops(&row.random_read));
    table.add(Column::right("write IOPS"), rows, |row| iops(&row.random_write));
    table.add(Column::right("claimed").breaks(), rows, |row| {
        row.rated_bytes_per_s.map(|rate| format!("{} MB/s", show::mb_per_s(rate)))
    });
    table.add(Column::new("of claim", Unit::Share), rows, |row| row.share_of_rating);
    table.add(Column::right("price"), rows, |row| row.price.as_ref().map(|price| &price.text));
    table.add(Column::right(format!("IOPS/{per}")), rows, |row| {
        row.iops_per_unit.map(show::per_second)
    });
    table.add(Column::left("90 IOPS").breaks(), rows, compared_with_line);
    add_published(&mut table, &first.published);
    table.notes = rows.iter().flat_map(sentences).collect();
    table
}

fn add_published(table: &mut Table, published: &[FlashRow]) {
    for device in distinct(published.iter().map(|one| one.item.as_str())) {
        let iops =
            |writes: bool| published.iter().find(|one| one.item == device && one.writes == writes);
        let mut cells = vec![Value::Missing; table.columns.len()];
        // Columns of the device, read IOPS and write IOPS.
        cells[0] = format!("{device}, published").into();
        cells[3] = iops(false).map(|one| show::per_second(one.iops)).into();
        cells[4] = iops(true).map(|one| show::per_second(one.iops)).into();
        table.rows.push(Row::new(cells));
    }
}

/// The device; with several devices also the target, which distinguishes cards of the same kind.
fn name(row: &CardRow) -> String {
    with_levels(&row.device, &row.target)
}

/// Random writes against the article's reference line, which is the first published figure.
fn compared_with_line(row: &CardRow) -> Option<&'static str> {
    let line = row.published.iter().find(|one| one.writes)?;
    Some(match line.place {
        RatingResult::Above => "above",
        RatingResult::Below => "below",
        RatingResult::Open => "cannot be determined",
    })
}

fn sentences(row: &CardRow) -> Vec<String> {
    if row.target.is_empty() {
        return row.text.clone();
    }
    row.text.iter().map(|text| format!("{}: {text}", row.target)).collect()
}

const IOPS: &str = "iops";
/// Whether cards are published figures, and their name in the legend.
const SORTS: [Sort<bool>; 2] =
    [(false, "here", Colour::Series(0), 0), (true, "published", Colour::Series(1), 3)];
const MOST_CARDS: usize = 8;
/// One access type: its heading, whether it writes, and the number of each card.
type Access = (&'static str, bool, fn(&CardRow) -> Option<&CardNumber>);
const ACCESSES: [Access; 2] = [
    ("4 KiB random writes", true, |card| card.random_write.as_ref()),
    ("4 KiB random reads", false, |card| card.random_read.as_ref()),
];

/// The random IOPS of the cards, beside those of published devices; `None` without any point.
fn figure(cards: &[&CardRow]) -> Option<Figure> {
    let first = cards.first()?;
    let (mut rows, mut points) = (FigureRows::default(), Vec::new());
    for (heading, writes, number) in ACCESSES {
        let numbers = cards.iter().filter_map(|card| Some((*card, number(card)?)));
        let mut numbers = numbers.filter(|(_, number)| is_positive(number.value)).peekable();
        if numbers.peek().is_none() {
            continue;
        }
        rows.heading(heading);
        for (card, number) in numbers {
            let name = short(if card.target.is_empty() { &card.device } else { &card.target });
            points.push((false, measured_point(rows.add(&name), &name, number)));
        }
        let mut published: Vec<&FlashRow> =
            first.published.iter().filter(|one| one.writes == writes && !one.line).collect();
        published.sort_by(|left, right| right.iops.total_cmp(&left.iops));
        for device in published.into_iter().filter(|one| is_positive(one.iops)) {
            let name = short(&device.item);
            let point = Point::new(rows.add(&name), Unit::Iops, &name, device.iops, None);
            let note = format!("published: {}", short(&device.kind));
            points.push((true, point.marked(Look::Hollow, &note)));
        }
    }
    if points.is_empty() {
        return None;
    }
    let line = first.published.iter().find(|one| one.line && is_positive(one.iops));
    let guide = line.map(|one| {
        let name = format!("{}: {} IOPS", short(&one.item), Unit::Iops.text(one.iops));
        Guide::line(one.iops, name)
    });
    let value = Axis::new("IOPS", AxisScale::Log10, Unit::Iops);
    Some(Figure {
        id: id_of(&["card", IOPS]),
        title: "Random IOPS, measured here and published for other devices".to_owned(),
        description:
            "Each filled point is a geometric mean of the trials, with its 95% CI as a line; hollow points are \
             published values of other devices. The axis is logarithmic."
                .to_owned(),
        guides: guide.into_iter().collect(),
        metric: Some(IOPS.to_owned()),
        ..Figure::lying(rows.axis(), value, by_sort(SORTS, points, Mark::Points))
    })
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn measured_point(row: f64, name: &str, number: &CardNumber) -> Point {
    let ends = number.ci95.filter(|ends| ends.iter().all(|end| is_positive(*end)));
    let point = mark_trust(Point::new(row, Unit::Iops, name, number.value, ends), number.trust);
    if ends.is_none() { point.marked(Look::Hollow, "no CI") } else { point }
}
