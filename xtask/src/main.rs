//! Chores of the workspace: `cargo xtask help` lists them. Not shipped.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a chore is for")]

mod architecture;
mod bench;
mod bisect;
mod bpf;
mod browser;
mod build;
mod bundle;
mod carried;
mod clean_checks;
mod collection;
mod commands;
mod dist;
mod durability;
mod engine;
mod execute;
mod files;
mod fio;
mod fleet;
mod fuzz;
mod guest;
mod host_cache;
mod import;
mod journals;
mod kills;
mod lab_guest;
mod live;
mod options;
mod pages;
mod pictures;
mod plug;
mod probe;
mod published;
mod requests;
mod sbom;
mod serve;
mod signals;
mod signing;
mod simulate;
mod stall;
mod startup;
mod tree;

use std::process::ExitCode;

use assay_lab as lab;
use assay_lab::facts;
use lab::Done;
use options::Options;

/// One chore.
struct Command {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    /// Options that stand alone.
    flags: &'static [&'static str],
    /// Options with a number, and the number that stands where none is given.
    numbers: &'static [(&'static str, usize)],
    /// Options with a word.
    words: &'static [&'static str],
    run: Run,
}

/// What a chore does.
enum Run {
    /// Whether everything is well; what is not was printed.
    Chore(fn(&Options) -> Done<bool>),
    /// The exit code is that of what it ran.
    Program(fn(&Options) -> Done<u8>),
}

impl Command {
    /// Whether words of another command stand after `--`.
    fn takes_rest(&self) -> bool {
        matches!(self.run, Run::Program(_))
    }
}

use Run::{Chore, Program};

const COMMANDS: &[Command] = &[
    Command {
        name: "lab",
        usage: "[--check] [--record-journals] [--systemd [--release bookworm]] [--try] [--program FILE] [--script FILE] [--memory 512M] [--cpus N] [--drives N] [--size 1G] [--modules A,B] [--carry PROGRAM,PROGRAM] [--append TEXT] [--kernel DIRECTORY] [--accel kvm|tcg] [--timeout SECONDS] [--out DIRECTORY] [-- COMMAND...]",
        summary: "runs a command in a guest of QEMU that has the program, and brings its results back; --try: the unoptimised program; --program: another one; --systemd: with a root disk of a Debian release, booted as it is; --check: what the tests look at",
        flags: &["--check", "--try", "--systemd", "--record-journals"],
        numbers: &[("--cpus", 2), ("--drives", 1), ("--timeout", 300)],
        words: lab_guest::WORDS,
        run: Program(lab_guest::run),
    },
    Command {
        name: "pages",
        usage: "[--check]",
        summary: "writes docs/reference, docs/man and the picture of the architecture; with --check fails when one is stale",
        flags: &["--check"],
        numbers: &[],
        words: &[],
        run: Chore(pages::run),
    },
    Command {
        name: "browser",
        usage: "",
        summary: "reports and served pages in a real Chromium; skips where there is none",
        flags: &[],
        numbers: &[],
        words: &[],
        run: Chore(browser::run),
    },
    Command {
        name: "dist",
        usage: "[--try] [--sign KEY]",
        summary: "static archives, Debian packages, rpms and images for x86_64, i686 and aarch64, and for armv7 and riscv64 where the toolchain has them; what is inside, a PKGBUILD, an expression of Nix and the sums of all, into target/dist; --sign: the sums, by a key of ssh; --try: packages of unoptimised programs alone, as the tests do",
        flags: &["--try"],
        numbers: &[],
        words: &["--sign"],
        run: Chore(dist::run),
    },
    Command {
        name: "release",
        usage: "",
        summary: "whether target/dist is a release of this commit: sums, signature, a dated section of CHANGELOG.md, no placeholder, no other tag; writes its notes, and tags and sends nothing",
        flags: &[],
        numbers: &[],
        words: &[],
        run: Chore(dist::release::run),
    },
    Command {
        name: "bench-pages",
        usage: "[--rounds N] [--write]",
        summary: "time to make and to open pages of a large grid and of 10,000 trials (chromium)",
        flags: &["--write"],
        numbers: &[("--rounds", 7)],
        words: &[],
        run: Chore(browser::bench::run),
    },
    Command {
        name: "bench-serve",
        usage: "[--results N] [--trials N] [--program FILE] [--write]",
        summary: "time and memory of `serve` while ten results of 20,000 trials are looked at in turn",
        flags: &["--write"],
        numbers: &[("--results", 10), ("--trials", 20_000)],
        words: &["--program"],
        run: Chore(serve::run),
    },
    Command {
        name: "pictures",
        usage: "[--home DIRECTORY | --out DIRECTORY]",
        summary: "draws docs/figures from real runs, or from the results of a home (root, chromium); --out: instead whole pages of simulated and published numbers, as wide as a phone and a desk",
        flags: &[],
        numbers: &[],
        words: &["--home", "--out"],
        run: Chore(pictures::draw),
    },
    Command {
        name: "bench-fio",
        usage: "[--rounds N] [--seconds S] [--write]",
        summary: "our engines against fio, interleaved, on a loop device of its own (root)",
        flags: &["--write"],
        numbers: &[("--rounds", 8), ("--seconds", 3)],
        words: &[],
        run: Chore(fio::run),
    },
    Command {
        name: "bench-engine",
        usage: "[--rounds N] [--seconds S] [--place NAME] [--instructions] [--write]",
        summary: "our engine against the bare ring test and fio, interleaved, on places of its own (root): ext4, loop, zram, tmpfs; instructions of an operation that does nothing, by callgrind: --instructions: these alone; fails above its limit",
        flags: &["--write", "--instructions"],
        numbers: &[("--rounds", 8), ("--seconds", 3)],
        words: &["--null", "--place"],
        run: Chore(engine::run),
    },
    Command {
        name: "bench-stall",
        usage: "[--rounds N] [--write]",
        summary: "500 writes a second on a file system that is frozen for 2 s: what the open loop of each engine tells of it, fio, and the truth by arithmetic (root)",
        flags: &["--write"],
        numbers: &[("--rounds", 3)],
        words: &[],
        run: Chore(stall::run),
    },
    Command {
        name: "bench-files",
        usage: "[--rounds N] [--write]",
        summary: "small files, ours against bonnie++, interleaved, on a loop device of its own (root)",
        flags: &["--write"],
        numbers: &[("--rounds", 8)],
        words: &[],
        run: Chore(files::run),
    },
    Command {
        name: "bench-probe",
        usage: "[--rounds N] [--milliseconds M] [--write]",
        summary: "what the probe block-latency costs: random reads with it and without it, interleaved (root)",
        flags: &["--write"],
        numbers: &[("--rounds", 24), ("--milliseconds", 1_000)],
        words: &[],
        run: Chore(probe::run),
    },
    Command {
        name: "bench-requests",
        usage: "[--rounds N] [--seconds S] [--studies N] [--margin PERCENT] [--program FILE] [--write]",
        summary: "recordings of 20,000 requests a second and what they cost, how faithful three loads are played again, and studies of the same recording twice (root)",
        flags: &["--write"],
        numbers: &[("--rounds", 8), ("--seconds", 10), ("--studies", 20), ("--margin", 5)],
        words: &["--program"],
        run: Chore(requests::run),
    },
    Command {
        name: "bench-execute",
        usage: "[--rounds N] [--write]",
        summary: "what measuring a short program costs, against a bare loop of start and wait, interleaved",
        flags: &["--write"],
        numbers: &[("--rounds", 40)],
        words: &[],
        run: Chore(execute::run),
    },
    Command {
        name: "bench-commands",
        usage: "[--rounds N] [--studies N] [--program FILE] [--write]",
        summary: "times of commands beside hyperfine's, interleaved, and studies whose answer is known",
        flags: &["--write"],
        numbers: &[("--rounds", 10), ("--studies", 20)],
        words: &["--program"],
        run: Chore(commands::run),
    },
    Command {
        name: "bench-fleet",
        usage: "[--only barrier|ranks|merge] [--trials N] [--ranks N] [--bundles N] [--program FILE] [--write]",
        summary: "a fleet of processes: how far windows begin apart, quiet and beside busy loops (root); what a trial of 64 ranks costs; what merging 1,000 results holds in memory; each part writes its own section",
        flags: &["--write"],
        numbers: &[("--trials", 200), ("--ranks", 64), ("--bundles", 1000)],
        words: &["--only", "--program"],
        run: Chore(fleet::run),
    },
    Command {
        name: "bench-bisect",
        usage: "[--count N] [--commits N] [--seed S] [--busy] [--program FILE] [--write]",
        summary: "how often `bisect` finds the right commit of histories whose truth is known, and `git bisect run` with a script; --busy: programs that work, in the place of ones that tell a time",
        flags: &["--write", "--busy"],
        numbers: &[("--count", 20), ("--commits", 128), ("--seed", 1)],
        words: &["--program"],
        run: Chore(bisect::run),
    },
    Command {
        name: "bpf",
        usage: "",
        summary: "builds the program that counts block requests in the kernel (clang, llvm-strip)",
        flags: &[],
        numbers: &[],
        words: &[],
        run: Chore(bpf::run),
    },
    Command {
        name: "kills",
        usage: "[--only settings|memory|network|stacks|names] [--count N] [--program FILE] [--write]",
        summary: "studies that change the machine, killed at random moments and put back (root)",
        flags: &["--write"],
        numbers: &[("--count", 200)],
        words: &["--only", "--program"],
        run: Chore(kills::run),
    },
    Command {
        name: "host-cache",
        usage: "[--starts N] [--program FILE] [--write]",
        summary: "what the rules host-cache and cached say in guests whose drives are cached in each way (QEMU)",
        flags: &["--write"],
        numbers: &[("--starts", 20)],
        words: &["--program"],
        run: Chore(host_cache::run),
    },
    Command {
        name: "bench-durability",
        usage: "[--plug] [--liars N] [--honest N] [--replayed N] [--on NAME,...] [--program FILE] [--kernel DIRECTORY] [--write]",
        summary: "power cuts of virtual machines (QEMU): each drive that lies is found within so many cuts, an honest one is accused in none, on a plain drive, ext4, xfs and btrfs; hours with the usual numbers where machines are emulated; with --plug alone the plug of one of two machines",
        flags: &["--plug", "--write"],
        numbers: &[("--liars", 60), ("--honest", 500), ("--replayed", 1000)],
        words: &["--program", "--kernel", "--on"],
        run: Chore(durability::run),
    },
    Command {
        name: "live",
        usage: "[--only NAME] [--kills N] [--studies N] [--program FILE] [--write]",
        summary: "settings under others' work: verdicts, harm, loads, kills, identical levels (root)",
        flags: &["--write"],
        numbers: &[("--kills", 50), ("--studies", 20)],
        words: &["--only", "--program"],
        run: Chore(live::run),
    },
    Command {
        name: "signals",
        usage: "[--count N] [--write]",
        summary: "every study that changes the machine, ended by one to three signals (root)",
        flags: &["--write"],
        numbers: &[("--count", 200)],
        words: &[],
        run: Chore(signals::run),
    },
    Command {
        name: "clean-checks",
        usage: "[--count N] [--write]",
        summary: "counts false alarms of `check --quick` on a quiet loop device (root)",
        flags: &["--write"],
        numbers: &[("--count", 50)],
        words: &[],
        run: Chore(clean_checks::run),
    },
    Command {
        name: "simulate",
        usage: "[--studies N] [--seed S] [--only S3] [--sixth 0] [--write]",
        summary: "false verdicts, power and coverage over simulated studies whose truth is known",
        flags: &["--write"],
        numbers: &[],
        words: simulate::WORDS,
        run: Chore(simulate::run),
    },
    Command {
        name: "fuzz",
        summary: "damaged bundles, studies, tables, journals, EDIDs, logs of meters and rows of collections: read or refused, never a panic",
        usage: "[--count N] [--only csv|import] [--seed S] [--write]",
        flags: &["--write"],
        numbers: &[("--count", fuzz::COUNT), ("--seed", fuzz::SEED)],
        words: &["--only"],
        run: Chore(fuzz::run),
    },
    Command {
        name: "bench-import",
        usage: "[--rounds N] [--write]",
        summary: "time of `assay import` for 10,000 trials, file to verdicts",
        flags: &["--write"],
        numbers: &[("--rounds", 15)],
        words: &[],
        run: Chore(import::run),
    },
    Command {
        name: "bench-collection",
        usage: "[--rounds N] [--write]",
        summary: "a collection of 100,000 rows: its index, a question, its page",
        flags: &["--write"],
        numbers: &[("--rounds", 5)],
        words: &[],
        run: Chore(collection::run),
    },
    Command {
        name: "bench-bundle",
        usage: "[--rounds N] [--trials N] [--files N] [--program FILE] [--write]",
        summary: "time of `assay import` for a whole result of some megabytes with up to 50,000 files, in memory and on the drive",
        flags: &["--write"],
        numbers: &[("--rounds", 3), ("--trials", 2_400), ("--files", 40_000)],
        words: &["--program"],
        run: Chore(bundle::run),
    },
    Command {
        name: "startup",
        usage: "[--write]",
        summary: "time of `assay --version`, peak memory of `check` (root)",
        flags: &["--write"],
        numbers: &[],
        words: &[],
        run: Chore(startup::run),
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let name = words.first().map_or("help", String::as_str);
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        return help(name);
    };
    let options = Options::parse(&words[1..], command);
    let ended = options.and_then(|options| match command.run {
        Chore(run) => run(&options).map(|well| u8::from(!well)),
        Program(run) => run(&options),
    });
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {name}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help(asked: &str) -> ExitCode {
    println!("cargo xtask COMMAND\n");
    for command in COMMANDS {
        println!("  {} {}", command.name, command.usage);
        println!("      {}", command.summary);
    }
    println!("\n--write stores the table of a measurement under docs/measurements.");
    if ["help", "--help", "-h"].contains(&asked) {
        return ExitCode::SUCCESS;
    }
    eprintln!("xtask: there is no `{asked}`");
    ExitCode::from(2)
}
