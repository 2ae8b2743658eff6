//! `cargo xtask lab`: a command in a guest of QEMU that has the program, and its results.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::quantity::Bytes;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::build::{built_binary, root};
use crate::journals;
use crate::lab::Done;
use crate::options::Options;
use crate::vm::kernel::Kernel;
use crate::vm::machine::Accelerator;
use crate::vm::{self, Asked, Ended, Stream, found};

pub const WORDS: &[&str] = &[
    "--script",
    "--memory",
    "--size",
    "--modules",
    "--carry",
    "--append",
    "--kernel",
    "--accel",
    "--out",
    "--program",
    "--release",
];

/// The exit code of a command that an interrupt ended.
pub const INTERRUPTED: i32 = 130;

/// The release of a root disk where none is named.
const RELEASE: &str = "bookworm";

/// What a guest has where nothing else is said.
const MEMORY: &str = "1 GiB";
const SIZE: &str = "1 GiB";

/// Target of the static program.
const STATIC: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-musl"
} else {
    "x86_64-unknown-linux-musl"
};

/// Where kernels are kept and results are brought.
fn kept() -> PathBuf {
    root().join("target/lab")
}

/// Boots a guest, runs the command, brings its results back; the exit code is the command's.
pub fn run(options: &Options) -> Done<u8> {
    if let Some(reason) = vm::missing() {
        return Err(reason);
    }
    if options.has("--check") {
        return crate::guest::check(&program(options)?).map(|well| u8::from(!well));
    }
    if options.has("--record-journals") {
        let all = journals::RELEASES.to_vec();
        let releases = options.text("--release").map_or(all, |one| vec![one]);
        return journals::record(&releases, &program(options)?);
    }
    let asked = asked(options)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stop)).map_err(|error| error.to_string())?;
    }
    let ended = match vm::run(&asked, &stop, &mut pass_on) {
        Err(_) if stop.load(Ordering::Relaxed) => return Ok(INTERRUPTED as u8),
        ended => ended?,
    };
    let into = options.text("--out").map_or_else(|| kept().join("home"), PathBuf::from);
    let names = vm::unpack(&ended, &into)?;
    eprintln!("xtask: lab: {}", told(&ended));
    for name in names {
        eprintln!("xtask: lab: ASSAY_HOME={} assay show {name}", into.display());
    }
    Ok(ended.code)
}

/// What a guest of the tests is asked for: this program, these words, and usual numbers.
pub fn usual(assay: PathBuf, kernel: Kernel) -> Asked {
    let limit = Some(Duration::from_secs(900));
    Asked { limit, ..Asked::usual(assay, kernel, Path::new("/")) }
}

/// The root disk of a release that is kept.
pub fn root_of(release: &str, kernel: &Kernel) -> Done<PathBuf> {
    vm::root::kept(&kept().join("roots"), release, kernel)
}

/// The kernel that is kept and has some modules, fetched where there is none.
pub fn kernel(modules: &[&str]) -> Done<Kernel> {
    Kernel::fetched(&kept().join("kernels"), modules)
}

fn asked(options: &Options) -> Done<Asked> {
    let script = options.text("--script").map(read).transpose()?;
    if script.is_none() && options.rest().is_empty() {
        return Err("no command; example: cargo xtask lab -- assay doctor".to_owned());
    }
    let bytes = |name: &str, usual: &str| -> Done<u64> {
        let text = options.text(name).unwrap_or(usual);
        let read = with_unit(text).parse::<Bytes>();
        read.map(|bytes| bytes.0).map_err(|error| format!("{name}: {error}"))
    };
    let accelerator = options.text("--accel").map(|name| {
        Accelerator::named(name).ok_or_else(|| format!("--accel is kvm or tcg, not `{name}`"))
    });
    let programs = listed(options, "--carry")
        .into_iter()
        .map(|name| found(&name).ok_or_else(|| format!("program {name} not found")));
    let [memory_bytes, size] = [bytes("--memory", MEMORY)?, bytes("--size", SIZE)?];
    let (accelerator, programs) = (accelerator.transpose()?, programs.collect::<Done<Vec<_>>>()?);
    let modules = listed(options, "--modules");
    let kernel = match options.text("--kernel") {
        Some(folder) => Kernel::unpacked(Path::new(folder))?,
        None => kernel(&modules.iter().map(String::as_str).collect::<Vec<_>>())?,
    };
    let release = options.text("--release").unwrap_or(RELEASE);
    let root = options.has("--systemd").then(|| root_of(release, &kernel)).transpose()?;
    Ok(Asked {
        root,
        accelerator,
        memory_bytes,
        cpus: options.number("--cpus"),
        drives: vec![size; options.number("--drives")],
        append: options.text("--append").unwrap_or_default().to_owned(),
        modules,
        programs,
        script,
        words: options.rest().to_vec(),
        limit: Some(Duration::from_secs(options.number("--timeout") as u64)),
        ..usual(program(options)?, kernel)
    })
}

/// The static program; the unoptimised one of this machine, with its libraries,
/// or another where that is asked for.
fn program(options: &Options) -> Done<PathBuf> {
    match options.text("--program") {
        Some(path) => found(path).ok_or_else(|| format!("program {path} not found")),
        None if options.has("--try") => built_binary(&[]),
        None => built_binary(&["--release", "--target", STATIC]),
    }
}

/// `512M` is said of memory everywhere; here, too, it is 512 MiB.
fn with_unit(text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        Some(unit @ ('K' | 'M' | 'G' | 'T')) => format!("{} {unit}iB", text.trim_end_matches(unit)),
        _ => text.to_owned(),
    }
}

fn listed(options: &Options, name: &str) -> Vec<String> {
    let words = options.text(name).unwrap_or_default().split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn read(path: &str) -> Done<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{path}: {error}"))
}

fn pass_on(stream: Stream, bytes: &[u8]) {
    // Whoever reads may have gone; the guest goes on.
    let _ = match stream {
        Stream::Out => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        Stream::Err => io::stderr().write_all(bytes),
    };
}

/// How it went, in one line.
pub fn told(ended: &Ended) -> String {
    let [booted, time, waited] =
        [ended.booted, ended.time, ended.waited].map(|time| time.as_secs_f64());
    let (name, code) = (ended.accelerator.name(), ended.code);
    format!(
        "{name}: booted after {booted:.1} s, ended after {time:.1} s ({waited:.1} s waiting for a \
         CPU), exit code {code}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_everywhere() {
        for (text, bytes) in [("512M", 512 << 20), ("1 GiB", 1 << 30), ("2G", 2 << 30)] {
            assert_eq!(with_unit(text).parse::<Bytes>().map(|read| read.0), Ok(bytes), "{text}");
        }
        assert!(with_unit("much").parse::<Bytes>().is_err());
    }
}
