//! One period: observes once per second, first the settling time, then the measured part.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::detail::{Period, ProductionDetail, Second};
use super::harm::{Breach, HarmJudge};
use super::look::{Glance, Lookout};
use crate::measured::{Measured, RunResult, SeriesRow};
use crate::place::Run;

const GLANCE_NS: u64 = 1_000_000_000;
/// Longest time between checks of the stop flag, nanoseconds.
const PATIENCE_NS: u64 = 50_000_000;

/// Observes the settling time and then the period; ends at the first sustained breach of a limit.
pub(super) fn run(run: &Run<'_>) -> Result<RunResult, String> {
    let lookout = run.lookout.ok_or("no device observer is available")?;
    let began_ns = run.system.monotonic_ns();
    let first = lookout.glance()?;
    let mut watch = ProductionWatch {
        run,
        lookout,
        began_ns,
        in_flight: first.in_flight,
        judge: HarmJudge::new(run.limits),
        seconds: Vec::new(),
        rows: Vec::new(),
    };
    // Only the seconds of the settling time are stored, and they may also show harm.
    let mut settling = Period::default();
    let mut harm = watch.observe(run.ramp_ns, &mut settling)?;
    let settling_seconds = watch.seconds.len();
    lookout.begin();
    let mut period = Period::beginning(watch.in_flight);
    if harm.is_none() {
        harm = watch.observe(run.time_ns, &mut period)?;
    }
    Ok(watch.into_result(period, settling_seconds, harm))
}

struct ProductionWatch<'a> {
    run: &'a Run<'a>,
    lookout: &'a dyn Lookout,
    began_ns: u64,
    in_flight: u64,
    judge: HarmJudge<'a>,
    seconds: Vec<Second>,
    rows: Vec<SeriesRow>,
}

impl ProductionWatch<'_> {
    /// Observes for this time, or until a breach or a stop request.
    fn observe(&mut self, time_ns: u64, period: &mut Period) -> Result<Option<Breach>, String> {
        let end_ns = self.run.system.monotonic_ns().saturating_add(time_ns);
        loop {
            let now_ns = self.run.system.monotonic_ns();
            if now_ns >= end_ns || self.is_stopped() {
                return Ok(None);
            }
            self.wait_until(end_ns.min(now_ns.saturating_add(GLANCE_NS)));
            let glance = self.lookout.glance()?;
            period.add(&glance);
            if let Some(breach) = self.record(glance) {
                return Ok(Some(breach));
            }
        }
    }

    /// Sleeps until this time of the monotonic clock, or until the user stops.
    fn wait_until(&self, until_ns: u64) {
        let system = self.run.system;
        loop {
            let left_ns = until_ns.saturating_sub(system.monotonic_ns());
            if left_ns == 0 || self.is_stopped() {
                return;
            }
            system.sleep(Duration::from_nanos(left_ns.min(PATIENCE_NS)));
        }
    }

    fn is_stopped(&self) -> bool {
        self.run.stop.load(Ordering::Relaxed)
    }

    /// Stores a second; returns a breach if it is the last of three in a row.
    fn record(&mut self, glance: Glance) -> Option<Breach> {
        let second = Second::from(&glance);
        let breach = self.judge.take(&second);
        self.in_flight = glance.in_flight;
        let end_ns = self.run.system.monotonic_ns().saturating_sub(self.began_ns);
        // The middle is in the right second, even if the glance came slightly late.
        let middle_ns = end_ns.saturating_sub(glance.span_ns / 2);
        let number = u32::try_from(middle_ns / GLANCE_NS).unwrap_or(u32::MAX);
        self.rows.extend(glance.rows.into_iter().map(|row| SeriesRow { second: number, ..row }));
        self.seconds.push(second);
        breach
    }

    /// Returns the result; the first `left_out` seconds are the settling time.
    fn into_result(self, period: Period, left_out: usize, harm: Option<Breach>) -> RunResult {
        let stopped = self.is_stopped();
        let measured = Measured {
            window_ns: period.span_ns,
            elapsed_ns: self.run.system.monotonic_ns().saturating_sub(self.began_ns),
            ..Measured::from_detail(ProductionDetail {
                period,
                seconds: self.seconds,
                left_out,
                limits: self.run.limits.cloned(),
                harm,
            })
        };
        RunResult { series: self.rows, ..RunResult::new(measured, stopped) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use assay_core::presence::Presence;
    use assay_machine::system::{Fake, System};

    use super::super::metrics;
    use super::*;
    use crate::production::{ClassRequests, DevicePressure, HarmLimits};
    use crate::testing;

    /// A device with this many reads per second, with the latency of each second.
    struct Device<'a> {
        system: &'a Fake,
        last_ns: Mutex<u64>,
        begun: Mutex<Vec<u64>>,
        read_ms: fn(u64) -> u64,
    }

    impl Lookout for Device<'_> {
        fn begin(&self) {
            self.begun.lock().unwrap().push(self.system.monotonic_ns() / 1_000_000_000);
        }

        fn glance(&self) -> Result<Glance, String> {
            let now_ns = self.system.monotonic_ns();
            let mut last_ns = self.last_ns.lock().unwrap();
            let span_ns = now_ns - std::mem::replace(&mut *last_ns, now_ns);
            let requests = 100 * span_ns / 1_000_000_000;
            let sum_ns = requests * (self.read_ms)(now_ns / 1_000_000_000) * 1_000_000;
            let served = ClassRequests { requests, bytes: requests * 4096, sum_ns, p99_ns: None };
            Ok(Glance {
                span_ns,
                classes: [("read".to_owned(), served)].into(),
                untraced: None,
                in_flight: 2,
                under_way_ns: sum_ns,
                oldest_ns: 0,
                pressure: Presence::Present(DevicePressure { some_ns: span_ns / 4, full_ns: 0 }),
                busy: Presence::Present(0.5),
                rows: Vec::new(),
            })
        }
    }

    fn observed(limits: Option<&HarmLimits>, read_ms: fn(u64) -> u64) -> (RunResult, Vec<u64>) {
        let fake = Fake::new();
        let (last_ns, begun) = (Mutex::new(fake.monotonic_ns()), Mutex::default());
        let device = Device { system: &fake, last_ns, begun, read_ms };
        let ran = run(&Run {
            ramp_ns: 5_000_000_000,
            time_ns: 10_500_000_000,
            lookout: Some(&device),
            limits,
            ..testing::run_on(&fake, testing::NO_AREA, None)
        });
        let begun = device.begun.lock().unwrap().clone();
        (ran.unwrap(), begun)
    }

    fn limits() -> HarmLimits {
        let second = |requests, sum_ns| Second {
            span_ns: 1_000_000_000,
            classes: [(
                "read".to_owned(),
                ClassRequests { requests, sum_ns, ..ClassRequests::default() },
            )]
            .into(),
            ..Second::default()
        };
        let calm = vec![second(100, 500_000_000); 3];
        HarmLimits::from_baseline(2.0, &[&calm]).unwrap()
    }

    #[test]
    fn what_settles_is_left_out_of_the_numbers_and_kept_among_the_seconds() {
        let (ran, begun) = observed(None, |second| if second <= 5 { 50 } else { 2 });
        let detail = ProductionDetail::of(&ran.measured).unwrap();
        assert_eq!((begun.len(), detail.left_out, detail.counted().len()), (1, 5, 11));
        assert_eq!(ran.measured.window_ns, 10_500_000_000);
        let value = |name: &str| metrics::value(name, &detail.period).unwrap().unwrap();
        assert_eq!(value("device_latency_mean_ns"), 2e6);
        assert_eq!(value("device_requests_per_s"), 100.0);
        assert_eq!(value("device_request_bytes"), 4096.0);
        assert_eq!(value("device_read_share"), 1.0);
        assert!((value("io_pressure_some_share") - 0.25).abs() < 1e-9);
        assert!((value("cpu_busy_share") - 0.5).abs() < 1e-9);
        assert!(metrics::value("iops", &detail.period).is_none());
    }

    #[test]
    fn a_level_that_hurts_is_seen_while_it_still_settles() {
        let limits = limits();
        let (ran, begun) = observed(Some(&limits), |_| 30);
        let detail = ProductionDetail::of(&ran.measured).unwrap();
        assert_eq!((detail.seconds.len(), begun.len()), (3, 1));
        assert_eq!(detail.harm.as_ref().unwrap().words(), "mean read latency 30 ms, limit 10 ms");
        let (ran, _) = observed(Some(&limits), |second| if second > 8 { 30 } else { 3 });
        let detail = ProductionDetail::of(&ran.measured).unwrap();
        assert!(detail.harm.is_some() && (11..=12).contains(&detail.seconds.len()), "{detail:?}");
        let (ran, _) = observed(Some(&limits), |_| 9);
        assert_eq!(ProductionDetail::of(&ran.measured).unwrap().harm, None);
    }
}
