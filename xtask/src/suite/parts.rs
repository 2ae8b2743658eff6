//! Parts of the tier `long`, of which each run of `all` takes one: each day's has its turn within a week.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::build::root;
use crate::lab::call;
use crate::lab::needs::{PART, PARTS};

const DAY_S: u64 = 24 * 60 * 60;
/// The module of tests that run in full alone.
const IN_FULL: &str = "in_full::";
/// The part that packages for other machines belong to.
const PACKAGES: u64 = 5;

/// Today's.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / DAY_S % PARTS
}

/// How tests are told which of them count in full today.
pub fn counts() -> String {
    format!("{PART}{}", today())
}

/// The commit's: what is tried one in so many times begins at another place with each. Without a checkout 0.
pub fn seed() -> u64 {
    let told =
        call("git", &["-C", &root().display().to_string(), "rev-parse", "--short=12", "HEAD"]);
    told.ok().and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or_default()
}

/// Whether packages for other machines are made and tried today.
pub fn is_of_packages() -> bool {
    today() == PACKAGES
}

/// The one of some, at most as many as there are parts, whose day it is.
pub fn of_today<T>(all: &[T]) -> Option<&T> {
    of_part(all, today())
}

fn of_part<T>(all: &[T], part: u64) -> Option<&T> {
    all.get(part as usize % all.len().max(1))
}

/// Tests that run in full alone and are not of today's part.
pub fn others(names: &[String]) -> Vec<String> {
    others_of(names, today())
}

fn others_of(names: &[String], part: u64) -> Vec<String> {
    let mut long: Vec<&String> = names.iter().filter(|name| name.contains(IN_FULL)).collect();
    long.sort();
    let other = (0..).zip(long).filter(|(place, _)| place % PARTS != part);
    other.map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_long_test_has_its_day_and_no_other_test_is_left_out() {
        let names: Vec<String> = (0..20)
            .map(|number| format!("presets::in_full::p{number:02}"))
            .chain(["presets::short".to_owned()])
            .collect();
        let mut days = vec![0; names.len()];
        for part in 0..PARTS {
            let others = others_of(&names, part);
            assert!((17..=18).contains(&others.len()), "{}", others.len());
            for (days, name) in days.iter_mut().zip(&names) {
                *days += usize::from(!others.contains(name));
            }
        }
        let (short, long) = days.split_last().unwrap_or((&0, &[]));
        assert!(long.iter().all(|days| *days == 1) && *short == PARTS as usize, "{days:?}");
    }
}
