//! Pages as a whole: what a result contains must not become a part of the page.

use super::*;
use crate::evidence::{Commands, Evidence};
use crate::tests::fixture;

/// What somebody may put into a title, an arm, a note.
const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\u{0}\u{1b}[2J";

fn hostile() -> Evidence {
    let mut findings = fixture("study-grid");
    findings.study.title = HOSTILE.to_owned();
    findings.study.notes = vec![HOSTILE.to_owned()];
    findings.summary.push(HOSTILE.to_owned());
    for cell in &mut findings.cells {
        cell.workload = HOSTILE.to_owned();
        cell.arm.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    for found in &mut findings.comparisons {
        found.text = HOSTILE.to_owned();
        found.arm.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    let commands = Commands {
        workload: HOSTILE.to_owned(),
        arm: findings.cells[0].arm.clone(),
        words: HOSTILE.to_owned(),
        lines: vec![HOSTILE.to_owned()],
        remarks: vec![HOSTILE.to_owned()],
    };
    let files = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    Evidence { commands: vec![commands], files, ..Evidence::bare(findings) }
}

#[test]
fn nothing_of_a_result_becomes_markup() {
    let page = page(&hostile(), Place::Alone);
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    assert!(!page.contains("<img"));
    assert!(!page.contains("style=\""), "the policy forbids it");
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_page_names_nothing_outside_itself() {
    let page = page(&Evidence::bare(fixture("study-grid")), Place::Alone);
    for outside in ["http://", "https://", "url(", "@import", "<link", "<img", "<iframe"] {
        // The name of the language of figures is an address that nobody asks for.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_policy_lets_the_own_script_and_style_in() {
    let page = page(&Evidence::bare(fixture("study-grid")), Place::Alone);
    let policy = content_security_policy();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let between = |from: &str, to: &str| {
        let start = page.find(from).unwrap() + from.len();
        page[start..start + page[start..].find(to).unwrap()].to_owned()
    };
    let source = |text: &str| policy.contains(&policy::source(text));
    assert!(source(&between("<style>", "</style>")));
    assert!(source(&between("<script>", "</script>")));
}

#[test]
fn the_first_screen_answers_with_an_interval() {
    let page = page(&Evidence::bare(fixture("study-grid")), Place::Alone);
    let first = page.split("</header>").next().unwrap();
    let answer = first.split("class=\"answer\">").nth(1).unwrap().split("</p>").next().unwrap();
    assert!(answer.contains("95 % interval"), "{answer}");
    assert!(first.contains("Trust:") && first.contains("<svg"), "no trust or no figure");
}

#[test]
fn ids_of_a_page_of_several_results_are_unique() {
    let page = pages(
        &[Evidence::bare(fixture("study-grid")), Evidence::bare(fixture("study-grid"))],
        Place::Alone,
    );
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

/// What a host lends is nowhere told as trusted as a drive's own: not in a tile, not beside a row.
#[test]
fn numbers_of_a_lent_drive_are_trusted_as_given() {
    use assay_core::findings::{Because, LENT, Trust};
    let told = |lent: bool, trust: Trust| {
        let mut found = fixture("card");
        for cell in &mut found.cells {
            let text = "what the host caches cannot be seen from here".to_owned();
            let note = Because { rule: LENT.to_owned(), trust, text };
            cell.primary = cell.metric == "iops";
            cell.trust = Some(trust);
            cell.because = if lent { vec![note] } else { Vec::new() };
        }
        let page = page(&Evidence::bare(found.clone()), Place::Alone);
        let text = crate::text::render(&crate::document::make(&found), 80, false);
        let headline = crate::document::headline(&found).trust;
        (page, text, headline)
    };
    let (page, text, headline) = told(true, Trust::Trusted);
    assert!(
        page.contains("\u{2022} trusted as given") && page.contains("class=\"given\""),
        "{page}"
    );
    assert!(!page.contains("\u{2713} trusted"), "{page}");
    assert!(
        text.contains("as given") && headline.ends_with("trusted as given"),
        "{text}{headline}"
    );
    assert!(!text.lines().any(|line| line.ends_with(" trusted")), "{text}");
    let (page, text, headline) = told(false, Trust::Trusted);
    assert!(page.contains("\u{2713} trusted<") && !page.contains("as given"), "{page}");
    assert!(!text.contains("as given") && headline.ends_with(" trusted"), "{text}{headline}");
    // Loud signs are told as ever.
    let (page, _, headline) = told(true, Trust::Suspect);
    assert!(page.contains("? suspect") && !page.contains("as given"), "{page}");
    assert!(headline.ends_with("suspect"), "{headline}");
}

/// How well a number is known is told beside its interval, in words as on the tile; that it was measured right is
/// told by its trust, and neither takes the other's colour.
#[test]
fn what_is_wide_says_so_beside_its_interval_and_keeps_its_trust() {
    use assay_core::findings::Trust;
    let told = |wide: bool| {
        let mut found = fixture("card");
        for cell in &mut found.cells {
            cell.primary = cell.metric == "iops";
            cell.trust = Some(Trust::Trusted);
            let value = cell.value().unwrap_or(1.0);
            cell.ci95 = Some(if wide {
                [value / 2.0, value * 2.0]
            } else {
                [0.9, 1.1].map(|by| by * value)
            });
        }
        let page = page(&Evidence::bare(found.clone()), Place::Alone);
        (crate::document::answer(&found).text, page)
    };
    let (text, page) = told(true);
    assert!(text.contains("wide"), "{text}");
    assert!(
        page.contains("<b class=\"wide\">wide</b>") && page.contains("\u{2713} trusted<"),
        "{page}"
    );
    let (text, page) = told(false);
    assert!(!text.contains("wide") && !page.contains("class=\"wide\""), "{text}");
}
