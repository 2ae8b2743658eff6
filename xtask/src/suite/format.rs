//! Whether every source file is formatted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::root;
use crate::lab::Done;

/// Every file by its name: `cargo fmt` does not see modules that a macro declares.
pub fn check() -> Done<bool> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root().join(folder), &mut files)?;
    }
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024", "--check"]).args(files).current_dir(root());
    let status = command.status().map_err(|error| format!("rustfmt: {error}"))?;
    Ok(status.success())
}

/// Every source below a folder.
pub fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> Done<()> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let path = entry.path();
        if entry.file_type().map_err(fail)?.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
