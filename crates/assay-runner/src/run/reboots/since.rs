//! Finds the boots since a study began: those in the journal and those that were only logged.

use super::BEGUN;
use assay_core::failure::Outcome;
use assay_machine::system::{System, identity};
use assay_study::results::log::LogEntry;
use assay_workloads::recorded::{Record, RecordedWork};

const MOST: usize = 1000;

/// Returns the boots after boot `began`, without the first `known`, which are stored already.
pub(super) fn new_boots(
    system: &dyn System,
    records: &RecordedWork,
    began: &str,
    log: &[LogEntry],
    known: usize,
) -> Outcome<Vec<Record>> {
    let results = identity::results_directory(system).ok();
    let journal = records.read(system, MOST, results.as_deref())?.records;
    let noted: Vec<&LogEntry> = log.iter().filter(|entry| entry.event == BEGUN).collect();
    let began = began.trim().replace('-', "").to_ascii_lowercase(); // as the journal writes it
    let boots = merge_log(journal, &began, &noted, records.recording().cut_off);
    Ok(boots.into_iter().skip(known).collect())
}

/// Returns the boots after `began`: those of the journal and noted ones. If the journal lacks `began`, only noted ones.
fn merge_log(journal: Vec<Record>, began: &str, noted: &[&LogEntry], cut_off: &str) -> Vec<Record> {
    let start = journal.iter().position(|boot| boot.id == began);
    let is_noted = |boot: &Record| noted.iter().any(|entry| entry.text == boot.id);
    let mut left: Vec<Record> = match start {
        Some(start) => journal.into_iter().skip(start + 1).collect(),
        None => journal.into_iter().filter(is_noted).collect(),
    };
    let mut boots = Vec::new();
    for entry in noted {
        match left.iter().position(|boot| boot.id == entry.text) {
            // Journal entries before it were not logged: these boots ended earlier.
            Some(place) => boots.extend(left.drain(..=place)),
            None => boots.push(Record::cut_off(&entry.text, &entry.at, cut_off)),
        }
    }
    boots.extend(left);
    boots
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT_OFF: &str = "it was cut off";

    fn journal(ids: &str) -> Vec<Record> {
        let record = |id: char| Record {
            id: id.to_string().repeat(32),
            group: "6.1".to_owned(),
            began_wall_us: None,
            measured: Err("the journal tells why".to_owned()),
        };
        ids.chars().map(record).collect()
    }

    fn noted(ids: &str) -> Vec<LogEntry> {
        let one = |id: char| LogEntry {
            at: "2026-11-23T06:03:46+00:00".to_owned(),
            event: BEGUN.to_owned(),
            text: id.to_string().repeat(32),
        };
        ids.chars().map(one).collect()
    }

    fn told(in_journal: &str, began: char, in_log: &str) -> String {
        let log = noted(in_log);
        let log: Vec<&LogEntry> = log.iter().collect();
        let found = merge_log(journal(in_journal), &began.to_string().repeat(32), &log, CUT_OFF);
        found.iter().map(|record| &record.id[..1]).collect()
    }

    #[test]
    fn boots_that_left_no_trace_in_the_journal_stand_where_they_were() {
        // Journal, the boot at the start of the study, logged boots: the boots of the study.
        assert_eq!(told("abc", 'a', "bc"), "bc");
        assert_eq!(told("abd", 'a', "bcd"), "bcd", "c was cut off and left nothing");
        assert_eq!(told("abcd", 'a', "bd"), "bcd", "c ended before it was noted");
        assert_eq!(told("d", 'a', "bcd"), "bcd", "a journal in memory");
        assert_eq!(told("a", 'a', ""), "");
        assert_eq!(told("ab", 'a', ""), "b");
        let noted = noted("bc");
        let noted: Vec<&LogEntry> = noted.iter().collect();
        let cut = merge_log(journal("ac"), &"a".repeat(32), &noted, CUT_OFF);
        assert_eq!(cut[0].measured, Err(CUT_OFF.to_owned()));
        assert!(cut[0].began_wall_us.is_some());
        assert!(cut[1].measured != cut[0].measured, "the journal tells of it");
    }
}
