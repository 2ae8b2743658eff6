//! No public function without a test, no vector without a reader.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == end) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty());
    found
}

fn text(files: &[PathBuf]) -> String {
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn is_called(name: &str, tests: &str) -> bool {
    let call = format!("{name}(");
    tests.match_indices(&call).any(|(at, _)| {
        let before = &tests[..at];
        !before.ends_with("fn ") && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn every_public_function_is_called_by_a_test() {
    let (source, tests) = (text(&files("src", "rs")), text(&files("tests", "rs")));
    let names: Vec<&str> = source
        .split("pub fn ")
        .skip(1)
        .map(|rest| rest.split(['(', '<']).next().unwrap())
        .collect();
    assert!(names.len() > 30, "{names:?}");
    let missing: Vec<_> = names.into_iter().filter(|name| !is_called(name, &tests)).collect();
    assert!(missing.is_empty(), "without a test: {missing:?}");
}

#[test]
fn every_vector_is_read() {
    let tests = text(&files("tests", "rs"));
    for path in files("tests/reference", "json") {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(tests.contains(&format!("reference/{name}\"")), "{name}");
    }
}
