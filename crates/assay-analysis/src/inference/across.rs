//! Two results without common replicates (R13): what differs around them, then their numbers in weaker words, never
//! *equivalent*. With one result per side, no direction is suggested (R13d). All compared rows are one family.

use std::collections::BTreeMap;

use assay_core::quantity::units::show;
use assay_core::quantity::{Better, Scale};
use assay_core::stats::{
    BetweenSessions, FEWEST_FOR_INTERVAL, Sample, Welch, bonferroni, judge, welch,
};
use assay_study::file::presets;
use assay_study::findings::facts::{OrderFacts, Unknown};
use assay_study::findings::notes::{Note, NoteSide};
use assay_study::findings::{
    Check, Comparison, EnvironmentFacts, Findings, Kind, Measurement, Sentence, SentenceRole,
    StudyFacts, TargetFacts, TrialValue, Trust, Verdict,
};
use assay_study::plan::arms::settable;
use assay_study::results::plan::{Arm, arm_words, pilot_key};
use assay_study::results::{design::ALPHA, record::Status, surroundings::facts::Activity};
use assay_workloads::{metrics::is_of_speed, production::metrics::ARRIVALS};

use super::days::{Days, POWER};
use super::verdicts::{
    across_words, add_note, apply_holm, judge_across, verdict_of_ends, verdict_of_stats, words,
};
use super::{classes, windows};
use crate::inference::{at_level, distinct};

const MOST_IN_ID: usize = 8;
/// Length of a time up to its minute; the seconds add three letters.
const MINUTE: usize = 16;
/// Name of the artificial factor whose levels are the results.
pub const RESULT: &str = "result";

#[derive(Clone, Copy, Debug)]
pub(super) enum SampleUnit {
    /// One result per side, by its trials: never *equivalent*.
    Trials,
    /// The same with this spread between days: no direction is suggested.
    OneDay(Days),
    /// Three or more results per side, with the equivalence margin.
    Sessions { margin: Option<f64> },
}

/// ID for a group of results, short enough for a file name.
pub(super) fn id_of_several(first: &str, others: &[&str]) -> String {
    match others {
        [.., last] if others.len() > MOST_IN_ID => {
            format!("{first}..{last}+{}", others.len() - 1)
        }
        _ => format!("{first}..{}", others.join("+")),
    }
}

/// Compares later results with the first, given the spread between days; for two watched windows also their CPU waits.
pub fn compare(first: &Findings, later: &[Findings], days: Days) -> Findings {
    let unit = SampleUnit::OneDay(days);
    if let Some(seen) = windows::compare_windows(first, later) {
        let [before, after] = windows::mark_suspect_windows(&seen, [first, &later[0]]);
        let mut found = compare_as(&before, std::slice::from_ref(&after), unit);
        windows::add_windows(&seen, [&before, &after], &mut found);
        return found;
    }
    let mut found = compare_as(first, later, unit);
    found.checks.push(Check::new("sessions", days.words()));
    found
}

/// Compares later results with the first, row by row; `unit` is what counts as one value and limits the verdicts.
pub(super) fn compare_as(first: &Findings, later: &[Findings], unit: SampleUnit) -> Findings {
    let results: Vec<&Findings> = std::iter::once(first).chain(later).collect();
    let names = names(&results);
    let mut cells = Vec::new();
    for (result, name) in results.iter().zip(&names) {
        let primary = result.measurements.iter().filter(|cell| cell.primary && !cell.control);
        cells.extend(primary.map(|cell| labeled_cell(cell, name)));
    }
    let checks = later.iter().flat_map(|other| setup_differences(first, other)).collect();
    let comparisons = compare_with_first(first, later, unit, &names);
    let ids: Vec<&str> = later.iter().map(|other| other.study.id.as_str()).collect();
    // The comparison has the time and the environment of the last result.
    let last = later.last().unwrap_or(first);
    let primary: Vec<&Comparison> = comparisons.iter().filter(|one| one.primary).collect();
    let summary = match words::agreement(&primary) {
        Some(text) => vec![Sentence::new(SentenceRole::Conclusion, "agreement", text)],
        None => primary.iter().map(|one| Sentence::of_comparison(one, &*one.text)).collect(),
    };
    let study = StudyFacts {
        id: id_of_several(&first.study.id, &ids),
        title: title(first, last, &names),
        kind: "compare".to_owned(),
        plan_sha256: last.study.plan_sha256.clone(),
        started: last.study.started.clone(),
        seed: last.study.seed,
        ..StudyFacts::default()
    };
    let activity = Activity::default();
    let environment = EnvironmentFacts { hosts: None, activity, ..last.environment.clone() };
    let bare = Findings::new(study, environment);
    let mut found = Findings { measurements: cells, comparisons, checks, summary, ..bare };
    found.name_means();
    found
}

/// Display names of results: the user's title, else the drives and the start time; equal names get time or ID.
pub fn names(results: &[&Findings]) -> Vec<String> {
    let mut names: Vec<String> = results.iter().map(|one| name(one, 0)).collect();
    // Equal names get the minute; if still equal, the seconds; then the ID replaces the name.
    for letters in [Some(MINUTE), Some(MINUTE + 3), None] {
        let previous = names.clone();
        for (index, result) in results.iter().enumerate() {
            if previous.iter().filter(|other| **other == previous[index]).count() > 1 {
                let id = || result.study.id.clone();
                names[index] = letters.map_or_else(id, |letters| name(result, letters));
            }
        }
    }
    names
}

/// The title (without a title of the user: the drives) with the first `letters` of the start time.
fn name(found: &Findings, letters: usize) -> String {
    let StudyFacts { title, started, .. } = &found.study;
    let targets = &found.environment.targets;
    let has_user_title = !presets::is_title(title) && !title.is_empty();
    let (label, letters) = if has_user_title || targets.is_empty() {
        (title.clone(), letters)
    } else {
        let model = |target: &TargetFacts| target.drive.split(',').next().map(str::to_owned);
        let drives = distinct(targets.iter().filter_map(model));
        // Several results have the same drives, so their names include the minute at least.
        (drives.join(" and "), letters.max(MINUTE))
    };
    let time: String = started.replace('T', " ").chars().take(letters).collect();
    format!("{label} {time}").trim().to_owned()
}

/// Title of the comparison: the drive, if both results have the same, and the results.
fn title(first: &Findings, last: &Findings, names: &[String]) -> String {
    let drives = |findings: &Findings| {
        let mut targets: Vec<String> = Vec::new();
        for target in &findings.environment.targets {
            let filesystem = target.filesystem_name().map(|name| format!(", {name}"));
            targets.push(target.drive.clone() + &filesystem.unwrap_or_default());
        }
        distinct(targets).join(" and ")
    };
    let [before, after] = [drives(first), drives(last)];
    let (first_name, later_names) = (&names[0], names[1..].join(", "));
    if before.is_empty() || after.is_empty() {
        format!("{later_names} against {first_name}")
    } else if before == after {
        format!("{after}: {later_names} against {first_name}")
    } else {
        format!("{after} ({later_names}) against {before} ({first_name})")
    }
}

pub(super) fn labeled_cell(cell: &Measurement, name: &str) -> Measurement {
    Measurement { configuration: at_level(&cell.configuration, RESULT, name), ..cell.clone() }
}

pub(super) struct Fact {
    pub key: String,
    /// Name without the part that all workloads share.
    pub name: String,
    pub value: String,
    /// The times in the value, which depend on the pilot.
    times_ns: Vec<u64>,
}

impl Fact {
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        Self { key: name.to_owned(), name: name.to_owned(), value, times_ns: Vec::new() }
    }

    /// Whether another value is equal, or its times differ by less than 10%.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_near =
            |(ns, other_ns): (&u64, &u64)| ns.abs_diff(*other_ns) < ns / 10 || ns == other_ns;
        let has_times = !self.times_ns.is_empty() && self.times_ns.len() == other.times_ns.len();
        self.value == other.value
            || has_times && self.times_ns.iter().zip(&other.times_ns).all(is_near)
    }
}

/// Checks for the differences in setup: any of them may explain a difference in the numbers.
fn setup_differences(first: &Findings, other: &Findings) -> Vec<Check> {
    let (before, after) = (setup_facts(first), setup_facts(other));
    // Reversed, so that the first of facts with equal keys stays in the map.
    let after: BTreeMap<&str, &Fact> =
        after.iter().rev().map(|fact| (fact.key.as_str(), fact)).collect();
    let mut texts = distinct(before.iter().filter_map(|old| {
        let new = after.get(old.key.as_str()).filter(|new| !old.is_like(new))?;
        Some(format!("{} changed from {} to {}", old.name, old.value, new.value))
    }));
    if [first, other].iter().any(|one| one.environment.unknown == Unknown::ALL) {
        texts.push("some results do not contain a record of their environment".to_owned());
    } else if texts.is_empty() {
        texts.push("no recorded property of the environment differs".to_owned());
    }
    let mut cells = first.measurements.iter();
    if cells.any(|cell| cell.primary && cell.scale == Scale::Difference) {
        texts.push("metrics that can be zero are not compared across days or machines".to_owned());
    }
    texts.into_iter().map(|text| Check::new("environment", text)).collect()
}

/// The properties whose change may explain a difference between two results.
fn setup_facts(findings: &Findings) -> Vec<Fact> {
    let environment = &findings.environment;
    let targets = &environment.targets;
    let number =
        |value: Option<u64>| value.map_or_else(|| "not recorded".to_owned(), |n| n.to_string());
    let mut facts = vec![
        Fact::new("Assay version", &environment.assay),
        Fact::new("kernel", &environment.kernel),
        Fact::new("CPU", &environment.cpu),
        Fact::new("CPUs", number(environment.cpus.map(u64::from))),
        Fact::new("memory bytes", number(environment.memory_bytes)),
        Fact::new("virtualization", &environment.virtualization),
        Fact::new("started", day(findings)),
        Fact::new("order", order(findings)),
        Fact::new("hosts", hosts(findings)),
    ];
    let baselines = findings.comparisons.iter().map(|found| arm_words(&found.baseline));
    facts.extend(baselines.take(1).map(|baseline| Fact::new("baseline", baseline)));
    for (index, target) in targets.iter().enumerate() {
        let name =
            if targets.len() > 1 { format!("target {}", index + 1) } else { "target".to_owned() };
        for (property, value) in target_properties(target) {
            facts.push(Fact::new(&format!("{name} {property}"), value));
        }
    }
    facts.extend(workload_facts(findings));
    facts
}

/// Number of hosts: a sum over three hosts is not comparable with one over four.
fn hosts(findings: &Findings) -> String {
    match &findings.environment.hosts {
        Some(hosts) if hosts.finished < hosts.started => {
            format!("{} of {}", hosts.finished, hosts.started)
        }
        Some(hosts) => hosts.started.to_string(),
        None => "1".to_owned(),
    }
}

pub(super) fn day(findings: &Findings) -> String {
    findings.study.started.chars().take(10).collect()
}

pub(super) fn workload_facts(findings: &Findings) -> Vec<Fact> {
    let mut facts = Vec::new();
    for workload in &findings.workloads {
        let key = pilot_key(&workload.name, &workload.configuration);
        let [time, ramp] = [workload.time_ns, workload.ramp_ns].map(rounded_time);
        facts.push(Fact::new(&format!("workload {key}"), &workload.text));
        facts.push(Fact {
            key: format!("trials of {key}"),
            name: "trials".to_owned(),
            value: format!("{time} after a {ramp} ramp"),
            times_ns: vec![workload.time_ns, workload.ramp_ns],
        });
    }
    facts
}

/// Rounds a time to two digits: pilots that choose 321 ms and 319 ms agree.
fn rounded_time(ns: u64) -> String {
    let step = 10_u64.pow(ns.max(1).ilog10().saturating_sub(1));
    show::duration((ns.saturating_add(step / 2) / step * step) as f64)
}

/// The order of trials, without the seed, which always differs.
pub(super) fn order(findings: &Findings) -> String {
    let order = findings.checks.iter().find_map(|check| check.order);
    order.map_or_else(|| "not recorded".to_owned(), OrderFacts::words)
}

fn target_properties(target: &TargetFacts) -> [(&'static str, String); 8] {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
    [
        ("name", target.name.clone()),
        ("drive", target.drive.clone()),
        ("serial number", known(&target.serial)),
        ("firmware", known(&target.firmware)),
        ("filesystem", target.filesystem.clone()),
        ("scheduler", known(&target.scheduler)),
        ("area bytes", target.area_bytes.to_string()),
        ("page cache", target.caching_words().to_owned()),
    ]
}

/// A result with its cells and its arms' baselines by row; of duplicates, the first counts.
pub(super) struct ResultIndex<'a> {
    pub findings: &'a Findings,
    cells: BTreeMap<Key, &'a Measurement>,
    baselines: BTreeMap<(&'a str, &'a str, &'a Arm), &'a Arm>,
    /// Whether the order confounds arms with time: then arms have no baseline to pair with.
    is_sequential: bool,
}

/// A row of any result: workload, metric, and the settable part of its arm.
pub(super) type Key = (String, String, Arm);

pub(super) fn key(cell: &Measurement) -> Key {
    row_of(cell, &cell.configuration)
}

fn row_of(cell: &Measurement, arm: &Arm) -> Key {
    (cell.workload.clone(), cell.metric.clone(), settable(arm))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RatioBase {
    Plain,
    /// Relative to the baseline of the same replicate.
    ToItsBaseline,
}

impl<'a> ResultIndex<'a> {
    pub fn new(findings: &'a Findings) -> Self {
        let mut cells = BTreeMap::new();
        for cell in findings.measurements.iter().filter(|cell| !cell.control) {
            cells.entry(key(cell)).or_insert(cell);
        }
        let baselines = findings
            .comparisons
            .iter()
            .map(|one| ((&*one.workload, &*one.metric, &one.configuration), &one.baseline));
        Self {
            findings,
            cells,
            // Reversed, because the last entry of a key stays in the map.
            baselines: baselines.rev().collect(),
            is_sequential: findings.checks.iter().any(Check::leaves_no_verdict),
        }
    }

    pub fn cell(&self, key: &Key) -> Option<&'a Measurement> {
        self.cells.get(key).copied()
    }

    /// Logarithms of the trials behind a row's number; `None` without a baseline for [`RatioBase::ToItsBaseline`].
    pub fn values(&self, cell: &Measurement, base: RatioBase) -> Option<Vec<f64>> {
        match base {
            RatioBase::Plain => Some(cell.counting().into_iter().filter_map(log_value).collect()),
            RatioBase::ToItsBaseline => {
                self.relative_to_baseline(cell).map(|(_, differences)| differences)
            }
        }
    }

    /// An arm's baseline in the same result, and the log ratios by replicate; `None` without a baseline or pairs.
    fn relative_to_baseline(&self, cell: &Measurement) -> Option<(&'a Arm, Vec<f64>)> {
        if self.is_sequential {
            return None;
        }
        let arm = *self.baselines.get(&(&*cell.workload, &*cell.metric, &cell.configuration))?;
        let baseline = self.cell(&row_of(cell, arm))?;
        // If the arm's first run was disturbed, its repeat pairs with the baseline's repeat; the row has the first run.
        let undisturbed = baseline.trials.iter().filter(|other| other.status == Status::Ok);
        let partners: Vec<_> = baseline.counting().into_iter().chain(undisturbed).collect();
        let difference = |trial: &TrialValue| {
            let partner = partners.iter().find(|other| other.replicate == trial.replicate)?;
            Some(log_value(trial)? - log_value(partner)?)
        };
        let differences: Vec<f64> = cell.counting().into_iter().filter_map(difference).collect();
        (!differences.is_empty()).then_some((arm, differences))
    }
}

type Tested = (Comparison, Option<Tests>);

/// The tests of a row: by its trials, and with the spread between days.
#[derive(Clone, Copy)]
pub(super) struct Tests {
    /// On the values themselves; `None` if neither side has any spread.
    pub welch: Option<Welch>,
    /// Present if each side's trials come from one day.
    pub days: Option<BetweenSessions>,
}

/// Compares all later results with the first, row by row; all primary comparisons share one error.
fn compare_with_first(
    first: &Findings,
    later: &[Findings],
    unit: SampleUnit,
    names: &[String],
) -> Vec<Comparison> {
    let later = later.iter().zip(&names[1..]);
    let rows_by_result: Vec<Vec<Tested>> =
        later.map(|(other, name)| test_all(first, other, unit, [&names[0], name])).collect();
    // The number of comparisons that share the error.
    let family = rows_by_result.iter().flatten().filter(|(found, _)| found.primary).count();
    let mut comparisons = Vec::new();
    for rows in rows_by_result {
        let mut judged: Vec<Comparison> = Vec::new();
        for (untested, tests) in rows {
            let mut found = with_verdict(untested, tests, family, unit);
            found.text = across_words(&found);
            judged.push(found);
        }
        judge_across(&mut judged, |workload, class| is_live(first, workload, class));
        comparisons.extend(judged);
    }
    apply_holm(comparisons.iter_mut().filter(|found| found.primary));
    comparisons
}

/// Compares the rows (workload, metric, arm) that both results have: relative to the baseline if it is the same.
fn test_all(first: &Findings, other: &Findings, unit: SampleUnit, names: [&str; 2]) -> Vec<Tested> {
    let (before, after) = (ResultIndex::new(first), ResultIndex::new(other));
    let emulated = [first, other].iter().any(|side| side.environment.is_emulated());
    let mut rows = Vec::new();
    for cell in first.measurements.iter().filter(|cell| !cell.control) {
        let Some(later) = after.cell(&key(cell)) else { continue };
        if cell.scale == Scale::Difference {
            continue;
        }
        let plain =
            |result: &ResultIndex<'_>, cell| Sample::of(&result.values(cell, RatioBase::Plain)?);
        let (kind, samples) = match samples_relative_to_baseline([&before, &after], [cell, later]) {
            Some(pair) => (Kind::RerunBaseline, Some(pair)),
            None => (Kind::BetweenResults, plain(&before, cell).zip(plain(&after, later))),
        };
        let labeled = |cell: &Measurement, name| at_level(&cell.configuration, RESULT, name);
        let arms = [labeled(cell, names[0]), labeled(later, names[1])];
        let mut found = comparison(cell, arms, kind, samples);
        add_trust_notes(&mut found, [cell, later], ["the earlier", "the later"]);
        if !found.better.is_known() {
            let metric = found.metric.clone();
            add_note(&mut found, Note::NoDirection { metric });
        }
        if emulated && is_of_speed(&found.metric) {
            add_note(&mut found, Note::Emulated);
        }
        let tests = samples.and_then(|(before, after)| test_samples(&before, &after, unit));
        rows.push((found, tests));
    }
    rows
}

/// Each side's trials relative to its baseline; `None` unless both have the same baseline.
fn samples_relative_to_baseline(
    results: [&ResultIndex<'_>; 2],
    cells: [&Measurement; 2],
) -> Option<(Sample, Sample)> {
    let (first_baseline, first) = results[0].relative_to_baseline(cells[0])?;
    let (later_baseline, later) = results[1].relative_to_baseline(cells[1])?;
    if settable(first_baseline) != settable(later_baseline) {
        return None;
    }
    Some((Sample::of(&first)?, Sample::of(&later)?))
}

/// Tests two samples of logarithms; `None` if either has too few values.
fn test_samples(before: &Sample, after: &Sample, unit: SampleUnit) -> Option<Tests> {
    if before.n.min(after.n) < FEWEST_FOR_INTERVAL {
        return None;
    }
    let days = match unit {
        SampleUnit::OneDay(days) => days.between([before, after], [1, 1]),
        SampleUnit::Trials | SampleUnit::Sessions { .. } => None,
    };
    Some(Tests { welch: welch(before, after), days })
}

/// Whether the row of a request class is of live production work, whose load is not controlled.
fn is_live(found: &Findings, class_row: &str, class: &'static str) -> bool {
    let mut live = found.measurements.iter().filter(|cell| cell.metric == ARRIVALS);
    live.any(|cell| classes::name(&cell.workload, class) == class_row)
}

/// Logarithm of a trial's value; the row decides which trials count.
pub(super) fn log_value(trial: &TrialValue) -> Option<f64> {
    trial.value.filter(|value| *value > 0.0).map(f64::ln)
}

/// A comparison without intervals, verdict and text; `cell` is the baseline's, and it comes first in each pair.
pub(super) fn comparison(
    cell: &Measurement,
    arms: [Arm; 2],
    kind: Kind,
    samples: Option<(Sample, Sample)>,
) -> Comparison {
    Comparison {
        primary: cell.primary,
        n: samples.map_or(0, |(before, after)| before.n.min(after.n)),
        // Samples relative to a baseline are ratios, and have no means in the metric's unit.
        means: samples
            .filter(|_| kind != Kind::RerunBaseline)
            .map(|(before, after)| [after.mean.exp(), before.mean.exp()]),
        ratio: samples
            .map(|(before, after)| (after.mean - before.mean).exp())
            .filter(|ratio| ratio.is_finite()),
        ..Comparison::bare(kind, &cell.workload, &cell.metric, cell.better, arms)
    }
}

/// Adds a note for each of the two numbers that is not trusted; `names` are the names of the sides.
pub(super) fn add_trust_notes(found: &mut Comparison, cells: [&Measurement; 2], names: [&str; 2]) {
    for (of, cell) in [NoteSide::Baseline, NoteSide::Arm].into_iter().zip(cells) {
        if let Some(trust) = cell.trust.filter(|trust| *trust != Trust::Trusted) {
            let note = Note::TrustOfResult { of, trust };
            let words = words::note(&note, names);
            found.add(note, words);
        }
    }
}

/// Adds the intervals (with the spread between days if tested) and the verdict; `family` comparisons share the error.
pub(super) fn with_verdict(
    mut found: Comparison,
    tests: Option<Tests>,
    family: usize,
    unit: SampleUnit,
) -> Comparison {
    let log_interval = |alpha: f64| match tests? {
        Tests { days: Some(days), .. } => days.interval(alpha),
        Tests { welch, days: None } => welch?.interval(alpha),
    };
    let ratio_interval = |alpha: f64| Some(log_interval(alpha)?.map(f64::exp));
    found.ci95 = ratio_interval(ALPHA);
    // Not adjusted: the caller applies Holm's method to the whole family.
    found.p_holm = tests.and_then(|tests| match tests.days {
        Some(days) => days.p(),
        None => tests.welch.map(|welch| welch.p),
    });
    if !found.primary {
        return found;
    }
    let alpha = bonferroni(ALPHA, family);
    found.ci95_simultaneous = ratio_interval(alpha);
    found.min_detectable_ratios = tests.and_then(|tests| {
        // Two-sided, so each side gets half of the error.
        let detectable = tests.days?.found(alpha / 2.0, POWER)?;
        Some([-detectable, detectable].map(f64::exp))
    });
    let forbids_verdict = |note: &Note| {
        matches!(note, Note::Emulated | Note::TrustOfResult { trust: Trust::Invalid, .. })
    };
    let is_finite = found.ci95_simultaneous.is_some_and(|ends| ends[1].is_finite());
    if found.better.is_known() && is_finite && !found.note_facts.iter().any(forbids_verdict) {
        // TOST at level alpha uses the interval of level 2 alpha.
        let intervals = log_interval(alpha).zip(log_interval(2.0 * alpha));
        found.verdict = intervals.map(|(ends, tost)| apply_margin(&mut found, ends, tost, unit));
    }
    found
}

/// Returns the verdict by the simultaneous CI and the TOST interval (logarithms), and stores the margin if it applies.
fn apply_margin(
    found: &mut Comparison,
    simultaneous: [f64; 2],
    tost: [f64; 2],
    unit: SampleUnit,
) -> Verdict {
    let higher = found.better == Better::Higher;
    let margin = match unit {
        SampleUnit::OneDay(_) => return Verdict::Inconclusive,
        SampleUnit::Sessions { margin: Some(margin) } => margin,
        SampleUnit::Trials | SampleUnit::Sessions { margin: None } => {
            return verdict_of_ends(simultaneous.map(f64::exp), higher);
        }
    };
    let judged = judge(simultaneous, tost, margin, higher);
    found.margin = Some(margin);
    found.ci_equivalence = Some(tost.map(f64::exp));
    found.within_margin = judged.within_margin;
    verdict_of_stats(judged.verdict)
}

#[cfg(test)]
mod tests {
    use assay_study::findings::measurements::Series;
    use assay_study::results::design::Design;
    use assay_study::results::record::Repeats;

    use super::super::cells::cells;
    use super::super::tests::Bench;
    use super::*;

    /// A result with these trials of its baseline and of another arm.
    fn result(trials: [Vec<TrialValue>; 2]) -> Findings {
        let arms =
            ["none", "bfq"].map(|level| Arm::from([("scheduler".to_owned(), level.to_owned())]));
        let design = Design { baseline: arms[0].clone(), ..Design::default() };
        let series = arms.iter().zip(trials).map(|(arm, trials)| Series {
            primary: true,
            trials,
            ..Series::bare("read", arm.clone(), "iops", Better::Higher)
        });
        let cells = cells(&design, series.collect());
        let compared = Comparison::bare(Kind::Paired, "read", "iops", Better::Higher, arms);
        let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &[1000; 3]);
        Findings {
            measurements: cells,
            comparisons: vec![compared],
            checks: Vec::new(),
            ..bench.findings()
        }
    }

    #[test]
    fn times_within_10_percent_are_alike() {
        let fact = |ns: u64| Fact { times_ns: vec![ns], ..Fact::new("trials", ns.to_string()) };
        assert!(fact(540).is_like(&fact(550)) && !fact(540).is_like(&fact(600)));
        assert!(!Fact::new("cpu", "a").is_like(&Fact::new("cpu", "b")));
    }

    fn trials(all: &[(f64, Status)]) -> Vec<TrialValue> {
        let trial = |(replicate, (value, status)): (u32, &(f64, Status))| {
            TrialValue::bare(replicate, Some(replicate), Some(*value), *status)
        };
        (1..).zip(all).map(trial).collect()
    }

    /// The last trial repeats the third.
    fn repeated(all: &[(f64, Status)]) -> Vec<TrialValue> {
        let mut told = trials(all);
        if let Some(last) = told.last_mut() {
            last.repeats = Some(Repeats { replicate: 3, order: 3 });
        }
        told
    }

    /// The values of baseline and arm, and the arm's values relative to its baseline.
    fn values(found: &Findings) -> [Vec<f64>; 3] {
        let book = ResultIndex::new(found);
        let [baseline, arm] = [&found.measurements[0], &found.measurements[1]];
        let plain = [baseline, arm].map(|cell| book.values(cell, RatioBase::Plain).unwrap());
        assert_eq!(plain.each_ref().map(Vec::len), [baseline.n, arm.n], "as many as its row has");
        let [baseline, own] = plain;
        let logs = [baseline, own, book.values(arm, RatioBase::ToItsBaseline).unwrap()];
        logs.map(|logs| logs.iter().map(|log| log.exp().round()).collect())
    }

    #[test]
    fn equal_names_get_the_time_and_then_the_id() {
        let called = |title: &str, started: &str, id: &str| {
            let mut found = Bench::new(&["."]).row(0, "read", 4096, &[1000; 3]).findings();
            let [own, start, result] =
                [&mut found.study.title, &mut found.study.started, &mut found.study.id];
            (*own, *start, *result) = (title.to_owned(), started.to_owned(), id.to_owned());
            found.environment.targets[0].drive = "sda, SATA".to_owned();
            found
        };
        let usual = "How fast is this storage?";
        let [early, late] = ["2026-11-20T10:31:12Z", "2026-11-20T10:31:40Z"];
        for (given, expected) in [
            ([("old", early), ("new", late)], ["old", "new"]),
            ([("x", early), ("x", late)], ["x 2026-11-20 10:31:12", "x 2026-11-20 10:31:40"]),
            ([("x", early), ("x", early)], ["0", "1"]),
            ([(usual, early), ("new", late)], ["sda 2026-11-20 10:31", "new"]),
        ] {
            let [(one, first), (other, second)] = given;
            let found = [called(one, first, "0"), called(other, second, "1")];
            assert_eq!(names(&[&found[0], &found[1]]), expected);
        }
    }

    #[test]
    fn a_first_run_and_its_repeat_are_one_trial_across_days() {
        let ok = |value: f64| (value, Status::Ok);
        let quiet = result([trials(&[ok(100.0); 4]), trials(&[ok(200.0); 4])]);
        assert_eq!(values(&quiet), [vec![100.0; 4], vec![200.0; 4], vec![2.0; 4]]);
        // The third baseline trial was disturbed, so both ran again: the arm's first run is in no row.
        let disturbed = (50.0, Status::Disturbed);
        let base = repeated(&[ok(100.0), ok(100.0), disturbed, ok(100.0), ok(100.0)]);
        let arm = repeated(&[ok(200.0), ok(200.0), ok(300.0), ok(200.0), ok(200.0)]);
        let again = result([base, arm]);
        assert_eq!(values(&again), [vec![100.0; 4], vec![200.0; 4], vec![2.0; 4]]);
        // The arm's third trial was disturbed: its repeat is relative to the baseline's repeat.
        let base = repeated(&[ok(100.0), ok(100.0), ok(130.0), ok(100.0), ok(100.0)]);
        let arm = repeated(&[ok(200.0), ok(200.0), disturbed, ok(200.0), ok(200.0)]);
        let own = vec![100.0, 100.0, 130.0, 100.0];
        assert_eq!(values(&result([base, arm])), [own, vec![200.0; 4], vec![2.0; 4]]);
    }

    #[test]
    fn where_too_few_are_left_the_disturbed_ones_count_as_in_their_row() {
        let loud = |value: f64| {
            let disturbed = (value, Status::Disturbed);
            trials(&[(value, Status::Ok), disturbed, disturbed])
        };
        let found = result([loud(100.0), loud(200.0)]);
        assert_eq!(values(&found), [vec![100.0; 3], vec![200.0; 3], vec![2.0; 3]]);
    }
}
