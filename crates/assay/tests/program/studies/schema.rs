//! Just enough JSON Schema to judge our own: the keywords that `study::schema` uses, and no other.

use serde_json::Value;

/// Keywords that say nothing about a value.
const WORDS: [&str; 4] = ["$schema", "title", "description", "deprecated"];

/// What is wrong with a value; nothing where it fits.
pub fn complaint(schema: &Value, value: &Value) -> Option<String> {
    let keywords = schema.as_object().expect("a schema is an object");
    keywords.iter().find_map(|(keyword, rule)| match keyword.as_str() {
        word if WORDS.contains(&word) => None,
        "type" => unless(types(rule).any(|name| is(name, value)), keyword, value),
        "enum" => unless(rule.as_array().unwrap().contains(value), keyword, value),
        "anyOf" => {
            let fits = |one: &Value| complaint(one, value).is_none();
            unless(rule.as_array().unwrap().iter().any(fits), keyword, value)
        }
        "oneOf" => {
            let fits = |one: &&Value| complaint(one, value).is_none();
            unless(rule.as_array().unwrap().iter().filter(fits).count() == 1, keyword, value)
        }
        "pattern" => value.as_str().and_then(|text| {
            let pattern = regex_lite::Regex::new(rule.as_str().unwrap()).unwrap();
            unless(pattern.is_match(text), keyword, value)
        }),
        "minimum" => number(value).and_then(|n| unless(n >= limit(rule), keyword, value)),
        "maximum" => number(value).and_then(|n| unless(n <= limit(rule), keyword, value)),
        "minItems" => {
            list(value).and_then(|l| unless(l.len() as f64 >= limit(rule), keyword, value))
        }
        "uniqueItems" => list(value).and_then(|l| {
            let repeated = l.iter().enumerate().any(|(at, item)| l[..at].contains(item));
            unless(!repeated, keyword, value)
        }),
        "items" => list(value).and_then(|l| l.iter().find_map(|item| complaint(rule, item))),
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
            map.iter()
                .find_map(|(name, inner)| rule.get(name).and_then(|rule| complaint(rule, inner)))
        }),
        "patternProperties" => value.as_object().and_then(|map| {
            let rule_of = |name: &str| matching(schema, name);
            map.iter().find_map(|(name, inner)| complaint(rule_of(name)?, inner))
        }),
        "additionalProperties" => value.as_object().and_then(|map| {
            assert_eq!(rule, false);
            let known = |name: &str| {
                schema["properties"].get(name).is_some() || matching(schema, name).is_some()
            };
            let unknown = map.keys().find(|name| !known(name));
            unknown.map(|name| format!("{name} is not known"))
        }),
        "minProperties" => {
            value.as_object().and_then(|m| unless(m.len() as f64 >= limit(rule), keyword, value))
        }
        "maxProperties" => {
            value.as_object().and_then(|m| unless(m.len() as f64 <= limit(rule), keyword, value))
        }
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
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("this validator does not know the type {other}"),
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn list(value: &Value) -> Option<&Vec<Value>> {
    value.as_array()
}

fn limit(rule: &Value) -> f64 {
    rule.as_f64().unwrap()
}
