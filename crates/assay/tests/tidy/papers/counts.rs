//! Numbers that count something in the tree: each is bound to what it counts, and one that is not
//! bound is a fault.

use super::text::{Kind, blocks, regex};
use super::tree::Tree;

/// A number, in digits or as a word.
const NUMBER: &str = "[0-9][0-9,]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty";
const SMALL: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
/// What may be counted: a number before one of these is bound, or a fault.
const NOUNS: &str = "bounds?|calculators?|claims?|commands?|crates?|direct|engines?|exporters?|factors?|figures?|functions?|importers?|kinds of (?:work|figures?)|layers?|limits?|lines|KB|metrics?|packages?|presets?|probes?|releases|rooms?|rules?|scenarios?|(?:shipped )?studies|tests?|tiers?";

type Counter = fn(&Tree) -> Option<String>;

/// What is counted, after a number of any page; the first that fits counts.
const COUNTED: &[(&str, Counter)] = &[
    ("(?:of them )?direct", |tree| tree.found("xtask/src/tree.rs", r"MOST_DIRECT: usize = (\d+)")),
    ("(?:normal )?packages", |tree| tree.found("xtask/src/tree.rs", r"MOST: usize = (\d+)")),
    ("claims?", |tree| {
        let rows = tree.text("reference/claims.csv").lines();
        Some((rows.filter(|line| !line.starts_with('#')).count() - 1).to_string())
    }),
    ("bounds?", |tree| tree.found("docs/measurements/simulation.md", r"of (\d+) bounds failed")),
    ("simulated studies", |tree| tree.found("docs/measurements/simulation.md", r"--studies (\d+)")),
    ("studies a scenario", |tree| {
        tree.found("xtask/src/suite/mod.rs", r#""--studies", "(\d+)", "--sixth""#)
    }),
    ("studies and hold", |tree| {
        tree.found("xtask/src/suite/mod.rs", r#"Tier::Long => &\["--studies", "(\d+)"\]"#)
    }),
    ("shipped studies|presets?", |tree| Some(tree.presets().len().to_string())),
    ("rules of trust|rules", |tree| Some(tree.registry("rules").len().to_string())),
    ("probes?", |tree| Some(tree.registry("probes").len().to_string())),
    ("kinds of figures?|figures?", |tree| Some(tree.registry("figures").len().to_string())),
    ("commands and", |tree| {
        let own = tree.registry("commands");
        Some(own.iter().filter(|name| name.split(' ').count() == 2).count().to_string())
    }),
    ("commands with hyperfine's", |tree| tree.found("xtask/src/commands.rs", r"\[Timed; (\d+)\]")),
    ("crates", |tree| {
        let own = |name: &&String| name.starts_with("crates/") && name.ends_with("/Cargo.toml");
        Some(tree.files.keys().filter(own).count().to_string())
    }),
    ("tiers?", |tree| tree.found("xtask/src/suite/mod.rs", r"TIERS: \[\(&str, Tier\); (\d+)\]")),
    ("releases", |tree| {
        let journals = "crates/assay-kinds/tests/fixtures/journals/";
        let own = |name: &&String| name.starts_with(journals) && name.ends_with("-version.txt");
        Some(tree.files.keys().filter(own).count().to_string())
    }),
    ("such factors", |tree| {
        // Between two pages: the measurement tells it in words.
        let told = tree.found("docs/measurements/kills.md", r"A study with (\w+) factors")?;
        number(&told).map(|number| number.to_string())
    }),
    ("lines a crate", |tree| {
        tree.found("crates/assay/tests/tidy.rs", r"LONGEST_CRATE: usize = ([\d_]+)")
    }),
    ("lines", |tree| tree.found("crates/assay/tests/tidy.rs", r"LONGEST_FILE: usize = (\d+)")),
];

/// Numbers after what they count.
const AFTER: &[(&str, Counter)] = &[
    (r"functions at most (\d+)", |tree| {
        tree.found("crates/assay/tests/tidy.rs", r"LONGEST_FUNCTION: usize = (\d+)")
    }),
    (r"Rust (\d\.\d+) or newer", |tree| tree.found("Cargo.toml", "rust-version = \"(.+)\"")),
];

/// Numbers in what a page shows between fences.
const SHOWN: &[(&str, Counter)] = &[
    (r"^(\d+) claims: ", |tree| COUNTED.iter().find(|(noun, _)| *noun == "claims?")?.1(tree)),
    (r"\bassay-(\d+\.\d+\.\d+(?:-rc\.\d+)?)-", |tree| {
        tree.found("Cargo.toml", "\nversion = \"(.+)\"")
    }),
];

/// Numbers that count nothing of the tree: page, phrase and why.
const FREE: &[(&str, &str, &str)] = &[
    ("docs/dependencies.md", "some sixty packages", "of a crate that is not used"),
    ("docs/dependencies.md", "direct third-party packages", "counted by cargo xtask pages"),
    ("docs/dependencies.md", "packages in all", "counted by cargo xtask pages"),
    ("docs/testing.md", "Two limits are promised", "named behind it"),
];

type Holds = fn(&Tree) -> bool;

/// Statements that hold as long as something is so.
const SAID: &[(&str, &str, Holds)] =
    &[("Every kind of figure", "docs/figures lacks some", |tree| {
        let page = tree.text("docs/figures/README.md");
        tree.registry("figures").iter().all(|name| page.contains(&format!("\n## {name}\n")))
    })];

/// Rows of the table of counts in docs/testing.md: how a row begins, where its numbers stand, and the
/// patterns of the number of `all` and of `long`.
const ROWS: &[(&str, &str, &str, &str)] = &[
    ("kills of a study that changes the machine", MACHINE_FACTORS, USUAL, IN_FULL),
    ("gates of a command", "crates/assay/tests/program/gates.rs", USUAL, IN_FULL),
    ("histories of commits", "crates/assay/tests/program/bisect.rs", USUAL, IN_FULL),
    ("kills of a study whose zram", "crates/assay/tests/machine/alone/memory.rs", "", NAMED),
    ("sizes of cards that lie", "crates/assay/tests/machine/capacity.rs", USUAL, IN_FULL),
    ("kills of a study under others' work", MACHINE_LIVE, USUAL, IN_FULL),
    ("kills of a race", "crates/assay/tests/machine/alone/tune.rs", USUAL, IN_FULL),
    ("shipped studies ended by", "crates/assay/tests/machine/alone/impatience.rs", USUAL, IN_FULL),
    ("studies of identical arms", "crates/assay/tests/program/advice.rs", "", ""),
    ("studies drawn at random", "crates/assay-report/src/tests/certainty.rs", "", STUDIES),
    ("simulated studies of a queue", "crates/assay-load/tests/simulated.rs", "", SHARED),
    ("commands that are told", "crates/assay/src/cli/meant.rs", "", ""),
    (
        "studies of identical levels whose",
        "crates/assay/tests/machine/alone/starvation.rs",
        "",
        SEEDS,
    ),
    ("studies of identical levels under", MACHINE_LIVE, "", r"identical\(program\(\), (\d+)"),
    ("quick checks of a quiet device", "crates/assay/tests/machine/alone/clean.rs", USUAL, IN_FULL),
    ("results that `serve` lists", "crates/assay/tests/program/serve.rs", USUAL, IN_FULL),
    ("slow clients of each habit", "crates/assay/tests/program/crowd.rs", USUAL, IN_FULL),
    ("sound blocks that are read again", "crates/assay-load/tests/verify.rs", USUAL, IN_FULL),
    ("damaged inputs for each reader", FUZZ, USUAL, IN_FULL),
    (
        "damaged recordings of requests",
        FUZZ,
        r"count\(([\d_]+), 10_000\)",
        r"count\(800, ([\d_]+)\)",
    ),
];
const FUZZ: &str = "crates/assay/tests/fuzz.rs";
const MACHINE_FACTORS: &str = "crates/assay/tests/machine/alone/factors.rs";
const MACHINE_LIVE: &str = "crates/assay/tests/machine/alone/live.rs";
const USUAL: &str = r"\bcount\(([\d_]+), [\d_]+\)";
const IN_FULL: &str = r"\bcount\([\d_]+, ([\d_]+)\)";
const STUDIES: &str = r"const STUDIES: u64 = (\d+)";
const SHARED: &str = r"part_of\((\d+), 8\)";
const SEEDS: &str = r"for seed in 1\.\.=(\d+)";
const NAMED: &str = r"kill_named_again\(program, (\d+)";

/// A number in digits or as a word.
fn number(text: &str) -> Option<u64> {
    let text = text.to_lowercase().replace(',', "");
    let word = || SMALL.iter().position(|small| *small == text).map(|at| at as u64);
    text.parse().ok().or_else(word)
}

/// Faults of a page in its numbers.
pub fn faults(tree: &Tree, page: &str, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for block in blocks(text) {
        let mut add = |fault: String| found.push((block.line, fault));
        if block.kind.is_fenced() {
            after(tree, SHOWN, &block.text).into_iter().for_each(add);
            continue;
        }
        if block.kind == Kind::Row
            && page == "docs/testing.md"
            && let Some(faults) = row(tree, &block.text)
        {
            faults.into_iter().for_each(add);
            continue;
        }
        in_prose(tree, page, &block.text).into_iter().for_each(&mut add);
        for (phrase, fault, holds) in SAID {
            if block.text.contains(phrase) && !holds(tree) {
                add(format!("`{phrase}`: {fault}"));
            }
        }
    }
    found
}

fn in_prose(tree: &Tree, page: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A number or a noun in backticks is a name.
    let bare = regex("`[^`]*`").replace_all(text, "_");
    let of_page: Vec<&str> =
        FREE.iter().filter(|(own, ..)| *own == page).map(|(_, phrase, _)| *phrase).collect();
    let pattern = format!(r"(?i)\b({NUMBER})((?: [a-z-]+){{0,2}}?) ({NOUNS})\b");
    for hit in regex(&pattern).captures_iter(&bare) {
        let whole = hit.get(0).unwrap();
        let around = &bare[whole.start()..];
        // "HTTP/1 with a limit", "level-2 metrics", "0.5".
        if bare[..whole.start()].ends_with(['/', '-', '.', '=']) {
            continue;
        }
        let before = bare[..whole.start()].chars().rev().take(30).collect::<String>();
        let before: String = before.chars().rev().collect();
        let near = format!("{before}{}", around.chars().take(60).collect::<String>());
        if of_page.iter().any(|phrase| near.contains(phrase)) {
            continue;
        }
        let rest = &around[hit[1].len()..];
        let fits = |noun: &str| regex(&format!(r"^ (?:{noun})\b")).is_match(rest);
        // Lines have a limit, and are not counted otherwise.
        let is_limit = before.ends_with("at most ");
        let counts = |noun: &str| fits(noun) && (noun != "lines" || is_limit);
        let truth =
            COUNTED.iter().find(|(noun, _)| counts(noun)).and_then(|(_, count)| count(tree));
        match truth {
            None => found.push(format!("`{}` is bound to nothing (counts.rs)", &hit[0])),
            Some(truth) if number(&hit[1]) != number(&truth) => {
                found.push(format!("`{}`: it is {truth}", &hit[0]));
            }
            Some(_) => {}
        }
    }
    found.extend(after(tree, AFTER, &bare));
    found.extend(usual_counts(tree, text));
    found
}

/// "(`cargo xtask kills`: 200)": what the chore takes where nothing is asked for.
fn usual_counts(tree: &Tree, text: &str) -> Vec<String> {
    let pattern = regex(r"`cargo xtask ([a-z-]+)`: ([0-9,]+)\)");
    let source = tree.text("xtask/src/main.rs");
    let mut wrong = Vec::new();
    for hit in pattern.captures_iter(text) {
        let own = source.split("Command {").find(|part| {
            part.contains(&format!("name: \"{}\"", &hit[1])) && part.contains("numbers: ")
        });
        let told = hit[2].replace(',', "");
        let has = |part: &str| part.replace('_', "").contains(&format!("\", {told})"));
        if !own.is_some_and(has) {
            wrong.push(format!("`{}`: {} takes other numbers", &hit[0], &hit[1]));
        }
    }
    wrong
}

/// Phrases whose number is not that of the tree.
fn after(tree: &Tree, phrases: &[(&str, Counter)], text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (phrase, count) in phrases {
        for hit in regex(phrase).captures_iter(text) {
            let truth = count(tree).unwrap_or_default();
            if hit[1] != truth {
                wrong.push(format!("`{}`: it is {truth}", &hit[0]));
            }
        }
    }
    wrong
}

/// A row of the table of counts; nothing where it is one of another table or tells no number.
fn row(tree: &Tree, text: &str) -> Option<Vec<String>> {
    let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
    let [what, usual, in_full] = cells[..] else { return None };
    let leading = |cell: &str| {
        let first = cell.split(|c: char| !(c.is_ascii_digit() || c == ',')).next();
        first.and_then(number)
    };
    if leading(usual).is_none() && leading(in_full).is_none() {
        return None;
    }
    let mut wrong = usual_counts(tree, text);
    if what.starts_with("shipped studies run for real") {
        let path = "crates/assay/tests/machine/alone/presets.rs";
        let source = tree.text(path);
        let (_, reduced) = source.split_once("\nreduced! {").unwrap();
        let in_full_alone = reduced.split("\n}").next().unwrap().matches(": \"").count();
        let often = source.matches("\n    runs(\"").count();
        for (cell, truth) in [(usual, often), (in_full, often + in_full_alone)] {
            if leading(cell) != Some(truth as u64) {
                wrong.push(format!("`{what}`: `{cell}` is {truth}"));
            }
        }
        return Some(wrong);
    }
    let Some((_, path, all, long)) = ROWS.iter().find(|(begin, ..)| what.starts_with(begin)) else {
        wrong.push(format!("`{what}`: its numbers are bound to nothing (counts.rs)"));
        return Some(wrong);
    };
    for (cell, pattern) in [(usual, all), (in_full, long)] {
        if pattern.is_empty() {
            continue;
        }
        let truth = tree.found(path, pattern).and_then(|truth| number(&truth));
        if truth.is_none() || leading(cell) != truth {
            wrong.push(format!("`{what}`: `{cell}` is {truth:?} in {path}"));
        }
    }
    Some(wrong)
}

#[test]
fn what_is_free_stands_in_its_page() {
    let tree = Tree::of_today();
    for (page, phrase, _) in FREE {
        let there = blocks(tree.text(page)).iter().any(|block| block.text.contains(phrase));
        assert!(there, "{page} no longer says `{phrase}`: take it off the list");
    }
    for (begin, ..) in ROWS {
        let begin = format!("| {begin}");
        assert!(tree.text("docs/testing.md").contains(&begin), "no row begins with `{begin}`");
    }
}
