//! The JSON documents of docs/howto/commands-and-ci.md: each command of its table prints the format with the fields.
//! `assay_testkit` validates all findings and watch documents that tests read.

use std::fs;
use std::path::Path;

use assay_study::file;
use assay_study::findings::Findings;
use assay_testkit::schema;
use serde_json::{Value, json};

use crate::{DEPTH, DRIVE, home};

const PAGE: &str = include_str!("../../../../docs/howto/commands-and-ci.md");
const HEAD: &str = "| format | made by | fields |\n|---|---|---|\n";

struct Promise {
    format: String,
    command: String,
    fields: Vec<String>,
}

fn promises() -> Vec<Promise> {
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (_, table) = PAGE.split_once(HEAD).unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let promise = |row: &str| {
        let cells: Vec<Vec<String>> = row.trim_matches('|').split('|').map(quoted).collect();
        let [format, command, fields] = &cells[..] else { panic!("{row}") };
        Promise { format: format[0].clone(), command: command[0].clone(), fields: fields.clone() }
    };
    rows.map(promise).collect()
}

impl Promise {
    fn broken(&self, document: &Value) -> Vec<&str> {
        let fields = self.fields.iter().map(String::as_str);
        let mut broken: Vec<&str> = fields.filter(|field| document.get(*field).is_none()).collect();
        broken.extend((document["format"] != *self.format).then_some(self.format.as_str()));
        broken
    }
}

#[test]
fn schemas_of_documents_are_printed() {
    let home = home("schemas");
    assert_eq!(home.json(&["list", "schema", "study"]), file::schema());
    for name in ["findings", "watch"] {
        let format = format!("assay-{name}/1");
        let schema = schema::of_format(&format).unwrap();
        assert_eq!(schema["title"], *format);
        assert_eq!(home.json(&["list", "schema", name]), schema);
        assert_eq!(home.json(&["list", "schema", &format]), schema);
    }
    home.refused(2, &["list", "schema", "finding"]);
    home.refused(2, &["list", "factors", "findings"]);
}

/// Findings of earlier versions have fewer fields; this version shows them with all documented ones.
#[test]
fn recorded_findings_are_shown_as_the_schema_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder.join("../assay-report/tests/fixtures/findings");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut seen = 0;
    for path in paths.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let findings: Findings = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let document = json!(findings);
        schema::fits(&document).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let mut wrong = document.clone();
        wrong["measurements"][0]["better"] = json!("upwards");
        assert!(schema::fits(&wrong).is_err(), "{}: a word that there is not", path.display());
        seen += 1;
    }
    assert!(seen > 8, "{seen}");
}

#[test]
#[ignore = "nightly: 2 s"]
fn documents_have_the_fields_that_are_promised() {
    let home = home("stability");
    let study = home.file("depth.toml", DEPTH);
    let found = home.json(&["run", &study, DRIVE, "--json"]);
    let id = found["study"]["id"].as_str().unwrap();
    let promises = promises();
    assert!(promises.len() > 5);
    for promise in &promises {
        let words = promise.command.strip_prefix("assay ").unwrap().split(' ');
        let meant = words.map(|word| match word {
            "ID" => id,
            "STUDY" => study.as_str(),
            "TARGET" => DRIVE,
            word => word,
        });
        // The exit code does not matter here: other tests may have left something to restore.
        let ended = home.run(&meant.collect::<Vec<_>>());
        let document: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", promise.command, ended.stderr));
        assert_eq!(promise.broken(&document), Vec::<&str>::new(), "{}", promise.command);
    }
    let bare = json!({ "format": "assay-findings/0", "study": null });
    let broken = promises[0].broken(&bare);
    assert!(broken.contains(&"measurements") && broken.contains(&"assay-findings/1"), "{broken:?}");
    assert!(!broken.contains(&"study"), "absent is not null");
}
