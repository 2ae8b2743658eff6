//! `cargo xtask clean-checks`: how often `assay check --quick` raises a false alarm.

use std::time::Duration;

use crate::build;
use crate::lab::clean::{Spoken, fault};
use crate::lab::process::Assay;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, is_root};

const LIMIT: Duration = Duration::from_secs(60);

pub fn run(count: usize) -> Done<bool> {
    if !is_root() {
        return Err("needs root to create a loop device".to_owned());
    }
    crate::print_machine();
    let program = build::assay(&["--release"])?;
    let volume = Volume::on_drive(Filesystem::Ext4, 2048)?;
    let home = volume.scratch().folder("home", 0o755, None)?;
    let assay = Assay::new(&program, &home);
    let target = volume.directory().display().to_string();
    let mut checks = Vec::new();
    for number in 1..=count {
        let ended = assay.run(&["check", &target, "--quick", "--json"], LIMIT)?;
        if ended.code != 0 {
            return Err(format!("check {number} ended with {}: {}", ended.code, ended.stderr));
        }
        let spoken = Spoken::of(&ended.json()?);
        println!("{number:3}: {:.1} s, {}", ended.time.as_secs_f64(), spoken.line());
        checks.push(spoken);
    }
    let fault = fault(&checks);
    println!("{}", fault.as_deref().unwrap_or("passed"));
    Ok(fault.is_none())
}
