//! Links of all pages: the file is there, and the heading in it.

use std::collections::BTreeSet;

use super::text::{Kind, anchor, blocks, regex};
use super::tree::Tree;

/// Faults of a page in its links.
pub fn faults(tree: &Tree, page: &str, text: &str) -> Vec<(usize, String)> {
    let link = regex(r"\]\(([^)\s]+)\)");
    let mut found = Vec::new();
    for block in blocks(text).iter().filter(|block| !block.kind.is_fenced()) {
        for target in link.captures_iter(&block.text) {
            let target = &target[1];
            if ["http:", "https:", "mailto:"].iter().any(|start| target.starts_with(start)) {
                continue;
            }
            if let Err(fault) = follow(tree, page, text, target) {
                found.push((block.line, format!("link to {target}: {fault}")));
            }
        }
    }
    found
}

fn follow(tree: &Tree, page: &str, text: &str, target: &str) -> Result<(), String> {
    let (path, place) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { page.to_owned() } else { beside(page, path) };
    let own = if path == page { Some(text) } else { tree.files.get(&path).map(String::as_str) };
    let folder = || tree.files.keys().any(|name| name.starts_with(&format!("{path}/")));
    let Some(own) = own else {
        return if folder() { Ok(()) } else { Err(format!("there is no {path}")) };
    };
    let headings: BTreeSet<String> = blocks(own)
        .iter()
        .filter(|block| block.kind == Kind::Prose && block.text.starts_with('#'))
        .map(|block| anchor(&block.text))
        .collect();
    if place.is_empty() || headings.contains(place) {
        return Ok(());
    }
    Err(format!("{path} has no heading #{place}"))
}

/// A path that is told from a page.
fn beside(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
