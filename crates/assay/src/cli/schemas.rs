//! The JSON Schema of each document that `--json` prints. `cargo xtask pages` makes them from the types that the
//! documents are written from; `crates/assay/schemas` leads to where they lie.

use assay_base::failure::{Failure, Outcome};
use assay_study::study::words;

/// Schemas by formats.
const SCHEMAS: [(&str, &str); 16] = [
    ("assay-advice/1", include_str!("../../schemas/advice-1.schema.json")),
    ("assay-apply/1", include_str!("../../schemas/apply-1.schema.json")),
    ("assay-articles/1", include_str!("../../schemas/articles-1.schema.json")),
    ("assay-bisect/1", include_str!("../../schemas/bisect-1.schema.json")),
    ("assay-calc/1", include_str!("../../schemas/calc-1.schema.json")),
    ("assay-collection-rows/1", include_str!("../../schemas/collection-rows-1.schema.json")),
    ("assay-doctor/1", include_str!("../../schemas/doctor-1.schema.json")),
    ("assay-explain/1", include_str!("../../schemas/explain-1.schema.json")),
    ("assay-findings/1", include_str!("../../schemas/findings-1.schema.json")),
    ("assay-list/1", include_str!("../../schemas/list-1.schema.json")),
    ("assay-null/1", include_str!("../../schemas/null-1.schema.json")),
    ("assay-preview/1", include_str!("../../schemas/preview-1.schema.json")),
    ("assay-restore/1", include_str!("../../schemas/restore-1.schema.json")),
    ("assay-undo/1", include_str!("../../schemas/undo-1.schema.json")),
    ("assay-verify/1", include_str!("../../schemas/verify-1.schema.json")),
    ("assay-watch/1", include_str!("../../schemas/watch-1.schema.json")),
];

/// The schema of a document, by its format or the name within that.
///
/// # Errors
/// There is no such document.
pub fn of(name: &str) -> Outcome<&'static str> {
    let found = SCHEMAS.iter().find(|(format, _)| *format == name || short(format) == name);
    found.map(|(_, schema)| *schema).ok_or_else(|| {
        let names: Vec<&str> = SCHEMAS.iter().map(|(format, _)| short(format)).collect();
        let meant = words::did_you_mean(name, &names);
        let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
        Failure::mistake(format!(
            "no document is called `{name}`: there are {}{meant}",
            names.join(", ")
        ))
    })
}

/// `findings` of `assay-findings/1`.
fn short(format: &str) -> &str {
    let name = format.strip_prefix("assay-").unwrap_or(format);
    name.split('/').next().unwrap_or(name)
}
