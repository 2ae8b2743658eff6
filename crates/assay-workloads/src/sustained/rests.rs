//! Rests of the drive between slices of a long write, and rule `write-gaps`, which reports them.
//!
//! They are not intended: creating threads and rings, syncing and storing results takes time between two jobs. With
//! short slices they add up, and a drive may free cache space during them.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::SustainedDetail;
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

/// Smaller shares of the time are not reported.
const LEAST_SHARE: f64 = 0.05;

pub(super) const RESTED: OwnRule = OwnRule {
    about: About {
        name: "write-gaps",
        summary: "a continuous write paused for more than 5% of the time",
        text: "The number is suspect. Assay records the gaps between the slices of a long write. During a gap, a \
               drive may free cache space, so its rate drops later than under a continuous write, or not at all. The \
               rate of the slices is then higher than the rate of the whole write. Short slices cause the most gaps; \
               use a larger area, or a target with direct I/O, which needs no sync per slice. Assay does not judge \
               results of versions that did not record the gaps.",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed],
    doubt,
};

/// Rests of more than 5% of the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rests {
    /// Share of the time of slices and rests together.
    pub share: f64,
    /// Bytes per second over all of that time.
    pub whole_bytes_per_s: f64,
}

impl Rests {
    pub(super) fn percent(&self) -> String {
        show::percent(100.0 * self.share)
    }
}

/// Rests of the drive between slices, if recorded and considerable.
pub(super) fn rests(detail: &SustainedDetail) -> Option<Rests> {
    let rests_ns = detail.rests_ns? as f64;
    // An untrusted record may overflow an integer sum.
    let whole_ns = rests_ns + detail.slices_ns.iter().map(|ns| *ns as f64).sum::<f64>();
    let bytes = detail.slice_bytes as f64 * detail.slices_ns.len() as f64;
    let share = rests_ns / whole_ns;
    (share > LEAST_SHARE).then(|| Rests { share, whole_bytes_per_s: bytes / (whole_ns / 1e9) })
}

/// Doubts trials in which the drive rested between slices.
fn doubt(_: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let details = trials.iter().filter_map(|measured| SustainedDetail::of(measured));
    let rested: Vec<Rests> = details.filter_map(rests).collect();
    let most = rested.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    Some(Doubt {
        what: format!("the drive was idle between slices for {} of the time", most.percent()),
        trials: rested.len(),
        why: "so the rate may drop later, or not at all".to_owned(),
        invalid: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured_of;
    use super::super::{SustainedPlan, course};
    use super::*;
    use crate::io::Engine;

    const MIB: u64 = 1 << 20;

    /// A hundred slices of 8 MiB in 4 ms each, with this total rest in nanoseconds.
    fn detail(rests_ns: Option<u64>) -> SustainedDetail {
        SustainedDetail {
            slice_bytes: 8 * MIB,
            slices_ns: vec![4_000_000; 100],
            rests_ns,
            ..Default::default()
        }
    }

    #[test]
    fn many_short_rests_are_most_of_the_time() {
        // 8 ms after each slice of 4 ms.
        let found = rests(&detail(Some(800_000_000))).unwrap();
        assert!((found.share - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
        let whole = 800.0 * MIB as f64 / 1.2;
        assert!((found.whole_bytes_per_s / whole - 1.0).abs() < 1e-12, "{found:?}");
        assert_eq!(found.percent(), "67%");
        assert_eq!(course(&detail(Some(800_000_000))).unwrap().rests, Some(found));
    }

    #[test]
    fn few_rests_and_rests_that_nobody_kept_are_not_told() {
        // 1% of the time, just below the limit, none, and a result of an older version.
        for rests_ns in [Some(4_000_000), Some(21_000_000), Some(0), None] {
            assert_eq!(rests(&detail(rests_ns)), None, "{rests_ns:?}");
        }
        assert!(rests(&detail(Some(22_000_000))).is_some());
        assert_eq!(rests(&SustainedDetail { rests_ns: Some(0), ..Default::default() }), None);
        assert_eq!(
            rests(&SustainedDetail { slices_ns: vec![u64::MAX; 2], ..detail(Some(u64::MAX / 99)) }),
            None
        );
    }

    #[test]
    fn results_of_older_versions_are_read_and_tell_no_rests() {
        let older =
            r#"{"before_bytes":16777216,"slice_bytes":8388608,"slices_ns":[4000000,4000000]}"#;
        let read: SustainedDetail = serde_json::from_str(older).unwrap();
        assert_eq!((read.rests_ns, read.slices_ns.len()), (None, 2));
        assert_eq!(serde_json::to_string(&read).unwrap(), older);
    }

    fn said(rests_ns: &[Option<u64>]) -> Option<Doubt> {
        let trials: Vec<Measured> =
            rests_ns.iter().copied().map(|rests_ns| measured_of(detail(rests_ns))).collect();
        let trials: Vec<&Measured> = trials.iter().collect();
        let planned = SustainedPlan { engine: Engine::IoUring, bytes: 1 << 30, synced: true };
        (RESTED.doubt)(&planned.into(), &trials)
    }

    #[test]
    fn the_rule_tells_the_trial_that_rested_most() {
        let found = said(&[Some(100_000_000), Some(0), Some(800_000_000)]).unwrap();
        assert_eq!(found.what, "the drive was idle between slices for 67% of the time");
        assert_eq!(found.trials, 2);
    }

    #[test]
    fn the_rule_is_silent_where_it_hardly_rested_or_nobody_looked() {
        assert_eq!(said(&[Some(4_000_000), Some(0), None]), None);
        assert_eq!(said(&[]), None);
    }
}
