//! The JSON Schema of study files, made from the rows of [`super::fields`], for editors that
//! complete and check TOML. What must hold between keys is left to the reader.

use serde_json::{Map, Value, json};

use super::fields::TARGET_FACTOR;
use super::fields::{Field, Fields, IO, Kind, Need, STUDY, TARGET_EXAMPLE, TARGET_SUMMARY};
use super::parameters::{PARAMETERS, Parameter};
use crate::factors::FACTORS;

const SIZE: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*[A-Za-z]+\s*$";
const TIME: &str =
    "^\\s*((0+\\.?0*|\\.0+)|([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*[A-Za-z\u{b5}\u{3bc}]+)\\s*$";
const SHARE: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(%|percent)\s*$";
const MIX: &str = r"^(read|write|rewrite|\s*[0-9]{1,3}\s*/\s*[0-9]{1,3}\s*)$";
const AMOUNT: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*\S+\s*$";
const PRICE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s+[A-Z]{3}\s*$";
const NOT_EMPTY: &str = r"\S";

/// The schema (JSON Schema 2020-12).
pub fn schema() -> Value {
    let mut schema = table(&STUDY);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Assay study");
    schema["description"] = json!("A study file of Assay (assay-study/1), written in TOML.");
    schema
}

fn table(fields: &Fields) -> Value {
    let needed = fields.rows.iter().filter(|field| field.need == Need::Always);
    let required: Vec<&str> = needed.map(|field| field.name).collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties(fields.rows.iter().map(|field| (field.name, of(field)))),
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn properties<'n>(rows: impl Iterator<Item = (&'n str, Value)>) -> Value {
    Value::Object(rows.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn of(field: &Field) -> Value {
    let mut schema = of_kind(&field.kind);
    let unless = if field.need == Need::UnlessFactor {
        "; required unless a factor of this name supplies it"
    } else {
        ""
    };
    schema["description"] =
        json!(format!("{}{unless}. Example: {}", field.summary(), field.example));
    schema
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text => text(NOT_EMPTY),
        Kind::Name => text("^[a-z0-9-]+$"),
        Kind::Word(choices) => json!({ "enum": choices() }),
        Kind::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Size { .. } => text(SIZE),
        Kind::Time { .. } => text(TIME),
        Kind::Share => text(SHARE),
        Kind::Start => json!({ "anyOf": [text(SIZE), text(SHARE)] }),
        Kind::Mix => text(MIX),
        Kind::Law(fields) => json!({ "anyOf": [text("^(lognormal|fixed),"), table(fields)] }),
        Kind::Rising { least, most } => json!({
            "type": "array",
            "uniqueItems": true,
            "items": { "type": "integer", "minimum": least, "maximum": most },
        }),
        Kind::FactorNames => {
            json!({ "type": "array", "uniqueItems": true, "items": { "enum": super::file::reader::factor_names() } })
        }
        Kind::Names(choices) => {
            json!({ "type": "array", "uniqueItems": true, "items": { "enum": choices() } })
        }
        Kind::Words => json!({ "type": "array", "items": any_level() }),
        Kind::Amount => text(AMOUNT),
        Kind::Price => text(PRICE),
        Kind::Table(fields) => table(fields),
        Kind::Tables(fields) => json!({ "type": "array", "minItems": 1, "items": table(fields) }),
        Kind::OneOf(fields) => {
            let mut schema = table(fields);
            schema["minProperties"] = json!(1);
            schema["maxProperties"] = json!(1);
            schema
        }
        Kind::Factors => factors(
            |level| json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": level }),
        ),
        Kind::Arm => factors(|level| level),
        Kind::Arms => json!({ "type": "array", "items": factors(|level| level) }),
    }
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// A table by factor, each with what `wrap` makes of one of its levels.
fn factors(wrap: impl Fn(Value) -> Value) -> Value {
    let described = |level: Value, summary: &str, example: &str| {
        let mut schema = wrap(level);
        schema["description"] = json!(format!("{summary}. Levels, for example: {example}"));
        schema
    };
    let parameters = PARAMETERS.iter().map(|parameter| {
        let about = &parameter.about;
        (about.name, described(level(parameter), about.summary, parameter.example))
    });
    let others = FACTORS.iter().filter(|factor| !factor.about().name.contains(':')).map(|factor| {
        let about = factor.about();
        (about.name, described(any_level(), about.summary, factor.example()))
    });
    let target = (TARGET_FACTOR, described(text(NOT_EMPTY), TARGET_SUMMARY, TARGET_EXAMPLE));
    json!({
        "type": "object",
        "additionalProperties": false,
        "patternProperties": { "^tunable:/(sys|proc/sys)/": wrap(any_level()) },
        "properties": properties(parameters.chain(others).chain([target])),
    })
}

/// One level: as the key of `io` takes it, or the same in quotes.
fn level(parameter: &Parameter) -> Value {
    let Some(field) = IO.find(parameter.about.name) else {
        return any_level();
    };
    match field.kind {
        Kind::Whole { .. } => json!({ "anyOf": [of_kind(&field.kind), text("^[0-9]+$")] }),
        Kind::Flag => json!({ "enum": [true, false, "true", "false"] }),
        _ => of_kind(&field.kind),
    }
}

fn any_level() -> Value {
    json!({ "type": ["string", "integer", "boolean"] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_described() {
        fn walk(schema: &Value, path: &str) {
            let Some(properties) = schema["properties"].as_object() else { return };
            for (name, inner) in properties {
                let path = format!("{path}.{name}");
                assert!(inner["description"].is_string(), "{path}");
                walk(inner, &path);
                walk(&inner["items"], &path);
            }
            assert_eq!(schema["additionalProperties"], false, "{path}");
        }
        let schema = schema();
        walk(&schema, "study");
        assert_eq!(schema["required"], json!(["format", "title", "workload"]));
    }
}
