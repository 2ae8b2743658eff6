//! Platform of a system: bare metal, hypervisor or emulator, container, with the evidence.
//!
//! [`KNOWN`] has one row per hypervisor. The evidence is checked in order of reliability: the kernel's own statement,
//! the firmware's name for hypervisors that use the signature of another, the CPUID signature, the name of an emulated
//! CPU, the firmware's name for all others, and the available clock.

use std::collections::BTreeMap;
use std::path::Path;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::{System, sysfs};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Layers between the system and the hardware, the one nearest to the CPU first; empty on bare metal.
    pub layers: Vec<PlaceLayer>,
    /// Driver of the processors' frequency: `intel_pstate`.
    pub frequency_driver: Presence<String>,
    /// The kernel's status of each known CPU vulnerability, by name.
    pub mitigations: Presence<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceLayer {
    pub kind: PlaceKind,
    /// Its name: `KVM`, `Xen PV`, `docker`, `namespaces: pid, user`.
    pub name: String,
    /// What it shows by: `CPUID: KVMKVMKVM`.
    pub signs: Vec<String>,
}

/// Kind of layer between a system and the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceKind {
    Hypervisor,
    Emulator,
    /// The same kernel, seen through name spaces.
    Container,
}

struct KnownPlatform {
    name: &'static str,
    /// Value of `Machine::virtualisation` in its guests.
    guest: &'static str,
    kind: PlaceKind,
    signatures: &'static [&'static str],
    /// Beginnings or parts of "maker product" in the firmware's tables.
    firmware: &'static [&'static str],
    clock: Option<&'static str>,
    /// Its guests see the signature of another hypervisor: the firmware is believed first.
    is_imitator: bool,
}

/// A row for a hypervisor that has no clock source of its own and does not imitate another one.
const fn row(
    name: &'static str,
    guest: &'static str,
    signatures: &'static [&'static str],
    firmware: &'static [&'static str],
) -> KnownPlatform {
    let kind = PlaceKind::Hypervisor;
    KnownPlatform { name, guest, kind, signatures, firmware, clock: None, is_imitator: false }
}

/// Known hypervisors. A hypervisor that others imitate comes after them.
static KNOWN: &[KnownPlatform] = &[
    KnownPlatform {
        kind: PlaceKind::Emulator,
        ..row("QEMU TCG", "emulated (qemu tcg)", &["TCGTCGTCGTCG"], &[])
    },
    KnownPlatform {
        is_imitator: true,
        ..row("VirtualBox", "virtualbox guest", &["VBoxVBoxVBox"], &["VirtualBox", "innotek GmbH"])
    },
    KnownPlatform {
        is_imitator: true,
        ..row("Parallels", "parallels guest", &["prl hyperv", "lrpepyh vr"], &["Parallels"])
    },
    row("VMware", "vmware guest", &["VMwareVMware"], &["VMware"]),
    KnownPlatform { clock: Some("xen"), ..row("Xen", "xen guest", &["XenVMMXenVMM"], &["Xen"]) },
    row("bhyve", "bhyve guest", &["bhyve bhyve"], &["BHYVE"]),
    row("ACRN", "acrn guest", &["ACRNACRNACRN"], &[]),
    row("QNX", "qnx guest", &["QNXQVMBSQG"], &[]),
    row("Apple Virtualization", "apple guest", &["Apple VZ"], &["Apple Virtualization"]),
    KnownPlatform {
        clock: Some("kvm-clock"),
        ..row(
            "KVM",
            "kvm guest",
            &["KVMKVMKVM", "Linux KVM Hv"],
            &["QEMU", "KVM", "Amazon EC2", "Google Compute Engine"],
        )
    },
    KnownPlatform {
        clock: Some("hyperv_clocksource"),
        ..row(
            "Hyper-V",
            "hyper-v guest",
            &["Microsoft Hv"],
            &["Microsoft Corporation Virtual Machine"],
        )
    },
];

const UNNAMED: &str = "a hypervisor without a name";
const EMULATED_PROCESSOR: &str = "QEMU TCG CPU";
/// Namespaces, with the inode of the first one of each kind on every machine.
const FIRST_NAMESPACES: [(&str, u64); 6] = [
    ("cgroup", 0xEFFF_FFFB),
    ("ipc", 0xEFFF_FFFF),
    ("pid", 0xEFFF_FFFC),
    ("time", 0xEFFF_FFFA),
    ("user", 0xEFFF_FFFD),
    ("uts", 0xEFFF_FFFE),
];
/// Namespaces that only containers have; services use the others, too.
const OF_CONTAINERS: [&str; 2] = ["pid", "user"];

/// Describes what this system runs on; absent if /proc/cpuinfo is unreadable.
pub fn place(system: &dyn System) -> Presence<Place> {
    let cpuinfo = sysfs::text(system, Path::new("/proc/cpuinfo"));
    cpuinfo.map(|cpuinfo| Place {
        layers: hypervisor_below(system, &cpuinfo).into_iter().chain(container(system)).collect(),
        frequency_driver: policy_values(system, "scaling_driver"),
        mitigations: mitigations(system),
    })
}

/// Value in a file of all frequency policies, or the different values.
pub(super) fn policy_values(system: &dyn System, file: &str) -> Presence<String> {
    let root = Path::new("/sys/devices/system/cpu/cpufreq");
    let policies = sysfs::names(system, root).into_iter().filter(|name| name.starts_with("policy"));
    let value_of = |policy| sysfs::text(system, &root.join(policy).join(file)).value().cloned();
    let mut values: Vec<String> = policies.filter_map(value_of).collect();
    values.sort();
    values.dedup();
    let text = (!values.is_empty()).then(|| values.join(", "));
    Presence::from_option(text, "the kernel does not control the CPU frequency")
}

impl Place {
    /// Name: `bare metal`, `KVM`, `container (docker) on KVM`.
    pub fn name(&self) -> String {
        let words: Vec<String> = self.layers.iter().rev().map(PlaceLayer::words).collect();
        if words.is_empty() { "bare metal".to_owned() } else { words.join(" on ") }
    }

    /// The layer that matters most for speed: an emulator before a hypervisor before a container.
    pub fn kind(&self) -> Option<PlaceKind> {
        let by_weight = [PlaceKind::Emulator, PlaceKind::Hypervisor, PlaceKind::Container];
        by_weight.into_iter().find(|kind| self.layers.iter().any(|layer| layer.kind == *kind))
    }

    /// The emulator that executes all instructions, if there is one.
    pub fn emulator(&self) -> Option<&str> {
        let is_emulator = |layer: &&PlaceLayer| layer.kind == PlaceKind::Emulator;
        self.layers.iter().find(is_emulator).map(|layer| layer.name.as_str())
    }

    pub fn signs(&self) -> Vec<String> {
        self.layers.iter().flat_map(|layer| layer.signs.iter().cloned()).collect()
    }

    /// Counts of CPU vulnerabilities by status, with the names of open ones.
    pub fn mitigated(&self) -> Option<String> {
        let statuses = self.mitigations.value()?;
        let has = |status: &str, word: &str| status.split(' ').any(|part| part.starts_with(word));
        let is_open = |status: &str| has(status, "Vulnerable") && !has(status, "Mitigation");
        let unaffected = statuses.values().filter(|text| text.starts_with("Not affected")).count();
        let open = statuses.iter().filter(|(_, status)| is_open(status));
        let open: Vec<&str> = open.map(|(name, _)| name.as_str()).collect();
        let mitigated = statuses.len() - unaffected - open.len();
        let names = if open.is_empty() { String::new() } else { format!(" ({})", open.join(", ")) };
        let count = open.len();
        Some(format!("{mitigated} mitigated, {unaffected} not affected, {count} open{names}"))
    }

    /// The words of `Machine::virtualisation`: `none`, `kvm guest, container (docker)`.
    pub(super) fn virtualisation(&self) -> String {
        let words: Vec<String> = self.layers.iter().map(PlaceLayer::as_guest).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }
}

impl PlaceLayer {
    fn words(&self) -> String {
        match self.kind {
            PlaceKind::Container => format!("container ({})", self.name),
            PlaceKind::Emulator => format!("emulated ({})", self.name),
            PlaceKind::Hypervisor => self.name.clone(),
        }
    }

    /// Names a system in this layer: `kvm guest`, or the container.
    fn as_guest(&self) -> String {
        let known = KNOWN.iter().find(|known| self.name.starts_with(known.name));
        match (self.kind, known) {
            (PlaceKind::Container, _) => self.words(),
            (_, Some(known)) => known.guest.to_owned(),
            (_, None) if self.name == UNNAMED => "guest".to_owned(),
            (_, None) => format!("{} guest", self.name),
        }
    }
}

/// The hypervisor or emulator below, if one shows itself.
fn hypervisor_below(system: &dyn System, cpuinfo: &str) -> Option<PlaceLayer> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let signs = Signs::read(system, cpuinfo);
    if let Some(kind) = text("/sys/hypervisor/type") {
        return Some(describe_xen(system, &kind, &signs));
    }
    if let Some(tree) = text("/proc/device-tree/hypervisor/compatible") {
        let word = tree.trim_start_matches("linux,").to_owned();
        let known = KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(&word));
        let name = known.map_or(word, |known| known.name.to_owned());
        let signs = vec![format!("device tree: {tree}")];
        return Some(PlaceLayer { kind: PlaceKind::Hypervisor, name, signs });
    }
    match signs.find_platform() {
        Some(known) => Some(PlaceLayer {
            kind: known.kind,
            name: known.name.to_owned(),
            signs: signs.evidence_for(known),
        }),
        None => signs.has_hypervisor_flag.then(|| PlaceLayer {
            kind: PlaceKind::Hypervisor,
            name: UNNAMED.to_owned(),
            signs: vec![FLAG.to_owned()],
        }),
    }
}

const FLAG: &str = "CPUID: hypervisor flag";

/// Describes the hypervisor that the kernel names (Xen), with the kind of guest.
fn describe_xen(system: &dyn System, kind: &str, signs: &Signs) -> PlaceLayer {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let known = KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(kind));
    let capabilities = text("/proc/xen/capabilities").unwrap_or_default();
    let dom0 = capabilities.contains("control_d").then(|| "dom0".to_owned());
    let guest_type = dom0.or_else(|| text("/sys/hypervisor/guest_type"));
    let name = known.map_or(kind, |known| known.name);
    let name = guest_type.map_or_else(|| name.to_owned(), |guest| format!("{name} {guest}"));
    let evidence = known.map(|known| signs.evidence_for(known)).unwrap_or_default();
    let signs = [format!("/sys/hypervisor/type: {kind}")].into_iter().chain(evidence).collect();
    PlaceLayer { kind: PlaceKind::Hypervisor, name, signs }
}

struct Signs {
    signatures: Vec<String>,
    firmware: String,
    clocks: String,
    has_hypervisor_flag: bool,
    /// Name of the CPU, if it is an emulated one.
    emulated: Option<String>,
}

impl Signs {
    /// Collects what a guest can see of its hypervisor or emulator.
    fn read(system: &dyn System, cpuinfo: &str) -> Self {
        let text =
            |path: &str| sysfs::text(system, Path::new(path)).value().cloned().unwrap_or_default();
        let dmi = |name: &str| text(&format!("/sys/class/dmi/id/{name}"));
        let field = |name| super::machine::cpuinfo_field(cpuinfo, name).unwrap_or_default();
        let processor = field("model name");
        Self {
            signatures: system.hypervisor_signatures(),
            firmware: format!("{} {}", dmi("sys_vendor"), dmi("product_name")).trim().to_owned(),
            clocks: text("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
            has_hypervisor_flag: field("flags").split(' ').any(|flag| flag == "hypervisor"),
            emulated: processor.contains(EMULATED_PROCESSOR).then_some(processor),
        }
    }

    /// Returns the known platform with the most reliable evidence. Among platforms with the same kind of evidence, the
    /// first row of [`KNOWN`] counts: a platform that others imitate comes after them.
    fn find_platform(&self) -> Option<&'static KnownPlatform> {
        let find = |fits: &dyn Fn(&KnownPlatform) -> bool| KNOWN.iter().find(|known| fits(known));
        // An imitator also shows the signature of another platform, so its firmware decides first.
        find(&|known| known.is_imitator && self.has_firmware(known))
            .or_else(|| find(&|known| self.signature_of(known).is_some()))
            .or_else(|| find(&|known| self.emulated.is_some() && known.kind == PlaceKind::Emulator))
            .or_else(|| find(&|known| self.has_firmware(known)))
            .or_else(|| find(&|known| self.has_hypervisor_flag && self.has_clock(known)))
    }

    fn signature_of(&self, known: &KnownPlatform) -> Option<&String> {
        let is_known = |found: &&String| known.signatures.iter().any(|sign| found.contains(sign));
        self.signatures.iter().find(is_known)
    }

    fn has_firmware(&self, known: &KnownPlatform) -> bool {
        // Amazon's metal machines carry its name, too.
        let is_metal = self.firmware.contains(".metal");
        !is_metal && known.firmware.iter().any(|sign| self.firmware.contains(sign))
    }

    fn has_clock(&self, known: &KnownPlatform) -> bool {
        known.clock.is_some_and(|clock| self.clocks.split(' ').any(|name| name.starts_with(clock)))
    }

    /// Describes all signs of a platform: `CPUID: KVMKVMKVM`.
    fn evidence_for(&self, known: &KnownPlatform) -> Vec<String> {
        let signature = self.signature_of(known).map(|sign| format!("CPUID: {sign}"));
        let emulated = self.emulated.as_ref().filter(|_| known.kind == PlaceKind::Emulator);
        let emulated = emulated.map(|name| format!("processor: {name}"));
        let firmware = self.has_firmware(known).then(|| format!("DMI: {}", self.firmware));
        let clock = known.clock.filter(|_| self.has_clock(known));
        let clock = clock.map(|clock| format!("clock source: {clock}"));
        [signature, emulated, firmware, clock].into_iter().flatten().collect()
    }
}

/// The container in which this system runs, if any: by its name, or by namespaces that only containers have.
fn container(system: &dyn System) -> Option<PlaceLayer> {
    let namespaces = own_namespaces(system);
    let list = namespaces.join(", ");
    let (name, mut signs) = match named_container(system) {
        Some((name, sign)) => (name, vec![sign]),
        None if namespaces.iter().any(|name| OF_CONTAINERS.contains(name)) => {
            (format!("namespaces: {list}"), Vec::new())
        }
        None => return None,
    };
    signs.extend((!namespaces.is_empty()).then(|| format!("own namespaces: {list}")));
    Some(PlaceLayer { kind: PlaceKind::Container, name, signs })
}

/// Name of the container, and the source of the name.
fn named_container(system: &dyn System) -> Option<(String, String)> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let exists = |path: &str| system.status(Path::new(path)).is_ok();
    let found = |name: &str, source: &str| Some((name.to_owned(), source.to_owned()));
    let environment = text("/proc/1/environ").unwrap_or_default();
    let mut variables = environment.split('\0');
    if let Some(name) = variables.find_map(|variable| variable.strip_prefix("container=")) {
        return found(name, "/proc/1/environ: container");
    }
    if let Some(name) = text("/run/systemd/container") {
        return found(&name, "/run/systemd/container");
    }
    for (path, name) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if exists(path) {
            return found(name, path);
        }
    }
    let kernel = text("/proc/sys/kernel/osrelease").unwrap_or_default().to_lowercase();
    if kernel.contains("microsoft") && exists("/proc/sys/fs/binfmt_misc/WSLInterop") {
        return found("wsl", "/proc/sys/kernel/osrelease");
    }
    container_of_groups(&text("/proc/1/cgroup")?)
}

/// A container by the control group that its first process is in.
fn container_of_groups(groups: &str) -> Option<(String, String)> {
    const NAMES: [(&str, &str); 4] =
        [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")];
    let paths = groups.lines().filter_map(|line| line.rsplit(':').next());
    let parts: Vec<&str> = paths.flat_map(|path| path.split('/')).collect();
    let is_used = |start: &str| parts.iter().any(|part| part.starts_with(start));
    let (_, name) = NAMES.iter().find(|(start, _)| is_used(start))?;
    Some(((*name).to_owned(), "/proc/1/cgroup".to_owned()))
}

/// Namespaces other than the machine's first ones.
fn own_namespaces(system: &dyn System) -> Vec<&'static str> {
    let inode = |name: &str| {
        let link = system.read_link(&Path::new("/proc/self/ns").join(name)).ok()?;
        let (_, number) = link.to_str()?.split_once('[')?;
        number.trim_end_matches(']').parse::<u64>().ok()
    };
    let is_own = |(name, first): &(&str, u64)| inode(name).is_some_and(|inode| inode != *first);
    FIRST_NAMESPACES.into_iter().filter(is_own).map(|(name, _)| name).collect()
}

fn mitigations(system: &dyn System) -> Presence<BTreeMap<String, String>> {
    let root = Path::new("/sys/devices/system/cpu/vulnerabilities");
    let with_status = |name: String| {
        let status = sysfs::text(system, &root.join(&name)).value().cloned()?;
        Some((name, status))
    };
    let names = sysfs::names(system, root);
    let statuses: BTreeMap<_, _> = names.into_iter().filter_map(with_status).collect();
    let statuses = (!statuses.is_empty()).then_some(statuses);
    Presence::from_option(statuses, "the kernel reports no mitigations")
}

#[cfg(test)]
mod tests;
