//! Every public function has a test, and every vector a reader.

use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str, end: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stats").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|own| own == end)).collect();
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
    let (source, tests) = (text(&files("", "rs")), text(&files("tests", "rs")));
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
