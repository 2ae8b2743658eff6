//! The value of one metric in one trial, or why there is none.

use assay_stats::{observations_needed, percentile_is_supported};

use super::rows::{Measured, Row};
use crate::quantity::units::show;
use crate::results::record::{Counted, DeviceEvidence, Traffic};
use crate::results::watched::{Energy, is_not_watched};
use crate::seen::Seen;

const GIB: f64 = (1_u64 << 30) as f64;

/// Quantiles by the name of their metric.
const QUANTILES: [(&str, f64); 4] = [
    ("latency_p50_ns", 0.5),
    ("latency_p90_ns", 0.9),
    ("latency_p99_ns", 0.99),
    ("latency_p999_ns", 0.999),
];

/// Whether a metric means anything for a row.
pub(super) fn applies(metric: &str, row: &Row<'_>) -> bool {
    if is_energy(metric) {
        let told = |trial: &Measured<'_>| !is_not_watched(&trial.record.evidence.watched.energy);
        return row.trials.iter().any(told);
    }
    match metric {
        "amplification" => row.workload.writes(),
        "beside_bandwidth_bytes_per_s" => row.workload.beside.is_some(),
        // Whoever is only watched does nothing of his own.
        _ => !row.workload.is_only_watched(),
    }
}

/// The value of a metric in a trial, always a finite number; or the reason why there is none.
pub(super) fn value(metric: &str, row: &Row<'_>, trial: &Measured<'_>) -> Result<f64, String> {
    let counted = trial.record.counted.as_ref().ok_or("the trial failed")?;
    let evidence = &trial.record.evidence;
    let found = match metric {
        "iops" => per_second(counted.operations(), counted),
        "bandwidth_bytes_per_s" => per_second(counted.bytes(), counted),
        "beside_bandwidth_bytes_per_s" => {
            let beside = counted.beside.as_deref().ok_or("nothing went on beside it")?;
            per_second(beside.bytes(), beside)
        }
        "cpu_s_per_gib" => Ok(seconds_per_gib(counted.all_cpu_ns(), counted)),
        "kernel_cpu_s_per_gib" => {
            told(&evidence.kernel_threads_ns).map(|ns| seconds_per_gib(ns, counted))
        }
        "machine_cpu_s_per_gib" => told(&evidence.busy_ns).map(|ns| seconds_per_gib(ns, counted)),
        "cpu_s" => told(&evidence.kernel_threads_ns)
            .map(|ns| ns.saturating_add(counted.all_cpu_ns()) as f64 / 1e9),
        "amplification" => amplification(row, trial, counted),
        "device_requests_per_operation" => requests_per_operation(row, trial, counted),
        "device_busy_s_per_gib" => busy_s_per_gib(row, trial, counted),
        _ if is_energy(metric) => energy(metric, row, trial, counted),
        _ => latency(metric, trial),
    }?;
    if found.is_finite() { Ok(found) } else { Err("nothing was moved".to_owned()) }
}

fn per_second(amount: u64, counted: &Counted) -> Result<f64, String> {
    if counted.window_ns == 0 {
        return Err("the window had no length".to_owned());
    }
    Ok(amount as f64 / (counted.window_ns as f64 / 1e9))
}

/// Processor and device time is that of the whole run, so it is set against everything that was
/// moved in it.
fn seconds_per_gib(ns: u64, counted: &Counted) -> f64 {
    let moved = counted.claimed_read_bytes() + counted.claimed_write_bytes();
    (ns as f64 / 1e9) / (moved as f64 / GIB)
}

fn told(seen: &Seen<u64>) -> Result<u64, String> {
    seen.value().copied().ok_or_else(|| seen.reason().unwrap_or_default().to_owned())
}

/// A counter summed over the counted devices, from the first submission until everything was on
/// them; only where every one of them tells.
fn of_devices(
    row: &Row<'_>,
    trial: &Measured<'_>,
    pick: fn(&Traffic) -> u64,
) -> Result<u64, String> {
    let untold = || "nothing below tells its bytes".to_owned();
    let site = row.site.filter(|site| !site.counted.is_empty()).ok_or_else(untold)?;
    let devices = trial.record.evidence.devices.value().ok_or_else(untold)?;
    let of = |one: &DeviceEvidence| pick(&one.run) + pick(&one.settle);
    let sum: Option<u64> = site.counted.iter().map(|name| devices.get(name).map(of)).sum();
    sum.ok_or_else(untold)
}

fn amplification(row: &Row<'_>, trial: &Measured<'_>, counted: &Counted) -> Result<f64, String> {
    let written = of_devices(row, trial, |traffic| traffic.write_bytes)?;
    Ok(written as f64 / counted.claimed_write_bytes() as f64)
}

fn requests_per_operation(
    row: &Row<'_>,
    trial: &Measured<'_>,
    counted: &Counted,
) -> Result<f64, String> {
    let requests = of_devices(row, trial, |traffic| traffic.reads + traffic.writes)?;
    Ok(requests as f64 / counted.claimed_operations() as f64)
}

fn busy_s_per_gib(row: &Row<'_>, trial: &Measured<'_>, counted: &Counted) -> Result<f64, String> {
    let busy_ms = of_devices(row, trial, |traffic| traffic.busy_ms)?;
    Ok(seconds_per_gib(busy_ms.saturating_mul(1_000_000), counted))
}

fn is_energy(metric: &str) -> bool {
    ["energy_j", "energy_j_per_gib", "power_w", "energy_above_idle_j"].contains(&metric)
}

/// Energy from right before the run until everything was on the device; only where all trials of
/// a row have it of the same source.
fn energy(
    metric: &str,
    row: &Row<'_>,
    trial: &Measured<'_>,
    counted: &Counted,
) -> Result<f64, String> {
    let of = |trial: &Measured<'_>| trial.record.evidence.watched.energy.clone();
    let own = match of(trial) {
        Seen::Present(own) => own,
        Seen::Absent(reason) => return Err(reason),
    };
    let same = |other: &Measured<'_>| of(other).value().is_none_or(|one| one.source == own.source);
    if !row.counting().all(same) {
        return Err("not all trials have their energy from the same source".to_owned());
    }
    match metric {
        "energy_j" => Ok(own.joules),
        "power_w" => Ok(own.watts()),
        "energy_above_idle_j" => above_idle(&own, row.idle),
        _ => {
            let moved = counted.claimed_read_bytes() + counted.claimed_write_bytes();
            Ok(own.joules / (moved as f64 / GIB))
        }
    }
}

fn above_idle(own: &Energy, idle: &Seen<Energy>) -> Result<f64, String> {
    let idle = match idle {
        Seen::Present(idle) if idle.source == own.source => idle,
        Seen::Present(_) => return Err("the idle machine's energy is of another source".to_owned()),
        Seen::Absent(_) if is_not_watched(idle) => {
            return Err("the idle machine was not measured: probes = [\"energy\"] does".to_owned());
        }
        Seen::Absent(reason) => return Err(reason.clone()),
    };
    let above = own.joules - idle.watts() * (own.span_ns as f64 / 1e9);
    let message = "it used no more than the idle machine does";
    if above > 0.0 { Ok(above) } else { Err(message.to_owned()) }
}

fn latency(metric: &str, trial: &Measured<'_>) -> Result<f64, String> {
    let latencies = trial.latency_ns.as_deref().ok_or("no operation was finished in the window")?;
    match metric {
        "latency_mean_ns" => Ok(latencies.mean_ns()),
        "latency_max_ns" => Ok(latencies.max_ns() as f64),
        _ => {
            let quantile = QUANTILES.iter().find(|(name, _)| *name == metric);
            let (_, q) = quantile.ok_or_else(|| format!("`{metric}` is not known here"))?;
            let value = latencies.percentile_ns(*q);
            value.map(|ns| ns as f64).ok_or_else(|| too_few(*q, latencies.len()))
        }
    }
}

fn too_few(q: f64, had: u64) -> String {
    let needed = observations_needed(q).unwrap_or(u64::MAX);
    format!("needs {} operations per trial, had {}", show::count(needed), show::count(had))
}

/// Why a percentile is not told of a row: the trial with the fewest operations decides.
pub(super) fn unsupported(metric: &str, row: &Row<'_>) -> Option<String> {
    let (_, q) = QUANTILES.iter().find(|(name, _)| *name == metric)?;
    let operations = |trial: &Measured<'_>| trial.latency_ns.as_ref().map_or(0, |all| all.len());
    let fewest = row.counting().map(operations).min()?;
    (!percentile_is_supported(fewest, *q)).then(|| too_few(*q, fewest))
}
