//! The machine: kernel, CPU, memory, virtualization.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_core::digest::{hexadecimal, sha256};
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::graphics::{self, Graphics};
use super::place::{self, Place};
use super::{System, sysfs};

/// Constant facts of the machine, as far as known. No host name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Hash that identifies this machine ([`identity`]); empty in results of older versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// Kernel release: `6.1.0-18-amd64`.
    pub kernel: Presence<String>,
    /// Kernel build: `#1 SMP PREEMPT_DYNAMIC ...`.
    pub kernel_version: Presence<String>,
    pub architecture: String,
    pub distribution: Presence<String>,
    pub cpu: Presence<String>,
    pub logical_cpus: Presence<u64>,
    /// Frequency governors in use: one name, or several when processors differ.
    pub governor: Presence<String>,
    pub memory_bytes: Presence<u64>,
    /// Bytes of swap; 0 is none.
    pub swap_bytes: Presence<u64>,
    /// `none`, `kvm guest`, `container`, `kvm guest, container (docker)`, `emulated (qemu tcg)`, ...
    pub virtualisation: Presence<String>,
    /// Clock in use: `tsc`, `kvm-clock`.
    pub clocksource: Presence<String>,
    pub boot_id: Presence<String>,
    /// Graphics devices on PCI as `vendor:device` in hexadecimal.
    pub graphics: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub graphics_devices: Vec<Graphics>,
    /// Limits of this process's control groups other than "max"; the nearest hides those above it.
    pub limits: Presence<BTreeMap<String, String>>,
    /// Platform: bare metal, hypervisor or container, with the evidence.
    #[serde(default = "not_recorded")]
    pub place: Presence<Place>,
}

fn not_recorded() -> Presence<Place> {
    Presence::absent("not recorded by the Assay version that measured the result")
}

impl Machine {
    /// The emulator that executes all instructions, if there is one.
    pub fn emulator(&self) -> Option<&str> {
        self.place.value()?.emulator()
    }

    /// A machine known only from imported records, with the reason.
    pub fn elsewhere(why: &str) -> Self {
        Self {
            identity: String::new(),
            kernel: Presence::absent(why),
            kernel_version: Presence::absent(why),
            architecture: String::new(),
            distribution: Presence::absent(why),
            cpu: Presence::absent(why),
            logical_cpus: Presence::absent(why),
            governor: Presence::absent(why),
            memory_bytes: Presence::absent(why),
            swap_bytes: Presence::absent(why),
            virtualisation: Presence::absent(why),
            clocksource: Presence::absent(why),
            boot_id: Presence::absent(why),
            graphics: Vec::new(),
            graphics_devices: Vec::new(),
            limits: Presence::absent(why),
            place: Presence::absent(why),
        }
    }
}

pub fn machine(system: &dyn System) -> Machine {
    let graphics_devices = graphics::devices(system);
    let text = |path: &str| sysfs::text(system, Path::new(path));
    let place = place::place(system);
    Machine {
        identity: identity(system),
        kernel: text("/proc/sys/kernel/osrelease"),
        kernel_version: text("/proc/sys/kernel/version"),
        // The file is there since Linux 6.1.
        architecture: text("/proc/sys/kernel/arch")
            .value()
            .map_or_else(|| std::env::consts::ARCH.to_owned(), Clone::clone),
        distribution: distribution(system),
        cpu: cpu(system),
        logical_cpus: logical_cpus(&text("/proc/cpuinfo")),
        governor: place::policy_values(system, "scaling_governor"),
        memory_bytes: memory(system, "MemTotal"),
        swap_bytes: memory(system, "SwapTotal"),
        virtualisation: place.clone().map(|place| place.virtualisation()),
        clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        boot_id: text("/proc/sys/kernel/random/boot_id"),
        graphics: graphics::numbers(&graphics_devices),
        graphics_devices,
        limits: limits(system),
        place,
    }
}

/// An ID of 128 bits as Assay writes it: 32 lower-case hexadecimal digits; `None` for other texts.
pub fn plain_id(text: &str) -> Option<String> {
    let plain: String = text.trim().chars().filter(|sign| *sign != '-').collect();
    let is_id = plain.len() == 32 && plain.bytes().all(|sign| sign.is_ascii_hexdigit());
    is_id.then(|| plain.to_ascii_lowercase())
}

pub fn boot_id(system: &dyn System) -> Outcome<String> {
    let text = system.read_text(Path::new("/proc/sys/kernel/random/boot_id"));
    let text =
        text.map_err(|error| Failure::refused(format!("cannot read the boot ID: {error}")))?;
    plain_id(&text).ok_or_else(|| Failure::refused("the kernel reports no boot ID"))
}

fn distribution(system: &dyn System) -> Presence<String> {
    let files = ["/etc/os-release", "/usr/lib/os-release"];
    let names = files.map(|file| {
        sysfs::parsed(sysfs::text(system, Path::new(file)), |text| {
            let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(value.trim_matches(['"', '\'']).to_owned())
        })
    });
    sysfs::first(names, "no os-release file names the distribution")
}

fn cpu(system: &dyn System) -> Presence<String> {
    let cpuinfo = sysfs::text(system, Path::new("/proc/cpuinfo"));
    let field = |name: &str| {
        let value = cpuinfo.value().and_then(|text| cpuinfo_field(text, name));
        Presence::from_option(value, format!("/proc/cpuinfo has no {name}"))
    };
    // On ARM, cpuinfo has no names, but boards do.
    let board = || sysfs::text(system, Path::new("/proc/device-tree/model"));
    sysfs::first(
        [field("model name"), field("Model"), board(), field("Hardware")],
        "the kernel reports no name",
    )
}

pub(super) fn cpuinfo_field(cpuinfo: &str, name: &str) -> Option<String> {
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

/// Processors that this process may run on: fewer than there are in some containers.
pub fn usable_processors(system: &dyn System) -> Presence<u64> {
    let status = sysfs::text(system, Path::new("/proc/self/status"));
    let usable = sysfs::parsed(status, |text| {
        list_length(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
    });
    if usable.value().is_some() {
        return usable;
    }
    logical_cpus(&sysfs::text(system, Path::new("/proc/cpuinfo")))
}

/// Count of the numbers in a list like `0-3,6`; `None` if it is invalid.
fn list_length(list: &str) -> Option<u64> {
    let spans = list.split(',').map(|span| {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let [first, last]: [u64; 2] = [first.parse().ok()?, last.parse().ok()?];
        Some(last.checked_sub(first)? + 1)
    });
    spans.sum()
}

/// Bytes of a field of /proc/meminfo (`MemTotal`).
pub fn memory(system: &dyn System, name: &str) -> Presence<u64> {
    let text = sysfs::text(system, Path::new("/proc/meminfo"));
    sysfs::parsed(text, |text| kilobytes(text, name))
}

/// Bytes of a field in a kernel text with kB: `VmRSS:  3132 kB`.
pub fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// Limits of this process's control groups (version 2) by file name; of nested groups, the innermost limit counts.
fn limits(system: &dyn System) -> Presence<BTreeMap<String, String>> {
    const FILES: [&str; 5] = ["cpu.max", "io.max", "memory.high", "memory.max", "memory.swap.max"];
    let groups = sysfs::text(system, Path::new("/proc/self/cgroup"));
    let group = sysfs::parsed(groups, |text| {
        text.lines().find_map(|line| line.strip_prefix("0::")).map(PathBuf::from)
    });
    let Some(group) = group.value().cloned() else {
        return Presence::absent("no version 2 control group");
    };
    let mut limits = BTreeMap::new();
    for above in group.ancestors() {
        let directory = Path::new("/sys/fs/cgroup").join(above.strip_prefix("/").unwrap_or(above));
        for file in FILES {
            let text = sysfs::text(system, &directory.join(file));
            if let Some(limit) = text.value().filter(|text| !text.starts_with("max")) {
                limits.entry(file.to_owned()).or_insert_with(|| limit.clone());
            }
        }
    }
    Presence::Present(limits)
}

/// Hash that identifies this machine, of the IDs of installation and firmware. The installation's ID must stay secret.
pub fn identity(system: &dyn System) -> String {
    let files = ["/etc/machine-id", "/var/lib/dbus/machine-id"].map(Path::new);
    let installed = sysfs::first(files.map(|file| sysfs::text(system, file)), "it has none");
    let firmware = sysfs::text(system, Path::new("/sys/class/dmi/id/product_uuid"));
    let or_empty = |id: Presence<String>| id.value().cloned().unwrap_or_default();
    let text = format!("assay machine\0{}\0{}", or_empty(installed), or_empty(firmware));
    hexadecimal(&sha256(text))
}

#[cfg(test)]
mod tests;
