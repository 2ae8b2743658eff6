//! `assay articles`: [`recomputed`] computes each verdict from the tables here. `UPDATE_EXPECT=1` rewrites the expected
//! pages; review them.

mod recomputed;

use std::path::Path;

use assay::cli;
use assay_analysis::articles::{self, Article};
use assay_study::file::presets;
use assay_testkit::expected::Expected;

use crate::home;

#[test]
fn json_has_the_shape_of_the_interface() {
    let document = home("articles-json").json(&["articles", "--json"]);
    assert_eq!(document["format"], "assay-articles/1");
    let articles = document["articles"].as_array().unwrap();
    let numbers: Vec<&str> = articles.iter().map(|one| one["article"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["000", "001", "002", "003", "004"]);
    let words = ["supported", "contradicted", "not-shown", "no-data"];
    let mut claims = 0;
    for article in articles {
        assert!(!article["title"].as_str().unwrap().is_empty());
        for claim in article["claims"].as_array().unwrap() {
            claims += 1;
            assert!(words.contains(&claim["verdict"].as_str().unwrap()), "{claim}");
            assert!(!claim["claim"].as_str().unwrap().is_empty());
            assert!(claim["because"].as_str().unwrap().ends_with('.'), "{claim}");
        }
    }
    assert_eq!(claims, 29);
    let histograms = &articles[4]["tables"][1];
    assert_eq!(histograms["name"], "zfs_histograms.csv");
    assert_eq!(histograms["rows"][0][2], "512");
}

#[test]
#[ignore = "nightly: 1 s"]
fn one_article_is_named_and_an_unknown_one_refused() {
    let home = home("articles-name");
    for name in ["004", "zfs", "ZFS"] {
        let document = home.json(&["articles", name, "--json"]);
        assert_eq!(document["articles"].as_array().unwrap().len(), 1);
        assert_eq!(document["articles"][0]["article"], "004");
    }
    let refused = home.refused(2, &["articles", "no-such-article"]);
    assert!(refused.contains("000, 001, 002, 003, 004") && refused.contains("encryption"));
    let page = home.text(&["articles", "encryption"]);
    assert!(page.contains("File Vault 2") && page.contains("assay check"), "{page}");
}

fn page(document: &assay_report::Document, width: usize) -> String {
    let text = assay_report::text::render(document, width, false);
    for line in text.lines() {
        let fits = line.chars().count() <= width || !line.trim().contains(' ');
        assert!(fits, "wider than {width}: {line}");
    }
    text
}

#[test]
fn pages_look_as_expected() {
    let all = articles::all().unwrap();
    let mut pages = vec![(
        "overview".to_owned(),
        assay_report::articles::overview(&all.iter().collect::<Vec<_>>()),
    )];
    let full = |article: &Article| (article.article.clone(), assay_report::articles::full(article));
    pages.extend(all.iter().map(full));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/articles");
    let mut files = Expected::default();
    for (name, document) in &pages {
        files.hold(folder.join(format!("{name}.80.txt")), &page(document, 80));
        // All fit a narrow terminal; the expected page shows one article and the summary there.
        let narrow = page(document, 40);
        if ["overview", "004"].contains(&name.as_str()) {
            files.hold(folder.join(format!("{name}.40.txt")), &narrow);
        }
    }
}

/// Commands and presets in articles exist.
#[test]
fn what_is_to_be_run_oneself_can_be_run() {
    let mut presets_named = 0;
    for article in articles::all().unwrap() {
        let commands = article.texts.iter().flat_map(|text| &text.again);
        for command in commands.filter_map(|again| again.command.as_ref()) {
            let words: Vec<&str> = command.split_whitespace().collect();
            let parsed = cli::parse(
                &assay_runner::real::Real::new(),
                words.iter().map(std::ffi::OsString::from),
            );
            assert!(parsed.is_ok(), "{command}");
            if ["run", "plan"].contains(&words[1]) {
                presets_named += 1;
                assert!(presets::find(words[2]).is_some(), "{command}");
            }
        }
    }
    assert!(presets_named >= 6, "{presets_named}");
}
