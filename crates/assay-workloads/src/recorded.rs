//! Work whose trials this program does not run: the machine made them, and its journal tells of each. A kind
//! of such work says so in its row ([`Recording`], which is data) and has methods that read
//! them ([`RecordedWork`]): plan, runner and command line see groups, times and what was measured, and know no kind.

use std::path::{Path, PathBuf};

use assay_core::failure::Outcome;
use assay_machine::system::System;

use super::boot;
use super::check_option::Example;
use super::{Entry, KINDS, Measured};

pub type RecordedWork = boot::BootSpec;

/// The names of a kind of recorded work; its shipped study has the name of the kind.
#[derive(Debug)]
pub struct Recording {
    pub one: &'static str,
    pub many: &'static str,
    pub told_by: &'static str,
    /// Why one of which only the beginning was noted has no number.
    pub cut_off: &'static str,
    pub example: Example,
    pub labels: RecordLabels,
}

/// Labels some recorded trials, or removes the label if it is empty; returns their number.
pub type GiveLabel = fn(&dyn System, &Path, Option<&str>, &str) -> Outcome<usize>;

#[derive(Debug)]
pub struct RecordLabels {
    pub give: GiveLabel,
    /// What `note` is for beside results, in a few words.
    pub about: &'static str,
    pub text: &'static str,
    /// What may be typed in the place of a result.
    pub ids: &'static str,
    pub examples: &'static [&'static str],
}

/// The kind of work whose trials are recorded; the command line takes the options of the first.
pub fn kind() -> Option<(&'static Entry, &'static Recording)> {
    KINDS.iter().find_map(|kind| Some((*kind, kind.recording?)))
}

/// The kind whose trials a word names, and which of them: `KIND`, or `KIND:WHICH`; none where it names none.
pub fn named(word: &str) -> Option<(&'static Entry, &'static Recording, Option<&str>)> {
    let (entry, recording) = kind()?;
    let rest = word.strip_prefix(entry.about.name)?;
    let which = rest.strip_prefix(':');
    (rest.is_empty() || which.is_some()).then_some((entry, recording, which))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Own,
    /// A file or directory: exported text, or a journal of its own.
    At(PathBuf),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub id: String,
    pub group: String,
    /// Microseconds since 1970 of the wall clock at its beginning.
    pub began_wall_us: Option<u64>,
    pub measured: Result<Measured, String>,
}

impl Record {
    /// One of which nothing is known but when it began, as RFC 3339 writes it.
    pub fn cut_off(id: &str, began: &str, why: &str) -> Self {
        Self {
            id: id.to_owned(),
            group: String::new(),
            began_wall_us: wall_us(began),
            measured: Err(why.to_owned()),
        }
    }
}

/// Microseconds since 1970 of a time as RFC 3339 writes it.
fn wall_us(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_microsecond()).ok()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The trials in the order of time, the newest last.
    pub records: Vec<Record>,
    /// How many older ones there are that were not read.
    pub older: usize,
    pub faults: usize,
    /// Whether they are of the machine that reads them.
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
