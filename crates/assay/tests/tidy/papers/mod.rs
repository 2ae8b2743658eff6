//! What hand-written pages say of the tree holds: names of files, tests, commands and registry rows, numbers that
//! count something, links. Pages that a program makes and pages that tell what was have their links
//! checked alone.
//!
//! What it cannot see: statements in words alone.

mod chores;
mod counts;
mod forge;
mod links;
mod names;
mod stability;
mod text;
mod tree;

use tree::{Tree, ends};

const README: &str = "README.md";
const README_LINES: usize = 160;
const INDEX: &str = "docs/decisions/README.md";

/// Every fault of a page, with its line.
fn faults(tree: &Tree, page: &str, text: &str) -> Vec<String> {
    let mut found = names::faults(tree, text);
    found.extend(chores::faults(tree, text));
    found.extend(counts::faults(tree, page, text));
    found.extend(links::faults(tree, page, text));
    found.sort();
    found.dedup();
    found.into_iter().map(|(line, fault)| format!("{page}:{line}: {fault}")).collect()
}

#[test]
fn what_pages_say_of_the_tree_holds() {
    let tree = Tree::of_today();
    let wrong: Vec<String> =
        tree.by_hand().flat_map(|(page, text)| faults(tree, page, text)).collect();
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
    assert!(tree.by_hand().count() > 5);
}

#[test]
fn every_link_leads_somewhere() {
    let tree = Tree::of_today();
    let pages = tree.files.iter().filter(|(name, _)| ends(name, "md"));
    let wrong: Vec<String> = pages
        .flat_map(|(page, text)| {
            let own = links::faults(tree, page, text);
            own.into_iter().map(move |(line, fault)| format!("{page}:{line}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_first_page_is_short() {
    let lines = Tree::of_today().text(README).lines().count();
    assert!(lines <= README_LINES, "{README} has {lines} lines, at most {README_LINES}");
}

/// What the first page shows of results that no page of today says: each block is a part of one page, whose
/// left-out lines are `[...]`.
fn unsaid(tree: &Tree, text: &str) -> Vec<String> {
    const PAGES: &str = "crates/assay-report/tests/fixtures/findings/";
    let pages = || tree.files.iter().filter(|(name, _)| name.starts_with(PAGES));
    let blocks = text.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    let is_unsaid = |block: &&str| {
        let parts = || block.split("[...]\n");
        !pages().any(|(_, page)| parts().all(|part| page.contains(part)))
    };
    blocks.filter(is_unsaid).map(str::to_owned).collect()
}

#[test]
fn what_the_first_page_shows_of_a_result_is_what_a_page_says_today() {
    let tree = Tree::of_today();
    let readme = tree.text(README);
    assert_eq!(unsaid(tree, readme), Vec::<String>::new());
    assert!(readme.matches("```text\n").count() >= 2);
    let changed = readme.replace("p99.9 spread trust", "p99.9 spread faith");
    assert_eq!(unsaid(tree, &changed).len(), 1);
}

/// Whole results of the guide begin as pages do.
#[test]
fn what_the_guide_shows_of_a_whole_result_is_what_a_page_says_today() {
    let tree = Tree::of_today();
    let guide = tree.text("docs/guide.md");
    let of = |text: &str| {
        let blocks = unsaid(tree, text).into_iter();
        blocks.filter(|block| block.starts_with("assay ")).count()
    };
    assert_eq!((of(guide), guide.matches("```text\nassay ").count()), (0, 2));
    assert_eq!(of(&guide.replace("p99.9 spread trust", "p99.9 spread faith")), 1);
}

#[test]
fn how_things_are_added_is_told_once() {
    let tree = Tree::of_today();
    let told: Vec<&str> = tree
        .by_hand()
        .filter(|(_, text)| text.contains("\n## Adding things\n"))
        .map(|(page, _)| page)
        .collect();
    assert_eq!(told, ["CONTRIBUTING.md"]);
}

/// Decisions that stand in the index other than once.
fn misplaced(index: &str, decisions: &[&str]) -> Vec<String> {
    let times = |name: &str| index.matches(&format!("]({name})")).count();
    let wrong = decisions.iter().filter(|name| times(name) != 1);
    wrong.map(|name| format!("{name} stands {} times in {INDEX}", times(name))).collect()
}

#[test]
fn every_decision_stands_in_the_index_once() {
    let tree = Tree::of_today();
    let names = tree.files.keys().filter_map(|path| path.strip_prefix("docs/decisions/"));
    let names: Vec<&str> = names.filter(|name| *name != "README.md").collect();
    assert_eq!(misplaced(tree.text(INDEX), &names), Vec::<String>::new());
    assert_eq!(misplaced("[a](a.md) [b](b.md) [b](b.md)", &["a.md"]), Vec::<String>::new());
    assert_eq!(misplaced("[a](a.md) [b](b.md) [b](b.md)", &["a.md", "b.md", "c.md"]).len(), 2);
}

#[test]
fn every_direct_package_has_its_reason() {
    let tree = Tree::of_today();
    let (_, own) = tree.text("Cargo.toml").split_once("[workspace.dependencies]").unwrap();
    let own = own.split("\n[").next().unwrap();
    let names = own.lines().filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    let rows = tree.text("docs/dependencies.md").lines().filter(|line| line.starts_with("| "));
    let first: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).collect();
    let told = |name: &str| {
        first.iter().any(|cell| cell.split([',', ' ', '(', ')']).any(|word| word == name))
    };
    for name in names.filter(|name| !name.starts_with("assay")) {
        assert!(told(name), "docs/dependencies.md does not say why {name} is used");
    }
    assert!(!told("nalgebra"));
}

/// Page, a statement that is false, what is said of it, and a true one beside it. The first are those that
/// stood in the pages when this check was written.
const STATEMENTS: &[(&str, &str, &str, &str)] = &[
    ("README.md", "```text\n20 claims: 4 supported.\n```", "20 claims", "```text\n[...]\n```"),
    ("README.md", "judged by 116 bounds", "116 bounds", "judged by bounds"),
    ("README.md", "over 100,000 simulated studies", "it is 10000", "over 10,000 simulated studies"),
    ("README.md", "Every kind of figure, from real runs", "docs/figures lacks", "Figures of runs"),
    ("ARCHITECTURE.md", "functions at most 120, about 30 direct", "30 direct", "at most 34 direct"),
    ("CONTRIBUTING.md", "200 packages, 30 of them direct", "30 of them", "200 packages in it"),
    (
        "docs/testing.md",
        "`cargo test -p assay --lib -- journal::`",
        "has journal::",
        "`cargo test -p assay-system --lib -- journal::`",
    ),
    (
        "docs/testing.md",
        "`cargo test -p assay --lib -- factors::tests`",
        "has factors::tests",
        "`cargo test -p assay-machine --lib -- factors::tests`",
    ),
    (
        "docs/testing.md",
        "`cargo test -p assay --lib -- signatures::`",
        "has signatures::",
        "`cargo test -p assay-system --lib -- signatures::`",
    ),
    (
        "docs/testing.md",
        "`cargo mutants -p assay -f ... -- --lib -- factors`",
        "has factors",
        "`cargo mutants -p assay-machine -f ... -- --lib -- factors`",
    ),
    (
        "docs/testing.md",
        "| kills of a study under others' work | 3 | 20 (`cargo xtask live`: 50) |",
        "`3` is Some(2)",
        "| kills of a study under others' work | 2 | 20 (`cargo xtask live`: 50) |",
    ),
    (
        "docs/testing.md",
        "| shipped studies run for real, reduced | 3 | 26 |",
        "`3` is 2",
        "| shipped studies run for real, reduced | 2 | 26 |",
    ),
    (
        "docs/testing.md",
        "| shipped studies run for real, reduced | 2 | all but `check` |",
        "`all but `check`` is 26",
        "| shipped studies run for real, reduced | 2 | 26; the others have tests of their own |",
    ),
    ("docs/dependencies.md", "`report/html/data.rs`", "no report/html", "`html/data.rs`"),
    ("docs/dependencies.md", "`report/markdown.rs`", "no report/mark", "`src/markdown.rs`"),
    ("docs/dependencies.md", "Tables (about 100 lines)", "100 lines", "Tables"),
    ("docs/dependencies.md", "The figures (some 900 lines)", "900 lines", "The figures"),
    ("docs/dependencies.md", "The script of a page (4 KB)", "4 KB", "The script of a page"),
    // What else is read.
    (
        "a.md",
        "`tests/machine/rule.rs`",
        "there is no tests/machine/rule.rs",
        "`tests/machine/rules.rs`",
    ),
    ("a.md", "see docs/measurement/tests.md", "there is no docs", "see docs/measurements/tests.md"),
    ("a.md", "`a_part_of_the_device...`", "no test begins", "`a_part_of_a_device...`"),
    ("a.md", "`journal::tested`", "no journal::tested", "`journal::tests`"),
    ("a.md", "`analysis::judged_all`", "no analysis::judged_all", "`analysis::judge`"),
    ("a.md", "`create_areas`", "nothing is called", "`create_area`"),
    ("a.md", "`block-latencies`", "nothing is called", "`block-latency`"),
    ("a.md", "the rule `block-latency`", "no rule block-latency", "the rule `slow-member`"),
    ("a.md", "the preset `depths`", "no preset depths", "the preset `depth`"),
    ("a.md", "`ASSAY_HOUSE=x`", "no program reads ASSAY_HOUSE", "`ASSAY_HOME=x`"),
    ("a.md", "`cargo xtask tests`", "no chore tests", "`cargo xtask test`"),
    (
        "a.md",
        "```\ncargo xtask test medium\n```",
        "takes no medium",
        "```\ncargo xtask test long\n```",
    ),
    (
        "a.md",
        "`cargo xtask kills --counts 3`",
        "no option --counts",
        "`cargo xtask kills --count 3`",
    ),
    ("a.md", "`cargo test -p assay-kind`", "no crate assay-kind", "`cargo test -p assay-kinds`"),
    (
        "a.md",
        "`cargo test -p assay --test tide`",
        "no tests/tide",
        "`cargo test -p assay --test tidy`",
    ),
    ("a.md", "(`cargo xtask kills`: 100)", "other numbers", "(`cargo xtask kills`: 200)"),
    ("a.md", "files have at most 900 lines", "it is 800", "files have at most 800 lines"),
    ("a.md", "functions at most 100", "it is 120", "functions at most 120"),
    ("a.md", "at most 40,000 lines a crate", "it is 30000", "at most 30,000 lines a crate"),
    ("a.md", "with Rust 1.88 or newer", "it is 1.89", "with Rust 1.89 or newer"),
    (
        "a.md",
        "```sh\ntar xf assay-0.0.1-x.tar.gz\n```",
        "it is 1.0.0-rc.1",
        "```sh\ntar xf assay-1.0.0-rc.1-x.tar.gz\n```",
    ),
    ("a.md", "tests in four tiers", "it is 3", "tests in three tiers"),
    ("a.md", "it has twelve importers", "bound to nothing", "it has importers"),
    ("a.md", "[x](guide.md)", "there is no guide.md", "[x](docs/guide.md)"),
    ("a.md", "[x](docs/testing.md#skip)", "has no heading", "[x](docs/testing.md#skips)"),
];

#[test]
fn a_false_statement_is_found_and_a_true_one_beside_it_is_not() {
    let tree = Tree::of_today();
    for (page, wrong, told, right) in STATEMENTS {
        let found = faults(tree, page, wrong);
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
        assert!(found[0].contains(told), "{wrong}: {found:?}");
        assert_eq!(faults(tree, page, right), Vec::<String>::new(), "{right}");
    }
}
