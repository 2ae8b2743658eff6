//! Random operations of a card beside published ones: its row of the flash table as a figure.

use super::Drawing;
use super::words::{marked, point, short, trusted};
use crate::evidence::Evidence;
use crate::figure::{
    Axis, Colour, Figure, Guide, Layout, Look, Marks, Point, Scale, Series, Slot, Unit, id_of,
};
use assay_core::catalogue::About;
use assay_core::findings::answers::{Beside, CardNumber, CardRow};

/// The registry's entry.
pub static CARD: Drawing = Drawing {
    about: About {
        name: "card",
        summary: "random operations per second of a card beside published ones",
        text: "Filled points are geometric means of the trials, their lines the 95 % interval; hollow \
               ones were published of other devices, by their vendors or by the article's author. \
               Operations go by factors of ten: cards of one price lie a factor of a thousand apart. \
               Below the line of the laptop disk a card feels slower than the disk that it replaces.",
    },
    draw,
};

const IOPS: &str = "iops";
const MOST_CARDS: usize = 8;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let cards: Vec<&CardRow> = evidence.findings.cards.iter().take(MOST_CARDS).collect();
    figure(&cards).into_iter().collect()
}

/// One way of access: its heading, whether it writes, and the number of each card.
type Way = (&'static str, bool, fn(&CardRow) -> Option<&CardNumber>);

const WAYS: [Way; 2] = [
    ("random writes of 4 KiB", true, |card| card.random_write.as_ref()),
    ("random reads of 4 KiB", false, |card| card.random_read.as_ref()),
];

fn figure(cards: &[&CardRow]) -> Option<Figure> {
    let first = cards.first()?;
    let (mut slots, mut own, mut published) = (Vec::new(), Vec::new(), Vec::new());
    for (heading, writes, number) in WAYS {
        let numbers = cards.iter().filter_map(|card| Some((*card, number(card)?)));
        let numbers: Vec<(&CardRow, &CardNumber)> =
            numbers.filter(|(_, number)| is_positive(number.value)).collect();
        if numbers.is_empty() {
            continue;
        }
        slots.push(Slot { name: heading.to_owned(), heading: true });
        for (card, number) in numbers {
            let name = called(card);
            own.push(here(slots.len() as f64, &name, number));
            slots.push(Slot { name, heading: false });
        }
        let mut others: Vec<&Beside> =
            first.beside.iter().filter(|one| one.writes == writes && !one.line).collect();
        others.sort_by(|left, right| right.iops.total_cmp(&left.iops));
        for one in others.into_iter().filter(|one| is_positive(one.iops)) {
            let name = short(&one.item);
            published.push(elsewhere(slots.len() as f64, &name, one));
            slots.push(Slot { name, heading: false });
        }
    }
    if own.is_empty() {
        return None;
    }
    let lines = first.beside.iter().filter(|one| one.line && is_positive(one.iops)).take(1);
    let unit = Unit::Metric(IOPS.to_owned());
    let guides = lines.map(|one| Guide {
        from: one.iops,
        to: one.iops,
        name: format!("{}: {} IOPS", short(&one.item), unit.text(one.iops)),
    });
    let guides = guides.collect();
    let series = [
        Series { colour: Colour::Series(0), ..Series::new(0, "here", Marks::Points(own)) },
        Series {
            colour: Colour::Series(1),
            ..Series::new(3, "published", Marks::Points(published))
        },
    ];
    Some(Figure {
        id: id_of(&["card", IOPS]),
        title: "Random operations per second, here and as published of others".to_owned(),
        description: "Each filled point is a geometric mean of the trials, its line the 95 % interval; hollow \
                      ones are other devices', as published. Operations go by factors of ten."
            .to_owned(),
        layout: Layout::Lying,
        along: Axis::new("", Scale::Category(slots), Unit::Number),
        value: Axis::new("operations per second", Scale::Log10, unit),
        series: series.into_iter().filter(|one| !one.marks.is_empty()).collect(),
        spans: Vec::new(),
        guides,
        interval: "95 % interval".to_owned(),
        notes: Vec::new(),
        workload: None,
        metric: Some(IOPS.to_owned()),
    })
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn called(card: &CardRow) -> String {
    if card.target.is_empty() { short(&card.device) } else { short(&card.target) }
}

fn here(at: f64, name: &str, number: &CardNumber) -> Point {
    let unit = Unit::Metric(IOPS.to_owned());
    let ends = number.ci95.filter(|ends| ends.iter().all(|end| is_positive(*end)));
    let told = trusted(point(at, &unit, name, number.value, ends), number.trust);
    if ends.is_none() { marked(told, Look::Hollow, "no interval") } else { told }
}

fn elsewhere(at: f64, name: &str, one: &Beside) -> Point {
    let unit = Unit::Metric(IOPS.to_owned());
    let told = point(at, &unit, name, one.iops, None);
    marked(told, Look::Hollow, &format!("published: {}", short(&one.kind)))
}
