//! Facts of workload kinds: findings contain the facts of each kind below its key.

use std::fmt;

use assay_core::exhibit::{Exhibit, Subject};
use assay_workloads::tell::{RowNumber, RowSource};
use assay_workloads::{KINDS, WorkFacts};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{Findings, Measurement};
use crate::results::plan::arm_in_words;

/// Facts per kind, in the order of [`KINDS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfKinds(Vec<WorkFacts>);

impl OfKinds {
    pub fn all(&self) -> impl Iterator<Item = &WorkFacts> {
        self.0.iter()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut WorkFacts> {
        self.0.iter_mut()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn by_kind(&self) -> impl Iterator<Item = &[WorkFacts]> {
        self.0.chunk_by(|one, next| one.key() == next.key())
    }
}

impl Findings {
    /// Exhibits of the kinds of work; the topic is the key of the facts.
    pub fn kind_exhibits(&self) -> impl Iterator<Item = Exhibit> {
        self.of_kinds.by_kind().filter_map(|facts| {
            let topic = facts.first()?.key().to_owned();
            Some(Exhibit { topic, ..WorkFacts::exhibit(facts, self)? })
        })
    }

    /// Returns a sentence on the source of imported trials.
    pub fn recorded(&self) -> Option<String> {
        self.kind_exhibits().find_map(|exhibit| exhibit.recorded)
    }
}

impl RowSource for Findings {
    fn name(&self, of: &Subject) -> String {
        match arm_in_words(of.arm.iter()) {
            name if name.is_empty() => of.workload.clone(),
            name => name,
        }
    }

    fn numbers(&self, of: &Subject) -> Vec<RowNumber<'_>> {
        let of_row = |cell: &&Measurement| {
            cell.workload == of.workload && cell.configuration == of.arm && !cell.control
        };
        self.measurements.iter().filter(of_row).map(number).collect()
    }
}

fn number(cell: &Measurement) -> RowNumber<'_> {
    let trials = cell.trials.iter().filter_map(|trial| Some((trial.order?, trial.value)));
    RowNumber {
        metric: &cell.metric,
        n: cell.n,
        mean: cell.value(),
        ci95: cell.ci95,
        trials: trials.collect(),
    }
}

impl From<Vec<WorkFacts>> for OfKinds {
    fn from(mut list: Vec<WorkFacts>) -> Self {
        list.sort_by_key(|facts| {
            let name = facts.kind().about.name;
            KINDS.iter().position(|kind| kind.about.name == name)
        });
        Self(list)
    }
}

impl Serialize for OfKinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_map(self.by_kind().filter_map(|facts| Some((facts.first()?.key(), facts))))
    }
}

impl<'de> Deserialize<'de> for OfKinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KindsVisitor)
    }
}

/// Reads the facts below the keys of kinds; ignores keys of other versions.
struct KindsVisitor;

impl<'de> Visitor<'de> for KindsVisitor {
    type Value = OfKinds;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("what kinds of work tell, by their keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OfKinds, A::Error> {
        let mut facts = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            match WorkFacts::read(&key, &mut map)? {
                Some(more) => facts.extend(more),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(facts.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use assay_testkit::kinds::kept;
    use serde_json::{Value, json};

    use super::*;

    /// Stored facts of each kind as JSON, by the name of the kind.
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

    fn keys() -> BTreeSet<&'static str> {
        let told: OfKinds = serde_json::from_str(&told_by_all()).unwrap();
        told.all().map(WorkFacts::key).collect()
    }

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
                "virtualization": "none", "targets": [],
            },
            "workloads": [], "measurements": [], "absent": [], "comparisons": [], "checks": [],
            "summary": [],
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
            assert!(!told.is_empty(), "{kind}");
            assert!(told.all().all(|facts| facts.kind().about.name == kind), "{kind}");
        }
    }

    #[test]
    fn each_kind_shows_once_all_that_it_tells() {
        for (kind, text) in told_by_kind() {
            let found: Findings = serde_json::from_value(document(&text)).unwrap();
            let shown: Vec<Exhibit> = found.kind_exhibits().collect();
            let [exhibit] = &shown[..] else { panic!("{kind}: {shown:?}") };
            let all: Vec<&WorkFacts> = found.of_kinds.all().collect();
            assert!(all.iter().all(|facts| facts.key() == exhibit.topic), "{kind}");
            let rows = exhibit.tables.iter().flat_map(|table| &table.rows);
            let rows = rows.filter_map(|row| row.subject.as_ref());
            let known: Vec<&Subject> =
                rows.chain(exhibit.sentences.iter().map(|one| &one.about)).collect();
            let is_shown = |facts: &&WorkFacts| known.contains(&&facts.subject());
            assert!(all.iter().all(is_shown), "{kind}: {known:?}");
            assert_eq!(found.recorded(), exhibit.recorded, "{kind}");
        }
        let nothing: Findings = serde_json::from_value(document("{}")).unwrap();
        assert_eq!((nothing.kind_exhibits().count(), nothing.recorded()), (0, None));
    }

    /// A row contains its own numbers, not those of the A/A control.
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
                "workload": "own", "configuration": { "kernel": kernel }, "metric": "own_s", "better": "lower",
                "trials": [trial(3, mean)], "n": 1, "geometric_mean": mean, "min": mean,
                "median": mean, "max": mean, "ci95": null, "provisional": true, "control": control,
                "trust": "trusted", "reasons": [],
            })
        };
        let mut text = document("{}");
        text["measurements"] = json!([cell("6.1", true, 9.0), cell("6.1", false, 8.0)]);
        let found: Findings = serde_json::from_value(text).unwrap();
        let arm = [("kernel".to_owned(), "6.1".to_owned())].into();
        let mut own = Subject { workload: "own".to_owned(), arm };
        assert_eq!(found.name(&own), "kernel 6.1");
        let numbers = found.numbers(&own);
        assert_eq!((numbers.len(), numbers[0].metric, numbers[0].n), (1, "own_s", 1));
        assert_eq!((numbers[0].mean, &*numbers[0].trials), (Some(8.0), &[(3, Some(8.0))][..]));
        own.arm.clear();
        assert_eq!((&*found.name(&own), found.numbers(&own).len()), ("own", 0));
    }

    #[test]
    fn findings_hold_it_between_their_own_fields() {
        let keys: Vec<&str> = keys().into_iter().collect();
        let text = told_by_all();
        let found: Findings = serde_json::from_value(document(&text)).unwrap();
        let all: OfKinds = serde_json::from_str(&text).unwrap();
        assert_eq!(found.of_kinds, all);
        let written = serde_json::to_string(&found).unwrap();
        assert!(written.contains(&text[1..text.len() - 1]), "{written}");
        assert_eq!(serde_json::from_str::<Findings>(&written).unwrap(), found);
        let nothing: Findings = serde_json::from_value(document("{}")).unwrap();
        assert!(nothing.of_kinds.is_empty());
        let written = serde_json::to_string(&nothing).unwrap();
        let has_key = |key: &&&str| written.contains(&format!(r#""{key}":"#));
        assert_eq!(keys.iter().find(has_key), None, "{written}");
        assert!(!written.contains("of_kinds"), "{written}");
    }

    #[test]
    fn kinds_come_in_their_order_whatever_ran_first() {
        let told: OfKinds = serde_json::from_str(&told_by_all()).unwrap();
        let first = told.all().next().unwrap().key();
        let mut turned: Vec<WorkFacts> = told.all().cloned().collect();
        let count = turned.iter().filter(|facts| facts.key() == first).count();
        turned.rotate_left(count);
        assert_eq!(OfKinds::from(turned), told);
    }

    #[test]
    fn what_is_no_fact_of_a_kind_is_refused() {
        for key in keys() {
            let wrong = format!(r#"{{"{key}":[{{"workload":"w"}}]}}"#);
            assert!(serde_json::from_str::<OfKinds>(&wrong).is_err(), "{wrong}");
        }
    }
}
