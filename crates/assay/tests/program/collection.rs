//! `assay collection`: rows of many people in one folder, merged by git, shown, queried and exported.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assay_analysis::collection::{CollectionRow, FORMAT, RowValue, file};
use assay_study::findings::Trust;
use assay_testkit::home::Home;

use crate::{DRIVE, git, home};

fn row(device: &str, write_iops: f64) -> CollectionRow {
    let number = |value: f64| RowValue {
        value,
        ci95: Some([value * 0.97, value * 1.03]),
        trust: Some(Trust::Trusted),
        trials: vec![value * 0.99, value, value * 1.01],
        ..RowValue::default()
    };
    CollectionRow {
        format: FORMAT.to_owned(),
        device: device.to_owned(),
        capacity_bytes: Some(32_000_000_000),
        claimed: vec!["95 MB/s".to_owned()],
        measured: [
            ("write_iops".to_owned(), number(write_iops)),
            ("read_mb_s".to_owned(), number(88e6)),
        ]
        .into(),
        date: Some("2026-11-24".to_owned()),
        ..CollectionRow::default()
    }
}

fn text(row: &CollectionRow) -> String {
    file::write(row).unwrap().1
}

fn folder(home: &Home, name: &str) -> (PathBuf, String) {
    let path = home.scratch.path().join(name);
    fs::create_dir_all(&path).unwrap();
    let word = path.display().to_string();
    (path, word)
}

/// Files of three malicious contributors: below the rows, with plausible names.
fn hostile(index: usize) -> String {
    let good = text(&row("A card", 21.0));
    match index {
        0 => good.replace("A card", "<script>alert(1)</script>"),
        1 => good.replace("A card", &"x".repeat(10 << 20)),
        _ => good.replace("\"value\": 21.0", "\"value\": 1e999"),
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn ten_contributions_merge_and_the_three_that_mean_ill_are_named() {
    let home = home("ten-contributions");
    let (whole, word) = folder(&home, "cards");
    let first = home.file("first.json", text(&row("The first card", 30.0)));
    home.text(&["collection", "add", &first, "--dir", &word]);
    git(&whole, &["init", "-q", "-b", "main"]);
    git(&whole, &["add", "-A"]);
    git(&whole, &["commit", "-qm", "a collection"]);
    // Seven add a row each with the program, two of the same card; three write files by hand.
    for contributor in 0..10 {
        git(&whole, &["checkout", "-q", "-b", &format!("c{contributor}"), "main"]);
        if contributor < 7 {
            let device = format!("Card {}", contributor.min(5));
            let sent = home.file(
                &format!("{contributor}.json"),
                text(&row(&device, 19.0 + f64::from(contributor))),
            );
            home.text(&["collection", "add", &sent, "--dir", &word]);
        } else {
            let text = hostile(contributor as usize - 7);
            let path = whole.join("rows").join(file::name(&text));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        git(&whole, &["add", "-A"]);
        git(&whole, &["commit", "-qm", "a row"]);
    }
    git(&whole, &["checkout", "-q", "main"]);
    for contributor in 0..10 {
        // Without conflicts, in any order.
        git(&whole, &["merge", "-q", "--no-edit", &format!("c{contributor}")]);
    }
    let page = home.file("page.html", "");
    let told = home.run(&["collection", "build", "--dir", &word, "-o", &page]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert_eq!(told.stderr.matches("assay: skipped ").count(), 3, "{}", told.stderr);
    let page = fs::read_to_string(page).unwrap();
    for card in (0..6).map(|index| format!("Card {index}")) {
        assert!(page.contains(&card), "{card}");
    }
    // Nine published rows, the first card and the seven: `Card 5` twice, side by side.
    assert!(
        page.contains("17 rows of 15 devices: 8 measured, 9 published. Skipped 3 files"),
        "counted"
    );
    assert!(page.contains("spread of Card 5, 32 GB"));
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    for why in ["markup, a path or a formula", "the limit is 65536", "not a row: "] {
        assert!(page.contains(why), "{why}");
    }
    assert!(page.len() < 3_000_000 && !page.contains("xxxxxxxxxxxxxxxxxxxx"));
    let asked = home.json(&["collection", "export", "--format", "json", "--dir", &word]);
    let mut devices: Vec<&str> = asked["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["write_iops"].as_f64() >= Some(24.0) && row["trust"] == "trusted")
        .map(|row| row["device"].as_str().unwrap())
        .collect();
    devices.sort_unstable();
    assert_eq!(devices, ["Card 5", "Card 5", "The first card"]);
}

#[test]
fn rows_lie_by_their_hash_and_links_and_other_places_are_named() {
    let home = home("collection-tricks");
    let (whole, word) = folder(&home, "cards");
    let sent = home.file("row.json", text(&row("A card", 20.0)));
    let added = home.text(&["collection", "add", &sent, "--dir", &word]);
    let again = home.run(&["collection", "add", &sent, "--dir", &word]);
    assert!(again.stderr.contains("already existed"), "{}", again.stderr);
    let rows = whole.join("rows");
    let secret = home.file("secret.json", text(&row("A secret card", 99.0)));
    std::os::unix::fs::symlink(&secret, rows.join("zz.json")).unwrap();
    std::os::unix::fs::symlink(Path::new(&secret).parent().unwrap(), rows.join("yy")).unwrap();
    fs::write(rows.join("loose.json"), text(&row("A loose card", 98.0))).unwrap();
    fs::create_dir_all(rows.join("ab")).unwrap();
    fs::write(rows.join("ab/changed.json"), text(&row("A changed card", 97.0))).unwrap();
    let listed = home.run(&["collection", "export", "--dir", &word]);
    assert_eq!(listed.stderr.matches("assay: skipped ").count(), 4, "{}", listed.stderr);
    for name in ["secret", "loose", "changed"] {
        assert!(!listed.stdout.contains(&format!("A {name} card")), "{}", listed.stdout);
    }
    assert!(listed.stdout.contains("A card"));
    fs::remove_file(whole.join(added.trim())).unwrap();
    assert!(!home.text(&["collection", "export", "--dir", &word]).contains("A card"));
    fs::write(whole.join("collection.json"), "{ \"format\": \"assay-collection/2\" }").unwrap();
    assert!(home.refused(2, &["collection", "export", "--dir", &word]).contains("not in format"));
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_result_becomes_rows_without_whose_it_was() {
    let home = home("collection-result");
    let (_, word) = folder(&home, "cards");
    let empty = home.refused(2, &["collection", "export", "--dir", &word]);
    assert!(empty.contains("is not a collection yet"), "{empty}");
    let other = DRIVE.replace("100us", "200us");
    home.text(&["check", DRIVE, &other, "--quick", "--seed", "7", "--quiet"]);
    let id = home.json(&["show", "--json"])["study"]["id"].as_str().unwrap().to_owned();
    let sold = ["--rated", "1440 IOPS read", "--price", "12.50 GBP"];
    let added = home.text(&[&["collection", "add", &id, "--dir", &word], &sold[..]].concat());
    assert_eq!(added.lines().count(), 2, "a row a target: {added}");
    let page = home.file("page.html", "");
    home.text(&["collection", "build", "--dir", &word, "-o", &page]);
    let page = fs::read_to_string(page).unwrap();
    // Not measured on a drive; the row contains neither the simulation nor a local path.
    assert!(
        page.contains("simulated drive") && !page.contains("lognormal") && !page.contains(&word)
    );
    assert!(page.contains("1440 IOPS read: reached (random reads: "), "claims by interval");
    for (words, told) in [
        (&["add", "no-such-result"][..], "no-such-result"),
        (&["add", "no-such-result", "--rated", "V31"], "is not a printed rating"),
        (&["build", "-o", "/proc/x/page.html"], "cannot write"),
    ] {
        let words = [&["collection"], words, &["--dir", &word]].concat();
        let ended = home.run(&words);
        assert!(
            [2, 3].contains(&ended.code) && ended.stderr.contains(told),
            "{words:?}: {}",
            ended.stderr
        );
    }
    let table = home.text(&["collection", "export", "--dir", &word]);
    assert_eq!(table.lines().count(), 1 + 9 + 2, "{table}");
    let lines = home.text(&["collection", "export", "--dir", &word, "--format", "markdown"]);
    assert_eq!(lines.lines().filter(|line| line.starts_with("| ")).count(), 2 + 9 + 2, "{lines}");
}

#[test]
fn a_result_in_which_trials_were_disturbed_is_a_row_with_the_trials_that_its_numbers_sum_up() {
    let home = home("collection-disturbed");
    let (whole, word) = folder(&home, "cards");
    home.text(&["check", DRIVE, "--quick", "--seed", "7", "--quiet"]);
    let id = home.json(&["show", "--json"])["study"]["id"].as_str().unwrap().to_owned();
    let trials = home.assay.home().join("results").join(&id).join("trials.jsonl");
    let before = fs::read_to_string(&trials).unwrap();
    let row = || {
        let added = home.text(&["collection", "add", &id, "--dir", &word]);
        file::read(&fs::read_to_string(whole.join(added.trim())).unwrap()).unwrap()
    };
    let undisturbed = row();
    // All but the first replicate: with too few left, disturbed ones count, too.
    let disturbed = before.lines().map(|line| {
        let mut one: serde_json::Value = serde_json::from_str(line).unwrap();
        if one["replicate"].as_u64().unwrap() > 1 {
            one["status"] = "disturbed".into();
            one["reason"] = "somebody else wrote".into();
        }
        one.to_string() + "\n"
    });
    fs::write(&trials, disturbed.collect::<String>()).unwrap();
    let told = row();
    for (name, number) in &told.measured {
        assert_eq!(number.trials, undisturbed.measured[name].trials, "{name}");
        assert_eq!(number.value, undisturbed.measured[name].value, "{name}");
        assert!(number.trials.len() > 1, "{name}");
    }
    assert!(!told.measured.is_empty());
}

#[test]
fn a_folder_has_pages_for_all_devices() {
    let home = home("collection-index");
    let (whole, word) = folder(&home, "cards");
    home.text(&[
        "collection",
        "add",
        &home.file("row.json", text(&row("Card 0", 5.0))),
        "--dir",
        &word,
    ]);
    for index in 0..400 {
        let text = text(&row(&format!("Card {}", index % 50), 20.0 + f64::from(index)));
        let path = whole.join("rows").join(file::name(&text));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (site, site_word) = folder(&home, "site");
    home.text(&["collection", "build", "--dir", &word, "-o", &site_word]);
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    let mut broken = String::new();
    for link in index.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let (name, anchor) = link.split_once('#').unwrap_or((link, ""));
        let name = if name.is_empty() { "index.html" } else { name };
        let page = fs::read_to_string(site.join(name)).unwrap_or_default();
        if !(page.contains(&format!("id=\"{anchor}\"")) || anchor.is_empty() && !page.is_empty()) {
            let _ = writeln!(broken, "{link}");
        }
    }
    assert!(broken.is_empty(), "{broken}");
    assert_eq!(fs::read_dir(site.join("devices")).unwrap().count(), 50 + 8);
    let names = fs::read_dir(&whole).unwrap().count();
    assert_eq!(names, 3, "rows, what names them, and what keeps git from changing them");
}

#[test]
fn ones_own_collection_begins_with_the_published_rows() {
    let home = home("collection-first");
    let told = home.text(&["collection", "export"]);
    assert!(told.contains("Intel SSD 520") && told.contains("published"), "{told}");
    let refused = home.refused(2, &["collection", "export", "--dir", "nowhere"]);
    assert!(refused.contains("is not a collection yet"), "{refused}");
    let own = home.scratch.path().join("home/collection");
    assert!(!own.exists(), "who asks writes nothing into it");
}

#[test]
fn what_is_no_folder_no_row_and_no_collection_is_named() {
    let home = home("collection-refusals");
    let (_, word) = folder(&home, "cards");
    let (notes, sent) =
        (home.file("notes.txt", "notes"), home.file("row.json", text(&row("Card", 21.0))));
    for (words, why) in [
        (vec!["collection", "add", &notes, "--dir", &word], "is not a result, a bundle (.assay)"),
        (vec!["collection", "add", &sent, "--dir", &notes], "is not a directory"),
        (vec!["collection", "export", "--dir", &notes], "is not a directory"),
        (vec!["collection", "build", "-o", &notes], "is not a directory"),
    ] {
        let refused = home.refused(2, &words);
        assert!(refused.contains("notes.txt ") && refused.contains(why), "{refused}");
    }
    let added = home.run(&["collection", "add", &sent, "--dir", &word]);
    assert!(added.stderr.contains("Card: added to "), "{}", added.stderr);
    let again = home.run(&["collection", "add", &sent, "--dir", &word]);
    assert!(again.stderr.contains("Card: already existed in "), "{}", again.stderr);
}
