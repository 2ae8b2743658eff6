//! Observations of which nothing else tells, over the trials of a row.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use assay_machine::probes::plain::leaves;
use assay_study::results::surroundings::facts::ObservedField;
use serde_json::Value;

use super::super::rows::WorkloadTrials;

#[derive(Default)]
struct Sum {
    numbers: Vec<f64>,
    words: Vec<String>,
}

pub(super) fn fields(row: &WorkloadTrials<'_>) -> Vec<ObservedField> {
    let observed = row.counting().flat_map(|trial| trial.record.evidence.plain());
    let named = observed.map(|(entry, observed)| (entry.about.name, observed));
    let of_row = |field: ObservedField| ObservedField {
        workload: row.workload.name.clone(),
        configuration: row.arm.clone(),
        ..field
    };
    summed(named).into_iter().map(of_row).collect()
}

/// Observations of some trials, each with the name of its probe, field by field.
fn summed(observed: impl Iterator<Item = (&'static str, Presence<Value>)>) -> Vec<ObservedField> {
    let mut sums: BTreeMap<(&str, String), Sum> = BTreeMap::new();
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for (probe, observed) in observed {
        match observed {
            Presence::Present(observed) => {
                for (place, leaf) in leaves(&observed) {
                    add(sums.entry((probe, place)).or_default(), leaf);
                }
            }
            Presence::Absent(reason) => _ = reasons.entry(probe).or_insert(reason),
        }
    }
    reasons.retain(|probe, _| !sums.keys().any(|(told, _)| told == probe));
    let told = sums.into_iter().map(|((probe, place), sum)| ObservedField {
        probe: probe.to_owned(),
        field: Some(place),
        n: sum.numbers.len().max(sum.words.len()),
        mean: mean(&sum.numbers),
        min: sum.numbers.iter().copied().reduce(f64::min),
        max: sum.numbers.iter().copied().reduce(f64::max),
        words: once(sum.words),
        ..ObservedField::default()
    });
    let untold = reasons.into_iter().map(|(probe, reason)| ObservedField {
        probe: probe.to_owned(),
        reason: Some(reason),
        ..ObservedField::default()
    });
    told.chain(untold).collect()
}

fn add(sum: &mut Sum, leaf: &Value) {
    match leaf {
        Value::String(word) => sum.words.push(word.clone()),
        Value::Bool(flag) => sum.words.push(if *flag { "yes" } else { "no" }.to_owned()),
        _ => sum.numbers.extend(leaf.as_f64()),
    }
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

fn once(mut words: Vec<String>) -> Vec<String> {
    words.sort();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_a_mean_words_stand_once_and_what_is_absent_has_its_reason() {
        let told = |open: u64, mode: &str| Presence::Present(json!({ "open": open, "mode": mode }));
        let observed = [
            ("files", told(2, "fast")),
            ("files", told(4, "fast")),
            ("files", Presence::absent("not in one trial")),
            ("fans", Presence::absent("there are none")),
        ];
        let found = summed(observed.into_iter());
        let fields: Vec<_> =
            found.iter().map(|one| (one.probe.as_str(), one.field.as_deref(), one.n)).collect();
        let known = [("files", Some("mode"), 2), ("files", Some("open"), 2), ("fans", None, 0)];
        assert_eq!(fields, known);
        assert_eq!(found[0].words, ["fast"]);
        assert_eq!((found[1].mean, found[1].min, found[1].max), (Some(3.0), Some(2.0), Some(4.0)));
        assert_eq!(found[2].reason.as_deref(), Some("there are none"));
    }
}
