//! The JSON Schemas that `assay list schema` prints. `cargo run -p xtask --features schema -- schemas` generates those
//! of findings and watch; `crates/assay/schemas` is a link to them.

use serde_json::Value;

use super::registries::RegistryEntry;

pub(super) fn entries() -> Vec<RegistryEntry> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let findings = read(include_str!("../../schemas/findings-1.schema.json"));
    let watch = read(include_str!("../../schemas/watch-1.schema.json"));
    let all = [
        ("study", "a study file", assay_study::file::schema()),
        ("findings", "the output of assay show --json", findings),
        ("watch", "the output of assay watch --json", watch),
    ];
    all.map(|(name, about, item)| RegistryEntry { item, ..RegistryEntry::new(name, about, "") })
        .into()
}

#[cfg(feature = "schema")]
pub fn generated_schemas() -> [(&'static str, String); 2] {
    use crate::watch::document;
    use assay_study::findings::{self, Findings};

    [
        ("findings-1.schema.json", generate::<Findings>(findings::FORMAT)),
        ("watch-1.schema.json", generate::<document::WatchDocument<'_>>(document::FORMAT)),
    ]
}

#[cfg(feature = "schema")]
fn generate<T: schemars::JsonSchema>(format: &str) -> String {
    use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};

    // JSON Schema does not define the formats that schemars gives to numbers, such as `uint64`.
    let without_formats = RecursiveTransform(|schema: &mut Schema| drop(schema.remove("format")));
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(without_formats);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = serde_json::json!(format);
    schema["properties"]["format"] = serde_json::json!({ "const": format });
    format!("{schema:#}\n")
}
