//! Runs, commands by hand and executions with the values that most tests do not care for.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use assay_core::presence::Presence;
use assay_load::{Bystanders, Law};
use assay_machine::system::execute::{CpuCounts, Ending, Happened, HeardOutput};
use assay_machine::system::{Executed, System};

use crate::ManualRun;
use crate::place::{Area, Run, TestMedium};

pub(crate) const NO_AREA: Area = Area { start: 0, length: 0, asked: 0, written: false, fill_ns: 0 };

static STOPS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(true)];
static NO_BYSTANDERS: LazyLock<Bystanders> = LazyLock::new(Bystanders::default);

pub(crate) fn area(length: u64, written: bool) -> Area {
    Area { length, asked: length, written, ..NO_AREA }
}

/// The stop of a run, given before its start or never.
pub(crate) fn stop(given: bool) -> &'static AtomicBool {
    &STOPS[usize::from(given)]
}

pub(crate) fn run_on(system: &dyn System, area: Area, law: Option<Law>) -> Run<'_> {
    let medium = TestMedium { file: None, area, memory_alignment: 4096, law };
    let run = Run::new(system, medium, Path::new("/x"), &NO_BYSTANDERS, stop(false));
    Run { time_ns: 1, seed: 1, study_seed: 1, ..run }
}

pub(crate) fn manual_run<'a>(name: &'a str, path: &'a str) -> ManualRun<'a> {
    ManualRun { name, area: NO_AREA, path, ramp_ns: 0, time_ns: 1, note: None, background: None }
}

/// An execution that consumed nothing and counted nothing.
pub(crate) fn executed(ending: Ending, wall_ns: u64) -> Executed {
    let absent = || Presence::absent("not asked");
    Executed {
        ending,
        wall_ns,
        user_ns: 0,
        system_ns: 0,
        peak_memory: Presence::absent("not asked"),
        read_bytes: absent(),
        write_bytes: absent(),
        happened: Happened::default(),
        counted: CpuCounts::absent("no counters"),
        complaint: String::new(),
        left_running: 0,
        heard: HeardOutput::default(),
        memory_kills: absent(),
    }
}
