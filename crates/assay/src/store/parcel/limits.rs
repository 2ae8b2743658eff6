//! Limits for foreign files: one per file name, and one for the total by the compressed size; all are checked before
//! any file is parsed.

use assay_analysis::import::LARGEST_RUNS_BYTES;
use assay_core::quantity::Bytes;
use assay_study::results::imported::is_source;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Files of a result with their maximum size, several times that of our largest ones. Excludes the headline, which is
/// generated again.
const FILES: [(&str, u64); 8] = [
    ("study.toml", MIB),
    ("environment.json", 4 * MIB),
    ("trials.jsonl", 256 * MIB),
    ("log.jsonl", 16 * MIB),
    ("label.json", 64 * KIB),
    ("trials.csv", 256 * MIB),
    ("plan.json", 8 * MIB),
    ("import.json", 4 * MIB),
];
/// Maximum size of an imported file of another tool, in bytes.
const SOURCE_BYTES: u64 = LARGEST_RUNS_BYTES;
/// Directories of JSON files in a result, with the maximum size of each file.
pub const DIRECTORIES: [(&str, u64); 2] = [("histograms", MIB), ("series", MIB)];
pub const MOST_FILES: usize = 50_000;
/// Maximum length of a file name in these directories, without `.json`.
const LONGEST_STEM: usize = 60;
/// Maximum unpacked size, about ten times that of our largest result.
const MOST_BYTES: u64 = 1 << 30;
/// Unpacked size that is always permitted, for small files.
const ALWAYS_BYTES: u64 = 16 * MIB;
/// Maximum unpacked bytes per compressed byte; results have five to fifteen.
const MOST_RATIO: u64 = 50;

/// Returns the maximum size of a file of a result; `None` for unknown names.
pub fn limit(name: &str) -> Option<u64> {
    if let Some((_, most)) = FILES.iter().find(|(known, _)| *known == name) {
        return Some(*most);
    }
    if is_source(name) {
        return Some(SOURCE_BYTES);
    }
    let (directory, file) = name.split_once('/')?;
    let (_, most) = DIRECTORIES.iter().find(|(known, _)| *known == directory)?;
    let stem = file.strip_suffix(".json")?;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_plain = !stem.is_empty() && stem.len() <= LONGEST_STEM && stem.bytes().all(is_allowed);
    is_plain.then_some(*most)
}

/// Returns the maximum unpacked size for a compressed size.
pub fn unpacked(packed_bytes: u64) -> u64 {
    let most = packed_bytes.saturating_mul(MOST_RATIO).saturating_add(ALWAYS_BYTES);
    most.min(MOST_BYTES).next_multiple_of(MIB)
}

/// Checks the name and size of a file of a result; returns the reason if invalid.
pub fn fits(name: &str, bytes: u64) -> Result<(), String> {
    match limit(name) {
        None => Err(format!("a result contains no file {}", assay_core::outside::spelled(name))),
        Some(most) if bytes > most => {
            Err(format!("{name} has {}; the limit in a result is {}", Bytes(bytes), Bytes(most)))
        }
        // These directories contain only JSON, which is never empty.
        Some(_) if bytes == 0 && name.contains('/') => Err(format!("{name} is empty")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_result_have_plain_names_of_sixty_letters_at_most() {
        let long = |count: usize| format!("series/{}.json", "x".repeat(count));
        let own = ["plan.json", "trials.csv", "source-0001", "source-12345"];
        for name in own.into_iter().chain(["series/a-B_9.json", "histograms/-.json", &long(60)]) {
            assert!(limit(name).is_some(), "{name}");
        }
        let wrong = [
            "",
            "source-1",
            "source-0000",
            "source-0001/x",
            "series",
            "series/",
            "series/.json",
            "series/a.txt",
            "series/a.b.json",
            "series/a b.json",
            "series/a/b.json",
            "other/a.json",
            "series/plan.json/x",
            &long(61),
        ];
        for name in wrong {
            assert!(limit(name).is_none(), "{name}");
        }
    }

    #[test]
    fn each_file_has_a_limit_by_its_name_and_json_is_not_empty() {
        for (name, most) in FILES {
            assert!(fits(name, most).is_ok() && fits(name, 0).is_ok(), "{name}");
            assert!(fits(name, most + 1).unwrap_err().contains("the limit"), "{name}");
        }
        for (directory, most) in DIRECTORIES {
            let name = format!("{directory}/0001.json");
            assert!(fits(&name, most).is_ok() && fits(&name, 2).is_ok());
            assert!(fits(&name, most + 1).is_err());
            assert!(fits(&name, 0).unwrap_err().contains("is empty"));
        }
    }

    #[test]
    fn what_all_unpacks_to_goes_by_what_it_has() {
        assert_eq!((unpacked(0), unpacked(1)), (ALWAYS_BYTES, ALWAYS_BYTES + MIB));
        assert_eq!(unpacked(4 * MIB), 216 * MIB);
        assert_eq!(unpacked(u64::MAX), MOST_BYTES);
    }
}
