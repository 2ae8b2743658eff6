//! Reports observations field by field, for any probe.

use serde_json::Value;

use super::look::{Entry, ProbeField};

impl Entry {
    /// Description of the field at a path of an observation.
    pub fn field_at(&self, place: &str) -> Option<&'static ProbeField> {
        let matches = |path: &str| {
            let is_match = |(pattern, name): (&str, &str)| pattern == "*" || pattern == name;
            path.split('.').count() == place.split('.').count()
                && path.split('.').zip(place.split('.')).all(is_match)
        };
        self.fields.iter().find(|field| matches(field.path))
    }
}

/// Every number, word and flag of a stored observation, with its place: names joined by dots.
pub fn leaves(observed: &Value) -> Vec<(String, &Value)> {
    let mut leaves = Vec::new();
    gather(observed, &mut Vec::new(), &mut leaves);
    leaves
}

/// Appends the leaves below `value` with their places; `place` has the names above and is left unchanged.
fn gather<'a>(value: &'a Value, place: &mut Vec<String>, leaves: &mut Vec<(String, &'a Value)>) {
    let mut descend = |name: String, value: &'a Value| {
        place.push(name);
        gather(value, place, leaves);
        place.pop();
    };
    match value {
        Value::Null => {}
        // A `Presence` is stored as `{"present": VALUE}` or `{"absent": "REASON"}`.
        Value::Object(map) => match map.iter().next() {
            Some((key, inner)) if map.len() == 1 && key == "present" => {
                gather(inner, place, leaves);
            }
            Some((key, Value::String(_))) if map.len() == 1 && key == "absent" => {}
            _ => map.iter().for_each(|(name, inner)| descend(name.clone(), inner)),
        },
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, inner)| descend(index.to_string(), inner));
        }
        leaf => leaves.push((place.join("."), leaf)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::probes::{disk, load};

    #[test]
    fn leaves_have_places_and_what_is_absent_has_none() {
        let observed = json!({
            "a": { "present": { "b": [1, 2], "c": null } },
            "d": { "absent": "no" },
            "e": "word",
        });
        let found: Vec<String> = leaves(&observed).into_iter().map(|(place, _)| place).collect();
        assert_eq!(found, ["a.b.0", "a.b.1", "e"]);
    }

    #[test]
    fn any_name_stands_for_a_star() {
        let at = |entry: &Entry, place: &str| entry.field_at(place).map(|field| field.path);
        assert_eq!(at(&disk::PROBE, "sda.run.reads"), Some("*.*.reads"));
        assert_eq!(at(&disk::PROBE, "sda.run"), None);
        assert_eq!(at(&disk::PROBE, "sda.run.reads.more"), None);
        assert_eq!(at(&load::PROBE, "7.4"), Some("*.4"));
    }
}
