//! Observes the devices under a production workload: requests, waiting, pressure and processors.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_core::presence::Presence;
use assay_machine::probes::block_latency::counts::{BlockLatency, ClassSpan};
use assay_machine::probes::ticks::Ticks;
use assay_machine::probes::{Moment, Probes, Scene, load, pressure};
use assay_machine::system::System;
use assay_machine::system::devices::{self, Counters};
use assay_study::results::series;
use assay_workloads::SeriesRow;
use assay_workloads::production::{ClassRequests, DevicePressure, Glance, Lookout};

/// The quantile of a second that has a limit.
const TAIL: f64 = 0.99;
const MS_NS: u64 = 1_000_000;

pub struct Post<'a> {
    scene: Scene<'a>,
    inner: Mutex<LookoutState<'a>>,
}

struct LookoutState<'a> {
    probes: &'a mut Probes,
    last: Option<Sighting>,
    /// Time during which a class of a device had requests in flight without a completion, nanoseconds.
    still: BTreeMap<(String, &'static str), u64>,
}

struct Sighting {
    at_ns: u64,
    devices: Presence<BTreeMap<String, DeviceState>>,
    pressure: Presence<DevicePressure>,
    processors: Presence<Vec<(u32, Ticks)>>,
}

#[derive(Clone, Copy)]
struct DeviceState {
    counters: Counters,
    /// Reads and writes in flight.
    under_way: [u64; 2],
}

impl<'a> Post<'a> {
    pub fn new(scene: Scene<'a>, probes: &'a mut Probes) -> Self {
        let inner = LookoutState { probes, last: None, still: BTreeMap::new() };
        Self { scene, inner: Mutex::new(inner) }
    }

    fn inner(&self) -> MutexGuard<'_, LookoutState<'a>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all counters now. Without the counters of one device, those of all are absent.
    fn read(&self) -> Sighting {
        let system = self.scene.system;
        let mut states = BTreeMap::new();
        let mut absent = None;
        for name in &self.scene.site.counted {
            match devices::counters(system, name) {
                Presence::Present(counters) => {
                    let under_way = devices::under_way(system, name);
                    let under_way = under_way.value().copied().unwrap_or([0, counters.in_flight]);
                    states.insert(name.clone(), DeviceState { counters, under_way });
                }
                Presence::Absent(reason) => absent = Some(format!("{name}: {reason}")),
            }
        }
        Sighting {
            at_ns: system.monotonic_ns(),
            devices: absent.map_or(Presence::Present(states), Presence::Absent),
            pressure: io_pressure(system),
            processors: load::read(system),
        }
    }
}

impl Lookout for Post<'_> {
    fn begin(&self) {
        self.inner().probes.look(Moment::BeforeRun, &self.scene);
    }

    fn glance(&self) -> Result<Glance, String> {
        let now = self.read();
        let mut inner = self.inner();
        let requests = inner.probes.requests(self.scene.system);
        let before = inner.last.take();
        let glance = inner.glance(before.as_ref().unwrap_or(&now), &now, &self.scene, requests);
        inner.last = Some(now);
        glance
    }
}

impl LookoutState<'_> {
    /// Compares two sightings; fails if the devices cannot be observed.
    fn glance(
        &mut self,
        before: &Sighting,
        now: &Sighting,
        scene: &Scene<'_>,
        requests: Presence<BlockLatency>,
    ) -> Result<Glance, String> {
        let span_ns = now.at_ns.saturating_sub(before.at_ns);
        let (early, late) = (require(&before.devices)?, require(&now.devices)?);
        let mut devices: Vec<(&String, Counters, DeviceState)> = Vec::new();
        let mut oldest_ns = 0;
        for (name, state) in late {
            let Some(before) = early.get(name) else { continue };
            let grown = state.counters.sub(&before.counters);
            let ages = self.ages(name, &grown, before.under_way, state.under_way, span_ns);
            oldest_ns = ages.into_iter().fold(oldest_ns, u64::max);
            devices.push((name, grown, *state));
        }
        let (classes, rows, untraced) = match by_request(requests, &scene.site.counted) {
            Ok((classes, rows)) => (classes, rows, None),
            Err(reason) => (by_counters(&devices), Vec::new(), Some(reason)),
        };
        let busy = before.processors.both(&now.processors, |early, late| busy_share(early, late));
        Ok(Glance {
            span_ns,
            classes,
            untraced,
            in_flight: devices.iter().map(|(_, _, late)| late.counters.in_flight).sum(),
            under_way_ns: devices.iter().map(|(_, grown, _)| grown.weighted_ms * MS_NS).sum(),
            oldest_ns,
            pressure: before.pressure.both(&now.pressure, |early, late| DevicePressure {
                some_ns: late.some_ns.saturating_sub(early.some_ns),
                full_ns: late.full_ns.saturating_sub(early.full_ns),
            }),
            busy,
            rows,
        })
    }

    /// Returns the least ages of the oldest read and write in ns: for how long requests wait while none completes.
    fn ages(
        &mut self,
        device: &str,
        grown: &Counters,
        early: [u64; 2],
        late: [u64; 2],
        span_ns: u64,
    ) -> [u64; 2] {
        let completed = [grown.reads_completed, grown.writes_completed];
        let mut ages = [0; 2];
        for (index, class) in ["read", "write"].into_iter().enumerate() {
            let still_ns = self.still.entry((device.to_owned(), class)).or_default();
            let hangs = early[index] > 0 && late[index] > 0 && completed[index] == 0;
            *still_ns = if hangs { still_ns.saturating_add(span_ns) } else { 0 };
            ages[index] = *still_ns;
        }
        ages
    }
}

fn require<T>(seen: &Presence<T>) -> Result<&T, String> {
    match seen {
        Presence::Present(value) => Ok(value),
        Presence::Absent(reason) => Err(format!("cannot observe the devices: {reason}")),
    }
}

type ByRequest = (BTreeMap<String, ClassRequests>, Vec<SeriesRow>);

/// Sums completions by class from traced requests; fails with the reason if some requests were not visible.
fn by_request(requests: Presence<BlockLatency>, devices: &[String]) -> Result<ByRequest, String> {
    let block = match requests {
        Presence::Present(block) => block,
        Presence::Absent(reason) => return Err(reason),
    };
    let mut sums: BTreeMap<&str, ClassSpan> = BTreeMap::new();
    for (class, span) in block.for_devices(devices)?.into_iter().flatten() {
        let class = if class == "fua" { "write" } else { class.as_str() }; // written past the drive's cache
        sums.entry(class).or_default().add(span);
    }
    let rows = sums.iter().map(|(class, span)| series::row(0, class, span)).collect();
    let served = |span: &ClassSpan| ClassRequests {
        requests: span.requests,
        bytes: span.bytes,
        sum_ns: span.queued.sum_ns,
        p99_ns: span.queued.percentile_ns(TAIL),
    };
    Ok((sums.iter().map(|(class, span)| ((*class).to_owned(), served(span))).collect(), rows))
}

/// Sums completions by class from the growth of the kernel's counters, which have no percentiles.
fn by_counters(devices: &[(&String, Counters, DeviceState)]) -> BTreeMap<String, ClassRequests> {
    let mut sums: BTreeMap<String, ClassRequests> = BTreeMap::new();
    for (_, grown, _) in devices {
        let served = |requests, bytes, ms: u64| ClassRequests {
            requests,
            bytes,
            sum_ns: ms.saturating_mul(MS_NS),
            p99_ns: None,
        };
        let classes = [
            ("read", served(grown.reads_completed, grown.read_bytes, grown.read_ms)),
            ("write", served(grown.writes_completed, grown.written_bytes, grown.write_ms)),
            ("flush", served(grown.flushes_completed, 0, grown.flush_ms)),
        ];
        for (class, served) in classes.into_iter().filter(|(_, served)| served.requests > 0) {
            let sum = sums.entry(class.to_owned()).or_default();
            *sum = sum.plus(&served);
        }
    }
    sums
}

fn io_pressure(system: &dyn System) -> Presence<DevicePressure> {
    let io = pressure::machine(system).remove("io");
    io.unwrap_or_else(|| Presence::absent("the kernel does not report pressure"))
        .map(|io| DevicePressure { some_ns: io.some_ns, full_ns: io.full_ns.unwrap_or_default() })
}

/// Share of the time in which the processors were busy.
fn busy_share(early: &[(u32, Ticks)], late: &[(u32, Ticks)]) -> f64 {
    let grown = |pick: fn(&Ticks) -> u64| -> u64 {
        load::pairs(early, late)
            .map(|(_, early, late)| pick(late).saturating_sub(pick(early)))
            .sum()
    };
    let total = grown(Ticks::total);
    if total == 0 { 0.0 } else { grown(Ticks::busy) as f64 / total as f64 }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use assay_machine::probes::ProbeRequest;
    use assay_machine::system::{Fake, resolve, sysfs};

    use super::*;

    /// A fake machine whose device has these counters and requests in flight at each reading.
    fn machine(stat: &[&str], under_way: &[&str]) -> (Fake, assay_machine::system::site::Site) {
        let fake = Fake::sata_ssd().unwrap();
        let site = resolve(&fake, ".").unwrap();
        let device = fake.canonical(&sysfs::block(&site.counted[0])).unwrap();
        fake.put_readings(device.join("stat"), stat);
        fake.put_readings(device.join("inflight"), under_way);
        fake.put_readings(
            Path::new("/proc/pressure/io"),
            [0, 250_000, 500_000].map(|total| {
                format!("some avg10=0 avg60=0 avg300=0 total={total}\nfull avg10=0 avg60=0 avg300=0 total=0\n")
            }),
        );
        let cpu = |busy: u32, idle: u32| {
            format!("cpu  {busy} 0 0 {idle} 0 0 0 0\ncpu0 {busy} 0 0 {idle} 0 0 0 0\n")
        };
        fake.put_readings(Path::new("/proc/stat"), [cpu(0, 0), cpu(30, 70), cpu(60, 140)]);
        (fake, site)
    }

    fn glances(stat: &[&str], under_way: &[&str]) -> Vec<Glance> {
        let (fake, site) = machine(stat, under_way);
        let mut probes = Probes::default();
        let asked = ProbeRequest::default();
        let post = Post::new(Scene { system: &fake, site: &site, file: None, asked }, &mut probes);
        let mut found = vec![post.glance().unwrap()];
        for _ in 1..stat.len() {
            fake.sleep(Duration::from_secs(1));
            found.push(post.glance().unwrap());
        }
        found
    }

    #[test]
    fn without_a_tracer_the_kernels_own_sums_stand_for_the_requests() {
        let found = glances(
            &["10 0 80 20 5 0 40 50 0 0 70", "110 0 880 220 5 0 40 50 2 0 270"],
            &["0 0", "2 0"],
        );
        let last = &found[1];
        assert!(last.untraced.is_some() && last.rows.is_empty());
        let read = last.classes["read"];
        assert_eq!((read.requests, read.bytes, read.mean_ns()), (100, 800 * 512, Some(2e6)));
        assert!(!last.classes.contains_key("write"), "{:?}", last.classes);
        assert_eq!((last.in_flight, last.under_way_ns), (2, 200 * MS_NS));
        let waited = DevicePressure { some_ns: 250_000_000, full_ns: 0 };
        assert_eq!(last.pressure, Presence::Present(waited));
        assert_eq!(last.busy, Presence::Present(0.3));
    }

    #[test]
    fn a_class_of_which_nothing_ends_is_as_old_as_its_silence() {
        let reads = |ended: u32| format!("{ended} 0 0 0 7 0 0 0 1 0 0");
        let stat = [reads(0), reads(50), reads(90)];
        let stat: Vec<&str> = stat.iter().map(String::as_str).collect();
        // Reads complete all the time; the one write in flight does not.
        let ages: Vec<u64> =
            glances(&stat, &["1 1", "1 1", "1 1"]).iter().map(|one| one.oldest_ns).collect();
        assert_eq!(ages[1..], [1_000_000_000, 2_000_000_000]);
        let idle: Vec<u64> =
            glances(&stat, &["1 0", "1 1", "1 0"]).iter().map(|one| one.oldest_ns).collect();
        assert_eq!(idle[1..], [0, 0]);
    }
}
