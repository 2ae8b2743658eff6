//! Broken copies of the tables: a failure that names a table, or verdicts of finite numbers; never
//! a panic.

use assay_claims::articles::{self, Library};
use assay_lab::needs::{count, is_sampled};

const HOSTILE: [&str; 11] = [
    "",
    "NaN",
    "inf",
    "-1",
    "0",
    "1e999",
    "0.000000000001",
    "999999999999999",
    "99999999999999999999999999",
    "x\u{1b}[2J",
    "\"open",
];
/// Rows of each table whose cells are replaced, from the top: later ones are read the same way.
const ROWS: u32 = 8;

/// Judges a copy; what is refused says where, what is told can be written and read again.
fn survives(file: &str, text: String, what: &str) -> bool {
    let judged = articles::judge(&Library::shipped().with(file, text));
    let articles = match judged {
        Err(failure) => {
            let named = Library::shipped();
            let mut named = named.names();
            assert!(named.any(|name| failure.message.starts_with(name)), "{what}: {failure}");
            assert_eq!(failure.message.lines().count(), 1, "{what}: {failure}");
            return false;
        }
        Ok(articles) => articles,
    };
    for article in &articles {
        let cells = article.findings.cells.iter().filter_map(|cell| cell.median);
        let ratios = article.findings.comparisons.iter().filter_map(|found| found.ratio);
        assert!(cells.chain(ratios).all(f64::is_finite), "{what}: {}", article.article);
        let because = article.claims.iter().map(|claim| &claim.because);
        for text in because {
            // A word of the table may be quoted; a number of its own never looks so.
            let quoted = what.contains("NaN") || what.contains("inf");
            assert!(quoted || !(text.contains("NaN") || text.contains("inf ")), "{what}: {text}");
        }
        let page = assay_report::text::render(&assay_report::articles::full(article), 80, false);
        assert!(!page.contains('\u{1b}'), "{what}");
    }
    true
}

fn tables() -> Vec<(String, String)> {
    let library = Library::shipped();
    let names: Vec<String> = library.names().map(str::to_owned).collect();
    names.into_iter().map(|name| (name.clone(), library.text(&name).unwrap().to_owned())).collect()
}

#[test]
#[ignore = "nightly: 2 s"]
fn empty_cut_and_headless_tables_are_refused() {
    for (file, text) in tables() {
        assert!(!survives(&file, String::new(), "empty"));
        assert!(!survives(&file, "\u{feff}\n\n".to_owned(), "blank"));
        let head = text.lines().find(|line| !line.starts_with('#')).unwrap();
        assert!(!survives(&file, format!("{head}\n"), "header alone"));
        assert!(!survives(&file, text.replacen(head, "", 1), "no header"));
        for (at, _) in text.char_indices().step_by(37) {
            survives(&file, text[..at].to_owned(), "cut off");
        }
    }
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_missing_column_is_a_failure_that_names_it() {
    for (file, text) in tables() {
        let head = text.lines().find(|line| !line.starts_with('#')).unwrap().to_owned();
        let mut refused = 0;
        for column in head.split(',') {
            let other: Vec<&str> =
                head.split(',').map(|name| if name == column { "other" } else { name }).collect();
            let what = format!("{file} without {column}");
            refused +=
                usize::from(!survives(&file, text.replacen(&head, &other.join(","), 1), &what));
        }
        assert!(refused > 1, "{file}: {refused}");
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn no_cell_makes_a_panic() {
    let mut refused = 0;
    for (file, text) in tables() {
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.iter().position(|line| !line.starts_with('#')).unwrap() + 1;
        for row in first..lines.len().min(first + count(1, ROWS) as usize) {
            let cells: Vec<&str> = lines[row].split(',').collect();
            for column in 0..cells.len() {
                for (at, hostile) in (column as u64..).zip(HOSTILE) {
                    if !is_sampled(at, 3) {
                        continue;
                    }
                    let mut own = cells.clone();
                    own[column] = hostile;
                    let own = own.join(",");
                    let mut copy = lines.clone();
                    copy[row] = &own;
                    let what = format!("{file}:{}: `{hostile}` in column {column}", row + 1);
                    refused += usize::from(!survives(&file, copy.join("\n"), &what));
                }
            }
        }
    }
    assert!(refused > count(30, 1000) as usize, "{refused}");
}

#[test]
fn a_table_that_is_not_there_is_a_failure() {
    let none: [(&str, &str); 0] = [];
    let failure = articles::judge(&Library::of(none)).unwrap_err();
    assert_eq!(failure.message, "claims.csv: there is no such table");
}
