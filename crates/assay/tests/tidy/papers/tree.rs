//! The tree that pages speak of: its files, what can be counted in it, its tests and its chores.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::LazyLock;

use super::super::{files, root};
use super::text::regex;

/// Every file of the project: path -> text (nothing for what is no text).
pub struct Tree {
    pub files: BTreeMap<String, String>,
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::read);
/// Words of all programs and data, with and without dashes.
static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let mut words = HashSet::new();
    for (_, text) in TREE.sources() {
        for word in text.as_bytes().split(|&byte| !letter(byte)).filter(|word| word.len() > 3) {
            let word = std::str::from_utf8(word).unwrap();
            words.insert(word);
            words.extend(word.split('-'));
        }
    }
    words
});

/// Pages that are made by a program or tell what was: their words are not of today's tree.
const NOT_BY_HAND: [&str; 5] =
    ["CHANGELOG.md", "docs/decisions/2", "docs/measurements/", "docs/reference/", "docs/figures/"];

impl Tree {
    /// Read once for all tests.
    pub fn of_today() -> &'static Self {
        &TREE
    }

    fn read() -> Self {
        let root = root();
        let one = |path: &std::path::PathBuf| {
            let name = path.strip_prefix(&root).unwrap().display().to_string();
            (name, String::from_utf8(std::fs::read(path).unwrap()).unwrap_or_default())
        };
        Self { files: files(&root).iter().map(one).collect() }
    }

    /// Text of a file that must be there.
    pub fn text(&self, path: &str) -> &str {
        self.files.get(path).unwrap_or_else(|| panic!("{path} is gone: mend the check"))
    }

    /// Pages that people write.
    pub fn by_hand(&self) -> impl Iterator<Item = (&str, &str)> {
        let by_hand = |name: &&String| {
            ends(name, "md") && !NOT_BY_HAND.iter().any(|start| name.starts_with(start))
        };
        self.files.iter().filter(move |(name, _)| by_hand(name)).map(|(n, t)| (&**n, &**t))
    }

    /// Texts in which programs and data say what there is.
    pub fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        let ends = [".rs", ".toml", ".csv", ".js", ".sh", ".py", ".lock"];
        let own = move |name: &&String| {
            ends.iter().any(|end| name.ends_with(end)) && !name.contains("tests/tidy/papers")
        };
        self.files.iter().filter(move |(name, _)| own(name)).map(|(n, t)| (&**n, &**t))
    }

    /// Whether a path is there: whole, or its end from a slash on; `*`, `{a,b}`, `x` and `NAME` stand for
    /// any name.
    pub fn has(&self, path: &str) -> bool {
        if !path.contains(['*', '{', '<'])
            && !["x", "X", "NAME"].iter().any(|any| path.contains(any))
        {
            let path = path.trim_end_matches('/');
            let inner = format!("/{path}/");
            return self.files.keys().any(|name| {
                name.strip_suffix(path).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
                    || name.starts_with(&inner[1..])
                    || name.contains(&inner)
            });
        }
        let mut pattern = String::new();
        for part in path.trim_end_matches('/').split('/') {
            let any = regex(r"^(x|X|NAME|<[a-z]+>)(\.[a-z]+)?$");
            let own = match any.captures(part) {
                Some(found) => format!("[^/]+{}", found.get(2).map_or("", |end| end.as_str())),
                None => regex_lite::escape(part).replace(r"\*", "[^/]*"),
            };
            pattern.push('/');
            pattern.push_str(&own);
        }
        let braces = regex(r"\\\{(.*?)\\\}");
        let pattern = braces.replace_all(&pattern, |found: &regex_lite::Captures<'_>| {
            format!("({})", found[1].replace(',', "|"))
        });
        let pattern = regex(&format!("{pattern}(/|$)"));
        self.files.keys().any(|name| pattern.is_match(&format!("/{name}")))
    }

    /// Headings of a generated page: the names of a registry.
    pub fn registry(&self, page: &str) -> Vec<&str> {
        let text = self.text(&format!("docs/reference/{page}.md"));
        text.lines().filter_map(|line| line.strip_prefix("## ")).collect()
    }

    /// Names of the shipped studies, those about fitness aside.
    pub fn presets(&self) -> Vec<&str> {
        let own = self.files.keys();
        let named = own.filter_map(|path| path.strip_prefix("studies/")?.strip_suffix(".toml"));
        named.filter(|name| !name.contains('/')).collect()
    }

    /// First group of a pattern in a file.
    pub fn found(&self, path: &str, pattern: &str) -> Option<String> {
        let found = regex(pattern).captures(self.text(path))?;
        Some(found[1].replace('_', ""))
    }

    /// Names of the tests of a crate, by where they stand below it: `src/a/b.rs` -> `a::b::name`.
    pub fn tests(&self, crate_: &str, target: Option<&str>) -> Vec<String> {
        let folder = if crate_ == "xtask" { "xtask/".into() } else { format!("crates/{crate_}/") };
        let below = target.map_or("src".to_owned(), |target| format!("tests/{target}"));
        let begins = format!("{folder}{below}");
        let mut found = Vec::new();
        for (name, text) in self.files.iter().filter(|(name, _)| ends(name, "rs")) {
            let Some(rest) = name.strip_prefix(&begins) else { continue };
            if !rest.starts_with(['/', '.']) {
                continue;
            }
            let module = rest.trim_end_matches(".rs").trim_start_matches(['/', '.']);
            let module = module.trim_end_matches("mod").trim_end_matches('/').replace('/', "::");
            found.extend(tests_of(text).iter().map(|test| format!("{module}::{test}")));
        }
        found
    }

    /// Name and usage of each chore.
    pub fn chores(&self) -> Vec<(&str, &str)> {
        let text = self.text("xtask/src/main.rs");
        let field = |part: &'_ str, name: &str| {
            let start = part.find(&format!("{name}: \""))? + name.len() + 3;
            Some((start, start + part[start..].find('"')?))
        };
        let parts = text.split("Command {").skip(1);
        parts
            .filter_map(|part| {
                let (name, usage) = (field(part, "name")?, field(part, "usage")?);
                Some((&part[name.0..name.1], &part[usage.0..usage.1]))
            })
            .collect()
    }
}

/// Whether a file has this kind of name.
pub fn ends(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end == extension)
}

/// Whether a word of more than three letters stands in a program, as a word.
pub fn is_known(word: &str) -> bool {
    WORDS.contains(word)
}

/// Tests of a file; those in a module of it have the module's name before theirs.
fn tests_of(text: &str) -> Vec<String> {
    let line = regex(r"^( *)(?:pub(?:\([a-z]+\))? )?(mod|fn) ([a-z0-9_]+)");
    let (mut module, mut is_test, mut found) = (String::new(), false, Vec::new());
    for text in text.lines() {
        if text.trim() == "#[test]" {
            is_test = true;
        }
        let Some(parts) = line.captures(text) else { continue };
        match (&parts[2], parts[1].is_empty()) {
            ("mod", true) if text.ends_with('{') => module = format!("{}::", &parts[3]),
            ("fn", top) if is_test => {
                let module = if top { "" } else { module.as_str() };
                found.push(format!("{module}{}", &parts[3]));
                is_test = false;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn tests_have_the_names_that_the_harness_gives_them() {
    let text = "#[test]\nfn a() {}\nfn b() {}\nmod own_tests {\n    #[test]\n    #[ignore]\n    fn c() {}\n}\n";
    assert_eq!(tests_of(text), ["a", "own_tests::c"]);
    let tree = Tree::of_today();
    let inner = "suite::tests::own_tests::results_are_summed".to_owned();
    assert!(tree.tests("xtask", None).contains(&inner));
    let end = "slow_device::in_full::a_check_of_a_slow_device_ends_by_its_time".to_owned();
    assert!(tree.tests("assay", Some("machine")).contains(&end));
    assert!(!tree.tests("assay", None).contains(&end));
}

#[test]
fn a_path_is_there_or_not() {
    let tree = Tree::of_today();
    for there in [
        "crates/assay",
        "tests/machine/rules.rs",
        "truth/x.rs",
        "work/x/",
        "tests/{csv,studies}",
        "tests/*.rs",
    ] {
        assert!(tree.has(there), "{there}");
    }
    for gone in
        ["crates/assays", "report/markdown.rs", "truths/x.rs", "tests/{csvs,x.md}", "ule.rs"]
    {
        assert!(!tree.has(gone), "{gone}");
    }
}
