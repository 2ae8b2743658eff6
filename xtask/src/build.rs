//! The workspace and its programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lab::Done;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The cargo that runs this, at the top of the workspace.
fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs this chore again in a release build.
pub fn run_optimized() -> Done<bool> {
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "xtask", "--"]);
    let status = command.args(std::env::args_os().skip(1)).status();
    Ok(status.map_err(|error| format!("cargo: {error}"))?.success())
}

/// Builds `assay` with these options of cargo and returns its path.
pub fn assay(options: &[&str]) -> Done<PathBuf> {
    let words = ["build", "--package", "assay", "--bin", "assay", "--message-format", "json"];
    let output = cargo(&words).args(options).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo build: {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut built = text.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_assay = message["target"]["name"] == "assay";
        is_assay.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    built.next_back().ok_or_else(|| "cargo built no `assay`".to_owned())
}

/// The program that the user named, or a release build of `assay`.
pub fn program(named: Option<&Path>) -> Done<PathBuf> {
    named.map_or_else(|| assay(&["--release"]), |path| Ok(path.to_owned()))
}
