//! The user's labels of boots by boot ID (`boots.json` next to the results), which are the same in every result.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::boot::journal::entry;
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_machine::system::{System, machine};
use serde::{Deserialize, Serialize};

use super::{Boot, source};
use crate::recorded::RecordSource;

const FORMAT: &str = "assay-boots/1";
const FILE: &str = "boots.json";
const LONGEST: usize = 100;
/// Maximum number of labeled boots: the file is read as a whole.
const MOST: usize = 10_000;
/// Number of boots to search for those that a word names.
const MOST_NAMED: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredLabels {
    format: String,
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// Reads the labels stored next to the results; none if there is no file.
    pub fn read(system: &dyn System, results: &Path) -> Outcome<Self> {
        let path = labels_file(results);
        let text = match system.read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::refused(format!("cannot read {}: {error}", path.display())));
            }
        };
        let wrong = |why: &str| {
            Failure::mistake(format!(
                "{}: {why}; remove it to continue without boot labels",
                path.display()
            ))
        };
        let stored: StoredLabels = serde_json::from_str(&text)
            .map_err(|error| wrong(&format!("the file is damaged ({error})")))?;
        if stored.format != FORMAT {
            return Err(wrong(&format!(
                "the file has format {}; this version reads format {FORMAT}",
                outside::spelled(&stored.format)
            )));
        }
        let valid =
            |(id, label): (String, String)| Some((entry::id(&id)?, clean_label(&label).ok()?));
        Ok(Self(stored.labels.into_iter().filter_map(valid).collect()))
    }

    /// Sets the label of boots, or removes it if empty, and stores the change.
    pub fn set(
        &mut self,
        system: &dyn System,
        results: &Path,
        boots: &[String],
        label: &str,
    ) -> Outcome<()> {
        let label = clean_label(label)?;
        for id in boots {
            if label.is_empty() {
                self.0.remove(id);
            } else {
                self.0.insert(id.clone(), label.clone());
            }
        }
        if self.0.len() > MOST {
            return Err(Failure::mistake(format!(
                "more than {MOST} boots have a label; remove some with \"\""
            )));
        }
        let path = labels_file(results);
        let stored = StoredLabels { format: FORMAT.to_owned(), labels: self.0.clone() };
        let written =
            serde_json::to_vec_pretty(&stored).map_err(std::io::Error::other).and_then(|bytes| {
                system.create_directory(path.parent().unwrap_or(results))?;
                system.write_whole(&path, &bytes)
            });
        written
            .map_err(|error| Failure::refused(format!("cannot write {}: {error}", path.display())))
    }

    pub fn apply(&self, boots: &mut [Boot]) {
        for boot in boots {
            boot.label = self.0.get(&boot.id).cloned();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Labels the boots that a word names, or the running one without a word; returns their number.
pub(super) fn label_boots(
    system: &dyn System,
    results: &Path,
    which: Option<&str>,
    label: &str,
) -> Outcome<usize> {
    let ids = match which {
        None => vec![machine::boot_id(system)?],
        Some(word) => {
            let found = source::read(system, &RecordSource::Own, MOST_NAMED, None)?;
            boot_ids(Some(word), &found.boots)?
        }
    };
    Labels::read(system, results)?.set(system, results, &ids, label)?;
    Ok(ids.len())
}

fn labels_file(results: &Path) -> PathBuf {
    results.parent().unwrap_or(results).join(FILE)
}

/// The label without surrounding spaces, or an error if it is not a short line.
fn clean_label(label: &str) -> Outcome<String> {
    let label = label.trim();
    if label.len() > LONGEST || label.chars().any(outside::is_unseen) {
        let message = format!("a label must be one line of at most {LONGEST} bytes");
        return Err(Failure::mistake(message));
    }
    Ok(label.to_owned())
}

/// IDs of the boots that a word names: `None` or `0` (latest), `-1`, `-9..-3`, or at least 4 digits that begin one ID.
pub fn boot_ids(word: Option<&str>, boots: &[Boot]) -> Outcome<Vec<String>> {
    // The index in `boots`, whose last element is the latest boot.
    let index_of = |text: &str| {
        let number = text.parse::<i64>().ok().filter(|number| *number <= 0)?;
        boots.len().checked_sub(usize::try_from(number.unsigned_abs()).ok()? + 1)
    };
    let not_found = |word: &str| {
        Failure::mistake(format!(
            "no boot {word} in the journal; use {} (0 is the latest boot, -1 the previous boot)",
            boots.len()
        ))
    };
    let word = word.unwrap_or("0");
    if let Some((from, to)) = word.split_once("..") {
        return match (index_of(from), index_of(to)) {
            (Some(from), Some(to)) if from <= to => {
                Ok(boots[from..=to].iter().map(|boot| boot.id.clone()).collect())
            }
            _ => Err(not_found(word)),
        };
    }
    if let Some(index) = index_of(word) {
        return Ok(vec![boots[index].id.clone()]);
    }
    let digits = word.to_ascii_lowercase().replace('-', "");
    let mut matching =
        boots.iter().filter(|boot| digits.len() >= 4 && boot.id.starts_with(&digits));
    match (matching.next(), matching.next()) {
        (Some(boot), None) => Ok(vec![boot.id.clone()]),
        (Some(_), Some(_)) => {
            Err(Failure::mistake(format!("`{word}` matches several boots; use a longer ID")))
        }
        _ => Err(not_found(word)),
    }
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;
    use crate::boot::journal::entry::Entry;
    use crate::boot::journal::timeline;

    fn three() -> Vec<Boot> {
        let entry = |id: &str| Entry { boot: id.repeat(32), ..Entry::default() };
        timeline::boots(&["a", "b", "c"].map(entry), None)
    }

    #[test]
    fn boots_are_named_by_their_place_or_their_id() {
        let boots = three();
        let firsts = |word: Option<&str>| {
            let found = boot_ids(word, &boots)?;
            Ok(found.iter().map(|id| id[..1].to_owned()).collect::<String>())
        };
        let told: Vec<Outcome<String>> =
            [None, Some("0"), Some("-2"), Some("-2..-1"), Some("bbbb")].map(firsts).to_vec();
        assert_eq!(
            told.into_iter().map(Outcome::unwrap).collect::<Vec<_>>(),
            ["c", "c", "a", "ab", "b"]
        );
        for wrong in ["-3", "1", "-1..-2", "x", "", "bb", "-9..-1"] {
            assert!(firsts(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn labels_are_kept_and_taken_away() {
        let fake = Fake::new();
        let results = Path::new("/home/a/assay/results");
        let mut boots = three();
        let mut labels = Labels::read(&fake, results).unwrap();
        labels
            .set(&fake, results, &[boots[0].id.clone(), boots[1].id.clone()], " old disk ")
            .unwrap();
        labels.set(&fake, results, &[boots[1].id.clone()], "").unwrap();
        let read = Labels::read(&fake, results).unwrap();
        assert_eq!(read, labels);
        read.apply(&mut boots);
        assert_eq!(
            boots.iter().map(|boot| boot.label.as_deref()).collect::<Vec<_>>(),
            [Some("old disk"), None, None]
        );
        assert!(labels.set(&fake, results, &[], "two\nlines").is_err());
        fake.put("/home/a/assay/boots.json", "{}");
        assert!(Labels::read(&fake, results).unwrap_err().message.contains("damaged"));
    }

    #[test]
    fn the_boot_that_runs_gets_a_label_where_no_other_is_named() {
        let fake = Fake::new();
        let results = Path::new("/home/a/assay/results");
        assert!(label_boots(&fake, results, None, "here").is_err(), "the kernel tells no id");
        fake.put("/proc/sys/kernel/random/boot_id", "a".repeat(32));
        assert_eq!(label_boots(&fake, results, None, "here").unwrap(), 1);
        let mut boots = three();
        Labels::read(&fake, results).unwrap().apply(&mut boots);
        let labels: Vec<Option<&str>> = boots.iter().map(|boot| boot.label.as_deref()).collect();
        assert_eq!(labels, [Some("here"), None, None]);
        assert!(label_boots(&fake, results, Some("-1"), "x").is_err(), "there is no journal");
    }

    #[test]
    fn a_label_is_one_line_of_a_hundred_bytes_at_most() {
        assert_eq!(clean_label(" old disk ").unwrap(), "old disk");
        assert_eq!(clean_label(&"x".repeat(LONGEST)).unwrap().len(), 100);
        assert!(clean_label(&"x".repeat(LONGEST + 1)).unwrap_err().message.contains("100 bytes"));
        assert!(clean_label("a\u{7}b").is_err());
    }

    #[test]
    fn ten_thousand_boots_may_have_a_label() {
        let fake = Fake::new();
        let results = Path::new("/home/a/assay/results");
        let ids = |count: usize| (0..count).map(|at| format!("{at:032x}")).collect::<Vec<_>>();
        let mut labels = Labels::default();
        assert!(labels.is_empty());
        labels.set(&fake, results, &ids(MOST), "x").unwrap();
        assert!(!labels.is_empty());
        let told = labels.set(&fake, results, &ids(MOST + 1), "x").unwrap_err();
        assert!(told.message.contains("more than 10000 boots"), "{}", told.message);
        // Labels of invalid boots, and of another format, are not read.
        fake.put(
            "/home/a/assay/boots.json",
            r#"{"format": "assay-boots/1", "labels": {"no id": "x", "00000000000000000000000000000001": "y"}}"#,
        );
        assert_eq!(Labels::read(&fake, results).unwrap().0.len(), 1);
        fake.put("/home/a/assay/boots.json", r#"{"format": "assay-boots/2", "labels": {}}"#);
        let told = Labels::read(&fake, results).unwrap_err().message;
        assert!(told.contains("has format assay-boots/2; this version reads"), "{told}");
    }

    #[test]
    fn the_beginning_of_an_id_has_four_letters_and_fits_one_boot() {
        let entry = |id: &str| Entry { boot: id.to_owned(), ..Entry::default() };
        let ids = [format!("abcd1{}", "0".repeat(27)), format!("abcd2{}", "0".repeat(27))];
        let boots = timeline::boots(&ids.each_ref().map(|id| entry(id)), None);
        assert_eq!(boot_ids(Some("ABCD-1"), &boots).unwrap(), [ids[0].clone()]);
        let error = |word: &str| boot_ids(Some(word), &boots).unwrap_err().message;
        assert!(error("abcd").contains("matches several boots"));
        assert!(error("abc").contains("no boot abc"));
        assert!(error("-2").contains("use 2"));
    }
}
