//! `assay import` for users and scripts: the built program, without root.

use assay_testkit::home::Home;
use assay_testkit::process::Assay;
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::home;

const CSV: &str = include_str!("../csv/valid/two-file-systems.csv");

fn results(home: &Home) -> Vec<Value> {
    home.json(&["list", "results", "--json"])["items"].as_array().unwrap().clone()
}

#[test]
fn an_import_is_kept_listed_shown_named_and_removed() {
    let home = home("import-keep");
    let file = home.file("card.csv", CSV);
    let found = home.json(&["import", &file, "--baseline", "filesystem=ext4", "--json"]);
    let id = found["study"]["id"].as_str().unwrap().to_owned();
    assert_eq!(found["format"], "assay-findings/1");
    assert_eq!(
        (&found["study"]["kind"], &found["study"]["title"]),
        (&"import".into(), &"card.csv".into())
    );
    assert_eq!(found["environment"]["kernel"], "not recorded");

    let items = results(&home);
    assert_eq!((&items[0]["id"], &items[0]["title"]), (&id.as_str().into(), &"card.csv".into()));
    assert_eq!((&items[0]["trials"], &items[0]["planned"]), (&7.into(), &7.into()));
    assert_eq!(home.json(&["show", "--json"]), found);
    assert_eq!(home.json(&["show", &id, "--json"]), found);

    home.text(&["note", &id, "--title", "the old card"]);
    home.text(&["note", &id, "with the new reader"]);
    let shown = home.json(&["show", &id, "--json"]);
    assert_eq!(shown["study"]["title"], "the old card");
    assert_eq!(shown["study"]["notes"][0], "with the new reader");
    assert!(home.text(&["show"]).contains("the old card"));
    home.text(&["remove", &id]);
    assert!(results(&home).is_empty());
}

#[test]
fn results_of_one_title_are_named_by_their_ids() {
    let home = home("import-title");
    let ids = [1, 2].map(|number| {
        let file = home.file(&format!("{number}.csv"), CSV);
        let words = ["import", &file, "--title", "cards", "--json"];
        home.json(&words)["study"]["id"].as_str().unwrap().to_owned()
    });
    let told = home.told(2, &["show", "cards"]);
    assert!(
        told.contains("the title of 2 results") && ids.iter().all(|id| told.contains(id)),
        "{told}"
    );
    home.text(&["remove", &ids[0]]);
    assert_eq!(home.json(&["show", "cards", "--json"])["study"]["id"], ids[1].as_str());
}

#[test]
fn the_bundle_holds_the_file_as_it_was() {
    let home = home("import-bundle");
    let windows = format!("\u{feff}{}", CSV.replace('\n', "\r\n"));
    let file = home.file("card.csv", &windows);
    let words =
        ["import", &file, "--margin", "2%", "--primary-metric", "duration_s", "--title", "cards"];
    let ended = home.run(&words);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let id = results(&home)[0]["id"].as_str().unwrap().to_owned();
    assert!(ended.stderr.contains(&format!("stored as {id}")), "{}", ended.stderr);
    let bundle = ["", "results"].map(|part| home.assay.home().join(part).join(&id));
    let bundle = bundle.iter().find(|path| path.is_dir()).expect("no directory has the id's name");
    assert_eq!(fs::read(bundle.join("trials.csv")).unwrap(), windows.as_bytes());
    let about = fs::read_to_string(bundle.join("import.json")).unwrap();
    let about: Value = serde_json::from_str(&about).unwrap();
    for (field, value) in [
        ("format", "assay-import/1"),
        ("importer", "trials-csv"),
        ("file", "card.csv"),
        ("title", "cards"),
        ("primary", "duration_s"),
        ("assay", env!("CARGO_PKG_VERSION")),
    ] {
        assert_eq!(about[field], value, "{field}");
    }
    assert_eq!(about["margin"], 0.02);
    assert!(about["sha256"].as_str().is_some_and(|hash| hash.len() == 64));
    assert!(!about.to_string().contains(&home.scratch.path().display().to_string()));
}

#[test]
fn several_files_become_several_results() {
    let home = home("import-several");
    let files = [home.file("one.csv", CSV), home.file("two.csv", CSV)];
    let ended = home.run(&["import", "--quiet", &files[0], &files[1]]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let mut titles: Vec<String> =
        results(&home).iter().map(|item| item["title"].to_string()).collect();
    titles.sort();
    assert_eq!(titles, ["\"one.csv\"", "\"two.csv\""]);
    assert!(home.told(2, &["import", "--json", &files[0], &files[1]]).contains("one by one"));
    assert!(home.told(2, &["import", "--title", "x", &files[0], &files[1]]).contains("--title"));
}

#[test]
fn a_result_that_cannot_be_kept_is_printed_and_ends_as_others_do() {
    let home = home("import-nowhere");
    let file = home.file("one.csv", CSV);
    // Nobody can create a directory there, not even root.
    let nowhere = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), Path::new("/proc/nowhere"));
    let ended = nowhere.run(&["import", &file, "--json"], Duration::from_secs(100)).unwrap();
    assert_eq!(ended.code, 5, "{}", ended.stderr);
    assert!(
        ended.json().unwrap()["measurements"].as_array().is_some_and(|cells| !cells.is_empty())
    );
    assert!(ended.stderr.contains("cannot store the result of one.csv"), "{}", ended.stderr);
    assert!(ended.stderr.contains("ASSAY_HOME"), "{}", ended.stderr);
    let ended = home.run(&["import", &file, "--json"]);
    assert_eq!((ended.code, ended.stderr.contains("cannot store")), (0, false), "{}", ended.stderr);
}

#[test]
fn the_same_run_counts_once() {
    let home = home("import-twice");
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/importers/fio-json/randread-d4-1.json");
    let copy = home.file("copy.json", fs::read(run).unwrap());
    for again in [run, &copy] {
        let told = home.told(2, &["import", run, again]);
        assert!(told.contains("contain the same run"), "{told}");
    }
    assert!(results(&home).is_empty());
}

#[test]
fn one_wrong_file_keeps_all_others_out() {
    let home = home("import-wrong");
    let good = home.file("good.csv", CSV);
    let wrong = home.file("wrong.csv", "replicate,workload,metric,value\n1,build,iops,1.2k\n");
    let other = home.file("other.csv", "");
    let told = home.told(2, &["import", &good, &wrong, &other]);
    assert!(told.contains("wrong.csv:2:4 (value): `1.2k`"), "{told}");
    assert!(told.contains("other.csv:1:1: the file is empty"), "{told}");
    assert!(results(&home).is_empty());
}

#[test]
fn what_is_no_table_is_refused() {
    let home = home("import-refused");
    let folder = home.scratch.path().display().to_string();
    assert!(home.told(2, &["import", &folder]).contains("is a directory"));
    assert!(home.told(2, &["import", "no-such.csv"]).contains("no-such.csv"));
    assert!(home.told(2, &["import", "/dev/zero"]).contains("not a regular file"));
    let latin = home.file("latin.csv", b"replicate\ncaf\xe9\n");
    assert!(home.told(2, &["import", &latin]).contains("latin.csv:2:1: the text is not UTF-8"));
    let large = home.file("large.csv", "replicate,workload,metric,value\n".repeat(4096));
    fs::OpenOptions::new().write(true).open(&large).unwrap().set_len((1 << 30) + 1).unwrap();
    assert!(home.told(2, &["import", &large]).contains("larger than 1 GiB"));
    home.told(2, &["import"]);
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let home = home("import-options");
    let file = home.file("card.csv", CSV);
    let said = |words: &[&str]| home.told(2, &[&["import", &file], words].concat());
    assert!(said(&["--baseline", "ext4"]).contains("FACTOR=VALUE"));
    assert!(said(&["--baseline", "filesystem=ext5"]).contains("did you mean `ext4`?"));
    let twice = ["--baseline", "filesystem=ext4", "--baseline", "filesystem=xfs"];
    assert!(said(&twice).contains("two levels of filesystem"));
    assert!(said(&["--margin", "5"]).contains("5%"));
    assert!(said(&["--margin", "0%"]).contains("above 0%"));
    assert!(said(&["--primary-metric", "iops"]).contains("no row has this metric"));
    assert!(results(&home).is_empty());
}

#[test]
fn the_example_of_the_help_is_a_table() {
    let home = home("import-help");
    let help = home.text(&["import", "--help"]);
    let lines = help.lines().skip_while(|line| !line.trim().starts_with("replicate,"));
    let example: Vec<&str> = lines.map(str::trim).take_while(|line| !line.is_empty()).collect();
    assert_eq!(example.len(), 5, "{help}");
    let file = home.file("example.csv", example.join("\n"));
    home.text(&["import", &file]);
}

/// Results with different operator settings can be compared.
#[test]
fn results_of_two_platforms_are_compared() {
    let home = home("import-platforms");
    let table = |platform: &str, slower: f64| {
        let mut csv = "replicate,workload,metric,value,factor_platform\n".to_owned();
        for replicate in 1..=6 {
            let value = 1000.0 * slower + f64::from(replicate);
            writeln!(csv, "{replicate},read,iops,{value},{platform}").unwrap();
        }
        csv
    };
    let ids = [("bare-metal", 1.0), ("kvm", 0.5)].map(|(platform, slower)| {
        let file = home.file(&format!("{platform}.csv"), table(platform, slower));
        let found = home.json(&["import", &file, "--json"]);
        found["study"]["id"].as_str().unwrap().to_owned()
    });
    let found = home.json(&["compare", &ids[0], &ids[1], "--json"]);
    let [one] = &found["comparisons"].as_array().unwrap()[..] else { panic!("{found}") };
    assert_eq!(one["configuration"]["platform"], "kvm");
    assert_eq!(one["baseline"]["platform"], "bare-metal");
    assert!((one["ratio"].as_f64().unwrap() - 0.5).abs() < 0.01, "{one}");
    // One result per side: half the rate, and no verdict.
    assert_eq!(one["verdict"], "inconclusive", "{one}");
}

/// A page of very many trials contains their summary; a separate file has their values.
#[test]
fn a_page_of_many_trials_leads_to_their_values() {
    let home = home("import-many");
    let mut csv = "replicate,order,workload,metric,value,factor_f\n".to_owned();
    for trial in 0..3_000 {
        let (replicate, order, level) = (trial / 2 + 1, trial + 1, ["a", "b"][trial % 2]);
        writeln!(csv, "{replicate},{order},w,iops,{},{level}", 1000 + trial % 7).unwrap();
    }
    let file = home.file("many.csv", &csv);
    let found = home.json(&["import", &file, "--json"]);
    let id = found["study"]["id"].as_str().unwrap();
    let path = home.file("page.html", "");
    home.text(&["report", id, "-o", &path]);
    let page = fs::read_to_string(&path).unwrap();
    let name = format!("page.{id}.every-trial.csv");
    assert!(page.contains(&format!("href=\"{name}\"")), "no link to {name}");
    assert!(page.len() < 2_000_000 && !page.contains("\n2999,"), "{} bytes", page.len());
    let beside = std::path::Path::new(&path).with_file_name(name);
    assert_eq!(fs::read_to_string(beside).unwrap(), csv);
    assert!(home.text(&["report", id, "-o", "-"]).contains("assay show --json"));
    let site = home.scratch.path().join("site");
    home.text(&["report", "--all", "-o", site.to_str().unwrap()]);
    let page = fs::read_to_string(site.join(format!("results/{id}.html"))).unwrap();
    let name = format!("results/{id}.every-trial.csv");
    assert!(page.contains(&format!("href=\"../{name}\"")), "no link to {name}");
    assert_eq!(fs::read_to_string(site.join(name)).unwrap(), csv);
}
