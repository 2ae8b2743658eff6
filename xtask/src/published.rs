//! What stands between the crates that the program is made of and a registry of packages: each says who, where and under
//! which licence, names the others with their version, has all files that it reads when it is compiled in its own folder (links
//! lead to those that several have), and is packed by `cargo package`. No other crate may be published.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::build::cargo_text;
use crate::carried::{packages, text};
use crate::lab::Done;
use crate::suite::format::rust_files;

const PROGRAM: &str = "assay";
/// What a registry asks for.
const WANTED: [&str; 3] = ["description", "license", "repository"];
const INCLUDED: [&str; 2] = ["include_str!(", "include_bytes!("];
/// What each package has beside its sources.
const OF_EACH: [&str; 3] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT"];

/// What is wrong with the crates of the program as packages.
pub fn faults(metadata: &Value) -> Done<Vec<String>> {
    let shipped = shipped(metadata);
    let mut wrong = unready(&shipped);
    wrong.extend(open(metadata, &shipped));
    let listed = listed(&shipped)?;
    for name in OF_EACH {
        let count = listed.lines().filter(|line| *line == name).count();
        if count != shipped.len() {
            wrong.push(format!("{count} of {} packages have {name}", shipped.len()));
        }
    }
    for package in &shipped {
        for path in read(package)? {
            if path.starts_with('/') || !listed.lines().any(|line| line.starts_with(&path)) {
                let name = text(package, "name");
                wrong.push(format!("{name} reads {path}, which is not in its package"));
            }
        }
    }
    pack(&shipped)?;
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

/// Crates that may be published and are not of the program, and the other way round.
fn open(metadata: &Value, shipped: &[&Value]) -> Vec<String> {
    let own = packages(metadata).filter(|package| package["source"].is_null());
    let is_shipped = |package: &Value| shipped.iter().any(|one| one["name"] == package["name"]);
    let wrong = own.filter(|package| package["publish"].is_array() == is_shipped(package));
    let told = wrong.map(|package| {
        let may = if is_shipped(package) { "cannot" } else { "must not" };
        format!("{} {may} be published", text(package, "name"))
    });
    told.collect()
}

/// The files that a crate has inside, as its folder has them: the beginning of a name where the rest is put together.
fn read(package: &Value) -> Done<BTreeSet<String>> {
    let manifest = Path::new(text(package, "manifest_path"));
    let folder = manifest.parent().ok_or("a package has no folder")?;
    let mut files = Vec::new();
    rust_files(&folder.join("src"), &mut files)?;
    let mut read = BTreeSet::new();
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("tests.rs")) {
        let source = fs::read_to_string(file);
        let source = source.map_err(|error| format!("{}: {error}", file.display()))?;
        read.extend(included(folder, file, &source));
    }
    Ok(read)
}

/// What a source has inside, from the folder of its crate on, or from the root where it lies elsewhere; its tests, which
/// stand last, may have anything.
fn included(folder: &Path, file: &Path, source: &str) -> Vec<String> {
    let used = source.rsplit_once("\n#[cfg(test)]\n").map_or(source, |(used, _)| used);
    let calls = INCLUDED.into_iter().flat_map(|call| used.split(call).skip(1));
    let names = calls.filter_map(|rest| {
        let rest = rest.trim_start().trim_start_matches("concat!(").trim_start();
        rest.strip_prefix('"')?.split('"').next()
    });
    let beside = file.parent().unwrap_or(folder);
    let told = names.map(|name| {
        let path = plain(&beside.join(name));
        path.strip_prefix(folder)
            .map_or_else(|_| path.display().to_string(), |inner| inner.display().to_string())
    });
    told.collect()
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

/// The files of all packages.
fn listed(shipped: &[&Value]) -> Done<String> {
    cargo_package(shipped, "--list")
}

/// Packs them, each with what the others would be on a registry; none is compiled again from its package.
fn pack(shipped: &[&Value]) -> Done<()> {
    cargo_package(shipped, "--no-verify").map(drop)
}

fn cargo_package(shipped: &[&Value], how: &str) -> Done<String> {
    let mut words = vec!["package", how, "--allow-dirty", "--offline", "--quiet"];
    for package in shipped {
        words.extend(["--package", text(package, "name")]);
    }
    cargo_text(&words)
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
    fn what_is_published_is_what_the_program_is_made_of_and_nothing_else() {
        let mut metadata = metadata("^1.0.0");
        for at in [2, 3] {
            metadata["packages"][at]["publish"] = json!([]);
        }
        assert_eq!(open(&metadata, &shipped(&metadata)), Vec::<String>::new());
        metadata["packages"][2]["publish"] = Value::Null;
        metadata["packages"][1]["publish"] = json!([]);
        let told = open(&metadata, &shipped(&metadata));
        assert_eq!(told, ["assay-a cannot be published", "assay-lab must not be published"]);
    }

    #[test]
    fn a_file_from_outside_is_told_but_in_tests() {
        let read = |source: &str| included(Path::new("/x/a"), Path::new("/x/a/src/b.rs"), source);
        let outside = read("const A: &str = include_str!(\"../../reference/a.csv\");");
        assert_eq!(outside, ["/x/reference/a.csv"]);
        assert_eq!(read("include_bytes!(\n    concat!(\"../../\", $name))"), ["/x"]);
        assert_eq!(read("const A: &str = include_str!(\"../data/a.csv\");"), ["data/a.csv"]);
        assert!(read("\n#[cfg(test)]\nmod tests { include_str!(\"../../a\") }").is_empty());
        assert!(read("include_str!($name)").is_empty());
    }
}
