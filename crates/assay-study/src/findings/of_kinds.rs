//! What kinds of work tell of their own: each kind's facts stand in the findings below its key.

use std::fmt;

use assay_base::exhibit::{Exhibit, Subject};
use assay_kinds::work::tell::{Number, Rows};
use assay_kinds::work::{Facts, KINDS};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Cell, Findings};
use crate::results::plan::arm_in_words;

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

    /// The facts of each kind.
    fn by_kind(&self) -> impl Iterator<Item = &[Facts]> {
        self.0.chunk_by(|one, next| one.key() == next.key())
    }
}

impl Findings {
    /// What each kind of work shows of what it tells, by its key.
    pub fn exhibits(&self) -> impl Iterator<Item = (&'static str, Exhibit)> {
        let shown = move |own: &[Facts]| Some((own.first()?.key(), Facts::exhibit(own, self)?));
        self.of_kinds.by_kind().filter_map(shown)
    }

    /// Whether what a kind says first answers what the study asks.
    pub fn leads(&self, key: &str) -> bool {
        self.exhibits().any(|(own, exhibit)| own == key && exhibit.leads)
    }

    /// Who recorded the trials, in a sentence, where they were not made but recorded by others.
    pub fn recorded(&self) -> Option<String> {
        self.exhibits().find_map(|(_, exhibit)| exhibit.recorded)
    }
}

impl Rows for Findings {
    fn name(&self, of: &Subject) -> String {
        match arm_in_words(of.arm.iter()) {
            name if name.is_empty() => of.workload.clone(),
            name => name,
        }
    }

    fn numbers(&self, of: &Subject) -> Vec<Number<'_>> {
        let own =
            |cell: &&Cell| cell.workload == of.workload && cell.arm == of.arm && !cell.control;
        self.cells.iter().filter(own).map(number).collect()
    }
}

fn number(cell: &Cell) -> Number<'_> {
    let trials = cell.trials.iter().filter_map(|trial| Some((trial.order?, trial.value)));
    Number {
        metric: &cell.metric,
        n: cell.n,
        mean: cell.value(),
        ci95: cell.ci95,
        trials: trials.collect(),
    }
}

impl From<Vec<Facts>> for OfKinds {
    fn from(mut told: Vec<Facts>) -> Self {
        let name = |facts: &Facts| facts.kind().about.name;
        let place = |facts: &Facts| KINDS.iter().position(|kind| kind.about.name == name(facts));
        told.sort_by_key(place);
        Self(told)
    }
}

impl Serialize for OfKinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.by_kind().filter_map(|own| Some((own.first()?.key(), own))))
    }
}

impl<'de> Deserialize<'de> for OfKinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading)
    }
}

/// Reads what stands below keys of kinds; other ones are of other versions.
struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = OfKinds;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("what kinds of work tell, by their keys")
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
    use assay_kinds::work::{boot, capacity, sustained};
    use serde_json::{Value, json};

    use super::*;
    use crate::findings::said::Said;

    /// As findings had them when each had a field of its own.
    const TOLD: &str = r#"{"boots":[{"workload":"boot","arm":{"kernel":"6.1"},"n":2,"units":[{"name":"a.service","n":2,"mean_s":8.25,"longest_s":9.5}],"unfinished":[{"started":"2026-11-23T06:49:05Z","reason":"it was cut off"}],"notes":["the wall clock was set"]},{"workload":"boot","arm":{"kernel":"6.6"},"n":0}],"capacity":[{"workload":"capacity","arm":{"target":"/dev/x"},"verdict":"holds","claimed_bytes":64000000000,"held_bytes":64000000000,"held_ci95_bytes":[63900000000,64000000000],"full":false,"in_free_space":false,"checked_blocks":2560,"wrong_blocks":0,"rewritten_blocks":2048,"again_blocks":[0,0],"limit":{"scattered_95_bytes":100000000,"scattered_999_bytes":200000000,"rewrites_95_bytes":100000000,"stretch_bytes":62914560,"wraps":true,"cache_bytes":67108864,"written_bytes":268435456},"text":"It holds.","limit_text":"Little was missed."},{"workload":"capacity","arm":{"target":"/dev/y"},"verdict":"not-told","claimed_bytes":1,"held_bytes":null,"full":true,"in_free_space":true,"checked_blocks":1,"wrong_blocks":0,"rewritten_blocks":0,"again_blocks":[1,0],"limit":{"scattered_95_bytes":0,"scattered_999_bytes":0,"stretch_bytes":4096,"wraps":false,"cache_bytes":1,"written_bytes":1},"text":"Not told.","limit_text":"So it is.","not_told":"memory"}],"sustained":[{"workload":"long","arm":{},"course":{"written_bytes":3000,"levels":[{"from_bytes":0,"rate_bytes_per_s":4000000.0},{"from_bytes":1000,"from_ci95_bytes":[900,1100],"rate_bytes_per_s":0.1,"rate_ci95":[0.05,0.30000000000000004]}]},"text":"It writes."}]}"#;

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
    fn what_a_kind_tells_stands_below_its_key_to_the_byte() {
        let told: OfKinds = serde_json::from_str(TOLD).unwrap();
        assert_eq!(serde_json::to_string(&told).unwrap(), TOLD);
        assert_eq!(told.all().filter_map(boot::Facts::of).count(), 2);
        assert_eq!(told.all().filter_map(capacity::Facts::of).count(), 2);
        assert_eq!(told.all().filter_map(sustained::Facts::of).count(), 1);
    }

    #[test]
    fn each_kind_shows_once_all_that_it_tells() {
        let found: Findings = serde_json::from_value(document(TOLD)).unwrap();
        let shown: Vec<(&str, Exhibit)> = found.exhibits().collect();
        let kinds = shown.iter().map(|(key, own)| (*key, own.table.rows.len(), own.leads));
        let kinds: Vec<(&str, usize, bool)> = kinds.collect();
        assert_eq!(kinds, [("boots", 0, false), ("capacity", 2, true), ("sustained", 2, false)]);
        assert!(found.recorded().is_some_and(|text| text.contains("systemd wrote")));
        let sentences: Vec<usize> = shown.iter().map(|(_, own)| own.sentences.len()).collect();
        assert_eq!(sentences, [2, 4, 1]);
        assert!(found.leads("capacity") && !found.leads("sustained") && !found.leads("io"));
        let nothing: Findings = serde_json::from_value(document("{}")).unwrap();
        assert_eq!((nothing.exhibits().count(), nothing.recorded()), (0, None));
    }

    /// What is known of a row are its own numbers, and not those of a second copy of the baseline.
    #[test]
    fn a_row_has_its_name_and_its_numbers() {
        let trial = |order: u32, value: f64| {
            let (status, reason) = ("ok", Value::Null);
            json!({
                "replicate": 1, "order": order, "value": value, "status": status, "reason": reason,
            })
        };
        let cell = |kernel: &str, control: bool, mean: f64| {
            json!({
                "workload": "boot", "arm": { "kernel": kernel }, "metric": "boot_s", "better": "lower",
                "trials": [trial(3, mean)], "n": 1, "geometric_mean": mean, "min": mean,
                "median": mean, "max": mean, "ci95": null, "provisional": true, "control": control,
                "trust": "trusted", "because": [],
            })
        };
        let mut text = document(TOLD);
        text["cells"] = json!([cell("6.1", true, 9.0), cell("6.1", false, 8.0)]);
        let found: Findings = serde_json::from_value(text).unwrap();
        let arm = [("kernel".to_owned(), "6.1".to_owned())].into();
        let mut own = Subject { workload: "boot".to_owned(), arm };
        assert_eq!(found.name(&own), "kernel 6.1");
        let numbers = found.numbers(&own);
        assert_eq!((numbers.len(), numbers[0].metric, numbers[0].n), (1, "boot_s", 1));
        assert_eq!((numbers[0].mean, &*numbers[0].trials), (Some(8.0), &[(3, Some(8.0))][..]));
        own.arm.clear();
        assert_eq!((&*found.name(&own), found.numbers(&own).len()), ("boot", 0));
    }

    #[test]
    fn findings_hold_it_between_their_own_fields() {
        let found: Findings = serde_json::from_value(document(TOLD)).unwrap();
        assert_eq!(found.of_kinds.all().count(), 5);
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
        turned.rotate_left(4);
        assert_eq!(OfKinds::from(turned), told);
    }

    #[test]
    fn what_is_no_fact_of_a_kind_is_refused() {
        let wrong = r#"{"capacity":[{"workload":"capacity"}]}"#;
        assert!(serde_json::from_str::<OfKinds>(wrong).is_err());
        let said = |kind: &str| serde_json::from_value::<Said>(json!({ "kind": kind }));
        assert!(said("sustained").is_ok() && said("trust").is_ok());
        assert!(said("boots").is_ok(), "it is the key of a kind");
        assert!(said("boot").is_err() && said("io").is_err(), "that is none");
        assert!(said("rank").is_err(), "it names a workload and a metric");
        assert!(said("of-kind").is_err() && said("nothing of the kind").is_err());
    }
}
