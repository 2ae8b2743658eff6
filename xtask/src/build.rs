//! The workspace and its programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lab::Done;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}

/// The cargo that runs this, at the top of the workspace.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).stdin(Stdio::null());
    command
}

pub fn cargo_text(arguments: &[&str]) -> Done<String> {
    let output = cargo(arguments).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("cargo {}: {}", arguments.join(" "), output.status))
}

/// Builds `assay` as people run it and tells where it is.
pub fn release_binary() -> Done<PathBuf> {
    built_binary(&["--release"])
}

/// Builds `assay` with more words for cargo and tells where it is.
pub fn built_binary(more: &[&str]) -> Done<PathBuf> {
    built("assay", &[&["--package", "assay"], more].concat())
}

/// Builds a program with these words for cargo and tells where it is.
pub fn built(name: &str, words: &[&str]) -> Done<PathBuf> {
    let text =
        cargo_text(&[&["build", "--bin", name, "--message-format", "json"], words].concat())?;
    let mut built = text.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    built.next_back().ok_or_else(|| format!("cargo built no `{name}`"))
}

/// Stores a page of measurements and says where.
pub fn write_page(name: &str, text: &str) -> Done<()> {
    let folder = root().join("target/measurements");
    let path = folder.join(name);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("written to target/measurements/{name}");
    Ok(())
}
