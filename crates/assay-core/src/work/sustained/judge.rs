//! The course of a long write: levels of the rate, and where one passes into the next.

use assay_stats::{batch_means, change_interval, change_point};
use serde::{Deserialize, Serialize};

use super::Detail;

/// p of a change at most: neighbours in time are alike, so that p is too small.
const SURE: f64 = 0.001;
/// Smaller steps of the rate are no end of a cache.
const STEP: f64 = 1.25;
/// How often a part of the series may be halved.
const DEEPEST: u32 = 6;
/// Batches that give the last level its interval.
const BATCHES: usize = 10;
const ALPHA: f64 = 0.05;

/// A stretch of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Bytes written before it.
    pub from_bytes: u64,
    /// Its beginning, with 95 %; of the first one there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ci95_bytes: Option<[u64; 2]>,
    /// Bytes per second over all of it.
    pub rate_bytes_per_s: f64,
    /// 95 % interval of the rate, by the means of ten batches; none of a short one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ci95: Option<[f64; 2]>,
}

/// All that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Bytes in all.
    pub written_bytes: u64,
    /// Levels in their order, one at least.
    pub levels: Vec<Level>,
}

impl Course {
    /// The level with which the fast cache ends: from it on the rate stays below that of the beginning. A
    /// rate that comes back was held up by something else.
    pub fn fall(&self) -> Option<&Level> {
        let (first, later) = self.levels.split_first()?;
        let is_slower = |level: &Level| level.rate_bytes_per_s * STEP < first.rate_bytes_per_s;
        let slower = later.iter().rev().take_while(|level| is_slower(level)).count();
        later.get(later.len() - slower)
    }

    /// The last level, whose rate goes on.
    pub fn last(&self) -> Option<&Level> {
        self.levels.last()
    }
}

/// The course of what was written; none of nothing.
pub fn course(detail: &Detail) -> Option<Course> {
    let slices = &detail.slices_ns;
    if slices.is_empty() || detail.slice_bytes == 0 {
        return None;
    }
    let rates: Vec<f64> =
        slices.iter().map(|ns| detail.slice_bytes as f64 / ((*ns).max(1) as f64 / 1e9)).collect();
    let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
    let mut changes = Vec::new();
    halve(&logs, 0, DEEPEST, &mut changes);
    changes.sort_unstable();
    let bounds: Vec<usize> = [0].into_iter().chain(changes).chain([slices.len()]).collect();
    let bytes = |slices: usize| slices as u64 * detail.slice_bytes;
    let place_of =
        |slices: usize| if slices == 0 { 0 } else { detail.before_bytes + bytes(slices) };
    let level = |(index, pair): (usize, &[usize])| {
        let (from, to) = (pair[0], pair[1]);
        let time_ns: u64 = slices[from..to].iter().sum();
        // Its place is looked for between the changes beside it.
        let around = index.checked_sub(1).map(|before| bounds[before]);
        let place = around.and_then(|start| {
            let found = change_interval(&logs[start..to], ALPHA)?;
            Some(found.map(|index| place_of(start + index)))
        });
        let means = batch_means(&rates[from..to], BATCHES);
        Level {
            from_bytes: place_of(from),
            from_ci95_bytes: place
                .map(|[low, high]| [low.min(place_of(from)), high.max(place_of(from))]),
            rate_bytes_per_s: bytes(to - from) as f64 / (time_ns.max(1) as f64 / 1e9),
            rate_ci95: means.and_then(|means| means.interval(ALPHA)),
        }
    };
    let levels = bounds.windows(2).enumerate().map(level).collect();
    Some(Course { written_bytes: place_of(slices.len()), levels })
}

/// Binary segmentation: Vostrikova, "Detecting disorder in multidimensional random processes", Soviet
/// Mathematics Doklady 24 (1981).
fn halve(logs: &[f64], start: usize, deep: u32, into: &mut Vec<usize>) {
    let Some(found) = change_point(logs).filter(|_| deep > 0) else { return };
    if found.p > SURE || (found.after - found.before).abs() < STEP.ln() {
        return;
    }
    into.push(start + found.index);
    halve(&logs[..found.index], start, deep - 1, into);
    halve(&logs[found.index..], start + found.index, deep - 1, into);
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Slices of 64 MiB at so many MiB a second, each a little off.
    fn written(parts: &[(usize, f64)]) -> Course {
        let mut slices_ns = Vec::new();
        for (count, rate) in parts {
            for index in 0..*count {
                let off = 1.0 + 0.02 * ((index * 7 + 3) % 5) as f64;
                slices_ns.push((64.0 / rate * off * 1e9) as u64);
            }
        }
        course(&Detail { before_bytes: 0, slice_bytes: 64 * MIB, slices_ns }).unwrap()
    }

    #[test]
    fn the_end_of_a_cache_is_found_with_its_interval() {
        let found = written(&[(40, 800.0), (60, 120.0)]);
        let fall = found.fall().unwrap();
        assert_eq!(fall.from_bytes, 40 * 64 * MIB);
        let [low, high] = fall.from_ci95_bytes.unwrap();
        assert!(low <= fall.from_bytes && high >= fall.from_bytes, "{found:?}");
        assert!(high - low <= 2 * 64 * MIB, "{found:?}");
        let last = found.last().unwrap();
        let rate = last.rate_bytes_per_s / MIB as f64;
        assert!((110.0..121.0).contains(&rate), "{rate}");
        let [low, high] = last.rate_ci95.unwrap();
        assert!(low < last.rate_bytes_per_s * 1.01 && high > last.rate_bytes_per_s * 0.99);
    }

    #[test]
    fn a_steady_drive_has_one_level_and_no_cache() {
        let found = written(&[(100, 500.0)]);
        assert_eq!((found.levels.len(), found.fall()), (1, None));
        assert_eq!(found.levels[0].from_ci95_bytes, None);
    }

    #[test]
    fn folding_after_the_cache_is_a_level_of_its_own() {
        let found = written(&[(30, 900.0), (30, 80.0), (40, 300.0)]);
        assert_eq!(found.levels.len(), 3, "{found:?}");
        assert_eq!(found.fall().unwrap().from_bytes, 30 * 64 * MIB);
        assert!(found.last().unwrap().rate_bytes_per_s > 250e6);
    }

    #[test]
    fn a_rate_that_comes_back_is_no_end_of_a_cache() {
        let found = written(&[(30, 700.0), (30, 180.0), (40, 690.0)]);
        assert_eq!((found.levels.len(), found.fall()), (3, None), "{found:?}");
        let faster = written(&[(30, 100.0), (30, 200.0)]);
        assert_eq!((faster.levels.len(), faster.fall()), (2, None));
    }

    #[test]
    fn nothing_is_said_of_next_to_nothing() {
        assert_eq!(course(&Detail::default()), None);
        assert_eq!(written(&[(1, 100.0)]).levels.len(), 1);
    }
}
