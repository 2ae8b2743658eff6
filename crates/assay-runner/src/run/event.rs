//! Progress events of a run. The runner prints nothing; `cli` does.

use std::sync::atomic::{AtomicBool, Ordering};

use assay_machine::{system::System, system::identity::Caller};
use assay_study::results::plan::PlanTurn;

/// Context of every step of a run: the machine, the stop flag, and a receiver of events.
pub struct Context<'a> {
    pub system: &'a dyn System,
    /// User for the commands of the study, if different from that of this process.
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
    /// Estimated nanoseconds of all trials, before the first fill.
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
        /// Nanoseconds up to the end of the race, at most.
        most_ns: u64,
    },
    TrialStarted {
        index: usize,
        workload: String,
        target: String,
        turn: PlanTurn,
        remaining_ns: u64,
    },
    TrialEnded {
        index: usize,
        result: Result<u64, String>,
    },
    Warning(String),
}
