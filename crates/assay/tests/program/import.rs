//! `assay import` on files: each error with its position and advice, each valid file with its measurements.
//! `UPDATE_EXPECT=1` rewrites the expected texts; review them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use assay_analysis::import::{self, Imported, Options, trials_csv};
use assay_core::quantity::Percent;
use assay_study::file::Order;
use assay_study::findings::measurements::Series;
use assay_study::results::plan::Arm;
use assay_testkit::expected::Expected;
use proptest::prelude::*;

fn examples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/csv").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "csv")).collect();
    found.sort();
    found
}

/// Parses options from a first line `# options: --baseline NAME=LEVEL --primary-metric METRIC --margin 2%`.
fn options(text: &str) -> Options {
    let mut options = Options::default();
    let line = text.lines().next().and_then(|line| line.strip_prefix("# options: "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    for pair in words.chunks(2) {
        match pair {
            ["--baseline", level] => {
                let (name, level) = level.split_once('=').unwrap();
                options.baseline.insert(name.to_owned(), level.to_owned());
            }
            ["--primary-metric", metric] => options.primary = Some((*metric).to_owned()),
            ["--margin", margin] => {
                options.margin = Some(margin.parse::<Percent>().unwrap().fraction());
            }
            other => panic!("{other:?} is no option"),
        }
    }
    options
}

#[test]
fn every_mistake_is_told_with_its_place_and_advice() {
    let mut files = Expected::default();
    let all = examples("invalid");
    for path in &all {
        let text = fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let failure = trials_csv::read(name, &text, &options(&text))
            .expect_err(&format!("{name} is read without a mistake"));
        assert_eq!(failure.kind.exit_code(), 2, "{name}");
        for line in failure.message.lines() {
            let place = line.strip_prefix(&format!("{name}:")).expect(line);
            let numbers: Vec<&str> = place.splitn(3, ':').collect();
            assert!(numbers[0].parse::<usize>().is_ok_and(|line| line > 0), "{line}");
            let column = numbers[1].split(' ').next().unwrap();
            assert!(column.parse::<usize>().is_ok_and(|column| column > 0), "{line}");
        }
        files.hold(path.with_extension("expected.txt"), &format!("{}\n", failure.message));
    }
    assert!(all.len() >= 25, "{}", all.len());
}

#[test]
fn good_files_become_measurements() {
    let mut files = Expected::default();
    for path in examples("valid") {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let imported = trials_csv::read(name, &text, &options(&text)).unwrap();
        files.hold(path.with_extension("expected.txt"), &told(&imported));
    }
}

fn arm(arm: &Arm) -> String {
    let levels: Vec<String> = arm.iter().map(|(name, level)| format!("{name}={level}")).collect();
    format!("[{}]", levels.join(", "))
}

fn told(imported: &Imported) -> String {
    let design = &imported.measurements.design;
    let mut text = String::new();
    for factor in &design.factors {
        writeln!(text, "factor {}: {}", factor.name, factor.levels.join(" | ")).unwrap();
    }
    writeln!(text, "baseline {}", arm(&design.baseline)).unwrap();
    writeln!(text, "margin {:?}, primary {:?}", design.margin, design.primary).unwrap();
    writeln!(text, "order {}, {} trials", design.order.name(), imported.trials).unwrap();
    for note in &imported.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    for series in &imported.measurements.series {
        let primary = if series.primary { ", primary" } else { "" };
        let Series { workload, metric, better, scale, .. } = series;
        let arm = arm(&series.arm);
        writeln!(text, "{workload} {arm} {metric}, {better:?}, {scale:?}{primary}").unwrap();
        for trial in &series.trials {
            let order = trial.order.map_or_else(|| "-".to_owned(), |order| order.to_string());
            let value = trial.value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            let reason = trial.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            let (replicate, status) = (trial.replicate, trial.status);
            writeln!(text, "  {replicate} at {order}: {value} {status:?}{reason}").unwrap();
        }
    }
    text
}

const HEADER: &str = "replicate,workload,metric,value,factor_run";

fn read(text: &str) -> Result<Imported, String> {
    trials_csv::read("t.csv", text, &Options::default()).map_err(|failure| failure.message)
}

#[test]
fn more_than_a_thousand_arms_are_no_arms() {
    let rows = |count: usize| {
        (0..count)
            .fold(HEADER.to_owned(), |text, row| text + &format!("\n1,build,iops,5,run-{row}"))
    };
    assert_eq!(read(&rows(1000)).unwrap().measurements.series.len(), 1000);
    assert_eq!(
        read(&rows(2000)).unwrap_err(),
        "t.csv:1002:5 (factor_run): more than 1000 combinations of levels; remove columns that are \
         not factors (this column has 1001 levels)"
    );
}

#[test]
fn bytes_that_are_no_text_are_told_with_their_line() {
    let text = |bytes: &'static [u8]| import::text("t.csv", bytes).map_err(|e| e.message);
    assert_eq!(text(b"a\xc3\xa9"), Ok("a\u{e9}"));
    assert_eq!(
        text(b"replicate\n1,caf\xe9").unwrap_err(),
        "t.csv:2:1: the text is not UTF-8; save the file as UTF-8"
    );
    assert!(text(b"\xff\xfer\0").unwrap_err().contains("UTF-16"));
}

#[test]
fn marks_and_line_ends_of_other_systems_change_nothing() {
    let text = format!("{HEADER}\n1,build,iops,5,a\n1,build,iops,6,b\n");
    let expected = read(&text).unwrap();
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    for other in [windows, text.replace('\n', "\r"), text.trim_end().to_owned()] {
        assert_eq!(read(&other).unwrap(), expected, "{other:?}");
    }
}

#[test]
fn the_order_of_trials_is_told_from_their_positions() {
    let of = |arms: &str| {
        let header = "replicate,workload,metric,value,order,factor_arm";
        let rows = arms.split_whitespace().enumerate().map(|(order, trial)| {
            let (arm, replicate) = trial.split_at(1);
            format!("\n{replicate},build,iops,5,{order},{arm}")
        });
        read(&format!("{header}{}", rows.collect::<String>())).unwrap().measurements.design.order
    };
    assert_eq!(of("a1 a2 b1 b2"), Order::Sequential);
    assert_eq!(of("a1 b1 b2 a2"), Order::Chained);
    assert_eq!(of("a1 b1 a2 b2"), Order::Rcbd);
    assert_eq!(of("a1 b1 a2"), Order::Rcbd);
    assert_eq!(of("a1 a2 b1 b2 a3 b3"), Order::Unknown);
}

fn rows(values: &[f64]) -> Vec<String> {
    let mut rows = Vec::new();
    for (order, value) in values.iter().enumerate() {
        let (replicate, arm) = (order / 4 + 1, order % 4);
        let (size, cache) = ([4, 16][arm / 2], ["on", "off"][arm % 2]);
        let status = ["ok,", "disturbed,cron", "warmup,", ","][(value * 7.0) as usize % 4];
        for (metric, value) in [("rate:higher", value), ("time:lower", &(1.0 / value))] {
            rows.push(format!("{replicate},{order},read,{metric},{value},{status},{size},{cache}"));
        }
    }
    rows
}

fn table(rows: &[String]) -> Imported {
    let header = "replicate,order,workload,metric,value,status,reason,factor_size,factor_cache";
    let options = Options {
        in_order: false,
        better: std::collections::BTreeMap::new(),
        baseline: Arm::from([("size".to_owned(), "4".to_owned())]),
        margin: None,
        primary: Some("time".to_owned()),
    };
    let text = format!("{header}\n{}\n", rows.join("\n"));
    let mut imported = trials_csv::read("t.csv", &text, &options).unwrap();
    // First appearance orders levels and series; their contents must not depend on it.
    imported.measurements.design.factors.iter_mut().for_each(|factor| factor.levels.sort());
    imported
        .measurements
        .series
        .sort_by_key(|series| (series.workload.clone(), series.arm.clone(), series.metric.clone()));
    imported
}

fn shuffled() -> impl Strategy<Value = (Vec<String>, Vec<String>)> {
    prop::collection::vec(0.001..1000.0, 4..40)
        .prop_map(|values| rows(&values))
        .prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle()))
}

proptest! {
    #[test]
    #[ignore = "nightly: 1 s"]
    fn the_order_of_rows_changes_nothing((rows, shuffled) in shuffled()) {
        prop_assert_eq!(table(&rows), table(&shuffled));
    }

    #[test]
    fn no_trial_is_lost(values in prop::collection::vec(0.001..1000.0, 4..40)) {
        let imported = table(&rows(&values));
        let kept: usize = imported.measurements.series.iter().map(|one| one.trials.len()).sum();
        prop_assert_eq!(kept, 2 * values.len());
        prop_assert_eq!(imported.trials, values.len());
    }
}
