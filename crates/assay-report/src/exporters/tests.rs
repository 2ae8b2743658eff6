//! Compares exports with files; `UPDATE_EXPECT=1` rewrites them.
#![allow(clippy::disallowed_methods, reason = "these tests read and rewrite fixtures")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_analysis::import::{Options, trials_csv as importer};
use assay_core::lines::Splitter;
use assay_core::quantity::{Better, Scale};
use assay_study::findings::gate::{Ended, GateAnswer, Gated};
use assay_study::results::plan::Arm;
use assay_study::results::record::{Repeats, Status};
use assay_testkit::expected::Expected;

use super::*;
use crate::tests::{fixture, fixtures};

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = EXPORTERS.iter().map(|exporter| exporter.about.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

fn rough() -> Findings {
    let mut findings = fixture("study-import");
    let trial = |replicate, order, value, status, reason: &str| TrialValue {
        replicate,
        order: Some(order),
        value,
        status,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        repeats: None,
        outlier: false,
    };
    let mut first = findings.measurements[0].clone();
    first.trials = vec![
        trial(0, 1, Some(9.0), Status::Warmup, "warmup"),
        trial(2, 4, Some(2.5), Status::Ok, ""),
        trial(1, 2, Some(1.5), Status::Ok, "told all the same"),
        trial(3, 5, Some(7.0), Status::Disturbed, "others, \"loud\"\nwrote"),
        trial(4, 6, None, Status::Failed, "no space # left"),
        trial(5, 7, None, Status::Ok, "too few operations"),
    ];
    first.trials.push(TrialValue {
        repeats: Some(Repeats { replicate: 3, order: 5 }),
        ..trial(7, 8, Some(3.5), Status::Ok, "")
    });
    first.trials.push(TrialValue {
        repeats: Some(Repeats { replicate: 2, order: 4 }),
        ..trial(8, 9, Some(2.75), Status::Ok, "")
    });
    // The repeat replaces the disturbed one.
    first.counted = Some(vec![1, 2, 6]);
    first.configuration = [("a \"b\"".to_owned(), "x/y=z, 1".to_owned())].into();
    first.control = false;
    let mut second = first.clone();
    second.metric = "made_up".to_owned();
    (second.better, second.scale) = (Better::Higher, Scale::Difference);
    second.trials.truncate(3);
    second.counted = None;
    let mut lone = first.clone();
    lone.workload = "lone".to_owned();
    lone.configuration.clear();
    lone.trials = vec![trial(1, 3, Some(4.0), Status::Ok, "")];
    lone.counted = None;
    let mut control = first.clone();
    control.control = true;
    findings.measurements = vec![first, second, lone, control];
    let lost = Gated { loss: Some(0.25), ..Gated::bare("lone <1>".to_owned(), Ended::Fail) };
    let blind = Gated::silent("build (a \"b\")".to_owned(), "others, \"loud\"\nwrote".to_owned());
    findings.answers.gate = Some(GateAnswer::new(0.05, 0.3, false, vec![lost, blind]));
    findings
}

#[test]
fn what_goes_out_are_the_trials_that_the_row_sums_up() {
    let mut cell = rough().measurements.remove(0);
    let values = |cell: &Measurement| -> Vec<f64> {
        counting_values(cell).into_iter().map(|(_, value)| value).collect()
    };
    assert_eq!(values(&cell), [1.5, 2.5, 3.5], "a repeat stands for what was disturbed");
    // With too few undisturbed trials, the row counts the disturbed one instead of its repeat.
    cell.counted = Some(vec![1, 2, 3]);
    assert_eq!(values(&cell), [1.5, 2.5, 7.0]);
    cell.counted = None;
    assert_eq!(values(&cell), [1.5, 2.5]);
}

/// The same without the position of one trial.
fn unordered() -> Findings {
    let mut findings = rough();
    findings.measurements[1].trials[0].order = None;
    findings
}

fn empty() -> Findings {
    let mut findings = rough();
    for cell in &mut findings.measurements {
        cell.control = true;
    }
    findings.answers.gate = None;
    findings
}

#[test]
fn each_format_is_written_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/exports");
    let mut files = Expected::default();
    for (name, findings) in [
        ("rough", rough()),
        ("unordered", unordered()),
        ("commands", fixture("study-commands")),
        ("one-pair", fixture("study-one-pair")),
    ] {
        for exporter in EXPORTERS {
            let found = (exporter.write)(&findings).unwrap_or_else(|| "nothing\n".to_owned());
            let path = folder.join(format!("{name}.{}.txt", exporter.about.name));
            files.hold(path, &found);
        }
    }
}

#[test]
fn where_no_trial_counts_a_format_of_trials_says_nothing() {
    for exporter in EXPORTERS {
        let is_prose = ["markdown", "forum"].contains(&exporter.about.name);
        assert_eq!((exporter.write)(&empty()).is_some(), is_prose, "{}", exporter.about.name);
        assert!((exporter.left_out)(&empty()).is_empty(), "{}", exporter.about.name);
    }
}

/// Means of a table's counted rows, by its column `mean_kind`.
fn means(text: &str) -> BTreeMap<String, f64> {
    let mut rows = text.lines().map(|line| {
        let mut splitter = Splitter::new();
        splitter.split(line).unwrap();
        (0..splitter.count()).map(|at| splitter.field(at).to_owned()).collect::<Vec<_>>()
    });
    let header = rows.next().unwrap();
    let at = |name: &str| header.iter().position(|own| own == name).unwrap();
    let factors = at("mean_kind") + 1;
    let mut groups: BTreeMap<String, (String, Vec<f64>)> = BTreeMap::new();
    for row in rows.filter(|row| row[at("counted")] == "true") {
        let metric = row[at("metric")].split(':').next().unwrap();
        let key = format!("{} {metric} {:?}", row[at("workload")], &row[factors..]);
        let kind = row[at("mean_kind")].clone();
        groups.entry(key).or_insert((kind, Vec::new())).1.push(row[at("value")].parse().unwrap());
    }
    let mean = |(kind, mut values): (String, Vec<f64>)| match kind.as_str() {
        "arithmetic" => values.iter().sum::<f64>() / values.len() as f64,
        "geometric" => {
            (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
        }
        _ => {
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        }
    };
    groups.into_iter().map(|(key, group)| (key, mean(group))).collect()
}

#[test]
fn counted_rows_give_the_printed_means() {
    let mut all = String::new();
    let mut difference = rough();
    difference.measurements = vec![difference.measurements.remove(1)];
    difference.measurements[0].mean = Some(2.0);
    for (name, findings) in fixtures().into_iter().chain([("difference".to_owned(), difference)]) {
        let Some(text) = (trials_csv::EXPORTER.write)(&findings) else { continue };
        let mut found = means(&text);
        let cells = || findings.measurements.iter().filter(|cell| !cell.control);
        let factors: BTreeSet<&String> =
            cells().flat_map(|cell| cell.configuration.keys()).collect();
        for cell in cells() {
            let level = |name: &&String| cell.configuration.get(*name).cloned().unwrap_or_default();
            let levels: Vec<String> = factors.iter().map(level).collect();
            let key = format!("{} {} {levels:?}", cell.workload, cell.metric);
            let mean = found.remove(&key);
            let near = match (mean, cell.value()) {
                (Some(mean), Some(value)) => (mean - value).abs() <= 1e-9 * value.abs(),
                (None, None) => true,
                _ => false,
            };
            assert!(near, "{name}: {key}: {mean:?} instead of {:?}", cell.value());
        }
        assert!(found.is_empty(), "{name}: {found:?}");
        all += &text;
    }
    for row in ["ok,true", "disturbed,false", "failed,false", "warmup,false"] {
        assert!(all.contains(&format!(",{row},")), "{row}");
    }
    for kind in ["arithmetic", "geometric", "median"] {
        assert!(all.contains(kind), "{kind}");
    }
}

/// The table of two arms, one of which has this factor and level.
fn table(factor: &str, level: &str) -> String {
    let mut findings = crate::tests::fixture("study-grid");
    let mut cell = findings.measurements[0].clone();
    // Both have the same trials: their time order is not stated.
    cell.trials.iter_mut().for_each(|trial| trial.order = None);
    let mut other = cell.clone();
    cell.configuration = Arm::from([(factor.to_owned(), level.to_owned())]);
    other.configuration = Arm::from([(factor.to_owned(), "plain".to_owned())]);
    findings.measurements = vec![cell, other];
    (trials_csv::EXPORTER.write)(&findings).unwrap()
}

fn levels(factor: &str, text: &str) -> Vec<String> {
    let read = importer::read("again.csv", text, &Options::default()).unwrap();
    let series = read.measurements.series.iter();
    let mut levels: Vec<String> = series.map(|one| one.arm[factor].clone()).collect();
    levels.sort_unstable();
    levels.dedup();
    levels
}

#[test]
fn levels_come_in_again_as_they_went_out_whatever_signs_they_have() {
    for level in
        ["a,b", "say \"x\"", "\"", "# 1", "x#1", "=1+1", "=cmd|' /C calc'!A0", "a;b", "-1", "@x"]
    {
        let text = table("mount_options", level);
        let found = levels("mount_options", &text);
        let mut expected = [level, "plain"].map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(found, expected, "{text}");
        let text = table(level, "x");
        let mut expected = ["plain", "x"].map(str::to_owned);
        expected.sort_unstable();
        assert_eq!(levels(level, &text), expected, "{text}");
    }
}

#[test]
fn a_field_is_quoted_where_it_would_be_taken_for_several_and_else_not() {
    for (level, field) in [
        ("a,b", "\"a,b\""),
        ("say \"x\"", "\"say \"\"x\"\"\""),
        ("x#1", "\"x#1\""),
        ("two\nlines", "two lines"),
        ("two\r\nlines", "two  lines"),
        ("a tab\t", "a tab "),
        ("plainest", "plainest"),
        ("=1+1", "'=1+1"),
    ] {
        let text = table("f", level);
        let end = format!(",{field}");
        let own = text.lines().filter(|line| line.ends_with(&end)).count();
        let plain = text.lines().filter(|line| line.ends_with(",plain")).count();
        assert!(own > 0 && own == plain && own + plain + 1 == text.lines().count(), "{text}");
    }
}
