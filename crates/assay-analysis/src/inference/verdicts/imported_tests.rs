//! Runs of other tools, from their text to the verdict.

use std::fmt::Write;

use crate::import::{self, IMPORTERS, ImportedFile, Importer, Options, Reads, of_bytes};
use assay_core::quantity::Better;
use assay_core::stats::{Sample, welch};
use assay_study::findings::{Comparison, Findings, Kind, Measurement, Verdict};
use assay_study::results::plan::Arm;

use super::tests::Study;

/// More old runs than new ones.
const OLD: [f64; 4] = [104.0, 97.0, 103.0, 99.0];
const NEW: [f64; 5] = [101.0, 108.0, 99.0, 106.0, 112.0];

/// A text of a format with one run of this number.
#[allow(clippy::disallowed_methods, reason = "fixtures of a test")]
fn text_of(format: &str, value: f64) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/import/one_run");
    let text = std::fs::read_to_string(format!("{folder}/{format}.txt")).unwrap();
    text.replace("123.5", &value.to_string())
}

fn hyperfine(times: &[f64]) -> String {
    format!(r#"{{"results": [{{"command": "a", "times": {times:?}}}]}}"#)
}

fn go(unit: &str, values: &[f64]) -> String {
    let line = |value: &f64| format!("BenchmarkA-4 100 {value} {unit}\n");
    values.iter().map(line).collect::<Vec<String>>().concat()
}

fn phoronix(values: &[f64], proportion: Option<&str>) -> String {
    let raw: Vec<String> = values.iter().map(f64::to_string).collect();
    let better =
        proportion.map(|word| format!("<Proportion>{word}</Proportion>")).unwrap_or_default();
    format!(
        "<PhoronixTestSuite><Result><Title>a</Title><Scale>points</Scale>{better}<Entry><Identifier>b\
         </Identifier><RawString>{}</RawString></Entry></Result></PhoronixTestSuite>",
        raw.join(":")
    )
}

fn brought(side: &str, text: String) -> ImportedFile {
    let arm = Arm::from([("side".to_owned(), side.to_owned())]);
    // fio's logs are identified by name.
    ImportedFile { name: "a_iops.1.log".to_owned(), arm, bytes: text.into_bytes() }
}

fn judged(importer: &Importer, files: &[ImportedFile], options: &Options) -> Findings {
    let name = importer.about.name;
    let read = import::read(importer, files, options);
    let measured =
        read.unwrap_or_else(|failure| panic!("{name}: {}", failure.message)).measurements;
    Study { measured, emulated: false }.findings()
}

fn of_two(texts: [String; 2]) -> Findings {
    let importer = of_bytes("", texts[0].as_bytes()).unwrap();
    let [old, new] = texts;
    judged(importer, &[brought("old", old), brought("new", new)], &Options::default())
}

fn of_table(text: &str, options: &Options) -> Findings {
    let bytes = text.as_bytes().to_vec();
    let file = ImportedFile { name: "t.csv".to_owned(), bytes, ..ImportedFile::default() };
    judged(of_bytes("", text.as_bytes()).unwrap(), &[file], options)
}

fn cell<'f>(found: &'f Findings, side: &str) -> &'f Measurement {
    found
        .measurements
        .iter()
        .find(|cell| cell.primary && cell.configuration["side"] == side)
        .unwrap()
}

fn same(one: &Findings, other: &Findings, what: &str) {
    let [first, second] = [one, other].map(|found| &found.comparisons[0]);
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-12;
    let ends = |one: &Comparison| one.ci95_simultaneous.unwrap();
    assert!(near(first.ratio.unwrap(), second.ratio.unwrap()), "{what}");
    assert!(
        near(ends(first)[0], ends(second)[0]) && near(ends(first)[1], ends(second)[1]),
        "{what}"
    );
    assert!(near(first.p_holm.unwrap(), second.p_holm.unwrap()), "{what}");
    assert_eq!(
        (first.verdict, first.n, &first.text),
        (second.verdict, second.n, &second.text),
        "{what}"
    );
    for side in ["old", "new"] {
        let [first, second] = [one, other].map(|found| cell(found, side).value().unwrap());
        assert!(near(first, second), "{what}");
    }
}

fn orders(values: &[f64]) -> Vec<Vec<f64>> {
    let rotated = |by: usize| -> Vec<f64> {
        let mut own = values.to_vec();
        own.rotate_left(by);
        own
    };
    let mut all: Vec<Vec<f64>> = (0..values.len()).map(rotated).collect();
    all.push(values.iter().rev().copied().collect());
    all
}

/// Welch's interval of the logarithms of all runs.
fn expected(values: [Vec<f64>; 2]) -> (f64, [f64; 2], f64) {
    let [old, new] = values.map(|own| {
        let logs: Vec<f64> = own.into_iter().map(f64::ln).collect();
        Sample::of(&logs).unwrap()
    });
    let test = welch(&old, &new).unwrap();
    (test.difference.exp(), test.interval(0.05).unwrap().map(f64::exp), test.p)
}

#[test]
fn permuting_runs_changes_nothing_for_any_importer() {
    for importer in IMPORTERS.iter().filter(|one| matches!(one.reads, Reads::Runs(_))) {
        let name = importer.about.name;
        for in_order in [false, true] {
            let options = Options { in_order, ..Options::default() };
            let of = |old: &[f64], new: &[f64]| {
                let side = |side: &'static str, values: &[f64]| -> Vec<ImportedFile> {
                    values.iter().map(|value| brought(side, text_of(name, *value))).collect()
                };
                judged(importer, &[side("old", old), side("new", new)].concat(), &options)
            };
            let found = of(&OLD, &NEW);
            let one = &found.comparisons[0];
            assert_eq!((one.kind, one.n), (Kind::Unpaired, 4), "{name}");
            assert!(
                one.text.contains("unpaired") && one.text.contains("no verdict"),
                "{}",
                one.text
            );
            let values = ["old", "new"].map(|side| {
                let trials = &cell(&found, side).trials;
                trials.iter().filter_map(|trial| trial.value).collect::<Vec<f64>>()
            });
            assert_eq!(values.each_ref().map(Vec::len), [4, 5], "{name}");
            let (ratio, ends, p) = expected(values);
            let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
            assert!(near(one.ratio.unwrap(), ratio) && near(one.p_holm.unwrap(), p), "{name}");
            let own = one.ci95_simultaneous.unwrap();
            assert!(near(own[0], ends[0]) && near(own[1], ends[1]), "{name}");
            for old in orders(&OLD) {
                same(&found, &of(&old, &NEW), name);
            }
            for new in orders(&NEW) {
                same(&found, &of(&OLD, &new), name);
            }
        }
    }
}

/// Runs of one file, as written by tools that repeat by themselves.
#[test]
fn permuting_runs_of_one_file_changes_nothing() {
    type Text = fn(&[f64]) -> String;
    let texts: [(&str, Text); 3] = [
        ("hyperfine", hyperfine),
        ("go", |values| go("ns/op", values)),
        ("phoronix", |values| phoronix(values, Some("LIB"))),
    ];
    for (name, text) in texts {
        let found = of_two([text(&OLD), text(&NEW)]);
        for (old, new) in orders(&OLD).iter().zip(orders(&NEW).iter().rev()) {
            same(&found, &of_two([text(old), text(new)]), name);
        }
    }
}

#[test]
fn commands_in_lumps_are_not_paired() {
    let text = r#"{"results": [
        {"command": "a", "times": [1320.82, 1278.389, 1317.287], "parameters": {"side": "base"}},
        {"command": "b", "times": [1338.569, 1369.92, 1322.303], "parameters": {"side": "head"}}]}"#;
    let file =
        ImportedFile { name: "h.json".to_owned(), bytes: text.into(), ..ImportedFile::default() };
    let found = judged(of_bytes("", text.as_bytes()).unwrap(), &[file], &Options::default());
    let one = &found.comparisons[0];
    assert_eq!(
        (one.configuration["side"].as_str(), one.verdict),
        ("head", Some(Verdict::Inconclusive))
    );
    assert!(one.text.contains("ratio 1.029"), "{}", one.text);
    assert!(one.text.contains("0.988-1.072, n = 3, unpaired"), "{}", one.text);
    assert!(one.p_holm.is_some_and(|p| p > 0.05), "{:?}", one.p_holm);
}

#[test]
fn runs_in_turn_are_paired() {
    let lines: String =
        [("a", 10.0), ("b", 12.0), ("b", 12.1), ("a", 10.1), ("a", 10.2), ("b", 12.2)]
            .map(|(side, ns)| format!("BenchmarkA/side={side} 1 {ns} ns/op\n"))
            .concat();
    let file = ImportedFile {
        name: "g.txt".to_owned(),
        bytes: lines.clone().into(),
        ..ImportedFile::default()
    };
    let found = judged(of_bytes("", lines.as_bytes()).unwrap(), &[file], &Options::default());
    assert_eq!(found.comparisons[0].kind, Kind::Paired);
    assert_eq!(found.comparisons[0].verdict, Some(Verdict::Worse));
}

/// Counts that may be zero, before and after (c15).
#[test]
fn zero_is_a_value_and_compared_by_difference() {
    let of = |unit: &str, old: &[f64], new: &[f64]| of_two([go(unit, old), go(unit, new)]);
    for (unit, old, new, difference) in [
        ("allocs/op", [0.0, 0.0], [3.0, 3.0], 3.0),
        ("B/op", [0.0, 8.0], [24.0, 24.0], 20.0),
        ("retransmits", [5.0, 4.0], [0.0, 0.0], -4.5),
        ("lost-packets", [0.0, 0.0], [0.0, 0.0], 0.0),
    ] {
        let found = of(unit, &old, &new);
        let one = &found.comparisons[0];
        assert_eq!((one.baseline["side"].as_str(), one.better), ("old", Better::Lower), "{unit}");
        let own = one.difference.as_ref().unwrap();
        assert!((own.value - difference).abs() < 1e-12 && one.ratio.is_none(), "{unit}: {own:?}");
        assert!(!one.notes.iter().any(|note| note.contains("fail")), "{:?}", one.notes);
        let mean = old.iter().sum::<f64>() / 2.0;
        assert_eq!((cell(&found, "old").value(), cell(&found, "old").n), (Some(mean), 2), "{unit}");
    }
    // Without a zero there is a ratio.
    let found = of("allocs/op", &[1.0, 1.0, 2.0], &[3.0, 3.0, 2.0]);
    assert!(found.comparisons[0].ratio.is_some() && found.comparisons[0].difference.is_none());
    // A negative value is not zero.
    let found = of("allocs/op", &[-1.0, -1.0, -2.0], &[3.0, 3.0, 2.0]);
    assert!(found.comparisons.iter().all(|one| one.ratio.is_none() && one.difference.is_none()));
}

fn rows(metric: &str, sides: [(&str, &[f64]); 2]) -> String {
    let mut text = "replicate,order,workload,metric,value,factor_side\n".to_owned();
    for at in 0..sides[0].1.len() {
        for place in 0..2 {
            let (side, values) = sides[(at + place) % 2];
            let order = 2 * at + place;
            writeln!(text, "{},{order},parse,{metric},{},{side}", at + 1, values[at]).unwrap();
        }
    }
    text
}

const SLOW: [f64; 6] = [80.0, 80.1, 80.2, 80.3, 80.4, 80.5];
const FAST: [f64; 6] = [70.0, 70.1, 70.2, 70.3, 70.4, 70.6];

/// The same numbers with names that show the direction and names that do not (n09).
#[test]
fn tables_take_directions_from_names_or_the_user() {
    let verdict = |metric: &str, stated: Option<Better>| {
        let mut options = Options::default();
        options.better.extend(stated.map(|better| (metric.to_owned(), better)));
        let found = of_table(&rows(metric, [("fast", &FAST), ("slow", &SLOW)]), &options);
        let advised = !found.advice.is_empty();
        (found.comparisons[0].verdict.unwrap(), advised, found.comparisons[0].text.clone())
    };
    for metric in
        ["p99_latency_ms", "time_s", "errors", "time_per_op_ns", "latency_p99_ns", "ns/op"]
    {
        assert_eq!(verdict(metric, None).0, Verdict::Worse, "{metric}");
    }
    for metric in ["ops/sec", "iops", "requests_per_s", "read_bytes_per_s", "throughput:higher"] {
        assert_eq!(verdict(metric, None).0, Verdict::Better, "{metric}");
    }
    for metric in ["score", "queue_length", "uptime_s"] {
        let (found, advised, text) = verdict(metric, None);
        assert_eq!((found, advised), (Verdict::Inconclusive, false), "{metric}");
        assert!(text.contains(&format!("--better {metric}=higher")), "{text}");
        assert_eq!(verdict(metric, Some(Better::Higher)).0, Verdict::Better, "{metric}");
        assert_eq!(verdict(metric, Some(Better::Lower)).0, Verdict::Worse, "{metric}");
    }
}

/// A clock with two distinct values (c64).
#[test]
fn coarse_clock_of_a_table_is_named() {
    let base = [70.0, 70.0, 70.0, 70.0, 80.0, 70.0];
    let text = rows("time_per_op_ns:lower", [("base", &base), ("head", &[80.0; 6])]);
    let found = of_table(&text, &Options::default());
    let one = &found.comparisons[0];
    assert_eq!(one.verdict, Some(Verdict::Inconclusive));
    assert!(one.text.contains("resolution of 10"), "{}", one.text);
    assert!(found.advice.is_empty());
}

/// Regardless of their names (n13).
#[test]
fn baseline_is_the_first_row_or_file() {
    let first = |sides| {
        let found = of_table(&rows("duration_s", sides), &Options::default());
        (found.comparisons[0].baseline["side"].clone(), found.comparisons[0].verdict)
    };
    let worse = Some(Verdict::Worse);
    assert_eq!(first([("old", &FAST), ("new", &SLOW)]), ("old".to_owned(), worse));
    assert_eq!(first([("new", &FAST), ("old", &SLOW)]), ("new".to_owned(), worse));
    assert_eq!(first([("8", &FAST), ("1", &SLOW)]), ("8".to_owned(), worse));
    let found = of_two([go("ns/op", &OLD), go("ns/op", &NEW)]);
    assert_eq!(found.comparisons[0].baseline["side"], "old");
}

#[test]
fn phoronix_direction_is_what_the_suite_states() {
    for (said, better) in
        [(None, Better::Unknown), (Some("LIB"), Better::Lower), (Some("HIB"), Better::Higher)]
    {
        let found = of_two([phoronix(&OLD, said), phoronix(&NEW, said)]);
        assert_eq!(found.comparisons[0].better, better);
    }
}
