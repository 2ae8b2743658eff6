//! Programs of this machine.

use std::path::PathBuf;
use std::process::{Command, Stdio};

pub type Done<T> = Result<T, String>;

/// Directories of programs outside an ordinary user's `PATH`.
const BESIDE: [&str; 2] = ["/usr/sbin", "/sbin"];

pub fn call(program: &str, arguments: &[&str]) -> Done<String> {
    let shown = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{shown}: {}: {}", output.status, said.trim()))
}

/// Path of a program on this machine; returns a path unchanged.
pub fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(BESIDE.map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

pub fn has(program: &str) -> bool {
    found(program).is_some()
}
