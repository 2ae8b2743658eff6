//! A loop device over a new file of zeros: the target of a laboratory.

use std::path::PathBuf;

use crate::system::{Act, System};
use assay_core::failure::Outcome;

use super::{Base, ByHand, Commands, Layer, Made, Recipe, Takes, Wish};
use crate::factors::Factor;
use crate::factors::guard::Builder;

const LOOP: &str = "/dev/loopN";
const FILE: &str = "FILE";

pub(super) struct OwnLoop;

struct OverZeros {
    bytes: u64,
}

impl Layer for OwnLoop {
    fn noun(&self) -> &'static str {
        "loop device"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        &[]
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        Some(Box::new(OverZeros { bytes: wish.own_target? }))
    }
}

impl Recipe for OverZeros {
    fn words(&self) -> String {
        "a loop device".to_owned()
    }

    fn takes(&self) -> Takes {
        Takes::Nothing
    }

    fn missing(&self, _: &dyn System, _: &[u64]) -> Option<String> {
        // Creating its file checks the free space.
        None
    }

    fn make(&self, builder: &mut Builder<'_, '_>, _: &[Base]) -> Outcome<Base> {
        let file = builder.create_loop_file(self.bytes)?;
        let (device, undo) = builder.attach_loop(&file, None)?;
        builder.made_device(&device, &undo, &[]).map(Base::Device)
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        check_attached(system, made)
    }

    fn commands(&self, _: &[PathBuf]) -> Commands {
        let file = PathBuf::from(FILE);
        let made = Act::CreateFile { path: file.clone(), bytes: self.bytes };
        let attached = Act::AttachLoop { device: LOOP.into(), file };
        Commands { acts: vec![made, attached], out: LOOP.into() }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let why = "assay creates loop devices only for measurements";
        ByHand { commands: self.commands(below), why, lasting: None }
    }
}

/// Checks that a loop device still has its backing file.
pub(super) fn check_attached(system: &dyn System, made: &Made) -> Result<(), String> {
    let Base::Device(device) = &made.base else { return Ok(()) };
    let name = &device.extent.device;
    if made.undo.iter().any(|undo| undo.removes_device(system, name)) {
        return Ok(());
    }
    Err(format!("{} is no longer attached to its file", device.file().display()))
}
