//! What stands between the crates that the program is made of and a registry of packages: each says who, where and under
//! which licence, names the others with their version, and is listed by `cargo package`. Those that read files from outside
//! their folder cannot be published before these lie in it; they are named here, and no other one may become such.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::build::cargo_text;
use crate::carried::{packages, text};
use crate::lab::Done;
use crate::suite::format::rust_files;

const PROGRAM: &str = "assay";
/// Crates that have tables of `reference` or studies of `studies` inside.
const READ_BEYOND: [&str; 4] = ["assay-base", "assay-claims", "assay-study", "assay-verdict"];
/// What a registry asks for.
const WANTED: [&str; 3] = ["description", "license", "repository"];
const INCLUDED: [&str; 2] = ["include_str!(", "include_bytes!("];

/// What is wrong with the crates of the program as packages.
pub fn faults(metadata: &Value) -> Done<Vec<String>> {
    let shipped = shipped(metadata);
    let mut wrong = unready(&shipped);
    let mut beyond = BTreeSet::new();
    for package in &shipped {
        if reads_beyond_its_folder(package)? {
            beyond.insert(text(package, "name"));
        }
    }
    if beyond != BTreeSet::from(READ_BEYOND) {
        wrong.push(format!("crates that read files from outside: {beyond:?}, not {READ_BEYOND:?}"));
    }
    let listed = listed(&shipped)?;
    if listed != shipped.len() {
        wrong.push(format!("cargo lists {listed} of {} packages", shipped.len()));
    }
    Ok(wrong)
}

/// The program and the crates of ours that it is made of.
fn shipped(metadata: &Value) -> Vec<&Value> {
    let own = packages(metadata).filter(|package| package["source"].is_null());
    let own: Vec<&Value> = own.collect();
    let mut names = BTreeSet::from([PROGRAM]);
    let mut open = vec![PROGRAM];
    while let Some(name) = open.pop() {
        let package = own.iter().copied().find(|package| package["name"] == name);
        for needed in package.into_iter().flat_map(own_needs) {
            let name = text(needed, "name");
            if names.insert(name) {
                open.push(name);
            }
        }
    }
    own.into_iter().filter(|package| names.contains(text(package, "name"))).collect()
}

/// What a crate needs of ours, but for its tests: cargo leaves that out of a package.
fn own_needs(package: &Value) -> impl Iterator<Item = &Value> {
    let all = package["dependencies"].as_array().into_iter().flatten();
    all.filter(|needed| needed["path"].is_string() && needed["kind"] != "dev")
}

/// Packages that do not say what a registry asks for.
fn unready(shipped: &[&Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in shipped {
        let name = text(package, "name");
        for field in WANTED {
            if text(package, field).is_empty() {
                wrong.push(format!("{name} has no {field}"));
            }
        }
        let wanted = format!("^{}", text(package, "version"));
        for needed in own_needs(package).filter(|needed| needed["req"] != wanted.as_str()) {
            wrong.push(format!("{name} needs {}, which is not {wanted}", text(needed, "name")));
        }
    }
    wrong
}

fn reads_beyond_its_folder(package: &Value) -> Done<bool> {
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().ok_or("a package has no folder")?;
    let mut files = Vec::new();
    rust_files(&folder.join("src"), &mut files)?;
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("tests.rs")) {
        let source = fs::read_to_string(file);
        let source = source.map_err(|error| format!("{}: {error}", file.display()))?;
        if reads_beyond(folder, file, &source) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a source has a file from outside a folder inside; its tests, which stand last, may.
fn reads_beyond(folder: &Path, file: &Path, source: &str) -> bool {
    let used = source.rsplit_once("\n#[cfg(test)]\n").map_or(source, |(used, _)| used);
    let calls = INCLUDED.into_iter().flat_map(|call| used.split(call).skip(1));
    let mut names = calls.filter_map(|rest| {
        let rest = rest.trim_start().trim_start_matches("concat!(").trim_start();
        rest.strip_prefix('"')?.split('"').next()
    });
    let beside = file.parent().unwrap_or(folder);
    names.any(|name| !plain(&beside.join(name)).starts_with(folder))
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// How many packages cargo lists the files of.
fn listed(shipped: &[&Value]) -> Done<usize> {
    let mut words = vec!["package", "--list", "--allow-dirty", "--offline"];
    for package in shipped {
        words.extend(["--package", text(package, "name")]);
    }
    Ok(cargo_text(&words)?.lines().filter(|line| *line == "Cargo.toml").count())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A program that needs a library, which needs another for its tests; and one that needs the program.
    fn metadata(version: &str) -> Value {
        let package = |name: &str, needs: Value| {
            json!({
                "name": name, "version": "1.0.0", "source": null, "description": "d",
                "license": "MIT", "repository": "r", "dependencies": needs,
            })
        };
        let needs = |name: &str, kind: Value| json!([{ "name": name, "path": "/x", "kind": kind, "req": version }]);
        json!({ "packages": [
            package("assay", needs("assay-a", Value::Null)),
            package("assay-a", needs("assay-lab", "dev".into())),
            package("assay-lab", json!([])),
            package("xtask", needs("assay", Value::Null)),
        ] })
    }

    #[test]
    fn what_the_program_is_made_of_is_shipped_and_what_tests_it_is_not() {
        let metadata = metadata("^1.0.0");
        let names: Vec<&str> =
            shipped(&metadata).into_iter().map(|package| text(package, "name")).collect();
        assert_eq!(names, ["assay", "assay-a"]);
        assert_eq!(unready(&shipped(&metadata)), Vec::<String>::new());
    }

    #[test]
    fn a_need_without_its_version_and_a_field_that_is_missing_are_named() {
        let mut metadata = metadata("*");
        metadata["packages"][1]["license"] = Value::Null;
        let told = unready(&shipped(&metadata));
        assert_eq!(told, ["assay needs assay-a, which is not ^1.0.0", "assay-a has no license"]);
    }

    #[test]
    fn a_file_from_outside_is_found_but_in_tests() {
        let is_beyond =
            |source: &str| reads_beyond(Path::new("/x/a"), Path::new("/x/a/src/b.rs"), source);
        assert!(is_beyond("const A: &str = include_str!(\"../../reference/a.csv\");"));
        assert!(is_beyond("include_bytes!(\n    concat!(\"../../\", $name))"));
        assert!(!is_beyond("const A: &str = include_str!(\"../data/a.csv\");"));
        assert!(!is_beyond("\n#[cfg(test)]\nmod tests { include_str!(\"../../a\") }"));
        assert!(!is_beyond("include_str!($name)"));
    }
}
