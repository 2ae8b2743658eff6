//! `assay export`: exported numbers are the same after import.

use serde_json::Value;

use assay_report::text::FORUM_COLUMNS;
use assay_testkit::needs::{Need, have};

use crate::{home, printed_by};

const CSV: &str = include_str!("../csv/valid/two-file-systems.csv");
const FIO: [&str; 4] = ["randread-d4-1", "randread-d8-1", "randread-d8-2", "randread-d4-2"];

fn cells(findings: &Value) -> Vec<String> {
    let mut found: Vec<String> = findings["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            let trials = cell["trials"].as_array().unwrap().iter();
            let mut values: Vec<String> =
                trials.map(|trial| format!("{} {}", trial["value"], trial["status"])).collect();
            values.sort();
            format!("{} {} {} {values:?}", cell["workload"], cell["configuration"], cell["metric"])
        })
        .collect();
    found.sort();
    found
}

fn fio_files() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/importers/fio-json");
    FIO.iter().map(|name| format!("{folder}/{name}.json")).collect()
}

#[test]
fn a_table_goes_out_and_comes_in_with_the_same_cells() {
    let home = home("export-table");
    let file = home.file("card.csv", CSV);
    let first = home.json(&["import", &file, "--json"]);
    let out = home.text(&["export", "--format", "trials-csv"]);
    let again = home.file("again.csv", &out);
    let second = home.json(&["import", &again, "--json"]);
    assert_eq!(cells(&first), cells(&second));
}

#[test]
fn results_of_fio_go_out_and_come_in_with_the_same_cells() {
    let home = home("export-fio");
    let files = fio_files();
    let words: Vec<&str> = ["import", "--json", "--in-order"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let first = home.json(&words);
    assert_eq!(first["comparisons"][0]["verdict"], "inconclusive", "two pairs are too few");
    let id = first["study"]["id"].as_str().unwrap();
    for format in ["fio-json", "trials-csv", "benchstat"] {
        let out = home.text(&["export", id, "--format", format]);
        let again = home.file(&format!("again.{format}"), &out);
        let second = home.json(&["import", &again, "--json"]);
        assert_eq!(cells(&first), cells(&second), "{format}");
    }
}

#[test]
fn times_of_commands_go_out_as_hyperfine_has_them() {
    let home = home("export-hyperfine");
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/importers/hyperfine-json/parameters.json");
    let first = home.json(&["import", file, "--json"]);
    let checks = first["checks"].to_string();
    assert!(checks.contains("in blocks"), "{checks}");
    let id = first["study"]["id"].as_str().unwrap();
    for format in ["hyperfine-json", "benchstat", "trials-csv"] {
        let out = home.text(&["export", id, "--format", format]);
        let again = home.file("again", &out);
        let second = home.json(&["import", &again, "--json"]);
        assert_eq!(cells(&first), cells(&second), "{format}");
    }
}

#[test]
fn other_formats_have_their_shape() {
    let home = home("export-shapes");
    let file = home.file("card.csv", CSV);
    home.text(&["import", &file]);
    let out = |format: &str| home.text(&["export", "--format", format]);
    let forum = out("forum");
    assert!(forum.lines().all(|line| line.chars().count() <= FORUM_COLUMNS), "{forum}");
    // Findings come before the first number.
    let first = forum.lines().position(|line| line.starts_with("- ")).unwrap();
    let table = forum.lines().position(|line| line.contains("ratio")).unwrap();
    assert!(first < table, "{forum}");
    assert!(out("openmetrics").trim_end().ends_with("# EOF"));
    assert!(out("benchstat").lines().any(|line| line.starts_with("Benchmark")));
    assert!(out("markdown").contains('|'));
    let smaller: Value = serde_json::from_str(&out("custom-smaller-is-better")).unwrap();
    let all = smaller.as_array().unwrap();
    assert_eq!(all.len(), 2, "{smaller}");
    for one in all {
        assert!(one["name"].as_str().unwrap().starts_with("build (filesystem="), "{one}");
        assert!(one["value"].is_f64() && one["unit"] == "s", "{one}");
        // Two trials have no CI, and three have one.
        let is_whole = one["extra"].as_str().unwrap().contains("3 trials");
        assert_eq!(
            one["range"].as_str().is_some_and(|range| range.contains("..")),
            is_whole,
            "{one}"
        );
    }
    let told = home.told(2, &["export", "--format", "custom-bigger-is-better"]);
    assert!(told.contains("no numbers that format custom-bigger-is-better can"), "{told}");
    let told = home.told(2, &["export", "--format", "fio-json"]);
    assert!(told.contains("no numbers that format fio-json can"), "{told}");
    home.told(2, &["export", "--format", "word"]);
}

#[test]
fn what_comes_in_wrongly_is_told() {
    let home = home("import-mixed");
    let fio = &fio_files()[0];
    let table = home.file("card.csv", CSV);
    assert!(home.told(2, &["import", fio, &table]).contains("import the files separately"));
    let hyperfine =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/importers/hyperfine-json/parameters.json");
    let told = home.told(2, &["import", fio, hyperfine]);
    assert!(told.contains("fio-json and") && told.contains("hyperfine-json"), "{told}");
    let cut = home.file("cut.json", &std::fs::read_to_string(fio).unwrap()[..2000]);
    assert!(home.told(2, &["import", &cut]).contains("is truncated"));
    let other = home.file("other.json", "{\"alpha\": 1}");
    assert!(home.told(2, &["import", &other]).contains("keys `alpha`"));
    let large = home.file("large.json", std::fs::read(fio).unwrap());
    let opened = std::fs::OpenOptions::new().write(true).open(&large).unwrap();
    opened.set_len(100 << 20).unwrap();
    assert!(home.told(2, &["import", &large]).contains("the limit of 64 MiB"));
    opened.set_len(2 << 30).unwrap();
    let told = home.told(2, &["import", &large]);
    assert!(told.contains("is 2 GiB, above the limit of 64 MiB"), "{told}");
    assert!(home.told(2, &["import", "--set", "x", fio]).contains("FACTOR=VALUE"));
    let named = home.told(2, &["import", "--filename-pattern", "{a}-x.json", fio]);
    assert!(named.contains("does not match"), "{named}");
}

fn imported_fio(home: &assay_testkit::home::Home) {
    let files = fio_files();
    let words: Vec<&str> =
        ["import", "--in-order"].into_iter().chain(files.iter().map(String::as_str)).collect();
    home.text(&words);
}

#[test]
fn benchstat_reads_its_lines() {
    if !have(&[Need::Program("benchstat")]) {
        return;
    }
    let home = home("export-benchstat");
    imported_fio(&home);
    let file = home.file("out.txt", home.text(&["export", "--format", "benchstat"]));
    let table = printed_by(
        home.scratch.path(),
        "benchstat",
        &["-format", "csv", "-col", "/iodepth", &file],
    );
    let row = table.lines().find(|line| line.starts_with("Randread_4k,")).unwrap();
    // benchstat uses medians: for two trials, their mean.
    let median = f64::midpoint(10_605.660_377, 25_769.461_078);
    let told: f64 = row.split(',').nth(1).unwrap().parse().unwrap();
    assert!((told / median - 1.0).abs() < 1e-3, "{row}");
}

#[test]
fn what_fio_ships_reads_its_json() {
    // Debian's Python has the program's dependencies.
    let (python, program) = ("/usr/bin/python3", "/usr/bin/fio_jsonplus_clat2csv");
    let six = "/usr/lib/python3/dist-packages/six.py";
    if !have(&[Need::Path(python), Need::Path(program), Need::Path(six), Need::Program("jq")]) {
        return;
    }
    let home = home("export-fio-tools");
    imported_fio(&home);
    let text = home.text(&["export", "--format", "fio-json"]);
    let file = home.file("out.json", &text);
    let table = home.scratch.path().join("out.csv").display().to_string();
    let told = printed_by(home.scratch.path(), python, &[program, &file, &table]);
    assert_eq!(told.matches("generated").count(), FIO.len(), "{told}");
    // Fields of a gate.
    let gate =
        "[.jobs[].read | select(.iops > 1000 and .bw > 0) | .clat_ns.percentile[\"99.000000\"]]";
    let found: Value =
        serde_json::from_str(&printed_by(home.scratch.path(), "jq", &[gate, &file])).unwrap();
    let own = serde_json::from_str::<Value>(&text).unwrap();
    let own = own["jobs"].as_array().unwrap().iter();
    let own: Vec<f64> = own
        .map(|job| job["read"]["clat_ns"]["percentile"]["99.000000"].as_f64().unwrap())
        .collect();
    // Some versions of jq write integers without a decimal point.
    let found: Vec<f64> =
        found.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(found, own);
}
