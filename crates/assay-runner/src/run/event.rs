//! What a run tells while it goes on. The runner prints nothing: `cli` does.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_machine::system::System;
use assay_machine::system::identity::Caller;
use assay_study::results::plan::Turn;

/// What every step of a run is handed: the machine, the user's wish to stop, and somebody to tell.
pub struct Context<'a> {
    pub system: &'a dyn System,
    /// Who runs commands of the study, where that is not the user of this process.
    pub runs_as: Option<Caller>,
    pub stop: &'a AtomicBool,
    pub tell: &'a mut dyn FnMut(Event),
}

impl Context<'_> {
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Filling {
        target: String,
        done_bytes: u64,
        of_bytes: u64,
        remaining_ns: u64,
    },
    Making {
        what: String,
    },
    Waiting {
        text: String,
        waited_ns: u64,
    },
    /// Nanoseconds that all trials take, by estimates: before the first fill.
    Estimated {
        expected_ns: u64,
    },
    Pilot {
        target: String,
    },
    Planned {
        trials: usize,
        warm_ups: usize,
        done: usize,
        expected_ns: u64,
    },
    Foreseen {
        text: String,
    },
    Repeating {
        trials: usize,
        warm_ups: usize,
        expected_ns: u64,
    },
    Racing {
        text: String,
        trials: usize,
        done: usize,
        expected_ns: u64,
        /// Nanoseconds up to the end of the race at most.
        most_ns: u64,
    },
    TrialStarted {
        index: usize,
        workload: String,
        target: String,
        turn: Turn,
        remaining_ns: u64,
    },
    TrialEnded {
        index: usize,
        result: Result<u64, String>,
    },
    Warning(String),
}
