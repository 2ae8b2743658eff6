//! The machine around the drives: kernel, processor, memory, what it runs in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{System, sysfs};
use crate::digest::{hexadecimal, sha256};
use crate::findings::places::Sort;
use crate::presence::Presence;

/// What stays the same while a study runs, as far as the kernel tells. No host name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel release: `6.1.0-18-amd64`.
    pub kernel: Presence<String>,
    /// Kernel build: `#1 SMP PREEMPT_DYNAMIC ...`.
    pub kernel_version: Presence<String>,
    /// Architecture: `x86_64`.
    pub architecture: String,
    /// Name and version of the distribution.
    pub distribution: Presence<String>,
    /// Processor model.
    pub cpu: Presence<String>,
    /// Logical processors.
    pub logical_cpus: Presence<u64>,
    /// Frequency governors in use: one name, or several when processors differ.
    pub governor: Presence<String>,
    /// Bytes of memory.
    pub memory_bytes: Presence<u64>,
    /// Bytes of swap; 0 is none.
    pub swap_bytes: Presence<u64>,
    /// `none`, `kvm guest`, `container`, `kvm guest, container (docker)`, ...
    pub virtualisation: Presence<String>,
    /// Clock in use: `tsc`, `kvm-clock`.
    pub clocksource: Presence<String>,
    /// Differs after every start of the machine.
    pub boot_id: Presence<String>,
    /// Graphics devices on PCI as `vendor:device` in hexadecimal.
    pub graphics: Vec<String>,
    /// Limits of this process's control groups other than "max": file name to content. A limit
    /// nearer to the process hides those above it.
    pub limits: Presence<BTreeMap<String, String>>,
}

/// Reads what there is to know.
pub fn machine(system: &dyn System) -> Machine {
    let text = |path: &str| sysfs::text(system, Path::new(path));
    Machine {
        kernel: text("/proc/sys/kernel/osrelease"),
        kernel_version: text("/proc/sys/kernel/version"),
        // The file is there since Linux 6.1.
        architecture: text("/proc/sys/kernel/arch")
            .value()
            .map_or_else(|| std::env::consts::ARCH.to_owned(), Clone::clone),
        distribution: distribution(system),
        cpu: cpu(system),
        logical_cpus: logical_cpus(&text("/proc/cpuinfo")),
        governor: governor(system),
        memory_bytes: memory(system, "MemTotal"),
        swap_bytes: memory(system, "SwapTotal"),
        virtualisation: virtualisation(system),
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        boot_id: text("/proc/sys/kernel/random/boot_id"),
        graphics: graphics(system),
        limits: limits(system),
    }
}

fn distribution(system: &dyn System) -> Presence<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let ways = files.map(|file| {
        sysfs::parsed(sysfs::text(system, Path::new(file)), |text| {
            let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(value.trim_matches(['"', '\'']).to_owned())
        })
    });
    sysfs::first(ways, "no os-release file names it")
}

fn cpu(system: &dyn System) -> Presence<String> {
    let cpuinfo = sysfs::text(system, Path::new("/proc/cpuinfo"));
    let field = |name: &str| {
        let value = cpuinfo.value().and_then(|text| cpuinfo_field(text, name));
        Presence::from_option(value, format!("/proc/cpuinfo has no {name}"))
    };
    // On ARM, cpuinfo says nothing in words, but boards have names.
    let board = || sysfs::text(system, Path::new("/proc/device-tree/model"));
    sysfs::first(
        [field("model name"), field("Model"), board(), field("Hardware")],
        "the kernel tells no name",
    )
}

fn cpuinfo_field(cpuinfo: &str, name: &str) -> Option<String> {
    let pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    values.find(|value| !value.is_empty()).map(str::to_owned)
}

fn logical_cpus(cpuinfo: &Presence<String>) -> Presence<u64> {
    sysfs::parsed(cpuinfo.clone(), |text| {
        let count = text.lines().filter(|line| line.starts_with("processor")).count();
        (count > 0).then_some(count as u64)
    })
}

fn governor(system: &dyn System) -> Presence<String> {
    let root = Path::new("/sys/devices/system/cpu/cpufreq");
    let policies = sysfs::names(system, root).into_iter().filter(|name| name.starts_with("policy"));
    let governor = |policy| sysfs::text(system, &root.join(policy).join("scaling_governor"));
    let mut found: Vec<String> = policies.filter_map(|p| governor(p).value().cloned()).collect();
    found.sort();
    found.dedup();
    let governors = (!found.is_empty()).then(|| found.join(", "));
    Presence::from_option(governors, "the kernel does not control the frequency here")
}

/// Bytes that the kernel tells of its memory below a name (`MemTotal`).
pub fn memory(system: &dyn System, name: &str) -> Presence<u64> {
    let text = sysfs::text(system, Path::new("/proc/meminfo"));
    sysfs::parsed(text, |text| kilobytes(text, name))
}

/// Bytes below a name in a text of the kernel that tells kB: `VmRSS:  3132 kB`.
pub fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

fn virtualisation(system: &dyn System) -> Presence<String> {
    let found: Vec<String> = [guest(system), container(system)].into_iter().flatten().collect();
    if !found.is_empty() {
        return Presence::Present(found.join(", "));
    }
    match sysfs::text(system, Path::new("/proc/cpuinfo")) {
        Presence::Present(_) => Presence::Present("none".to_owned()),
        Presence::Absent(reason) => Presence::Absent(reason),
    }
}

/// The hypervisor below, if one shows itself.
fn guest(system: &dyn System) -> Option<String> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    if let Some(kind) = text("/sys/hypervisor/type") {
        return Some(format!("{kind} guest"));
    }
    if let Some(tree) = text("/proc/device-tree/hypervisor/compatible") {
        let name = tree.trim_start_matches("linux,").to_owned();
        return Some(format!("{name} guest"));
    }
    let by_firmware = by_firmware(system);
    let flags = text("/proc/cpuinfo").and_then(|cpuinfo| cpuinfo_field(&cpuinfo, "flags"));
    let flagged = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if !flagged {
        // Without the flag (ARM), only names that no real machine has count.
        return by_firmware.map(|name| format!("{name} guest"));
    }
    let name = by_firmware.or_else(|| by_clock(system));
    Some(name.map_or_else(|| "guest".to_owned(), |name| format!("{name} guest")))
}

fn by_firmware(system: &dyn System) -> Option<&'static str> {
    const NAMES: [(&str, &str); 8] = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Amazon EC2", "kvm"),
        ("Google Compute Engine", "kvm"),
        ("VMware", "vmware"),
        ("VirtualBox", "virtualbox"),
        ("Microsoft Corporation Virtual Machine", "hyper-v"),
        ("Xen", "xen"),
    ];
    let text = |name: &str| {
        let path = Path::new("/sys/class/dmi/id").join(name);
        sysfs::text(system, &path).value().cloned().unwrap_or_default()
    };
    let maker = format!("{} {}", text("sys_vendor"), text("product_name"));
    // Amazon's metal machines carry its name, too.
    let metal = maker.contains(".metal");
    NAMES.iter().find(|(sign, _)| !metal && maker.contains(sign)).map(|(_, name)| *name)
}

/// Small hypervisors have no firmware to name them, but offer their clock.
fn by_clock(system: &dyn System) -> Option<&'static str> {
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let clocks = sysfs::text(system, Path::new(path));
    let clocks = clocks.value()?;
    let known = [("kvm-clock", "kvm"), ("hyperv_clocksource", "hyper-v"), ("xen", "xen")];
    known.iter().find(|(sign, _)| clocks.contains(sign)).map(|(_, name)| *name)
}

fn container(system: &dyn System) -> Option<String> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let told = text("/proc/1/environ").and_then(|environment| {
        let mut variables = environment.split('\0');
        variables.find_map(|variable| variable.strip_prefix("container=").map(str::to_owned))
    });
    let there = |path: &str| system.status(Path::new(path)).is_ok();
    let name = told
        .or_else(|| text("/run/systemd/container"))
        .or_else(|| there("/.dockerenv").then(|| "docker".to_owned()))
        .or_else(|| there("/run/.containerenv").then(|| "podman".to_owned()))?;
    Some(format!("container ({name})"))
}

/// A place by its virtualisation as it was recorded: what it is called, and what sort it is.
pub fn place(virtualisation: &str) -> (String, Sort) {
    if virtualisation == "none" {
        return ("bare metal".to_owned(), Sort::BareMetal);
    }
    let any = |sign: &str| virtualisation.split(", ").any(|part| part.starts_with(sign));
    let sort = match (any("emulated"), any("container")) {
        (true, _) => Sort::Emulated,
        (false, true) => Sort::Container,
        (false, false) => Sort::Guest,
    };
    (virtualisation.to_owned(), sort)
}

fn graphics(system: &dyn System) -> Vec<String> {
    let root = Path::new("/sys/bus/pci/devices");
    let read = |slot: &str, file: &str| {
        sysfs::text(system, &root.join(slot).join(file)).value().cloned().unwrap_or_default()
    };
    let slots = sysfs::names(system, root).into_iter();
    let displays = slots.filter(|slot| read(slot, "class").starts_with("0x03"));
    let number = |slot: &str, file: &str| read(slot, file).trim_start_matches("0x").to_owned();
    displays
        .map(|slot| format!("{}:{}", number(&slot, "vendor"), number(&slot, "device")))
        .collect()
}

fn limits(system: &dyn System) -> Presence<BTreeMap<String, String>> {
    const FILES: [&str; 5] = ["cpu.max", "io.max", "memory.high", "memory.max", "memory.swap.max"];
    let groups = sysfs::text(system, Path::new("/proc/self/cgroup"));
    let group = sysfs::parsed(groups, |text| {
        text.lines().find_map(|line| line.strip_prefix("0::")).map(PathBuf::from)
    });
    let Some(group) = group.value().cloned() else {
        return Presence::absent("no control group of version 2");
    };
    let mut found = BTreeMap::new();
    for part in group.ancestors() {
        let directory = Path::new("/sys/fs/cgroup").join(part.strip_prefix("/").unwrap_or(part));
        for file in FILES {
            let text = sysfs::text(system, &directory.join(file));
            if let Some(limit) = text.value().filter(|text| !text.starts_with("max")) {
                found.entry(file.to_owned()).or_insert_with(|| limit.clone());
            }
        }
    }
    Presence::Present(found)
}

/// What tells this machine from others, as a hash: the id that its installation has, which should
/// not leave it, and the one of its firmware, because installations are copied.
pub fn identity(system: &dyn System) -> String {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id"].map(Path::new);
    let installed = sysfs::first(files.map(|file| sysfs::text(system, file)), "it has none");
    let firmware = sysfs::text(system, Path::new("/sys/class/dmi/id/product_uuid"));
    let id = |seen: Presence<String>| seen.value().cloned().unwrap_or_default();
    let text = format!("assay machine\0{}\0{}", id(installed), id(firmware));
    hexadecimal(&sha256(text))
}

#[cfg(test)]
mod tests;
