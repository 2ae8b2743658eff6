//! `check --capacity` and `--sustained` on simulated drives, some of them counterfeit.

use assay_testkit::process::Ended;
use serde_json::Value;

use crate::home;

fn card(more: &str) -> String {
    format!("simulated:fixed,mean=1ms,announced_size=64GB{more}")
}

#[test]
fn a_card_that_lies_fails_and_is_told_in_the_first_sentence() {
    for (lie, verdict) in
        [("wraps", "wraps"), ("drops", "drops"), ("zeroes", "zeroes"), ("keeps", "loses-rewrites")]
    {
        let home = home(&format!("capacity-{lie}"));
        let card = card(&format!(",usable_size=8GB,fault={lie}"));
        let Ended { code, stdout, stderr, .. } =
            home.run(&["check", "--capacity", &card, "--json"]);
        assert_eq!(code, 1, "{stdout}{stderr}");
        let document: Value = serde_json::from_str(&stdout).unwrap();
        let facts = &document["capacity"][0];
        assert_eq!(facts["verdict"], verdict, "{facts}");
        let held = 8_000_000_000_u64 / 4096 * 4096;
        assert_eq!(facts["usable_bytes"], held, "{facts}");
        let first = document["summary"][0]["text"].as_str().unwrap();
        assert!(first.contains("claims 64 GB") && first.contains(" about 8 GB"), "{first}");
        // The stored result says the same, and showing it applies no gate.
        let Ended { code, stdout: shown, .. } = home.run(&["show"]);
        assert!(code == 0 && shown.contains("does not have the claimed capacity"), "{shown}");
        let listed = home.text(&["list", "results"]);
        let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(listed.contains("does not have the claimed capacity"), "{listed}");
    }
}

#[test]
fn an_honest_card_holds_what_it_says_and_the_limit_is_told() {
    let home = home("capacity-honest");
    let Ended { code, stdout, stderr, .. } = home.run(&["check", "--capacity", &card("")]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let text = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("were intact: at most"), "{text}");
    assert!(!text.contains("has the claimed capacity"), "a sample: {text}");
    assert!(text.contains("with 95% probability"), "{text}");
    let Ended { code, stdout, .. } = home.run(&["run", "capacity", &card(",usable_size=8GB")]);
    assert_eq!(code, 1, "{stdout}");
}

#[test]
fn plan_says_how_long_fast_and_full_take() {
    let home = home("capacity-plan");
    let Ended { code, stdout, .. } =
        home.run(&["plan", "capacity", "simulated:fixed,mean=1ms,announced_size=1TB"]);
    let text = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("fast: about") && text.contains("full: about"), "{text}");
    assert!(text.contains("time about 2.89 min"), "{text}");
}

#[test]
fn what_takes_everything_wants_to_be_told_where() {
    let home = home("capacity-where");
    for word in ["--capacity", "--sustained"] {
        home.refused(2, &["check", word]);
    }
    home.refused(2, &["check", "--capacity=slow", &card("")]);
    home.refused(
        2,
        &["check", "--capacity", "simulated:fixed,mean=1ms,announced_size=1GB,usable_size=2GB"],
    );
    home.refused(2, &["check", "--capacity", "--quick", &card("")]);
}

#[test]
fn a_simulated_drive_writes_for_long_without_a_fall() {
    let home = home("sustained");
    let words = ["check", "--sustained", "--budget", "20s", &card(""), "--json"];
    let Ended { code, stdout, stderr, .. } = home.run(&words);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let text = document["sustained"][0]["text"].as_str().unwrap();
    assert!(text.contains("the rate did not drop"), "{text}");
    // Its chart comes first, with the times of its slices.
    let page = home.text(&["report", "-o", "-"]);
    let first = page.split("</header>").next().unwrap();
    let figure = first.find("id=\"r0-series-rate-sustained\"");
    assert!(figure.is_some_and(|at| first[at..].contains("<section class=\"part\"")), "{first}");
}
