//! The value of one metric in one trial, or why there is none.

use assay_core::quantity::metric::{FDATASYNC, RESPONSE, RESPONSE_P99, SHARED};
use assay_core::quantity::played::{self, LatencyPoint};
use assay_core::stats::{observations_needed, percentile_is_supported};
use assay_core::{presence::Presence, quantity::units::show};
use assay_machine::probes::{energy::Energy, is_not_recorded};
use assay_machine::system::site::{MD_MAJOR, Site};
use assay_study::results::record::{DeviceEvidence, Traffic, Trial};
use assay_study::results::{surroundings::is_not_watched, tally::Tally};
use assay_workloads::metrics::{is_of_energy, is_told};
use assay_workloads::{Basis, io};

use super::kinds;
use super::rows::{MeasuredTrial, RowTrials};

const GIB: f64 = (1_u64 << 30) as f64;
const QUANTILES: [(&str, f64); 14] = [
    ("latency_p50_ns", 0.5),
    ("latency_p90_ns", 0.9),
    ("latency_p99_ns", 0.99),
    ("latency_p999_ns", 0.999),
    ("latency_p9999_ns", 0.9999),
    ("response_p50_ns", 0.5),
    ("response_p90_ns", 0.9),
    (RESPONSE_P99, 0.99),
    ("response_p999_ns", 0.999),
    ("response_p9999_ns", 0.9999),
    ("fdatasync_p50_ns", 0.5),
    ("fdatasync_p90_ns", 0.9),
    ("fdatasync_p99_ns", 0.99),
    ("fdatasync_p999_ns", 0.999),
];

/// Whether a metric is a response time, which only open loops have.
fn is_response(metric: &str) -> bool {
    RESPONSE.iter().any(|own| own.name == metric)
}

/// Whether a metric is a sync latency, which needs synced writes and an engine that times the syncs.
fn is_fdatasync(metric: &str) -> bool {
    FDATASYNC.iter().any(|own| own.name == metric)
}

/// The latency statistic of a class metric of a replayed load; `None` for other metrics.
fn class_latency_point(metric: &str) -> Option<LatencyPoint> {
    played::find(metric).and_then(|(_, statistic)| statistic.point())
}

/// The quantile of a latency metric; `None` for other metrics.
fn quantile(metric: &str) -> Option<f64> {
    let own = QUANTILES.iter().find(|(name, _)| *name == metric).map(|(_, q)| *q);
    own.or_else(|| class_latency_point(metric)?.quantile())
}

/// The times behind a metric: service, response, sync, or those of one class.
fn tally_of<'t>(metric: &str, trial: &'t MeasuredTrial<'_>) -> Option<&'t Tally> {
    if let Some((class, statistic)) = played::find(metric) {
        trial.times_of(class.key, statistic.is_response())
    } else if is_response(metric) {
        trial.response_ns.as_deref()
    } else if is_fdatasync(metric) {
        trial.sync_ns.as_deref()
    } else {
        trial.latency_ns.as_deref()
    }
}

/// Whether rows of this kind can have a value of the metric.
pub(super) fn applies(metric: &str, row: &RowTrials<'_>) -> bool {
    if played::find(metric).is_some() {
        // Each class has a separate row.
        return false;
    }
    let mut evidence = row.trials.iter().map(|trial| &trial.record.evidence);
    if is_of_energy(metric) {
        return evidence.any(|evidence| !is_not_recorded(&evidence.energy));
    }
    if is_resync(metric) {
        return evidence.any(|evidence| !is_not_recorded(&evidence.array_sync));
    }
    if is_response(metric) {
        return row.workload.work.is_by_clock();
    }
    if is_fdatasync(metric) {
        return row.trials.iter().any(|trial| trial.sync_ns.is_some());
    }
    let kind = row.workload.work.kind();
    let is_of_kind = || kind.metrics.iter().copied().flatten().any(|one| one.name == metric);
    let is_shared = || SHARED.iter().any(|shared| shared.name == metric);
    match metric {
        "write_amplification" => row.workload.writes(),
        "background_bandwidth_bytes_per_s" => row.workload.background.is_some(),
        // An observed program runs no operations of Assay.
        _ if row.workload.work.is_only_watched() => false,
        _ if is_of_kind() => true,
        // Metrics per byte need a number of bytes.
        _ => is_shared() && kind.judged.contains(&Basis::Bytes),
    }
}

/// The value of a metric in a trial, always finite, or the reason why it is missing.
pub(super) fn value(
    metric: &str,
    row: &RowTrials<'_>,
    trial: &MeasuredTrial<'_>,
) -> Result<f64, String> {
    let record = trial.record;
    let measured = record.measured.as_ref().ok_or("the trial failed")?;
    if let Some(rate) = record.together.as_ref().and_then(|together| together.rate(metric)) {
        // Over the window common to all hosts.
        return if rate.is_finite() { Ok(rate) } else { Err("no data was moved".to_owned()) };
    }
    let evidence = &record.evidence;
    let kernel_threads_ns = || evidence.cpu.part(|cpu| &cpu.kernel_threads_ns);
    let value = match metric {
        "background_bandwidth_bytes_per_s" => {
            let background = record.background.as_ref().ok_or("no background operation ran")?;
            let detail = io::IoDetail::of(background).ok_or("no background operation ran")?;
            background.per_second(detail.bytes())
        }
        "cpu_s_per_gib" => Ok(seconds_per_gib(record.all_cpu_ns(), record)),
        "kernel_cpu_s_per_gib" => {
            value_or_reason(&kernel_threads_ns()).map(|ns| seconds_per_gib(ns, record))
        }
        "machine_cpu_s_per_gib" => value_or_reason(&evidence.cpu.part(|cpu| &cpu.busy_ns))
            .map(|ns| seconds_per_gib(ns, record)),
        "cpu_s" => value_or_reason(&kernel_threads_ns())
            .map(|ns| ns.saturating_add(record.all_cpu_ns()) as f64 / 1e9),
        "write_amplification" if record.claims().zero.operations > 0 => {
            Err("devices count zeroed bytes as written, but filesystems may only record them"
                .to_owned())
        }
        "write_amplification" => {
            let written = sum_data_devices(row, trial, |traffic| traffic.write_bytes)?;
            Ok(written as f64 / record.claims().write.bytes as f64)
        }
        "read_amplification" => {
            let read = sum_data_devices(row, trial, |traffic| traffic.read_bytes)?;
            Ok(read as f64 / record.claims().bytes() as f64)
        }
        "device_bytes_per_operation" => {
            let moved =
                sum_data_devices(row, trial, |traffic| traffic.read_bytes + traffic.write_bytes)?;
            Ok(moved as f64 / record.claims().operations() as f64)
        }
        "device_requests_per_operation" => {
            let count = |traffic: &Traffic| traffic.reads + traffic.writes;
            let requests = sum_devices(row, trial, counted_devices, count)?;
            Ok(requests as f64 / record.claims().operations() as f64)
        }
        "device_busy_s_per_gib" => {
            let busy_ms = sum_devices(row, trial, counted_devices, |traffic| traffic.busy_ms)?;
            Ok(seconds_per_gib(busy_ms.saturating_mul(1_000_000), record))
        }
        _ if is_told(metric) => measured
            .value(metric)
            .unwrap_or_else(|| Err("some trials have no such value".to_owned())),
        _ if is_of_energy(metric) => energy(metric, row, trial),
        _ if is_resync(metric) => resync_value(metric, record),
        _ => kinds::as_judged(metric, row, measured)
            .or_else(|| row.workload.work.value(metric, measured))
            .unwrap_or_else(|| latency(metric, trial)),
    }?;
    if value.is_finite() { Ok(value) } else { Err("no data was moved".to_owned()) }
}

/// CPU and device time of the whole run per GiB moved in the run.
fn seconds_per_gib(ns: u64, record: &Trial) -> f64 {
    (ns as f64 / 1e9) / (record.claims().bytes() as f64 / GIB)
}

fn value_or_reason(seen: &Presence<u64>) -> Result<u64, String> {
    seen.value().copied().ok_or_else(|| seen.reason().unwrap_or_default().to_owned())
}

/// Sums a counter over devices, in the run and until all data was on them; `Err` unless all have the counter.
fn sum_devices(
    row: &RowTrials<'_>,
    trial: &MeasuredTrial<'_>,
    names: fn(&Site) -> Vec<&str>,
    counter: fn(&Traffic) -> u64,
) -> Result<u64, String> {
    let no_counters = || "no underlying device has byte counters".to_owned();
    let site = row.site.filter(|site| !site.counted.is_empty()).ok_or_else(no_counters)?;
    let devices = trial.record.evidence.disk.value().ok_or_else(no_counters)?;
    let count = |device: &DeviceEvidence| counter(&device.run) + counter(&device.settle);
    let sum: Option<u64> = names(site).into_iter().map(|name| devices.get(name).map(count)).sum();
    sum.ok_or_else(no_counters)
}

fn counted_devices(site: &Site) -> Vec<&str> {
    site.counted.iter().map(String::as_str).collect()
}

/// Sums a counter over the devices with the requested data (members of md arrays); `Err` if an array resynced.
fn sum_data_devices(
    row: &RowTrials<'_>,
    trial: &MeasuredTrial<'_>,
    counter: fn(&Traffic) -> u64,
) -> Result<u64, String> {
    let is_counted = row.site.is_some_and(|site| !site.counted.is_empty());
    if is_counted && !is_not_recorded(&trial.record.evidence.array_sync) {
        return Err("the byte count includes resync traffic".to_owned());
    }
    sum_devices(row, trial, data_devices, counter)
}

/// The counted devices, with the members of md arrays instead of the arrays.
fn data_devices(site: &Site) -> Vec<&str> {
    let mut devices = Vec::new();
    // A stack, so each group is reversed to get its devices in their order.
    let mut pending: Vec<&str> = site.counted.iter().rev().map(String::as_str).collect();
    while let Some(name) = pending.pop() {
        let array =
            site.layers.iter().find(|layer| layer.name == name && layer.number.major == MD_MAJOR);
        match array {
            Some(array) if !array.below.is_empty() => {
                pending.extend(array.below.iter().rev().map(String::as_str));
            }
            _ => devices.push(name),
        }
    }
    devices
}

pub(super) const SYNC_RATE: &str = "resync_bytes_per_s";
pub(super) const SYNC_WHOLE: &str = "resync_total_s";

fn is_resync(metric: &str) -> bool {
    [SYNC_RATE, SYNC_WHOLE].contains(&metric)
}

/// The duration (s) or rate (bytes/s) of a trial's resync; `Err` without a resync, or with several.
fn resync_value(metric: &str, record: &Trial) -> Result<f64, String> {
    let arrays = match &record.evidence.array_sync {
        Presence::Present(arrays) => arrays,
        absent if is_not_recorded(absent) => return Err("no array resynced".to_owned()),
        Presence::Absent(reason) => return Err(reason.clone()),
    };
    let mut arrays = arrays.values();
    let (Some(progress), None) = (arrays.next(), arrays.next()) else {
        return Err("several arrays resynced".to_owned());
    };
    let rate = progress.bytes_per_s();
    Ok(if metric == SYNC_WHOLE { progress.of_bytes as f64 / rate } else { rate })
}

/// Energy of a run until all data was on the device; only if all trials of the row have the same source.
fn energy(metric: &str, row: &RowTrials<'_>, trial: &MeasuredTrial<'_>) -> Result<f64, String> {
    let energy = match &trial.record.evidence.energy {
        Presence::Present(energy) => energy,
        absent if is_not_recorded(absent) => return Err("not watched".to_owned()),
        Presence::Absent(reason) => return Err(reason.clone()),
    };
    let mut energies = row.counting().filter_map(|other| other.record.evidence.energy.value());
    if energies.any(|other| other.source != energy.source) {
        return Err("the energy values of the trials come from different sources".to_owned());
    }
    match metric {
        "energy_j" => Ok(energy.joules),
        "power_w" => Ok(energy.watts()),
        "energy_above_idle_j" => joules_above_idle(energy, row.idle),
        _ => Ok(energy.joules / (trial.record.claims().bytes() as f64 / GIB)),
    }
}

/// Energy above that of the idle machine for the same time; `Err` if there is none, or without comparable idle energy.
fn joules_above_idle(energy: &Energy, idle: &Presence<Energy>) -> Result<f64, String> {
    let idle = match idle {
        Presence::Present(idle) if idle.source == energy.source => idle,
        Presence::Present(_) => {
            return Err("the idle energy value comes from another source".to_owned());
        }
        Presence::Absent(_) if is_not_watched(idle) => {
            return Err("idle energy was not measured: set probes = [\"energy\"]".to_owned());
        }
        Presence::Absent(reason) => return Err(reason.clone()),
    };
    let above = energy.joules - idle.watts() * (energy.span_ns as f64 / 1e9);
    let message = "the run used no more energy than the idle machine";
    if above > 0.0 { Ok(above) } else { Err(message.to_owned()) }
}

/// A mean, maximum or percentile in ns of the times behind a metric; `Err` has the reason for a missing value.
fn latency(metric: &str, trial: &MeasuredTrial<'_>) -> Result<f64, String> {
    let latencies = tally_of(metric, trial).ok_or("no operation completed in the measured time")?;
    match metric {
        "latency_mean_ns" | "response_mean_ns" | "fdatasync_mean_ns" => Ok(latencies.mean_ns()),
        "latency_max_ns" | "response_max_ns" | "fdatasync_max_ns" => Ok(latencies.max_ns() as f64),
        _ if class_latency_point(metric) == Some(LatencyPoint::Mean) => Ok(latencies.mean_ns()),
        _ => {
            let q = quantile(metric).ok_or_else(|| format!("unknown metric `{metric}`"))?;
            let value = latencies.percentile_ns(q);
            value.map(|ns| ns as f64).ok_or_else(|| too_few(q, latencies.len()))
        }
    }
}

fn too_few(q: f64, had: u64) -> String {
    let needed = observations_needed(q).unwrap_or(u64::MAX);
    format!("needs {} operations per trial, but had only {}", show::count(needed), show::count(had))
}

/// Why a row has no percentile: the trial with the fewest operations decides.
pub(super) fn why_no_percentile(metric: &str, row: &RowTrials<'_>) -> Option<String> {
    let q = quantile(metric)?;
    let operations = |trial: &MeasuredTrial<'_>| tally_of(metric, trial).map_or(0, Tally::len);
    let fewest = row.counting().map(operations).min()?;
    (!percentile_is_supported(fewest, q)).then(|| too_few(q, fewest))
}
