//! What a page shows first, as a study file may say it: the name of a figure. The figures themselves
//! belong to the report, whose tests hold its registry against this list.

/// Figures that may lead, in the order of reading. Those of places have pages of their own.
const NAMES: [&str; 17] = [
    "sweep",
    "effects",
    "surface",
    "card",
    "energy",
    "boots",
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
    NAMES.into_iter().find(|own| *own == name)
}

/// Their names.
pub fn names() -> Vec<&'static str> {
    NAMES.to_vec()
}
