//! Small virtual machines whose power is taken: the kernel and the programs that they get.
//! Their files have no names and they die with this process, so that nothing of them can be left behind.

mod awake;
pub mod driven;
pub mod own_command;
pub mod place;

use std::path::{Path, PathBuf};

use assay_guest::files;
use assay_guest::kernel::{self, Kernel};
use assay_guest::{Asked, found};

use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::Bytes;
use assay_base::quantity::units::show;
use assay_system::system::powered::Wanted;
use assay_system::system::{System, machine};

/// Memory that is left to this machine beside that of the virtual one.
const BESIDE: u64 = 128 << 20;

/// What the user wants of a virtual machine.
#[derive(Clone, Debug)]
pub struct Wish {
    pub memory_bytes: u64,
    pub cpus: usize,
    /// An unpacked package of a kernel.
    pub kernel: Option<PathBuf>,
    /// Whether a kernel may be downloaded.
    pub fetch: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30, cpus: 2, kernel: None, fetch: false }
    }
}

/// Finds a kernel and what the work needs, and sees that there is room for all of it.
///
/// # Errors
/// Refused, with what is missing and what brings it.
pub fn ready(system: &dyn System, wish: &Wish, wanted: &Wanted) -> Outcome<Asked> {
    if let Some(reason) = assay_guest::missing() {
        return Err(Failure::refused(format!("a virtual machine {reason}")));
    }
    let all = [&wanted.modules[..], &assay_guest::MODULES].concat();
    let kernel = chosen(system, wish, &all)?;
    if let [first, ..] = kernel.lacks(&assay_guest::MODULES).as_slice() {
        return Err(Failure::refused(format!(
            "kernel {} lacks module {first}, which virtual machines need; use another with --vm-kernel, or download \
             one with --vm-fetch",
            kernel.release
        )));
    }
    if let [first, ..] = kernel.lacks(&wanted.modules).as_slice() {
        return Err(Failure::refused(format!("kernel {} has no module {first}", kernel.release)));
    }
    let mut programs = Vec::new();
    for (program, package) in &wanted.programs {
        programs.push(found(program).ok_or_else(|| {
            Failure::refused(format!("{program} (package {package}) is not installed here"))
        })?);
    }
    for name in &wanted.needs {
        programs.push(
            found(name)
                .ok_or_else(|| Failure::refused(format!("needs {name}, which is missing here")))?,
        );
    }
    let own = system.canonical(Path::new("/proc/self/exe"));
    let own =
        own.map_err(|error| Failure::refused(format!("cannot read this program's file: {error}")))?;
    let asked = Asked {
        memory_bytes: wish.memory_bytes,
        cpus: wish.cpus,
        drives: Vec::new(),
        // No others: each costs time at each start.
        modules: wanted.modules.iter().map(|name| (*name).to_owned()).collect(),
        programs,
        ..Asked::usual(own, kernel, &std::env::temp_dir())
    };
    room(system, &asked)?;
    Ok(asked)
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
        Failure::refused("the directory for kernels is unknown; set XDG_CACHE_HOME or HOME")
    })?;
    Ok(cache.join("assay/kernels"))
}

/// That there is no kernel, and what would be downloaded.
fn no_kernel(below: &Path) -> String {
    let none = "a virtual machine needs a kernel, and none is readable in /boot with its modules";
    let named = "give the directory of an unpacked package with --vm-kernel";
    match kernel::to_be_fetched(below) {
        Ok(packages) if !packages.is_empty() => {
            let one = |(name, bytes): &(String, Option<u64>)| match bytes {
                Some(bytes) => format!("{name} ({})", Bytes(bytes >> 20 << 20)),
                None => name.clone(),
            };
            let all: Vec<String> = packages.iter().map(one).collect();
            let (all, below) = (all.join(", or where that lacks a part "), below.display());
            format!("{none}; --vm-fetch downloads {all} and stores it in {below}; or {named}")
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
            "no directory for the virtual machine's files: {reason}; set TMPDIR to a directory"
        ))
    })?;
    if free < needed {
        return Err(Failure::refused(format!(
            "{place} has {} free, the virtual machine's programs need up to {}; free space there, or set TMPDIR to a \
             directory with space",
            rounded(free),
            rounded(needed)
        )));
    }
    let available = machine::memory(system, "MemAvailable").value().copied().unwrap_or(u64::MAX);
    if available < asked.memory_bytes.saturating_add(BESIDE) {
        return Err(Failure::refused(format!(
            "this machine has {} of memory left, the virtual machine needs {}; reduce --vm-memory",
            rounded(available),
            Bytes(asked.memory_bytes)
        )));
    }
    Ok(())
}

/// The id of all virtual machines: none is anybody's.
const MACHINE: &[u8] = b"a55a00000000000000000000000000ab\n";
