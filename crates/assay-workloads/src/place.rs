//! What work is done on: the bytes of a target that may be touched, and how they may be touched.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::durability::plug::Notes;
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
use super::production::{Limits, Lookout};
use super::replay::{self, Recall};

const MIB: u64 = 1 << 20;

/// The bytes of the target that may be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    pub start: u64,
    pub length: u64,
    /// Bytes asked for; more than `length` where filling ended at its time limit.
    pub asked: u64,
    /// Whether the tool wrote it (and may write it).
    pub written: bool,
    pub fill_ns: u64,
}

/// Why nothing is written to a target that is only read, and what to do.
pub const ONLY_READ: &str = "cannot write to this target: no consent given; use a directory (for a device: assay plan \
                             check DEVICE)";

impl Area {
    /// Two halves of it, whole MiB where it has them. A stranger's may end where no number reaches.
    pub fn halves(&self) -> [Self; 2] {
        let half = self.length / 2;
        let first = if half < MIB { half } else { half / MIB * MIB };
        [
            Self { length: first, ..*self },
            Self { start: self.start.saturating_add(first), length: self.length - first, ..*self },
        ]
    }

    /// The part for the work that is measured: all of it, or the first half beside others' work.
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
    /// Whether direct I/O can be had; absent with the reason for going through the page cache.
    pub direct: &'a Presence<DirectUse>,
    pub engine: &'a EngineUse,
    /// What may answer for the medium, where that is known.
    pub between: Option<&'a Between>,
    /// Why nothing can be trimmed or zeroed there, where that is known.
    pub clears: &'a Clears,
}

#[derive(Clone, Copy)]
pub struct Medium<'a> {
    /// The open file; absent for the simulated engine.
    pub file: Option<&'a File>,
    pub area: Area,
    pub memory_alignment: usize,
    /// The law of the simulated engine, where that is the target.
    pub law: Option<Law>,
}

impl<'a> Medium<'a> {
    pub fn target(&self) -> Target<'a> {
        Target { file: self.file.map(AsFd::as_fd), memory_alignment: self.memory_alignment }
    }
}

/// Returns the path of this program, to run as a process of its own.
pub(super) fn own_program(system: &dyn System) -> Result<String, String> {
    let own = system.read_link(Path::new("/proc/self/exe"));
    let own = own.map_err(|error| format!("cannot find the assay program: {error}"))?;
    Ok(own.display().to_string())
}

/// Runs a program with an empty input and no time limit.
pub(super) fn patient_answer(
    system: &dyn System,
    program: &str,
    arguments: &[&str],
) -> Result<ProgramOutput, String> {
    let nothing = system.open_for_reading(Path::new("/dev/null"), Caching::Buffered);
    let answer = nothing.and_then(|nothing| system.told_of(program, arguments, &nothing));
    answer.map_err(|error| error.to_string())
}

/// What command lines may say of their trial, and how their output is read.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    /// The replicate; 0 before the first one.
    pub replicate: u32,
    /// The place of the trial in its study, from 1; 0 for what is none.
    pub trial: u32,
    pub formats: ReadFormat,
    pub recall: Recall,
    /// What of the trial lasts when the machine loses its power.
    pub notes: Option<&'a dyn Notes>,
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
    /// Where; the area is that of this work alone.
    pub medium: Medium<'a>,
    /// The directory, file or device that the target is; empty where it is simulated.
    pub path: &'a Path,
    pub ramp_ns: u64,
    /// Nanoseconds that are counted; the most, where something else ends the run.
    pub time_ns: u64,
    pub seed: u64,
    /// Seed of the whole study: its pilot and all of its trials have the same.
    pub study_seed: u64,
    /// Who runs programs of the user's, where that is not the user of this process.
    pub caller: Option<Caller>,
    /// Workers of the kernel that work for others.
    pub bystanders: &'a Bystanders,
    pub stop: &'a AtomicBool,
    pub lookout: Option<&'a dyn Lookout>,
    /// Keeps what was measured so far, should nothing come after it.
    pub keep: Option<&'a (dyn Fn(&Measured) + Sync)>,
    /// From what on the settings under others' work hurt it.
    pub limits: Option<&'a Limits>,
    pub programs: Programs<'a>,
}

impl Run<'_> {
    pub fn is_on_device(&self) -> bool {
        self.system.status(self.path).is_ok_and(|status| status.own_device.is_some())
    }

    /// Waits, and looks now and then whether the user stops it; nanoseconds.
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
