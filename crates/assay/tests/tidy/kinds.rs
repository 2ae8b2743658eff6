//! Removing a kind of work takes two lines besides its own files: one in `kinds!`, one in the list of bundled studies.
//! This test lists other uses of kinds' names, and why each may remain or is removed, too.
//!
//! It does not check names within longer texts, such as a study in a test, nor comments, from which help is generated.

use std::collections::BTreeSet;

use assay_machine::factors;
use assay_study::file::presets;
use assay_workloads::{KINDS, KindEntry};

use super::rust_files;
use super::source::{blanked, literals, used_below};

const ALONE: [&str; 3] = ["capacity", "network", "boot"];
/// This file contains their names.
const THIS: &str = "crates/assay/tests/tidy/kinds.rs";

const SHIPPED: &str = "its line in the list of shipped studies";
const TESTS: &str = "its tests of the whole program: they go with it";
const FILES: &str = "names of files in memory, of what it calls: that may stay";
const PRINTED: &str = "what is printed on a card or in an article";
const REGISTRY: &str = "a test over what there is, which holds without it";
/// Kind, place (a file, or a folder with all files), names (empty: any), and reason.
type Elsewhere = (&'static str, &'static str, &'static [&'static str], &'static str);

const ELSEWHERE: &[Elsewhere] = &[
    ("boot", "crates/assay/src/cli/plan.rs", &["boot"], REGISTRY),
    ("boot", "crates/assay/tests/program/endless.rs", &["boot"], REGISTRY),
    ("boot", "crates/assay/tests/program/boots.rs", &[], TESTS),
    ("boot", "crates/assay/tests/program/articles/recomputed.rs", &["boot"], PRINTED),
    ("boot", "crates/assay-study/src/file/presets.rs", &["boot"], SHIPPED),
    ("boot", "crates/assay-runner/src/vm/kernel.rs", &["boot"], FILES),
    ("boot", "crates/assay-runner/src/real/area.rs", &["boot"], FILES),
    ("boot", "crates/assay-runner/src/run/reboots.rs", &["boot"], FILES),
    ("capacity", "crates/assay-study/src/file/presets.rs", &["capacity"], SHIPPED),
    ("capacity", "crates/assay/tests/machine/capacity.rs", &[], TESTS),
    ("capacity", "crates/assay/tests/program/capacity.rs", &[], TESTS),
    ("capacity", "crates/assay-load/src/capacity/", &["capacity"], FILES),
    ("capacity", "crates/assay-study/src/file/fields.rs", &["capacity"], PRINTED),
    ("capacity", "crates/assay/tests/program/articles/recomputed.rs", &["capacity"], PRINTED),
    ("capacity", "crates/assay-testkit/src/certain.rs", &[], REGISTRY),
    ("capacity", "crates/assay-analysis/src/rules/mod.rs", &["capacity"], REGISTRY),
    (
        "capacity",
        "crates/assay-analysis/src/inference/kinds.rs",
        &["capacity_usable_bytes"],
        REGISTRY,
    ),
    ("network", "crates/assay-study/src/file/presets.rs", &["bufferbloat"], SHIPPED),
    ("network", "crates/assay/tests/machine/network.rs", &[], TESTS),
];

fn words(kind: &KindEntry) -> Vec<&'static str> {
    let metrics = kind.metrics.iter().copied().flatten().map(|metric| metric.name);
    let parameters = (kind.parameters)().into_iter().map(|own| own.about.name);
    let rules = kind.rules.iter().map(|rule| rule.about.name);
    let figure = kind.shown.and_then(|shown| shown.figure).map(|figure| figure.about.name);
    metrics.chain(parameters).chain(rules).chain(figure).collect()
}

fn studies(kind: &'static str) -> impl Iterator<Item = &'static str> {
    let own = move |name: &&'static str| {
        let mut work = presets::find(name).unwrap().unwrap().workload.into_iter();
        work.all(|own| own.work.kind().about.name == kind)
    };
    presets::all().map(|(name, _)| name).filter(own)
}

fn names(kind: &KindEntry) -> BTreeSet<String> {
    let name = kind.about.name;
    let others = KINDS.iter().filter(|other| other.about.name != name);
    let others: BTreeSet<&str> = others
        .flat_map(|other| words(other))
        .chain(factors::all().map(|factor| factor.about().name))
        .collect();
    let option = kind.check_option.map(|_| format!("--{name}"));
    let own = words(kind).into_iter().filter(|word| !others.contains(word));
    own.chain([name]).chain(studies(name)).map(str::to_owned).chain(option).collect()
}

struct Source {
    code: String,
    texts: BTreeSet<String>,
}

impl Source {
    fn of(text: &str) -> Self {
        // Each ends with its line.
        let texts = literals(text).into_iter().map(|(_, text)| text.trim_end().to_owned());
        Self { code: blanked(text), texts: texts.collect() }
    }
}

/// Returns the names of a kind that a program uses as complete strings, and as modules and types.
fn uses(kind: &str, names: &BTreeSet<String>, source: &Source) -> BTreeSet<String> {
    let code = &source.code;
    let mut found: BTreeSet<String> = source.texts.intersection(names).cloned().collect();
    if used_below(code, "assay_workloads::").iter().any(|used| used == kind) {
        found.insert(format!("assay_workloads::{kind}"));
    }
    let variant = kind[..1].to_uppercase() + &kind[1..];
    let types = ["Work", "WorkPlan", "WorkDetail", "WorkFacts"];
    let is_used = |of: &&str| used_below(code, &format!("{of}::")).contains(&variant);
    found.extend(types.iter().filter(|of| is_used(of)).map(|of| format!("{of}::{variant}")));
    found
}

/// Returns the position of the reason for a name of a kind in a file.
fn reason(kind: &str, file: &str, name: &str) -> Option<usize> {
    ELSEWHERE.iter().position(|(of, place, names, _)| {
        *of == kind && file.starts_with(place) && (names.is_empty() || names.contains(&name))
    })
}

#[test]
fn kinds_that_can_be_taken_away_are_known_in_their_folders_alone() {
    let files: Vec<(String, Source)> =
        rust_files().into_iter().map(|(file, text)| (file, Source::of(&text))).collect();
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    let kinds = || KINDS.iter().filter(|kind| ALONE.contains(&kind.about.name));
    for kind in kinds() {
        let (name, own) = (kind.about.name, names(kind));
        let folder = format!("crates/assay-workloads/src/{name}/");
        for (file, source) in &files {
            if file == THIS || file.starts_with(&folder) {
                continue;
            }
            for word in uses(name, &own, source) {
                match reason(name, file, &word) {
                    Some(at) => {
                        seen.insert(at);
                    }
                    None => wrong.push(format!("{file}: {word} of {name}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "ask the kind, or say why here:\n{}", wrong.join("\n"));
    // Skips the reasons of removed kinds.
    for (at, (kind, place, _, why)) in ELSEWHERE.iter().enumerate() {
        let is_there = kinds().any(|own| own.about.name == *kind);
        assert!(!is_there || seen.contains(&at), "{place}: no longer {why}; take it off the list");
    }
}

#[test]
fn a_name_of_a_kind_is_seen() {
    let known: BTreeSet<String> = ["bufferbloat".to_owned()].into();
    let found =
        |text: &str| uses("network", &known, &Source::of(text)).into_iter().collect::<Vec<_>>();
    assert_eq!(found("let a = find(\"bufferbloat\");"), ["bufferbloat"]);
    assert_eq!(found("use assay_workloads::{io, network};"), ["assay_workloads::network"]);
    assert_eq!(found("fn f(_: Work) { WorkPlan::Network(own) }"), ["WorkPlan::Network"]);
    let others =
        "// \"bufferbloat\"\nuse assay_machine::system::network; Space::Network; \"a bufferbloat\"";
    assert_eq!(found(others), Vec::<String>::new());
    // Names that small files also use do not identify reads and writes.
    let io = names(KINDS[0]);
    assert!(
        ["io", "arrival_process"].iter().all(|own| io.contains(*own)) && !io.contains("threads"),
        "{io:?}"
    );
}
