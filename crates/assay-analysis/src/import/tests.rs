//! Which direction of the numbers of other tools is better.

use std::fs;
use std::path::Path;

use assay_core::quantity::Better::{self, Higher, Lower, Unknown};

use super::*;

fn table_of(metric: &str) -> Better {
    let text =
        format!("replicate,workload,metric,value,factor_a\n1,w,{metric},1,x\n1,w,{metric},1,y\n");
    let file =
        ImportedFile { name: "t.csv".to_owned(), bytes: text.into(), ..ImportedFile::default() };
    let found = read(&IMPORTERS[0], &[file], &Options::default()).unwrap();
    found.measurements.series[0].better
}

#[test]
fn every_metric_of_ours_keeps_its_direction_in_tables() {
    for metric in metrics::all().chain(assay_core::quantity::metric::OTHERS) {
        assert_eq!(table_of(metric.name), metric.better, "{}", metric.name);
    }
}

/// Names and contents of the files that an importer is tested with.
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
pub(super) fn fixtures(importer: &Importer) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay/tests/importers");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join(importer.about.name)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".expected.txt") {
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found
}

/// Names, versions and explanations of units of a format, a line each: numbers that are not measurements.
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
pub(super) fn not_measured(importer: &Importer) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/import/not_measured");
    fs::read_to_string(folder.join(format!("{}.txt", importer.about.name))).unwrap_or_default()
}

/// Some directions only the tool knows: a table then leaves them open, and never turns them around.
#[test]
fn metrics_of_importers_keep_their_direction_in_tables() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for importer in IMPORTERS.iter().filter(|one| matches!(one.reads, Reads::Runs(_))) {
        for (name, bytes) in fixtures(importer) {
            let file = ImportedFile { name: name.clone(), bytes, ..ImportedFile::default() };
            let Ok(found) = super::read(importer, &[file], &Options::default()) else { continue };
            for series in found.measurements.series {
                let table = table_of(&series.metric);
                assert!(
                    [series.better, Unknown].contains(&table),
                    "{name}: {} is {table:?}",
                    series.metric
                );
                seen.insert(series.metric);
            }
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
}

fn directions(format: &str, text: &str) -> Vec<Better> {
    numbers(format, text).unwrap().numbers.into_iter().map(|own| own.better).collect()
}

#[test]
fn units_of_go_have_their_direction_or_none() {
    for (unit, better) in [
        ("ns/op", Lower),
        ("sec/op", Lower),
        ("B/op", Lower),
        ("allocs/op", Lower),
        ("MB/s", Higher),
        ("B/s", Higher),
        ("ops/sec", Higher),
        ("req/s", Higher),
        ("p99-ns/op", Lower),
        ("errors", Lower),
        ("timeouts/s", Lower),
        ("hits/op", Unknown),
        ("widgets/s", Unknown),
        ("GC/s", Unknown),
    ] {
        let line = format!("BenchmarkA-4 100 5 {unit}\n");
        assert_eq!(directions("go-bench", &line), [better], "{unit}");
        let stated = |word: &str| format!("Unit {unit} better={word}\n{line}");
        if better == Unknown {
            assert_eq!(directions("go-bench", &stated("higher")), [Higher], "{unit}");
            assert_eq!(directions("go-bench", &stated("lower")), [Lower], "{unit}");
        }
    }
}

#[test]
fn series_of_flent_have_their_direction_or_none() {
    for (series, unit, better) in [
        ("Ping (ms) ICMP", "ms", Lower),
        ("TCP download", "Mbits/s", Higher),
        ("TCP upload avg", "Mbits/s", Higher),
        ("UDP jitter", "", Lower),
        ("TCP retransmits", "", Lower),
        ("Packets dropped", "packets/s", Lower),
        ("UDP loss", "%", Lower),
        ("CPU load", "", Unknown),
        ("TCP cwnd", "packets", Unknown),
    ] {
        let text = format!(
            r#"{{"raw_values": {{}}, "results": {{"{series}": [1, 2]}}, "metadata": {{"NAME": "a",
            "SERIES_META": {{"{series}": {{"UNITS": "{unit}"}}}}}}}}"#
        );
        assert_eq!(directions("flent", &text), [better], "{series}");
    }
}

#[test]
fn stated_direction_must_fit_the_metric() {
    let told = |metric: &str, better| {
        let text = "replicate,workload,metric,value,factor_a\n1,w,iops,1,x\n1,w,score,1,x\n1,w,score,1,y\n";
        let file = ImportedFile {
            name: "t.csv".to_owned(),
            bytes: text.into(),
            ..ImportedFile::default()
        };
        let options =
            Options { better: [(metric.to_owned(), better)].into(), ..Options::default() };
        read(&IMPORTERS[0], &[file], &options).map_err(|failure| failure.message)
    };
    let found = told("score", Higher).unwrap();
    assert!(found.measurements.series.iter().all(|one| one.better == Higher));
    assert!(
        found.notes.iter().all(|note| !note.contains("the better direction")),
        "{:?}",
        found.notes
    );
    let notes = told("iops", Higher).unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("--better score=higher")), "{notes:?}");
    assert!(told("iops", Lower).unwrap_err().contains("higher is better"));
    assert!(told("scor", Lower).unwrap_err().contains("did you mean `score`?"));
}
