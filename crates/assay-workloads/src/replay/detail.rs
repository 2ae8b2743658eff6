//! Counters of a replay, and its fidelity.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::replay::{Fitted, Placing};
use assay_core::calc::requests::TracePair;
use assay_core::quantity::Bytes;
use assay_core::quantity::played::{self, PlayedMetric};
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::io::Pace;
use crate::measured::{Count, Counts};

/// Limit on the difference in bytes and operations per kind of request: rounding and unissued requests.
const MOST_BYTES_SHARE: f64 = 0.01;
const MOST_ARRIVAL_DISTANCE: f64 = 0.02;
/// Limit on the difference in time from the first request to the last.
const MOST_DURATION_SHARE: f64 = 0.005;
/// Limit on requests that started more than 1 ms late, or never.
const MOST_LATE_SHARE: f64 = 0.05;
/// With a dependent clock: limit on the share of dependent requests' time added by late starts.
const MOST_ADDED_SHARE: f64 = 0.05;
/// Limit on steps between requests with a different length.
const MOST_JUMPS_CHANGED: f64 = 0.05;
/// Limit on requests of the recording that cannot be replayed.
const MOST_LEFT_OUT: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayDetail {
    /// By class (`read`, `write`, `flush`, `trim`, `zero`).
    pub classes: BTreeMap<String, Count>,
    /// Open loop and dependent clock: deviations from intended starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    pub fidelity: Fidelity,
}

impl ReplayDetail {
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.bytes))
    }

    /// The amount of a class metric per second, or why it is missing; `None` for other metrics.
    pub(super) fn amount(&self, metric: &str) -> Option<Result<u64, String>> {
        let (class, kind) = played::find(metric)?;
        let amount: fn(&Count) -> u64 = match kind {
            PlayedMetric::Rate => |count| count.operations,
            PlayedMetric::Bytes => |count| count.bytes,
            PlayedMetric::Response(_) | PlayedMetric::Service(_) => return None,
        };
        let count = self.classes.get(class.key).filter(|count| count.operations > 0);
        Some(count.map(amount).ok_or_else(|| format!("no {} completed in the window", class.words)))
    }
}

impl Counts for ReplayDetail {
    fn operations(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.operations))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayCounts {
    pub recorded: Count,
    pub replayed: Count,
}

/// The replay compared with the recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// By kind of request, as recorded (`read`, `write`, `fua`, `flush`, `discard`, `write-zeroes`).
    pub requests: BTreeMap<String, ReplayCounts>,
    /// Nanoseconds from the first request to the last: as recorded, scaled, and as replayed.
    pub recorded_ns: u64,
    pub replayed_ns: u64,
    /// Open loop: Kolmogorov-Smirnov distance between intended and real starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ks_distance: Option<f64>,
    /// Open loop and dependent clock: share of requests that started more than 1 ms late, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share: Option<f64>,
    /// Open loop and dependent clock: the longest delay of a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay_ns: Option<u64>,
    /// With a dependent clock: its accuracy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependent: Option<WaitFidelity>,
    /// Mean requests in flight: recorded (0 if the recording has no completion times), and replayed. They depend on the
    /// target, so a difference is not an error.
    pub in_flight: [f64; 2],
    /// Requests of the recording that cannot be replayed.
    pub skipped: u64,
    pub placing: Placing,
    /// Changes of requests to fit the target.
    pub adjusted: Fitted,
    /// Data of figures by kind of request; empty in results of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drawn: BTreeMap<String, TracePair>,
}

/// Accuracy of the inferred waits of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitFidelity {
    /// Requests that started after the completion of another one, on which they plausibly depended.
    pub after_end: u64,
    /// Mean nanoseconds from those completions to the starts: as recorded, scaled, and as replayed.
    pub gap_ns: [f64; 2],
    /// Share of the time from those completions to their own that late starts added.
    pub added_share: f64,
    /// Requests that started after a later one of the recording.
    pub overtaken: u64,
}

fn relative_difference(played: u64, recorded: u64) -> f64 {
    played.abs_diff(recorded) as f64 / recorded.max(1) as f64
}

impl Fidelity {
    /// Orders by fidelity: faults, then the distance of starts and added waits.
    pub fn by_faults(&self, other: &Self) -> Ordering {
        let added = |fidelity: &Self| fidelity.dependent.map(|paced| paced.added_share);
        let distance =
            |fidelity: &Self| fidelity.ks_distance.or_else(|| added(fidelity)).unwrap_or_default();
        let faults = self.faults().len().cmp(&other.faults().len());
        faults.then_with(|| distance(self).total_cmp(&distance(other)))
    }

    /// Recorded mean in flight; `None` if the recording has no completion times.
    pub fn in_flight_recorded(&self) -> Option<f64> {
        Some(self.in_flight[0]).filter(|many| *many > 0.0)
    }

    /// Differences that make it other work, as clauses; empty if it is the same.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, ReplayCounts { recorded, replayed }) in &self.requests {
            let [all, played] = [recorded, replayed].map(|count| count.operations);
            let [all_bytes, played_bytes] = [recorded, replayed].map(|count| count.bytes);
            if relative_difference(played, all) > MOST_BYTES_SHARE {
                let [all, played] = [all, played].map(show::count);
                faults.push(format!("{played} of {all} requests ({name}) were replayed"));
            } else if relative_difference(played_bytes, all_bytes) > MOST_BYTES_SHARE {
                let [all, played] = [all_bytes, played_bytes].map(Bytes);
                faults.push(format!("{played} of {all} ({name}) were replayed"));
            }
        }
        let others =
            [self.timing_fault(), self.wait_fault(), self.placing_fault(), self.skipped_fault()];
        faults.extend(others.into_iter().flatten());
        faults
    }

    /// Open loop: a clause if the requests did not start at their times.
    fn timing_fault(&self) -> Option<String> {
        let distance = self.ks_distance?;
        // With few requests, a single late one has a large share: allow for it, and for rounding of the share.
        let most = match self.recorded() {
            0 => MOST_ARRIVAL_DISTANCE,
            all => MOST_ARRIVAL_DISTANCE.max((1.0 + 1e-9) / all as f64),
        };
        if distance > most {
            return Some(format!(
                "the arrival times differ from the trace: KS distance {distance:.3} (limit {most:.3})"
            ));
        }
        if self.recorded_ns > 0
            && relative_difference(self.replayed_ns, self.recorded_ns) > MOST_DURATION_SHARE
        {
            let [played, recorded] =
                [self.replayed_ns, self.recorded_ns].map(|span| show::duration(span as f64));
            return Some(format!("the replay took {played} instead of {recorded}"));
        }
        self.late_fault()
    }

    fn late_fault(&self) -> Option<String> {
        let late = self.late_share.filter(|share| *share > MOST_LATE_SHARE)?;
        Some(format!("{} of the requests started late", show::share(late)))
    }

    /// Dependent clock: a clause if the recorded gaps were not reproduced.
    fn wait_fault(&self) -> Option<String> {
        let added = self.dependent?.added_share;
        if added > MOST_ADDED_SHARE {
            return Some(format!(
                "late starts added {} to the waiting time of dependent requests",
                show::share(added)
            ));
        }
        self.late_fault()
    }

    /// A clause if the placing changed too many distances.
    fn placing_fault(&self) -> Option<String> {
        let changed = self.adjusted.distances_changed;
        (changed > MOST_JUMPS_CHANGED).then(|| {
            format!(
                "{}: {} of the distances between consecutive requests changed",
                self.placing.words(),
                show::share(changed)
            )
        })
    }

    fn recorded(&self) -> u64 {
        self.requests.values().fold(0, |sum, counts| sum.saturating_add(counts.recorded.operations))
    }

    fn skipped_fault(&self) -> Option<String> {
        let all = self.recorded().saturating_add(self.skipped);
        let share = self.skipped as f64 / all.max(1) as f64;
        (share > MOST_LEFT_OUT)
            .then(|| format!("{} of the recorded requests cannot be replayed", show::share(share)))
    }
}
