//! Just enough reading of Rust source for the tidy tests.
//!
//! What it cannot see: functions made inside macros (their braces are counted with the function
//! around), chains of `super::` other than `super::super::NAME` and, in a re-export, names that
//! reach a module by another path.

use std::fs;
use std::path::{Path, PathBuf};

/// What decides: crates whose rooms know the machine as a trait.
pub const DECIDING: [&str; 5] =
    ["assay-core", "assay-workloads", "assay-machine", "assay-study", "assay-analysis"];

pub const RUNNING: &str = "assay-runner";

pub fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // In a worktree `.git` is a file. A link leads to what lies elsewhere in the tree.
        if path.is_symlink() || [".git", "target"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

/// The text with comments, strings and character literals blanked; lines stay where they are.
pub fn blanked(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let length = blank_length(bytes, at);
        if length == 0 {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let end = (at + length).min(bytes.len());
        out.extend(bytes[at..end].iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }));
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The texts that a program holds, each with its line; a text over several lines is one.
pub fn literals(text: &str) -> Vec<(usize, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let length = blank_length(bytes, at).max(1);
        let end = (at + length).min(bytes.len());
        if length > 1 && matches!(bytes[at], b'"' | b'r') {
            let own = String::from_utf8_lossy(&bytes[at..end]);
            let inner = own.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
            found.extend(inner.map(|(inner, _)| (line, joined(inner))));
        }
        line += String::from_utf8_lossy(&bytes[at..end]).matches('\n').count();
        at = end;
    }
    found
}

/// A literal as it will be: a line that ends with a backslash goes on in the next one.
fn joined(inner: &str) -> String {
    let mut out = String::new();
    for line in inner.lines() {
        match line.strip_suffix('\\') {
            Some(line) => out.push_str(line.trim_start()),
            None => out.extend([line.trim_start(), "\n"]),
        }
    }
    out
}

/// Length of the comment or literal that begins here; 0 where none does.
fn blank_length(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let until = |end: &[u8], from: usize| {
        let found = rest[from.min(rest.len())..].windows(end.len()).position(|part| part == end);
        found.map_or(rest.len(), |position| from + position + end.len())
    };
    let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => until(b"\n", 2) - 1,
        [b'/', b'*', ..] => until(b"*/", 2),
        [b'"', ..] => quoted(rest),
        [b'r', b'"' | b'#', ..] if !in_word => {
            let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return 0;
            }
            let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
            until(&end, 2 + hashes)
        }
        [b'\'', b'\\', _, ..] => until(b"'", 3),
        // A character, not a lifetime: closed within the four bytes that UTF-8 needs at most.
        [b'\'', after @ ..] => {
            let close = after.iter().take(5).skip(1).position(|&byte| byte == b'\'');
            match close {
                Some(0) => 3,
                Some(position) if !after[0].is_ascii() => position + 3,
                _ => 0,
            }
        }
        _ => 0,
    }
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

pub fn functions(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("fn ") {
        let named = text[start + 3..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        if !named || text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        if let Some(end) = body_end(&text[start..]) {
            let lines = text[start..start + end].matches('\n').count() + 1;
            found.push((text[..start].matches('\n').count() + 1, lines));
        }
    }
    found
}

/// Where the body that begins after a signature ends; nothing for a declaration without one.
fn body_end(text: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0_i32, 0_i32);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// First segments after `crate::` and the names of the crates of the house (groups opened) and
/// `super::super::`, in blanked text. What shows is one module.
pub fn used_modules(text: &str) -> Vec<String> {
    let crates =
        DECIDING.iter().chain(&[RUNNING]).map(|name| format!("{}::", name.replace('-', "_")));
    let starts = ["crate::", "super::super::"].map(str::to_owned).into_iter().chain(crates);
    let mut used: Vec<String> = starts.flat_map(|start| used_below(text, &start)).collect();
    for whole in ["report", "workloads"] {
        if text.contains(&format!("assay_{whole}::")) {
            used.push(whole.to_owned());
        }
    }
    used.sort();
    used.dedup();
    used
}

/// First segments after a path (groups opened), in blanked text.
pub fn used_below(text: &str, start: &str) -> Vec<String> {
    let mut used = Vec::new();
    for (at, _) in text.match_indices(start) {
        let rest = &text[at + start.len()..];
        if rest.starts_with('{') {
            used.extend(group_heads(rest));
        } else {
            used.push(head(rest));
        }
    }
    used.sort();
    used.dedup();
    used
}

fn head(text: &str) -> String {
    text.trim_start().chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect()
}

fn group_heads(text: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (letter == '{' || letter == ',') {
            heads.push(head(&text[at + 1..]));
        }
    }
    heads
}
