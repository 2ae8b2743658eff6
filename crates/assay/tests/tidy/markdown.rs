//! A minimal Markdown parser: paragraphs, table rows, code blocks, words in backticks.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use regex_lite::Regex;

pub fn regex(pattern: &str) -> Regex {
    static KNOWN: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    known.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap()).clone()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading, paragraph or list item, with its lines joined.
    Prose,
    Row,
    /// A line between fences.
    Code,
    /// The same for commands: `sh`, or no language.
    Shell,
}

impl Kind {
    pub fn is_fenced(self) -> bool {
        matches!(self, Self::Code | Self::Shell)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first line, from 1.
    pub line: usize,
    pub kind: Kind,
    pub text: String,
}

pub fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let (mut fence, mut open) = (None, false);
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim();
        if let Some(language) = bare.strip_prefix("```") {
            let kind = if ["", "sh"].contains(&language) { Kind::Shell } else { Kind::Code };
            fence = fence.is_none().then_some(kind);
            open = false;
            continue;
        }
        let row = if bare.starts_with('|') { Kind::Row } else { Kind::Prose };
        let kind = fence.unwrap_or(row);
        let begins = ["#", "- ", "* ", "<!--"].iter().any(|mark| bare.starts_with(mark))
            || bare.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let goes_on = open && kind == Kind::Prose && !begins;
        match found.last_mut() {
            Some(last) if goes_on && !bare.is_empty() => {
                last.text.push(' ');
                last.text.push_str(bare);
            }
            _ if bare.is_empty() => {}
            _ => found.push(Block { line: at + 1, kind, text: bare.to_owned() }),
        }
        open = kind == Kind::Prose && !bare.is_empty() && !bare.starts_with('#');
    }
    found
}

pub fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the commands of a page, in backticks or code blocks, with their lines.
pub fn commands(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for block in blocks(text) {
        if block.kind == Kind::Shell {
            let bare = block.text.split(" #").next().unwrap_or_default();
            found.push((block.line, bare.trim_start_matches("$ ").trim().to_owned()));
        } else if !block.kind.is_fenced() {
            found.extend(quoted(&block.text).iter().map(|one| (block.line, (*one).to_owned())));
        }
    }
    found
}

/// Returns the anchor of a heading, as GitHub generates it.
pub fn anchor(heading: &str) -> String {
    let bare = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = bare.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn a_page_is_read_in_parts() {
    let page = "# A\n\nOne `a` two\nthree `b\nc`.\n- item\n  goes on\n\n| x | `y` |\n```sh\nassay check # now\n```\nend";
    let told: Vec<(usize, Kind, String)> =
        blocks(page).into_iter().map(|block| (block.line, block.kind, block.text)).collect();
    let expected = [
        (1, Kind::Prose, "# A"),
        (3, Kind::Prose, "One `a` two three `b c`."),
        (6, Kind::Prose, "- item goes on"),
        (9, Kind::Row, "| x | `y` |"),
        (11, Kind::Shell, "assay check # now"),
        (13, Kind::Prose, "end"),
    ];
    assert_eq!(told, expected.map(|(line, kind, text)| (line, kind, text.to_owned())));
    let output = "```text\nassay 1.0\n```";
    assert_eq!(blocks(output)[0].kind, Kind::Code);
    assert!(commands(output).is_empty());
    let told: Vec<String> = commands(page).into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, ["a", "b c", "y", "assay check"]);
    assert_eq!(anchor("## What `assay report` gives, to whom"), "what-assay-report-gives-to-whom");
}
