//! What a page shows first, as a study file may say it: the name of a figure. The figures themselves
//! belong to the report, whose tests hold its registry against this list.

use assay_kinds::work;

/// Figures that may lead, in the order of reading; those of kinds of work stand between. Those of places have
/// pages of their own.
const BEFORE: [&str; 5] = ["sweep", "effects", "surface", "card", "energy"];
const AFTER: [&str; 11] = [
    "runs",
    "bars",
    "beside",
    "grid",
    "links",
    "percentiles",
    "classes",
    "periods",
    "heat",
    "series",
    "order",
];

/// The one with a name.
pub fn find(name: &str) -> Option<&'static str> {
    all().find(|own| *own == name)
}

/// Their names.
pub fn names() -> Vec<&'static str> {
    all().collect()
}

fn all() -> impl Iterator<Item = &'static str> {
    let of_work = work::figures().map(|about| about.name);
    BEFORE.into_iter().chain(of_work).chain(AFTER)
}
