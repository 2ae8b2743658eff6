//! The same work on several platforms (`compare --by platform`), in percent of a baseline platform, per workload.
//! Platforms are different machines, so numbers only suggest (R13c). With three or more results, days are the unit;
//! with fewer, Assay suggests no direction (R13d). An emulated platform has numbers, but no verdict.

mod remarks;
mod rows;
mod spots;
#[cfg(test)]
mod tests;
mod words;

use assay_core::failure::{Failure, Outcome};
use assay_study::findings::facts::{PlaceSort, Unknown};
use assay_study::findings::places::{BaselineChoice, PlaceRow, Placed, Places, PublishedBeside};
use assay_study::findings::{AbsentCell, Check, EnvironmentFacts, Findings, StudyFacts};

use super::across::id_of_several;
use super::days::Days;
use super::sessions::common_margin;
use super::verdicts::words::listed;

use rows::PlaceRows;
use spots::PlatformResults;

/// A result with facts that its findings do not contain.
#[derive(Clone, Debug)]
pub struct LabeledResult {
    pub findings: Findings,
    pub label: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct PlatformQuery {
    /// The baseline platform: its name, or one of its results.
    pub baseline: Option<String>,
    /// Equivalence margin if both platforms have three or more results, as a fraction.
    pub margin: Option<f64>,
    pub beside: Vec<PublishedBeside>,
    /// Spread between days, for platforms with fewer than three results.
    pub days: Days,
}

/// Compares results by platform.
///
/// # Errors
/// Fails with the user's mistake: only one platform, an unknown platform, or no common workload.
pub fn by_place(brought: &[LabeledResult], asked: PlatformQuery) -> Outcome<Findings> {
    let mut spots = spots::spots(brought)?;
    if let [one] = spots.as_slice() {
        return Err(Failure::mistake(format!(
            "all numbers are from platform {}; add a result from another platform",
            one.placed.name
        )));
    }
    let chosen = choose(&mut spots, asked.baseline.as_deref())?;
    let margin = asked.margin.or_else(|| common_margin(brought.iter().map(|one| &one.findings)));
    let told = rows::rows(&spots, margin, asked.days);
    if !told.rows.iter().any(|row| row.comparison.is_some()) {
        return Err(nothing_in_common(&spots));
    }
    let mut checks = remarks::remarks(&spots, chosen, &told, &asked.beside);
    if told.comparisons.iter().any(|found| found.min_detectable_ratios.is_some()) {
        checks.push(Check::new("sessions", asked.days.words()));
    }
    let PlaceRows { cells, comparisons, rows } = told;
    let absent = absent(&rows);
    let summary = words::sentences(&spots, &rows, &comparisons);
    let places = Places {
        baseline: spots[0].placed.name.clone(),
        chosen,
        rows,
        published: asked.beside,
        platforms: spots.into_iter().map(|spot| spot.placed).collect(),
    };
    let asked = Findings::new(study(brought, &places), nowhere());
    let mut found = Findings {
        measurements: cells,
        absent,
        comparisons,
        checks,
        summary,
        platforms: Some(places),
        ..asked
    };
    found.name_means();
    Ok(found)
}

/// Puts the baseline first and emulated platforms last.
fn choose(spots: &mut [PlatformResults], wanted: Option<&str>) -> Outcome<BaselineChoice> {
    let bare = || spots.iter().position(|spot| spot.placed.kind == Some(PlaceSort::BareMetal));
    // Imported results have no kind, but their user may have named the platform.
    let is_named = |one: &Placed| one.kind.is_none() && one.name.eq_ignore_ascii_case("bare metal");
    let named = || spots.iter().position(|spot| is_named(&spot.placed));
    let real = || spots.iter().position(|spot| !spot.placed.is_emulated());
    let (at, chosen) = match wanted {
        Some(wanted) => (asked_for(spots, wanted)?, BaselineChoice::Asked),
        None => match (bare(), spots.iter().position(|spot| spot.first)) {
            (Some(at), _) => (at, BaselineChoice::BareMetal),
            (None, Some(at)) => (at, BaselineChoice::Table),
            (None, None) => named().map_or_else(
                || (real().unwrap_or_default(), BaselineChoice::First),
                |at| (at, BaselineChoice::BareMetal),
            ),
        },
    };
    spots[..=at].rotate_right(1);
    spots[1..].sort_by_key(|spot| spot.placed.is_emulated());
    Ok(chosen)
}

/// Finds the requested platform: by its name, ignoring case, else by one of its results.
fn asked_for(spots: &[PlatformResults], wanted: &str) -> Outcome<usize> {
    let exact = |spot: &PlatformResults| spot.placed.name == wanted;
    let alike = |spot: &PlatformResults| spot.placed.name.to_lowercase() == wanted.to_lowercase();
    let of_it =
        |spot: &PlatformResults| spot.placed.results.iter().any(|one| one.id.starts_with(wanted));
    let ways: [&dyn Fn(&PlatformResults) -> bool; 3] = [&exact, &alike, &of_it];
    for way in ways {
        let found: Vec<usize> = (0..spots.len()).filter(|at| way(&spots[*at])).collect();
        if let [one] = found.as_slice() {
            return Ok(*one);
        }
    }
    Err(Failure::mistake(format!(
        "--baseline {wanted}: unknown platform; use one of {}",
        listed(spots.iter().map(|spot| spot.placed.name.as_str()))
    )))
}

fn nothing_in_common(spots: &[PlatformResults]) -> Failure {
    let has = |spot: &PlatformResults| {
        let workloads = listed(spot.workloads());
        let own = if workloads.is_empty() { "no numbers" } else { &workloads };
        format!("{} has {own}", spot.placed.name)
    };
    let told: Vec<String> = spots.iter().map(has).collect();
    Failure::mistake(format!(
        "nothing to compare, because the baseline and the other platforms have no workload with the same \
         configuration and metric in common: {}",
        told.join("; ")
    ))
}

/// Workloads that are missing somewhere, as in any findings.
fn absent(rows: &[PlaceRow]) -> Vec<AbsentCell> {
    let missing = rows.iter().filter_map(|row| {
        let reason = row.absent.clone()?;
        let arm = rows::placed(&row.configuration, &row.platform);
        Some(AbsentCell::new(&row.workload, &arm, Some(&row.metric), reason))
    });
    missing.collect()
}

fn study(brought: &[LabeledResult], places: &Places) -> StudyFacts {
    let ids: Vec<&str> = brought.iter().map(|one| one.findings.study.id.as_str()).collect();
    let id = match ids.as_slice() {
        [] => String::new(),
        [one] => format!("{one}-by-place"),
        [first, others @ ..] => id_of_several(first, others),
    };
    let latest = brought.iter().map(|one| &one.findings.study).max_by_key(|one| &one.started);
    StudyFacts {
        id,
        title: title(&places.platforms),
        kind: "compare".to_owned(),
        started: latest.map(|one| one.started.clone()).unwrap_or_default(),
        ..StudyFacts::default()
    }
}

const MOST_NAMES: usize = 4;

fn title(places: &[Placed]) -> String {
    let names = places.iter().map(|place| place.name.as_str());
    if places.len() <= MOST_NAMES {
        return format!("Comparison of {} platforms: {}", places.len(), listed(names));
    }
    format!("Comparison of {} platforms", places.len())
}

fn nowhere() -> EnvironmentFacts {
    let several = || "several machines".to_owned();
    EnvironmentFacts {
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: several(),
        cpu: several(),
        virtualization: several(),
        unknown: Unknown::ALL.to_vec(),
        ..EnvironmentFacts::default()
    }
}
