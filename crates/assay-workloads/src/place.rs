//! The place of work: the usable bytes of a target, and its abilities.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::durability::plug::NoteStore;
use assay_core::presence::Presence;
use assay_load::{Bystanders, Law, Target};
use assay_machine::system::between::Between;
use assay_machine::system::clears::Clears;
use assay_machine::system::identity::Caller;
use assay_machine::system::{Caching, ProgramOutput, System};
use serde::{Deserialize, Serialize};

use super::command::ReadFormat;
use super::io::Engine;
use super::measured::Measured;
use super::production::{HarmLimits, Lookout};
use super::replay::{self, Recall};

const MIB: u64 = 1 << 20;

/// The usable bytes of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    pub start: u64,
    pub length: u64,
    /// Requested bytes; more than `length` if filling ended at its time limit.
    pub asked: u64,
    /// Whether Assay wrote it (and may write it).
    pub written: bool,
    pub fill_ns: u64,
}

/// Why a read-only target is not written, and what to do.
pub const ONLY_READ: &str = "cannot write to this target: no consent given; use a directory (for a device: assay plan \
                             check DEVICE)";

impl Area {
    /// Its two halves, in whole MiB if possible. An untrusted end may overflow.
    pub fn halves(&self) -> [Self; 2] {
        let half = self.length / 2;
        let first = if half < MIB { half } else { half / MIB * MIB };
        [
            Self { length: first, ..*self },
            Self { start: self.start.saturating_add(first), length: self.length - first, ..*self },
        ]
    }

    /// The part for measured work: all of it, or the first half with a background load.
    #[must_use]
    pub fn measured(&self, has_background: bool) -> Self {
        if has_background { self.halves()[0] } else { *self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectUse {
    pub memory_alignment: u32,
    pub offset_alignment: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineUse {
    pub name: Engine,
    /// Why it is not the first choice.
    pub note: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub area: Area,
    /// Availability of direct I/O; absent with the reason for using the page cache.
    pub direct: &'a Presence<DirectUse>,
    pub engine: &'a EngineUse,
    /// A cache that may serve reads, if known.
    pub between: Option<&'a Between>,
    /// Why trims or zeroing are impossible, if known.
    pub clears: &'a Clears,
}

#[derive(Clone, Copy)]
pub struct TestMedium<'a> {
    /// The open file; absent for the simulated engine.
    pub file: Option<&'a File>,
    pub area: Area,
    pub memory_alignment: usize,
    /// The model of the simulated engine, if that is the target.
    pub law: Option<Law>,
}

impl<'a> TestMedium<'a> {
    pub fn target(&self) -> Target<'a> {
        Target { file: self.file.map(AsFd::as_fd), memory_alignment: self.memory_alignment }
    }
}

/// Returns the path of this program, to run it as a child process.
pub(super) fn own_program(system: &dyn System) -> Result<String, String> {
    let program = system.read_link(Path::new("/proc/self/exe"));
    let program = program.map_err(|error| format!("cannot find the assay program: {error}"))?;
    Ok(program.display().to_string())
}

/// Runs a program with an empty input and no time limit.
pub(super) fn run_without_limit(
    system: &dyn System,
    program: &str,
    arguments: &[&str],
) -> Result<ProgramOutput, String> {
    let nothing = system.open_for_reading(Path::new("/dev/null"), Caching::Buffered);
    let answer = nothing.and_then(|nothing| system.told_of(program, arguments, &nothing));
    answer.map_err(|error| error.to_string())
}

/// Placeholders of command lines for their trial, and the parser of their output.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    /// The replicate; 0 before the first one.
    pub replicate: u32,
    /// Position of the trial in its study, from 1; 0 outside of trials.
    pub trial: u32,
    pub formats: ReadFormat,
    pub recall: Recall,
    /// Notes on the trial that survive a power loss.
    pub notes: Option<&'a dyn NoteStore>,
}

impl Programs<'_> {
    pub const NONE: Self = Self {
        replicate: 0,
        trial: 0,
        formats: |format, _| Err(format!("format {format} is not supported here")),
        recall: replay::nothing,
        notes: None,
    };
}

#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub system: &'a dyn System,
    /// The medium; its area is only for this work.
    pub medium: TestMedium<'a>,
    /// The directory, file or device of the target; empty if simulated.
    pub path: &'a Path,
    pub ramp_ns: u64,
    /// Measured nanoseconds; an upper limit if something else ends the run.
    pub time_ns: u64,
    pub seed: u64,
    /// Seed of the whole study, common to its pilot and all trials.
    pub study_seed: u64,
    /// User for programs, if different from that of this process.
    pub caller: Option<Caller>,
    /// Kernel workers of other programs.
    pub bystanders: &'a Bystanders,
    pub stop: &'a AtomicBool,
    pub lookout: Option<&'a dyn Lookout>,
    /// Stores intermediate results, in case of an abort.
    pub keep: Option<&'a (dyn Fn(&Measured) + Sync)>,
    pub limits: Option<&'a HarmLimits>,
    pub programs: Programs<'a>,
}

impl<'a> Run<'a> {
    /// A run of no time, with seed 0, that nobody observes and that starts no programs.
    pub const fn new(
        system: &'a dyn System,
        medium: TestMedium<'a>,
        path: &'a Path,
        bystanders: &'a Bystanders,
        stop: &'a AtomicBool,
    ) -> Self {
        Self {
            system,
            medium,
            path,
            ramp_ns: 0,
            time_ns: 0,
            seed: 0,
            study_seed: 0,
            caller: None,
            bystanders,
            stop,
            lookout: None,
            keep: None,
            limits: None,
            programs: Programs::NONE,
        }
    }

    pub fn is_on_device(&self) -> bool {
        self.system.status(self.path).is_ok_and(|status| status.own_device.is_some())
    }

    /// Waits, with regular checks of the stop flag; returns nanoseconds.
    pub fn rest(&self, rest_ns: u64, stopped: &mut bool) -> u64 {
        const LOOK_NS: u64 = 200_000_000;
        let began_ns = self.system.monotonic_ns();
        let mut passed_ns = 0;
        while passed_ns < rest_ns && !*stopped {
            self.system.sleep(Duration::from_nanos(LOOK_NS.min(rest_ns - passed_ns)));
            *stopped |= self.stop.load(Ordering::Relaxed);
            passed_ns = self.system.monotonic_ns().saturating_sub(began_ns);
        }
        passed_ns
    }
}
