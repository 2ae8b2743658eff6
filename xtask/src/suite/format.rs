//! Whether every source file is formatted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::build::{cargo, root};
use crate::lab::Done;

/// How rustfmt begins the line of a file that it looks at, and the other lines that it is verbose with.
const LOOKED_AT: &str = "Formatting ";
const VERBOSE: [&str; 3] = [LOOKED_AT, "Spent ", "Using rustfmt config file "];

/// What cargo knows of, and then each file that is left by its name: `cargo fmt` does not see modules that a macro
/// declares, and rustfmt looks at all modules below each file that it is given.
pub fn check() -> Done<bool> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root().join(folder), &mut files)?;
    }
    let fail = |error: std::io::Error| format!("rustfmt: {error}");
    let mut all = cargo(&["fmt", "--all", "--", "--check", "--verbose"]);
    let all = all.stderr(Stdio::inherit()).output().map_err(fail)?;
    let told = String::from_utf8_lossy(&all.stdout);
    for line in told.lines().filter(|line| !VERBOSE.iter().any(|begins| line.starts_with(begins))) {
        println!("{line}");
    }
    files.retain({
        let seen = looked_at(&told);
        move |file| !seen.contains(file.as_path())
    });
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024", "--check"]).args(files).current_dir(root());
    // Without a file it would wait for one to be typed.
    let rest = command.stdin(Stdio::null()).status().map_err(fail)?;
    Ok(all.status.success() && rest.success())
}

fn looked_at(told: &str) -> BTreeSet<&Path> {
    told.lines().filter_map(|line| line.strip_prefix(LOOKED_AT)).map(Path::new).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_at_where_its_line_says_so() {
        let told = "Using rustfmt config file /w/rustfmt.toml for /w/a.rs\nFormatting /w/a.rs\nDiff in /w/b.rs:1:\n";
        assert_eq!(looked_at(told), BTreeSet::from([Path::new("/w/a.rs")]));
    }
}
