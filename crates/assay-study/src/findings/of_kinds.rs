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
    use assay_kinds::work::{capacity, sustained};
    use serde_json::{Value, json};

    use super::*;
    use crate::findings::Findings;
    use crate::findings::said::Said;

    /// As findings had them when each had a field of its own.
    const TOLD: &str = r#"{"capacity":[{"workload":"capacity","arm":{"target":"/dev/x"},"verdict":"holds","claimed_bytes":64000000000,"held_bytes":64000000000,"held_ci95_bytes":[63900000000,64000000000],"full":false,"in_free_space":false,"checked_blocks":2560,"wrong_blocks":0,"rewritten_blocks":2048,"again_blocks":[0,0],"limit":{"scattered_95_bytes":100000000,"scattered_999_bytes":200000000,"rewrites_95_bytes":100000000,"stretch_bytes":62914560,"wraps":true,"cache_bytes":67108864,"written_bytes":268435456},"text":"It holds.","limit_text":"Little was missed."},{"workload":"capacity","arm":{"target":"/dev/y"},"verdict":"not-told","claimed_bytes":1,"held_bytes":null,"full":true,"in_free_space":true,"checked_blocks":1,"wrong_blocks":0,"rewritten_blocks":0,"again_blocks":[1,0],"limit":{"scattered_95_bytes":0,"scattered_999_bytes":0,"stretch_bytes":4096,"wraps":false,"cache_bytes":1,"written_bytes":1},"text":"Not told.","limit_text":"So it is.","not_told":"memory"}],"sustained":[{"workload":"long","arm":{},"course":{"written_bytes":3000,"levels":[{"from_bytes":0,"rate_bytes_per_s":4000000.0},{"from_bytes":1000,"from_ci95_bytes":[900,1100],"rate_bytes_per_s":0.1,"rate_ci95":[0.05,0.30000000000000004]}]},"text":"It writes."}]}"#;

    /// Findings with these keys among the others.
    fn document(told: &str) -> Value {
        let own: Value = serde_json::from_str(told).unwrap();
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
            "summary": ["It holds."],
            "summary_facts": [{"kind": "capacity"}],
            "what_a_later_version_says": {"more": [1]},
        });
        let all = document.as_object_mut().unwrap();
        all.extend(own.as_object().unwrap().clone());
        document
    }

    #[test]
    fn what_a_kind_tells_stands_below_its_name_to_the_byte() {
        let told: OfKinds = serde_json::from_str(TOLD).unwrap();
        assert_eq!(serde_json::to_string(&told).unwrap(), TOLD);
        assert_eq!(told.all().filter_map(capacity::Facts::of).count(), 2);
        assert_eq!(told.all().filter_map(sustained::Facts::of).count(), 1);
        let kinds: Vec<&str> = told.exhibits().iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, ["capacity", "sustained"]);
        let rows: Vec<usize> =
            told.exhibits().iter().map(|(_, own)| own.table.rows.len()).collect();
        assert_eq!(rows, [2, 2]);
        assert!(told.leads("capacity") && !told.leads("sustained") && !told.leads("io"));
    }

    #[test]
    fn findings_hold_it_between_their_own_fields() {
        let found: Findings = serde_json::from_value(document(TOLD)).unwrap();
        assert_eq!(found.of_kinds.all().count(), 3);
        assert_eq!(found.summary_facts, [Said::OfKind { kind: "capacity".to_owned() }]);
        let text = serde_json::to_string(&found).unwrap();
        assert!(text.contains(&TOLD[1..TOLD.len() - 1]), "{text}");
        assert!(text.contains(r#""summary_facts":[{"kind":"capacity"}]"#), "{text}");
        assert_eq!(serde_json::from_str::<Findings>(&text).unwrap(), found);
        let nothing: Findings = serde_json::from_value(document("{}")).unwrap();
        assert!(nothing.of_kinds.is_empty());
        let text = serde_json::to_string(&nothing).unwrap();
        assert!(!text.contains(r#""capacity":"#) && !text.contains("of_kinds"), "{text}");
    }

    #[test]
    fn kinds_come_in_their_order_whatever_ran_first() {
        let told: OfKinds = serde_json::from_str(TOLD).unwrap();
        let mut turned: Vec<Facts> = told.all().cloned().collect();
        turned.rotate_left(2);
        assert_eq!(OfKinds::from(turned), told);
    }

    #[test]
    fn what_is_no_fact_of_a_kind_is_refused() {
        let wrong = r#"{"capacity":[{"workload":"capacity"}]}"#;
        assert!(serde_json::from_str::<OfKinds>(wrong).is_err());
        let said = |kind: &str| serde_json::from_value::<Said>(json!({ "kind": kind }));
        assert!(said("sustained").is_ok() && said("trust").is_ok());
        assert!(said("rank").is_err(), "it names a workload and a metric");
        assert!(said("of-kind").is_err() && said("nothing of the kind").is_err());
    }
}
