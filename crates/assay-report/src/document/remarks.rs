//! Remarks of rules, comparisons and checks, each distinct text once.

use super::{Detail, Remark};
use assay_core::exhibit::parts::distinct;
use assay_study::findings::{Findings, Trust};
use assay_study::results::plan::Arm;

/// How remarks name rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// By workload, with the target if there are several.
    Workload,
    /// By workload and varied levels.
    Arm,
}

impl NameKind {
    fn text(self, findings: &Findings, workload: &str, arm: &Arm) -> String {
        match (self, arm.get("target")) {
            (Self::Workload, Some(target)) => format!("{workload} on {target}"),
            (Self::Workload, None) => workload.to_owned(),
            (Self::Arm, _) => format!("{workload} {}", findings.arm_words(arm)),
        }
    }
}

/// Remarks of trust rules, and notes on workloads. Less detail merges texts and replaces many row names by a count.
pub(super) fn rules(findings: &Findings, name: NameKind, detail: Detail) -> Vec<Remark> {
    let mut remarks = trust_remarks(findings, name);
    if detail != Detail::Full {
        remarks = with_ranges(remarks);
    }
    if detail == Detail::Usual {
        remarks = most_frequent(remarks);
    }
    for workload in &findings.workloads {
        // A note on a different queue depth is already below its row.
        if workload.queue_depth == workload.requested_queue_depth
            && let Some(note) = &workload.note
        {
            let row = name.text(findings, &workload.name, &workload.configuration);
            add(&mut remarks, "note", None, note, &row);
        }
    }
    let row_count = findings.workloads.len();
    for remark in &mut remarks {
        if remark.rows.len() == row_count && row_count > 1 {
            remark.rows = vec!["all rows".to_owned()];
        } else if name == NameKind::Arm {
            merge_arms(findings, &mut remark.rows);
        }
        let count = remark.rows.len();
        let letters: usize = remark.rows.iter().map(String::len).sum();
        let is_long = count > MOST_ROWS || count > 1 && letters > MOST_LETTERS;
        if detail == Detail::Usual && is_long {
            let rows = findings.measurements.iter().filter(|cell| cell.primary).count();
            remark.rows = vec![counted_rows(count, rows)];
        }
    }
    remarks
}

/// Number of rows. A result across results lists no workloads, so only this number covers all rows.
fn counted_rows(count: usize, all: usize) -> String {
    match all {
        0 => format!("{count} rows"),
        _ if count == all => "all rows".to_owned(),
        _ => format!("{count} of {all} rows"),
    }
}

/// The reasons of all cells by rule, in the order of the first row of each rule.
fn trust_remarks(findings: &Findings, name: NameKind) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for cell in &findings.measurements {
        let suffix = if cell.control { " (control)" } else { "" };
        let row = format!("{}{suffix}", name.text(findings, &cell.workload, &cell.configuration));
        for reason in &cell.reasons {
            add(&mut remarks, &reason.rule, Some(reason.trust), &reason.text, &row);
        }
    }
    let first_seen: Vec<String> = remarks.iter().map(|remark| remark.rule.clone()).collect();
    remarks.sort_by_key(|remark| first_seen.iter().position(|rule| *rule == remark.rule));
    remarks
}

const MOST_ROWS: usize = 4;
/// Longer names would leave no room for the reason on a line of 80 columns.
const MOST_LETTERS: usize = 32;

/// One remark per rule and trust: the text with the most rows, and the rows of all texts.
fn most_frequent(remarks: Vec<Remark>) -> Vec<Remark> {
    // Each remark with the number of rows that have its text.
    let mut merged: Vec<(usize, Remark)> = Vec::new();
    for remark in remarks {
        let count = remark.rows.len();
        let is_same_rule =
            |known: &Remark| known.rule == remark.rule && known.trust == remark.trust;
        let Some((most, known)) = merged.iter_mut().find(|(_, known)| is_same_rule(known)) else {
            merged.push((count, remark));
            continue;
        };
        if count > *most {
            *most = count;
            known.text = remark.text;
        }
        add_rows(known, remark.rows);
    }
    merged.into_iter().map(|(_, remark)| remark).collect()
}

/// Adds the rows that a remark does not have yet.
fn add_rows(remark: &mut Remark, rows: Vec<String>) {
    for row in rows {
        if !remark.rows.contains(&row) {
            remark.rows.push(row);
        }
    }
}

/// A piece of a text: words, or a number with its value.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Words(String),
    Number(String, f64),
}

/// Splits a text into its numbers and the words between them. Digits in a name, such as `sda1`, belong to the words.
fn split_numbers(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut rest = text;
    // Each turn removes one number or one other letter from `rest`.
    while let Some(letter) = rest.chars().next() {
        let is_in_word = match pieces.last() {
            Some(Piece::Words(words)) => words.ends_with(|last: char| last.is_alphanumeric()),
            _ => false,
        };
        let is_of_number = |sign: char| sign.is_ascii_digit() || sign == ',' || sign == '.';
        let end = rest.find(|sign| !is_of_number(sign)).unwrap_or(rest.len());
        // A comma or period at the end belongs to the sentence.
        let digits = rest[..end].trim_end_matches([',', '.']);
        if letter.is_ascii_digit()
            && !is_in_word
            && let Ok(value) = digits.replace(',', "").parse::<f64>()
        {
            pieces.push(Piece::Number(digits.to_owned(), value));
            rest = &rest[digits.len()..];
            continue;
        }
        match pieces.last_mut() {
            Some(Piece::Words(words)) => words.push(letter),
            _ => pieces.push(Piece::Words(letter.to_string())),
        }
        rest = &rest[letter.len_utf8()..];
    }
    pieces
}

/// The common part of texts that only differ in numbers.
fn skeleton(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Words(words) => words.clone(),
        Piece::Number(..) => "\0".to_owned(),
    };
    pieces.iter().map(text).collect()
}

/// Merges remarks of one rule whose texts only differ in numbers: each number becomes the range of all texts.
pub(super) fn with_ranges(remarks: Vec<Remark>) -> Vec<Remark> {
    // Rule and words as a key, the split texts, and the first remark with the rows of all.
    let mut groups: Vec<(String, Vec<Vec<Piece>>, Remark)> = Vec::new();
    for remark in remarks {
        let pieces = split_numbers(&remark.text);
        let key = format!("{}\0{}", remark.rule, skeleton(&pieces));
        match groups.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, texts, first)) => {
                texts.push(pieces);
                add_rows(first, remark.rows);
            }
            None => groups.push((key, vec![pieces], remark)),
        }
    }
    let mut merged = Vec::new();
    for (_, texts, remark) in groups {
        let text = (0..texts[0].len()).map(|index| merged_piece(&texts, index)).collect();
        merged.push(Remark { text, ..remark });
    }
    merged
}

/// The piece at `index` of several texts: the words, or the range of the numbers; of bounds, the outermost one.
fn merged_piece(texts: &[Vec<Piece>], index: usize) -> String {
    let mut numbers: Vec<(&String, f64)> = Vec::new();
    for text in texts {
        match &text[index] {
            Piece::Words(words) => return words.clone(),
            Piece::Number(digits, value) => numbers.push((digits, *value)),
        }
    }
    numbers.sort_by(|left, right| left.1.total_cmp(&right.1));
    // The texts have the same words, so a number in one is a number in all.
    let [(least, low), .., (most, high)] = numbers[..] else {
        return numbers.first().map_or_else(String::new, |(only, _)| (*only).clone());
    };
    match bound(&texts[0], index) {
        _ if low >= high => least.clone(),
        Some(Bound::Lower) => least.clone(),
        Some(Bound::Upper) => most.clone(),
        None => format!("{least} to {most}"),
    }
}

#[derive(Clone, Copy)]
enum Bound {
    Lower,
    Upper,
}

/// Whether the number at `index` is a bound, by the words before it, as in `up to 26%`; `None` for other numbers.
fn bound(text: &[Piece], index: usize) -> Option<Bound> {
    let ends_in = |back: usize, end: &str| match index.checked_sub(back).and_then(|i| text.get(i)) {
        Some(Piece::Words(words)) => words.ends_with(end),
        _ => false,
    };
    // `between 475 and 3,430` has four pieces: the upper number is three after `between `.
    if ends_in(1, "between ") {
        return Some(Bound::Lower);
    }
    (ends_in(1, "up to ") || ends_in(1, " and ") && ends_in(3, "between ")).then_some(Bound::Upper)
}

/// Replaces the rows of all arms of a workload by `work: all configurations`.
fn merge_arms(findings: &Findings, rows: &mut Vec<String>) {
    for workload in distinct(findings.workloads.iter().map(|it| it.name.as_str())) {
        let is_its_arm =
            |row: &String| row.strip_prefix(workload).is_some_and(|arm| arm.starts_with(' '));
        let arms = findings.workloads.iter().filter(|facts| facts.name == workload).count();
        if arms > 1 && rows.iter().filter(|row| is_its_arm(row)).count() == arms {
            let first = rows.iter().position(is_its_arm).unwrap_or(0);
            rows.retain(|row| !is_its_arm(row));
            rows.insert(first, format!("{workload}: all configurations"));
        }
    }
}

/// Adds a remark with one row; if the rule already has this text, adds only the row, once.
pub(super) fn add(to: &mut Vec<Remark>, rule: &str, trust: Option<Trust>, text: &str, row: &str) {
    match to.iter_mut().find(|remark| remark.rule == rule && remark.text == text) {
        Some(remark) if remark.rows.iter().any(|known| known == row) => {}
        Some(remark) => remark.rows.push(row.to_owned()),
        None => to.push(Remark {
            rule: rule.to_owned(),
            trust,
            text: text.to_owned(),
            rows: vec![row.to_owned()],
        }),
    }
}

/// Notes on targets, and texts of the `wanted` checks, each as a remark that does not change trust.
pub(super) fn warnings(findings: &Findings, wanted: impl Fn(&str) -> bool) -> Vec<Remark> {
    let targets = &findings.environment.targets;
    let mut texts: Vec<String> = Vec::new();
    for target in targets {
        let prefix = if targets.len() > 1 { format!("{}: ", target.name) } else { String::new() };
        texts.extend(target.notes.iter().map(|note| format!("{prefix}{note}")));
    }
    let checks = findings.checks.iter().filter(|check| wanted(&check.name));
    texts.extend(checks.map(|check| check.text.clone()));
    let remark = |text| Remark { rule: "note".to_owned(), trust: None, text, rows: Vec::new() };
    texts.into_iter().map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(rule: &str, text: &str, row: &str) -> Remark {
        let [rule, text, row] = [rule, text, row].map(str::to_owned);
        Remark { rule, trust: Some(Trust::Suspect), text, rows: vec![row] }
    }

    #[test]
    fn what_a_rule_only_notes_stands_apart_from_what_it_takes_away() {
        let note =
            |row| Remark { trust: Some(Trust::Trusted), ..remark("host-cache", "unseen", row) };
        let all = vec![note("read"), remark("host-cache", "kept 20%", "write"), note("sync")];
        let told = most_frequent(all);
        let told: Vec<(&str, String)> =
            told.iter().map(|one| (one.text.as_str(), one.rows.join(" "))).collect();
        assert_eq!(told, [("unseen", "read sync".to_owned()), ("kept 20%", "write".to_owned())]);
    }

    #[test]
    fn texts_that_differ_in_numbers_become_one_with_ranges() {
        let told = with_ranges(vec![
            remark("cpu-starved", "waited 41% of the time on sda1, in 2 of 3 trials", "a"),
            remark("cpu-starved", "waited 7.5% of the time on sda1, in 3 of 3 trials", "b"),
            remark("cpu-starved", "waited 1,200% of the time on sda1, in 3 of 3 trials", "c"),
            remark("cpu-starved", "waited 41% of the time on sda2, in 2 of 3 trials", "d"),
            remark("foreign-io", "waited 9% of the time on sda1, in 1 of 3 trials", "e"),
        ]);
        let texts: Vec<(&str, String)> =
            told.iter().map(|one| (one.text.as_str(), one.rows.join(" "))).collect();
        assert_eq!(
            texts,
            [
                (
                    "waited 7.5 to 1,200% of the time on sda1, in 2 to 3 of 3 trials",
                    "a b c".to_owned()
                ),
                ("waited 41% of the time on sda2, in 2 of 3 trials", "d".to_owned()),
                ("waited 9% of the time on sda1, in 1 of 3 trials", "e".to_owned()),
            ]
        );
    }

    #[test]
    fn of_bounds_the_outermost_one_holds_for_all_texts() {
        let merged = |texts: &[&str]| {
            let told = with_ranges(texts.iter().map(|text| remark("rule", text, "row")).collect());
            told.into_iter().map(|one| one.text).collect::<Vec<String>>()
        };
        let up_to = ["it waited up to 26% of the time", "it waited up to 72% of the time"];
        assert_eq!(merged(&up_to), ["it waited up to 72% of the time"]);
        let between = [
            "6 trials lie between 475 and 3,430 per second: known to 41%",
            "6 trials lie between 83,700 and 194,000 per second: known to 366%",
        ];
        let told = "6 trials lie between 475 and 194,000 per second: known to 41 to 366%";
        assert_eq!(merged(&between), [told]);
        let with_unit = ["lie between 400 us and 1.2 ms", "lie between 300 us and 1.1 ms"];
        assert_eq!(merged(&with_unit), ["lie between 300 us and 1.2 ms"]);
        // Not bounds: other numbers after "and" or "to" keep their range.
        let plain = ["3 and 4 trials, 2 to 5", "3 and 6 trials, 2 to 7"];
        assert_eq!(merged(&plain), ["3 and 4 to 6 trials, 2 to 5 to 7"]);
    }

    #[test]
    fn all_rows_are_not_counted() {
        assert_eq!(counted_rows(14, 14), "all rows");
        assert_eq!(counted_rows(13, 14), "13 of 14 rows");
    }

    #[test]
    fn a_text_comes_together_again() {
        for text in
            ["", "3", "no number.", "a 3, 4.5. and 1,000.", "7 of 8: 3 MiB in 250 ms", "\u{b1}38%"]
        {
            let told = with_ranges(vec![remark("rule", text, "row")]);
            assert_eq!(told[0].text, text);
        }
    }
}
