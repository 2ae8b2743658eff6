//! What the usual programs of Rust's users say of the packages that the workspace carries: `cargo deny` (licences,
//! sources, advisories) and `cargo machete` (packages that nothing uses). Our own check (`carried`) runs each time and
//! asks for none of them; these two are compiled first, which takes minutes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::skips::Skips;
use crate::build::{WRAPPER, beside_builds, cargo, root};
use crate::lab::Done;

/// Where both are installed, in what builds leave: nothing of the user's is replaced.
const FOLDER: &str = "tools";
/// What the list of faults that became known is called where it is skipped.
const ADVISORIES: &str = "advisories of cargo deny";

/// A program that looks at the packages: its version is fixed, so that what it says changes with a commit.
struct Tool {
    package: &'static str,
    version: &'static str,
}

const DENY: Tool = Tool { package: "cargo-deny", version: "0.20.2" };
const MACHETE: Tool = Tool { package: "cargo-machete", version: "0.9.2" };

/// Whether both find nothing; skipped, with the reason, where one cannot be had.
pub fn check(skipped: &mut Skips) -> Done<bool> {
    let mut well = true;
    for (tool, look) in [(DENY, deny as fn(&Tool, &mut Skips) -> Done<bool>), (MACHETE, machete)] {
        match tool.missing() {
            Some(reason) => drop(skipped.insert(tool.package.to_owned(), reason)),
            None => well &= look(&tool, skipped)?,
        }
    }
    Ok(well)
}

/// The rules of deny.toml. Advisories are a list that is fetched: without it the others are asked all the same.
fn deny(tool: &Tool, skipped: &mut Skips) -> Done<bool> {
    let offline = ["check", "--hide-inclusion-graph", "licenses", "bans", "sources"];
    if !tool.run(&["fetch", "db"])? {
        skipped.insert(ADVISORIES.to_owned(), "their list cannot be fetched here".to_owned());
        return tool.run(&offline);
    }
    tool.run(&[&offline[..], &["advisories"]].concat())
}

fn machete(tool: &Tool, _: &mut Skips) -> Done<bool> {
    tool.run(&["--with-metadata"])
}

impl Tool {
    /// Why it is not here, after an attempt to get it.
    fn missing(&self) -> Option<String> {
        if self.is_here() {
            return None;
        }
        let wanted = format!("{}@{}", self.package, self.version);
        let folder = folder();
        println!("xtask: cargo install {wanted}");
        // Without optimisation it is there sooner, and looks at so few packages as soon.
        let mut install = cargo(&["install", "--locked", "--quiet", "--debug", &wanted]);
        install
            .env_remove(WRAPPER)
            .arg("--root")
            .arg(&folder)
            .arg("--target-dir")
            .arg(folder.join("build"));
        // Where it fails, the program is still missing, and that is what counts.
        let _ = install.status();
        (!self.is_here()).then(|| format!("cargo could not install {wanted}"))
    }

    /// Whether it is there in the version that is named: one of last month says other things.
    fn is_here(&self) -> bool {
        let told = Command::new(self.path()).arg("--version").stdin(Stdio::null()).output();
        told.is_ok_and(|told| is_version(&String::from_utf8_lossy(&told.stdout), self.version))
    }

    fn path(&self) -> PathBuf {
        folder().join("bin").join(self.package)
    }

    /// Whether it ends well, told what it is to look at: the tree.
    fn run(&self, words: &[&str]) -> Done<bool> {
        let Self { package, .. } = self;
        println!("xtask: {} {}", package.replacen('-', " ", 1), words.join(" "));
        let mut command = Command::new(self.path());
        let status = command.args(words).current_dir(root()).stdin(Stdio::null()).status();
        Ok(status.map_err(|error| format!("{package}: {error}"))?.success())
    }
}

/// `cargo-deny 0.20.2`, or the number alone.
fn is_version(told: &str, version: &str) -> bool {
    told.split_whitespace().last() == Some(version)
}

fn folder() -> PathBuf {
    beside_builds(FOLDER)
}

#[cfg(test)]
mod own_tests {
    use super::*;

    #[test]
    fn another_version_is_not_the_one_that_is_named() {
        assert!(is_version("cargo-deny 0.20.2\n", "0.20.2") && is_version("0.9.2\n", "0.9.2"));
        for other in ["cargo-deny 0.20.1\n", "0.20.20\n", ""] {
            assert!(!is_version(other, "0.20.2"), "{other}");
        }
    }
}
