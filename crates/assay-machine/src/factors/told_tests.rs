//! Snapshots of factors and layers: levels, aliases, cautions, and the effect of each option on the created layer.
//! `UPDATE_EXPECT=1` rewrites them.
#![allow(clippy::disallowed_methods, reason = "fixtures of a test")]

use std::fmt::Write;
use std::path::PathBuf;

use super::layers::{LAYERS, Layer, Levels, Stack, Wish};
use super::tests::{DISK, machine};
use super::{Factor, Role, all, example_levels};

/// Texts that are valid or almost valid levels.
const TEXTS: [&str; 44] = [
    "",
    " ",
    "none",
    "defaults",
    "off",
    "on",
    "internal",
    "0",
    "1",
    "-1",
    "2",
    "8",
    "16",
    "17",
    "100",
    "101",
    "200",
    "201",
    "256",
    "1000",
    "32768",
    "32769",
    "1.5",
    "0%",
    "1%",
    "50%",
    "100%",
    "101%",
    "0 B",
    "512 B",
    "2 KiB",
    "4 KiB",
    "5 KiB",
    "64 KiB",
    "65536 B",
    "1 MiB",
    "1 GiB",
    "999 KB/s",
    "1 MB/s",
    "100 MB/s",
    "100000 KB/s",
    "1 ms",
    "a/b",
    "word",
];

fn expect(name: &str, found: &str) {
    let path = format!("{}/tests/fixtures/factors/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    assay_testkit::expected::expect(path, found);
}

fn told(factor: &dyn Factor) -> String {
    let name = factor.about().name;
    let mut text = format!("# {name}\n");
    let levels = example_levels(factor).into_iter().chain(TEXTS.map(str::to_owned));
    let (fine, wrong): (Vec<String>, Vec<String>) =
        levels.partition(|level| factor.judge(level).is_ok());
    writeln!(text, "levels: {fine:?}").unwrap();
    let mut whys: Vec<String> = Vec::new();
    for level in wrong {
        let why = factor.judge(&level).unwrap_err().replace(&format!("`{level}`"), "LEVEL");
        // Each kind of mistake once, independent of its number.
        let kind: String = why.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
        if !whys.contains(&kind) {
            writeln!(text, "not {level:?}: {why}").unwrap();
            whys.push(kind);
        }
    }
    for (at, one) in fine.iter().enumerate() {
        let same: Vec<&String> = fine[at + 1..]
            .iter()
            .filter(|other| *other != one && factor.same(one, other))
            .collect();
        if !same.is_empty() {
            writeln!(text, "{one:?} is {same:?}").unwrap();
        }
        if let Some(caution) = factor.caution(one) {
            writeln!(text, "{one:?} may cost: {caution}").unwrap();
        }
    }
    writeln!(text, "not live: {:?}\n", factor.not_live(name)).unwrap();
    text
}

#[test]
fn levels_are_judged_as_they_were() {
    expect("levels", &all().map(told).collect::<String>());
}

/// Levels of options under each choice of the layer: only the differences from that choice.
fn options(layer: &dyn Layer) -> String {
    let mut text = String::new();
    let Some(chooser) = layer.chooser().map(|factor| factor.about().name) else { return text };
    let others = layer.factors().iter().filter(|factor| factor.about().name != chooser);
    let others: Vec<&&dyn Factor> = others.collect();
    for choice in layer.choices() {
        let mut levels = layer.ground();
        levels.insert(chooser.to_owned(), choice.clone());
        let plain = made(&levels);
        writeln!(text, "# {chooser} = {choice}\n{plain}").unwrap();
        for option in &others {
            let name = option.about().name;
            for level in example_levels(**option) {
                let mut with = levels.clone();
                with.insert(name.to_owned(), level.clone());
                let own = made(&with);
                let lines: Vec<&str> =
                    own.lines().filter(|line| !plain.lines().any(|known| known == *line)).collect();
                writeln!(text, "## {name} = {level}\n{}", lines.join("\n")).unwrap();
            }
        }
    }
    text
}

fn made(levels: &Levels) -> String {
    let stack = match Stack::new(&Wish::new(levels)) {
        Ok(stack) => stack,
        Err(why) => return format!("not: {why}\n"),
    };
    let mut text =
        format!("{}, gives {:?}, takes all {}\n", stack.words(), stack.gives(), stack.takes_all());
    let mut missing: Vec<(String, Vec<String>)> = Vec::new();
    for below in [vec![], vec![1 << 20], vec![DISK], vec![DISK; 3], vec![DISK; 5]] {
        let Some(why) = stack.missing(&machine(), &below) else { continue };
        let below = format!("{below:?}");
        match missing.iter_mut().find(|(known, _)| *known == why) {
            Some((_, on)) => on.push(below),
            None => missing.push((why, vec![below])),
        }
    }
    for (why, on) in missing {
        writeln!(text, "missing on {}: {why}", on.join(", ")).unwrap();
    }
    let files: Vec<PathBuf> = (1..=4).map(|at| PathBuf::from(format!("DEVICE{at}"))).collect();
    for act in stack.commands(files.clone()).acts {
        writeln!(text, "typed {act}").unwrap();
    }
    for own in stack.by_hand(files) {
        writeln!(text, "lasting {:?}", own.lasting).unwrap();
    }
    for kept in stack.kept("20261122-1200-ab12") {
        if !kept.settings.is_empty() || !kept.files.is_empty() {
            writeln!(text, "kept {kept:?}").unwrap();
        }
    }
    text
}

#[test]
fn options_of_layers_change_what_they_did() {
    for layer in LAYERS {
        let name = layer.noun().replace(' ', "-");
        let room: Vec<String> = [0, 1 << 20, 64 << 20, DISK]
            .map(|bytes| {
                format!(
                    "{bytes} bytes: {} at least, {} ample",
                    layer.least(bytes),
                    layer.ample(bytes)
                )
            })
            .to_vec();
        let needs = format!("needs a device: {}", layer.needs_device());
        expect(&name, &format!("{needs}\n{}\n{}", room.join("\n"), options(*layer)));
    }
}

#[test]
fn factors_of_a_layer_are_told_by_their_role() {
    for factor in all() {
        let has_layer = super::layers::of_factor(factor.about().name).is_some();
        assert_eq!(factor.role() == Role::Layer, has_layer, "{}", factor.about().name);
    }
}
