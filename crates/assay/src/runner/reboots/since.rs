//! Which boots came after a study began: those that the journal tells of, and those that were noted as they
//! began and left nothing else.

use super::BEGUN;
use assay_base::failure::Outcome;
use assay_base::presence::Presence;
use assay_kinds::work::boot::entry;
use assay_kinds::work::boot::labels::Labels;
use assay_kinds::work::boot::source::{self, Source};
use assay_kinds::work::boot::timeline::Phases;
use assay_kinds::work::boot::{Asked, Boot, End};
use assay_study::results::log::Entry;
use assay_system::system::System;

/// Boots that are looked through.
const MOST: usize = 1000;

/// Why nothing but its beginning is known of a boot.
const CUT_OFF: &str = "it was cut off (crash, power or reset) before its start-up had finished: the journal \
                       kept nothing of it";

/// Boots after `began`, in the order of time, without the first `known` of them.
pub(super) fn boots(
    system: &dyn System,
    asked: &Asked,
    (began, log): (&str, &[Entry]),
    known: usize,
) -> Outcome<Vec<Boot>> {
    let mut found = source::read(system, &Source::Own, MOST, asked.until.as_deref())?.boots;
    if let Ok(results) = assay_system::system::identity::results_directory(system) {
        Labels::read(system, &results)?.apply(&mut found);
    }
    let noted: Vec<&Entry> = log.iter().filter(|entry| entry.event == BEGUN).collect();
    Ok(after(found, &plain(began), &noted).into_iter().skip(known).collect())
}

fn plain(id: &str) -> String {
    id.trim().replace('-', "").to_ascii_lowercase()
}

/// The journal's boots after one, with those in between that were only noted. Where the journal does not
/// reach back to it, those that were noted are all that belong to the study.
pub(super) fn after(journal: Vec<Boot>, began: &str, noted: &[&Entry]) -> Vec<Boot> {
    let start = journal.iter().position(|boot| boot.id == began);
    let mut left: Vec<Boot> = match start {
        Some(start) => journal.into_iter().skip(start + 1).collect(),
        None => journal
            .into_iter()
            .filter(|boot| noted.iter().any(|entry| entry.text == boot.id))
            .collect(),
    };
    let mut found = Vec::new();
    for entry in noted {
        match left.iter().position(|boot| boot.id == entry.text) {
            // What the journal has before it was not noted: it ended earlier still.
            Some(place) => found.extend(left.drain(..=place)),
            None => found.push(only_noted(entry)),
        }
    }
    found.extend(left);
    found
}

/// A boot of which the journal has nothing.
fn only_noted(noted: &Entry) -> Boot {
    let absent = || Presence::absent("the journal kept nothing of this boot");
    Boot {
        id: noted.text.clone(),
        machine: String::new(),
        began_wall_us: entry::wall_us(&noted.at),
        kernel: absent().map(|never: String| never),
        root: absent().map(|never: String| never),
        label: None,
        end: End::Unfinished(CUT_OFF.to_owned()),
        phases: Phases::absent("the start-up did not finish"),
        until: None,
        units: Vec::new(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_kinds::work::boot::entry::Entry as Line;
    use assay_kinds::work::boot::timeline;

    fn journal(ids: &str) -> Vec<Boot> {
        let line = |id: char| Line { boot: id.to_string().repeat(32), ..Line::default() };
        timeline::boots(&ids.chars().map(line).collect::<Vec<_>>(), None)
    }

    fn noted(ids: &str) -> Vec<Entry> {
        let one = |id: char| Entry {
            at: "2026-11-23T06:03:46+00:00".to_owned(),
            event: BEGUN.to_owned(),
            text: id.to_string().repeat(32),
        };
        ids.chars().map(one).collect()
    }

    fn told(in_journal: &str, began: char, in_log: &str) -> String {
        let log = noted(in_log);
        let log: Vec<&Entry> = log.iter().collect();
        let found = after(journal(in_journal), &began.to_string().repeat(32), &log);
        found.iter().map(|boot| &boot.id[..1]).collect()
    }

    #[test]
    fn boots_that_left_no_trace_in_the_journal_stand_where_they_were() {
        // Journal, the boot in which the study began, what was noted: what belongs to the study.
        assert_eq!(told("abc", 'a', "bc"), "bc");
        assert_eq!(told("abd", 'a', "bcd"), "bcd", "c was cut off and left nothing");
        assert_eq!(told("abcd", 'a', "bd"), "bcd", "c ended before it was noted");
        assert_eq!(told("d", 'a', "bcd"), "bcd", "a journal in memory");
        assert_eq!(told("a", 'a', ""), "");
        assert_eq!(told("ab", 'a', ""), "b");
        let cut = after(journal("ac"), &"a".repeat(32), &noted("bc").iter().collect::<Vec<_>>());
        assert!(matches!(&cut[0].end, End::Unfinished(why) if why.contains("cut off")));
        assert!(cut[0].began_wall_us.is_some());
    }
}
