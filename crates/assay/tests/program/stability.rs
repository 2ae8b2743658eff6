//! What docs/stability.md promises of JSON documents: each command of its table prints the format, with the fields.

use serde_json::{Value, json};

use crate::{DEPTH, DRIVE, home};

const PAGE: &str = include_str!("../../../../docs/stability.md");
const HEAD: &str = "| format | made by | fields |\n|---|---|---|\n";

/// A row of the table.
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
    /// What of it a document does not keep.
    fn broken(&self, document: &Value) -> Vec<&str> {
        let fields = self.fields.iter().map(String::as_str);
        let mut broken: Vec<&str> = fields.filter(|field| document.get(*field).is_none()).collect();
        broken.extend((document["format"] != *self.format).then_some(self.format.as_str()));
        broken
    }
}

#[test]
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
        // The exit code is no matter of the document's form: others may have left something to put back.
        let ended = home.run(&meant.collect::<Vec<_>>());
        let document: Value = serde_json::from_str(&ended.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", promise.command, ended.stderr));
        assert_eq!(promise.broken(&document), Vec::<&str>::new(), "{}", promise.command);
    }
    let bare = json!({ "format": "assay-findings/0", "study": null });
    let broken = promises[0].broken(&bare);
    assert!(broken.contains(&"cells") && broken.contains(&"assay-findings/1"), "{broken:?}");
    assert!(!broken.contains(&"study"), "absent is not null");
}
