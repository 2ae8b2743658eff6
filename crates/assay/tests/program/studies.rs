//! Study files as people write them: valid ones are read, invalid ones get messages on all errors.
//! `UPDATE_EXPECT=1 cargo test --test studies` rewrites the expected texts; review them.

use std::fs;
use std::path::{Path, PathBuf};

use assay_study::file;
use assay_testkit::expected::Expected;
use assay_testkit::schema::complaint;

fn cases(folder: &str) -> Vec<(PathBuf, String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/studies").join(folder);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        (path, name, text)
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn wrong_files_are_told_what_to_write() {
    let cases = cases("invalid");
    let mut files = Expected::default();
    for (path, name, text) in &cases {
        let message = file::text::parse(name, text).expect_err(name).message + "\n";
        files.hold(path.with_extension("expected.txt"), &message);
        assert!(message.starts_with(&format!("{name}:")), "{message}");
    }
    assert!(cases.len() >= 45, "only {}", cases.len());
}

#[test]
fn right_files_are_read_and_written_the_same() {
    let cases = cases("valid");
    for (_, name, text) in &cases {
        let read = file::text::parse(name, text).unwrap_or_else(|failure| panic!("{failure}"));
        let written = file::text::write(&read).unwrap();
        assert_eq!(file::text::parse("written", &written).unwrap(), read, "{written}");
        assert_eq!(file::text::stored("stored", &written).unwrap(), read);
    }
    assert!(cases.len() >= 6, "only {}", cases.len());
}

fn json(text: &str) -> serde_json::Value {
    serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
}

#[test]
fn the_schema_takes_right_files() {
    let schema = file::schema();
    for (_, name, text) in cases("valid") {
        assert_eq!(complaint(&schema, &json(&text)), None, "{name}");
        let written = file::text::write(&file::text::parse(&name, &text).unwrap()).unwrap();
        assert_eq!(complaint(&schema, &json(&written)), None, "{name}, written");
    }
}

/// The schema detects wrong types, unknown keys, and words outside a closed set. The reader checks conditions between
/// keys.
#[test]
fn the_schema_refuses_what_an_editor_can_see() {
    let schema = file::schema();
    let mut seen = 0;
    for (_, name, text) in cases("invalid") {
        let by_eye = [
            "type-",
            "unknown-",
            "word-",
            "level-type",
            "level-none",
            "missing-title",
            "many",
            "zero-depth",
            "name-with",
            "mix-n",
            "unit-size",
            "unit-time",
            "unit-margin",
        ];
        if !by_eye.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        seen += 1;
        assert!(complaint(&schema, &json(&text)).is_some(), "{name} passes");
    }
    assert!(seen > 15, "{seen}");
}
