//! The JSON Schema of study files, from the rows of [`super::fields`], without other rules.

use assay_core::catalogue::keys::{Field, Fields, Form, Need};
use assay_machine::factors;
use assay_workloads::io::Size;
use assay_workloads::metrics;
use serde_json::{Map, Value, json};

use super::fields::{STUDY, TARGET_EXAMPLE, TARGET_FACTOR, TARGET_SUMMARY};

const SIZE: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*[A-Za-z]+\s*$";
const TIME: &str =
    "^\\s*((0+\\.?0*|\\.0+)|([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*[A-Za-z\u{b5}\u{3bc}]+)\\s*$";
const SHARE: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*(%|percent)\s*$";
const MORE: &str = r"^\s*\+([0-9]+\.?[0-9]*|\.[0-9]+)\s*$";
const MIX: &str = concat!(
    r"^(read|write|rewrite|trim|zero|\s*[0-9]{1,3}\s*/\s*[0-9]{1,3}\s*",
    r"|(read|write|trim|zero)/[0-9]{1,3}(:(read|write|trim|zero)/[0-9]{1,3}){0,3})$",
);
const CONTENT: &str = r"^(100|[1-9]?[0-9])\s*%$";
const AMOUNT: &str = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*\S+\s*$";
const PRICE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s+[A-Z]{3}\s*$";
const RANGE: &str = r"^\s*\S.*\.\..*\S\s+in\s+(doublings|steps of\s+\S.*)\s*$";
const TUNABLE: &str = "^tunable:/(sys|proc/sys)/";
const NAMED: &str = "^[A-Za-z][A-Za-z0-9_-]*$";
const NOT_EMPTY: &str = r"\S";
const REPORTED: &str = "^reported_[a-z0-9_]+$";
const READING: &str = "^([a-z-]+|.+:[^:]*:(higher|lower))$";

pub fn schema() -> Value {
    let mut schema = table(&STUDY);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Assay study");
    schema["description"] = json!("A study file of Assay (assay-study/1), written in TOML.");
    schema["anyOf"] = json!([names_factors(), { "properties": { "factors": known_factors() } }]);
    schema
}

/// A study with a workload that may use a factor as `{NAME}`; the reader checks the names.
fn names_factors() -> Value {
    let kinds = assay_workloads::KINDS.iter().filter(|kind| kind.runs_programs);
    let some: Vec<Value> = kinds.map(|kind| json!({ "required": [kind.about.name] })).collect();
    json!({ "properties": { "workload": { "contains": { "anyOf": some } } } })
}

fn known_factors() -> Value {
    json!({ "propertyNames": { "anyOf": [
        { "enum": super::text::reader::factor_names() },
        text(TUNABLE),
    ] } })
}

fn table(fields: &Fields) -> Value {
    let needed = fields.rows.iter().filter(|field| field.need == Need::Always);
    let required: Vec<&str> = needed.map(|field| field.name).collect();
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties(fields.rows.iter().map(|field| (field.name, field_schema(field)))),
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let kinds = fields.rows.iter().filter(|field| field.need == Need::OneOf);
    let kinds: Vec<Value> = kinds.map(|field| json!({ "required": [field.name] })).collect();
    if !kinds.is_empty() {
        schema["oneOf"] = json!(kinds);
    }
    schema
}

fn properties<'n>(rows: impl Iterator<Item = (&'n str, Value)>) -> Value {
    Value::Object(rows.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn field_schema(field: &Field) -> Value {
    let mut schema = form_schema(&field.form);
    let unless = if field.need == Need::UnlessFactor {
        "; required unless a factor has this name"
    } else {
        ""
    };
    schema["description"] = json!(format!("{}{unless}. Example: {}", field.summary, field.example));
    schema
}

fn form_schema(form: &Form) -> Value {
    match form {
        Form::Text | Form::Claims => text(NOT_EMPTY),
        Form::Name => text("^[a-z0-9-]+$"),
        Form::Word(choices) => json!({ "enum": choices() }),
        Form::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Form::Flag => json!({ "type": "boolean" }),
        Form::FlagOrPath => json!({ "anyOf": [{ "type": "boolean" }, text(NOT_EMPTY)] }),
        Form::Metric => json!({ "anyOf": [{ "enum": metrics::names() }, text(REPORTED)] }),
        Form::Size { .. } => text(SIZE),
        Form::Sizes { .. } => text(Size::LOOKS),
        Form::Time { .. } => text(TIME),
        Form::Share | Form::Loss => text(SHARE),
        Form::LossOrAmount => json!({ "anyOf": [text(SHARE), text(MORE)] }),
        Form::Start => json!({ "anyOf": [text(SIZE), text(SHARE)] }),
        Form::Mix => text(MIX),
        Form::Content => text(CONTENT),
        Form::Own(own) => match own.number {
            None => text(own.pattern),
            Some([least, most]) => json!({
                "anyOf": [text(own.pattern), { "type": "integer", "minimum": least, "maximum": most }],
            }),
        },
        Form::Law(fields) => {
            json!({ "anyOf": [text("^(lognormal|exponential|fixed),"), table(fields)] })
        }
        Form::Rising { least, most } => json!({
            "type": "array",
            "uniqueItems": true,
            "items": { "type": "integer", "minimum": least, "maximum": most },
        }),
        Form::FactorNames => {
            json!({ "type": "array", "uniqueItems": true, "items": { "enum": super::text::reader::factor_names() } })
        }
        Form::Names(choices) => {
            json!({ "type": "array", "uniqueItems": true, "items": { "enum": choices() } })
        }
        Form::Words => json!({ "type": "array", "items": any_level() }),
        Form::Amount => text(AMOUNT),
        Form::Price => text(PRICE),
        Form::Table(fields) => table(fields),
        Form::Tables(fields) => json!({ "type": "array", "minItems": 1, "items": table(fields) }),
        Form::OneOf(fields) => {
            let mut schema = table(fields);
            schema["minProperties"] = json!(1);
            schema["maxProperties"] = json!(1);
            schema
        }
        Form::Factors => factors(
            |level| json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": level }),
        ),
        Form::Space => factors(|level| {
            let single = json!({ "anyOf": [text(RANGE), level] });
            let list =
                json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": single });
            json!({ "anyOf": [text(RANGE), list] })
        }),
        Form::Arm => factors(|level| level),
        Form::Texts => json!({
            "type": "object",
            "additionalProperties": false,
            "patternProperties": { NOT_EMPTY: any_level() },
        }),
        Form::Reads(fields) => {
            let single = json!({ "anyOf": [text(READING), table(fields)] });
            json!({ "anyOf": [single, { "type": "array", "items": single }] })
        }
        Form::Arms => json!({ "type": "array", "items": factors(|level| level) }),
    }
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// A table of factors; `wrap` creates the schema from that of a level.
fn factors(wrap: impl Fn(Value) -> Value) -> Value {
    let described = |level: Value, summary: &str, example: &str| {
        let mut schema = wrap(level);
        schema["description"] = json!(format!("{summary}. Example levels: {example}"));
        schema
    };
    let parameters = assay_workloads::parameters().iter().map(|parameter| {
        let about = parameter.about;
        (about.name, described(level(about.name), about.summary, parameter.example))
    });
    let others = factors::all().filter(|factor| !factor.about().name.contains(':')).map(|factor| {
        let about = factor.about();
        (about.name, described(any_level(), about.summary, factor.example()))
    });
    let target = (TARGET_FACTOR, described(text(NOT_EMPTY), TARGET_SUMMARY, TARGET_EXAMPLE));
    json!({
        "type": "object",
        "additionalProperties": false,
        "patternProperties": {
            TUNABLE: wrap(any_level()),
            NAMED: wrap(any_level()),
        },
        "properties": properties(parameters.chain(others).chain([target])),
    })
}

/// One level: a value of the workload's key, or the same value as a string.
fn level(name: &str) -> Value {
    let Some(field) = assay_workloads::key(name) else {
        return any_level();
    };
    match field.form {
        Form::Whole { .. } => json!({ "anyOf": [form_schema(&field.form), text("^[0-9]+$")] }),
        Form::Flag => json!({ "enum": [true, false, "true", "false"] }),
        _ => form_schema(&field.form),
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
