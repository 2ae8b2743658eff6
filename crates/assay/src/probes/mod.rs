//! What is watched around a trial. Each probe reads a few small files before and after, and what
//! it cannot read is absent with its reason.

pub mod block_latency;
pub mod clock;
pub mod cpu;
pub mod disk_stats;
pub mod drive_health;
pub mod energy;
pub mod kernel_log;
pub mod load;
pub mod members;
pub mod memory;
pub mod own_traffic;
pub mod page_cache;
pub mod power_supply;
pub mod pressure;
pub mod processors;
pub mod surroundings;
pub mod temperature;

use std::collections::BTreeMap;

use crate::catalogue::About;
use crate::system::System;

/// A probe.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Its own words: what it reads, what it needs, what it costs.
    pub about: About,
    /// Names of the metrics that are made of its readings.
    pub metrics: &'static [&'static str],
}

/// All probes; each of them watches every trial, but `block-latency`, which a study asks for, and
/// `drive-health`, which looks at the study.
pub static PROBES: &[&Probe] = &[
    &block_latency::PROBE,
    &clock::PROBE,
    &cpu::PROBE,
    &disk_stats::PROBE,
    &drive_health::PROBE,
    &energy::PROBE,
    &kernel_log::PROBE,
    &load::PROBE,
    &members::PROBE,
    &memory::PROBE,
    &own_traffic::PROBE,
    &page_cache::PROBE,
    &power_supply::PROBE,
    &pressure::PROBE,
    &processors::PROBE,
    &temperature::PROBE,
];

/// Nanoseconds that readings took, by the name of the probe.
#[derive(Clone, Debug, Default)]
pub struct Costs(BTreeMap<String, u64>);

impl Costs {
    /// Reads, and adds the time that it took.
    pub fn time<T>(
        &mut self,
        system: &dyn System,
        probe: &Probe,
        reading: impl FnOnce() -> T,
    ) -> T {
        let start_ns = system.monotonic_ns();
        let read = reading();
        let took_ns = system.monotonic_ns().saturating_sub(start_ns);
        *self.0.entry(probe.about.name.to_owned()).or_default() += took_ns;
        read
    }

    /// The sums.
    pub fn told(self) -> BTreeMap<String, u64> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::quantity::metric;
    use crate::system::Fake;

    #[test]
    fn every_probe_introduces_itself() {
        let names: BTreeSet<&str> = PROBES.iter().map(|probe| probe.about.name).collect();
        assert_eq!(names.len(), PROBES.len(), "a name stands twice");
        for Probe { about, metrics } in PROBES {
            let name = about.name;
            let known = |letter: char| letter.is_ascii_lowercase() || letter == '-';
            assert!(!name.is_empty() && name.chars().all(known), "{name}");
            assert!(!about.summary.is_empty() && !about.summary.ends_with('.'), "{name}");
            assert!(about.text.ends_with('.') && !about.text.contains('\n'), "{name}");
            for said in ["Costs", "Needs"] {
                assert!(about.text.contains(said), "{name} does not say what it {said}");
            }
            for metric in *metrics {
                assert!(metric::find(metric).is_some(), "{name} names {metric}");
            }
        }
    }

    #[test]
    fn studies_know_them_by_these_names() {
        let names: Vec<&str> = PROBES.iter().map(|probe| probe.about.name).collect();
        assert_eq!(names, crate::study::probes::NAMES);
    }

    #[test]
    fn no_metric_has_two_probes() {
        let all: Vec<&str> = PROBES.iter().flat_map(|probe| probe.metrics).copied().collect();
        let once: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(once.len(), all.len());
    }

    #[test]
    fn the_time_of_both_readings_is_added() {
        let fake = Fake::new();
        let mut costs = Costs::default();
        for ms in [2, 3] {
            costs.time(&fake, &cpu::PROBE, || fake.sleep(Duration::from_millis(ms)));
        }
        costs.time(&fake, &members::PROBE, || ());
        let told: Vec<(String, u64)> = costs.told().into_iter().collect();
        assert_eq!(told, [("cpu".to_owned(), 5_000_000), ("members".to_owned(), 0)]);
    }
}
