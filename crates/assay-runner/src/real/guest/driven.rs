//! Virtual machines with a drive of this program, which also talks to the program inside.

use std::sync::Arc;
use std::time::Duration;

use super::{Asked, MACHINE_ID, awake, ready};
use crate::vm::driven::{Driven, GuestTemplate};
use assay_machine::system::System;
use assay_machine::system::powered::{FarSide, HeardLine, MOMENT_MS, Powered, VmNeeds, VmStarter};
use assay_machine::system::virtual_machine::FILE;

pub const COMMAND: &str = "in-vm-drive";

/// Prepares virtual machines that boot Assay with a job; fails with the reason if this host cannot run them.
pub fn machines(system: &dyn System, wanted: &VmNeeds) -> Result<Box<dyn VmStarter>, String> {
    let asked = ready(system, wanted).map_err(|failure| failure.message)?;
    let asked = Asked {
        files: vec![
            (FILE.to_owned(), Vec::new()),
            ("etc/machine-id".to_owned(), MACHINE_ID.to_vec()),
        ],
        words: vec!["assay".to_owned(), COMMAND.to_owned()],
        ..asked
    };
    Ok(Box::new(Machines(GuestTemplate::new(&asked)?)))
}

struct Machines(GuestTemplate);

impl VmStarter for Machines {
    fn start(&mut self, drive: Arc<dyn FarSide>) -> Result<Box<dyn Powered + '_>, String> {
        Ok(Box::new(RunningGuest { machine: self.0.start(&drive)?, is_awake: false }))
    }

    fn describe(&self) -> Option<String> {
        let (release, accelerator) = (self.0.release(), self.0.accelerator().name());
        Some(format!("virtual machines of Linux {release}, {accelerator}"))
    }
}

struct RunningGuest<'a> {
    machine: Driven<'a>,
    is_awake: bool,
}

impl Powered for RunningGuest<'_> {
    fn say(&mut self, line: &str) -> Result<(), String> {
        if !self.is_awake {
            self.is_awake = true;
            self.machine.say(&awake::wake_line())?;
        }
        self.machine.say(line)
    }

    fn hear(&mut self) -> HeardLine {
        self.machine.hear(Duration::from_millis(MOMENT_MS))
    }
}
