//! What users read is in the words of the field: no words of the house, which nobody else uses.
//!
//! Read are the texts that programs hold (tests and comments aside, but for what help is made of), the pages
//! for users, the shipped studies and the reports of fixtures.
//!
//! What it cannot see: words that are broken over two lines of a report, and names of keys and files, which are
//! part of formats.

use std::fs;
use std::path::Path;

use regex_lite::Regex;

use super::source::{BESIDE, DECIDING, literals};
use super::{files, root};

/// What is not said, and what is said instead.
const DIALECT: [(&str, &str); 13] = [
    (r"(?i)(^|[\s(,;'>])arms?($|[).,;'<]|\s+[^=\s])", "setting"),
    (r"(?i)\bthe weather\b", "ambient conditions"),
    (r"\bfor keeps\b", "permanently"),
    (r"(?i)\bgone to\b", "accessed"),
    (r"(?i)\b(taken back|takes? (it|them|a level) back|take back)\b", "undone, rolled back"),
    (r"\branks first\b", "is best of"),
    (r", clearly\b", ", significantly"),
    (r"\b(two-and-a-half|half-more)\b", "250-percent, 150-percent"),
    (r"\bstudy as changed\b", "the option that was typed"),
    (r"\bheld (against|to)\b|^held(:|  )", "compared with, limited to, fixed"),
    (r"^sees  |\bwhat it (can )?sees?\b|\bin sight\b", "detectable difference"),
    (r"\bnumbers do not tell\b", "inconclusive"),
    (r"\bbrought along\b|\bafter a lead-in\b|\blead-in, not counted\b", "imported, warm-up"),
];

/// Pages that users read, and what reports are compared with.
fn is_page(name: &str) -> bool {
    let below = |start: &str| name.starts_with(start);
    let has = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    matches!(
        name,
        "README.md" | "SECURITY.md" | "docs/ci.md" | "docs/guide.md" | "docs/stability.md"
    ) || (below("docs/reference/") && !below("docs/reference/schemas/"))
        || below("docs/man/")
        || below("studies/")
        || below("crates/assay-study/tests/fixtures/work/")
        || (below("crates/assay-report/tests/fixtures/") && has(&[".txt", ".html", ".md"]))
        || has(&[".expected.txt"])
}

/// Programs whose texts users read, but for the tests among them.
fn is_program(name: &str) -> bool {
    let below = DECIDING
        .iter()
        .chain(&BESIDE)
        .chain(&["assay", "assay-report", "assay-runner"])
        .any(|one| name.starts_with(&format!("crates/{one}/src/")));
    below
        && std::path::Path::new(name).extension().is_some_and(|end| end == "rs")
        && !name.contains("tests")
        && !name.contains("testing")
}

/// What users may read of a program: texts of more than one word, and comments that help is made of.
fn texts(name: &str, text: &str) -> Vec<(usize, String)> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let of_several = |(_, own): &(usize, String)| own.contains(' ');
    let mut found: Vec<(usize, String)> = literals(text).into_iter().filter(of_several).collect();
    if name.contains("/cli/") {
        found.extend(help(text));
    }
    found
}

/// The comments that help is made of: those of what derives it, and of its fields.
fn help(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut before, mut inside) = (Vec::new(), Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        if let Some(own) = bare.strip_prefix("/// ") {
            let comments = if inside { &mut found } else { &mut before };
            comments.push((at + 1, own.to_owned()));
            continue;
        }
        if bare.contains("derive(") && (bare.contains("Args") || bare.contains("Subcommand")) {
            inside = true;
            found.append(&mut before);
        } else if !bare.starts_with("#[") && !bare.starts_with("///") {
            before.clear();
        }
        inside &= line != "}";
    }
    found
}

/// The words of the house in a text, each with its line and what is said instead.
fn dialect(name: &str, parts: &[(usize, String)], rules: &[(Regex, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (line, text) in parts {
        for (rule, instead) in rules {
            if let Some(own) = rule.find(text) {
                let word = own.as_str().trim();
                found.push(format!("{name}:{line}: \"{word}\": say {instead}"));
            }
        }
    }
    found
}

fn rules() -> Vec<(Regex, &'static str)> {
    DIALECT.iter().map(|(rule, instead)| (Regex::new(rule).unwrap(), *instead)).collect()
}

fn lines(text: &str) -> Vec<(usize, String)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line.to_owned())).collect()
}

#[test]
fn users_read_no_words_of_the_house() {
    let (root, rules) = (root(), rules());
    let relative = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    let (mut wrong, mut pages, mut programs) = (Vec::new(), 0, 0);
    for path in files(&root) {
        let name = relative(&path);
        let read = || String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let parts = if is_page(&name) {
            pages += 1;
            lines(&read())
        } else if is_program(&name) {
            programs += 1;
            texts(&name, &read())
        } else {
            continue;
        };
        wrong.extend(dialect(&name, &parts, &rules));
    }
    assert!(wrong.is_empty(), "{} words\n{}", wrong.len(), wrong.join("\n"));
    assert!(pages > 150 && programs > 300, "{pages} pages, {programs} programs");
}

#[test]
fn a_word_of_the_house_is_found_and_a_name_is_none() {
    let rules = rules();
    let of = |text: &str| dialect("page", &lines(text), &rules).len();
    for text in [
        "no two of 4 arms can be told apart",
        "workload  arm  reached",
        "pages that are gone to",
        "it was taken back after 3 s",
        "f2fs ranks first of 8",
        "half-more: zram is better",
        "the study as changed:14:1: there is no factor",
        "held        kernel 6.1",
        "sees      random-read: 6 replicates",
    ] {
        assert_eq!(of(text), 1, "{text}");
    }
    for text in [
        "--arm NAME=LEVEL and [[arms]]",
        "arms = [{ depth = 1 }]",
        "`arms` lists them, and \\-\\-arms too",
        "the array held 3 MiB, and root sees them",
        "what does not fit goes to the swap file",
        "an armada",
    ] {
        assert_eq!(of(text), 0, "{text}");
    }
}

#[test]
fn texts_of_programs_are_their_literals_and_their_help() {
    let program = "/// No arm.\n#[derive(Args)]\nstruct A {\n    /// An arm of help\n    one: bool,\n}\n\
        // an arm\nfn f() { g(\"arm\", \"an \\\n    arm is here\"); }\nmod tests {\n \"an arm\" }";
    let told =
        |name: &str| texts(name, program).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    assert_eq!(told("src/runner/a.rs"), [8]);
    assert_eq!(told("src/cli/a.rs"), [8, 1, 4]);
    assert_eq!(dialect("", &texts("src/cli/a.rs", program), &rules()).len(), 3);
}
