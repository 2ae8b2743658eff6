//! Names of figures that a page can show first; the report's tests check this list.

/// Figures that may lead, in the order of reading. Those of places have pages of their own.
const FIRST: [&str; 6] = ["race", "sweep", "effects", "surface", "card", "energy"];
/// The same behind those of what kinds of work tell.
const THEN: [&str; 4] = ["runs", "bars", "published", "grid"];
/// The same behind those of their own seconds.
const LAST: [&str; 7] =
    ["percentiles", "classes", "production", "heatmap", "series", "order", "hosts"];

pub fn find(name: &str) -> Option<&'static str> {
    all().find(|own| *own == name)
}

pub fn names() -> Vec<&'static str> {
    all().collect()
}

fn all() -> impl Iterator<Item = &'static str> {
    let of_facts = assay_workloads::figures().map(|figure| figure.about.name);
    let of_seconds = assay_workloads::own_figures().map(|figure| figure.about.name);
    FIRST.into_iter().chain(of_facts).chain(THEN).chain(of_seconds).chain(LAST)
}
