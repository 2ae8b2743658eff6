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
    lends: bool,
}

/// A row without a clock, with a unique signature.
const fn hypervisor(
    name: &'static str,
    guest: &'static str,
    signatures: &'static [&'static str],
    firmware: &'static [&'static str],
) -> KnownPlatform {
    let kind = PlaceKind::Hypervisor;
    KnownPlatform { name, guest, kind, signatures, firmware, clock: None, lends: false }
}

/// Known hypervisors. A hypervisor that others imitate comes after them.
static KNOWN: &[KnownPlatform] = &[
    KnownPlatform {
        kind: PlaceKind::Emulator,
        ..hypervisor("QEMU TCG", "emulated (qemu tcg)", &["TCGTCGTCGTCG"], &[])
    },
    KnownPlatform {
        lends: true,
        ..hypervisor(
            "VirtualBox",
            "virtualbox guest",
            &["VBoxVBoxVBox"],
            &["VirtualBox", "innotek GmbH"],
        )
    },
    KnownPlatform {
        lends: true,
        ..hypervisor("Parallels", "parallels guest", &["prl hyperv", "lrpepyh vr"], &["Parallels"])
    },
    hypervisor("VMware", "vmware guest", &["VMwareVMware"], &["VMware"]),
    KnownPlatform {
        clock: Some("xen"),
        ..hypervisor("Xen", "xen guest", &["XenVMMXenVMM"], &["Xen"])
    },
    hypervisor("bhyve", "bhyve guest", &["bhyve bhyve"], &["BHYVE"]),
    hypervisor("ACRN", "acrn guest", &["ACRNACRNACRN"], &[]),
    hypervisor("QNX", "qnx guest", &["QNXQVMBSQG"], &[]),
    hypervisor("Apple Virtualization", "apple guest", &["Apple VZ"], &["Apple Virtualization"]),
    KnownPlatform {
        clock: Some("kvm-clock"),
        ..hypervisor(
            "KVM",
            "kvm guest",
            &["KVMKVMKVM", "Linux KVM Hv"],
            &["QEMU", "KVM", "Amazon EC2", "Google Compute Engine"],
        )
    },
    KnownPlatform {
        clock: Some("hyperv_clocksource"),
        ..hypervisor(
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

pub fn place(system: &dyn System) -> Presence<Place> {
    let cpuinfo = sysfs::text(system, Path::new("/proc/cpuinfo"));
    cpuinfo.map(|cpuinfo| Place {
        layers: below(system, &cpuinfo).into_iter().chain(container(system)).collect(),
        frequency_driver: of_policies(system, "scaling_driver"),
        mitigations: mitigations(system),
    })
}

/// Value in a file of all frequency policies, or the different values.
pub(super) fn of_policies(system: &dyn System, file: &str) -> Presence<String> {
    let root = Path::new("/sys/devices/system/cpu/cpufreq");
    let policies = sysfs::names(system, root).into_iter().filter(|name| name.starts_with("policy"));
    let word = |policy| sysfs::text(system, &root.join(policy).join(file));
    let mut found: Vec<String> = policies.filter_map(|p| word(p).value().cloned()).collect();
    found.sort();
    found.dedup();
    let words = (!found.is_empty()).then(|| found.join(", "));
    Presence::from_option(words, "the kernel does not control the CPU frequency")
}

impl Place {
    /// Name: `bare metal`, `KVM`, `container (docker) on KVM`.
    pub fn name(&self) -> String {
        let words: Vec<String> = self.layers.iter().rev().map(PlaceLayer::words).collect();
        if words.is_empty() { "bare metal".to_owned() } else { words.join(" on ") }
    }

    /// The layer that matters most for speed: an emulator before a hypervisor before a container.
    pub fn kind(&self) -> Option<PlaceKind> {
        let order = [PlaceKind::Emulator, PlaceKind::Hypervisor, PlaceKind::Container];
        order.into_iter().find(|kind| self.layers.iter().any(|layer| layer.kind == *kind))
    }

    /// The emulator that executes all instructions, if there is one.
    pub fn emulator(&self) -> Option<&str> {
        let emulates = |layer: &&PlaceLayer| layer.kind == PlaceKind::Emulator;
        self.layers.iter().find(emulates).map(|layer| layer.name.as_str())
    }

    pub fn signs(&self) -> Vec<String> {
        self.layers.iter().flat_map(|layer| layer.signs.iter().cloned()).collect()
    }

    /// Counts of CPU vulnerabilities by status, with the names of open ones.
    pub fn mitigated(&self) -> Option<String> {
        let all = self.mitigations.value()?;
        let is = |text: &str, word: &str| text.split(' ').any(|part| part.starts_with(word));
        let unaffected = all.values().filter(|text| text.starts_with("Not affected")).count();
        let open = |text: &str| is(text, "Vulnerable") && !is(text, "Mitigation");
        let open: Vec<&str> =
            all.iter().filter(|(_, text)| open(text)).map(|(name, _)| name.as_str()).collect();
        let rest = all.len() - unaffected - open.len();
        let names = if open.is_empty() { String::new() } else { format!(" ({})", open.join(", ")) };
        Some(format!("{rest} mitigated, {unaffected} not affected, {} open{names}", open.len()))
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
fn below(system: &dyn System, cpuinfo: &str) -> Option<PlaceLayer> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let signs = Signs::read(system, cpuinfo);
    if let Some(kind) = text("/sys/hypervisor/type") {
        return Some(by_kernel(system, &kind, &signs));
    }
    if let Some(tree) = text("/proc/device-tree/hypervisor/compatible") {
        let word = tree.trim_start_matches("linux,").to_owned();
        let known = KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(&word));
        let name = known.map_or(word, |known| known.name.to_owned());
        let signs = vec![format!("device tree: {tree}")];
        return Some(PlaceLayer { kind: PlaceKind::Hypervisor, name, signs });
    }
    let first = |shows: &dyn Fn(&KnownPlatform) -> bool| KNOWN.iter().find(|known| shows(known));
    let known = first(&|known| known.lends && signs.firmware_of(known))
        .or_else(|| first(&|known| signs.signature_of(known).is_some()))
        .or_else(|| signs.emulated.as_ref().and(KNOWN.first()))
        .or_else(|| first(&|known| signs.firmware_of(known)))
        .or_else(|| first(&|known| signs.flagged && signs.clock_of(known)));
    match known {
        Some(known) => Some(PlaceLayer {
            kind: known.kind,
            name: known.name.to_owned(),
            signs: signs.for_the(known),
        }),
        None => signs.flagged.then(|| PlaceLayer {
            kind: PlaceKind::Hypervisor,
            name: UNNAMED.to_owned(),
            signs: vec![FLAG.to_owned()],
        }),
    }
}

const FLAG: &str = "CPUID: hypervisor flag";

/// The hypervisor named by the kernel: Xen, with the kind of guest.
fn by_kernel(system: &dyn System, kind: &str, signs: &Signs) -> PlaceLayer {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let known = KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(kind));
    let rules = text("/proc/xen/capabilities").is_some_and(|what| what.contains("control_d"));
    let sort = if rules { Some("dom0".to_owned()) } else { text("/sys/hypervisor/guest_type") };
    let name = known.map_or(kind, |known| known.name);
    let name = sort.map_or_else(|| name.to_owned(), |sort| format!("{name} {sort}"));
    let own = known.map(|known| signs.for_the(known)).unwrap_or_default();
    let signs = [format!("/sys/hypervisor/type: {kind}")].into_iter().chain(own).collect();
    PlaceLayer { kind: PlaceKind::Hypervisor, name, signs }
}

struct Signs {
    signatures: Vec<String>,
    firmware: String,
    clocks: String,
    flagged: bool,
    /// Name of the CPU, if it is an emulated one.
    emulated: Option<String>,
}

impl Signs {
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
            flagged: field("flags").split(' ').any(|flag| flag == "hypervisor"),
            emulated: processor.contains(EMULATED_PROCESSOR).then_some(processor),
        }
    }

    fn signature_of(&self, known: &KnownPlatform) -> Option<&String> {
        let own = |told: &&String| known.signatures.iter().any(|sign| told.contains(sign));
        self.signatures.iter().find(own)
    }

    fn firmware_of(&self, known: &KnownPlatform) -> bool {
        // Amazon's metal machines carry its name, too.
        let metal = self.firmware.contains(".metal");
        !metal && known.firmware.iter().any(|sign| self.firmware.contains(sign))
    }

    fn clock_of(&self, known: &KnownPlatform) -> bool {
        known.clock.is_some_and(|clock| self.clocks.split(' ').any(|own| own.starts_with(clock)))
    }

    fn for_the(&self, known: &KnownPlatform) -> Vec<String> {
        let signature = self.signature_of(known).map(|sign| format!("CPUID: {sign}"));
        let emulated = self.emulated.as_ref().filter(|_| known.kind == PlaceKind::Emulator);
        let emulated = emulated.map(|name| format!("processor: {name}"));
        let firmware = self.firmware_of(known).then(|| format!("DMI: {}", self.firmware));
        let clock = known.clock.filter(|_| self.clock_of(known));
        let clock = clock.map(|clock| format!("clock source: {clock}"));
        [signature, emulated, firmware, clock].into_iter().flatten().collect()
    }
}

/// The container around, if there is one.
fn container(system: &dyn System) -> Option<PlaceLayer> {
    let own = own_namespaces(system);
    let named = named_container(system);
    let spaces = (!own.is_empty()).then(|| format!("own namespaces: {}", own.join(", ")));
    let layer = |name: String, sign: Option<String>| PlaceLayer {
        kind: PlaceKind::Container,
        name,
        signs: sign.into_iter().chain(spaces.clone()).collect(),
    };
    match named {
        Some((name, sign)) => Some(layer(name, Some(sign))),
        None if own.iter().any(|name| OF_CONTAINERS.contains(name)) => {
            Some(layer(format!("namespaces: {}", own.join(", ")), None))
        }
        None => None,
    }
}

/// Name of the container, and the source of the name.
fn named_container(system: &dyn System) -> Option<(String, String)> {
    let text = |path: &str| sysfs::text(system, Path::new(path)).value().cloned();
    let there = |path: &str| system.status(Path::new(path)).is_ok();
    let told = |name: &str, sign: &str| (name.to_owned(), sign.to_owned());
    let variable = || {
        let environment = text("/proc/1/environ")?;
        let mut variables = environment.split('\0');
        let name = variables.find_map(|variable| variable.strip_prefix("container="))?;
        Some(told(name, "/proc/1/environ: container"))
    };
    let by_systemd = || Some(told(&text("/run/systemd/container")?, "/run/systemd/container"));
    let by_file = |path: &'static str, name| there(path).then(|| told(name, path));
    let windows = || {
        let kernel = text("/proc/sys/kernel/osrelease")?.to_lowercase();
        (kernel.contains("microsoft") && there("/proc/sys/fs/binfmt_misc/WSLInterop"))
            .then(|| told("wsl", "/proc/sys/kernel/osrelease"))
    };
    variable()
        .or_else(by_systemd)
        .or_else(|| by_file("/.dockerenv", "docker"))
        .or_else(|| by_file("/run/.containerenv", "podman"))
        .or_else(windows)
        .or_else(|| by_group(&text("/proc/1/cgroup")?))
}

/// A container by the control group that its first process is in.
fn by_group(groups: &str) -> Option<(String, String)> {
    const NAMES: [(&str, &str); 4] =
        [("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc")];
    let paths = groups.lines().filter_map(|line| line.rsplit(':').next());
    let parts: Vec<&str> = paths.flat_map(|path| path.split('/')).collect();
    let found = NAMES.iter().find(|(sign, _)| parts.iter().any(|part| part.starts_with(sign)))?;
    Some((found.1.to_owned(), "/proc/1/cgroup".to_owned()))
}

/// Namespaces other than the machine's first ones.
fn own_namespaces(system: &dyn System) -> Vec<&'static str> {
    let inode = |name: &str| {
        let link = system.read_link(&Path::new("/proc/self/ns").join(name)).ok()?;
        let text = link.to_str()?.split_once('[')?.1.trim_end_matches(']').parse::<u64>();
        text.ok()
    };
    let own = FIRST_NAMESPACES
        .into_iter()
        .filter(|(name, first)| inode(name).is_some_and(|inode| inode != *first));
    own.map(|(name, _)| name).collect()
}

fn mitigations(system: &dyn System) -> Presence<BTreeMap<String, String>> {
    let root = Path::new("/sys/devices/system/cpu/vulnerabilities");
    let text = |name: String| {
        let text = sysfs::text(system, &root.join(&name)).value().cloned()?;
        Some((name, text))
    };
    let found: BTreeMap<_, _> = sysfs::names(system, root).into_iter().filter_map(text).collect();
    Presence::from_option((!found.is_empty()).then_some(found), "the kernel reports no mitigations")
}

#[cfg(test)]
mod tests;
