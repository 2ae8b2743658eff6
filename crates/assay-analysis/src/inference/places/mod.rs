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
use assay_study::findings::places::{
    BaselineChoice, PLACE, PlaceRow, Placed, Places, PublishedBeside,
};
use assay_study::findings::{AbsentCell, Check, EnvironmentFacts, Findings, StudyFacts};

use super::{across::id_of_several, days::Days, sessions::common_margin, verdicts::words::listed};

use rows::PlaceRows;
use spots::Platform;

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

/// Compares the same work on several platforms, such as bare metal and a container, with a baseline platform.
///
/// # Errors
/// Fails with the user's mistake: only one platform, an unknown platform, or no common workload.
pub fn by_place(results: &[LabeledResult], query: PlatformQuery) -> Outcome<Findings> {
    let mut platforms = spots::collect_platforms(results)?;
    if let [only] = platforms.as_slice() {
        return Err(Failure::mistake(format!(
            "all numbers are from platform {}; add a result from another platform",
            only.placed.name
        )));
    }
    let baseline_choice = put_baseline_first(&mut platforms, query.baseline.as_deref())?;
    let findings = results.iter().map(|result| &result.findings);
    let margin = query.margin.or_else(|| common_margin(findings));
    let table = rows::compare_platforms(&platforms, margin, query.days);
    if table.comparisons.is_empty() {
        return Err(nothing_in_common(&platforms));
    }
    let mut checks = remarks::platform_checks(&platforms, baseline_choice, &table, &query.beside);
    // Comparisons of fewer than three results per platform depend on the spread between days.
    if table.comparisons.iter().any(|comparison| comparison.min_detectable_ratios.is_some()) {
        checks.push(Check::new("sessions", query.days.words()));
    }
    let PlaceRows { cells, comparisons, rows } = table;
    let absent = absent_cells(&rows);
    let summary = words::sentences(&platforms, &rows, &comparisons);
    let places = Places {
        baseline: platforms[0].placed.name.clone(),
        chosen: baseline_choice,
        rows,
        published: query.beside,
        platforms: platforms.into_iter().map(|platform| platform.placed).collect(),
    };
    let study = describe_comparison(results, &places);
    let mut findings = Findings {
        measurements: cells,
        absent,
        comparisons,
        checks,
        summary,
        platforms: Some(places),
        ..Findings::new(study, several_machines())
    };
    // Means of comparisons that differ from the numbers of their rows get another name.
    findings.name_means();
    Ok(findings)
}

/// Puts the baseline first and emulated platforms last.
fn put_baseline_first(platforms: &mut [Platform], wanted: Option<&str>) -> Outcome<BaselineChoice> {
    let (index, choice) = match wanted {
        Some(wanted) => (find_platform(platforms, wanted)?, BaselineChoice::Asked),
        None => default_baseline(platforms),
    };
    // Moves the baseline to the front without reordering the others; the stable sort does not reorder them either.
    platforms[..=index].rotate_right(1);
    platforms[1..].sort_by_key(|platform| platform.placed.is_emulated());
    Ok(choice)
}

fn default_baseline(platforms: &[Platform]) -> (usize, BaselineChoice) {
    let is_bare_metal = |platform: &Platform| platform.placed.kind == Some(PlaceSort::BareMetal);
    // Imported results have no kind, but their user may have named the platform.
    let is_named_bare_metal = |platform: &Platform| {
        platform.placed.kind.is_none() && platform.placed.name.eq_ignore_ascii_case("bare metal")
    };
    if let Some(index) = platforms.iter().position(is_bare_metal) {
        return (index, BaselineChoice::BareMetal);
    }
    if let Some(index) = platforms.iter().position(|platform| platform.is_table_baseline) {
        return (index, BaselineChoice::Table);
    }
    if let Some(index) = platforms.iter().position(is_named_bare_metal) {
        return (index, BaselineChoice::BareMetal);
    }
    let first_real = platforms.iter().position(|platform| !platform.placed.is_emulated());
    (first_real.unwrap_or_default(), BaselineChoice::First)
}

/// Finds the requested platform: by its name, else by its name ignoring case, else by the ID of one of its results.
fn find_platform(platforms: &[Platform], wanted: &str) -> Outcome<usize> {
    let has_name = |one: &Platform| one.placed.name == wanted;
    let is_named_alike = |one: &Platform| one.placed.name.to_lowercase() == wanted.to_lowercase();
    let has_result =
        |platform: &Platform| platform.placed.results.iter().any(|one| one.id.starts_with(wanted));
    // The first test that exactly one platform passes decides.
    let tests: [&dyn Fn(&Platform) -> bool; 3] = [&has_name, &is_named_alike, &has_result];
    for is_match in tests {
        let mut matches = (0..platforms.len()).filter(|index| is_match(&platforms[*index]));
        if let (Some(index), None) = (matches.next(), matches.next()) {
            return Ok(index);
        }
    }
    Err(Failure::mistake(format!(
        "--baseline {wanted}: unknown platform; use one of {}",
        listed(platforms.iter().map(|platform| platform.placed.name.as_str()))
    )))
}

fn nothing_in_common(platforms: &[Platform]) -> Failure {
    let contents = |platform: &Platform| {
        let workloads = listed(platform.workloads());
        if workloads.is_empty() {
            return format!("{} has no numbers", platform.placed.name);
        }
        let configurations = platform.configurations();
        if configurations.is_empty() {
            return format!("{} has {workloads}", platform.placed.name);
        }
        let configurations = listed(configurations.iter().map(String::as_str));
        format!("{} has {workloads} with {configurations}", platform.placed.name)
    };
    let platforms: Vec<String> = platforms.iter().map(contents).collect();
    Failure::mistake(format!(
        "nothing to compare, because the baseline and the other platforms have no workload with the same \
         configuration and metric in common: {}",
        platforms.join("; ")
    ))
}

fn absent_cells(rows: &[PlaceRow]) -> Vec<AbsentCell> {
    let missing = rows.iter().filter_map(|row| {
        let reason = row.absent.clone()?;
        let arm = super::at_level(&row.configuration, PLACE, &row.platform);
        Some(AbsentCell::new(&row.workload, &arm, Some(&row.metric), reason))
    });
    missing.collect()
}

fn describe_comparison(results: &[LabeledResult], places: &Places) -> StudyFacts {
    let studies = results.iter().map(|result| &result.findings.study);
    let ids: Vec<&str> = studies.clone().map(|study| study.id.as_str()).collect();
    let id = match ids.as_slice() {
        [] => String::new(),
        [only] => format!("{only}-by-place"),
        [first, others @ ..] => id_of_several(first, others),
    };
    let latest = studies.max_by_key(|study| &study.started);
    StudyFacts {
        id,
        title: title(&places.platforms),
        kind: "compare".to_owned(),
        started: latest.map(|study| study.started.clone()).unwrap_or_default(),
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

/// The environment of a comparison, which has no single machine.
fn several_machines() -> EnvironmentFacts {
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
