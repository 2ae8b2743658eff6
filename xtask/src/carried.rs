//! What the workspace carries: each package has a licence that deny.toml allows and comes from the registry, and each
//! that a crate names is used in its source.

use std::collections::BTreeSet;
use std::fs;
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::SplitWhitespace;

use serde_json::Value;

use crate::build::{cargo_text, root};
use crate::lab::Done;
use crate::published;
use crate::suite::format::rust_files;

const RULES: &str = "deny.toml";
/// The machine that packages are looked at for: the others that are built for carry none that it does not.
const TARGET: &str = "x86_64-unknown-linux-musl";
const REGISTRY: &str = "registry+";
/// Crate and package: named for a feature alone, that another package has it.
const FOR_FEATURES: [(&str, &str); 0] = [];

/// What cargo knows of all packages for a target.
pub fn metadata(target: &str) -> Done<Value> {
    let words = ["metadata", "--format-version", "1", "--filter-platform", target];
    let text = cargo_text(&words)?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Tells what must not be carried, and whether there was nothing of it.
pub fn check() -> Done<bool> {
    let metadata = metadata(TARGET)?;
    let rules = fs::read_to_string(root().join(RULES));
    let rules = rules.map_err(|error| format!("{RULES}: {error}"))?;
    let mut wrong = foreign(&metadata, &allowed(&rules));
    for package in packages(&metadata).filter(|package| is_own(package)) {
        wrong.extend(unused(package)?);
    }
    wrong.extend(published::faults(&metadata)?);
    for line in &wrong {
        println!("xtask: {line}");
    }
    println!("xtask: licences, origins and uses of {} packages", packages(&metadata).count());
    Ok(wrong.is_empty())
}

pub fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn is_own(package: &Value) -> bool {
    package["source"].is_null()
}

/// A field that is a text; nothing where it is none.
pub fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The licences that the rules allow.
fn allowed(rules: &str) -> Vec<&str> {
    let list = rules.split_once("allow = [").and_then(|(_, rest)| rest.split_once(']'));
    let Some((list, _)) = list else { return Vec::new() };
    list.split('"').skip(1).step_by(2).collect()
}

/// Packages of others whose licence is not allowed, or that do not come from the registry.
fn foreign(metadata: &Value, allowed: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages(metadata).filter(|package| !is_own(package)) {
        let [name, licence, source] =
            ["name", "license", "source"].map(|field| text(package, field));
        if !is_allowed(licence, allowed) {
            wrong.push(format!("{name} has the licence {licence:?}, which {RULES} does not allow"));
        }
        if !source.starts_with(REGISTRY) {
            wrong.push(format!("{name} comes from {source}, which is no registry"));
        }
    }
    wrong
}

/// An expression of licences as it is standardised: old ones have `/` for `OR`.
pub fn expression(licence: &str) -> String {
    let spaced = licence.replace('/', " OR ").replace('(', "( ").replace(')', " )");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_allowed(licence: &str, allowed: &[&str]) -> bool {
    let licence = expression(licence);
    let mut reader = Reader { words: licence.split_whitespace().peekable(), allowed };
    reader.any() && reader.words.next().is_none()
}

/// Reads an expression: `AND` binds closer than `OR`.
struct Reader<'t> {
    words: Peekable<SplitWhitespace<'t>>,
    allowed: &'t [&'t str],
}

impl Reader<'_> {
    fn takes(&mut self, word: &str) -> bool {
        self.words.next_if(|next| *next == word).is_some()
    }

    fn any(&mut self) -> bool {
        let mut met = self.all();
        while self.takes("OR") {
            met |= self.all();
        }
        met
    }

    fn all(&mut self) -> bool {
        let mut met = self.one();
        while self.takes("AND") {
            met &= self.one();
        }
        met
    }

    fn one(&mut self) -> bool {
        if self.takes("(") {
            let met = self.any();
            return self.takes(")") && met;
        }
        let mut name = self.words.next().unwrap_or_default().to_owned();
        if self.takes("WITH") {
            name = format!("{name} WITH {}", self.words.next().unwrap_or_default());
        }
        self.allowed.contains(&name.as_str())
    }
}

/// Packages that a crate of ours names and does not use.
fn unused(package: &Value) -> Done<Vec<String>> {
    let name = text(package, "name");
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().ok_or_else(|| format!("{name} has no folder"))?;
    let [shipped, tests] = [&["src"][..], &["tests", "benches"]].map(|below| source(folder, below));
    let (shipped, tests) = (shipped?, tests?);
    let mut wrong = BTreeSet::new();
    for needed in package["dependencies"].as_array().into_iter().flatten() {
        let own = text(needed, "name");
        let called = needed["rename"].as_str().unwrap_or(own).replace('-', "_");
        let in_tests = needed["kind"] == "dev" && names(&tests, &called);
        if !in_tests && !names(&shipped, &called) && !FOR_FEATURES.contains(&(name, own)) {
            wrong.insert(format!("{name} names {own} and does not use it"));
        }
    }
    Ok(wrong.into_iter().collect())
}

/// All source text of some folders of a crate, as far as they are there, and of those that a file of them is from.
fn source(folder: &Path, below: &[&str]) -> Done<String> {
    let mut files = Vec::new();
    for inner in below.iter().map(|name| folder.join(name)).filter(|path| path.is_dir()) {
        rust_files(&inner, &mut files)?;
    }
    let mut shared = Vec::new();
    for file in &files {
        for folder in folders_elsewhere(file, &read(file)?) {
            rust_files(&folder, &mut shared)?;
        }
    }
    files.iter().chain(&shared).map(|file| read(file)).collect()
}

fn read(file: &Path) -> Done<String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Folders of other crates that have a module of this file.
fn folders_elsewhere(file: &Path, text: &str) -> Vec<PathBuf> {
    let lines =
        text.lines().filter_map(|line| line.strip_prefix("#[path = \"..")?.strip_suffix("\"]"));
    lines
        .filter_map(|rest| file.parent()?.join(format!("..{rest}")).parent().map(Path::to_path_buf))
        .collect()
}

/// Whether a program has a name, not as a part of a longer one.
fn names(program: &str, name: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    program.match_indices(name).any(|(at, _)| {
        !program[..at].ends_with(letter) && !program[at + name.len()..].starts_with(letter)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALLOWED: [&str; 3] = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"];

    #[test]
    fn an_expression_of_licences_is_met_or_not() {
        for licence in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "MIT AND Zlib",
            "(GPL-3.0-only OR MIT) AND Zlib",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0-only",
            "Zlib AND GPL-3.0-only OR MIT",
        ] {
            assert!(is_allowed(licence, &ALLOWED), "{licence}");
        }
        for licence in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT",
            "MIT MIT",
            "(MIT OR GPL-3.0-only) AND GPL-2.0-only",
            "Apache-2.0",
            "MIT WITH LLVM-exception",
        ] {
            assert!(!is_allowed(licence, &ALLOWED), "{licence}");
        }
    }

    #[test]
    fn what_comes_from_elsewhere_or_under_another_licence_is_named() {
        let package = |name: &str, licence: &str, source: Option<&str>| json!({ "name": name, "license": licence, "source": source });
        let metadata = json!({ "packages": [
            package("ours", "", None),
            package("good", "MIT", Some("registry+https://example.org")),
            package("bad", "GPL-3.0-only", Some("registry+https://example.org")),
            package("far", "MIT", Some("git+https://example.org")),
        ] });
        let told = foreign(&metadata, &ALLOWED);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("bad has the licence \"GPL-3.0-only\""), "{told:?}");
        assert!(told[1].starts_with("far comes from git+"), "{told:?}");
    }

    #[test]
    fn the_rules_name_licences() {
        assert_eq!(
            allowed("allow = [\n    \"MIT\",\n    \"Zlib\",\n]\nx = \"y\""),
            ["MIT", "Zlib"]
        );
        assert_eq!(allowed("deny = [\"MIT\"]"), Vec::<&str>::new());
    }

    #[test]
    fn a_module_of_another_crate_is_looked_for_there() {
        let text = "mod own;\n#[path = \"../../crates/one/tests/readers.rs\"]\nmod readers;\n";
        let folders = folders_elsewhere(Path::new("/x/xtask/src/fuzz.rs"), text);
        assert_eq!(folders, [PathBuf::from("/x/xtask/src/../../crates/one/tests")]);
        assert!(folders_elsewhere(Path::new("/x/a.rs"), "#[path = \"near.rs\"]\n").is_empty());
    }

    #[test]
    fn a_name_is_used_as_a_word() {
        assert!(names("use serde_json::Value;", "serde_json"));
        assert!(!names("use serde_json::Value;", "serde"));
        assert!(!names("use my_serde::Value;", "serde"));
    }
}
