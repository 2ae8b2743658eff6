//! Names of figures that a page can show first; the report's tests check this list.

/// Figures that may lead, in reading order. Figures of places have separate pages.
const FIRST: [&str; 6] = ["race", "sweep", "effects", "surface", "card", "energy"];
/// Figures that may lead after those of workloads.
const THEN: [&str; 4] = ["runs", "bars", "published", "grid"];
/// Figures that may lead after the time series of workloads.
const LAST: [&str; 7] =
    ["percentiles", "classes", "production", "heatmap", "series", "order", "hosts"];

pub fn find(name: &str) -> Option<&'static str> {
    all().find(|known| *known == name)
}

pub fn names() -> Vec<&'static str> {
    all().collect()
}

fn all() -> impl Iterator<Item = &'static str> {
    let of_facts = assay_workloads::figures().map(|figure| figure.about.name);
    let of_seconds = assay_workloads::own_figures().map(|figure| figure.about.name);
    FIRST.into_iter().chain(of_facts).chain(THEN).chain(of_seconds).chain(LAST)
}
