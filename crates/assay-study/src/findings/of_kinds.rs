//! What kinds of work tell of their own: each kind's facts stand in the findings below its name.

use std::fmt;

use assay_base::exhibit::Exhibit;
use assay_kinds::work::{Facts, KINDS};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// What kinds of work tell of rows, a kind after the other in the order of [`KINDS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfKinds(Vec<Facts>);

impl OfKinds {
    /// All of it.
    pub fn all(&self) -> impl Iterator<Item = &Facts> {
        self.0.iter()
    }

    /// The same, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Facts> {
        self.0.iter_mut()
    }

    /// Whether no kind tells anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What each kind shows, by its name.
    pub fn exhibits(&self) -> Vec<(&'static str, Exhibit)> {
        let mut shown: Vec<(&'static str, Exhibit)> = Vec::new();
        for facts in &self.0 {
            match shown.last_mut() {
                Some((kind, exhibit)) if *kind == name(facts) => exhibit.join(facts.exhibit()),
                _ => shown.push((name(facts), facts.exhibit())),
            }
        }
        shown
    }

    /// Whether what a kind says first answers what the study asks.
    pub fn leads(&self, kind: &str) -> bool {
        self.0.iter().find(|facts| name(facts) == kind).is_some_and(|facts| facts.exhibit().leads)
    }
}

fn name(facts: &Facts) -> &'static str {
    facts.kind().about.name
}

impl From<Vec<Facts>> for OfKinds {
    fn from(mut told: Vec<Facts>) -> Self {
        let place = |facts: &Facts| KINDS.iter().position(|kind| kind.about.name == name(facts));
        told.sort_by_key(place);
        Self(told)
    }
}

impl Serialize for OfKinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = self.0.chunk_by(|one, next| name(one) == name(next));
        serializer.collect_map(kinds.filter_map(|own| Some((name(own.first()?), own))))
    }
}

impl<'de> Deserialize<'de> for OfKinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading)
    }
}

/// Reads what stands below names of kinds; other keys are of other versions.
struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = OfKinds;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("what kinds of work tell, by their names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OfKinds, A::Error> {
        let mut told = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match Facts::read(&key, &mut map)? {
                Some(own) => told.extend(own),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(told.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_lab::kinds::kept;
    use serde_json::{Value, json};

    use super::*;
    use crate::findings::Findings;
    use crate::findings::said::Said;

    /// What each kind tells, as findings have it: by the name of the kind, with the key that it stands below.
    fn told_by_kind() -> BTreeMap<String, String> {
        let kept = kept("told.json").unwrap();
        assert!(!kept.is_empty());
        kept
    }

    /// The same of all kinds in one, in the order of the kinds.
    fn told_by_all() -> String {
        let kept = told_by_kind();
        let own = KINDS.iter().filter_map(|kind| kept.get(kind.about.name));
        let inner = own.map(|text| &text[1..text.len() - 1]).collect::<Vec<_>>();
        format!("{{{}}}", inner.join(","))
    }

    /// Findings with these keys among the others.
    fn document(told: &str, said: &[&str]) -> Value {
        let own: Value = serde_json::from_str(told).unwrap();
        let said: Vec<Value> = said.iter().map(|kind| json!({ "kind": kind })).collect();
        let mut document = json!({
            "format": "assay-findings/1",
            "study": {
                "id": "i", "title": "t", "kind": "check", "plan_sha256": "0", "started": "s",
                "seed": 1, "notes": [],
            },
            "environment": {
                "assay": "0", "kernel": "k", "cpu": "c", "cpus": null, "memory_bytes": null,
                "virtualisation": "none", "targets": [],
            },
            "workloads": [], "cells": [], "absent": [], "comparisons": [], "checks": [],
            "summary": vec!["It holds."; said.len()],
            "summary_facts": said,
            "what_a_later_version_says": {"more": [1]},
        });
        let all = document.as_object_mut().unwrap();
        all.extend(own.as_object().unwrap().clone());
        document
    }

    #[test]
    fn what_a_kind_tells_is_read_and_written_to_the_byte() {
        for (kind, text) in told_by_kind() {
            let told: OfKinds = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&told).unwrap(), text, "{kind}");
            assert!(!told.is_empty() && told.all().all(|facts| name(facts) == kind), "{kind}");
            let shown = told.exhibits();
            let kinds: Vec<&str> = shown.iter().map(|(kind, _)| *kind).collect();
            assert_eq!(kinds, [&*kind], "one exhibit, however many rows");
            let subjects: Vec<_> = told.all().map(|facts| facts.subject()).collect();
            let rows = &shown[0].1.table.rows;
            assert!(subjects.iter().all(|one| rows.iter().any(|row| row.of == *one)), "{kind}");
            assert_eq!(told.leads(&kind), shown[0].1.leads);
            assert!(!told.leads("io"));
        }
    }

    #[test]
    fn findings_hold_it_between_their_own_fields() {
        let kept = told_by_kind();
        let kinds: Vec<&str> = kept.keys().map(String::as_str).collect();
        let text = told_by_all();
        let found: Findings = serde_json::from_value(document(&text, &kinds)).unwrap();
        let all: OfKinds = serde_json::from_str(&text).unwrap();
        assert_eq!(found.of_kinds, all);
        let said = kinds.iter().map(|kind| Said::OfKind { kind: (*kind).to_owned() });
        assert_eq!(found.summary_facts, said.collect::<Vec<_>>());
        let written = serde_json::to_string(&found).unwrap();
        assert!(written.contains(&text[1..text.len() - 1]), "{written}");
        assert!(written.contains(&format!(r#""summary_facts":[{{"kind":"{}"}}"#, kinds[0])));
        assert_eq!(serde_json::from_str::<Findings>(&written).unwrap(), found);
        let nothing: Findings = serde_json::from_value(document("{}", &[])).unwrap();
        assert!(nothing.of_kinds.is_empty());
        let written = serde_json::to_string(&nothing).unwrap();
        let has_key = |kind: &&&str| written.contains(&format!(r#""{kind}":"#));
        assert_eq!(kinds.iter().find(has_key), None, "{written}");
        assert!(!written.contains("of_kinds"), "{written}");
    }

    #[test]
    fn kinds_come_in_their_order_whatever_ran_first() {
        let told: OfKinds = serde_json::from_str(&told_by_all()).unwrap();
        let first = name(told.all().next().unwrap());
        let mut turned: Vec<Facts> = told.all().cloned().collect();
        let count = turned.iter().filter(|facts| name(facts) == first).count();
        turned.rotate_left(count);
        assert_eq!(OfKinds::from(turned), told);
    }

    #[test]
    fn what_is_no_fact_of_a_kind_is_refused() {
        let said = |kind: &str| serde_json::from_value::<Said>(json!({ "kind": kind }));
        for (kind, text) in told_by_kind() {
            let told: Value = serde_json::from_str(&text).unwrap();
            for key in told.as_object().unwrap().keys() {
                let wrong = format!(r#"{{"{key}":[{{"workload":"w"}}]}}"#);
                assert!(serde_json::from_str::<OfKinds>(&wrong).is_err(), "{wrong}");
            }
            assert!(said(&kind).is_ok());
        }
        assert!(said("trust").is_ok());
        assert!(said("rank").is_err(), "it names a workload and a metric");
        assert!(said("of-kind").is_err() && said("nothing of the kind").is_err());
    }
}
