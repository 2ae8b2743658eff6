//! Courses of long writes, and their sentences.

use assay_core::draws::Draws;

use super::*;
use crate::measured::Measured;

const MIB: u64 = 1 << 20;
const SLICE_BYTES: u64 = 64 * MIB;

fn detail(slices_ns: Vec<u64>) -> SustainedDetail {
    SustainedDetail { slice_bytes: SLICE_BYTES, slices_ns, ..SustainedDetail::default() }
}

pub(super) fn measured_of(detail: SustainedDetail) -> Measured {
    Measured { window_ns: 1, elapsed_ns: 1, ..Measured::from_detail(detail) }
}

/// Slices of 64 MiB at these rates in MiB per second, with slight variation.
fn slices(parts: &[(usize, f64)]) -> Vec<u64> {
    let of = |(count, rate): &(usize, f64)| {
        let rate = *rate;
        (0..*count).map(move |index| {
            let off = 1.0 + 0.02 * ((index * 7 + 3) % 5) as f64;
            (64.0 / rate * off * 1e9) as u64
        })
    };
    parts.iter().flat_map(of).collect()
}

fn written(parts: &[(usize, f64)]) -> WriteTimeline {
    course(&detail(slices(parts))).unwrap()
}

#[test]
fn slices_are_spread_over_the_seconds_that_they_took() {
    let bytes = |slices_ns: &[u64]| detail(slices_ns.to_vec()).bytes_by_second();
    let (second, half) = (SECOND_NS, SECOND_NS / 2);
    // One in half a second, one over the next two seconds.
    assert_eq!(bytes(&[half, 2 * second]), [80 * MIB, 32 * MIB, 16 * MIB]);
    // A slice that ends with a second adds nothing to the next one.
    assert_eq!(bytes(&[half, half, second]), [128 * MIB, 64 * MIB, 0]);
    assert!(bytes(&[]).is_empty());
    // A slice with zero time and one with a huge time, as in damaged records.
    assert_eq!(bytes(&[0]), [64 * MIB]);
    assert_eq!(bytes(&[second, u64::MAX]), [64 * MIB, 0]);
}

#[test]
fn a_fall_is_found_with_its_interval() {
    let found = written(&[(40, 800.0), (60, 120.0)]);
    let fall = found.fall().unwrap();
    assert_eq!((fall.from_bytes, found.declines), (40 * 64 * MIB, None));
    let [low, high] = fall.from_ci95_bytes.unwrap();
    assert!(low <= fall.from_bytes && high >= fall.from_bytes, "{found:?}");
    assert!(high - low <= 2 * 64 * MIB, "{found:?}");
    let last = found.last().unwrap();
    let rate = last.rate_bytes_per_s / MIB as f64;
    assert!((110.0..121.0).contains(&rate), "{rate}");
    assert_eq!(found.fast_cache_bytes(), None, "what fell is not known");
}

#[test]
fn a_steady_drive_has_one_level_and_no_fall() {
    let found = written(&[(100, 500.0)]);
    assert_eq!((found.levels.len(), found.fall(), found.declines), (1, None, None));
    assert_eq!(found.levels[0].from_ci95_bytes, None);
}

#[test]
fn folding_after_the_fall_is_a_level_of_its_own() {
    let found = written(&[(30, 900.0), (30, 80.0), (40, 300.0)]);
    assert_eq!(found.levels.len(), 3, "{found:?}");
    assert_eq!(found.fall().unwrap().from_bytes, 30 * 64 * MIB);
    assert!(found.last().unwrap().rate_bytes_per_s > 250e6);
}

#[test]
fn a_rate_that_comes_back_did_not_fall_for_good() {
    for parts in [
        &[(30, 700.0), (30, 180.0), (40, 690.0)][..],
        &[(30, 700.0), (30, 180.0), (40, 690.0), (30, 180.0)],
        &[(30, 100.0), (30, 200.0)],
    ] {
        let found = written(parts);
        assert_eq!((found.levels.len(), found.fall()), (parts.len(), None), "{found:?}");
    }
}

#[test]
fn what_sinks_little_by_little_falls_nowhere() {
    let sinking: Vec<(usize, f64)> =
        (0..200).map(|at| (1, 200.0 - 100.0 * f64::from(at) / 200.0)).collect();
    let found = written(&sinking);
    let [first, last] = found.declines.unwrap().map(|own| own.rate_bytes_per_s / MIB as f64);
    assert!((170.0..195.0).contains(&first) && (95.0..115.0).contains(&last), "{found:?}");
    assert_eq!((found.fall(), found.fast_cache_bytes()), (None, None));
    // Neither an increase nor a change below the limit is a decline.
    let rising: Vec<(usize, f64)> = sinking.iter().rev().copied().collect();
    assert_eq!(written(&rising).declines, None);
    let hardly: Vec<(usize, f64)> =
        (0..200).map(|at| (1, 200.0 - 30.0 * f64::from(at) / 200.0)).collect();
    assert_eq!(written(&hardly).declines, None);
}

#[test]
fn nothing_is_said_of_next_to_nothing() {
    assert_eq!(course(&SustainedDetail::default()), None);
    let one = written(&[(1, 100.0)]);
    assert_eq!((one.levels.len(), one.levels[0].rate_ci95), (1, None));
}

/// The retry after a drop, in slices of 8 MiB.
fn retried(at_once: f64, rested: f64) -> Retried {
    let ns = |rate: f64| (8.0 / rate * 1e9) as u64;
    Retried {
        slice_bytes: 8 * MIB,
        at_once_ns: vec![ns(at_once); 12],
        rest_ns: 15_000_000_000,
        rested_ns: [vec![ns(rested); 6], vec![ns(at_once); 20]].concat(),
    }
}

#[test]
fn only_what_is_slow_at_once_and_back_after_a_rest_is_a_cache() {
    let of = |parts: &[(usize, f64)], retried: Retried| {
        let own = SustainedDetail { retried: Some(retried), ..detail(slices(parts)) };
        course(&own).unwrap()
    };
    let fell = [(40, 800.0), (60, 120.0)];
    let cache = of(&fell, retried(118.0, 700.0));
    assert_eq!(cache.fast_cache_bytes(), Some(40 * 64 * MIB));
    // As fast as before without a rest: a property of the place, or another user who left.
    let place = of(&fell, retried(780.0, 790.0));
    assert!(!place.again.unwrap().slow_at_once);
    assert_eq!(place.fast_cache_bytes(), None);
    let stays = of(&fell, retried(118.0, 121.0));
    assert!(!stays.again.unwrap().back_after_rest);
    assert_eq!(stays.fast_cache_bytes(), None);
    // Few slices prove nothing, and without a drop there is no cache.
    let short = Retried { at_once_ns: vec![1_000_000_000; 4], ..retried(118.0, 700.0) };
    assert_eq!(of(&fell, short).again, None);
    let short = Retried { rested_ns: vec![10_000_000; 2], ..retried(118.0, 700.0) };
    assert_eq!(of(&fell, short).again, None);
    assert_eq!(of(&[(100, 500.0)], retried(118.0, 700.0)).fast_cache_bytes(), None);
    let one_slow =
        Retried { rested_ns: vec![10_000_000, 10_000_000, 70_000_000], ..retried(118.0, 700.0) };
    assert!(!of(&fell, one_slow).again.unwrap().back_after_rest);
}

/// Normally distributed draws.
struct Noise(Draws);

impl Noise {
    fn uniform(&mut self) -> f64 {
        ((self.0.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// With mean 1.
    fn log_normal(&mut self, cv: f64) -> f64 {
        let sigma = (1.0 + cv * cv).ln().sqrt();
        (sigma * self.normal() - sigma * sigma / 2.0).exp()
    }
}

const STUDIES: u64 = 1000;
/// Number of draws of each kind without a cache.
const OF_A_KIND: u64 = 500;
const SLICES: usize = 1200;

/// How often the interval of the sustained rate contains the true rate, and whether each rate is within its interval. A
/// slice takes 0.25 s times a random factor with this mean.
fn covered(name: &str, mean: f64, draw: &dyn Fn(&mut Noise, usize) -> f64) -> f64 {
    let truth = SLICE_BYTES as f64 / (0.25 * mean);
    let mut held = 0;
    for seed in 0..STUDIES {
        let mut noise = Noise(Draws::new(seed, name));
        let slices_ns =
            (0..SLICES).map(|index| (0.25e9 * draw(&mut noise, index)) as u64).collect();
        let found = course(&detail(slices_ns)).unwrap();
        for level in &found.levels {
            let [low, high] = level.rate_ci95.unwrap();
            assert!(low <= level.rate_bytes_per_s && level.rate_bytes_per_s <= high, "{level:?}");
        }
        let [low, high] = found.last().unwrap().rate_ci95.unwrap();
        held += u32::from(low <= truth && truth <= high);
    }
    f64::from(held) / STUDIES as f64
}

#[test]
#[ignore = "nightly: 3 s"]
fn a_simulation_of_the_interval_of_the_sustained_rate() {
    for cv in [0.1, 0.2, 0.5] {
        let share = covered("log-normal", 1.0, &|noise, _| noise.log_normal(cv));
        assert!((0.93..=0.97).contains(&share), "sd {cv}: {share}");
    }
    // One slice in fifty waits for two seconds.
    let pauses = covered("pauses", 1.16, &|noise, _| {
        noise.log_normal(0.1) + if noise.uniform() < 0.02 { 8.0 } else { 0.0 }
    });
    assert!((0.93..=0.97).contains(&pauses), "pauses: {pauses}");
    let eighth = covered("eighth", 1.25, &|noise, _| {
        noise.log_normal(0.1) * if noise.uniform() < 0.125 { 3.0 } else { 1.0 }
    });
    assert!((0.93..=0.97).contains(&eighth), "one in eight: {eighth}");
    let by_turns = covered("by turns", 1.25, &|noise, index| {
        noise.log_normal(0.1) * if index.is_multiple_of(8) { 3.0 } else { 1.0 }
    });
    assert!((0.93..=0.97).contains(&by_turns), "each eighth: {by_turns}");
}

/// How often a cache is detected without one. `draw` returns the time of a slice, for all slices including the retries;
/// `place` is its relative position on the device.
fn claimed(name: &str, slices: usize, draw: &dyn Fn(&mut Noise, &mut f64, f64) -> f64) -> f64 {
    let parts = [17, 1, 1, 1].map(|share| slices * share / 20);
    let mut claims = 0;
    for seed in 0..OF_A_KIND {
        let (mut noise, mut state) = (Noise(Draws::new(seed, name)), f64::NAN);
        let mut times = |count: usize, of: usize| -> Vec<u64> {
            let place = |index: usize| index as f64 / of as f64;
            let draws = (0..count).map(|index| draw(&mut noise, &mut state, place(index)));
            draws.map(|time| (0.25e9 * time) as u64).collect()
        };
        let slices_ns = times(parts[0], parts[0]);
        let at_once_ns = times(parts[1], slices);
        let rest_ns = times(parts[2], slices).iter().sum();
        let rested_ns = times(parts[3], slices);
        let retried = Retried { slice_bytes: SLICE_BYTES, at_once_ns, rest_ns, rested_ns };
        let own = SustainedDetail { retried: Some(retried), ..detail(slices_ns) };
        claims += u32::from(course(&own).unwrap().fast_cache_bytes().is_some());
    }
    f64::from(claims) / OF_A_KIND as f64
}

#[test]
#[ignore = "nightly: 4 s"]
fn a_simulation_of_what_has_no_cache() {
    let autoregressive = |rho: f64| {
        move |noise: &mut Noise, state: &mut f64, _: f64| {
            let spread = if state.is_nan() { 1.0 } else { (1.0 - rho * rho).sqrt() };
            let before = if state.is_nan() { 0.0 } else { *state };
            *state = rho * before + spread * noise.normal();
            (0.2 * *state).exp()
        }
    };
    let two_states = |stays: f64| {
        move |noise: &mut Noise, state: &mut f64, _: f64| {
            if state.is_nan() || noise.uniform() < 1.0 / stays {
                let other = if *state > 1.5 { 1.0 } else { 2.0 };
                let either = if noise.uniform() < 0.5 { 1.0 } else { 2.0 };
                *state = if state.is_nan() { either } else { other };
            }
            *state * noise.log_normal(0.1)
        }
    };
    let rim_to_hub =
        |noise: &mut Noise, _: &mut f64, place: f64| noise.log_normal(0.05) / (1.0 - 0.5 * place);
    for slices in [120, 1200] {
        let independent = claimed("independent", slices, &|noise, _, _| noise.log_normal(0.5));
        assert!(independent <= 0.02, "independent, {slices}: {independent}");
        for rho in [0.8, 0.95] {
            let found = claimed("autoregressive", slices, &autoregressive(rho));
            assert!(found <= 0.02, "{rho}, {slices}: {found}");
        }
        for stays in [10.0, 30.0, 100.0, 300.0, 600.0, 1200.0] {
            let found = claimed("two states", slices, &two_states(stays));
            assert!(found <= 0.02, "stays for {stays} of {slices}: {found}");
        }
        let disk = claimed("disk", slices, &rim_to_hub);
        assert!(disk <= 0.02, "rim to hub, {slices}: {disk}");
    }
}

/// A real cache is detected.
#[test]
fn a_simulation_of_what_has_a_cache() {
    let found = (0..200).filter(|seed| {
        let mut noise = Noise(Draws::new(*seed, "cache"));
        let mut times = |count: usize, rate: f64| -> Vec<u64> {
            (0..count).map(|_| (0.25e9 / rate * noise.log_normal(0.1)) as u64).collect()
        };
        let slices_ns = [times(200, 1.0), times(160, 0.2)].concat();
        let at_once_ns = times(20, 0.2);
        let rested_ns = [times(10, 1.0), times(20, 0.2)].concat();
        let rest_ns = 15_000_000_000;
        let retried = Retried { slice_bytes: SLICE_BYTES, at_once_ns, rest_ns, rested_ns };
        let own = SustainedDetail { retried: Some(retried), ..detail(slices_ns) };
        course(&own).unwrap().fast_cache_bytes() == Some(200 * SLICE_BYTES)
    });
    assert!(found.count() >= 190);
}
