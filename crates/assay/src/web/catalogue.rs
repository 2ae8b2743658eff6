//! The list of results, remembered: a bundle that looks as before is not read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::find;
use super::stamp::{Stamp, stamp};
use assay_study::results::bundle::{self, Listed};
use assay_system::system::System;

/// A result, or why it cannot be shown.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub id: String,
    /// What is known of it.
    pub found: Result<Listed, String>,
    /// Where it stands.
    pub state: State,
}

/// Where a result stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A process works on it.
    Running,
    /// It is whole.
    Complete,
    /// A rule ended it before its last trial.
    Early,
    /// Trials are left, and nobody works on it.
    Interrupted,
    /// It cannot be read.
    Damaged,
}

/// What was read of a bundle, and how it looked then.
type Known = (Stamp, Result<Listed, String>);

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Words that all occur in id, title, target or reason.
    pub words: String,
    /// `check`, `study`, `import`; all where empty.
    pub kind: String,
    /// Page from 1.
    pub page: usize,
}

/// One page of a list.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// What is shown.
    pub entries: Vec<Entry>,
    /// Results that fit the search.
    pub fitting: usize,
    /// Results in all.
    pub all: usize,
    /// The page, from 1.
    pub number: usize,
    pub pages: usize,
}

/// Rows of a page.
const ROWS: usize = 100;

/// The list of a results directory.
#[derive(Debug)]
pub(super) struct Catalogue {
    results: PathBuf,
    known: Mutex<BTreeMap<String, Known>>,
}

impl Catalogue {
    /// The list of a directory.
    pub fn new(results: &Path) -> Self {
        Self { results: results.to_owned(), known: Mutex::default() }
    }

    /// One page of it, newest first. Without a search only what is shown is read.
    pub fn page(&self, system: &dyn System, search: &Search) -> Page {
        let ids = bundle::ids(system, &self.results);
        let all = ids.len();
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|id, _| ids.binary_search_by(|other| id.cmp(other)).is_ok());
        let words: Vec<String> = search.words.split_whitespace().map(str::to_lowercase).collect();
        let fits = |id: &String| {
            (words.is_empty() && search.kind.is_empty())
                || fits(id, &self.listed(system, id), &words, &search.kind)
        };
        let fitting: Vec<String> = ids.into_iter().filter(fits).collect();
        let pages = fitting.len().div_ceil(ROWS).max(1);
        let page = search.page.clamp(1, pages);
        let shown = fitting.iter().skip((page - 1) * ROWS).take(ROWS);
        let entries = shown.map(|id| self.entry(system, id)).collect();
        Page { entries, fitting: fitting.len(), all, number: page, pages }
    }

    fn entry(&self, system: &dyn System, id: &str) -> Entry {
        let found = self.listed(system, id);
        let directory = self.results.join(id);
        let state = match &found {
            Err(_) => State::Damaged,
            Ok(listed) if listed.kind == "import" => State::Complete,
            Ok(_) if bundle::is_running(system, &directory) => State::Running,
            Ok(listed) if listed.trials >= listed.planned => State::Complete,
            Ok(_) if bundle::ended(system, &directory).is_some() => State::Early,
            Ok(_) => State::Interrupted,
        };
        Entry { id: id.to_owned(), found, state }
    }

    fn listed(&self, system: &dyn System, id: &str) -> Result<Listed, String> {
        let directory = self.results.join(id);
        let stamp = stamp(system, &directory);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known().get(id).filter(|(then, _)| *then == stamp) {
            return found.clone();
        }
        let read =
            find::plain(system, &directory).and_then(|()| bundle::listed(system, &directory));
        let found = read.map_err(|failure| failure.message);
        known().insert(id.to_owned(), (stamp, found.clone()));
        found
    }
}

fn fits(id: &str, found: &Result<Listed, String>, words: &[String], kind: &str) -> bool {
    let (text, own) = match found {
        Ok(listed) => {
            let drives = listed.drives.join(" ");
            let words = format!("{id} {} {} {drives}", listed.title, listed.targets.join(" "));
            (words, listed.kind.as_str())
        }
        Err(reason) => (format!("{id} {reason}"), "damaged"),
    };
    let text = text.to_lowercase();
    (kind.is_empty() || kind == own) && words.iter().all(|word| text.contains(word))
}
