//! What only computes, at the lowest priority beside steps that mostly wait.

use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::build::cargo;
use crate::lab::Done;

/// A call of cargo that goes on; ended, by its id, when dropped before its end.
pub struct Beside {
    child: Child,
    said: Option<JoinHandle<std::io::Result<String>>>,
}

impl Beside {
    /// Begins it; what it prints is kept for its end.
    pub fn begin(arguments: &[&str]) -> Done<Self> {
        let cargo = cargo(arguments);
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(cargo.get_program()).args(cargo.get_args());
        command.current_dir(crate::build::root()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("nice: {error}"))?;
        let output = child.stdout.take();
        let said = output.map(|output| thread::spawn(move || std::io::read_to_string(output)));
        Ok(Self { child, said })
    }

    /// Waits for its end and prints what it said; whether all went well.
    pub fn end(mut self) -> Done<bool> {
        let said = self.said.take().and_then(|said| said.join().ok());
        print!("{}", said.and_then(Result::ok).unwrap_or_default());
        let status = self.child.wait().map_err(|error| format!("cargo: {error}"))?;
        Ok(status.success())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Ours alone, and nothing where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
