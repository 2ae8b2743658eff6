//! Caveats for the numbers of platforms.

use assay_core::quantity::{Better, printed};
use assay_study::findings::places::{
    BaselineChoice, PUBLISHED, PlaceRow, Placed, PlatformUnit, PublishedBeside,
};
use assay_study::findings::{Check, Findings};

use super::super::verdicts::words::listed;
use super::rows::PlaceRows;
use super::spots::{PlatformResults, is_same_machine};
use crate::inference::across::{self, Fact};
use crate::inference::with_levels;

pub(super) fn remarks(
    spots: &[PlatformResults],
    chosen: BaselineChoice,
    told: &PlaceRows,
    beside: &[PublishedBeside],
) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    checks.extend(baseline(&spots[0].placed, chosen));
    checks.extend(spots.iter().flat_map(|spot| results(spot, &told.rows)));
    checks.extend(protocol(spots));
    checks.extend(emulated(spots));
    checks.extend(told.rows.iter().filter_map(failures));
    checks.extend(told.rows.iter().filter_map(|row| contradiction(row, &told.rows)));
    checks.extend(beside.iter().flat_map(contradictions));
    checks
}

/// Warns of an unexpected baseline.
fn baseline(base: &Placed, chosen: BaselineChoice) -> Option<Check> {
    let text = || {
        format!(
            "no result is from bare metal, so the baseline is the first platform, {}; to select another, use \
             --baseline",
            base.name
        )
    };
    (chosen == BaselineChoice::First).then(|| Check::new("baseline", text()))
}

fn results(spot: &PlatformResults, rows: &[PlaceRow]) -> Vec<Check> {
    let place = &spot.placed;
    let count = place.results.len();
    if count < 2 {
        return Vec::new();
    }
    let mut days: Vec<String> = spot.results.iter().map(across::day).collect();
    days.sort();
    days.dedup();
    let own = || rows.iter().filter(|row| row.platform == place.name && row.absent.is_none());
    let any = |unit: PlatformUnit| own().any(|row| row.unit == unit);
    let how = match (any(PlatformUnit::Sessions), any(PlatformUnit::TrialsOfResults)) {
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
    let text = format!("{}: {count} results {days}; {how}", place.name);
    let mut told = vec![Check::new("sessions", text)];
    let first = &spot.results[0].environment;
    let other = spot.results.iter().map(|one| &one.environment);
    let from = match () {
        () if other.clone().any(|other| !is_same_machine(first, other)) => {
            "machines with different CPUs or memory"
        }
        () if other.clone().any(|other| other.kernel != first.kernel) => "different kernels",
        () => return told,
    };
    let text = format!("{}: the results come from {from}", place.name);
    told.push(Check::new("machines", text));
    told
}

/// Differences in protocol from the baseline: they may explain all differences in numbers.
fn protocol(spots: &[PlatformResults]) -> Vec<Check> {
    let Some((base, first)) = spots.first().and_then(|spot| Some((spot, spot.results.first()?)))
    else {
        return Vec::new();
    };
    let mut told: Vec<Check> = Vec::new();
    for spot in spots {
        for one in spot.results.iter().filter(|one| !std::ptr::eq(*one, first)) {
            for text in differences(first, one) {
                let name = &spot.placed.name;
                let id = if spot.placed.results.len() > 1 { &*one.study.id } else { "" };
                let whose = with_levels(name, id);
                let text = format!("{whose} against {}: {text}", base.placed.name);
                if !told.iter().any(|known| known.text == text) {
                    told.push(Check::new("protocol", text));
                }
            }
        }
    }
    told
}

/// The recorded settings that differ between two results.
fn differences(first: &Findings, other: &Findings) -> Vec<String> {
    if std::ptr::eq(first, other) || first.study.id == other.study.id {
        return Vec::new();
    }
    let all = |one: &Findings| {
        let mut facts = vec![
            Fact::new("Assay version", &one.environment.assay),
            Fact::new("order", across::order(one)),
        ];
        facts.extend(across::work(one));
        facts
    };
    let after = all(other);
    let mut told: Vec<String> = Vec::new();
    for was in all(first) {
        let is = after.iter().find(|is| is.key == was.key && !was.is_like(is));
        let text = is.map(|is| format!("{} {} instead of {}", was.name, is.value, was.value));
        told.extend(text.filter(|text| !told.contains(text)));
    }
    told
}

/// That emulated places are not to be compared with real ones.
fn emulated(spots: &[PlatformResults]) -> Option<Check> {
    let names = spots.iter().filter(|spot| spot.placed.is_emulated());
    let names: Vec<&str> = names.map(|spot| spot.placed.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let text = format!(
            "the CPU of {} is emulated: times and rates describe the emulator, so Assay gives no verdict or rank",
            listed(names.into_iter())
        );
        Check::new("emulated", text)
    })
}

fn failures(row: &PlaceRow) -> Option<Check> {
    let all = row.failed + row.n;
    (row.failed > 0 && row.unit != PlatformUnit::Sessions).then(|| {
        let text =
            format!("{} in {}: {} of {all} trials failed", row.workload, row.platform, row.failed);
        Check::new("failed", text)
    })
}

/// A published percentage that does not follow from the published numbers.
fn contradiction(row: &PlaceRow, rows: &[PlaceRow]) -> Option<Check> {
    let told = row.printed.filter(|told| !told.follows)?;
    let whole = rows.iter().find(|other| {
        other.workload == row.workload
            && other.metric == row.metric
            && other.printed.is_some_and(|printed| printed.percent == 100.0)
    })?;
    let (base, value) = (whole.value?, row.value?);
    let share = told.percent / 100.0;
    let unit = if row.metric == "duration_s" { " s" } else { "" };
    let (numbers, meant) = match row.better {
        Better::Lower => (format!("{base} of {value}{unit}"), base / share),
        Better::Higher | Better::Unknown => (format!("{value} of {base}{unit}"), base * share),
    };
    let decimals = printed::decimals(told.percent).max(2);
    let text = format!(
        "{} in {}: published as {percent}%, but {numbers} is {:.decimals$}%; {percent}% would be {meant:.0}{unit}, so \
         at least one of the two published numbers is wrong",
        row.workload,
        row.platform,
        told.computed,
        percent = told.percent
    );
    Some(Check::new(PUBLISHED, text))
}

/// The same for a separate table.
fn contradictions(table: &PublishedBeside) -> impl Iterator<Item = Check> {
    let wrong = table.rows.iter().filter(|row| !row.printed.follows);
    wrong.filter_map(|row| {
        let remark = row.remark.as_ref()?;
        Some(Check::new(PUBLISHED, format!("{}: {remark}", table.source)))
    })
}
