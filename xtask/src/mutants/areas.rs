//! Which source is meant, and which of its changes are drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::build::{cargo, root};
use crate::lab::Done;

/// What tests are made with.
const LEFT_OUT: [&str; 3] = ["crates/assay-lab/", "crates/assay-system/src/system/fake", "xtask/"];
const WEEK: u64 = 7 * 24 * 3600;

/// A change that can be switched on.
#[derive(Clone, Debug)]
pub struct Mutant {
    pub area: String,
    pub file: String,
    pub line: usize,
    pub what: String,
    /// The piece of the file that stays, and what is put around it; `{ON}` asks for it.
    pub start: usize,
    pub end: usize,
    pub before: String,
    pub after: String,
}

/// What git prints.
pub fn git(words: &[&str]) -> Done<String> {
    let mut command = std::process::Command::new("git");
    let output = command.args(words).current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    let failed = || format!("git {}: {}", words.join(" "), output.status);
    output.status.success().then_some(()).ok_or_else(failed)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The files of the work tree, new ones among them.
pub fn files() -> Done<Vec<String>> {
    let told = git(&["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let there = |name: &&str| root().join(name).exists();
    Ok(told.lines().filter(there).map(str::to_owned).collect())
}

/// Area -> its files: those that are named, or the folders of what changed in a week.
pub fn chosen(names: Option<&str>, files: &[String]) -> Done<BTreeMap<String, Vec<String>>> {
    let sources = sources(files)?;
    if let Some(names) = names {
        return names
            .split(',')
            .map(|name| Ok((name.to_owned(), named(name, &sources)?)))
            .collect();
    }
    let newest = git(&["log", "-1", "--format=%ct"])?;
    let newest: u64 = newest.trim().parse().map_err(|_| "git tells no time of HEAD".to_owned())?;
    let since = format!("--since=@{}", newest.saturating_sub(WEEK));
    let changed = git(&["log", &since, "--name-only", "--format="])?;
    let changed: BTreeSet<&str> = changed.lines().collect();
    let mut areas: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in sources.into_iter().filter(|file| changed.contains(file.as_str())) {
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let name = folder.trim_start_matches("crates/").replacen("/src", "", 1);
        areas.entry(name).or_default().push(file);
    }
    Ok(areas)
}

/// Source that is no test.
fn sources(files: &[String]) -> Done<Vec<String>> {
    let is_source = |file: &&String| {
        let is_ours = !LEFT_OUT.iter().any(|start| file.starts_with(start));
        is_ours
            && file.contains("/src/")
            && Path::new(file).extension().is_some_and(|end| end == "rs")
    };
    let sources: Vec<String> = files.iter().filter(is_source).cloned().collect();
    let mut of_tests = Vec::new();
    for file in &sources {
        let text = std::fs::read_to_string(root().join(file));
        let text = text.map_err(|error| format!("{file}: {error}"))?;
        of_tests.extend(test_modules(file, &text));
    }
    let is_test = |file: &String| {
        let (stem, by_name) = (file.trim_end_matches(".rs"), file.contains("/tests/"));
        by_name || of_tests.iter().any(|module| stem == module || is_below(file, module))
    };
    Ok(sources.into_iter().filter(|file| !is_test(file)).collect())
}

fn is_below(file: &str, module: &str) -> bool {
    file.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'))
}

/// The modules that a file declares for tests alone, as paths without an end.
fn test_modules(file: &str, text: &str) -> Vec<String> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let below = match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
        _ => file.trim_end_matches(".rs").to_owned(),
    };
    let mut found = Vec::new();
    let mut is_for_tests = false;
    for line in text.lines() {
        if line.starts_with("#[") {
            is_for_tests |= line.starts_with("#[cfg(") && line.contains("test");
            continue;
        }
        let name = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
        if let (true, Some((_, name))) = (is_for_tests, name) {
            found.push(format!("{below}/{name}"));
        }
        is_for_tests = false;
    }
    found
}

/// The files below a folder of that name or of that name themselves; where there are none, of its
/// singular or plural.
fn named(name: &str, sources: &[String]) -> Done<Vec<String>> {
    let alike = |one: &str, other: &str| one.trim_end_matches('s') == other.trim_end_matches('s');
    let find = |is_it: &dyn Fn(&str) -> bool| -> Vec<String> {
        let of = |file: &&String| {
            let (_, inner) = file.split_once("/src/").unwrap_or(("", file));
            inner.trim_end_matches(".rs").split('/').any(is_it)
        };
        sources.iter().filter(of).cloned().collect()
    };
    let exact = find(&|part| part == name);
    let found = if exact.is_empty() { find(&|part| alike(part, name)) } else { exact };
    if found.is_empty() {
        return Err(format!("no source is called `{name}`"));
    }
    Ok(found)
}

/// All changes of the areas, each in the order in which it would be drawn.
pub fn drawn(areas: &BTreeMap<String, Vec<String>>, seed: usize) -> Done<Vec<Vec<Mutant>>> {
    let found = changes(areas.values().flatten())?;
    let mut by_area = Vec::new();
    for (area, files) in areas {
        let mut own: Vec<(Vec<u8>, Mutant)> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for change in
            found.iter().filter(|change| files.iter().any(|file| change["file"] == **file))
        {
            let mutant = mutant(area, change).ok_or("a change without its place")?;
            let function = change["function"].as_str().unwrap_or_default();
            // By what it is and not by where: other lines of the file do not change the draw.
            let key = format!("{} {function} {}", mutant.file, mutant.what);
            let count = seen.entry(key.clone()).or_default();
            *count += 1;
            own.push((hash(&format!("{seed} {key} {count}")), mutant));
        }
        own.sort_by(|one, other| one.0.cmp(&other.0));
        by_area.push((hash(&format!("{seed} {area}")), own));
    }
    // With more areas than changes to draw, not always the first ones.
    by_area.sort_by(|one, other| one.0.cmp(&other.0));
    let mutants = |own: Vec<(Vec<u8>, Mutant)>| own.into_iter().map(|(_, mutant)| mutant).collect();
    Ok(by_area.into_iter().map(|(_, own)| mutants(own)).collect())
}

/// How many each area gives, in turns.
pub fn shares(sizes: &[usize], count: usize) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut left = count.min(sizes.iter().sum());
    while left > 0 {
        for (share, size) in shares.iter_mut().zip(sizes) {
            if left > 0 && *share < *size {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

fn hash(text: &str) -> Vec<u8> {
    Sha256::digest(text.as_bytes()).to_vec()
}

fn mutant(area: &str, change: &Value) -> Option<Mutant> {
    let text = |name: &str| change[name].as_str().map(str::to_owned);
    let number = |name: &str| change[name].as_u64().map(|number| number as usize);
    Some(Mutant {
        area: area.to_owned(),
        file: text("file")?,
        line: number("line")?,
        what: text("what")?,
        start: number("start")?,
        end: number("end")?,
        before: text("before")?,
        after: text("after")?,
    })
}

/// What the parser finds in files.
fn changes<'a>(files: impl Iterator<Item = &'a String>) -> Done<Vec<Value>> {
    let mut child = cargo(&["run", "--quiet", "--package", "assay-mutate", "--", "."])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo: {error}"))?;
    let names: BTreeSet<&String> = files.collect();
    let names = names.into_iter().cloned().collect::<Vec<String>>().join("\n");
    let mut input = child.stdin.take().ok_or("no way in")?;
    let writer = std::thread::spawn(move || input.write_all(names.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let written = writer.join().is_ok_and(|written| written.is_ok());
    if !written || !output.status.success() {
        return Err(format!("the source could not be read: {}", output.status));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).map_err(|e| e.to_string())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;

    #[test]
    fn modules_for_tests_are_left_out() {
        let text = "#[cfg(test)]\nmod tests;\nmod real;\n#[cfg(any(test, feature = \"testing\"))]\n\
                    #[allow(x)]\npub mod fake;\n#[cfg(unix)]\nmod other;\n#[cfg(test)]\nuse a;\nmod b;\n";
        assert_eq!(test_modules("c/src/a/mod.rs", text), ["c/src/a/tests", "c/src/a/fake"]);
        assert_eq!(test_modules("c/src/a.rs", text), ["c/src/a/tests", "c/src/a/fake"]);
        assert!(is_below("c/src/a/fake/b.rs", "c/src/a/fake"));
        assert!(!is_below("c/src/a/faked.rs", "c/src/a/fake"));
    }

    #[test]
    fn an_area_is_a_folder_or_a_file_by_its_name() {
        let files = ["c/src/boot/a.rs", "c/src/boot.rs", "c/src/boots.rs", "d/src/x/parcel.rs"];
        let files = files.map(str::to_owned);
        assert_eq!(named("boot", &files).unwrap(), ["c/src/boot/a.rs", "c/src/boot.rs"]);
        assert_eq!(named("parcels", &files).unwrap(), ["d/src/x/parcel.rs"]);
        assert!(named("src", &files).is_err());
    }

    #[test]
    fn every_area_gives_its_share() {
        assert_eq!(shares(&[9, 9, 9], 7), [3, 2, 2]);
        assert_eq!(shares(&[9, 1, 9], 7), [3, 1, 3]);
        assert_eq!(shares(&[1, 1], 7), [1, 1]);
        assert_eq!(shares(&[], 7), [0; 0]);
    }
}
