//! Fixtures: `NAME.json` contains findings, `NAME.80.txt` and `NAME.full.txt` their expected text, for some also
//! narrow. `UPDATE_EXPECT=1` rewrites the texts. The analysis creates findings named `study-*` from the measurements in
//! `studies.rs`; `cargo test -p assay -- --ignored studies` rewrites them.
#![allow(clippy::disallowed_methods, reason = "these tests read and rewrite fixtures")]

mod agreement;
mod certainty;
mod places;
mod studies;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::document::Detail;
use super::layout::width_of;
use super::{json, screen, text};
use assay_analysis::inference::surfaces::{self, Band, Extremes, Surface};
use assay_study::findings::{Findings, Sentence, Trust};
use assay_study::results::plan::Arm;
use assay_study::results::surroundings::facts::Member;
use assay_testkit::expected::Expected;
use assay_testkit::needs::is_sampled;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/findings")
}

pub(super) fn fixtures() -> Vec<(String, Findings)> {
    all().clone()
}

fn all() -> &'static Vec<(String, Findings)> {
    static READ: OnceLock<Vec<(String, Findings)>> = OnceLock::new();
    READ.get_or_init(read)
}

pub(super) fn fixture(name: &str) -> Findings {
    all().iter().find(|(own, _)| own == name).unwrap().1.clone()
}

/// Findings from files, and those from benches after a round trip through text.
fn read() -> Vec<(String, Findings)> {
    let text_of = |name: String| {
        let text = std::fs::read_to_string(directory().join(format!("{name}.json"))).unwrap();
        (name, text)
    };
    let mut all: BTreeMap<String, String> = in_files().into_iter().map(text_of).collect();
    for (name, findings) in studies::made() {
        all.entry((*name).to_owned()).or_insert_with(|| json(findings));
    }
    all.into_iter().map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect()
}

fn in_files() -> Vec<String> {
    let names = names_of_files("json").into_iter();
    names.map(|name| name.trim_end_matches(".json").to_owned()).collect()
}

fn names_of_files(ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let own = entries.filter(|path| path.extension().is_some_and(|end| end == ending));
    own.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

fn rendered(findings: &Findings, width: usize, colour: bool) -> String {
    screen::screen(findings, Detail::Usual, width, colour)
}

fn in_full(findings: &Findings, width: usize) -> String {
    screen::screen(findings, Detail::Full, width, false)
}

/// Narrow pages in files: one of each kind of table. Another test checks all widths for lost words and long lines.
const NARROW: [(&str, usize); 6] = [
    ("two-targets", 40),
    ("mirror", 40),
    ("places", 40),
    ("study-two-arms", 50),
    ("study-compare", 50),
    ("study-boots", 50),
];

#[test]
fn fixtures_look_as_expected() {
    let mut files = Expected::default();
    let mut names = HashSet::new();
    let mut hold = |name: String, page: &str| {
        files.hold(directory().join(&name), page);
        names.insert(name);
    };
    for (name, findings) in fixtures() {
        hold(format!("{name}.80.txt"), &rendered(&findings, 80, false));
        hold(format!("{name}.full.txt"), &in_full(&findings, 80));
    }
    for (name, width) in NARROW {
        hold(format!("{name}.{width}.txt"), &rendered(&fixture(name), width, false));
    }
    assert!(fixtures().len() >= 3);
    // A page without a test would become outdated.
    for name in names_of_files("txt") {
        assert!(names.contains(&name), "{name} is no page of today");
    }
}

#[test]
fn forums_make_no_links_of_a_share() {
    let mut found = fixture("study-two-arms");
    let text = "https://a.b/ [x](JavaScript:alert(1)) www.a.b, at 10:31";
    found.summary = vec![Sentence::finding("", text)];
    let told = text::forum(&found);
    let first = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        first.contains("https: //a.b/ [x] (JavaScript: alert(1)) www .a.b, at 10:31"),
        "{told}"
    );
}

#[test]
fn a_wide_terminal_gets_the_same_block() {
    for (_, findings) in fixtures() {
        assert_eq!(rendered(&findings, 200, false), rendered(&findings, 80, false));
    }
}

#[test]
fn the_block_is_plain_text() {
    for (_, findings) in fixtures() {
        for block in [rendered(&findings, 80, false), in_full(&findings, 80)] {
            let plain = |c: char| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\u{b1}');
            assert!(block.chars().all(plain));
            assert!(block.lines().all(|line| width_of(line) <= 80 && line.trim_end() == line));
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, findings) in fixtures() {
        for width in [40, 80] {
            let coloured = rendered(&findings, width, true);
            // Without verdict and trust there is no color.
            let grey = [
                "study-boots",
                "study-sequential",
                "study-unordered",
                "study-inconclusive",
                "study-one-pair",
                "study-compare",
            ];
            let grey = grey.iter().any(|kind| name.starts_with(kind));
            assert_eq!(coloured.contains("\u{1b}["), !grey, "{name}");
            let plain = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
                .iter()
                .fold(coloured, |text, code| text.replace(code, ""));
            assert_eq!(plain, rendered(&findings, width, false));
        }
    }
}

#[test]
fn json_is_one_document_that_reads_back() {
    for (_, findings) in fixtures() {
        let text = json(&findings);
        let back: Findings = serde_json::from_str(&text).unwrap();
        assert_eq!(back, findings);
        assert!(text.starts_with("{\n  \"format\": \"assay-findings/1\""));
    }
}

/// At every width, no line is longer than the page unless one word is, and no word of a sentence is lost.
#[test]
#[ignore = "nightly: 2 s"]
fn a_page_of_any_width_holds_its_words_and_nothing_sticks_out() {
    for (width, (name, findings)) in (1..120)
        .filter(|width| is_sampled(*width as u64, 4))
        .flat_map(|width| all().iter().map(move |one| (width, one)))
    {
        let block = rendered(findings, width, false);
        for line in block.lines() {
            let one_word = !line.trim().contains(' ');
            assert!(width_of(line) <= width || one_word, "{name} at {width}: {line:?}");
        }
        let words: HashSet<&str> = block.split_whitespace().collect();
        for word in findings.summary.iter().flat_map(|sentence| sentence.text.split_whitespace()) {
            assert!(words.contains(word), "{name} at {width}: {word}");
        }
    }
}

/// The findings of a check of two drives, with their members changed.
fn mirror(change: impl Fn(&mut Vec<Member>)) -> Findings {
    let (_, mut findings) = fixtures().into_iter().find(|(name, _)| name == "mirror").unwrap();
    change(&mut findings.environment.activity.members);
    findings
}

#[test]
fn the_usual_page_shows_members_only_where_several_stand_side_by_side() {
    let chain = mirror(|members| {
        members.retain(|one| matches!(one.device.as_str(), "loop3" | "vdb"));
    });
    assert!(!rendered(&chain, 80, false).contains("members"));
    assert!(in_full(&chain, 80).contains("members"));
    let below_one = mirror(|members| {
        members.retain(|one| one.device != "loop3" && one.device != "vdb");
        let top =
            Member { device: "md0".to_owned(), kind: "raid1".to_owned(), ..members[0].clone() };
        members.insert(0, Member { below: vec!["sda".to_owned(), "sdb".to_owned()], ..top });
    });
    assert!(rendered(&below_one, 80, false).contains("md0"));
}

#[test]
fn members_have_the_time_of_a_request_where_it_was_kept() {
    let timed = mirror(|members| {
        for (one, ms) in members.iter_mut().zip([9.3, 38.0]) {
            one.request_mean_ns = Some(ms * 1e6);
        }
    });
    let page = rendered(&timed, 80, false);
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("sequential-read "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let told: Vec<&[&str]> = rows
        .iter()
        .filter(|row| ["sda", "sdb", "loop3"].contains(&row[1]))
        .map(|row| &row[row.len() - 2..])
        .collect();
    assert_eq!(told, [["9.3", "ms"], ["38", "ms"], ["100%", "-"]], "{page}");
    assert!(page.contains("Request: mean time"), "{page}");
    assert!(!rendered(&mirror(|_| ()), 80, false).contains("Request: mean time"));
}

#[test]
fn many_members_are_counted_on_the_usual_page() {
    let many = mirror(|members| {
        let own = members.clone();
        for size in 1..10 {
            let arm = Arm::from([("size".to_owned(), format!("{size} KiB"))]);
            members
                .extend(own.iter().map(|one| Member { configuration: arm.clone(), ..one.clone() }));
        }
    });
    let page = rendered(&many, 80, false);
    assert!(page.contains("80 rows for devices below the targets"), "{page}");
    assert!(in_full(&many, 80).contains("9 KiB"));
}

#[test]
fn a_surface_is_a_table_with_its_trust_on_every_page() {
    let band = |index: u32, rate: Option<f64>| Band {
        from_percent: 10 * index,
        to_percent: 10 * index + 10,
        n: if rate.is_some() { 3 } else { 0 },
        bandwidth_bytes_per_s: rate,
        ends: rate.map(|rate| [rate / 2.0, rate * 2.0]),
    };
    let rate = |index: u32| (index < 9).then(|| f64::from((10 - index) << 20));
    let mut surface = Surface {
        workload: "surface".to_owned(),
        configuration: [("depth".to_owned(), "1".to_owned())].into(),
        trust: Some(Trust::Suspect),
        bands: (0..10).map(|index| band(index, rate(index))).collect(),
        positions: Vec::new(),
        whole: Some(Extremes {
            lowest: f64::from(2 << 20),
            mean: f64::from(6 << 20),
            highest: f64::from(10 << 20),
        }),
        note: Some("the time of 1 s ended 3 of 3 trials early".to_owned()),
    };
    for name in ["card", "study-two-arms"] {
        let mut found = fixtures().into_iter().find(|one| one.0 == name).unwrap().1;
        found.exhibits =
            surfaces::exhibit(&found, &[], &[surface.clone()], &[]).into_iter().collect();
        let text = rendered(&found, 80, false);
        for line in [
            "surface depth 1: rate over the area\n",
            "   area      rate     lowest   highest  n  trust\n",
            "  0-10%  10 MiB/s    5 MiB/s  20 MiB/s  3  suspect\n",
            "90-100%         -          -         -  0  -\n",
            "lowest 2 MiB/s, highest 10 MiB/s, mean 6 MiB/s.",
            "Incomplete: the time of 1 s ended 3 of 3 trials early.",
        ] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
    }
    surface.configuration.clear();
    let mut found = fixtures().remove(0).1;
    found.exhibits.extend(surfaces::exhibit(&found, &[], &[surface], &[]));
    assert!(rendered(&found, 80, false).contains("\nsurface: rate over the area\n"));
}

/// The author's digits and unit, measured numbers in that unit, and no verdict.
#[test]
fn published_numbers_stand_beside_own_ones_on_every_page() {
    use assay_analysis::inference::published::{self, Published, PublishedUnit};
    let mut shown = 0;
    for (name, mut found) in fixtures() {
        let own = |cell: &&assay_study::findings::Measurement| {
            cell.metric == "bandwidth_bytes_per_s" && cell.geometric_mean.is_some() && !cell.control
        };
        let Some(cell) = found.measurements.iter().find(own).cloned() else { continue };
        let one = |of: &str, flags: Vec<String>| Published {
            article: "Intel SSD 520 Goodness".to_owned(),
            table: "schedulers.csv:4".to_owned(),
            of: of.to_owned(),
            workload: cell.workload.clone(),
            configuration: cell.configuration.clone(),
            metric: cell.metric.clone(),
            text: "513349 K/s".to_owned(),
            value: Some(513_349.0 * 1024.0),
            unit: Some(PublishedUnit { name: "K/s".to_owned(), size: 1024.0 }),
            ratio: None,
            statistic: "mean of 5 runs, spread not published".to_owned(),
            flags,
        };
        let mut all = vec![one("noop", vec!["it could not have been".to_owned()])];
        let show = |found: &mut Findings, all: &[Published]| {
            found.exhibits = published::exhibit(found, all).into_iter().collect();
        };
        show(&mut found, &all);
        let text = rendered(&found, 80, false);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mine = format!("{:.0}", cell.geometric_mean.unwrap() / 1024.0);
        let is_large = mine.len() > 3;
        assert!(
            words.contains("513349 K/s") && words.contains("it could not have been"),
            "{name}: {text}"
        );
        assert!(!is_large || words.contains(&mine), "{name}: no {mine} in {text}");
        assert!(words.contains("no verdict"), "{name}: {text}");
        all[0].workload = "another".to_owned();
        show(&mut found, &all);
        let text = rendered(&found, 80, false);
        assert!(text.contains("No measurement in your result matches these"), "{name}: {text}");
        shown += 1;
    }
    assert!(shown > 2, "{shown}");
}

#[test]
fn questions_and_the_card_stand_on_every_page() {
    use assay_analysis::inference::card::{self, CardNumber, CardRow, FlashRow, RatingResult};
    use assay_study::findings::answers::{Answer, Claim};
    let number = |value: f64| Some(CardNumber { value, ci95: None, trust: Some(Trust::Trusted) });
    for (name, mut found) in fixtures() {
        found.answers.all = vec![Answer {
            ask: "Is the rate highest at 32 to 64 threads?".to_owned(),
            published: Some("it peaks there.".to_owned()),
            answer: "The numbers are inconclusive.".to_owned(),
            verdict: Claim::NotShown,
            reasons: vec!["random-read: best operations per second at 8.".to_owned()],
            evidence: Vec::new(),
            max_rate: None,
        }];
        let card = CardRow {
            device: "SD16G, mmc".to_owned(),
            sequential_read: number(82.4e6),
            sequential_write: number(21e6),
            random_read: number(1820.0),
            random_write: number(19.3),
            rated_bytes_per_s: Some(95e6),
            share_of_rating: Some(82.4 / 95.0),
            price: Some("12.50 GBP".parse().unwrap()),
            iops_per_unit: Some(19.3 / 12.5),
            price_per_gb: Some(12.5 / 16.0),
            published: vec![FlashRow {
                item: "5400 rpm laptop disk".to_owned(),
                iops: 90.0,
                kind: "author's rule".to_owned(),
                place: RatingResult::Below,
                writes: true,
                line: true,
            }],
            text: vec!["Random writes are below it.".to_owned()],
            target: String::new(),
        };
        found.exhibits.extend(card::exhibit(&[card]));
        for width in [40, 80] {
            let page = rendered(&found, width, false);
            let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let asked = "- Is the rate highest at 32 to 64 threads? NOT SHOWN: The numbers are \
                         inconclusive. random-read: best operations per second at 8. Published: it peaks \
                         there.";
            assert!(flat.contains(asked), "{name}:\n{page}");
            for word in ["82.4", "21", "1,820", "19.3", "95 MB/s", "12.50 GBP", "1.54", "below"] {
                assert!(page.contains(word), "{name}, {word}:\n{page}");
            }
            assert!(page.lines().all(|line| width_of(line) <= width.max(50)), "{page}");
        }
    }
}

#[test]
fn the_surroundings_stand_on_the_full_page_with_what_there_is() {
    use assay_study::results::surroundings::facts::{
        Activity, DriveHealth, Hottest, ObservedField, WorkloadSurroundings,
    };
    let row = |arm: &str, watts| WorkloadSurroundings {
        workload: "sync-write".to_owned(),
        configuration: [("scheduler".to_owned(), arm.to_owned())].into(),
        n: 6,
        busy_share: Some(0.31),
        busiest_share: Some(0.6),
        steal_share: Some(0.0),
        pressure_shares: [("io".to_owned(), 0.42)].into(),
        swapped_pages: Some(0),
        hottest: Some(Hottest { sensor: "nvme0 Composite".to_owned(), from_c: 38.9, to_c: 61.0 }),
        energy_j: watts,
        power_w: watts,
    };
    let drive = DriveHealth {
        drive: "nvme0n1".to_owned(),
        written_bytes: Some(12 << 30),
        used_percent: Some([3, 4]),
        temperature_c: None,
        grown: [("media_errors".to_owned(), 2)].into(),
    };
    let plain = ObservedField {
        workload: "sync-write".to_owned(),
        probe: "clock".to_owned(),
        field: Some("suspended_ns".to_owned()),
        n: 3,
        mean: Some(2e6),
        min: Some(0.0),
        max: Some(6e6),
        ..ObservedField::default()
    };
    let (_, mut found) = fixtures().into_iter().find(|one| one.0 == "study-two-arms").unwrap();
    found.environment.activity = Activity {
        workloads: vec![row("none", Some(14.2)), row("bfq", None)],
        observed: vec![plain],
        drives: vec![drive],
        energy_of: Some("powercap: CPU packages and their memory, not the drive".to_owned()),
        idle_w: Some(9.5),
        ..Activity::default()
    };
    assert!(!rendered(&found, 120, false).contains("surroundings"));
    let page = in_full(&found, 80);
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "scheduler none CPUs busy 31%, busiest 60%, waits: I/O 42%, energy 14.2 J, \
         power 14.2 W, hottest nvme0 Composite: 38.9 to 61 \u{b0}C",
        "bfq CPUs busy 31%, busiest 60%, waits: I/O 42%, energy -, power -,",
        "memory, not the drive; the idle machine used 9.5 W.",
        "mean 2 ms, min 0 ns, max 6 ms",
        "nvme0n1 12 GiB 3% to 4% - media_errors +2",
    ] {
        assert!(flat.contains(line), "{line}:\n{page}");
    }
    for missing in ["steal", "swapped", "waits: CPU"] {
        assert!(!page.contains(missing), "{missing}:\n{page}");
    }
}
