//! What a page shows first, as a study file may say it: the name of a figure. The figures themselves
//! belong to the report and to kinds of work; tests of the report hold its registry against this list.

use assay_kinds::work::KINDS;

/// Figures that may lead, in the order of reading. Those of places have pages of their own.
const FIRST: [&str; 10] =
    ["sweep", "effects", "surface", "card", "energy", "boots", "runs", "bars", "beside", "grid"];
/// The same behind those that kinds of work have of their own.
const THEN: [&str; 6] = ["percentiles", "classes", "periods", "heat", "series", "order"];

fn all() -> impl Iterator<Item = &'static str> {
    let figures = KINDS.iter().filter_map(|kind| kind.shown?.figure);
    FIRST.into_iter().chain(figures.map(|figure| figure.about.name)).chain(THEN)
}

/// The one with a name.
pub fn find(name: &str) -> Option<&'static str> {
    all().find(|own| *own == name)
}

/// Their names.
pub fn names() -> Vec<&'static str> {
    all().collect()
}
