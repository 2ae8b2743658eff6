//! What forges look for: whom to write to stands in one place, and both forges ask for the same.

use std::collections::BTreeMap;

use super::text::regex;
use super::tree::{Tree, ends};

/// Pages and files that tell whom to write to.
const TELLING: [&str; 3] =
    ["SECURITY.md", "CODE_OF_CONDUCT.md", ".github/ISSUE_TEMPLATE/config.yml"];

/// Addresses of a text that are not the one of the workspace.
fn others(text: &str, own: &str) -> Vec<String> {
    let addresses = regex(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+");
    let found = addresses.find_iter(text).map(|found| found.as_str().to_owned());
    found.filter(|address| address != own).collect()
}

#[test]
fn one_line_of_the_workspace_says_whom_to_write_to() {
    let tree = Tree::of_today();
    let own = tree.found("Cargo.toml", r#"\nauthors = \[".*<(.+)>"\]"#).unwrap();
    for page in TELLING {
        let text = tree.text(page);
        assert!(text.contains(&own), "{page} does not say {own}");
        assert_eq!(others(text, &own), Vec::<String>::new(), "{page}");
    }
    assert_eq!(others("to <a@b.org>, not c.d@e.f.org", "a@b.org"), ["c.d@e.f.org"]);
}

/// The questions of an issue's template, without the lines between dashes that one of the forges wants first.
fn questions(text: &str) -> &str {
    let head = text.strip_prefix("---\nname: ").and_then(|rest| rest.split_once("\n---\n\n"));
    head.map_or(text, |(_, questions)| questions)
}

#[test]
fn both_forges_ask_for_the_same() {
    let tree = Tree::of_today();
    let below = |folder: &str| -> BTreeMap<String, String> {
        let own = tree.files.iter().filter(|(name, _)| ends(name, "md"));
        own.filter_map(|(name, text)| Some((name.strip_prefix(folder)?.to_owned(), text.clone())))
            .collect()
    };
    let [one, other] = [".github/ISSUE_TEMPLATE/", ".gitlab/issue_templates/"].map(below);
    assert!(!one.is_empty());
    assert!(one.values().all(|text| regex("^---\nname: .+\nabout: .+\n---\n\n").is_match(text)));
    let bare: BTreeMap<String, String> =
        one.iter().map(|(name, text)| (name.clone(), questions(text).to_owned())).collect();
    assert_eq!(bare, other);
    let changes =
        [".github/PULL_REQUEST_TEMPLATE.md", ".gitlab/merge_request_templates/Default.md"];
    assert_eq!(tree.text(changes[0]), tree.text(changes[1]));
    assert_ne!(questions("---\nname: a\nabout: b\n---\n\n## A\n"), questions("## B\n"));
}
