//! Registries against the table of claims. What the verdicts are is tested in `tests/articles.rs`.

use super::*;

#[test]
fn each_claim_has_one_judge_and_each_judge_a_claim() {
    let claims = claims(&Library::shipped()).unwrap();
    let mut judges = 0;
    for topic in TOPICS {
        for (judged, _) in topic.judges {
            judges += 1;
            let own = |claim: &&Claim| {
                let data = topic.data.contains(&claim.data.as_str());
                topic.articles.contains(&claim.article.as_str()) && data && claim.claim == *judged
            };
            assert_eq!(claims.iter().filter(own).count(), 1, "{judged}");
        }
    }
    assert_eq!(judges, claims.len());
    for claim in &claims {
        assert!(judges::ruling(&Library::shipped(), claim).is_ok(), "{}", claim.claim);
    }
    let unknown = Claim { claim: "it is so".to_owned(), ..claims[0].clone() };
    let failure = judges::ruling(&Library::shipped(), &unknown).unwrap_err();
    assert!(failure.message.contains("nothing judges"), "{failure}");
}

#[test]
fn a_number_is_told_in_its_authors_digits() {
    let library = Library::shipped();
    let texts: String = library.names().map(|name| library.text(name).unwrap()).collect();
    let all = judge(&library).unwrap();
    let cells: Vec<_> = all.iter().flat_map(|article| &article.findings.cells).collect();
    let mut printed = 0;
    for cell in &cells {
        let Some(own) = cell.because.iter().find(|because| because.rule == PRINTED) else {
            // What follows from a line of numbers was printed nowhere.
            assert_eq!(cell.metric, "refresh_hz", "{} {:?}", cell.workload, cell.arm);
            continue;
        };
        let (digits, unit) = own.text.split_once(' ').unwrap();
        assert!(texts.contains(digits) && !unit.is_empty(), "{}", own.text);
        printed += 1;
    }
    assert!(printed > 50, "{printed}");
    let told =
        |text: &str| cells.iter().any(|cell| cell.because.iter().any(|own| own.text == text));
    assert!(told("551009 K/s") && told("1042.523 s") && !told("538 MiB/s"));
}

#[test]
fn each_claim_belongs_to_a_text_and_each_table_is_shipped() {
    let library = Library::shipped();
    for claim in claims(&library).unwrap() {
        let about = ARTICLES.iter().find(|about| about.number == claim.article).unwrap();
        assert!(about.texts.iter().any(|text| text.title == claim.title), "{}", claim.title);
    }
    for data in TOPICS.iter().flat_map(|topic| topic.data) {
        assert!(library.sheet(data).is_ok(), "{data}");
    }
    let titles = || ARTICLES.iter().flat_map(|about| about.texts).map(|text| text.title);
    let own = ARTICLES.iter().flat_map(|about| about.texts).flat_map(|text| text.again);
    for Command(command, _) in own {
        assert!(!command.starts_with("assay run"), "presets say so themselves: {command}");
    }
    // Presets name texts that there are, and are told at each of them.
    let articles = judge(&library).unwrap();
    for (name, study) in presets::all() {
        let study = study.unwrap();
        let named = study
            .articles
            .iter()
            .chain(study.published.iter().filter_map(|one| one.article.as_ref()));
        for title in named {
            assert!(titles().any(|known| known == title), "{name}: {title}");
            let mut texts = articles.iter().flat_map(|article| &article.texts);
            let text = texts.find(|text| text.title == *title).unwrap();
            let verb = if study.card.is_some() { "plan" } else { "run" };
            let run = format!("assay {verb} {name}");
            let is_told =
                |again: &RunIt| again.command.as_ref().is_some_and(|own| own.starts_with(&run));
            assert!(text.again.iter().any(is_told), "{name} is not told at {title}");
        }
    }
}

/// What a device loses its data by is told by the plan alone.
#[test]
fn no_article_tells_to_overwrite_a_device() {
    let articles = judge(&Library::shipped()).unwrap();
    let again = articles.iter().flat_map(|article| &article.texts).flat_map(|text| &text.again);
    let mut cards = 0;
    for RunIt { command, text } in again {
        let told = format!("{} {text}", command.as_deref().unwrap_or_default());
        assert!(!told.contains("--destroy"), "{told}");
        if told.starts_with("assay plan") {
            cards += 1;
            assert!(text.ends_with("its plan tells how to run it, and what is lost by that"));
        }
    }
    assert!(cards > 0);
}

#[test]
fn articles_are_named_by_number_and_by_word() {
    let all = judge(&Library::shipped()).unwrap();
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
