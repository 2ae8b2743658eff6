//! Registries against the table of claims. What the verdicts are is tested in `tests/articles.rs`.

use super::*;

#[test]
fn each_claim_has_one_judge_and_each_judge_a_claim() {
    let claims = claims(&Library::shipped()).unwrap();
    let mut judges = 0;
    for topic in TOPICS {
        for judge in topic.judges {
            judges += 1;
            let own = |claim: &&Claim| {
                let data = topic.data.contains(&claim.data.as_str());
                claim.article == topic.article && data && claim.claim == judge.claim
            };
            assert_eq!(claims.iter().filter(own).count(), 1, "{}", judge.claim);
        }
    }
    assert_eq!(judges, claims.len());
    for claim in &claims {
        assert_eq!(judge_of(claim).unwrap().claim, claim.claim);
    }
    let unknown = Claim { claim: "it is so".to_owned(), ..claims[0].clone() };
    assert!(judge_of(&unknown).is_err_and(|failure| failure.message.contains("nothing judges")));
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
    for about in ARTICLES {
        assert!(about.texts.iter().all(|text| !text.again.is_empty()), "{}", about.number);
    }
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
