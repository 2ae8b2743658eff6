//! Records of a trial that survive a power loss: lines in the result's log.

use std::io;
use std::path::Path;

use assay_machine::system::System;
use assay_study::results::bundle;
use assay_study::results::log::LogEntry;
use assay_study::results::plan::Plan;
use assay_workloads::durability::plug;

/// Event name in the log; the text is the number of the trial and the note.
const EVENT: &str = "cut";

pub struct Notes<'a> {
    pub system: &'a dyn System,
    pub directory: &'a Path,
    pub result: &'a str,
    pub trial: u32,
}

impl plug::NoteStore for Notes<'_> {
    fn result(&self) -> &str {
        self.result
    }

    fn trial(&self) -> u32 {
        self.trial
    }

    fn last(&self) -> Option<String> {
        let own_note = |entry: LogEntry| {
            let (trial, note) = entry.text.split_once(' ')?;
            let is_own = entry.event == EVENT && trial.parse() == Ok(self.trial);
            is_own.then(|| note.to_owned())
        };
        bundle::log(self.system, self.directory).into_iter().filter_map(own_note).next_back()
    }

    fn add(&self, text: &str) -> io::Result<()> {
        let entry = LogEntry::new(self.system, EVENT, &format!("{} {text}", self.trial));
        bundle::add_to_log(self.system, self.directory, &entry)?;
        // Also the names of the result and its directory.
        self.system.mains()?.settle(self.directory)
    }
}

/// Returns whether power cuts are part of a plan.
pub fn has_cuts(plan: &Plan) -> bool {
    plan.workloads.iter().any(|workload| workload.work.outlives_cuts())
}

/// Returns whether the last power cut of a result is unfinished.
pub fn is_waiting(system: &dyn System, directory: &Path) -> bool {
    let last = bundle::log(system, directory).into_iter().rfind(|entry| entry.event == EVENT);
    let note = last.as_ref().and_then(|entry| entry.text.split_once(' '));
    note.is_some_and(|(_, note)| !plug::is_over(note))
}
