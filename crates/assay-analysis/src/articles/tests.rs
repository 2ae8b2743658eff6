//! The tables of claims and texts. `tests/program/articles` tests the verdicts.

use super::*;

#[test]
fn each_claim_belongs_to_a_text_and_presets_are_told_at_theirs() {
    let articles = all().unwrap();
    for article in &articles {
        let titles: Vec<&str> = article.texts.iter().map(|text| text.title.as_str()).collect();
        for claim in &article.claims {
            assert!(titles.contains(&claim.title.as_str()), "{}", claim.title);
        }
    }
    let texts: Vec<&ArticleText> = articles.iter().flat_map(|article| &article.texts).collect();
    for (name, study) in presets::all() {
        let study = study.unwrap();
        let published = study.published.iter().filter_map(|one| one.article.as_ref());
        for title in study.articles.iter().chain(published) {
            let text = texts.iter().find(|text| text.title == *title);
            let again = &text.unwrap_or_else(|| panic!("{name}: {title}")).again;
            let run = how_to_run(name, &study);
            assert!(again.contains(&run), "{name} is not told at {title}");
        }
    }
}

/// Only the plan shows how a device loses its data.
#[test]
fn no_article_tells_to_overwrite_a_device() {
    let mut cards = 0;
    for text in all().unwrap().iter().flat_map(|article| &article.texts) {
        for RunIt { command, text } in &text.again {
            let told = format!("{} {text}", command.as_deref().unwrap_or_default());
            assert!(!told.contains("--destroy"), "{told}");
            if told.starts_with("assay plan") {
                cards += 1;
                assert!(text.ends_with("the plan shows the command and which data is lost"));
            }
        }
    }
    assert!(cards > 0);
}

#[test]
fn articles_are_named_by_number_and_by_word() {
    let all = all().unwrap();
    let found = |name: &str| {
        let found = named(&all, name).unwrap();
        found.iter().map(|one| one.article.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("004"), "004");
    assert_eq!(found("ZFS"), "004");
    assert_eq!(found("zfs_summary"), "004");
    assert_eq!(found("encryption"), "002");
    assert_eq!(found("Toshiba"), "000");
    assert_eq!(found("anchors"), "000 002");
    assert_eq!(found("001"), "001");
    let failure = named(&all, "xyz").unwrap_err();
    assert!(failure.message.contains("000, 001, 002, 003, 004") && failure.kind.exit_code() == 2);
}
