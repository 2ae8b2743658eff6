//! `cargo xtask mutants`: small changes of the source that no test notices.
//!
//! All drawn changes stand at once in a copy of the tree, each behind a switch of the environment, so
//! that everything is built once (Untch 1993 calls it a mutant schema). Each test runs once without any
//! change and tells which of them it reaches; afterwards a change runs the tests that reach it.

mod areas;
mod compile;
mod page;
mod run;
mod tests;
mod tree;

use std::fs;

use crate::build::{root, write_page};
use crate::facts;
use crate::lab::Done;
use crate::options::Options;
use areas::Mutant;
use run::Stop;
use tests::{Bench, Fate};

/// How many are drawn as usual.
pub const COUNT: usize = 60;
/// Fixed before the first run.
pub const SEED: usize = 20_261_125;
/// Where the copy is kept and built.
const WORK: &str = "target/mutants";

/// Draws, builds, runs, and tells; nothing is promised about the share.
pub fn run(options: &Options) -> Done<bool> {
    let (count, seed) = (options.number("--count"), options.number("--seed"));
    let files = areas::files()?;
    let chosen = areas::chosen(options.text("--areas"), &files)?;
    let sources = tree::read(&files)?;
    let drawn = areas::drawn(&chosen, seed)?;
    let sizes: Vec<usize> = drawn.iter().map(Vec::len).collect();
    if options.has("--list") {
        for (own, share) in drawn.iter().zip(areas::shares(&sizes, count)) {
            own.iter()
                .take(share)
                .for_each(|one| println!("{}:{}: {}", one.file, one.line, one.what));
        }
        return Ok(true);
    }
    let head = facts::lines();
    let stop = Stop::listen()?;
    let work = root().join(WORK);
    fs::create_dir_all(work.join("tree")).map_err(|error| error.to_string())?;
    // Some of them will not compile: the next ones of the draw take their places.
    let more: Vec<Vec<Mutant>> = drawn
        .into_iter()
        .zip(areas::shares(&sizes, count))
        .map(|(own, share)| own.into_iter().take(share + share.div_ceil(2)).collect())
        .collect();
    let mutants: Vec<Mutant> = more.concat();
    println!("xtask: building {} changes of {} areas in {WORK}", mutants.len(), more.len());
    let built = compile::build(&work, &sources, &mutants, &stop)?;
    let (taken, left_out) = taken(&more, &built.dropped, count);

    // Sockets of the tests have short names only there.
    let temporary = std::env::temp_dir().join(format!("assay-mutants-{}", std::process::id()));
    fs::create_dir_all(&temporary).map_err(|error| error.to_string())?;
    let programs = &built.programs;
    let without = options.text("--without").unwrap_or_default();
    let bench = Bench { programs, without, work: &work, temporary: &temporary, stop: &stop };
    let fates = bench.map().and_then(|tests| {
        let tell = |number: usize, fate: &Fate| println!("{}", page::line(&mutants[number], fate));
        bench.fates(&taken, &tests, tell)
    });
    let cleared = fs::remove_dir_all(&temporary);
    let told: Vec<(Mutant, Fate)> =
        taken.iter().map(|&number| mutants[number].clone()).zip(fates?).collect();
    cleared.map_err(|error| format!("{}: {error}", temporary.display()))?;

    let named =
        options.text("--areas").map(|names| format!("--areas {names} ")).unwrap_or_default();
    let without =
        options.text("--without").map(|names| format!(" --without {names}")).unwrap_or_default();
    let call = format!("{named}--count {count} --seed {seed}{without}");
    let page = page::page(&head, &call, &told, left_out);
    println!("\n{page}");
    if options.has("--write") {
        write_page("mutants.md", &page)?;
    }
    Ok(true)
}

/// The numbers of the changes that are tried, area by area, and how many were passed over for them.
fn taken(drawn: &[Vec<Mutant>], dropped: &[bool], count: usize) -> (Vec<usize>, usize) {
    let mut first = 0;
    let mut there: Vec<Vec<usize>> = Vec::new();
    for own in drawn {
        let numbers = first..first + own.len();
        there.push(numbers.filter(|&number| !dropped[number]).collect());
        first += own.len();
    }
    let sizes: Vec<usize> = there.iter().map(Vec::len).collect();
    let shares = areas::shares(&sizes, count);
    let taken = there.iter().zip(shares).flat_map(|(own, share)| own.iter().copied().take(share));
    (taken.collect(), dropped.iter().filter(|dropped| **dropped).count())
}

#[cfg(test)]
mod own_tests {
    use super::*;

    #[test]
    fn the_next_of_an_area_takes_the_place_of_what_does_not_compile() {
        let [area, file, what, before, after] = [(); 5].map(|()| String::new());
        let one = Mutant { area, file, line: 1, what, start: 0, end: 0, before, after };
        let drawn = [vec![one.clone(); 3], vec![one; 3]];
        assert_eq!(taken(&drawn, &[false; 6], 4).0, [0, 1, 3, 4]);
        let dropped = [false, true, false, true, true, true];
        assert_eq!(taken(&drawn, &dropped, 4), (vec![0, 2], 4));
    }
}
