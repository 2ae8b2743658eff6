//! `cargo xtask bench-fleet`: what several hosts that run one study together cost. Ranks are processes of this
//! machine; how far their windows begin apart on real storage, quiet and beside busy processors, what a trial of
//! many ranks costs, and what `assay merge` holds in memory.

mod barrier;
mod many;
mod merging;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::lab::fleet::{Rank, Ranks};
use crate::lab::process::{Assay, Ended, Running};
use crate::lab::{Done, Scratch};
use crate::options::Options;
use crate::{bench, build, facts};

/// The parts, each of which can be asked for alone.
const PARTS: [Part; 3] = [
    Part { name: "barrier", measure: barrier::measure },
    Part { name: "ranks", measure: many::measure },
    Part { name: "merge", measure: merging::measure },
];

struct Part {
    name: &'static str,
    measure: fn(&Path, &Options) -> Done<Measured>,
}

/// What a part came to.
struct Measured {
    /// The heading of its section, which stands once in the page.
    heading: &'static str,
    /// The section below it.
    text: String,
    /// Whether what must hold does.
    holds: bool,
}

pub fn run(options: &Options) -> Done<bool> {
    let head = facts::lines().join("\n");
    let (program, which) = bench::program(options)?;
    let only = options.text("--only");
    if let Some(name) = only.filter(|name| PARTS.iter().all(|part| part.name != *name)) {
        return Err(format!("there is no part {name}: barrier, ranks or merge"));
    }
    let mut holds = true;
    for part in PARTS.iter().filter(|part| only.is_none_or(|name| name == part.name)) {
        let Measured { heading, text, holds: own } = (part.measure)(&program, options)?;
        let section = format!("{heading}\n\n{head}\n- program: {which}\n\n{text}");
        println!("{section}");
        if options.has("--write") {
            keep(heading, &section)?;
        }
        holds &= own;
    }
    Ok(holds)
}

/// Ranks that measure at these targets, with homes in a directory, where the study of all lies, too.
fn ranks(program: &Path, scratch: &Scratch, study: &str, targets: &[String]) -> Done<Ranks> {
    let file = scratch.path().join("study.toml");
    std::fs::write(&file, study).map_err(|error| format!("{}: {error}", file.display()))?;
    let rank = |(rank, target): (usize, &String)| {
        let home = scratch.folder(&format!("home-{rank}"), 0o755, None)?;
        Ok(Rank { assay: Assay::new(program, &home), target: target.clone() })
    };
    let all = targets.iter().enumerate().map(rank).collect::<Done<Vec<_>>>()?;
    Ok(Ranks::new(&file, all))
}

/// Waits for all ranks, each of which has to end well.
fn ended(running: Vec<Running>) -> Done<()> {
    /// Only what hangs reaches it.
    const LIMIT: Duration = Duration::from_secs(600);
    let ended = running.into_iter().map(|own| own.end(LIMIT));
    let ended = ended.collect::<Done<Vec<Ended>>>()?;
    let failed = ended.iter().find(|own| own.code != 0);
    failed.map_or(Ok(()), |own| Err(format!("a rank ended with {}: {}", own.code, own.stderr)))
}

/// The records of all hosts, as rank 0 keeps them.
fn records(ranks: &Ranks) -> Done<Vec<Value>> {
    let whole = ranks.whole().ok_or("rank 0 kept no result of all")?;
    let read = |line: &str| serde_json::from_str(line).map_err(|error| error.to_string());
    crate::lab::fleet::trials(&whole).lines().map(read).collect()
}

/// Puts a section in the place of the one with its heading, or behind all; what was tried by hand stays.
fn keep(heading: &str, section: &str) -> Done<()> {
    const PAGE: &str = "fleet.md";
    let path = build::root().join("docs/measurements").join(PAGE);
    let page = std::fs::read_to_string(&path);
    let page = page.map_err(|error| format!("{}: {error}", path.display()))?;
    build::write_page(PAGE, &with_section(&page, heading, section))
}

fn with_section(page: &str, heading: &str, section: &str) -> String {
    let section = section.trim_end();
    let Some(begin) = page.find(&format!("{heading}\n")) else {
        return format!("{}\n\n{section}\n", page.trim_end());
    };
    let behind = page[begin + heading.len()..].find("\n## ");
    let rest = behind.map_or("", |at| &page[begin + heading.len() + at..]);
    format!("{}{section}\n{rest}", &page[..begin])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_its_own_and_no_other_one() {
        let page = "# T\n\nby hand\n\n## A\n\nold\n\n## B\n\nstays\n";
        assert_eq!(
            with_section(page, "## A", "## A\n\nnew\n\n"),
            "# T\n\nby hand\n\n## A\n\nnew\n\n## B\n\nstays\n"
        );
        assert_eq!(
            with_section(page, "## B", "## B\n\nnew\n"),
            "# T\n\nby hand\n\n## A\n\nold\n\n## B\n\nnew\n"
        );
        assert!(with_section(page, "## C", "## C\n\nnew").ends_with("stays\n\n## C\n\nnew\n"));
    }
}
