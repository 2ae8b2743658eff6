//! Judges a load on a link; rejects a stopped load, stalled probes or a silent peer, which look like a good link.

use std::collections::BTreeMap;
use std::ops::Range;

use assay_core::presence::Presence;
use assay_core::quantity::Metric;
use assay_machine::system::network::{BitRate, LinkRun, Load, PhaseRun, SLICE_NS};
use hdrhistogram::Histogram;

use super::metrics::{
    self, ADDED, ADDED_P50, ADDED_P95, ADDED_TAIL, LOST, MAX, P50, P95, P99, TRIPS, for_load,
};
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
/// Least number of probes in the window, and of unanswered ones at the end that mean a lost peer.
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
    pub window_ns: u64,
}

/// Judges all phases of a trial; fails with the first phase that is invalid.
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
    let load = run.job.load;
    // One list of spans per direction; none for an idle link.
    let mut loaded: Vec<Vec<Range<u64>>> = Vec::new();
    if load.goes_up() {
        loaded.push(loaded_spans(&run.up_bytes, &window, "to the peer")?);
    }
    if load.goes_down() {
        loaded.push(loaded_spans(&run.down_bytes, &window, "from the peer")?);
    }
    check_probes_sent(&run, &window, probe_ns)?;
    let mut latencies =
        Histogram::new_with_bounds(1, LONGEST_NS, 3).map_err(|error| error.to_string())?;
    let (mut sent, mut lost) = (0, 0);
    for probe in &run.probes {
        let is_in = |span: &Range<u64>| span.contains(&probe.sent_ns);
        if !is_in(&window) || !loaded.iter().all(|spans| spans.iter().any(is_in)) {
            continue;
        }
        sent += 1;
        match probe.rtt_ns {
            Some(rtt_ns) => latencies.saturating_record(rtt_ns.clamp(1, LONGEST_NS)),
            None => lost += 1,
        }
    }
    if (latencies.len() as f64) < LEAST_BACK * sent as f64 || latencies.is_empty() {
        let unanswered_at_end =
            run.probes.iter().rev().take_while(|probe| probe.rtt_ns.is_none()).count();
        // With answers until the end, the peer was alive: other probes were dropped on the way.
        let is_peer_lost = unanswered_at_end >= FEWEST;
        let who = if is_peer_lost { "the peer was lost" } else { "the link drops too much" };
        return Err(format!("{who}: {lost} of {sent} datagrams were not returned"));
    }
    // Over the whole phase: data delayed by a loss in the ramp arrives in the window.
    let whole = 0..window.end;
    let up = load.goes_up().then(|| rate(&run.up_bytes, &whole));
    let down = load.goes_down().then(|| rate(&run.down_bytes, &whole));
    Ok((PhaseDetail { run, sent, lost, up, down }, latencies))
}

/// Rejects a phase that sent too few probes in the window.
fn check_probes_sent(run: &PhaseRun, window: &Range<u64>, probe_ns: u64) -> Result<(), String> {
    let in_window = run.probes.iter().filter(|probe| window.contains(&probe.sent_ns)).count();
    let intended = run.job.time_ns / probe_ns.max(1);
    if (in_window as f64) < LEAST_SENT * intended as f64 || in_window < FEWEST {
        return Err(format!(
            "the probe stalled: Assay sent only {in_window} of {intended} datagrams on time"
        ));
    }
    Ok(())
}

/// The spans of a window in which data moved in one direction; an error if these are too few.
fn loaded_spans(bytes: &[u64], window: &Range<u64>, way: &str) -> Result<Vec<Range<u64>>, String> {
    let first = window.start.div_ceil(SLICE_NS) as usize;
    let end = (window.end / SLICE_NS) as usize;
    let mut loaded = Vec::new();
    let starts = (first..end).step_by(GROUP);
    let count = starts.len();
    for from in starts {
        let to = (from + GROUP).min(end);
        if bytes.get(from..to).is_some_and(|group| group.iter().any(|bytes| *bytes > 0)) {
            // The first and the last span extend to the window's ends.
            let start = if from == first { window.start } else { from as u64 * SLICE_NS };
            let stop = if to == end { window.end } else { to as u64 * SLICE_NS };
            loaded.push(start..stop);
        }
    }
    if (loaded.len() as f64) < LEAST_LOADED * count as f64 || count == 0 {
        return Err(format!(
            "the load stalled: data moved {way} in only {} of {count} half-second intervals",
            loaded.len()
        ));
    }
    Ok(loaded)
}

pub(super) fn rate(bytes: &[u64], window: &Range<u64>) -> BitRate {
    let (first, end) = (window.start.div_ceil(SLICE_NS) as usize, (window.end / SLICE_NS) as usize);
    let slices = bytes.get(first..end.min(bytes.len())).unwrap_or_default();
    BitRate::from_bytes(slices.iter().sum(), slices.len() as u64 * SLICE_NS)
}

/// Capacity of a link: the largest mean rate from the beginning to a slice after `from_ns`. After a loss, TCP delays
/// data and delivers it at once, so the rate of a short window is wrong; a mean from the beginning is only too low.
pub(super) fn capacity(bytes: &[u64], from_ns: u64) -> BitRate {
    let mut largest = BitRate::default();
    let mut sum = 0;
    for (bytes, slice) in bytes.iter().zip(1..) {
        sum += bytes;
        let end_ns = slice * SLICE_NS;
        if end_ns >= from_ns {
            largest = largest.max(BitRate::from_bytes(sum, end_ns));
        }
    }
    largest
}

type Value = (Metric, Presence<f64>);

/// The values of each phase, and their totals over upload and download.
fn values(phases: &[PhaseDetail], histograms: &Histograms) -> Vec<Value> {
    let median_ns =
        |load: Load| percentile(histograms.get(load.name())?, 0.5, PROBES).value().copied();
    let idle_ns = median_ns(Load::Idle);
    // At least the resolution, because a difference of noise may be negative.
    let above_idle = |ns: f64| idle_ns.map(|idle_ns| (ns - idle_ns).max(FINEST_NS));
    let mut values = Vec::new();
    // Nanoseconds above the idle p50, at p50 and at p95, and round trips per minute.
    let (mut added, mut tails, mut trips) = (Vec::new(), Vec::new(), Vec::new());
    for phase in phases {
        let load = phase.run.job.load;
        let Some(latencies) = histograms.get(load.name()) else { continue };
        values.extend(phase_values(phase, latencies));
        if load == Load::Idle {
            continue;
        }
        let metrics = for_load(load);
        let loaded_ns = median_ns(load);
        let added_ns = loaded_ns.and_then(above_idle);
        values.extend(added_ns.map(|ns| (metrics[ADDED_P50], Presence::Present(ns))));
        let tail = percentile(latencies, 0.95, PROBES).map(|ns| above_idle(ns).unwrap_or(ns));
        values.push((metrics[ADDED_P95], tail.clone()));
        tails.push(tail);
        // The totals are means of upload and download, without the load in both directions.
        if load != Load::Both {
            added.extend(added_ns);
            trips.extend(loaded_ns.map(|ns| MINUTE_NS / ns));
        }
    }
    values.extend(mean(&added).map(|mean| (ADDED, Presence::Present(mean))));
    values.extend(mean(&trips).map(|mean| (TRIPS, Presence::Present(mean))));
    for load in Load::ALL.into_iter().filter(|load| !histograms.contains_key(load.name())) {
        let reason = format!("the study does not have the phase {}", load.name());
        values.extend(
            metrics::of_phase(load).map(|metric| (metric, Presence::absent(reason.clone()))),
        );
    }
    let worst = tails.into_iter().reduce(|one, other| one.both(&other, |a, b| a.max(*b)));
    values.extend(worst.map(|worst| (ADDED_TAIL, worst)));
    values
}

/// The values that every phase has: round-trip times, loss and rates.
fn phase_values(phase: &PhaseDetail, latencies: &Histogram<u64>) -> Vec<Value> {
    let load = phase.run.job.load;
    let metrics = for_load(load);
    let lost_share = phase.lost as f64 / phase.sent.max(1) as f64;
    let mut values = vec![
        (metrics[P50], percentile(latencies, 0.5, PROBES)),
        (metrics[P95], percentile(latencies, 0.95, PROBES)),
        (metrics[P99], percentile(latencies, 0.99, PROBES)),
        (metrics[MAX], Presence::Present(latencies.max() as f64)),
        (metrics[LOST], Presence::Present(lost_share)),
    ];
    for (metric, rate) in metrics::rates(load).into_iter().zip([phase.up, phase.down]) {
        values.extend(metric.zip(rate).map(|(m, rate)| (m, Presence::Present(rate.0 as f64))));
    }
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
        let mut add = |at_ns: u64, bytes: u64, rtt_ns: Option<u64>| {
            let second = ((phase.run.began_ns + at_ns) / 1_000_000_000) as u32;
            let row = rows.entry((second, name)).or_insert_with(|| SeriesRow {
                second,
                class: name.to_owned(),
                ..SeriesRow::default()
            });
            row.bytes += bytes;
            row.operations += u64::from(rtt_ns.is_some());
            row.latency_sum_ns += rtt_ns.unwrap_or(0);
            row.latency_max_ns = row.latency_max_ns.max(rtt_ns.unwrap_or(0));
        };
        for probe in &phase.run.probes {
            add(probe.sent_ns, 0, probe.rtt_ns);
        }
        for slices in [&phase.run.up_bytes, &phase.run.down_bytes] {
            for (at, bytes) in slices.iter().enumerate() {
                add(at as u64 * SLICE_NS, *bytes, None);
            }
        }
    }
    rows.into_values().collect()
}
