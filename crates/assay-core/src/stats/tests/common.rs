//! Helpers of the tests: reading vectors, comparing, reproducible random numbers.

use serde_json::Value;

/// A file of vectors that names its source.
pub fn reference(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    assert!(text.trim_start_matches(['{', '\n', ' ']).starts_with("\"source\""));
    assert!(value["source"].as_str().is_some_and(|source| source.len() > 20));
    value
}

/// The entries of a list; fails if it is empty.
pub fn cases(value: &Value) -> &[Value] {
    let list = value.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

pub fn count(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

pub fn counts(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(count).collect()
}

pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Within `tolerance`, absolute for small numbers and relative for large ones.
#[track_caller]
pub fn close(left: f64, right: f64, tolerance: f64) {
    let apart = (left - right).abs();
    assert!(apart <= tolerance * right.abs().max(1.0), "{left} is not {right} within {tolerance}");
}

/// As [`close`], and relative for small numbers too: for p values.
#[track_caller]
pub fn close_p(left: f64, right: f64, tolerance: f64) {
    close(left, right, tolerance);
    assert!((left - right).abs() <= 1e-6 * right + 1e-300, "{left} is not {right} in its digits");
}

#[track_caller]
pub fn both_close(left: [f64; 2], right: [f64; 2], tolerance: f64) {
    close(left[0], right[0], tolerance);
    close(left[1], right[1], tolerance);
}

pub fn exp(interval: [f64; 2]) -> [f64; 2] {
    interval.map(f64::exp)
}

/// Reproducible random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between 0 and 1, exclusive.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn normals(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }

    /// 0 to k - 1 in random order.
    pub fn order(&mut self, k: usize) -> Vec<usize> {
        let mut keys: Vec<(u64, usize)> = (0..k).map(|arm| (self.bits(), arm)).collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, arm)| arm).collect()
    }
}

/// Share of `repetitions` in which `trial` holds.
pub fn share(seed: u64, repetitions: u32, mut trial: impl FnMut(&mut Random) -> bool) -> f64 {
    let mut random = Random(seed);
    let held = (0..repetitions).filter(|_| trial(&mut random)).count();
    held as f64 / f64::from(repetitions)
}
