//! Chores of the workspace: `cargo xtask help` lists them. Not shipped.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a chore is for")]

mod bench;
mod bpf;
mod browser;
mod build;
mod clean_checks;
mod durability;
mod engine;
mod fuzz;
mod guest;
mod journals;
mod kills;
mod lab_guest;
mod live;
mod options;
mod pages;
mod plug;
#[cfg(feature = "schema")]
mod schemas;
mod signals;
mod simulation;
mod vm;

use std::process::ExitCode;

use assay_testkit as lab;
use assay_testkit::facts;
use lab::Done;
use options::Options;

struct Command {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    flags: &'static [&'static str],
    /// Options with a number, and the number that stands where none is given.
    numbers: &'static [(&'static str, usize)],
    words: &'static [&'static str],
    run: Run,
}

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
        summary: "runs a command with assay in a QEMU guest and copies the results back; --try: unoptimized build; --program: another binary; --systemd: boots an unmodified Debian root disk; --check: runs the checks of the tests",
        flags: &["--check", "--try", "--systemd", "--record-journals"],
        numbers: &[("--cpus", 2), ("--drives", 1), ("--timeout", 300)],
        words: lab_guest::WORDS,
        run: Program(lab_guest::run),
    },
    Command {
        name: "pages",
        usage: "[--check | --man DIRECTORY]",
        summary: "writes docs/reference; --check: fails if a page is stale; --man: writes the manual pages instead",
        flags: &["--check"],
        numbers: &[],
        words: &["--man"],
        run: Chore(pages::run),
    },
    #[cfg(feature = "schema")]
    Command {
        name: "schemas",
        usage: "[--check]",
        summary: "writes docs/reference/schemas; --check: fails if a schema is stale",
        flags: &["--check"],
        numbers: &[],
        words: &[],
        run: Chore(schemas::run),
    },
    Command {
        name: "browser",
        usage: "[--report]",
        summary: "tests all pages, or only the report page, in Chromium; skips the tests if Chromium is not installed",
        flags: &["--report"],
        numbers: &[],
        words: &[],
        run: Chore(browser::run),
    },
    Command {
        name: "pictures",
        usage: "--out DIRECTORY",
        summary: "draws pages of simulated and published numbers at phone and desktop width",
        flags: &[],
        numbers: &[],
        words: &["--out"],
        run: Chore(browser::pictures::draw),
    },
    Command {
        name: "bench",
        usage: "[--only NAME] [--quick] [--program FILE] [--write]",
        summary: "compares two commands per row of xtask/bench.toml with `assay run`; skips rows whose programs are missing",
        flags: &["--quick", "--write"],
        numbers: &[],
        words: &["--only", "--program"],
        run: Chore(bench::run),
    },
    Command {
        name: "bench-engine",
        usage: "[--rounds N] [--seconds S] [--place NAME] [--instructions] [--write]",
        summary: "compares the io_uring engine with the t/io_uring test of fio, interleaved, on ext4, loop, zram and tmpfs (root), and counts instructions per null operation with callgrind; --instructions: only the count; fails above the limit",
        flags: &["--write", "--instructions"],
        numbers: &[("--rounds", 8), ("--seconds", 3)],
        words: &["--null", "--place"],
        run: Chore(engine::run),
    },
    Command {
        name: "bpf",
        usage: "",
        summary: "builds the BPF program that counts block requests (needs clang, llvm-strip)",
        flags: &[],
        numbers: &[],
        words: &[],
        run: Chore(bpf::run),
    },
    Command {
        name: "kills",
        usage: "[--only settings|memory|network|stacks|names] [--count N] [--program FILE] [--write]",
        summary: "kills studies that change the machine at random moments and checks that assay restore restores it (root)",
        flags: &["--write"],
        numbers: &[("--count", 200)],
        words: &["--only", "--program"],
        run: Chore(kills::run),
    },
    Command {
        name: "plug",
        usage: "[--program FILE]",
        summary: "cuts the power of one of two virtual machines (QEMU), with one drive that honors flushes and two that lose writes",
        flags: &[],
        numbers: &[],
        words: &["--program"],
        run: Chore(plug::chore),
    },
    Command {
        name: "live",
        usage: "[--only NAME] [--kills N] [--studies N] [--program FILE] [--write]",
        summary: "tests settings under a production workload: verdicts, harm, load, kills, identical levels (root)",
        flags: &["--write"],
        numbers: &[("--kills", 50), ("--studies", 20)],
        words: &["--only", "--program"],
        run: Chore(live::run),
    },
    Command {
        name: "signals",
        usage: "[--count N] [--write]",
        summary: "ends every study that changes the machine with one to three signals (root)",
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
        usage: "[--studies N] [--seed S] [--only S3] [--write]",
        summary: "measures false verdicts, power and coverage on simulated studies with a known truth",
        flags: &["--write"],
        numbers: simulation::NUMBERS,
        words: &["--only"],
        run: Chore(simulation::run),
    },
    Command {
        name: "fuzz",
        summary: "feeds damaged bundles, studies, tables, journals, EDIDs, meter logs and collection rows to the readers, which must accept or reject but never panic",
        usage: "[--count N] [--only csv|import] [--seed S] [--write]",
        flags: &["--write"],
        numbers: &[("--count", fuzz::COUNT), ("--seed", fuzz::SEED)],
        words: &["--only"],
        run: Chore(fuzz::run),
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
    println!("\n--write stores the table of a measurement under target/measurements.");
    if ["help", "--help", "-h"].contains(&asked) {
        return ExitCode::SUCCESS;
    }
    eprintln!("xtask: unknown command `{asked}`");
    ExitCode::from(2)
}
