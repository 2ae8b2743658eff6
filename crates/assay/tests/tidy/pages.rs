//! Every link of a page leads somewhere, samples of output are current, every direct dependency has its reason, and every rule
//! of the method that the code cites has a heading.

use std::collections::{BTreeMap, BTreeSet};

use assay_testkit::samples;

use super::markdown::{Kind, anchor, blocks, regex};
use super::{files, root, rust_files};

/// Every file of the project: path and text (empty if the file is not UTF-8).
fn read_tree() -> BTreeMap<String, String> {
    let root = root();
    let read = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        (name, String::from_utf8(std::fs::read(path).unwrap()).unwrap_or_default())
    };
    files(&root).iter().map(read).collect()
}

fn broken_links(tree: &BTreeMap<String, String>, page: &str, text: &str) -> Vec<String> {
    let link = regex(r"\]\(([^)\s]+)\)");
    let mut found = Vec::new();
    for block in blocks(text).iter().filter(|block| !block.kind.is_fenced()) {
        for target in link.captures_iter(&block.text) {
            let target = &target[1];
            if ["http:", "https:", "mailto:"].iter().any(|start| target.starts_with(start)) {
                continue;
            }
            if let Err(fault) = follow(tree, page, text, target) {
                found.push(format!("{page}:{}: link to {target}: {fault}", block.line));
            }
        }
    }
    found
}

fn follow(
    tree: &BTreeMap<String, String>,
    page: &str,
    text: &str,
    target: &str,
) -> Result<(), String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { page.to_owned() } else { resolve(page, path) };
    let own = if path == page { Some(text) } else { tree.get(&path).map(String::as_str) };
    let Some(own) = own else {
        let is_folder = tree.keys().any(|name| name.starts_with(&format!("{path}/")));
        return if is_folder { Ok(()) } else { Err(format!("{path} does not exist")) };
    };
    let headings: BTreeSet<String> = blocks(own)
        .iter()
        .filter(|block| block.kind == Kind::Prose && block.text.starts_with('#'))
        .map(|block| anchor(&block.text))
        .collect();
    if heading.is_empty() || headings.contains(heading) {
        return Ok(());
    }
    Err(format!("{path} has no heading #{heading}"))
}

fn resolve(page: &str, path: &str) -> String {
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

#[test]
fn every_link_leads_somewhere() {
    let tree = read_tree();
    let pages = tree.iter().filter(|(name, _)| name.strip_suffix(".md").is_some());
    let broken: Vec<String> =
        pages.flat_map(|(page, text)| broken_links(&tree, page, text)).collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    let broken = |text: &str| broken_links(&tree, "a.md", text).len();
    assert_eq!((broken("[x](tutorial.md)"), broken("[x](docs/tutorial.md)")), (1, 0));
    assert_eq!((broken("# One\n[x](#two)"), broken("# One\n[x](#one)")), (1, 0));
}

/// Samples of reports are what fixtures print today.
#[test]
fn samples_are_current() {
    let tree = read_tree();
    for page in samples::PAGES {
        let current = samples::refreshed(&tree[page], |name| {
            let report = format!("{}/{name}", samples::REPORTS);
            tree.get(&report).cloned().ok_or(format!("{report} does not exist"))
        });
        assert!(current.as_ref() == Ok(&tree[page]), "{page} is stale: run cargo xtask pages");
    }
}

#[test]
fn every_direct_dependency_has_its_reason() {
    let tree = read_tree();
    let (_, own) = tree["Cargo.toml"].split_once("[workspace.dependencies]").unwrap();
    let names = own.split("\n[").next().unwrap().lines();
    let names = names.filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let rows = tree["docs/dev/dependencies.md"].lines().filter(|line| line.starts_with("| "));
    let words: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split([',', ' ', '(', ')']))
        .collect();
    for name in names.filter(|name| !name.starts_with("assay")) {
        assert!(words.contains(name), "docs/dev/dependencies.md does not say why {name} is used");
    }
}

/// Rules that lines cite after a mark, such as `R13c`.
fn cited(text: &str, mark: &str) -> BTreeSet<String> {
    let rule = regex(r"\b(R[0-9]{1,2}[a-z]?)\b");
    let marked = text.lines().filter_map(|line| line.split_once(mark));
    marked.flat_map(|(_, line)| rule.captures_iter(line).map(|found| found[1].to_owned())).collect()
}

#[test]
fn cited_rules_have_headings() {
    let headings = cited(&read_tree()["docs/explanation/method.md"], "### ");
    let mut seen = BTreeSet::new();
    for (name, source) in rust_files() {
        let cited = cited(&source, "//");
        let missing: Vec<&String> = cited.difference(&headings).collect();
        assert!(
            missing.is_empty(),
            "{name}: docs/explanation/method.md has no heading {missing:?}"
        );
        seen.extend(cited);
    }
    assert!(seen.len() > 15, "{seen:?}");
    assert_eq!(Vec::from_iter(cited("let raid = \"R4\"; // as R2c asks", "//")), ["R2c"]);
}

/// Returns to a file that was left earlier, at most, in the walk of docs/dev/run-loop.md.
const MOST_RETURNS: usize = 30;

#[test]
fn the_walk_of_a_run_request_follows_calls_and_rarely_returns() {
    let page = std::fs::read_to_string(root().join("docs/dev/run-loop.md")).unwrap();
    let source = |file: &str| std::fs::read_to_string(root().join("crates").join(file)).unwrap();
    let (mut visited, mut returns) = (Vec::new(), 0);
    for line in page.lines().filter(|line| line.matches(".rs").count() == 2 && !line.contains('`'))
    {
        let [caller, function, callee] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert!(
            regex(&format!(r"\b{function}\(")).is_match(&source(caller)),
            "{caller} does not call {function}"
        );
        assert!(
            source(callee).contains(&format!("fn {function}")),
            "{callee} does not define {function}"
        );
        for file in [caller, callee] {
            if visited.last() != Some(&file) {
                returns += usize::from(visited.contains(&file));
                visited.push(file);
            }
        }
    }
    assert!(visited.len() > 20, "{visited:?}");
    assert!(returns <= MOST_RETURNS, "{returns} returns: {visited:?}");
}
