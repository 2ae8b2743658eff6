//! IDs of bundles, with random bits that distinguish two of the same second.

use std::path::Path;

use assay_machine::system::System;
use sha2::{Digest, Sha256};

/// Bits that differ from run to run: the clocks and the process id, stirred.
pub fn entropy(system: &dyn System) -> u64 {
    let source = format!("{} {} {}", system.now(), system.monotonic_ns(), system.user().process);
    let digest = Sha256::digest(source.as_bytes());
    digest.iter().take(8).fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// `20261120-103107-a3f9`: sorts by time, short enough to type.
pub fn new_id(started: &str, bits: u64) -> String {
    let digits: String = started.chars().take(19).filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(digits.len().min(8));
    format!("{day}-{time}-{:04x}", bits & 0xffff)
}

pub fn is_one(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let [day, time, bits] = parts.as_slice() else { return false };
    let has_digits = |text: &str, n| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    let has_bits = bits.len() == 4 && bits.bytes().all(|b| b"0123456789abcdef".contains(&b));
    has_digits(day, 8) && has_digits(time, 6) && has_bits
}

/// Share of a second's remaining numbers per ID: some two hundred IDs sort by time.
const SHARE: u64 = 16;

/// ID of a new study: [`unused_id`] if the result is stored.
pub fn of_study(system: &dyn System, results: Option<&Path>, started: &str) -> String {
    match results {
        Some(results) => unused_id(system, results, started),
        None => new_id(started, entropy(system)),
    }
}

/// Returns an unused ID that sorts after all others of the same second.
pub fn unused_id(system: &dyn System, results: &Path, started: &str) -> String {
    let bits = entropy(system);
    let second = new_id(started, 0);
    let second = second.strip_suffix("0000").unwrap_or(&second);
    let names = system.list(results).unwrap_or_default();
    let suffixes = names
        .iter()
        .filter(|name| is_one(name))
        .filter_map(|name| u64::from_str_radix(name.strip_prefix(second)?, 16).ok());
    let from = suffixes.max().map_or(0, |last| last + 1);
    // A random gap, so two processes hardly choose the same ID.
    let most_gap = (0x1_0000_u64.saturating_sub(from) / SHARE).max(1);
    let mut ids = (0..=0xffff).map(|more| new_id(started, from + bits % most_gap + more));
    let is_free = |id: &String| system.status(&results.join(id)).is_err();
    ids.find(is_free).unwrap_or_else(|| new_id(started, bits))
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    #[test]
    fn an_id_sorts_by_time() {
        assert_eq!(new_id("2026-11-20T10:31:07+01:00", 0x1_a3f9), "20261120-103107-a3f9");
    }

    #[test]
    fn what_is_no_id_is_told_from_one() {
        assert!(is_one("20261120-103107-a3f9"));
        for other in ["20261120-103107-a3f9\n", "20261120-103107-A3F9", "a\nb", "", "1-2-3", "../x"]
        {
            assert!(!is_one(other), "{other:?}");
        }
    }

    #[test]
    fn of_studies_within_one_second_the_later_one_sorts_last() {
        let fake = Fake::new();
        let results = Path::new("/results");
        let mut last = String::new();
        for _ in 0..20 {
            let id = of_study(&fake, Some(results), "2026-11-20T10:31:07+01:00");
            assert!(id > last, "{id} after {last}");
            fake.create_directory(&results.join(&id)).unwrap();
            last = id;
        }
        // A result that is not stored needs no sort order.
        assert!(is_one(&of_study(&fake, None, "2026-11-20T10:31:07+01:00")));
    }

    #[test]
    fn an_id_that_is_taken_is_not_given_again() {
        let fake = Fake::new();
        let results = Path::new("/results");
        let mut ids = Vec::new();
        for _ in 0..100 {
            let id = unused_id(&fake, results, "2026-11-20T10:31:07+01:00");
            fake.create_directory(&results.join(&id)).unwrap();
            ids.push(id);
        }
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "the newest is not the last: {ids:?}"
        );
    }

    #[test]
    fn a_second_that_is_full_still_has_an_id() {
        let fake = Fake::new();
        let results = Path::new("/results");
        fake.create_directory(&results.join("20261120-103107-ffff")).unwrap();
        let id = unused_id(&fake, results, "2026-11-20T10:31:07+01:00");
        assert!(is_one(&id) && id != "20261120-103107-ffff", "{id}");
    }
}
