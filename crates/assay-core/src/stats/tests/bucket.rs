//! Simulated buckets with known parameters: estimates are near them, and intervals cover them.

use crate::draws::Draws;

use crate::stats::bucket::{AfterRest, Bucket, Course, course};

/// A volume with a token bucket, and its noise.
#[derive(Clone, Copy, Debug)]
struct Volume {
    credit: f64,
    base: f64,
    refill: f64,
    asked: f64,
    /// Standard deviations of the demand per second and of the counting, as shares.
    asks: f64,
    counts: f64,
    /// Correlation of the demand with that of the second before.
    keeps: f64,
}

/// Parts of a second in which a bucket is looked at.
const PARTS: usize = 20;

/// A bucket under way.
struct Running<'d> {
    of: Volume,
    left: f64,
    draws: &'d mut Draws,
    last: f64,
}

impl Running<'_> {
    /// About normal, standard deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.draws.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
    }

    /// What is counted in a second of full load.
    fn second(&mut self) -> f64 {
        let of = self.of;
        self.last = of.keeps * self.last + (1.0 - of.keeps.powi(2)).sqrt() * self.normal();
        let asked = of.asked * (1.0 + of.asks * self.last) / PARTS as f64;
        let base = of.base / PARTS as f64;
        let mut done = 0.0;
        for _ in 0..PARTS {
            // The baseline rate is always available; the rest uses credits.
            let own = asked.min(base + self.left);
            self.left -= (own - base).max(0.0);
            done += own;
        }
        done * (1.0 + of.counts * self.normal())
    }

    fn load(&mut self, seconds: usize) -> Vec<f64> {
        (0..seconds).map(|_| self.second()).collect()
    }

    fn rest(&mut self, seconds: f64) {
        self.left = (self.left + self.of.refill * seconds).min(self.of.credit);
    }
}

/// Simulates a load of so many seconds, then rests, each followed by 30 s of load.
fn seen(of: Volume, seconds: usize, rests: &[f64], seed: u64) -> Option<Course> {
    let mut draws = Draws::new(seed, "buckets");
    let mut own = Running { of, left: of.credit, draws: &mut draws, last: 0.0 };
    let first = own.load(seconds);
    let mut after = Vec::new();
    for rest_s in rests {
        own.rest(*rest_s);
        after.push(AfterRest { rest_s: *rest_s, operations: own.load(30) });
    }
    course(&first, &after)
}

fn bucket(of: Volume, seed: u64) -> Bucket {
    let found = seen(of, 90, &[6.0, 12.0, 24.0], seed);
    let Some(Course::Fell(bucket)) = found else { panic!("{of:?}, {seed}: {found:?}") };
    bucket
}

const QEMU: Volume = Volume {
    credit: 20_000.0,
    base: 500.0,
    refill: 500.0,
    asked: 2000.0,
    asks: 0.0,
    counts: 0.0,
    keeps: 0.0,
};

const VOLUMES: [Volume; 4] = [
    Volume { asks: 0.03, ..QEMU },
    Volume { asks: 0.03, counts: 0.02, ..QEMU },
    Volume { asks: 0.05, counts: 0.02, keeps: 0.5, ..QEMU },
    // Credit comes back at another rate than the one that remains.
    Volume {
        credit: 60_000.0,
        base: 1000.0,
        refill: 1500.0,
        asked: 3000.0,
        asks: 0.03,
        counts: 0.03,
        keeps: 0.2,
    },
];

#[test]
fn without_noise_all_numbers_are_exact() {
    let found = bucket(QEMU, 1);
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.01;
    assert!(
        near(found.burst_per_s.value, 2000.0) && near(found.baseline_per_s.value, 500.0),
        "{found:?}"
    );
    assert!(near(found.credits.value, 20_000.0), "{found:?}");
    assert!(near(found.burst_s.value, 20_000.0 / 1500.0), "{found:?}");
    assert!(near(found.refill_per_s.unwrap().value, 500.0), "{found:?}");
    assert!(near(found.refill_s.unwrap().value, 40.0), "{found:?}");
}

/// Size, base and refill within 15%, and within their intervals.
#[test]
fn estimates_are_near_and_their_intervals_hold_what_is_true() {
    const SEEDS: u64 = 100;
    for of in VOLUMES {
        let (mut near, mut held) = ([0; 3], [0; 3]);
        for seed in 0..SEEDS {
            let found = bucket(of, seed);
            let refill = found.refill_per_s.unwrap();
            let truth = [of.credit, of.base, of.refill];
            for (at, own) in [found.credits, found.baseline_per_s, refill].iter().enumerate() {
                near[at] += u64::from((own.value / truth[at] - 1.0).abs() <= 0.15);
                // Without noise the interval has length zero.
                let room = 1e-6 * truth[at];
                let [low, high] = own.ci95;
                held[at] += u64::from((low - room..=high + room).contains(&truth[at]));
            }
        }
        assert!(near.iter().all(|count| *count >= 98), "{of:?}: {near:?} of {SEEDS} within 15%");
        assert!(
            held.iter().all(|count| *count >= 85),
            "{of:?}: {held:?} of {SEEDS} hold the truth"
        );
    }
}

#[test]
fn a_volume_without_a_bucket_is_held_to_the_end() {
    for (seed, asks) in [(1, 0.0), (2, 0.05), (3, 0.1)] {
        let of = Volume { credit: 1e12, asks, ..QEMU };
        let Some(Course::Held { per_s, seconds }) = seen(of, 60, &[], seed) else {
            panic!("{asks}");
        };
        assert!((per_s.value / 2000.0 - 1.0).abs() < 0.1, "{per_s:?}");
        assert!(per_s.ci95[0] <= per_s.value && per_s.value <= per_s.ci95[1]);
        assert!((seconds - 60.0).abs() < 1e-9);
    }
}

#[test]
fn a_rate_that_comes_back_by_itself_is_no_bucket() {
    let stretches = [(20, 2000.0), (20, 500.0), (20, 2000.0)];
    let seconds: Vec<f64> =
        stretches.iter().flat_map(|(count, rate)| vec![*rate; *count]).collect();
    assert!(matches!(course(&seconds, &[]), Some(Course::Held { .. })));
}

#[test]
fn rests_that_fill_the_bucket_and_loads_that_do_not_empty_it_say_nothing_of_the_refill() {
    let of = |rests: &[f64]| match seen(QEMU, 90, rests, 1) {
        Some(Course::Fell(bucket)) => bucket.refill_per_s,
        found => panic!("{found:?}"),
    };
    assert_eq!(of(&[]), None);
    assert_eq!(of(&[100.0, 200.0]), None, "the brim was reached");
    // Credits of a rest of 30 s at four times the rate would last longer than 30 s of load.
    let slow = Volume { refill: 2000.0, credit: 80_000.0, ..QEMU };
    let Some(Course::Fell(bucket)) = seen(slow, 200, &[28.0], 1) else { panic!() };
    assert_eq!(bucket.refill_per_s, None, "it was not empty again");
    let Some(Course::Fell(bucket)) = seen(slow, 200, &[5.0, 10.0], 1) else { panic!() };
    assert!((bucket.refill_per_s.unwrap().value / 2000.0 - 1.0).abs() < 0.02, "{bucket:?}");
}

#[test]
fn too_few_seconds_are_no_course() {
    assert_eq!(course(&[], &[]), None);
    assert_eq!(course(&[100.0; 5], &[]), None);
    assert!(course(&[100.0; 6], &[]).is_some());
}
