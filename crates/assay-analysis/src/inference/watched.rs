//! Metrics from probes: each device of a stack, and the cost of the probes.

use std::collections::BTreeMap;

use assay_machine::probes::{is_not_recorded, service::Work};
use assay_machine::system::site::Layer;
use assay_study::results::record::{DeviceEvidence, Trial};
use assay_study::results::surroundings::facts::{Member, ProbeCost};

use super::rows::{MeasuredTrial, RowTrials};

pub(super) fn members(row: &RowTrials<'_>) -> Vec<Member> {
    let layers = row.site.map_or(&[][..], |site| &site.layers);
    if layers.len() < 2 || row.workload.control || row.trust.is_none() {
        return Vec::new();
    }
    layers.iter().map(|layer| member(row, layer)).collect()
}

/// What a device below the target moved and how busy it was, over all trials of a row.
fn member(row: &RowTrials<'_>, layer: &Layer) -> Member {
    let trials: Vec<(u64, DeviceEvidence)> =
        row.counting().filter_map(|trial| counters(trial, &layer.name)).collect();
    let claimed_bytes: u64 = trials.iter().map(|(claimed, _)| claimed).sum();
    let span_ns: u64 = trials.iter().map(|(_, device)| device.run.span_ns).sum();
    let busy_ms: u64 = trials.iter().map(|(_, device)| device.run.busy_ms).sum();
    let per_byte = |moved_bytes: fn(&DeviceEvidence) -> u64| {
        let sum: u64 = trials.iter().map(|(_, device)| moved_bytes(device)).sum();
        (claimed_bytes > 0).then(|| sum as f64 / claimed_bytes as f64)
    };
    Member {
        workload: row.workload.name.clone(),
        configuration: row.arm.clone(),
        device: layer.name.clone(),
        kind: layer.kind.clone(),
        below: layer.below.clone(),
        n: trials.len(),
        read_per_byte: per_byte(|device| device.run.read_bytes + device.settle.read_bytes),
        written_per_byte: per_byte(|device| device.run.write_bytes + device.settle.write_bytes),
        // The kernel counts in steps, which may extend beyond the run.
        busy_share: (span_ns > 0).then(|| (busy_ms as f64 * 1e6 / span_ns as f64).min(1.0)),
        request_mean_ns: request_mean_ns(&layer.name, &trials),
        reason: trials.is_empty().then(|| why_no_counters(row)),
    }
}

/// Mean time of a read or write over all trials; `None` if a trial lacks the counters.
fn request_mean_ns(device: &str, trials: &[(u64, DeviceEvidence)]) -> Option<f64> {
    let (mut requests, mut sum_ns) = (0, 0.0);
    for (_, evidence) in trials {
        let work = Work::of_evidence(device, evidence)?;
        requests += work.requests();
        sum_ns += work.reads.sum_ns + work.writes.sum_ns;
    }
    (requests > 0).then(|| sum_ns / requests as f64)
}

/// Bytes claimed by a trial, with the counters of a device around it.
fn counters(trial: &MeasuredTrial<'_>, name: &str) -> Option<(u64, DeviceEvidence)> {
    let evidence = &trial.record.evidence;
    let maps = [&evidence.disk, &evidence.members];
    let device = maps.into_iter().find_map(|devices| devices.value()?.get(name))?;
    trial.record.measured.as_ref()?;
    Some((trial.record.claims().bytes(), *device))
}

fn why_no_counters(row: &RowTrials<'_>) -> String {
    let reason = row.counting().find_map(|trial| {
        let evidence = &trial.record.evidence;
        let members = Some(&evidence.members).filter(|members| !is_not_recorded(members));
        evidence.disk.reason().or_else(|| members?.reason())
    });
    reason.unwrap_or("the device's counters were not recorded").to_owned()
}

#[derive(Debug, Default)]
pub(super) struct CostSums(BTreeMap<String, Cost>);

/// Number of readings, their total and their longest time, nanoseconds.
#[derive(Debug, Default)]
struct Cost {
    n: usize,
    sum_ns: u64,
    max_ns: u64,
}

impl CostSums {
    pub fn add(&mut self, trial: &Trial) {
        for (probe, ns) in &trial.evidence.probe_ns {
            let cost = self.0.entry(probe.clone()).or_default();
            cost.n += 1;
            cost.sum_ns = cost.sum_ns.saturating_add(*ns);
            cost.max_ns = cost.max_ns.max(*ns);
        }
    }

    pub fn into_costs(self) -> Vec<ProbeCost> {
        let costs = self.0.into_iter().map(|(probe, cost)| ProbeCost {
            probe,
            n: cost.n,
            mean_ns: cost.sum_ns as f64 / cost.n as f64,
            max_ns: cost.max_ns,
        });
        costs.collect()
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::system::DeviceNumber;

    use super::super::tests::Bench;
    use super::*;
    use crate::rules::testing;

    fn layer(name: &str, kind: &str, below: &[&str]) -> Layer {
        Layer {
            name: name.to_owned(),
            number: DeviceNumber { major: 7, minor: 0 },
            kind: kind.to_owned(),
            below: below.iter().map(|name| (*name).to_owned()).collect(),
            size_bytes: 1 << 30,
        }
    }

    /// 4 MiB of writes in each of three trials to `sda`, which is on top of `vda`.
    fn stacked() -> Bench {
        const ASKED: u64 = 1024 * 4096;
        let mut bench = Bench::new(&["."]).row(0, "sync-write", 4096, &[1024; 3]).each(|trial| {
            let mut device = DeviceEvidence::default();
            device.run.span_ns = 1_000_000_000;
            device.run.busy_ms = 250;
            device.run.write_bytes = ASKED;
            device.settle.write_bytes = ASKED / 2;
            device.run.read_bytes = ASKED / 4;
            trial.evidence.members =
                Presence::Present(BTreeMap::from([("vda".to_owned(), device)]));
            let top = testing::device(trial);
            top.run.busy_ms = 5_000;
            (top.run.writes, top.run.read_ms, top.run.write_ms) = (100, Some(0), Some(250));
            (top.settle.read_ms, top.settle.write_ms) = (Some(0), Some(0));
        });
        let layers = vec![layer("sda", "loop", &["vda"]), layer("vda", "disk", &[])];
        bench.environment.sites[0].layers = layers;
        bench
    }

    #[test]
    fn each_device_is_told_by_what_was_asked_for() {
        let found = stacked().findings().environment.activity.members;
        let [top, bottom] = found.as_slice() else { panic!("two devices: {found:?}") };
        assert_eq!((top.device.as_str(), top.kind.as_str(), top.n), ("sda", "loop", 3));
        assert_eq!((top.read_per_byte, top.written_per_byte), (Some(0.0), Some(1.0)));
        assert_eq!(top.busy_share, Some(1.0), "never more than all of the time");
        assert_eq!((bottom.read_per_byte, bottom.written_per_byte), (Some(0.25), Some(1.5)));
        assert_eq!((bottom.busy_share, bottom.reason.as_deref()), (Some(0.25), None));
        assert_eq!(top.request_mean_ns, Some(2.5e6));
        assert_eq!(bottom.request_mean_ns, None, "a record of an earlier version");
    }

    #[test]
    fn a_device_that_was_not_recorded_has_no_numbers() {
        let old =
            stacked().each(|trial| trial.evidence.members = Presence::Present(BTreeMap::new()));
        let found = old.findings().environment.activity.members;
        assert_eq!((found[0].n, found[0].written_per_byte), (3, Some(1.0)));
        assert_eq!((found[1].n, found[1].written_per_byte, found[1].busy_share), (0, None, None));
        assert_eq!(found[1].reason.as_deref(), Some("the device's counters were not recorded"));
        let blind =
            stacked().each(|trial| trial.evidence.members = Presence::absent("not readable"));
        assert_eq!(
            blind.findings().environment.activity.members[1].reason.as_deref(),
            Some("not readable")
        );
    }

    #[test]
    fn one_device_alone_is_no_stack() {
        let mut bench = stacked();
        bench.environment.sites[0].layers.truncate(1);
        assert!(bench.findings().environment.activity.members.is_empty());
    }

    #[test]
    fn the_cost_of_a_probe_is_its_mean_and_its_most() {
        let mut bench = stacked();
        for (trial, ns) in bench.trials.iter_mut().zip([10, 20, 60]) {
            trial.evidence.probe_ns.insert("cpu-time".to_owned(), ns);
        }
        let [cost] = &bench.findings().environment.activity.probes[..] else { panic!("one probe") };
        assert_eq!((cost.probe.as_str(), cost.n, cost.max_ns), ("cpu-time", 3, 60));
        assert!((cost.mean_ns - 30.0).abs() < 1e-9);
        assert!(Bench::new(&["."]).findings().environment.activity.probes.is_empty());
    }
}
