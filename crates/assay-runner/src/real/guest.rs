//! Virtual machines for power cuts: their kernel and programs. Their files are unnamed.

mod awake;
pub mod driven;
pub mod own_command;
pub mod place;

use std::path::{Path, PathBuf};

use crate::vm::files;
use crate::vm::kernel::{self, Kernel};
use crate::vm::{Asked, found};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_machine::system::powered::VmNeeds;
use assay_machine::system::{System, machine};

const HOST_RESERVE_BYTES: u64 = 128 << 20;

const MEMORY_BYTES: u64 = 1 << 30;
const CPUS: usize = 2;

/// Checks what virtual machines need; returns their parameters.
pub fn ready(system: &dyn System, wanted: &VmNeeds) -> Outcome<Asked> {
    if let Some(reason) = crate::vm::missing() {
        return Err(Failure::refused(format!("a virtual machine {reason}")));
    }
    let modules = [&wanted.modules[..], &crate::vm::MODULES].concat();
    let kernel = choose_kernel(system, wanted.config.kernel.as_deref(), &modules)?;
    if let [first, ..] = kernel.lacks(&crate::vm::MODULES).as_slice() {
        return Err(Failure::refused(format!(
            "kernel {} lacks module {first}, which virtual machines need; use another \
             directory with --set vm_kernel=DIR",
            kernel.release
        )));
    }
    if let [first, ..] = kernel.lacks(&wanted.modules).as_slice() {
        return Err(Failure::refused(format!("kernel {} has no module {first}", kernel.release)));
    }
    let mut programs = Vec::new();
    for (program, package) in &wanted.programs {
        programs.push(found(program).ok_or_else(|| {
            Failure::refused(format!("{program} (package {package}) is not installed"))
        })?);
    }
    for name in &wanted.needs {
        let missing = || Failure::refused(format!("needs {name}, which is missing"));
        programs.push(found(name).ok_or_else(missing)?);
    }
    let assay = system
        .canonical(Path::new("/proc/self/exe"))
        .map_err(|error| Failure::refused(format!("cannot read the assay program: {error}")))?;
    let asked = Asked {
        memory_bytes: wanted.config.memory_bytes.unwrap_or(MEMORY_BYTES),
        cpus: wanted.config.cpus.map_or(CPUS, |cpus| cpus as usize),
        drives: Vec::new(),
        // No others: each costs time at each start.
        modules: wanted.modules.iter().map(|name| (*name).to_owned()).collect(),
        programs,
        ..Asked::usual(assay, kernel, &std::env::temp_dir())
    };
    check_space(system, &asked)?;
    Ok(asked)
}

/// Selects the named kernel, or the first of the stored and installed kernels with all modules.
fn choose_kernel(system: &dyn System, named: Option<&str>, modules: &[&str]) -> Outcome<Kernel> {
    if let Some(folder) = named {
        return Kernel::unpacked(Path::new(folder))
            .map_err(|reason| Failure::mistake(format!("vm_kernel {folder}: {reason}")));
    }
    let candidates = [Kernel::kept(&stored_kernels(system)?), Kernel::installed()].concat();
    kernel::likeliest(candidates, modules).ok_or_else(|| {
        Failure::refused(
            "a virtual machine needs a kernel, but /boot has no readable kernel with modules; unpack a kernel package \
             (dpkg -x PACKAGE DIR, depmod -b DIR RELEASE) and use --set vm_kernel=DIR",
        )
    })
}

/// Returns the directory in which Assay stores kernels.
fn stored_kernels(system: &dyn System) -> Outcome<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(system.variable(name)?);
        Some(path).filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        Failure::refused("the directory for kernels is unknown; set XDG_CACHE_HOME or HOME")
    })?;
    Ok(cache.join("assay/kernels"))
}

/// Checks that the host has enough space for the files of a virtual machine, and memory for it.
fn check_space(system: &dyn System, asked: &Asked) -> Outcome<()> {
    let needed = crate::vm::bytes_of(asked).map_err(Failure::refused)?;
    let place = asked.place.display();
    let free = files::room(&asked.place).map_err(|reason| {
        Failure::refused(format!(
            "no directory for the files of the virtual machine: {reason}; set TMPDIR to a directory"
        ))
    })?;
    if free < needed {
        return Err(Failure::refused(format!(
            "{place} has {} free, but the programs of the virtual machine need up to {}; free \
             space, or set TMPDIR to a directory with more space",
            show::bytes(free),
            show::bytes(needed)
        )));
    }
    let available = machine::memory(system, "MemAvailable").value().copied().unwrap_or(u64::MAX);
    if available < asked.memory_bytes.saturating_add(HOST_RESERVE_BYTES) {
        return Err(Failure::refused(format!(
            "this machine has {} of available memory, but the virtual machine needs {}; reduce vm_memory",
            show::bytes(available),
            Bytes(asked.memory_bytes)
        )));
    }
    Ok(())
}

const MACHINE_ID: &[u8] = b"a55a00000000000000000000000000ab\n";
