//! Pages as a whole: content of a result must not become code of the page.

use super::*;
use crate::evidence::{Commands, Evidence};
use crate::figures::tests::leads;
use crate::tests::fixture;
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::{Sentence, SentenceRole};

/// Hostile text for a title, an arm, a note.
const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\u{0}\u{1b}[2J";

fn hostile() -> Evidence {
    let mut findings = fixture("study-grid");
    findings.study.title = HOSTILE.to_owned();
    findings.study.notes = vec![HOSTILE.to_owned()];
    findings.summary.push(Sentence::finding("", HOSTILE));
    for cell in &mut findings.measurements {
        cell.workload = HOSTILE.to_owned();
        cell.configuration.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    for found in &mut findings.comparisons {
        found.text = HOSTILE.to_owned();
        found.configuration.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    let commands = Commands {
        workload: HOSTILE.to_owned(),
        arm: findings.measurements[0].configuration.clone(),
        words: HOSTILE.to_owned(),
        lines: vec![HOSTILE.to_owned()],
        remarks: vec![HOSTILE.to_owned()],
    };
    let files = vec![(HOSTILE.to_owned(), HOSTILE.to_owned())];
    Evidence { commands: vec![commands], files, ..Evidence::bare(findings) }
}

#[test]
fn nothing_of_a_result_becomes_markup() {
    let page = page(&hostile(), PagePlace::Alone);
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    assert!(!page.contains("<img"));
    assert!(!page.contains("style=\""), "the policy forbids it");
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_page_names_nothing_outside_itself() {
    let page = page(&Evidence::bare(fixture("study-grid")), PagePlace::Alone);
    for outside in ["http://", "https://", "url(", "@import", "<link", "<img", "<iframe"] {
        // The namespace of SVG is an address that is never loaded.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_policy_lets_the_own_script_and_style_in() {
    let page = page(&Evidence::bare(fixture("study-grid")), PagePlace::Alone);
    let policy = policy::content_security_policy();
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
    let page = page(&Evidence::bare(fixture("study-grid")), PagePlace::Alone);
    let first = page.split("</header>").next().unwrap();
    let of = |class: &str| {
        let begin = format!("class=\"{class}\">");
        first.split(begin.as_str()).nth(1).unwrap().split("</p>").next().unwrap()
    };
    let [change, answer] = [of("answer"), of("because")];
    assert!(change.contains(" IOPS (") && change.contains(" \u{2192} "), "{change}");
    assert!(answer.contains("95% CI"), "{answer}");
    assert!(first.contains("Trust:") && first.contains("<svg"), "no trust or no figure");
}

#[test]
fn ids_of_a_page_of_several_results_are_unique() {
    let page = pages(
        &[Evidence::bare(fixture("study-grid")), Evidence::bare(fixture("study-grid"))],
        PagePlace::Alone,
    );
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
}

/// Numbers of a virtual drive are never rated like those of a local drive: neither on a tile nor in a row.
#[test]
fn numbers_of_a_lent_drive_are_trusted_as_given() {
    use assay_study::findings::{Because, LENT, Trust};
    let told = |is_lent: bool, trust: Trust| {
        let mut found = fixture("card");
        for cell in &mut found.measurements {
            let text = "the host's cache is invisible to this guest".to_owned();
            let note = Because { rule: LENT.to_owned(), trust, text };
            cell.primary = cell.metric == "iops";
            cell.trust = Some(trust);
            cell.reasons = if is_lent { vec![note] } else { Vec::new() };
        }
        let page = page(&Evidence::bare(found.clone()), PagePlace::Alone);
        let text = crate::text::render(&crate::document::usual(&found), 80, false);
        let headline = crate::document::headline(&found).trust;
        (page, text, headline)
    };
    let (page, text, headline) = told(true, Trust::Trusted);
    assert!(
        page.contains("\u{2022} trusted for this virtual device")
            && page.contains("class=\"given\""),
        "{page}"
    );
    assert!(!page.contains("\u{2713} trusted"), "{page}");
    assert!(
        text.contains("virtual") && headline.ends_with("trusted for this virtual device"),
        "{text}{headline}"
    );
    assert!(!text.lines().any(|line| line.ends_with(" trusted")), "{text}");
    let (page, text, headline) = told(false, Trust::Trusted);
    assert!(page.contains("\u{2713} trusted<") && !page.contains("virtual"), "{page}");
    assert!(!text.contains("virtual") && headline.ends_with(" trusted"), "{text}{headline}");
    // Objections of rules remain.
    let (page, _, headline) = told(true, Trust::Suspect);
    assert!(page.contains("? suspect") && !page.contains("virtual"), "{page}");
    assert!(headline.ends_with("suspect"), "{headline}");
}

/// The precision of a number is next to its interval, in words as on the tile; its trust shows whether the measurement
/// is valid, and neither affects the color of the other.
#[test]
fn what_is_wide_says_so_beside_its_interval_and_keeps_its_trust() {
    use assay_study::findings::Trust;
    let told = |wide: bool| {
        let mut found = fixture("card");
        for cell in &mut found.measurements {
            cell.primary = cell.metric == "iops";
            cell.trust = Some(Trust::Trusted);
            let value = cell.value().unwrap_or(1.0);
            cell.ci95 = Some(if wide {
                [value / 2.0, value * 2.0]
            } else {
                [0.9, 1.1].map(|by| by * value)
            });
        }
        let page = page(&Evidence::bare(found.clone()), PagePlace::Alone);
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

/// Checks that the texts appear in this order.
fn in_order(page: &str, texts: &[&str]) {
    let mut from = 0;
    for text in texts {
        let at = page[from..].find(text);
        from += at.unwrap_or_else(|| panic!("no {text} in its place"));
    }
}

fn first_screen(page: &str) -> &str {
    page.split("</header>").next().unwrap()
}

#[test]
fn what_the_study_says_stands_first_with_its_table() {
    for (evidence, figure, caption) in [
        (leads::whole_surface(), "r0-surface-surface", "Surface: rate over the area"),
        (leads::flash(), "r0-card-iops", "Flash table"),
        (leads::power(), "r0-energy-energy-j", ">Energy<"),
        (leads::windows(), "r0-classes-watched-reads", ">Changes<"),
    ] {
        let page_of = |evidence: &Evidence| page(evidence, PagePlace::Alone);
        let page = page_of(&evidence);
        assert!([figure, caption].iter().all(|one| first_screen(&page).contains(one)), "{caption}");
        assert_eq!(page.matches(caption).count(), 1, "{caption}");
        let mut silent = evidence;
        silent.findings.study.lead_figure = None;
        let page = page_of(&silent);
        assert!(!first_screen(&page).contains(caption), "{caption}");
        in_order(&page, &["</header>", caption]);
    }
}

fn ranks(page: &str) -> Vec<u32> {
    let begins = page.split("<h").skip(1);
    begins.filter_map(|rest| rest.chars().next()?.to_digit(10)).collect()
}

#[test]
fn no_heading_skips_a_rank_whatever_leads() {
    let plain = Evidence::bare(fixture("study-grid"));
    let led = [leads::whole_surface(), leads::flash(), leads::power(), leads::windows()];
    for evidence in led.into_iter().chain([plain]) {
        let ranks = ranks(&page(&evidence, PagePlace::Alone));
        assert!(ranks.len() > 4 && ranks[0] == 1, "{ranks:?}");
        assert!(ranks.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{ranks:?}");
    }
    assert_eq!(ranks("<h1>a</h1><header><h3>b</h3>"), [1, 3]);
}

#[test]
fn a_name_without_a_space_breaks_in_headings_and_captions() {
    let style = style();
    let breaks = style.lines().find(|line| line.ends_with("{overflow-wrap:anywhere}")).unwrap();
    let of: Vec<&str> = breaks.split(['{', ',']).collect();
    for element in ["h1", "h2", "h3", "h4", "figcaption", "p", "li", "dd"] {
        assert!(of.contains(&element), "{element}: {breaks}");
    }
}

fn answer() -> Answer {
    Answer {
        ask: "Does it read as fast as the article's SSD?".to_owned(),
        published: None,
        answer: "It does not.".to_owned(),
        verdict: Claim::Contradicted,
        reasons: Vec::new(),
        evidence: Vec::new(),
        max_rate: None,
    }
}

#[test]
fn answers_stand_below_a_heading_of_their_own() {
    let mut evidence = leads::whole_surface();
    let silent = page(&evidence, PagePlace::Alone);
    assert!(silent.contains(">Warnings</h2>") && !silent.contains("Answers"));
    evidence.findings.answers.all = vec![answer()];
    let page = page(&evidence, PagePlace::Alone);
    in_order(&page, &[">Answers</h2>", "contradicted", ">Warnings</h3>"]);
    assert!(!page.contains(">Warnings</h2>") && !page.contains("Questions"));
}

#[test]
fn what_the_first_screen_says_is_not_said_again() {
    let mut findings = fixture("study-grid");
    let told = "Disturbed: other programs used the drive.";
    let other = "Another sentence of the summary.";
    let told_first = Sentence::new(SentenceRole::Disturbance, "", told);
    findings.summary.splice(0..0, [told_first, Sentence::finding("", other)]);
    let page = page(&Evidence::bare(findings.clone()), PagePlace::Alone);
    // A pasted text has no first screen.
    let page = page.split("data-copy").next().unwrap();
    assert_eq!(page.matches(told).count(), 1);
    assert_eq!(page.matches(other).count(), 1);
    let answer = document::answer(&findings).text;
    let begin: String = answer.split(['<', '>', '&', '"']).next().unwrap_or_default().to_owned();
    let answers = page.matches(begin.as_str()).count();
    assert!(begin.len() > 20 && answers == 1, "{answers} of {begin}");
}

#[test]
fn that_others_were_at_work_is_said_once_where_nothing_else_was_found() {
    let told = "Disturbed: other programs used the drive.";
    let other = "Another sentence of the summary.";
    for rest in [Vec::new(), vec![other]] {
        let mut findings = fixture("study-two-arms");
        findings.comparisons.clear();
        findings.effects.main.clear();
        findings.advice.clear();
        findings.summary = vec![Sentence::new(SentenceRole::Disturbance, "", told)];
        findings.summary.extend(rest.iter().map(|text| Sentence::finding("", *text)));
        let answer = document::answer(&findings).text;
        assert_eq!(answer, *rest.first().unwrap_or(&told));
        let page = page(&Evidence::bare(findings), PagePlace::Alone);
        let page = page.split("data-copy").next().unwrap();
        assert_eq!(page.matches(told).count(), 1, "{rest:?}");
        assert_eq!(page.matches(other).count(), rest.len());
    }
}

fn folded(page: &str) -> Vec<&str> {
    let folds = page.split("<details class=\"paper\"><summary>").skip(1);
    folds.filter(|fold| !fold.starts_with("Show this figure as a table")).collect()
}

#[test]
fn figures_are_folded_by_their_kind() {
    let evidence = Evidence::bare(fixture("study-two-arms"));
    let page = page(&evidence, PagePlace::Alone);
    let (first, rest) = page.split_once("</header>").unwrap();
    assert_eq!(first.matches("<figure>").count(), 1);
    let figures = rest.split(">Figures</h2>").nth(1).unwrap().split("<h2").next().unwrap();
    let folds = folded(figures);
    let others = crate::figures::ordered(&evidence).others;
    assert!(!others.is_empty());
    assert_eq!(folds.len(), others.len());
    assert!(folds.iter().all(|fold| fold.contains("<figure>")));
}

#[test]
fn sections_that_few_read_are_folded_and_the_others_open() {
    let mut findings = fixture("study-two-arms");
    findings.environment.activity.probes =
        vec![assay_study::results::surroundings::facts::ProbeCost {
            probe: "disk".to_owned(),
            n: 12,
            mean_ns: 1e5,
            max_ns: 200_000,
        }];
    let page = page(&Evidence::bare(findings), PagePlace::Alone);
    assert!(page.contains("<summary><h3>Probes</h3></summary>"), "folded");
    assert!(page.contains("<h3>Random-write: "), "open");
    assert!(!page.contains("<summary><h3>Random-write"));
    assert!(style().contains("details.paper::details-content{content-visibility:visible"));
}

#[test]
fn a_table_longer_than_a_screen_is_folded_and_paper_shows_it_unless_it_is_endless() {
    let table = |rows: usize| {
        let mut table = document::Table::default();
        table.add(document::Column::right("n"), &vec![(); rows], |()| "1");
        blocks::table(&table, "numbers").into_string()
    };
    assert!(!table(36).contains("<details"));
    assert!(table(37).starts_with("<details class=\"paper\"><summary>Table: 37 rows"));
    assert!(table(201).starts_with("<details><summary>Table: 201 rows"));
}

#[test]
fn a_page_of_many_results_shows_only_their_comparison() {
    let of = |name| Evidence { findings: fixture(name), ..hostile() };
    for (results, is_whole) in [(MOST_COMPARED - 1, true), (MOST_COMPARED, false)] {
        let others = (0..results).map(|_| of("study-grid"));
        let all: Vec<Evidence> = std::iter::once(of("study-compare")).chain(others).collect();
        let page = pages(&all, PagePlace::Alone);
        assert_eq!(page.contains(&format!("each of the {results} results")), !is_whole);
    }
}
