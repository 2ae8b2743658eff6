//! Random operations of a card beside published ones: its row of the flash table as a figure.

use super::Drawing;
use crate::evidence::Evidence;
use assay_base::catalogue::About;
use assay_base::exhibit::Unit;
use assay_base::exhibit::figure::{
    Axis, AxisScale, Colour, Figure, Guide, Look, Mark, Point, id_of, short,
};
use assay_base::exhibit::parts::{Rows, Sort, by_sort};
use assay_study::findings::answers::{Beside, CardNumber, CardRow};
use assay_study::findings::shown::mark_trust;

pub static CARD: Drawing = Drawing {
    about: About {
        name: "card",
        summary: "random IOPS of a card next to published values",
        text: "Filled points are geometric means of the trials, with the 95% CI as a line. Hollow points are \
               published values of other devices, from vendors or the article's author. The axis is logarithmic \
               because the IOPS of equally priced cards differ by up to a factor of 1000. A card below the line of \
               the laptop disk feels slower than such a disk.",
    },
    draw,
};

const IOPS: &str = "iops";
/// Whether they are published, and how the legend has them.
const SORTS: [Sort<bool>; 2] =
    [(false, "here", Colour::Series(0), 0), (true, "published", Colour::Series(1), 3)];
const MOST_CARDS: usize = 8;

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let cards: Vec<&CardRow> = evidence.findings.cards.iter().take(MOST_CARDS).collect();
    figure(&cards).into_iter().collect()
}

/// One way of access: its heading, whether it writes, and the number of each card.
type Way = (&'static str, bool, fn(&CardRow) -> Option<&CardNumber>);

const WAYS: [Way; 2] = [
    ("4 KiB random writes", true, |card| card.random_write.as_ref()),
    ("4 KiB random reads", false, |card| card.random_read.as_ref()),
];

fn figure(cards: &[&CardRow]) -> Option<Figure> {
    let first = cards.first()?;
    let (mut rows, mut points) = (Rows::default(), Vec::new());
    for (heading, writes, number) in WAYS {
        let numbers = cards.iter().filter_map(|card| Some((*card, number(card)?)));
        let mut numbers = numbers.filter(|(_, number)| is_positive(number.value)).peekable();
        if numbers.peek().is_none() {
            continue;
        }
        rows.heading(heading);
        for (card, number) in numbers {
            let name = called(card);
            points.push((false, here(rows.add(&name), &name, number)));
        }
        let mut others: Vec<&Beside> =
            first.published.iter().filter(|one| one.writes == writes && !one.line).collect();
        others.sort_by(|left, right| right.iops.total_cmp(&left.iops));
        for one in others.into_iter().filter(|one| is_positive(one.iops)) {
            let name = short(&one.item);
            points.push((true, elsewhere(rows.add(&name), &name, one)));
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

fn called(card: &CardRow) -> String {
    if card.target.is_empty() { short(&card.device) } else { short(&card.target) }
}

fn here(at: f64, name: &str, number: &CardNumber) -> Point {
    let ends = number.ci95.filter(|ends| ends.iter().all(|end| is_positive(*end)));
    let told = mark_trust(Point::new(at, Unit::Iops, name, number.value, ends), number.trust);
    if ends.is_none() { told.marked(Look::Hollow, "no CI") } else { told }
}

fn elsewhere(at: f64, name: &str, one: &Beside) -> Point {
    let told = Point::new(at, Unit::Iops, name, one.iops, None);
    told.marked(Look::Hollow, &format!("published: {}", short(&one.kind)))
}
