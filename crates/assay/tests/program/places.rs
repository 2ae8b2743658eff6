//! `assay compare --by platform`: results of several machines in one table, without root.

use std::fmt::Write;
use std::time::Duration;

use assay_testkit::home::Home;
use assay_testkit::process::run;
use serde_json::Value;

use crate::home;

/// The table of article 000 as it is shipped.
const ARTICLE: &str = include_str!("../../../../reference/virtualisation.csv");

fn imported(home: &Home, name: &str, text: &str) -> String {
    let file = home.file(name, text);
    let found = home.json(&["import", &file, "--json"]);
    found["study"]["id"].as_str().unwrap().to_owned()
}

fn rows(found: &Value) -> &Vec<Value> {
    found["platforms"]["rows"].as_array().unwrap()
}

fn line<'a>(text: &'a str, begin: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}"))
}

#[test]
fn the_table_of_the_article_has_its_percentages_and_its_contradiction_is_told() {
    let home = home("places-article");
    let mut tidy = "replicate,workload,metric,value,factor_place\n".to_owned();
    for published in ARTICLE.lines().skip(2) {
        let fields: Vec<&str> = published.split(',').collect();
        let (place, seconds, percent) = (fields[0], fields[1], fields[2]);
        writeln!(tidy, "1,work,duration_s:lower,{seconds},{place}").unwrap();
        writeln!(tidy, "1,work,published_percent:higher,{percent},{place}").unwrap();
    }
    let id = imported(&home, "virtualisation.csv", &tidy);
    let found = home.json(&["compare", "--by", "platform", &id, "--json"]);
    assert_eq!(
        (&found["format"], &found["platforms"]["baseline"]),
        (&"assay-findings/1".into(), &"bare metal".into())
    );
    let text = home.text(&["compare", "--by", "platform", &id]);
    for published in ARTICLE.lines().skip(2) {
        let fields: Vec<&str> = published.split(',').collect();
        let (place, seconds, percent) = (fields[0], fields[1], fields[3]);
        let told = line(&text, place);
        assert!(told.contains(&format!("{seconds} s")), "{told}");
        // Bare metal is 100 by definition.
        let percent = if percent == "100.00" { "100" } else { percent };
        assert!(told.split_whitespace().any(|word| word == percent), "{told}");
        let row = rows(&found).iter().find(|row| row["platform"] == place).unwrap();
        assert_eq!(row["value"].as_f64().unwrap().to_string(), seconds);
    }
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("published as 19.06%, but 1042.523 of 8876.945 s is 11.74%"), "{text}");
    let mut narrow = home.assay.command(&["compare", "--by", "platform", &id]);
    let narrow = run(narrow.env("COLUMNS", "40"), Duration::from_secs(100)).unwrap().stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
}

/// Two tables of one place each, as they are measured by hand.
fn two(home: &Home) -> [String; 2] {
    let table = |name: &str, times: [f64; 3]| {
        let mut text = "replicate,workload,metric,value\n".to_owned();
        for (at, time) in times.iter().enumerate() {
            writeln!(text, "{},compile,duration_s:lower,{time}", at + 1).unwrap();
        }
        imported(home, name, &text)
    };
    [table("bare.csv", [10.0, 10.1, 9.9]), table("guest.csv", [20.0, 20.2, 19.8])]
}

#[test]
fn places_are_named_by_labels_and_notes_and_published_rows_stand_beside() {
    let home = home("places-labels");
    let [bare, guest] = two(&home);
    let told = home.told(2, &["compare", "--by", "platform", &bare, &guest]);
    assert!(told.contains(&format!("--platform {bare}=NAME")), "{told}");
    home.text(&["note", &bare, "--platform", "bare metal"]);
    let label = format!("{guest}=KVM = mine");
    let words = ["compare", "--by", "platform", &bare, &guest, "--platform", &label];
    let found = home.json(&[&words[..], &["--json"]].concat());
    let names: Vec<&str> = found["platforms"]["platforms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bare metal", "KVM = mine"]);
    let row = &rows(&found)[1];
    assert!((row["percent"].as_f64().unwrap() - 50.0).abs() < 0.1, "{row}");
    assert_eq!(found["comparisons"][0]["kind"], "between-results");
    assert_eq!(found["comparisons"][0]["verdict"], "inconclusive");
    let text = home.text(&[&words[..], &["--published", "article-000"]].concat());
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("smallest detectable loss"), "{text}");
    assert!(!text.contains("suggests worse"), "{text}");
    let xen = line(&text, "article 000: Xen 4.1.2 (PV)");
    assert!(xen.contains("1316.984 s") && xen.contains("79.16%"), "{xen}");
    // Another baseline turns it around.
    let found = home.json(&[&words[..], &["--baseline", "kvm = MINE", "--json"]].concat());
    assert!((rows(&found)[1]["percent"].as_f64().unwrap() - 200.0).abs() < 0.5);
}

#[test]
fn a_page_and_a_markdown_report_have_both_charts() {
    let home = home("places-report");
    let [bare, guest] = two(&home);
    for (id, name) in [(&bare, "bare metal"), (&guest, "guest")] {
        home.text(&["note", id, "--platform", name]);
    }
    let page = home.scratch.path().join("places.html");
    let page = page.to_str().unwrap();
    home.text(&["report", "--by", "platform", &bare, &guest, "--published", "000", "-o", page]);
    let html = std::fs::read_to_string(page).unwrap();
    for id in ["r0-platforms-percent", "r0-platforms-compile-duration-s", "as published"] {
        assert!(html.contains(id), "{id}");
    }
    let text = home.scratch.path().join("places.md");
    let text = text.to_str().unwrap();
    home.text(&["report", "--by", "platform", &bare, &guest, "--format", "markdown", "-o", text]);
    let told = std::fs::read_to_string(text).unwrap();
    assert!(told.contains("platforms-percent.svg") && told.contains("% of base"), "{told}");
}

#[test]
fn what_makes_no_table_of_places_is_refused_with_what_to_do() {
    let home = home("places-refused");
    let [bare, guest] = two(&home);
    let label = |id: &str, name: &str| format!("{id}={name}");
    let by = |more: &[&str]| home.told(2, &[&["compare", "--by", "platform"], more].concat());
    assert!(
        by(&[&bare, "--platform", &label(&bare, "a")])
            .contains("add a result from another platform")
    );
    assert!(by(&[&bare, &bare]).contains("was given twice"));
    assert!(by(&[&bare, &guest, "--platform", "a"]).contains("use ID=NAME"));
    assert!(by(&[&bare, &guest, "--platform", "nothing=a"]).contains("no compared result"));
    let named = [label(&bare, "a"), label(&guest, "b")];
    let both = [&*bare, &*guest, "--platform", &*named[0], "--platform", &*named[1]];
    assert!(by(&[&both[..], &["--baseline", "c"]].concat()).contains("a and b"));
    assert!(by(&[&both[..], &["--published", "004"]].concat()).contains("only article-000"));
    assert!(by(&[&both[..], &["--gate", "5%"]].concat()).contains("does not support --against"));
    assert!(home.told(2, &["compare", &bare, &guest, "--platform", "a=b"]).contains("--by"));
    assert!(home.told(2, &["report", "--by", "platform"]).contains("give one per platform"));
    // A margin is for sides of days, or for places.
    assert!(home.told(2, &["compare", &bare, &guest, "--margin", "5%"]).contains("--margin needs"));
    let other =
        imported(&home, "x.csv", "replicate,workload,metric,value\n1,sort,duration_s:lower,1\n");
    let named = [label(&bare, "a"), label(&other, "b")];
    let told = by(&[&bare, &other, "--platform", &named[0], "--platform", &named[1]]);
    assert!(told.contains("a has compile; b has sort"), "{told}");
}
