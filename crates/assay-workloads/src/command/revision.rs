//! A side that is a commit: its lines run in a tree of the commit, created and built before the study.

use assay_core::digest::{hexadecimal, sha256};
use serde::{Deserialize, Serialize};

pub const REVISION: &str = "revision";
const DIGITS: usize = 32;

/// The commit of an arm, and how its tree was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    pub commit: String,
    pub repository: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    pub tree: String,
}

impl Revision {
    pub fn new(repository: &str, build: Option<&str>, commit: &str) -> Self {
        Self {
            commit: commit.to_owned(),
            repository: repository.to_owned(),
            build: build.map(str::to_owned),
            tree: tree_name(repository, build, commit),
        }
    }

    pub(super) fn words(&self) -> String {
        let built =
            self.build.as_ref().map_or_else(String::new, |line| format!(", built by `{line}`"));
        format!(" in a tree of commit {} of {}{built}", self.commit, self.repository)
    }
}

pub fn tree_name(repository: &str, build: Option<&str>, commit: &str) -> String {
    // A path or a line contains no null byte.
    let parts = [repository, build.unwrap_or_default(), commit].join("\0");
    let mut name = hexadecimal(&sha256(parts));
    name.truncate(DIGITS);
    name
}

/// Whether a text is a full commit ID, SHA-1 or SHA-256.
pub fn is_commit(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    [40, 64].contains(&text.len()) && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::super::CommandSpec;
    use super::*;
    use crate::PlannedWork as _;

    #[test]
    fn a_side_is_the_commit_of_its_level_and_without_one_nothing_is_run() {
        let commit = "0a".repeat(20);
        let mut asked = CommandSpec {
            repository: Some("/r".to_owned()),
            commits: [("main".to_owned(), commit.clone())].into(),
            ..CommandSpec::new("true")
        };
        assert!(asked.make_plan().unwrap_err().contains("no revision of /r"));
        asked.levels.insert(REVISION.to_owned(), "other".to_owned());
        assert!(asked.make_plan().unwrap_err().contains("no commit in /r matches other"));
        asked.levels.insert(REVISION.to_owned(), "main".to_owned());
        let planned = asked.make_plan().unwrap();
        assert_eq!(planned.revision, Some(Box::new(Revision::new("/r", None, &commit))));
        assert!(planned.words().contains(&commit), "{}", planned.words());
        assert_eq!(CommandSpec::new("true").make_plan().unwrap().revision, None);
    }

    #[test]
    fn a_tree_has_one_name_and_no_other_tree_has_it() {
        let name = tree_name("/a", Some("make"), "1");
        assert_eq!(name, Revision::new("/a", Some("make"), "1").tree);
        assert_eq!(name.len(), DIGITS);
        for (repository, build, commit) in [
            ("/b", Some("make"), "1"),
            ("/a", Some("make -j"), "1"),
            ("/a", None, "1"),
            ("/a", Some("make"), "2"),
            ("/amake", None, "1"),
        ] {
            assert_ne!(tree_name(repository, build, commit), name);
        }
    }

    #[test]
    fn a_commit_is_named_by_all_of_its_digits() {
        for digits in [40, 64] {
            assert!(is_commit(&"0a".repeat(digits / 2)));
        }
        for text in ["", "main", &"0".repeat(39), &"g".repeat(40), &"A".repeat(40)] {
            assert!(!is_commit(text), "{text}");
        }
    }
}
