#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::json;

use super::documents::{promise, promised};
use super::schema::Maker;
use super::sources::Sources;

const FILE: &str = "crates/assay-a/src/kept.rs";

/// What a type called `Own` is, after these lines.
fn made(text: &str) -> Result<serde_json::Value, String> {
    let mut sources = Sources::default();
    sources.add(FILE, text)?;
    Maker::new(&sources).document(FILE, "Own")
}

#[test]
fn a_field_has_its_type_its_words_and_its_unit() {
    let schema = made(
        "/// All of it.\n#[derive(Clone, Serialize)]\nstruct Own<'a> {\n\
         /// Bytes.\n size_bytes: u64,\n\
         /// How long\n /// it took.\n time_ns: Option<f64>,\n\
         #[serde(rename = \"type\", default, skip_serializing_if = \"String::is_empty\")]\n of: &'a str,\n\
         #[serde(skip)]\n hidden: Unknown,\n\
         #[serde(default)]\n ci95: [f64; 2],\n}",
    );
    let list =
        json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 });
    let expected = json!({
        "type": "object",
        "description": "All of it.",
        "required": ["size_bytes", "time_ns"],
        "properties": {
            "size_bytes": { "type": "integer", "minimum": 0, "description": "Bytes." },
            "time_ns": { "type": ["number", "null"], "description": "How long it took, in nanoseconds." },
            "type": { "type": "string" },
            "ci95": list,
        },
    });
    assert_eq!(schema.unwrap(), expected);
}

#[test]
fn a_choice_is_written_as_serde_writes_it() {
    let one = |serde: &str| {
        let text = format!(
            "#[derive(Serialize)]\n#[serde({serde})]\nenum Own {{\n/// First.\nAtOnce,\nLater {{ s: u8 }},\nOf(String),\n}}"
        );
        made(&text).unwrap()["anyOf"].clone()
    };
    let number = json!({ "type": "integer", "minimum": 0, "description": "A number in seconds." });
    let later = json!({ "type": "object", "required": ["s"], "properties": { "s": number } });
    let text = json!({ "type": "string" });
    let object = |name: &str, of: &serde_json::Value| json!({ "type": "object", "required": [name], "properties": { name: of } });
    let plain = json!({ "enum": ["at-once"], "description": "`at-once`: First." });
    assert_eq!(
        one("rename_all = \"kebab-case\""),
        json!([object("later", &later), object("of", &text), plain])
    );
    let any = one("untagged");
    assert_eq!((&any[1], &any[2]), (&later, &text));
    let tagged = one("tag = \"sort\", rename_all = \"snake_case\"");
    assert_eq!(tagged[0]["properties"]["sort"], json!({ "const": "at_once" }));
    assert_eq!(tagged[1]["allOf"], json!([later]));
}

#[test]
fn what_is_open_is_filled_and_what_is_flattened_stands_beside() {
    let schema = made(
        "#[derive(Serialize)]\npub enum Seen<T> {\nHere(T),\n}\n\
         #[derive(Serialize)]\nstruct Inner {\nn: i8,\n}\n\
         type Arm = BTreeMap<String, Inner>;\n\
         #[derive(Serialize)]\nstruct Own {\nseen: Seen<bool>,\narm: Arm,\n#[serde(flatten)]\nbeside: Inner,\n}",
    );
    let schema = schema.unwrap();
    let inner = json!({ "$ref": "#/$defs/Inner" });
    assert_eq!(schema["properties"]["seen"]["properties"]["Here"], json!({ "type": "boolean" }));
    assert_eq!(schema["properties"]["arm"]["additionalProperties"], inner);
    assert_eq!(schema["allOf"], json!([inner]));
}

#[test]
fn what_cannot_be_told_is_an_error_and_no_guess() {
    for (text, why) in [
        ("struct Own { a: u8 }", "says by itself"),
        ("#[derive(Serialize)]\nstruct Own { a: Elsewhere }", "no type is called Elsewhere"),
        ("#[derive(Serialize)]\nstruct Own { #[serde(with = \"a::b\")] a: u8 }", "a::b"),
        ("#[derive(Serialize)]\n#[serde(rename_all = \"Odd\")]\nstruct Own { a: u8 }", "Odd"),
    ] {
        let told = made(text).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_name_is_that_of_the_module_which_a_file_names_also_where_that_hands_it_on() {
    let mut sources = Sources::default();
    let same = "#[derive(Serialize)]\npub struct Same {}";
    for file in ["assay-b/src/one.rs", "assay-b/src/two/mod.rs", "assay-c/src/far/same.rs"] {
        sources.add(&format!("crates/{file}"), same).unwrap();
    }
    let lib = "pub use two::Same as Handed;\npub use assay_c::far::same::Same as Far;";
    sources.add("crates/assay-b/src/lib.rs", lib).unwrap();
    let uses = "use assay_b::two::Same as Other;\nuse assay_b::{Far, Handed, Unknown as Same};";
    sources.add(FILE, uses).unwrap();
    let file = |path: &str| {
        let path: Vec<String> = path.split("::").map(str::to_owned).collect();
        sources.find(FILE, &path).map(|own| own.file.clone())
    };
    assert_eq!(file("Other").unwrap(), "crates/assay-b/src/two/mod.rs");
    assert_eq!(file("Handed").unwrap(), "crates/assay-b/src/two/mod.rs");
    assert_eq!(file("Far").unwrap(), "crates/assay-c/src/far/same.rs");
    assert_eq!(file("assay_b::one::Same").unwrap(), "crates/assay-b/src/one.rs");
    assert!(file("Same").unwrap_err().contains("no type is called assay_b::Unknown"));
    let two = "crates/assay-b/src/two/deep.rs";
    sources.add(two, "use super::Same;").unwrap();
    let found = sources.find(two, &["Same".to_owned()]).unwrap();
    assert_eq!(found.file, "crates/assay-b/src/two/mod.rs");
}

#[test]
fn what_is_promised_is_required_unless_it_may_be_left_out() {
    let page = "| format | made by | fields |\n| `assay-a/1` | `assay a --json` | `x`, `y` |\n\
                | `assay-b/1` | elsewhere | `z` |\n";
    let promised = promised(page);
    assert_eq!(promised.keys().collect::<Vec<_>>(), ["assay-a/1"]);
    let fields = &promised["assay-a/1"];
    let mut schema = json!({ "properties": { "x": {}, "y": {} }, "required": [] });
    promise(&mut schema, &["x".to_owned()], fields).unwrap();
    assert_eq!(schema["required"], json!(["x"]));
    let mut poorer = json!({ "properties": { "x": {} }, "required": [] });
    let told = promise(&mut poorer, &[], fields).unwrap_err();
    assert_eq!(told, "y is promised and is no field");
}
