//! `cargo xtask bench-files`: small files, ours against bonnie++, interleaved.
//!
//! Both make the same tree on one ext4 file system on a loop device of its own, go through it and take
//! it away. In each round every tree is gone through by both, in an order drawn for each pair, so that a
//! drift of the machine falls on both alike.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_load::{FileAct, FileJob, FileSync, FileTree, Pattern};

use crate::bench::{Draws, middle};
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, call, has, is_root};
use crate::options::Options;
use crate::{bench, facts};

const PROGRAM: &str = "bonnie++";
/// In which bonnie++ counts files.
const UNIT: u32 = 1024;
const DIRECTORIES: u32 = 64;
/// No phase is ended by its time.
const NO_LIMIT_NS: u64 = u64::MAX;

/// A tree that both make.
struct Tree {
    name: &'static str,
    thousands: u32,
    size_bytes: u32,
    /// What of ours is what bonnie++ does, with its field of bonnie++'s line.
    acts: [(FileAct, usize); 3],
}

/// Many enough that no phase is over in half a second, of which bonnie++ tells nothing.
const TREES: [Tree; 2] = [
    Tree {
        name: "empty files",
        thousands: 256,
        size_bytes: 0,
        acts: [(FileAct::Create, 26), (FileAct::Stat, 28), (FileAct::Delete, 30)],
    },
    Tree {
        name: "files of 4 KiB",
        thousands: 96,
        size_bytes: 4096,
        acts: [(FileAct::Create, 26), (FileAct::Read, 28), (FileAct::Delete, 30)],
    },
];

/// What bonnie++ prints where a phase was over in half a second.
const TOO_SHORT: &str = "+++++";

/// Files a second of one phase, round by round.
#[derive(Clone, Default)]
struct Rates {
    ours: Vec<f64>,
    /// Nothing where a phase was too short for it.
    theirs: Vec<Option<f64>>,
}

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() || !has(PROGRAM) {
        return Err(format!("needs root (for a loop device of its own) and {PROGRAM}"));
    }
    let rounds = options.number("--rounds");
    if cfg!(debug_assertions) {
        return bench::optimised("bench-files", options, &["--rounds"]);
    }
    let head = facts::lines();
    // Room for as many inodes as the largest tree has files.
    let volume = Volume::new(Filesystem::Ext4, 6144)?;
    let mut rates = vec![Rates::default(); TREES.len() * 3];
    let mut draws = Draws::new();
    for round in 1..=rounds {
        for (tree, rates) in TREES.iter().zip(rates.chunks_mut(3)) {
            for ours in draws.both() {
                let seed = draws.next();
                let place = volume.directory();
                if ours {
                    let told = tree.ours(place, seed)?;
                    rates.iter_mut().zip(told).for_each(|(own, told)| own.ours.push(told));
                } else {
                    let told = tree.theirs(place)?;
                    rates.iter_mut().zip(told).for_each(|(own, told)| own.theirs.push(told));
                }
            }
        }
        println!("round {round} of {rounds}");
    }
    let (page, holds) = page(&head, rounds, &rates)?;
    println!();
    bench::keep(options, "small-files.md", &page)?;
    Ok(holds)
}

impl Tree {
    const fn files(&self) -> u32 {
        self.thousands * UNIT
    }

    fn ours(&self, place: &Path, seed: u64) -> Done<[f64; 3]> {
        let job = FileJob {
            files: self.files(),
            directories: DIRECTORIES,
            depth: 1,
            size_bytes: self.size_bytes,
            pattern: Pattern::Sequential,
            threads: 1,
            sync: FileSync::EachPhase,
            seed,
        };
        let root = place.join("ours");
        fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let handle = File::open(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let mut tree = FileTree::make(&job, handle.as_fd()).map_err(|error| error.to_string())?;
        let mut rates = [0.0; 3];
        for (rate, (act, _)) in rates.iter_mut().zip(self.acts) {
            let done = tree
                .run(act, NO_LIMIT_NS, &AtomicBool::new(false))
                .map_err(|error| error.to_string())?;
            *rate = done.operations as f64 / (done.elapsed_ns as f64 / 1e9);
        }
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(rates)
    }

    fn words(&self, place: &str) -> Vec<String> {
        let Self { thousands, size_bytes: size, .. } = self;
        let tree = format!("{thousands}:{size}:{size}:{DIRECTORIES}");
        let words = ["-q", "-u", "root", "-s", "0", "-m", "both", "-n", &tree, "-d", place];
        words.map(str::to_owned).to_vec()
    }

    fn theirs(&self, place: &Path) -> Done<[Option<f64>; 3]> {
        let words = self.words(&place.display().to_string());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = call(PROGRAM, &words)?;
        let line = text.lines().last().unwrap_or_default();
        let fields: Vec<&str> = line.split(',').collect();
        let mut rates = [None; 3];
        for (rate, (_, field)) in rates.iter_mut().zip(self.acts) {
            *rate = match fields.get(field).copied() {
                Some(TOO_SHORT) => None,
                text => match text.and_then(|text| text.parse().ok()) {
                    Some(told) => Some(told),
                    None => return Err(format!("{PROGRAM} tells no number there: {line}")),
                },
            };
        }
        Ok(rates)
    }
}

/// What `strace` shows of its phases.
const COUNTED_OTHERWISE: &str = "What bonnie++ counts otherwise: its deleting takes the directories away in the\nsame \
     time (`rmdir` after the files of each), which ours leaves; and it tells no rate of a phase that is over in half\na \
     second, which looking at files in memory is.";

/// Where the interval of a ratio is to lie, or what is counted differently is said.
const ALIKE: [f64; 2] = [0.8, 1.25];

fn page(head: &[String], rounds: usize, rates: &[Rates]) -> Done<(String, bool)> {
    let mut page = format!(
        "# Small files beside bonnie++\n\n\
         `cargo xtask bench-files --rounds {rounds}`: trees of {DIRECTORIES} directories, one thread, on one ext4\n\
         file system on a loop device over a file in memory; {rounds} rounds, in each of which every tree is made,\n\
         gone through and taken away by both, in an order drawn for each pair. The ratio is ours / bonnie++:\n\
         geometric mean of the paired ratios with its 95 % t interval on the log scale.\n\n{}\n\n{}",
        head.join("\n"),
        bench::table(
            "tree | phase | ours, files/s | bonnie++, files/s | ratio | 95 % interval | within 0.8 to 1.25"
        )
    );
    let mut holds = true;
    for (tree, rates) in TREES.iter().zip(rates.chunks(3)) {
        for ((act, _), Rates { ours, theirs }) in tree.acts.iter().zip(rates) {
            let theirs: Option<Vec<f64>> = theirs.iter().copied().collect();
            let Some(theirs) = theirs else {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    page,
                    "| {} of {} | {} | {:.0} | `{TOO_SHORT}`: over in half a second | - | - | - |",
                    tree.files(),
                    tree.name,
                    act.name(),
                    middle(ours)
                );
                continue;
            };
            let [ratio, low, high] = bench::ratio(&theirs, ours)?;
            let alike = low >= ALIKE[0] && high <= ALIKE[1];
            holds &= alike;
            let _ = writeln!(
                page,
                "| {} of {} | {} | {:.0} | {:.0} | {ratio:.3} | {low:.3} to {high:.3} | {} |",
                tree.files(),
                tree.name,
                act.name(),
                middle(ours),
                middle(&theirs),
                if alike { "yes" } else { "no" }
            );
        }
    }
    page.push_str("\nRates are medians over the rounds. ");
    page.push_str(COUNTED_OTHERWISE);
    page.push_str("\n\nThe commands of bonnie++:\n\n```text\n");
    for tree in &TREES {
        let _ = writeln!(page, "{PROGRAM} {}", tree.words("DIRECTORY").join(" "));
    }
    page.push_str("```\n");
    Ok((page, holds))
}
