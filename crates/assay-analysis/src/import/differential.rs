//! Changes each number of each fixture: the imported values have to change with it, unless the importer names the
//! number as unused.

use std::collections::BTreeSet;

use serde_json::Value;

use super::run::ImportedRuns;
use super::tests::{fixtures, not_measured};
use super::{IMPORTERS, Importer, Reads, decode, json};

/// Columns of a bonnie++ line with CPU time, and those that identify the run.
const BONNIE_UNUSED: [usize; 19] =
    [0, 1, 4, 7, 8, 10, 12, 14, 16, 18, 20, 22, 23, 25, 27, 29, 31, 33, 35];

fn runs(importer: &Importer, name: &str, text: &str) -> String {
    let Reads::Runs(read) = importer.reads else { return String::new() };
    match read(name, text) {
        Ok(ImportedRuns { runs, notes, .. }) => format!("{runs:?} {notes:?}"),
        Err(failure) => failure.message,
    }
}

/// Whether the importer names the number with this label as unused or not measured.
fn is_named(importer: &Importer, label: &str) -> bool {
    let has_part = |name: &str| label.split('/').any(|part| part == name);
    // A quoted name is a whole part of the label; other names may occur anywhere.
    let is_in_label = |name: &str| {
        has_part(name.trim_matches('"')) || (!name.starts_with('"') && label.contains(name))
    };
    let unused = importer.unused().flat_map(|(names, _)| names);
    has_part("#unused") || not_measured(importer).lines().chain(unused).any(is_in_label)
}

/// Changes each number below a value in turn, and calls `change` with its path.
fn each_number(root: &Value, path: &mut Vec<String>, change: &mut dyn FnMut(&[String])) {
    match root {
        Value::Object(all) => {
            for (key, value) in all {
                path.push(key.clone());
                each_number(value, path, change);
                path.pop();
            }
        }
        Value::Array(all) => {
            for (at, value) in all.iter().enumerate() {
                path.push(at.to_string());
                each_number(value, path, change);
                path.pop();
            }
        }
        Value::Number(number) if number.as_f64() != Some(0.0) => change(path),
        _ => {}
    }
}

fn number_at<'v>(root: &'v mut Value, path: &[String]) -> &'v mut Value {
    let parts: Vec<String> =
        path.iter().map(|part| part.replace('~', "~0").replace('/', "~1")).collect();
    let pointer = format!("/{}", parts.join("/"));
    root.pointer_mut(&pointer).unwrap()
}

/// Paths of numbers in a document that have no effect and are not named as unused.
fn lost_in_json(importer: &Importer, name: &str, text: &str) -> Vec<String> {
    let documents = json::documents(name, text).unwrap();
    let joined = |documents: &[Value]| {
        documents.iter().map(Value::to_string).collect::<Vec<String>>().join("\n")
    };
    let before = runs(importer, name, &joined(&documents));
    let (mut lost, mut seen) = (Vec::new(), BTreeSet::new());
    for index in 0..documents.len() {
        let mut paths = Vec::new();
        each_number(&documents[index], &mut Vec::new(), &mut |path| paths.push(path.to_vec()));
        for path in paths {
            let generic: Vec<&str> = path
                .iter()
                .map(|part| if part.parse::<f64>().is_ok() { "*" } else { part })
                .collect();
            let label = generic.join("/");
            if is_named(importer, &path.join("/")) || !seen.insert((index, label)) {
                continue;
            }
            let mut changed = documents.clone();
            let number = number_at(&mut changed[index], &path);
            *number = match number.as_u64() {
                Some(whole) => Value::from(whole + whole / 3 + 1),
                None => Value::from(number.as_f64().unwrap() * 1.37 + 1.0),
            };
            if runs(importer, name, &joined(&changed)) == before {
                lost.push(format!("{name}: {}", path.join("/")));
            }
        }
    }
    lost
}

/// Offsets of the first digit of each number in a text.
fn numbers(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let is_word =
        |at: usize| bytes[at].is_ascii_alphanumeric() || [b'.', b'_'].contains(&bytes[at]);
    let begins = |at: usize| (at == 0 || !is_word(at - 1)) && bytes[at].is_ascii_digit();
    let has_value = |at: usize| {
        let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
        digits.into_iter().any(|byte| (b'1'..=b'9').contains(byte))
    };
    (0..bytes.len()).filter(|at| begins(*at) && has_value(*at)).collect()
}

/// Labels the number at an offset of a text by column and line.
fn label(importer: &Importer, name: &str, text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let column = text[start..at].matches(',').count();
    let word = text[start..at].split_whitespace().count();
    let header = text.lines().next().unwrap_or_default();
    let behind = line[at - start..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    match importer.about.name {
        "bonnie-csv" if line.matches(',').count() > 20 => {
            let is_unused = BONNIE_UNUSED.contains(&column);
            if is_unused { "#unused".to_owned() } else { format!("column {column}") }
        }
        // The printed table above the CSV is unused.
        "bonnie-csv" => "#unused".to_owned(),
        // Commands contain commas.
        name if name == "criterion" || name.ends_with("-csv") => {
            header.split(',').nth(column).unwrap_or("command").to_owned()
        }
        "go-bench" if word == 1 && line.starts_with("Benchmark") => "iterations".to_owned(),
        "go-bench" if text[..at].ends_with('-') => "#unused".to_owned(),
        "tiobench" if behind.starts_with('%') => "CPU%".to_owned(),
        "tiobench" if [7, 8].contains(&word) => ">2s".to_owned(),
        "dd" if text[..at].ends_with('+') => "records in".to_owned(),
        // dd computes the rate and the rounded sizes from the bytes and the seconds.
        "dd" if ["(", "MB, ", "GB, ", "s, "].iter().any(|end| text[..at].ends_with(end)) => {
            "#unused".to_owned()
        }
        // A log of 0 ms has no rate. For single operations: the latency, the bytes, and the number of entries.
        "fio-log" => {
            let is_read = (name.contains("_lat") && column == 1)
                || (name.contains("_bw")
                    && column == 3
                    && text.lines().any(|line| !line.starts_with("0,")));
            if is_read { "entry".to_owned() } else { "#unused".to_owned() }
        }
        _ => line.to_owned(),
    }
}

fn lost_in_text(importer: &Importer, name: &str, text: &str) -> Vec<String> {
    let before = runs(importer, name, text);
    let mut lost = Vec::new();
    for at in numbers(text) {
        let label = label(importer, name, text, at);
        if is_named(importer, &label) {
            continue;
        }
        let mut changed = text.as_bytes().to_vec();
        // Changes the first nonzero digit: columns and lengths stay the same.
        let digit = (at..changed.len()).find(|at| (b'1'..=b'9').contains(&changed[*at])).unwrap();
        changed[digit] = if changed[digit] == b'9' { b'1' } else { changed[digit] + 1 };
        let changed = String::from_utf8(changed).unwrap();
        if runs(importer, name, &changed) == before {
            lost.push(format!(
                "{name}: {label} ({})",
                &text[at..].chars().take(12).collect::<String>()
            ));
        }
    }
    lost
}

fn lost(importer: &Importer, name: &str, text: &str) -> Vec<String> {
    let is_json = text.trim_start().starts_with('{')
        || (importer.about.name.ends_with("json") && json::documents(name, text).is_ok());
    if is_json { lost_in_json(importer, name, text) } else { lost_in_text(importer, name, text) }
}

#[test]
fn every_number_is_read_or_named() {
    let mut all = Vec::new();
    for importer in IMPORTERS.iter().filter(|one| matches!(one.reads, Reads::Runs(_))) {
        let fixtures = fixtures(importer);
        for (name, bytes) in &fixtures {
            all.extend(lost(importer, name, &decode(name, bytes).unwrap()));
        }
        assert!(!fixtures.is_empty(), "{} has no fixture", importer.about.name);
    }
    assert!(all.is_empty(), "{} numbers vanish:\n{}", all.len(), all.join("\n"));
}

#[test]
fn a_number_that_vanishes_is_found() {
    let importer = super::find("elbencho-csv").unwrap();
    let text = "operation,path type,threads,block size,IOPS [last],MiB/s [last],secret\nREAD,file,1,4096,500,2,77\n";
    let mut lost = lost_in_text(importer, "e.csv", text);
    // The note names the column and not the number.
    assert_eq!(lost.pop().as_deref(), Some("e.csv: secret (77\n)"));
    assert!(lost.is_empty(), "{lost:?}");
    assert!(runs(importer, "e.csv", text).contains("not compared: secret"));
}

#[test]
fn values_are_no_names_of_numbers() {
    let json = |job: &str| format!("{{\"jobname\" : \"{job}\", \"usr_cpu\" : 1}}");
    let has = |job: &str, name: &str| super::has_number(&json(job), name);
    for name in ["\"min\"", "bins", "\"N\""] {
        assert!(!has(name.trim_matches('"'), name), "{name}");
    }
    assert!(has("bins", "usr_cpu") && has("bins", "usr"));
    assert!(super::has_number("records in 5", "records in"));
}
