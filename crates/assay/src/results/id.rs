//! Ids of bundles, and the bits that make two of the same second differ.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::system::System;

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

/// Whether a name is one that results are given when they are measured.
pub fn is_one(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let [day, time, bits] = parts.as_slice() else { return false };
    let digits = |text: &str, many| text.len() == many && text.bytes().all(|b| b.is_ascii_digit());
    let bits = bits.len() == 4 && bits.bytes().all(|b| b"0123456789abcdef".contains(&b));
    digits(day, 8) && digits(time, 6) && bits
}

/// An id that nothing in a directory has yet: many bundles may be made within one second.
pub fn unused_id(system: &dyn System, results: &Path, started: &str) -> String {
    let bits = entropy(system);
    let ids = (0..=0xffff).map(|more| new_id(started, bits.wrapping_add(more)));
    let free = |id: &String| system.status(&results.join(id)).is_err();
    ids.into_iter().find(free).unwrap_or_else(|| new_id(started, bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

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
    fn an_id_that_is_taken_is_not_given_again() {
        let fake = Fake::new();
        let results = Path::new("/results");
        let first = unused_id(&fake, results, &fake.now());
        fake.create_directory(&results.join(&first)).unwrap();
        let second = unused_id(&fake, results, &fake.now());
        assert_ne!(first, second);
    }
}
