//! Which formats there are, and of which type the document of each is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::schema::Maker;
use crate::sources::Sources;

/// Where fields are promised.
const PROMISES: &str = "docs/stability.md";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Formats of documents, with the file and the name of the type.
const DOCUMENTS: [(&str, &str, &str); 16] = [
    ("assay-advice/1", "crates/assay/src/cli/advised.rs", "Document"),
    ("assay-apply/1", "crates/assay/src/cli/apply.rs", "Document"),
    ("assay-articles/1", "crates/assay-report/src/articles.rs", "Json"),
    ("assay-bisect/1", "crates/assay/src/cli/bisect.rs", "Document"),
    ("assay-calc/1", "crates/assay-base/src/calc/mod.rs", "Answer"),
    ("assay-collection-rows/1", "crates/assay/src/cli/collection/query.rs", "Document"),
    ("assay-doctor/1", "crates/assay/src/cli/doctor.rs", "Document"),
    ("assay-explain/1", "crates/assay/src/cli/explain.rs", "Document"),
    ("assay-findings/1", "crates/assay-study/src/findings/mod.rs", "Findings"),
    ("assay-list/1", "crates/assay/src/cli/list.rs", "Document"),
    ("assay-null/1", "crates/assay-verdict/src/analysis/null.rs", "Null"),
    ("assay-preview/1", "crates/assay-report/src/preview.rs", "Preview"),
    ("assay-restore/1", "crates/assay/src/cli/restore.rs", "Document"),
    ("assay-undo/1", "crates/assay/src/cli/undo.rs", "Document"),
    ("assay-verify/1", "crates/assay-runner/src/runner/verify.rs", "Report"),
    ("assay-watch/1", "crates/assay/src/watch/document.rs", "Document"),
];

/// What a document of `assay-calc/1` has beside its own fields, by the name of the calculation.
const CALCULATIONS: [(&str, &str, &str); 7] = [
    ("flash-time", "crates/assay-base/src/calc/flash_time.rs", "FlashTime"),
    ("memmap", "crates/assay-base/src/calc/memmap.rs", "Memmap"),
    ("modeline", "crates/assay-base/src/calc/modeline/solve.rs", "Highest"),
    ("modeline", "crates/assay-base/src/calc/modeline/solve.rs", "At"),
    ("modeline", "crates/assay-base/src/calc/modeline/solve.rs", "Check"),
    ("raid", "crates/assay-base/src/calc/raid.rs", "Raid"),
    ("zram", "crates/assay-base/src/calc/zram.rs", "Zram"),
];

/// Every schema by the name of its file.
pub fn all(root: &Path) -> Result<Map<String, Value>, String> {
    let sources = Sources::read(root)?;
    let page = fs::read_to_string(root.join(PROMISES));
    let page = page.map_err(|error| format!("{PROMISES}: {error}"))?;
    let promised = promised(&page);
    let no_fields = Vec::new();
    let mut all = Map::new();
    for (format, file, name) in DOCUMENTS {
        let mut maker = Maker::new(&sources);
        let mut schema = maker.document(file, name)?;
        if format == "assay-calc/1" {
            schema["anyOf"] = calculations(&mut maker)?;
        }
        let fields = promised.get(format).unwrap_or(&no_fields);
        promise(&mut schema, maker.always(), fields).map_err(|why| format!("{format}: {why}"))?;
        finish(&mut schema, format, maker.definitions());
        all.insert(file_name(format), schema);
    }
    Ok(all)
}

/// `assay-findings/1` is described in `findings-1.schema.json`.
fn file_name(format: &str) -> String {
    let name = format.trim_start_matches("assay-").replace('/', "-");
    format!("{name}.schema.json")
}

/// The fields that the page promises, by format: what all rows of a format have between them.
pub fn promised(page: &str) -> BTreeMap<String, Vec<String>> {
    let mut promised: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `assay-")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [format, command, fields] = &cells[..] else { continue };
        if command.contains("`assay ") {
            let own = promised.entry(quoted(format).concat()).or_default();
            own.extend(quoted(fields).into_iter().map(str::to_owned));
        }
    }
    promised
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// A document of each calculation: by its name, what it has.
fn calculations(maker: &mut Maker<'_>) -> Result<Value, String> {
    let one = |(name, file, of): (&str, &str, &str)| {
        let own = maker.reference(file, of)?;
        Ok(json!({ "properties": { "calculation": { "const": name } }, "allOf": [own] }))
    };
    CALCULATIONS.into_iter().map(one).collect()
}

/// Requires what is promised. A field that may be left out stays so: the page promises it of one command.
pub fn promise(schema: &mut Value, always: &[String], fields: &[String]) -> Result<(), String> {
    let branches = schema.get("anyOf").is_some();
    for field in fields {
        let is_known = schema["properties"].get(field).is_some();
        if !is_known && !branches {
            return Err(format!("{field} is promised and is no field"));
        }
        let Some(required) = schema["required"].as_array_mut() else { continue };
        if always.contains(field) && !required.iter().any(|known| known == field.as_str()) {
            required.push(json!(field));
        }
    }
    Ok(())
}

/// What says of a schema which one it is.
fn finish(schema: &mut Value, format: &str, definitions: Map<String, Value>) {
    schema["$schema"] = json!(DIALECT);
    schema["title"] = json!(format);
    schema["properties"]["format"] = json!({ "const": format });
    if !definitions.is_empty() {
        schema["$defs"] = Value::Object(definitions);
    }
    if let Some(required) = schema["required"].as_array_mut()
        && !required.iter().any(|known| known == "format")
    {
        required.push(json!("format"));
    }
}
