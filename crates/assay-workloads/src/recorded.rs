//! Work that Assay does not run, with trials in a journal of the machine. Its kind declares it ([`RecordingNames`]) and
//! reads it ([`RecordedWork`]); plan, runner and command line only see groups, times and results.

use std::path::{Path, PathBuf};

use assay_core::failure::Outcome;
use assay_machine::system::System;

use super::boot;
use super::check_option::OptionExample;
use super::{KINDS, KindEntry, Measured};

pub type RecordedWork = boot::BootSpec;

/// The names of a kind of recorded work; its bundled study has the name of the kind.
#[derive(Debug)]
pub struct RecordingNames {
    pub one: &'static str,
    pub many: &'static str,
    pub told_by: &'static str,
    /// Why a trial with only a logged start has no number.
    pub cut_off: &'static str,
    pub example: OptionExample,
    pub labels: RecordLabels,
}

/// Labels some recorded trials, or removes the label if it is empty; returns their number.
pub type GiveLabel = fn(&dyn System, &Path, Option<&str>, &str) -> Outcome<usize>;

#[derive(Debug)]
pub struct RecordLabels {
    pub give: GiveLabel,
    /// Purpose of `note` next to results, in a few words.
    pub about: &'static str,
    pub text: &'static str,
    /// Accepted forms of an ID in place of a result.
    pub ids: &'static str,
    pub examples: &'static [&'static str],
}

/// The kind of recorded work; the command line uses the options of the first.
pub fn kind() -> Option<(&'static KindEntry, &'static RecordingNames)> {
    KINDS.iter().find_map(|kind| Some((*kind, kind.recording?)))
}

/// The recorded kind and trials that a word names: `KIND` or `KIND:WHICH`; `None` if it names none.
pub fn named(word: &str) -> Option<(&'static KindEntry, &'static RecordingNames, Option<&str>)> {
    let (entry, recording) = kind()?;
    let rest = word.strip_prefix(entry.about.name)?;
    let which = rest.strip_prefix(':');
    (rest.is_empty() || which.is_some()).then_some((entry, recording, which))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordSource {
    #[default]
    Own,
    /// A file or directory: exported text, or a journal.
    At(PathBuf),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub id: String,
    pub group: String,
    /// Wall clock at its beginning, microseconds since 1970.
    pub began_wall_us: Option<u64>,
    pub measured: Result<Measured, String>,
}

impl Record {
    /// A trial with a known start only, in RFC 3339.
    pub fn cut_off(id: &str, began: &str, why: &str) -> Self {
        Self {
            id: id.to_owned(),
            group: String::new(),
            began_wall_us: wall_us(began),
            measured: Err(why.to_owned()),
        }
    }
}

fn wall_us(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordList {
    /// The trials in time order, the newest last.
    pub records: Vec<Record>,
    /// Number of older trials that were not read.
    pub older: usize,
    pub faults: usize,
    /// Whether they are from this machine.
    pub is_own: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_a_recording_just_where_its_work_has_records() {
        for entry in KINDS {
            let work = (entry.sample)();
            let name = entry.about.name;
            assert_eq!(work.records().is_some(), entry.recording.is_some(), "{name}");
            if let (Some(records), Some(recording)) = (work.records(), entry.recording) {
                assert_eq!(records.recording().one, recording.one);
                assert!(records.planned().is_recorded(), "{name}");
            }
        }
    }

    #[test]
    fn a_word_names_trials_by_the_name_of_their_kind_alone() {
        assert!(named("20261120-1031").is_none() && named("").is_none());
        let Some((entry, _)) = kind() else { return };
        let name = entry.about.name;
        let which = |word: &str| named(word).map(|(_, _, which)| which.map(str::to_owned));
        assert_eq!(which(name), Some(None));
        assert_eq!(which(&format!("{name}:-9..-4")), Some(Some("-9..-4".to_owned())));
        assert_eq!(which(&format!("{name}s")), None);
    }

    #[test]
    fn of_one_that_was_cut_off_its_beginning_is_known() {
        let record = |began: &str| Record::cut_off("a", began, "it was cut off");
        assert_eq!(record("1970-01-01T00:00:01.000002Z").began_wall_us, Some(1_000_002));
        assert_eq!(record("1969-12-31T23:59:59Z").began_wall_us, None);
        assert_eq!(record("yesterday").began_wall_us, None);
        assert_eq!(record("yesterday").measured, Err("it was cut off".to_owned()));
    }
}
