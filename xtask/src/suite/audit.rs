//! What the usual programs of Rust's users say of the packages that the workspace carries: `cargo deny` (licences,
//! sources, advisories) and `cargo machete` (packages that nothing uses). Our own check (`carried`) runs each time and
//! asks for none of them; these two are compiled first, which takes minutes.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::skips::Skips;
use crate::build::{beside_builds, cargo, root};
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
        let wanted = format!("{}@{}", self.package, self.version);
        let folder = folder();
        println!("xtask: cargo install {wanted}");
        // Without optimisation it is there sooner, and looks at so few packages as soon.
        let mut install = cargo(&["install", "--locked", "--quiet", "--debug", &wanted]);
        install.arg("--root").arg(&folder).arg("--target-dir").arg(folder.join("build"));
        // Where it fails, the program is still missing, and that is what counts.
        let _ = install.status();
        (!self.path().is_file()).then(|| format!("cargo could not install {wanted}"))
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

fn folder() -> PathBuf {
    beside_builds(FOLDER)
}
