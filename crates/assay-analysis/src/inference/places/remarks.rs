//! Caveats for the numbers of platforms.

use assay_core::quantity::{Better, printed};
use assay_study::findings::places::{
    BaselineChoice, PUBLISHED, PlaceRow, Placed, PlatformUnit, PublishedBeside,
};
use assay_study::findings::{Check, Findings};

use super::super::verdicts::words::listed;
use super::rows::PlaceRows;
use super::spots::{Platform, is_same_machine};
use crate::inference::across::{self, Fact};
use crate::inference::with_levels;

pub(super) fn platform_checks(
    platforms: &[Platform],
    choice: BaselineChoice,
    table: &PlaceRows,
    beside: &[PublishedBeside],
) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    if choice == BaselineChoice::First {
        checks.push(unexpected_baseline(&platforms[0].placed));
    }
    for platform in platforms {
        checks.extend(pooled_results(platform, &table.rows));
        checks.extend(different_machines(platform));
    }
    checks.extend(different_protocols(platforms));
    checks.extend(emulated_platforms(platforms));
    checks.extend(table.rows.iter().filter_map(failed_trials));
    checks.extend(table.rows.iter().filter_map(|row| contradiction(row, &table.rows)));
    checks.extend(beside.iter().flat_map(contradictions_beside));
    checks
}

fn unexpected_baseline(base: &Placed) -> Check {
    let text = format!(
        "no result is from bare metal, so the baseline is the first platform, {}; to select another, use --baseline",
        base.name
    );
    Check::new("baseline", text)
}

/// How Assay combines the results of a platform; `None` for a single result.
fn pooled_results(platform: &Platform, rows: &[PlaceRow]) -> Option<Check> {
    let place = &platform.placed;
    let count = place.results.len();
    if count < 2 {
        return None;
    }
    let mut days: Vec<String> = platform.results.iter().map(across::day).collect();
    days.sort();
    days.dedup();
    let has_unit = |unit: PlatformUnit| {
        let is_of_unit = |row: &PlaceRow| row.absent.is_none() && row.unit == unit;
        rows.iter().any(|row| row.platform == place.name && is_of_unit(row))
    };
    let how = match (has_unit(PlatformUnit::Sessions), has_unit(PlatformUnit::TrialsOfResults)) {
        (true, false) => "each result counts as one value",
        (true, true) => {
            "each result counts as one value if a workload has three or more results; otherwise, Assay pools the trials"
        }
        (false, true) => {
            "Assay pools the trials, so day-to-day variation is invisible; with three results, each would count as \
             one value"
        }
        (false, false) => "the results share no workload",
    };
    let days = match days.as_slice() {
        [_] => "from one day".to_owned(),
        several => format!("from {}", listed(several.iter().map(String::as_str))),
    };
    Some(Check::new("sessions", format!("{}: {count} results {days}; {how}", place.name)))
}

/// Warns if the results of a platform come from different machines or kernels.
fn different_machines(platform: &Platform) -> Option<Check> {
    let first = &platform.results.first()?.environment;
    let mut environments = platform.results.iter().map(|result| &result.environment);
    let sources = if environments.clone().any(|other| !is_same_machine(first, other)) {
        "machines with different CPUs or memory"
    } else if environments.any(|other| other.kernel != first.kernel) {
        "different kernels"
    } else {
        return None;
    };
    let text = format!("{}: the results come from {sources}", platform.placed.name);
    Some(Check::new("machines", text))
}

/// Differences in protocol from the first result of the baseline: they may explain all differences in numbers.
fn different_protocols(platforms: &[Platform]) -> Vec<Check> {
    let Some((base, first)) =
        platforms.first().and_then(|platform| Some((platform, platform.results.first()?)))
    else {
        return Vec::new();
    };
    let mut checks: Vec<Check> = Vec::new();
    for platform in platforms {
        for result in &platform.results {
            for difference in protocol_differences(first, result) {
                let id = if platform.results.len() > 1 { &*result.study.id } else { "" };
                let subject = with_levels(&platform.placed.name, id);
                let text = format!("{subject} against {}: {difference}", base.placed.name);
                if !checks.iter().any(|check| check.text == text) {
                    checks.push(Check::new("protocol", text));
                }
            }
        }
    }
    checks
}

/// The recorded settings that differ between two results; empty for two parts of the same result.
fn protocol_differences(first: &Findings, other: &Findings) -> Vec<String> {
    if first.study.id == other.study.id {
        return Vec::new();
    }
    let settings = |findings: &Findings| {
        let mut facts = vec![
            Fact::new("Assay version", &findings.environment.assay),
            Fact::new("order", across::order(findings)),
        ];
        facts.extend(across::workload_facts(findings));
        facts
    };
    let after = settings(other);
    let mut texts: Vec<String> = Vec::new();
    for old in settings(first) {
        let changed = after.iter().find(|new| new.key == old.key && !old.is_like(new));
        let Some(new) = changed else { continue };
        let text = format!("{} {} instead of {}", old.name, new.value, old.value);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn emulated_platforms(platforms: &[Platform]) -> Option<Check> {
    let emulated = platforms.iter().filter(|platform| platform.placed.is_emulated());
    let names: Vec<&str> = emulated.map(|platform| platform.placed.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "the CPU of {} is emulated: times and rates describe the emulator, so Assay gives no verdict or rank",
        listed(names.into_iter())
    );
    Some(Check::new("emulated", text))
}

fn failed_trials(row: &PlaceRow) -> Option<Check> {
    if row.failed == 0 || row.unit == PlatformUnit::Sessions {
        return None;
    }
    let PlaceRow { workload, platform, failed, n, .. } = row;
    let text = format!("{workload} in {platform}: {failed} of {} trials failed", failed + n);
    Some(Check::new("failed", text))
}

/// Reports a published percentage that differs from that of the published numbers; `None` if they agree.
fn contradiction(row: &PlaceRow, rows: &[PlaceRow]) -> Option<Check> {
    let printed = row.printed.filter(|printed| !printed.follows)?;
    let base_row = rows.iter().find(|other| {
        other.workload == row.workload
            && other.metric == row.metric
            && other.printed.is_some_and(|printed| printed.percent == 100.0)
    })?;
    let (base, value) = (base_row.value?, row.value?);
    let share = printed.percent / 100.0;
    let unit = if row.metric == "duration_s" { " s" } else { "" };
    // The percentage is one of speed: for times, the base over the value.
    let (numbers, implied) = match row.better {
        Better::Lower => (format!("{base} of {value}{unit}"), base / share),
        Better::Higher | Better::Unknown => (format!("{value} of {base}{unit}"), base * share),
    };
    let decimals = printed::decimals(printed.percent).max(2);
    let text = format!(
        "{} in {}: published as {percent}%, but {numbers} is {:.decimals$}%; {percent}% would be {implied:.0}{unit}, \
         so at least one of the two published numbers is wrong",
        row.workload,
        row.platform,
        printed.computed,
        percent = printed.percent
    );
    Some(Check::new(PUBLISHED, text))
}

fn contradictions_beside(table: &PublishedBeside) -> impl Iterator<Item = Check> {
    let wrong = table.rows.iter().filter(|row| !row.printed.follows);
    wrong.filter_map(|row| {
        let remark = row.remark.as_ref()?;
        Some(Check::new(PUBLISHED, format!("{}: {remark}", table.source)))
    })
}
