//! What a program is made of, in the format of CycloneDX 1.5: packages, licences, hashes, and who needs whom.
//!
//! Read from `cargo metadata`, which joins the features that all crates of the workspace ask for: the list may have a
//! package more than the program, and none less. It has no time and no number of its own: the same tree, the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::build::root;
use crate::carried::{self, expression, packages, text};
use crate::lab::{Done, call};

const PROGRAM: &str = "assay";
const LOCK: &str = "Cargo.lock";

/// The list of the program for a target, with the commit and the compiler that it was made with.
pub fn of_target(target: &str, commit: &str) -> Done<String> {
    let lock = fs::read_to_string(root().join(LOCK)).map_err(|error| format!("{LOCK}: {error}"))?;
    let mut list = list(&carried::metadata(target)?, &lock)?;
    let compiler = call("rustc", &["--version"])?;
    let made = [("target", target), ("commit", commit), ("compiler", compiler.trim())];
    let told = made.iter().filter(|(_, value)| !value.is_empty());
    list["metadata"]["properties"] = told
        .map(|(name, value)| json!({ "name": format!("assay:{name}"), "value": value }))
        .collect();
    serde_json::to_string_pretty(&list).map_err(|error| error.to_string())
}

/// A package, and the ids of those that it needs.
type Inside<'m> = (&'m Value, BTreeSet<&'m str>);

/// What the program is made of, itself among it, by what each is called in the list.
pub fn inside(metadata: &Value) -> Done<BTreeMap<String, Inside<'_>>> {
    let known: BTreeMap<&str, &Value> =
        packages(metadata).map(|package| (text(package, "id"), package)).collect();
    let needs = needs(metadata);
    let mut inside = BTreeMap::new();
    let mut open = vec![text(program(metadata)?, "id")];
    while let Some(id) = open.pop() {
        let package = known.get(id).ok_or_else(|| format!("nothing is known of {id}"))?;
        let needed = needs.get(id).cloned().unwrap_or_default();
        if inside.insert(reference(package), (*package, needed.clone())).is_none() {
            open.extend(needed);
        }
    }
    Ok(inside)
}

fn program(metadata: &Value) -> Done<&Value> {
    let program = packages(metadata).find(|package| package["name"] == PROGRAM);
    program.ok_or_else(|| format!("there is no package {PROGRAM}"))
}

fn list(metadata: &Value, lock: &str) -> Done<Value> {
    let sums = checksums(lock);
    let inside = inside(metadata)?;
    let called: BTreeMap<&str, &String> =
        inside.iter().map(|(name, (package, _))| (text(package, "id"), name)).collect();
    let referred = |ids: &BTreeSet<&str>| -> BTreeSet<&String> {
        ids.iter().filter_map(|id| called.get(id).copied()).collect()
    };
    let others = inside.values().filter(|(package, _)| package["name"] != PROGRAM);
    let components: Vec<Value> =
        others.map(|(package, _)| component(package, "library", &sums)).collect();
    let dependencies = inside
        .iter()
        .map(|(name, (_, needed))| json!({ "ref": name, "dependsOn": referred(needed) }));
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component(program(metadata)?, "application", &sums) },
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

/// What a package is called in the list.
fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn component(package: &Value, kind: &str, sums: &BTreeMap<(&str, &str), &str>) -> Value {
    let [name, version] = ["name", "version"].map(|field| text(package, field));
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "licenses": [{ "expression": expression(text(package, "license")) }],
    });
    if let Some(sum) = sums.get(&(name, version)) {
        // Packages of the registry have an address, and a hash of what was downloaded.
        component["purl"] = reference(package).into();
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// Package -> what it needs when it runs or is compiled; tests and what build scripts need are left out.
fn needs(metadata: &Value) -> BTreeMap<&str, BTreeSet<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    nodes.map(|node| (text(node, "id"), needed(node))).collect()
}

fn needed(node: &Value) -> BTreeSet<&str> {
    let all = node["deps"].as_array().into_iter().flatten();
    all.filter(|needed| is_normal(needed)).map(|needed| text(needed, "pkg")).collect()
}

fn is_normal(needed: &Value) -> bool {
    let mut kinds = needed["dep_kinds"].as_array().into_iter().flatten();
    kinds.any(|kind| kind["kind"].is_null())
}

/// Name and version -> hash, of the packages that the lock file has from a registry.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let blocks = lock.split("[[package]]\n").skip(1);
    let one = |block| {
        let [name, version, sum] = ["name", "version", "checksum"].map(|name| field(block, name));
        Some(((name?, version?), sum?))
    };
    blocks.filter_map(one).collect()
}

fn field<'t>(block: &'t str, name: &str) -> Option<&'t str> {
    let value = |line: &'t str| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"');
    block.lines().find_map(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const LOCKED: &str = "version = 4\n\n[[package]]\nname = \"assay\"\nversion = \"1.0.0\"\n\
        dependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\n\
        source = \"registry+https://example.org\"\nchecksum = \"00ff\"\n";

    fn metadata() -> Value {
        let package = |name: &str, version: &str| json!({ "id": format!("{name} id"), "name": name, "version": version, "license": "MIT/Zlib" });
        let needed = |name: &str, kind: Value| json!({ "pkg": format!("{name} id"), "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [
                package("assay", "1.0.0"), package("b", "2.0.0"), package("t", "3.0.0"),
                package("x", "4.0.0"),
            ],
            "resolve": { "nodes": [
                { "id": "assay id", "deps": [needed("b", Value::Null), needed("t", "dev".into())] },
                { "id": "b id", "deps": [] },
                { "id": "x id", "deps": [needed("assay", Value::Null)] },
            ] },
        })
    }

    #[test]
    fn the_list_has_what_the_program_needs_and_nothing_that_needs_it_or_tests_it() {
        let list = list(&metadata(), LOCKED).unwrap();
        let inner = json!({
            "type": "library", "bom-ref": "pkg:cargo/b@2.0.0", "name": "b", "version": "2.0.0",
            "licenses": [{ "expression": "MIT OR Zlib" }], "purl": "pkg:cargo/b@2.0.0",
            "hashes": [{ "alg": "SHA-256", "content": "00ff" }],
        });
        assert_eq!(list["components"], json!([inner]));
        let program = &list["metadata"]["component"];
        assert_eq!((&program["type"], &program["name"]), (&"application".into(), &"assay".into()));
        assert!(program.get("purl").is_none(), "it is on no registry");
        let needs = json!([
            { "ref": "pkg:cargo/assay@1.0.0", "dependsOn": ["pkg:cargo/b@2.0.0"] },
            { "ref": "pkg:cargo/b@2.0.0", "dependsOn": [] },
        ]);
        assert_eq!(list["dependencies"], needs);
    }

    #[test]
    fn a_package_that_nothing_is_known_of_is_no_gap_in_the_list() {
        let mut metadata = metadata();
        metadata["resolve"]["nodes"][1]["deps"] =
            json!([{ "pkg": "gone id", "dep_kinds": [{ "kind": null }] }]);
        assert!(list(&metadata, LOCKED).unwrap_err().contains("gone id"));
    }
}
