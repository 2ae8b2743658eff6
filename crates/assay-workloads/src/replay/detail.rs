//! What is counted of a play, and how faithful it was.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::replay::{Fitted, Placing};
use assay_core::calc::requests::Pair;
use assay_core::quantity::Bytes;
use assay_core::quantity::played::{self, Told};
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use crate::io::Pace;
use crate::measured::{Count, Counts};

/// Bytes and operations of a kind of request may differ by this share: rounding, and what was not issued.
const MOST_BYTES_SHARE: f64 = 0.01;
/// Kolmogorov's distance of the arrivals.
const MOST_ARRIVAL_DISTANCE: f64 = 0.02;
/// The time from the first request to the last one.
const MOST_DURATION_SHARE: f64 = 0.005;
/// Requests that started more than 1 ms late, or never.
const MOST_LATE_SHARE: f64 = 0.05;
/// With a paced clock: the part of the time of requests that waited for others that was added by starting late.
const MOST_ADDED_SHARE: f64 = 0.05;
/// Steps from one request to the next one that are of another length.
const MOST_JUMPS_CHANGED: f64 = 0.05;
/// Requests of the recording that cannot be played.
const MOST_LEFT_OUT: f64 = 0.01;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayDetail {
    /// By class (`read`, `write`, `flush`, `trim`, `zero`).
    pub classes: BTreeMap<String, Count>,
    /// By the clock, and paced: how far the intended starts were held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    pub fidelity: Fidelity,
}

impl ReplayDetail {
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.bytes))
    }

    /// What a metric of a class tells per second, or why there is nothing; none of every other metric.
    pub(super) fn amount(&self, metric: &str) -> Option<Result<u64, String>> {
        let (class, told) = played::of(metric)?;
        let pick: fn(&Count) -> u64 = match told {
            Told::Rate => |own| own.operations,
            Told::Bytes => |own| own.bytes,
            Told::Response(_) | Told::Service(_) => return None,
        };
        let own = self.classes.get(class.key).filter(|own| own.operations > 0);
        Some(own.map(pick).ok_or_else(|| format!("no {} completed in the window", class.words)))
    }
}

impl Counts for ReplayDetail {
    fn operations(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.operations))
    }
}

/// Recorded and played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beside {
    pub recorded: Count,
    pub replayed: Count,
}

/// What was played beside what was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// By kind of request, as it was recorded (`read`, `write`, `fua`, `flush`, `discard`, `write-zeroes`).
    pub requests: BTreeMap<String, Beside>,
    /// Nanoseconds from the first request to the last one: as recorded, scaled, and as played.
    pub recorded_ns: u64,
    pub replayed_ns: u64,
    /// By the clock: the distance of Kolmogorov between intended and real starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ks_distance: Option<f64>,
    /// By the clock, and paced: the part that started more than 1 ms late, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_share: Option<f64>,
    /// By the clock, and paced: the longest time that one was behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delay_ns: Option<u64>,
    /// With a paced clock: how the waits were held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependent: Option<Paced>,
    /// Requests under way on average: recorded (0 where the recording does not say when they ended), and played.
    /// What a target does with the load is no fault.
    pub in_flight: [f64; 2],
    /// Requests of the recording that cannot be played.
    pub skipped: u64,
    pub placing: Placing,
    /// What was changed of requests so that they fit.
    pub adjusted: Fitted,
    /// What is drawn, by kind of request; nothing in results of versions that drew nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub drawn: BTreeMap<String, Pair>,
}

/// How a play held the waits that were guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Paced {
    /// Requests that started after the end of another one, which they plausibly waited for.
    pub after_end: u64,
    /// Nanoseconds from those ends to the starts, on average: as recorded, scaled, and as played.
    pub gap_ns: [f64; 2],
    /// The part of their time, from those ends to their own, that was added by starting late.
    pub added_share: f64,
    /// Requests that started after one that came later in the recording.
    pub overtaken: u64,
}

/// How far a number is from another one, as a share of that.
fn apart(played: u64, recorded: u64) -> f64 {
    played.abs_diff(recorded) as f64 / recorded.max(1) as f64
}

impl Fidelity {
    /// Orders by faithfulness: faults, then the distance of starts and added waits.
    pub fn by_faults(&self, other: &Self) -> Ordering {
        let added = |own: &Self| own.dependent.map(|paced| paced.added_share);
        let distance = |own: &Self| own.ks_distance.or_else(|| added(own)).unwrap_or_default();
        let faults = self.faults().len().cmp(&other.faults().len());
        faults.then_with(|| distance(self).total_cmp(&distance(other)))
    }

    /// How many were under way when it was recorded; none where the recording does not say when requests ended.
    pub fn in_flight_recorded(&self) -> Option<f64> {
        Some(self.in_flight[0]).filter(|many| *many > 0.0)
    }

    /// Where it is not the same work, each a clause; none where it is.
    pub fn faults(&self) -> Vec<String> {
        let counts = self.requests.iter().filter_map(|(name, own)| {
            let Beside { recorded, replayed: played } = own;
            if apart(played.operations, recorded.operations) > MOST_BYTES_SHARE {
                let [played, recorded] =
                    [played, recorded].map(|count| show::count(count.operations));
                return Some(format!("{played} of {recorded} requests ({name}) were replayed"));
            }
            (apart(played.bytes, recorded.bytes) > MOST_BYTES_SHARE).then(|| {
                let [played, recorded] = [played, recorded].map(|count| Bytes(count.bytes));
                format!("{played} of {recorded} ({name}) were replayed")
            })
        });
        let rest = [self.timing(), self.pacing(), self.places(), self.lacking()];
        counts.chain(rest.into_iter().flatten()).collect()
    }

    fn timing(&self) -> Option<String> {
        let distance = self.ks_distance?;
        // Of few requests each is a larger part: one that starts a little later is that far.
        let one = Some(self.recorded()).filter(|all| *all > 0).map(|all| (1.0 + 1e-9) / all as f64);
        let most = MOST_ARRIVAL_DISTANCE.max(one.unwrap_or_default());
        if distance > most {
            return Some(format!(
                "the arrival times differ from the trace: KS distance {distance:.3} (limit {most:.3})"
            ));
        }
        if self.recorded_ns > 0 && apart(self.replayed_ns, self.recorded_ns) > MOST_DURATION_SHARE {
            let [played, recorded] =
                [self.replayed_ns, self.recorded_ns].map(|span| show::duration(span as f64));
            return Some(format!("the replay took {played} instead of {recorded}"));
        }
        self.lateness()
    }

    fn lateness(&self) -> Option<String> {
        let late = self.late_share.filter(|share| *share > MOST_LATE_SHARE)?;
        Some(format!("{} of the requests started late", show::share(late)))
    }

    /// Paced: where it was not the recorded gaps that were waited.
    fn pacing(&self) -> Option<String> {
        let added = self.dependent?.added_share;
        if added > MOST_ADDED_SHARE {
            return Some(format!(
                "late starts added {} to the waiting time of dependent requests",
                show::share(added)
            ));
        }
        self.lateness()
    }

    fn places(&self) -> Option<String> {
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
        self.requests.values().fold(0, |sum, own| sum.saturating_add(own.recorded.operations))
    }

    fn lacking(&self) -> Option<String> {
        let all = self.recorded().saturating_add(self.skipped);
        let share = self.skipped as f64 / all.max(1) as f64;
        (share > MOST_LEFT_OUT)
            .then(|| format!("{} of the recorded requests cannot be replayed", show::share(share)))
    }
}
