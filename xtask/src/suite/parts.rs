//! Parts of the tier `long`, of which each run of `all` takes one: each has its turn within a week where there are
//! runs before noon and after it, within two where there is one a day.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::build::root;
use crate::lab::call;
use crate::lab::needs::{PART, PARTS};

const DAY_S: u64 = 24 * 60 * 60;
/// The module of tests that run in full alone.
const IN_FULL: &str = "in_full::";
/// The parts that packages for other machines belong to, one each.
pub const PACKAGES: [u64; 4] = [5, 12, 0, 7];
/// The parts that the oldest Rust belongs to.
pub const OLDEST: [u64; 1] = [2];
/// The parts that `cargo deny` and `cargo machete` belong to.
pub const AUDIT: [u64; 1] = [9];
/// The parts in which clippy looks at everything as an old machine has it: once a week at least, also where there is one run a day.
pub const OLD: [u64; 2] = [4, 11];

/// The part of now.
pub fn now() -> u64 {
    part_at(since())
}

/// Seconds since the epoch.
pub fn since() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn part_at(time_s: u64) -> u64 {
    turn_at(time_s, PARTS)
}

/// Which of so many turns a time has, seconds (UTC): the next one each day, and after noon the one that is half of them
/// further on, so that whoever tests at one hour only comes to all of them, too.
pub fn turn_at(time_s: u64, turns: u64) -> u64 {
    let is_after_noon = time_s % DAY_S >= DAY_S / 2;
    (time_s / DAY_S + u64::from(is_after_noon) * turns / 2) % turns
}

/// How tests are told which of them count in full now.
pub fn counts() -> String {
    format!("{PART}{}", now())
}

/// The sixth of the simulated studies that is this commit's.
pub fn sixth() -> &'static str {
    ["0", "1", "2", "3", "4", "5"][(seed() % 6) as usize]
}

/// The commit's: what is tried one in so many times begins at another place with each. Without a checkout 0.
pub fn seed() -> u64 {
    let told =
        call("git", &["-C", &root().display().to_string(), "rev-parse", "--short=12", "HEAD"]);
    told.ok().and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or_default()
}

/// The one of some, at most as many as there are parts, whose turn it is.
pub fn of_now<T>(all: &[T]) -> Option<&T> {
    of_part(all, now())
}

fn of_part<T>(all: &[T], part: u64) -> Option<&T> {
    all.get(part as usize % all.len().max(1))
}

/// Tests that run in full alone and are not of the part of now.
pub fn others(names: &[&str]) -> Vec<String> {
    others_of(names, now())
}

fn others_of(names: &[&str], part: u64) -> Vec<String> {
    let long = names.iter().filter(|name| name.contains(IN_FULL));
    let long = long.map(|name| (expected_s(name), *name)).collect();
    of_other_days(long, PARTS, part)
}

/// What falls to other days, where each thing has one of so many.
pub fn of_other_days(mut all: Vec<(u64, &str)>, days: u64, today: u64) -> Vec<String> {
    all.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    let mut taken = vec![0; days as usize];
    let mut others = Vec::new();
    for (cost, name) in all {
        // The dearest first, each to the day that has least.
        let day = (0..taken.len()).min_by_key(|day| taken[*day]).unwrap_or_default();
        taken[day] += cost;
        if day as u64 != today {
            others.push(name.to_owned());
        }
    }
    others
}

/// What tests that run in full take, seconds, where it is more than [`USUAL_S`]: measured once, beside other work;
/// the four of many studies or kills, `live_runs` and `the_bracket` are estimates. They only spread tests over days.
const EXPECTED_S: [(&str, u64); 16] = [
    ("network::in_full::its_shipped_study", 216),
    ("most_load::in_full::the_bracket", 180),
    ("presets::in_full::filesystems", 153),
    ("live::in_full::of_six_studies", 150),
    ("advice::in_full::of_twenty_studies", 120),
    ("presets::in_full::raid_profile", 101),
    ("starvation::in_full::of_eight_studies", 90),
    ("slow_device::in_full::a_check", 62),
    ("live::in_full::live_runs", 60),
    ("memory::in_full::killed_on_names", 60),
    ("presets::in_full::compression", 59),
    ("live::in_full::where_the_load_doubles", 58),
    ("live::in_full::a_level_that_hurts", 57),
    ("presets::in_full::encryption", 46),
    ("network::in_full::one_stream", 38),
    ("presets::in_full::tunable", 32),
];
const USUAL_S: u64 = 15;

fn expected_s(name: &str) -> u64 {
    let known = EXPECTED_S.iter().find(|(beginning, _)| name.contains(beginning));
    known.map_or(USUAL_S, |(_, seconds)| *seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_come_within_a_week_of_two_runs_a_day_and_within_two_weeks_of_one() {
        let parts = |times: &[u64]| {
            let parts = times.iter().map(|time_s| part_at(*time_s));
            parts.collect::<std::collections::BTreeSet<_>>().len() as u64
        };
        let at = |days: u64, hour: u64| -> Vec<u64> {
            (0..days).map(|day| day * DAY_S + hour * 3600).collect()
        };
        assert_eq!(parts(&[at(7, 3), at(7, 15)].concat()), PARTS);
        assert_eq!((parts(&at(14, 3)), parts(&at(14, 15))), (PARTS, PARTS));
        assert_eq!(parts(&at(7, 3)), PARTS / 2);
    }

    #[test]
    fn each_of_some_has_its_day_within_a_week() {
        let all = ["a", "b", "c", "d"];
        let mut taken: Vec<&str> =
            (0..PARTS).filter_map(|part| of_part(&all, part).copied()).collect();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken, all);
        assert_eq!(of_part(&[] as &[u8], 3), None);
    }

    #[test]
    fn who_takes_long_has_a_day_with_few_others() {
        let names = ["alone::presets::in_full::filesystems".to_owned()].into_iter();
        let names: Vec<String> =
            names.chain((0..20).map(|n| format!("in_full::p{n:02}"))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let others = others_of(&names, 0);
        assert_eq!(others.len(), names.len() - 1, "the longest is alone on the first day");
        assert!(!others.iter().any(|other| other == names[0]));
    }

    #[test]
    fn each_long_test_has_its_day_and_no_other_test_is_left_out() {
        let names: Vec<String> = (0..20)
            .map(|number| format!("presets::in_full::p{number:02}"))
            .chain(["presets::short".to_owned()])
            .collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut days = vec![0; names.len()];
        for part in 0..PARTS {
            let others = others_of(&borrowed, part);
            assert!((18..=19).contains(&others.len()), "{part}: {}", others.len());
            for (days, name) in days.iter_mut().zip(&names) {
                *days += usize::from(!others.contains(name));
            }
        }
        let (short, long) = days.split_last().unwrap_or((&0, &[]));
        assert!(long.iter().all(|days| *days == 1) && *short == PARTS as usize, "{days:?}");
    }
}
