//! JSON for dashboards, one number per row: <https://github.com/benchmark-action/github-action-benchmark>.

use serde::Serialize;

use assay_core::{catalogue::About, quantity::Better};
use assay_study::findings::{Comparison, Findings, Measurement, Trust};
use assay_workloads::metrics::noun;

use super::{Exporter, arm_words, brief};

pub const SMALLER: Exporter = Exporter {
    about: About {
        name: "custom-smaller-is-better",
        summary: "JSON for github-action-benchmark (customSmallerIsBetter): times, bytes, energy",
        text: "Contains one entry per number for which smaller is better: `name` contains workload, configuration and \
               metric, `range` the 95% CI, and `extra` trust and verdict. Assay omits invalid numbers and reports the \
               omission. If larger is better, use custom-bigger-is-better.",
    },
    write: |findings| write(findings, Better::Lower),
    left_out: |findings| left_out(findings, Better::Lower),
};

pub const BIGGER: Exporter = Exporter {
    about: About {
        name: "custom-bigger-is-better",
        summary: "JSON for github-action-benchmark (customBiggerIsBetter): rates",
        text: "Contains one entry per number for which larger is better; otherwise like custom-smaller-is-better.",
    },
    write: |findings| write(findings, Better::Higher),
    left_out: |findings| left_out(findings, Better::Higher),
};

/// An entry of the format. Omits missing values: the reader would print null as text.
#[derive(Serialize)]
struct ExportEntry {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

const SPELLED: [(&str, &str); 4] = [("j", "J"), ("w", "W"), ("gib", "GiB"), ("mib", "MiB")];
/// Suffixes of metric names that are units.
pub(super) const UNITS: [&str; 10] =
    ["ns", "us", "ms", "s", "min", "bytes", "j", "w", "share", "percent"];

fn write(findings: &Findings, better: Better) -> Option<String> {
    let valid = rows(findings, better).filter(|(cell, _)| !is_invalid(cell));
    let entries: Vec<_> = valid.map(|(cell, value)| entry(findings, cell, value)).collect();
    let text = serde_json::to_string_pretty(&entries).unwrap_or_default();
    (!entries.is_empty()).then_some(text + "\n")
}

fn left_out(findings: &Findings, better: Better) -> Vec<String> {
    let invalid = rows(findings, better).filter(|(cell, _)| is_invalid(cell));
    invalid.map(|(cell, _)| format!("{} is omitted: {}", name(cell), trust(cell))).collect()
}

/// The cells of a direction without the A/A control, with their finite means.
fn rows(findings: &Findings, better: Better) -> impl Iterator<Item = (&Measurement, f64)> {
    let cells = findings.measurements.iter().filter(move |it| !it.control && it.better == better);
    cells.filter_map(|cell| Some((cell, cell.value().filter(|value| value.is_finite())?)))
}

fn is_invalid(cell: &Measurement) -> bool {
    cell.trust == Some(Trust::Invalid)
}

fn entry(findings: &Findings, cell: &Measurement, value: f64) -> ExportEntry {
    let range = cell.ci95.map(|[low, high]| format!("{}..{}", brief(low), brief(high)));
    let trials = if cell.n == 1 { "1 trial".to_owned() } else { format!("{} trials", cell.n) };
    let mut lines = vec![trust(cell), trials];
    lines.extend(verdicts(findings, cell));
    let extra = lines.join("\n");
    ExportEntry { name: name(cell), unit: unit(&cell.metric), value, range, extra }
}

/// `read (queue_depth=8): iops`.
fn name(cell: &Measurement) -> String {
    match arm_words(cell).as_str() {
        "" => format!("{}: {}", cell.workload, cell.metric),
        arm => format!("{} ({arm}): {}", cell.workload, cell.metric),
    }
}

fn trust(cell: &Measurement) -> String {
    let word = cell.trust.map_or("not judged", Trust::word);
    let reasons = cell.reasons.iter().filter(|reason| reason.trust != Trust::Trusted);
    let reasons: Vec<String> = reasons.map(|it| format!("{}: {}", it.rule, it.text)).collect();
    if reasons.is_empty() { word.to_owned() } else { format!("{word} ({})", reasons.join("; ")) }
}

/// Whether a cell is a baseline, and the sentences of its comparisons.
fn verdicts(findings: &Findings, cell: &Measurement) -> Vec<String> {
    let is_of_cell = |it: &&Comparison| it.workload == cell.workload && it.metric == cell.metric;
    let comparisons = || findings.comparisons.iter().filter(is_of_cell);
    let mut lines = Vec::new();
    if comparisons().any(|it| it.baseline == cell.configuration) {
        lines.push("baseline".to_owned());
    }
    for it in comparisons().filter(|it| it.configuration == cell.configuration && !it.withheld) {
        lines.extend(Some(it.text.clone()).filter(|text| !text.is_empty()));
    }
    lines
}

/// The unit by the end of a metric's name, such as `bytes/second`; without one, the noun of the metric.
fn unit(metric: &str) -> String {
    let spelled = |word: &str| {
        let known = SPELLED.iter().find(|(suffix, _)| *suffix == word);
        known.map_or_else(|| word.to_owned(), |(_, written)| (*written).to_owned())
    };
    if metric == "iops" {
        return "operations/s".to_owned();
    }
    let (stem, last) = metric.rsplit_once('_').unwrap_or(("", metric));
    // `bytes` of `bandwidth_bytes_per_s`; `None` if the metric is not a rate.
    let numerator = stem.strip_suffix("_per").and_then(|stem| stem.rsplit('_').next());
    match numerator {
        Some(numerator) => format!("{}/{}", spelled(numerator), spelled(last)),
        None if UNITS.contains(&last) => spelled(last),
        None => noun(metric).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use assay_study::findings::Because;

    use super::*;
    use crate::tests::fixture;

    fn entries(findings: &Findings, better: Better) -> Vec<Value> {
        let text = write(findings, better).unwrap_or_else(|| "[]".to_owned());
        serde_json::from_str::<Vec<Value>>(&text).unwrap()
    }

    #[test]
    fn each_number_goes_to_the_side_on_which_it_is_better() {
        let findings = fixture("study-one-pair");
        let [lower, higher] =
            [Better::Lower, Better::Higher].map(|better| entries(&findings, better));
        let of = |all: &[Value], word: &str| {
            all.iter().filter(|one| one["name"].as_str().unwrap().ends_with(word)).count()
        };
        assert_eq!((of(&higher, ": iops"), of(&lower, ": iops")), (2, 0));
        assert_eq!((of(&higher, ": latency_p99_ns"), of(&lower, ": latency_p99_ns")), (0, 2));
        assert_eq!(higher[0]["unit"], "operations/s");
        // A single trial has no interval; the field is missing, not null.
        assert!(higher[0].get("range").is_none(), "{}", higher[0]);
    }

    #[test]
    fn an_entry_has_the_value_in_full_its_interval_trust_and_verdict() {
        let findings = fixture("study-commands");
        let cell = findings.measurements.iter().find(|cell| cell.metric == "duration_s").unwrap();
        let all = entries(&findings, Better::Lower);
        let named = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
        let own = named(&name(cell));
        let share = own["value"].as_f64().unwrap() / cell.value().unwrap();
        assert!((share - 1.0).abs() < 1e-12, "{own}");
        assert_eq!(own["unit"], "s");
        let [low, high] = cell.ci95.unwrap();
        assert_eq!(own["range"], format!("{}..{}", brief(low), brief(high)));
        let extra = own["extra"].as_str().unwrap();
        assert!(extra.contains(&format!("\n{} trials\nbaseline", cell.n)), "{extra}");
        let is_its = |one: &&Comparison| one.metric == cell.metric && !one.text.is_empty();
        let one = findings.comparisons.iter().find(is_its).unwrap();
        assert!(all.iter().any(|own| own["extra"].as_str().unwrap().ends_with(&one.text)));
    }

    #[test]
    fn an_invalid_number_is_left_out_and_told_and_a_suspect_one_says_why() {
        let mut findings = fixture("study-commands");
        assert_eq!(left_out(&findings, Better::Lower), Vec::<String>::new());
        let before = entries(&findings, Better::Lower).len();
        let is_time = |cell: &&mut Measurement| cell.metric == "duration_s" && !cell.control;
        let times = findings.measurements.iter_mut().filter(is_time);
        for (cell, trust) in times.zip([Trust::Invalid, Trust::Suspect]) {
            cell.trust = Some(trust);
            let rule = "foreign-io".to_owned();
            cell.reasons = vec![Because { rule, trust, text: "others wrote".to_owned() }];
        }
        let after = entries(&findings, Better::Lower);
        assert_eq!(after.len(), before - 1);
        let told = left_out(&findings, Better::Lower);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].ends_with("is omitted: invalid (foreign-io: others wrote)"), "{told:?}");
        let suspect = "suspect (foreign-io: others wrote)\n";
        let doubted = |one: &&Value| one["extra"].as_str().unwrap().starts_with(suspect);
        assert_eq!(after.iter().filter(doubted).count(), 1);
        assert_eq!(left_out(&findings, Better::Higher), Vec::<String>::new());
    }

    #[test]
    fn units_are_those_that_names_carry() {
        for (metric, told) in [
            ("duration_s", "s"),
            ("latency_p99_ns", "ns"),
            ("bandwidth_bytes_per_s", "bytes/s"),
            ("cpu_s_per_gib", "s/GiB"),
            ("energy_j_per_gib", "J/GiB"),
            ("energy_j", "J"),
            ("peak_memory_bytes", "bytes"),
            ("reported_ops_per_s", "ops/s"),
            ("write_amplification", "write amplification"),
            ("reported_tps", "tps"),
        ] {
            assert_eq!(unit(metric), told, "{metric}");
        }
    }
}
