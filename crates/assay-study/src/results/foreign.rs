//! Results from other people, marked (`foreign.json`) and renamed: Assay never applies or resumes them.

use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;
use serde::{Deserialize, Serialize};

use super::{bundle, id};

pub const FORMAT: &str = "assay-foreign/1";
pub const FILE: &str = "foreign.json";
const END: &str = "-foreign";
const MOST_OF_ONE: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportMark {
    pub format: String,
    /// Its ID on the original machine.
    pub id: String,
    /// Name of the file that it came in, without its directories.
    pub file: String,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: String,
    pub added: String,
}

pub fn is_one(system: &dyn System, directory: &Path) -> bool {
    // Checks the name too: a foreign result without its mark is still foreign.
    is_name(&bundle::id_of(directory)) || system.status(&directory.join(FILE)).is_ok()
}

pub fn is_name(name: &str) -> bool {
    name.contains(END)
}

pub fn mark(system: &dyn System, directory: &Path) -> Option<ImportMark> {
    bundle::versioned(system, &directory.join(FILE), FORMAT).ok()
}

/// Writes the mark. If this fails, do not keep the result.
pub fn set(system: &dyn System, directory: &Path, mark: &ImportMark) -> std::io::Result<()> {
    system.write_whole(&directory.join(FILE), &bundle::json(mark)?)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportPath {
    /// A free name, or an incomplete copy of the same result.
    Free(PathBuf),
    There(PathBuf),
}

/// Finds a directory for a foreign result with this ID and content hash; fails after a thousand.
pub fn place(system: &dyn System, results: &Path, name: &str, sha256: &str) -> Outcome<ImportPath> {
    let bare_name = name.strip_suffix(END).unwrap_or(name);
    let stem = if id::is_one(bare_name) {
        bare_name.to_owned()
    } else {
        id::new_id(&system.now(), id::entropy(system))
    };
    for number in 1..=MOST_OF_ONE {
        let more = if number == 1 { String::new() } else { format!("-{number}") };
        let directory = results.join(format!("{stem}{END}{more}"));
        if system.status(&directory).is_err() {
            return Ok(ImportPath::Free(directory));
        }
        if mark(system, &directory).is_some_and(|mark| mark.sha256 == sha256) {
            // The copy writes the plan last; without the plan the copy is incomplete.
            let is_whole = bundle::is_bundle(system, &directory);
            return Ok(if is_whole {
                ImportPath::There(directory)
            } else {
                ImportPath::Free(directory)
            });
        }
    }
    Err(Failure::refused(format!("{MOST_OF_ONE} results have the ID {stem}; delete one")))
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    const ID: &str = "20261120-103107-a3f9";

    fn marked(fake: &Fake, directory: &Path, sha256: &str) {
        let mark = ImportMark {
            format: FORMAT.to_owned(),
            id: ID.to_owned(),
            file: "card.assay".to_owned(),
            sha256: sha256.to_owned(),
            added: "2026-11-24T10:00:00+00:00".to_owned(),
        };
        set(fake, directory, &mark).unwrap();
    }

    #[test]
    fn one_of_ours_is_never_hidden_and_the_same_comes_once() {
        let (fake, results) = (Fake::new(), Path::new("/results"));
        fake.put(results.join(ID).join("plan.json"), "{}");
        let lies =
            |number: &str| fake.put(results.join(format!("{ID}-foreign{number}/plan.json")), "{}");
        let first = results.join(format!("{ID}-foreign"));
        assert_eq!(place(&fake, results, ID, "aa").unwrap(), ImportPath::Free(first.clone()));
        lies("");
        marked(&fake, &first, "aa");
        assert!(is_one(&fake, &first) && !is_one(&fake, &results.join(ID)));
        assert_eq!(place(&fake, results, ID, "aa").unwrap(), ImportPath::There(first));
        let second = results.join(format!("{ID}-foreign-2"));
        assert_eq!(place(&fake, results, ID, "bb").unwrap(), ImportPath::Free(second.clone()));
        lies("-2");
        // The name does not grow if the result is passed on again.
        marked(&fake, &second, "bb");
        let again = place(&fake, results, &format!("{ID}-foreign"), "bb").unwrap();
        assert_eq!(again, ImportPath::There(second));
    }

    #[test]
    fn what_came_only_in_part_comes_again() {
        let (fake, results) = (Fake::new(), Path::new("/results"));
        let first = results.join(format!("{ID}-foreign"));
        fake.put(first.join("trials.jsonl"), "");
        marked(&fake, &first, "aa");
        assert_eq!(place(&fake, results, ID, "aa").unwrap(), ImportPath::Free(first.clone()));
        fake.put(first.join("plan.json"), "{}");
        assert_eq!(place(&fake, results, ID, "aa").unwrap(), ImportPath::There(first));
    }

    #[test]
    fn an_id_that_leads_elsewhere_is_none() {
        let (fake, results) = (Fake::new(), Path::new("/results"));
        for told in ["../../etc", "", "a/b", "20261120-103107-a3f9\n", "/etc/passwd", ".."] {
            let ImportPath::Free(directory) = place(&fake, results, told, "aa").unwrap() else {
                panic!("{told} is there")
            };
            assert_eq!(directory.parent(), Some(results), "{told}");
            let name = bundle::id_of(&directory);
            assert!(id::is_one(name.strip_suffix(END).unwrap()), "{name}");
        }
    }
}
