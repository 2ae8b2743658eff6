//! Judges a run of load on a link, or rejects it: a stopped load, stalled probes or a silent peer would look like a
//! good link.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use assay_core::quantity::Metric;
use assay_machine::system::network::{BitRate, LinkRun, Load, PhaseRun, SLICE_NS};
use hdrhistogram::Histogram;

use super::metrics::{self, ADDED, ADDED_TAIL, TRIPS, for_load};
use super::{NetworkDetail, PhaseDetail};
use crate::measured::{Histograms, KnownAndAbsent, SeriesRow, known_and_absent, percentile};

/// Number of slices in which some data must arrive.
const GROUP: usize = 5;
/// Share of the window with confirmed load.
const LEAST_LOADED: f64 = 0.8;
/// Share of the window's probes that must have been sent.
const LEAST_SENT: f64 = 0.8;
/// Share of them that must have been answered.
const LEAST_BACK: f64 = 0.5;
const FEWEST: usize = 20;
/// Resolution of the latency under load.
const FINEST_NS: f64 = 1e5;
const MINUTE_NS: f64 = 60e9;
const PROBES: &str = "probes";
/// A round trip of a minute counts as lost.
const LONGEST_NS: u64 = 60_000_000_000;

pub(super) struct NetworkResult {
    pub detail: NetworkDetail,
    pub values: KnownAndAbsent,
    pub histograms: Histograms,
    pub series: Vec<SeriesRow>,
    /// Measured nanoseconds of all phases.
    pub window_ns: u64,
}

pub(super) fn judge(run: LinkRun, probe_ns: u64) -> Result<NetworkResult, String> {
    let mut phases = Vec::new();
    let mut histograms = Histograms::new();
    let mut window_ns = 0;
    for phase in run.phases {
        let name = phase.job.load.name();
        let (detail, latencies) =
            judge_phase(phase, probe_ns).map_err(|reason| format!("phase {name}: {reason}"))?;
        window_ns += detail.run.job.time_ns;
        phases.push(detail);
        histograms.insert(name.to_owned(), latencies);
    }
    let values = known_and_absent(values(&phases, &histograms));
    let series = series(&phases);
    let detail = NetworkDetail { peer: run.peer, congestion: run.congestion, shaped: None, phases };
    Ok(NetworkResult { detail, values, histograms, series, window_ns })
}

/// Loss and latency of the probes sent while data moved in every direction of the load.
fn judge_phase(run: PhaseRun, probe_ns: u64) -> Result<(PhaseDetail, Histogram<u64>), String> {
    let window = run.job.ramp_ns..run.job.whole_ns();
    // Groups with data in every direction of the load; `None` if the link is idle.
    let mut groups: Option<LoadedGroups> = None;
    let mut rates = [None, None];
    let ways = [
        (run.job.load.goes_up(), &run.up_bytes, "to the peer"),
        (run.job.load.goes_down(), &run.down_bytes, "from the peer"),
    ];
    for (at, (_, bytes, way)) in ways.into_iter().enumerate().filter(|(_, (goes, ..))| *goes) {
        let loaded = loaded_groups(bytes, &window);
        let seen = loaded.iter().filter(|(_, arrived)| *arrived).count();
        if (seen as f64) < LEAST_LOADED * loaded.len() as f64 || loaded.is_empty() {
            return Err(format!(
                "the load stalled: data moved {way} in only {seen} of {} half-second intervals",
                loaded.len()
            ));
        }
        // Over the whole phase: data delayed by a loss in the ramp arrives in the window.
        rates[at] = Some(rate(bytes, &(0..window.end)));
        match &mut groups {
            None => groups = Some(loaded),
            // The groups of both directions are the same spans.
            Some(groups) => {
                for ((_, arrived), (_, also)) in groups.iter_mut().zip(loaded) {
                    *arrived &= also;
                }
            }
        }
    }
    let is_verified = |at_ns: u64| {
        window.contains(&at_ns)
            && groups.as_ref().is_none_or(|groups| {
                groups.iter().any(|(span, arrived)| *arrived && span.contains(&at_ns))
            })
    };
    let in_window = run.probes.iter().filter(|probe| window.contains(&probe.sent_ns)).count();
    let intended = run.job.time_ns / probe_ns.max(1);
    if (in_window as f64) < LEAST_SENT * intended as f64 || in_window < FEWEST {
        return Err(format!(
            "the probe stalled: Assay sent only {in_window} of {intended} datagrams on time"
        ));
    }
    let mut latencies =
        Histogram::new_with_bounds(1, LONGEST_NS, 3).map_err(|error| error.to_string())?;
    let (mut sent, mut lost) = (0, 0);
    for probe in run.probes.iter().filter(|probe| is_verified(probe.sent_ns)) {
        sent += 1;
        match probe.rtt_ns {
            Some(rtt_ns) => latencies.saturating_record(rtt_ns.clamp(1, LONGEST_NS)),
            None => lost += 1,
        }
    }
    if (latencies.len() as f64) < LEAST_BACK * sent as f64 || latencies.is_empty() {
        let silent_since =
            run.probes.iter().rev().take_while(|probe| probe.rtt_ns.is_none()).count();
        // With answers until the end, the peer was alive: other probes were dropped on the way.
        let who =
            if silent_since >= FEWEST { "the peer was lost" } else { "the link drops too much" };
        return Err(format!("{who}: {lost} of {sent} datagrams were not returned"));
    }
    let [up, down] = rates;
    Ok((PhaseDetail { run, sent, lost, up, down }, latencies))
}

/// Groups of slices in a window, and whether data arrived in each.
type LoadedGroups = Vec<(std::ops::Range<u64>, bool)>;

fn loaded_groups(bytes: &[u64], window: &std::ops::Range<u64>) -> LoadedGroups {
    let first = window.start.div_ceil(SLICE_NS) as usize;
    let end = (window.end / SLICE_NS) as usize;
    let starts = (first..end).step_by(GROUP);
    starts
        .map(|from| {
            let to = (from + GROUP).min(end);
            let arrived =
                bytes.get(from..to).is_some_and(|group| group.iter().any(|bytes| *bytes > 0));
            // Extends the first and the last slice to the window's ends.
            let start = if from == first { window.start } else { from as u64 * SLICE_NS };
            let stop = if to == end { window.end } else { to as u64 * SLICE_NS };
            (start..stop, arrived)
        })
        .collect()
}

pub(super) fn rate(bytes: &[u64], window: &std::ops::Range<u64>) -> BitRate {
    let (first, end) = (window.start.div_ceil(SLICE_NS) as usize, (window.end / SLICE_NS) as usize);
    let slices = bytes.get(first..end.min(bytes.len())).unwrap_or_default();
    BitRate::from_bytes(slices.iter().sum(), slices.len() as u64 * SLICE_NS)
}

/// Capacity of a link: the largest mean rate from the beginning to a slice after `from_ns`. TCP delays data after a
/// loss and delivers it at once, so the rate of a short window is wrong; a mean from the beginning is at most too low,
/// and least so without delayed data.
pub(super) fn carried(bytes: &[u64], from_ns: u64) -> BitRate {
    let sums = bytes.iter().scan(0_u64, |sum, bytes_here| {
        *sum += bytes_here;
        Some(*sum)
    });
    let ends = (1..).map(|slice: u64| slice * SLICE_NS);
    let means = sums.zip(ends).filter(|(_, end)| *end >= from_ns);
    means.map(|(sum, end)| BitRate::from_bytes(sum, end)).max().unwrap_or_default()
}

type Value = (Metric, Presence<f64>);

fn values(phases: &[PhaseDetail], histograms: &Histograms) -> Vec<Value> {
    let of_load = |load: Load| histograms.get(load.name());
    let median_ns = |load: Load| percentile(of_load(load)?, 0.5, PROBES).value().copied();
    let idle_ns = median_ns(Load::Idle);
    let mut values = Vec::new();
    let (mut added, mut tails, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for phase in phases {
        let load = phase.run.job.load;
        let (&[p50, p95, p99, max, lost, ref of_load_only @ ..], Some(latencies)) =
            (for_load(load), of_load(load))
        else {
            continue;
        };
        let tail = percentile(latencies, 0.95, PROBES);
        let lost_share = phase.lost as f64 / phase.sent.max(1) as f64;
        values.extend([
            (p50, percentile(latencies, 0.5, PROBES)),
            (p95, tail.clone()),
            (p99, percentile(latencies, 0.99, PROBES)),
            (max, Presence::Present(latencies.max() as f64)),
            (lost, Presence::Present(lost_share)),
        ]);
        for (metric, rate) in metrics::rates(load).into_iter().zip([phase.up, phase.down]) {
            values.extend(metric.zip(rate).map(|(m, rate)| (m, Presence::Present(rate.0 as f64))));
        }
        // An idle link has no metrics of added latency.
        let &[added_metric, added_tail_metric] = of_load_only else { continue };
        let above_idle = |ns: f64| idle_ns.map(|idle_ns| (ns - idle_ns).max(FINEST_NS));
        let half_ns = median_ns(load);
        let added_ns = half_ns.and_then(above_idle);
        values.extend(added_ns.map(|added_ns| (added_metric, Presence::Present(added_ns))));
        let added_tail = tail.map(|ns| above_idle(ns).unwrap_or(ns));
        values.push((added_tail_metric, added_tail.clone()));
        tails.push(added_tail);
        if load != Load::Both {
            added.extend(added_ns);
            trips.extend(half_ns.map(|half_ns| MINUTE_NS / half_ns));
        }
    }
    values.extend(mean(&added).map(|mean| (ADDED, Presence::Present(mean))));
    values.extend(mean(&trips).map(|mean| (TRIPS, Presence::Present(mean))));
    for load in Load::ALL.into_iter().filter(|load| of_load(*load).is_none()) {
        let reason = format!("the study does not have the phase {}", load.name());
        values.extend(
            metrics::of_phase(load).map(|metric| (metric, Presence::absent(reason.clone()))),
        );
    }
    let worst = tails.into_iter().reduce(|one, other| one.both(&other, |a, b| a.max(*b)));
    values.extend(worst.map(|worst| (ADDED_TAIL, worst)));
    values
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// Rows per second of the run, one class per phase: every answered probe, including the ramp.
fn series(phases: &[PhaseDetail]) -> Vec<SeriesRow> {
    let mut rows: BTreeMap<(u32, &str), SeriesRow> = BTreeMap::new();
    for phase in phases {
        let name = phase.run.job.load.name();
        let mut row = |at_ns: u64, bytes: u64, rtt_ns: Option<u64>| {
            let second = ((phase.run.began_ns + at_ns) / 1_000_000_000) as u32;
            let row = rows.entry((second, name)).or_insert_with(|| SeriesRow {
                second,
                class: name.to_owned(),
                operations: 0,
                bytes: 0,
                latency_sum_ns: 0,
                latency_max_ns: 0,
                latency_buckets: Vec::new(),
            });
            row.bytes += bytes;
            row.operations += u64::from(rtt_ns.is_some());
            row.latency_sum_ns += rtt_ns.unwrap_or(0);
            row.latency_max_ns = row.latency_max_ns.max(rtt_ns.unwrap_or(0));
        };
        for probe in &phase.run.probes {
            row(probe.sent_ns, 0, probe.rtt_ns);
        }
        for slices in [&phase.run.up_bytes, &phase.run.down_bytes] {
            for (at, bytes) in slices.iter().enumerate() {
                row(at as u64 * SLICE_NS, *bytes, None);
            }
        }
    }
    rows.into_values().collect()
}
