//! A minimal JSON Schema validator: only the keywords in the schemas of study files and documents. Also the document
//! schemas of the repository.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::Done;

pub fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../docs/reference/schemas"].iter().collect()
}

/// The schema of a format; `None` if it has none.
pub fn of_format(format: &str) -> Option<Value> {
    let name = format.strip_prefix("assay-")?.replace('/', "-");
    let text = fs::read_to_string(folder().join(format!("{name}.schema.json"))).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Checks a document against the schema of its format.
pub fn fits(document: &Value) -> Done<()> {
    let schema = document["format"].as_str().and_then(of_format);
    match schema.and_then(|schema| complaint(&schema, document)) {
        Some(complaint) => Err(format!("{}: {complaint}", document["format"])),
        None => Ok(()),
    }
}

/// Keywords without constraints.
const WORDS: [&str; 6] = ["$schema", "$defs", "title", "description", "deprecated", "default"];

/// Returns the error of a value; `None` if it is valid.
pub fn complaint(schema: &Value, value: &Value) -> Option<String> {
    judged(schema, schema, value)
}

fn judged(whole: &Value, schema: &Value, value: &Value) -> Option<String> {
    let complaint = |schema: &Value, value: &Value| judged(whole, schema, value);
    let keywords = schema.as_object().expect("a schema is an object");
    keywords.iter().find_map(|(keyword, rule)| match keyword.as_str() {
        word if WORDS.contains(&word) => None,
        "type" => unless(types(rule).any(|name| is(name, value)), keyword, value),
        "$ref" => {
            let path = rule.as_str().unwrap().trim_start_matches('#');
            let named = whole.pointer(path).unwrap_or_else(|| panic!("{rule} leads nowhere"));
            complaint(named, value)
        }
        "const" => unless(rule == value, keyword, value),
        "enum" => unless(rule.as_array().unwrap().contains(value), keyword, value),
        "anyOf" => {
            let fits = |one: &Value| complaint(one, value).is_none();
            unless(rule.as_array().unwrap().iter().any(fits), keyword, value)
        }
        "allOf" => rule.as_array().unwrap().iter().find_map(|one| complaint(one, value)),
        "oneOf" => {
            let fits = |one: &&Value| complaint(one, value).is_none();
            unless(rule.as_array().unwrap().iter().filter(fits).count() == 1, keyword, value)
        }
        "pattern" => value.as_str().and_then(|text| {
            let pattern = regex_lite::Regex::new(rule.as_str().unwrap()).unwrap();
            unless(pattern.is_match(text), keyword, value)
        }),
        "minimum" | "minItems" | "minProperties" => {
            size(keyword, value).and_then(|n| unless(n >= limit(rule), keyword, value))
        }
        "maximum" | "maxItems" | "maxProperties" => {
            size(keyword, value).and_then(|n| unless(n <= limit(rule), keyword, value))
        }
        "uniqueItems" => list(value).and_then(|l| {
            let repeated = l.iter().enumerate().any(|(at, item)| l[..at].contains(item));
            unless(!repeated, keyword, value)
        }),
        "items" => list(value).and_then(|l| l.iter().find_map(|item| complaint(rule, item))),
        "prefixItems" => list(value).and_then(|l| {
            let rules = rule.as_array().unwrap();
            rules.iter().zip(l).find_map(|(rule, item)| complaint(rule, item))
        }),
        "contains" => list(value).and_then(|l| {
            let found = l.iter().any(|item| complaint(rule, item).is_none());
            unless(found, keyword, value)
        }),
        "propertyNames" => value.as_object().and_then(|map| {
            map.keys().find_map(|name| complaint(rule, &Value::String(name.clone())))
        }),
        "required" => value.as_object().and_then(|map| {
            let missing = types(rule).find(|name| !map.contains_key(*name));
            missing.map(|name| format!("{name} is missing"))
        }),
        "properties" => value.as_object().and_then(|map| {
            map.iter().find_map(|(name, inner)| {
                let told = complaint(rule.get(name)?, inner)?;
                Some(format!("{name}: {told}"))
            })
        }),
        "patternProperties" => value.as_object().and_then(|map| {
            let rule_of = |name: &str| matching(schema, name);
            map.iter().find_map(|(name, inner)| complaint(rule_of(name)?, inner))
        }),
        "additionalProperties" if rule.is_object() => value.as_object().and_then(|map| {
            assert!(schema.get("properties").is_none(), "all are additional here");
            map.iter().find_map(|(name, inner)| {
                complaint(rule, inner).map(|told| format!("{name}: {told}"))
            })
        }),
        "additionalProperties" => value.as_object().and_then(|map| {
            assert_eq!(rule, false);
            let known = |name: &str| {
                schema["properties"].get(name).is_some() || matching(schema, name).is_some()
            };
            let unknown = map.keys().find(|name| !known(name));
            unknown.map(|name| format!("{name} is not known"))
        }),
        other => panic!("this validator does not know the keyword {other}"),
    })
}

/// The rule of a name that some pattern allows.
fn matching<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let patterns = schema["patternProperties"].as_object()?;
    let fits = |pattern: &str| regex_lite::Regex::new(pattern).unwrap().is_match(name);
    patterns.iter().find(|(pattern, _)| fits(pattern)).map(|(_, rule)| rule)
}

fn unless(holds: bool, keyword: &str, value: &Value) -> Option<String> {
    (!holds).then(|| format!("{keyword} refuses {value}"))
}

/// A name, or a list of names.
fn types(rule: &Value) -> impl Iterator<Item = &str> {
    let list = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
    list.iter().map(|name| name.as_str().unwrap())
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("this validator does not know the type {other}"),
    }
}

/// The quantity that a limit of a number, list or object applies to.
fn size(keyword: &str, value: &Value) -> Option<f64> {
    if keyword.ends_with("Items") {
        return value.as_array().map(|list| list.len() as f64);
    }
    if keyword.ends_with("Properties") {
        return value.as_object().map(|map| map.len() as f64);
    }
    value.as_f64()
}

fn list(value: &Value) -> Option<&Vec<Value>> {
    value.as_array()
}

fn limit(rule: &Value) -> f64 {
    rule.as_f64().unwrap()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_keyword_takes_what_is_right_and_refuses_what_is_not() {
        for (schema, right, wrong) in [
            (json!({ "type": ["number", "null"] }), json!([1.5, null]), json!(["1", true])),
            (json!({ "const": "a" }), json!(["a"]), json!(["b", null])),
            (json!({ "allOf": [{ "type": "integer" }, { "minimum": 2 }] }), json!([2]), json!([1])),
            (
                json!({ "type": "array", "prefixItems": [{ "type": "string" }], "maxItems": 2 }),
                json!([["a", 1]]),
                json!([[1], ["a", 1, 2]]),
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "string" } }),
                json!([{ "a": "b" }, {}]),
                json!([{ "a": 1 }, []]),
            ),
            (
                json!({ "$ref": "#/$defs/A", "$defs": { "A": { "type": "boolean" } } }),
                json!([true]),
                json!([1]),
            ),
        ] {
            for right in right.as_array().unwrap() {
                assert_eq!(complaint(&schema, right), None, "{schema}");
            }
            for wrong in wrong.as_array().unwrap() {
                assert!(complaint(&schema, wrong).is_some(), "{schema} takes {wrong}");
            }
        }
    }

    #[test]
    fn a_document_of_a_format_without_a_schema_is_not_judged() {
        fits(&json!({ "format": "assay-nothing/1" })).unwrap();
        fits(&json!({ "kind": 1 })).unwrap();
        fits(&json!({ "format": "assay-watch/1", "seconds": "1" })).unwrap_err();
    }
}
