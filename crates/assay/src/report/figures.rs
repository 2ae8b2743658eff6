//! Which figures there are, and what each of them is drawn from. A figure draws nothing where the
//! evidence has not what it needs.

pub mod bars;
pub mod classes;
pub mod effects;
pub mod grid;
pub mod heat;
pub mod order;
pub mod percentiles;
pub mod series;
pub mod surface;
pub mod sweep;
#[cfg(test)]
pub(in crate::report) mod tests;
mod words;

use std::collections::BTreeSet;

use super::evidence::Evidence;
use super::figure::Figure;
use crate::catalogue::About;

/// One kind of figure.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// What it is called, what it shows, how it is read.
    pub about: About,
    /// All figures of this kind that the evidence has something for.
    pub draw: fn(&Evidence) -> Vec<Figure>,
}

/// All kinds, in the order of reading.
pub static FIGURES: &[&Drawing] = &[
    &sweep::SWEEP,
    &effects::EFFECTS,
    &surface::SURFACE,
    &bars::BARS,
    &grid::GRID,
    &percentiles::PERCENTILES,
    &classes::CLASSES,
    &heat::HEAT,
    &series::SERIES,
    &order::ORDER,
];

/// Marks of one figure; what has more can only be read as a table.
const MOST_MARKS: usize = 1500;

fn drawn(kind: &Drawing, evidence: &Evidence) -> Vec<Figure> {
    let figures = (kind.draw)(evidence).into_iter();
    figures.filter(|figure| figure.marks() <= MOST_MARKS).collect()
}

/// All figures of the evidence in the order of reading. No two have the same id.
pub fn all(evidence: &Evidence) -> Vec<Figure> {
    let mut known = BTreeSet::new();
    let mut figures: Vec<Figure> = FIGURES.iter().flat_map(|kind| drawn(kind, evidence)).collect();
    for figure in &mut figures {
        let plain = figure.id.clone();
        let mut number = 2;
        while !known.insert(figure.id.clone()) {
            figure.id = format!("{plain}-{number}");
            number += 1;
        }
    }
    figures
}

/// The figure that shows the answer: the curve where levels are numbers, the arms against their
/// baseline, the rate over a surface, or the bars of a check.
pub fn lead(evidence: &Evidence) -> Option<Figure> {
    let first = |kind: &Drawing| drawn(kind, evidence).into_iter().next();
    // Of several the one with the most to show, the first of equals.
    let fullest =
        |kind: &Drawing| drawn(kind, evidence).into_iter().rev().max_by_key(Figure::marks);
    first(&sweep::SWEEP)
        .or_else(|| fullest(&effects::EFFECTS))
        .or_else(|| first(&surface::SURFACE))
        .or_else(|| fullest(&bars::BARS))
        .or_else(|| all(evidence).into_iter().next())
}

/// At most so many figures; the last one says what was left out. `one` is what each is of.
fn at_most(mut figures: Vec<Figure>, most: usize, one: &str) -> Vec<Figure> {
    let count = figures.len().saturating_sub(most);
    figures.truncate(most);
    if let Some(last) = figures.last_mut() {
        last.notes.extend(left_out(count, one));
    }
    figures
}

/// What is not drawn; nothing where all is.
fn left_out(count: usize, one: &str) -> Option<String> {
    let several = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("Left out here: {count} {one}{several}; the result has all."))
}
