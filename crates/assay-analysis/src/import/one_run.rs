//! Parses the output of a tool that a measured command ran.

use std::collections::BTreeSet;

use assay_workloads::command::{ParsedNumber, ToolOutput, slug};

use super::run::{ImportedRun, name_places};
use super::{Reads, find, grouped};

const NAME: &str = "its output";

/// The numbers of one run of a tool, the most important first; equal runs give their mean. If the tool did several
/// kinds of work, a prefix distinguishes the names.
pub fn numbers(format: &str, text: &str) -> Result<ToolOutput, String> {
    let importer = find(format).ok_or_else(|| format!("unknown format {format}"))?;
    let Reads::Runs(read) = importer.reads else {
        return Err(format!(
            "{format} is for tables of trials or single requests, not for the numbers of one run"
        ));
    };
    let mut found = read(NAME, text).map_err(|failure| failure.message)?;
    name_places(std::slice::from_mut(&mut found));
    if let Some(why) = found.runs.iter().find_map(|run| run.failed.as_ref()) {
        return Err(why.clone());
    }
    let groups = grouped(&found.runs, |one, other| {
        one.workload == other.workload && one.settings == other.settings
    });
    let firsts: Vec<&ImportedRun> = groups.iter().map(|group| group[0]).collect();
    let mut numbers: Vec<ParsedNumber> = Vec::new();
    for group in &groups {
        let prefix = distinguishing_settings(group[0], &firsts);
        for reported in &group[0].values {
            let Some(value) = mean(group, &reported.metric) else { continue };
            let name = slug(&format!("{prefix} {}", reported.metric));
            if numbers.iter().all(|known| known.name != name) {
                numbers.push(ParsedNumber { name, better: reported.better, value });
            }
        }
    }
    if numbers.is_empty() {
        return Err(format!("it contains no {format} number"));
    }
    let evidence = found.runs.into_iter().flat_map(|run| run.evidence).collect();
    Ok(ToolOutput { numbers, evidence })
}

/// The settings that distinguish a run from the others of its text; empty if it is the only one.
fn distinguishing_settings(run: &ImportedRun, all: &[&ImportedRun]) -> String {
    let mut words = Vec::new();
    if all.iter().any(|other| other.workload != run.workload) {
        words.push(run.workload.clone());
    }
    let own = all.iter().filter(|other| other.workload == run.workload);
    let keys: BTreeSet<&String> = own.clone().flat_map(|other| other.settings.keys()).collect();
    for key in keys {
        let level = run.settings.get(key);
        if own.clone().any(|other| other.settings.get(key) != level) {
            words.push(format!("{key} {}", level.map_or("unset", String::as_str)));
        }
    }
    words.join(" ")
}

/// Mean of a metric over equal runs; `None` if a run lacks it.
fn mean(group: &[&ImportedRun], metric: &str) -> Option<f64> {
    let value = |run: &&ImportedRun| run.values.iter().find(|own| own.metric == metric)?.value;
    let sum: Option<f64> = group.iter().map(value).sum();
    sum.map(|sum| sum / group.len() as f64)
}

#[cfg(test)]
mod tests {
    use assay_workloads::command::FORMATS;

    use super::super::IMPORTERS;
    use super::*;

    fn told(format: &str, text: &str) -> Vec<(String, f64)> {
        let found = numbers(format, text).unwrap();
        found.numbers.into_iter().map(|own| (own.name, own.value)).collect()
    }

    #[test]
    fn every_format_of_runs_may_be_read_and_tables_may_not() {
        let runs = IMPORTERS.iter().filter(|one| matches!(one.reads, Reads::Runs(_)));
        let names: Vec<&str> = runs.map(|one| one.about.name).collect();
        assert_eq!(names, FORMATS);
        assert!(
            numbers("trials-csv", "replicate,value\n").unwrap_err().contains("tables of trials")
        );
        assert!(numbers("no-format", "").unwrap_err().contains("unknown format no-format"));
    }

    #[test]
    fn one_kind_of_work_has_plain_names_and_several_have_what_sets_them_apart() {
        let line = |name: &str, ns: f64| format!("Benchmark{name} \t 100\t {ns} ns/op\n");
        assert_eq!(told("go-bench", &line("A", 12.5)), [("time_per_op_ns".to_owned(), 12.5)]);
        let equal = told("go-bench", &(line("A", 10.0) + &line("A", 20.0)));
        assert_eq!(equal, [("time_per_op_ns".to_owned(), 15.0)]);
        let two = told("go-bench", &(line("Read", 10.0) + &line("Write", 20.0)));
        let names: Vec<&str> = two.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), 2);
        assert!(names[0].contains("read") && names[1].contains("write"), "{names:?}");
        assert!(names.iter().all(|name| name.ends_with("_time_per_op_ns")), "{names:?}");
    }

    #[test]
    fn what_is_no_output_of_the_tool_says_so() {
        for text in ["", "hello", "{}", "{\"jobs\": []}"] {
            let told = numbers("fio-json", text).unwrap_err();
            assert!(told.starts_with(NAME), "{told}");
        }
    }
}
