//! A study in a small virtual machine: the kernel and the programs that it gets, its start and its end.
//! Its files have no names and it dies with this process, so that nothing of it can be left behind.

mod awake;
pub mod driven;
pub mod own_command;
pub mod place;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32};

use serde_json::Value;

use assay_guest::files;
use assay_guest::kernel::{self, Kernel};
use assay_guest::machine::Accelerator;
use assay_guest::{Failed, Wishes, archive, found};

use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::Bytes;
use assay_base::quantity::units::show;
use assay_machine::factors::layers::Carried;
use assay_study::results::id as ids;
use assay_system::system::virtual_machine::{FILE, VirtualMachine};
use assay_system::system::{System, machine};

pub use assay_guest::{Asked, Ended, Stream};

/// Modules that studies may want of any kernel that has them: schedulers of block devices.
const ALSO: [&str; 3] = ["bfq", "kyber-iosched", "mq-deadline"];

/// Memory that is left to this machine beside that of the virtual one.
const BESIDE: u64 = 128 << 20;

/// The study, in the virtual machine.
pub const STUDY: &str = "/lab/study.toml";

/// What the user wants of a virtual machine.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Processors.
    pub cpus: usize,
    /// Bytes of the drive that studies make their devices on.
    pub drive_bytes: u64,
    /// An unpacked package of a kernel.
    pub kernel: Option<PathBuf>,
    /// Whether a kernel may be downloaded.
    pub fetch: bool,
    /// What the study needs there.
    pub carried: Carried,
}

/// A virtual machine that can be started.
#[derive(Debug)]
pub struct Ready {
    asked: Asked,
    /// What it will not have though the study asks for it, and why.
    pub lacks: Vec<String>,
}

impl Ready {
    /// Release of its kernel.
    pub fn kernel(&self) -> &str {
        &self.asked.kernel.release
    }
}

/// Whether a virtual machine here is emulated, as far as that can be told before it starts.
pub fn is_emulated() -> bool {
    Accelerator::likely() == Accelerator::Tcg
}

/// Finds a kernel and what the study needs, and sees that there is room for all of it.
///
/// # Errors
/// Refused, with what is missing and what brings it.
pub fn ready(system: &dyn System, wish: &Wish) -> Outcome<Ready> {
    if let Some(reason) = assay_guest::missing() {
        return Err(Failure::refused(format!("a virtual machine {reason}")));
    }
    let all = [&wish.carried.modules[..], &assay_guest::MODULES].concat();
    let kernel = chosen(system, wish, &all)?;
    if let [first, ..] = kernel.lacks(&assay_guest::MODULES).as_slice() {
        return Err(Failure::refused(format!(
            "kernel {} has no module {first}, without which there is no virtual machine: name another by \
             --vm-kernel, or let assay fetch one with --vm-fetch",
            kernel.release
        )));
    }
    let missing = kernel.lacks(&wish.carried.modules);
    let mut lacks: Vec<String> = missing
        .iter()
        .map(|name| format!("kernel {} has no module {name}", kernel.release))
        .collect();
    let wanted = wish.carried.modules.iter().chain(&ALSO);
    let had = wanted.filter(|name| kernel.lacks(&[name]).is_empty());
    let modules = had.map(|name| (*name).to_owned()).collect();
    let mut programs = Vec::new();
    for (program, package) in &wish.carried.programs {
        match found(program) {
            Some(path) => programs.push(path),
            None => lacks.push(format!("{program} (package {package}) is not installed here")),
        }
    }
    let own = system.canonical(Path::new("/proc/self/exe"));
    let own = own.map_err(|error| Failure::refused(format!("this program's own file: {error}")))?;
    let asked = Asked {
        memory_bytes: wish.memory_bytes,
        cpus: wish.cpus,
        drives: vec![wish.drive_bytes],
        home_on_drive: true,
        modules,
        programs,
        ..Asked::usual(own, kernel, &std::env::temp_dir())
    };
    room(system, &asked)?;
    Ok(Ready { asked, lacks })
}

/// The kernel: the one that is named, else the first that has everything, of those that were fetched and
/// those that are installed; else it is fetched, where that was allowed.
fn chosen(system: &dyn System, wish: &Wish, modules: &[&str]) -> Outcome<Kernel> {
    if let Some(folder) = &wish.kernel {
        return Kernel::unpacked(folder).map_err(|reason| {
            Failure::mistake(format!("--vm-kernel {}: {reason}", folder.display()))
        });
    }
    let below = kept_kernels(system)?;
    let there = [Kernel::kept(&below), Kernel::installed()].concat();
    let best = kernel::likeliest(there, modules);
    let whole = best.as_ref().is_some_and(|kernel| kernel.lacks(modules).is_empty());
    if wish.fetch && !whole {
        return Kernel::fetched(&below, modules).map_err(Failure::refused);
    }
    best.ok_or_else(|| Failure::refused(no_kernel(&below)))
}

/// Where fetched kernels are kept.
fn kept_kernels(system: &dyn System) -> Outcome<PathBuf> {
    let set = |name: &str| {
        let path = PathBuf::from(system.variable(name)?);
        Some(path).filter(|path| path.is_absolute())
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Failure::refused("where kernels are kept is not known: set XDG_CACHE_HOME or HOME")
    })?;
    Ok(cache.join("assay/kernels"))
}

/// That there is no kernel, and what would be downloaded.
fn no_kernel(below: &Path) -> String {
    let none = "a virtual machine needs a kernel, and none is readable in /boot with its modules";
    let named = "name the directory of an unpacked package by --vm-kernel";
    match kernel::to_be_fetched(below) {
        Ok(packages) if !packages.is_empty() => {
            let one = |(name, bytes): &(String, Option<u64>)| match bytes {
                Some(bytes) => format!("{name} ({})", Bytes(bytes >> 20 << 20)),
                None => name.clone(),
            };
            let all: Vec<String> = packages.iter().map(one).collect();
            let (all, below) = (all.join(", or where that lacks a part "), below.display());
            format!("{none}: --vm-fetch downloads {all} and keeps it in {below}; or {named}")
        }
        Ok(_) => format!("{none}: {named}"),
        Err(reason) => format!("{none}: {named} ({reason})"),
    }
}

/// Refuses what does not fit into this machine.
fn room(system: &dyn System, asked: &Asked) -> Outcome<()> {
    let rounded = show::bytes;
    let needed = assay_guest::bytes_of(asked).map_err(Failure::refused)?;
    let place = asked.place.display();
    let free = files::room(&asked.place).map_err(|reason| {
        Failure::refused(format!(
            "the virtual machine's files have no place: {reason}; set TMPDIR to a directory"
        ))
    })?;
    if free < needed {
        return Err(Failure::refused(format!(
            "{place} has {} free, the virtual machine's drive and programs need up to {}: make room there, \
             set TMPDIR to a directory with room, or say a smaller --vm-size",
            rounded(free),
            rounded(needed)
        )));
    }
    let available = machine::memory(system, "MemAvailable").value().copied().unwrap_or(u64::MAX);
    if available < asked.memory_bytes.saturating_add(BESIDE) {
        return Err(Failure::refused(format!(
            "this machine has {} of memory left, the virtual one asks for {}: say a smaller --vm-memory",
            rounded(available),
            Bytes(asked.memory_bytes)
        )));
    }
    Ok(())
}

/// Runs a study there: `words` is the command, `asked` how often it was told to end.
///
/// # Errors
/// Interrupted before it began, with nothing left; refused where there was no machine.
pub fn run(
    system: &dyn System,
    ready: Ready,
    (study, words): (String, Vec<String>),
    asked: &AtomicU32,
    tell: &mut dyn FnMut(Stream, &[u8]),
) -> Outcome<Ended> {
    let Ready { asked: bare, .. } = ready;
    let of = machine::identity(system);
    let mut attempt = |accelerator: Accelerator| {
        let made = VirtualMachine {
            of: of.clone(),
            accelerator: accelerator.name().to_owned(),
            cpus: bare.cpus as u64,
            memory_bytes: bare.memory_bytes,
        };
        let files = vec![
            (FILE.to_owned(), serde_json::to_vec(&made).unwrap_or_default()),
            // Of its own, so that no result of it is taken for one of this machine.
            ("etc/machine-id".to_owned(), MACHINE.to_vec()),
            (STUDY.to_owned(), study.clone().into_bytes()),
        ];
        let (accelerator, words) = (Some(accelerator), words.clone());
        let whole = Asked { accelerator, files, words, ..bare.clone() };
        assay_guest::run(&whole, &Wishes { stop: &AtomicBool::new(false), asked }, tell)
    };
    let first = Accelerator::likely();
    let ended = match attempt(first) {
        Err(Failed::NoLife(_)) if first == Accelerator::Kvm => attempt(Accelerator::Tcg),
        ended => ended,
    };
    ended.map_err(|failed| match failed {
        Failed::Interrupted => Failure::interrupted("interrupted; nothing is left behind"),
        other => Failure::refused(other.told()),
    })
}

/// The id of all virtual machines: none is anybody's.
const MACHINE: &[u8] = b"a55a00000000000000000000000000ab\n";

/// Brings a result into the directory of results; gives its id, where there is one. What makes it a result
/// comes last: one that is cut off is none.
///
/// # Errors
/// Refused where it cannot be written, or is no archive of a result.
pub fn bring(system: &dyn System, ended: &Ended, results: &Path) -> Outcome<Option<String>> {
    let mut entries = archive::entries(&ended.results).map_err(Failure::refused)?;
    entries.sort_by_key(|entry| entry.path.ends_with("/plan.json"));
    for entry in &entries {
        let Some(bytes) = entry.bytes.filter(|_| entry.path.ends_with("/plan.json")) else {
            continue;
        };
        let plan: Value = serde_json::from_slice(bytes).unwrap_or_default();
        // Such a result is never acted upon outside of the virtual machine, whatever ran in it.
        if plan["virtual_machine"].is_null() {
            let why = "the result does not say that it ran in a virtual machine";
            return Err(Failure::refused(why));
        }
    }
    let mut id = None;
    for entry in &entries {
        let Some(path) = entry.path.strip_prefix("results/") else { continue };
        let own = path.split('/').next().unwrap_or_default();
        if !ids::is_one(own) || id.as_deref().is_some_and(|id| id != own) {
            return Err(Failure::refused(format!("{own} is no result of the virtual machine")));
        }
        if id.is_none() && system.status(&results.join(own)).is_ok() {
            return Err(Failure::refused(format!("there is a result {own} already")));
        }
        id = Some(own.to_owned());
        let (directory, whole) = (results.join(own), results.join(path));
        let written = match (entry.bytes, whole.parent()) {
            (None, _) => system.create_directory(&whole),
            (Some(bytes), Some(above)) => {
                system.create_directory(above).and_then(|()| system.write_whole(&whole, bytes))
            }
            (Some(_), None) => Ok(()),
        };
        written.map_err(|error| {
            // A part of a result is none; where it cannot be taken away either, lists pass it over.
            let _ = system.remove_directory(&directory);
            Failure::partial(format!(
                "the result {own} is lost: {} cannot be written: {error}; make room, or set ASSAY_HOME",
                whole.display()
            ))
        })?;
    }
    Ok(id)
}
