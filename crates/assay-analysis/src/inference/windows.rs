//! Rule `unequal-pressure`: latencies in two watched windows describe the device only if CPU waits were similar.

use assay_core::quantity::{metric, units::show};
use assay_core::{catalogue::About, exhibit::Exhibit};
use assay_study::findings::{
    Because, Findings, Measurement, Trust, WATCHED, WINDOWS, WorkloadFacts,
};

use super::across::{labeled_cell, names};

pub(super) static ABOUT: About = About {
    name: "unequal-pressure",
    summary: "tasks waited much longer for CPUs in one of the two windows",
    text: "Applies to two compared results of `assay watch`. CPU pressure (/proc/pressure/cpu) is the share of the \
           time in which some task waited for a CPU. If the two windows differ by more than 10 percentage points, \
           both are suspect. Programs that wait for a CPU issue requests later and less often, and also notice \
           completions later.",
};

/// Shares of time that differ by more than this are not similar.
const APART: f64 = 0.10;

#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    pub before: ResultWindow,
    pub after: ResultWindow,
    /// Whether CPU waits differed too much to attribute latencies to the device.
    pub unequal_pressure: bool,
    /// Comparison of the two shares, without a final period.
    pub pressure: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ResultWindow {
    pub result: String,
    pub started: String,
    pub seconds: f64,
    /// Fraction of its time in which something waited for a processor; `None` if not recorded.
    pub cpu_pressure: Option<f64>,
}

/// Before and after, if exactly two windows are compared.
pub(super) fn compare_windows(first: &Findings, later: &[Findings]) -> Option<Windows> {
    let [other] = later else { return None };
    let [before, after] = [window(first)?, window(other)?];
    let shares = before.cpu_pressure.zip(after.cpu_pressure);
    let unequal_pressure = shares.is_some_and(|(one, other)| (one - other).abs() > APART);
    let pressure = pressure([&before, &after], unequal_pressure);
    Some(Windows { before, after, unequal_pressure, pressure })
}

/// The watched window of a result; `None` for a result of another command.
fn window(found: &Findings) -> Option<ResultWindow> {
    let is_watched = |one: &&WorkloadFacts| one.name == WATCHED && one.io.is_none();
    let work = found.workloads.iter().find(is_watched)?;
    let around = found.environment.activity.workloads.iter().find(|one| one.workload == WATCHED);
    Some(ResultWindow {
        result: found.study.id.clone(),
        started: found.study.started.clone(),
        seconds: work.time_ns as f64 / 1e9,
        cpu_pressure: around.and_then(|one| one.pressure_shares.get("cpu").copied()),
    })
}

/// The results, with suspect numbers if CPU waits differed.
pub(super) fn mark_suspect_windows(windows: &Windows, sides: [&Findings; 2]) -> [Findings; 2] {
    let (rule, text) = (ABOUT.name.to_owned(), windows.pressure.clone());
    let because = Because { rule, trust: Trust::Suspect, text };
    sides.map(|side| {
        let mut side = side.clone();
        for cell in side.measurements.iter_mut().filter(|_| windows.unequal_pressure) {
            cell.trust = cell.trust.max(Some(Trust::Suspect));
            cell.reasons.push(because.clone());
        }
        side
    })
}

/// Adds the windows to their findings, with every number of each class.
pub(super) fn add_windows(windows: &Windows, sides: [&Findings; 2], found: &mut Findings) {
    for (side, name) in sides.into_iter().zip(names(&sides)) {
        let is_of_class = |cell: &&Measurement| {
            !cell.primary && !cell.control && metric::class(&cell.metric).is_some()
        };
        let cells = side.measurements.iter().filter(is_of_class);
        found.measurements.extend(cells.map(|cell| labeled_cell(cell, &name)));
    }
    found.study.lead_figure = Some("classes".to_owned());
    let mut notes = Vec::new();
    for (name, window) in names(&sides).into_iter().zip([&windows.before, &windows.after]) {
        let (length, start) = (show::duration(window.seconds * 1e9), &window.started);
        let start = start.replace('T', " ");
        notes.push(format!("{name}: {}, {length} starting at {start}.", window.result));
    }
    notes.push(format!("CPU pressure: {}.", windows.pressure));
    found.exhibits.push(Exhibit { topic: WINDOWS.to_owned(), notes, ..Exhibit::default() });
}

/// How long something waited for a processor in each window.
fn pressure(windows: [&ResultWindow; 2], unequal: bool) -> String {
    let [Some(before), Some(after)] = windows.map(|one| one.cpu_pressure) else {
        return "one window has no CPU wait times; watch again with this Assay version to compare CPU waits"
            .to_owned();
    };
    let [before, after] = [before, after].map(show::share);
    let end =
        if unequal { "the CPUs, not the device, may explain the difference" } else { "similar" };
    format!(
        "tasks waited for a CPU in {before} of the time before and {after} of the time after: {end}"
    )
}

#[cfg(test)]
mod tests {
    use assay_study::findings::notes::Note;
    use assay_study::results::surroundings::facts::WorkloadSurroundings;

    use super::super::days::Days;
    use super::super::tests::Bench;
    use super::*;

    /// A window in which work waited for a processor for this fraction of the time.
    fn watched(id: &str, share: Option<f64>) -> Findings {
        let mut found = Bench::new(&["."]).row(0, WATCHED, 4096, &[1024; 3]).findings();
        found.study.id = id.to_owned();
        found.workloads.iter_mut().for_each(|one| one.io = None);
        let shares = share.map(|share| ("cpu".to_owned(), share)).into_iter().collect();
        found.environment.activity.workloads = vec![WorkloadSurroundings {
            workload: WATCHED.to_owned(),
            pressure_shares: shares,
            n: 1,
            ..WorkloadSurroundings::default()
        }];
        found
    }

    fn compared(before: &Findings, after: Findings) -> Findings {
        super::super::compare(before, &[after], Days::default())
    }

    fn trusts(found: &Findings) -> Vec<Option<Trust>> {
        let mut told: Vec<_> = found.measurements.iter().map(|cell| cell.trust).collect();
        told.dedup();
        told
    }

    #[test]
    fn much_more_waiting_for_processors_makes_a_comparison_suspect() {
        let before = watched("a", Some(0.02));
        let found = compared(&before, watched("b", Some(0.45)));
        assert!(found.are_windows());
        assert_eq!(trusts(&found), [Some(Trust::Suspect)]);
        let because = &found.measurements[0].reasons.last().unwrap();
        assert_eq!(because.rule, "unequal-pressure");
        assert!(because.text.contains("2% of the time before and 45%"), "{because:?}");
        let noted = |note: &Note| matches!(note, Note::TrustOfResult { trust: Trust::Suspect, .. });
        assert!(found.comparisons[0].note_facts.iter().any(noted));
        assert_eq!(found.study.lead_figure.as_deref(), Some("classes"));
    }

    #[test]
    fn alike_or_unknown_it_is_told_and_takes_nothing() {
        let before = watched("a", Some(0.02));
        let alike = compared(&before, watched("b", Some(0.09)));
        let unknown = compared(&before, watched("b", None));
        for (found, words) in [(alike, ": similar"), (unknown, "has no CPU wait times")] {
            assert_eq!(trusts(&found), [Some(Trust::Trusted)]);
            let told = found.exhibits[0].notes.last().unwrap();
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    fn results_of_the_own_work_are_no_windows() {
        let mut own = watched("a", Some(0.02));
        own.workloads.iter_mut().for_each(|one| "random-read".clone_into(&mut one.name));
        let found = compared(&own, watched("b", Some(0.9)));
        assert!(!found.are_windows() && found.study.lead_figure.is_none());
        assert!(found.measurements.iter().all(|cell| cell.trust == Some(Trust::Trusted)));
    }
}
