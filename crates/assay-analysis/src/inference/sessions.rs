//! Sides of three or more results each (R13c): a result is one session with one number. Sessions on both sides show the
//! variation between days, so the verdict can be *equivalent*.

use assay_core::stats::Sample;
use assay_study::findings::measurements::Series;
use assay_study::findings::{Check, Findings, Measurement, StudyFacts, TrialValue};
use assay_study::results::record::Status;

use super::across::{self, Key, RatioBase, ResultIndex, SampleUnit, key};
use super::cells;

/// Compares the later with the earlier side; `margin` overrides that of the results. `None` if a side is empty.
pub fn compare_sides(
    earlier: &[Findings],
    later: &[Findings],
    margin: Option<f64>,
) -> Option<Findings> {
    let margin = margin.or_else(|| common_margin(earlier.iter().chain(later)));
    let [before, after] = [pool_side(earlier)?, pool_side(later)?];
    let mut found = across::compare_as(&before, &[after], SampleUnit::Sessions { margin });
    let sizes = [earlier, later].map(<[Findings]>::len);
    let text = format!(
        "each result counts as one value: {} later results against {} earlier results",
        sizes[1], sizes[0]
    );
    found.checks.insert(0, Check::new("sessions", text));
    Some(found)
}

pub(super) fn common_margin<'a>(results: impl Iterator<Item = &'a Findings>) -> Option<f64> {
    let mut margins = results.map(|one| one.comparisons.iter().find_map(|found| found.margin));
    let first = margins.next()??;
    margins.all(|margin| margin == Some(first)).then_some(first)
}

/// The results of a side as one, with session means as its trials; `None` if it is empty.
fn pool_side(results: &[Findings]) -> Option<Findings> {
    let (first, more) = results.split_first()?;
    let indexes: Vec<ResultIndex<'_>> = results.iter().map(ResultIndex::new).collect();
    let plain = first.measurements.iter().filter(|cell| !cell.control);
    let cells = plain.filter_map(|cell| session_cell(cell, &key(cell), &indexes)).collect();
    // An order that rules out verdicts in one result rules them out in all.
    let checks = more.iter().flat_map(|one| &one.checks).filter(|check| check.leaves_no_verdict());
    Some(Findings {
        study: StudyFacts {
            id: format!("{}+{}", first.study.id, more.len()),
            title: format!("{} and {} more", across::names(&[first])[0], more.len()),
            ..first.study.clone()
        },
        measurements: cells,
        checks: first.checks.iter().chain(checks).cloned().collect(),
        ..first.clone()
    })
}

/// A row with session means as its trials; `None` if a session has no number.
fn session_cell(cell: &Measurement, key: &Key, results: &[ResultIndex<'_>]) -> Option<Measurement> {
    let (mut sessions, mut means) = (Vec::new(), Vec::new());
    for (replicate, result) in (1..).zip(results) {
        let session = result.cell(key)?;
        let mean = Sample::of(&result.values(session, RatioBase::Plain)?)?.mean.exp();
        means.push(TrialValue::bare(replicate, None, Some(mean), Status::Ok));
        sessions.push(session);
    }
    Some(cells::unpaired_cell(Series::again(cell, &sessions, means)))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::{Comparison, Verdict};

    use super::super::tests::Bench;
    use super::*;

    /// Three days of a drive with this rate, each with its own factor.
    fn week(name: &str, rate: f64, days: [f64; 3]) -> Vec<Findings> {
        let day = |(at, day): (usize, f64)| {
            let rates = [0.99, 1.0, 1.01].map(|trial| (rate * day * trial) as u64);
            let mut found = Bench::new(&["."]).row(0, "random-read-q1", 4096, &rates).findings();
            found.study.id = format!("{name}-{at}");
            found
        };
        days.into_iter().enumerate().map(day).collect()
    }

    fn compared(rate: f64, days: [f64; 3], margin: Option<f64>) -> Comparison {
        let earlier = week("old", 10_000.0, [1.0, 1.01, 0.99]);
        let found = compare_sides(&earlier, &week("new", rate, days), margin).unwrap();
        let text = "each result counts as one value: 3 later results against 3 earlier results";
        assert_eq!(found.checks[0].text, text);
        found.comparisons.into_iter().find(|one| one.primary).unwrap()
    }

    #[test]
    fn days_alike_are_equivalent_and_nothing_is_without_a_margin() {
        let quiet = [0.995, 1.0, 1.005];
        let alike = compared(10_000.0, quiet, Some(0.05));
        assert_eq!(alike.verdict, Some(Verdict::Equivalent), "{alike:?}");
        assert_eq!((alike.n, alike.margin), (3, Some(0.05)));
        assert_eq!(compared(10_000.0, quiet, None).verdict, Some(Verdict::Inconclusive));
    }

    #[test]
    fn a_difference_must_stand_out_of_the_days_and_not_of_their_trials() {
        assert_eq!(compared(7_000.0, [1.0; 3], Some(0.05)).verdict, Some(Verdict::Worse));
        // Trials within a day agree within 1%, days do not.
        let wild = compared(9_000.0, [0.9, 1.0, 1.1], Some(0.05));
        assert_eq!(wild.verdict, Some(Verdict::Inconclusive));
    }

    #[test]
    fn a_row_that_one_day_lacks_is_not_compared() {
        let earlier = week("old", 10_000.0, [1.0; 3]);
        let mut later = week("new", 10_000.0, [1.0; 3]);
        later[2].measurements.clear();
        assert_eq!(compare_sides(&earlier, &later, None).unwrap().comparisons, []);
        assert!(compare_sides(&[], &later, None).is_none());
    }
}
