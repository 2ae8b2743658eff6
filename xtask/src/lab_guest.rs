//! `cargo xtask lab`: a command in a guest of QEMU that has the program, and its results.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_core::quantity::Bytes;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::build::{self, root};
use crate::lab::Done;
use crate::vm::kernel::Kernel;
use crate::vm::machine::Accelerator;
use crate::vm::{self, Asked, FinishedJob, Stream, found};

/// The exit code of a command that an interrupt ended.
pub const INTERRUPTED: i32 = 130;

/// Target of the static program.
const STATIC: &str = if cfg!(target_arch = "aarch64") {
    "aarch64-unknown-linux-musl"
} else {
    "x86_64-unknown-linux-musl"
};

#[derive(Args)]
pub struct LabOptions {
    /// Run the checks of the tests
    #[arg(long)]
    check: bool,
    /// Use an unoptimized build of this machine instead of the static program
    #[arg(long = "try")]
    is_trial: bool,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<String>,
    /// Shell script to run, with the command as its arguments
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    #[arg(long, value_parser = parse_bytes, default_value = "1 GiB")]
    memory: u64,
    #[arg(long, default_value_t = 2)]
    cpus: usize,
    #[arg(long, default_value_t = 1)]
    drives: usize,
    /// Size of each drive
    #[arg(long, value_parser = parse_bytes, default_value = "1 GiB")]
    size: u64,
    /// Kernel modules to load
    #[arg(long, value_delimiter = ',')]
    modules: Vec<String>,
    /// Programs of this machine to copy into the guest
    #[arg(long, value_delimiter = ',')]
    carry: Vec<String>,
    /// kvm or tcg [default: kvm if it works]
    #[arg(long, value_parser = parse_accelerator)]
    accel: Option<Accelerator>,
    /// Time limit, seconds
    #[arg(long, default_value_t = 300)]
    timeout: u64,
    /// Directory for the results [default: target/lab/home]
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    #[arg(last = true)]
    command: Vec<String>,
}

/// Parses a size; `512M` means 512 MiB here.
fn parse_bytes(text: &str) -> Done<u64> {
    let text = match text.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(number) => format!("{number} {}iB", &text[number.len()..]),
        None => text.to_owned(),
    };
    text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|error| error.to_string())
}

fn parse_accelerator(name: &str) -> Done<Accelerator> {
    Accelerator::named(name).ok_or_else(|| "use kvm or tcg".to_owned())
}

/// Directory of kernels and results.
fn lab_folder() -> PathBuf {
    root().join("target/lab")
}

/// Boots a guest, runs the command, copies its results, and returns the exit code of the command.
pub fn run(options: LabOptions) -> Done<u8> {
    if let Some(reason) = vm::missing() {
        return Err(reason);
    }
    if options.check {
        return crate::guest::check(&program(&options)?).map(|is_well| u8::from(!is_well));
    }
    let into = options.out.clone().unwrap_or_else(|| lab_folder().join("home"));
    let asked = ask(options)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&stop)).map_err(|error| error.to_string())?;
    }
    let ended = match vm::run(&asked, &stop, &mut pass_on) {
        Err(_) if stop.load(Ordering::Relaxed) => return Ok(INTERRUPTED as u8),
        ended => ended?,
    };
    let names = vm::unpack(&ended, &into)?;
    eprintln!("xtask: lab: {}", describe(&ended));
    for name in names {
        eprintln!("xtask: lab: ASSAY_HOME={} assay show {name}", into.display());
    }
    Ok(ended.code)
}

/// A guest with this program and usual settings.
pub fn usual(assay: PathBuf, kernel: Kernel) -> Asked {
    let limit = Some(Duration::from_secs(900));
    Asked { limit, ..Asked::usual(assay, kernel, Path::new("/")) }
}

/// Returns a cached kernel with these modules; downloads it first if necessary.
pub fn kernel(modules: &[&str]) -> Done<Kernel> {
    Kernel::fetched(&lab_folder().join("kernels"), modules)
}

fn ask(options: LabOptions) -> Done<Asked> {
    if options.script.is_none() && options.command.is_empty() {
        return Err("no command; example: cargo xtask lab -- assay doctor".to_owned());
    }
    let read =
        |path: &PathBuf| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let script = options.script.as_ref().map(read).transpose()?;
    let programs = options.carry.iter().map(|name| find(name)).collect::<Done<_>>()?;
    let kernel = kernel(&options.modules.iter().map(String::as_str).collect::<Vec<_>>())?;
    let program = program(&options)?;
    Ok(Asked {
        accelerator: options.accel,
        memory_bytes: options.memory,
        cpus: options.cpus,
        drives: vec![options.size; options.drives],
        modules: options.modules,
        programs,
        script,
        words: options.command,
        limit: Some(Duration::from_secs(options.timeout)),
        ..usual(program, kernel)
    })
}

/// Returns the named program, or builds the static one or the unoptimized one of this machine.
fn program(options: &LabOptions) -> Done<PathBuf> {
    match &options.program {
        Some(path) => find(path),
        None if options.is_trial => build::assay(&[]),
        None => build::assay(&["--release", "--target", STATIC]),
    }
}

fn find(program: &str) -> Done<PathBuf> {
    found(program).ok_or_else(|| format!("program {program} not found"))
}

fn pass_on(stream: Stream, bytes: &[u8]) {
    // A closed output does not end the guest.
    let _ = match stream {
        Stream::Out => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        Stream::Err => io::stderr().write_all(bytes),
    };
}

/// Summarizes a job in one line.
pub fn describe(ended: &FinishedJob) -> String {
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
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        assert!(parse_bytes("much").is_err());
    }
}
