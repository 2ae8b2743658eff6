//! Features that work on this machine, and what is missing for the others (`assay doctor`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use assay_core::presence::Presence;
use assay_machine::factors::guard;
use assay_machine::factors::layers::{self, LAYERS, Layer, Levels, Wish};
use assay_machine::probes::{self, own_traffic, processors};
use assay_machine::system::{Caching, System, devices, identity, journal, place};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ability {
    pub name: String,
    pub purpose: Cow<'static, str>,
    pub state: Presence<String>,
    /// What to do about a missing feature, or why it does not matter.
    pub advice: &'static str,
}

/// Tests each feature on this machine, in the order in which `assay doctor` prints them.
pub fn all(system: &dyn System) -> Vec<Ability> {
    let is_root = system.user().id == 0;
    let processors = processors::read(system);
    let mut abilities = engines();
    abilities.extend([
        locked_memory(system),
        counters(system),
        Ability {
            name: "own traffic".to_owned(),
            purpose: "separating Assay's reads and writes from other traffic".into(),
            state: own_traffic::read(system).map(|_| "/proc/self/io".to_owned()),
            advice: "without this, other traffic is visible only between trials",
        },
        where_it_runs(system),
        page_cache(system),
        extents(system),
        Ability {
            name: "stolen time".to_owned(),
            purpose: "detecting CPU time stolen by the host".into(),
            state: processors.ticks.map(|_| "/proc/stat".to_owned()),
            advice: LOST,
        },
        Ability {
            name: "thermal throttling".to_owned(),
            purpose: "detecting CPUs throttled by heat".into(),
            state: processors.throttle_events.map(|_| "counted by the kernel".to_owned()),
            advice: "normal in virtual machines and on CPUs without this counter",
        },
        probe(system, "block-latency", "request latency by class", CLASSES),
        probe(system, "cpu-usage", "busy, idle and stolen time of each CPU", LOST),
        probe(system, "pressure", "how long tasks waited for CPUs, devices and memory", LOST),
        probe(system, "memory", "swapping and out-of-memory kills", LOST),
        probe(system, "temperature", "temperatures and thermal throttling of drives", SENSORS),
        probe(
            system,
            "power-supply",
            "trials during which mains power was connected or disconnected",
            SENSORS,
        ),
        probe(system, "kernel-log", "hardware errors in the kernel log", KERNEL_LOG),
        probe(system, "energy", "joules, watts and joules per GiB", ENERGY),
        probe(
            system,
            "drive-health",
            "bytes that a study writes to a drive, and drive wear",
            HEALTH,
        ),
        Ability {
            name: "block devices".to_owned(),
            purpose: "measuring a drive below the filesystem, read-only or destructive".into(),
            state: Presence::from_option(
                is_root.then(|| "running as root".to_owned()),
                "other users usually cannot open block devices",
            ),
            advice: "directories and files need no root; use sudo for devices",
        },
        Ability {
            name: "settings".to_owned(),
            purpose: "changing and restoring kernel settings (factors)".into(),
            state: Presence::from_option(
                is_root.then(|| "works".to_owned()),
                "only root may do this",
            ),
            advice: "run such studies with sudo; see assay list factors",
        },
    ]);
    abilities.extend(LAYERS.iter().filter_map(|layer| layer_ability(system, *layer)));
    abilities.extend([journals(system), results(system)]);
    abilities
}

/// Sizes of devices that do not limit any layer; their sum does not overflow.
const LARGE_DEVICES: [u64; 8] = [u64::MAX / 8; 8];

const CLASSES: &str = "run as root; otherwise Assay uses device counters (means only, no classes)";

fn engines() -> Vec<Ability> {
    assay_load::ENGINES
        .iter()
        .filter(|entry| entry.needs_file)
        .map(|entry| Ability {
            name: format!("engine {}", entry.name),
            purpose: entry.summary.into(),
            state: (entry.available)()
                .map_or_else(Presence::Absent, |()| Presence::Present("works".to_owned())),
            advice: "Assay uses psync threads instead; containers often block io_uring",
        })
        .collect()
}

fn where_it_runs(system: &dyn System) -> Ability {
    let state = place::place(system).map(|place| match place.signs().as_slice() {
        [] => place.name(),
        signs => format!("{} ({})", place.name(), signs.join("; ")),
    });
    Ability {
        name: "place".to_owned(),
        purpose: "bare metal, hypervisor, container or emulator, stored with each result".into(),
        state,
        advice: "otherwise, Assay distinguishes results only by kernel and CPU",
    }
}

const LEVEL_MARK: &str = "\0";

/// Tests which choices of a layer this machine can create; `None` if no factor chooses the layer.
fn layer_ability(system: &dyn System, layer: &dyn Layer) -> Option<Ability> {
    let name = layer.chooser()?.about().name;
    let mut works: Vec<String> = Vec::new();
    // Levels by reason. `LEVEL_MARK` replaces the level, so that levels with the same reason form one group.
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for level in layer.choices() {
        let mut levels = Levels::from([(name.to_owned(), level.clone())]);
        levels.extend(layer.ground());
        let Some(recipe) = layer.recipe(&Wish::new(&levels)) else { continue };
        match recipe.missing(system, &LARGE_DEVICES) {
            None => works.push(level),
            Some(reason) => {
                missing.entry(reason.replacen(&level, LEVEL_MARK, 1)).or_default().push(level);
            }
        }
    }
    let reasons =
        missing.iter().map(|(reason, levels)| reason.replace(LEVEL_MARK, &levels.join(", ")));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    let state = if works.is_empty() {
        None
    } else if missing.is_empty() {
        Some(works.join(", "))
    } else {
        Some(format!("{} ({reasons})", works.join(", ")))
    };
    Some(Ability {
        name: layers::plural(layer.noun()),
        purpose: format!("levels of the factor {name}").into(),
        state: Presence::from_option(state, reasons),
        advice: "Assay skips levels without their program or module and reports the reason",
    })
}

/// Tests whether all runs restored the settings that they changed.
fn journals(system: &dyn System) -> Ability {
    let home = identity::state_directory(system);
    let left = home.and_then(|home| journal::unfinished(system, &guard::journals(&home)));
    let state = match left {
        Ok(left) if left.is_empty() => Presence::Present("everything is restored".to_owned()),
        Ok(left) => {
            let ids: Vec<&str> = left.iter().map(|journal| journal.id.as_str()).collect();
            Presence::absent(format!("{} ended without restoring the machine", ids.join(", ")))
        }
        Err(failure) => Presence::Absent(failure.message),
    };
    Ability {
        name: "journal".to_owned(),
        purpose: "restoring settings that a killed run changed".into(),
        state,
        advice: "run assay restore; until then, studies cannot start",
    }
}

fn locked_memory(system: &dyn System) -> Ability {
    // Max locked memory         8388608              8388608              bytes
    let limit = system.read_text(Path::new("/proc/self/limits")).ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("Max locked memory"))?;
        line.split_whitespace().nth(3).map(str::to_owned)
    });
    let shown = limit.map(|limit| match limit.parse::<u64>() {
        Ok(bytes) => format!("{} KiB", bytes / 1024),
        Err(_) => limit,
    });
    Ability {
        name: "locked memory".to_owned(),
        purpose: "registering buffers with the kernel, which reduces io_uring overhead".into(),
        state: Presence::from_option(shown, "/proc/self/limits does not show the limit"),
        advice: "if the limit is too small, Assay uses unregistered buffers and reports the fallback",
    }
}

fn counters(system: &dyn System) -> Ability {
    let mut drives = devices::drives(system);
    drives.retain(|drive| devices::counters(system, &drive.name).value().is_some());
    let counted: Vec<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
    Ability {
        name: "device counters".to_owned(),
        purpose: "counting bytes that reached a drive, and traffic of other programs".into(),
        state: Presence::from_option(
            (!counted.is_empty()).then(|| counted.join(", ")),
            "no drive has counters under /sys/class/block",
        ),
        advice: "Assay cannot check numbers without counters; run it outside the container",
    }
}

fn page_cache(system: &dyn System) -> Ability {
    let state = try_on_own_program(system, |system, file, length| {
        system
            .cached_pages(file, 0..length)
            .map(|_| "cachestat".to_owned())
            .or_else(|_| system.resident_pages(file, 0..length).map(|_| "mincore".to_owned()))
    });
    Ability {
        name: "page cache".to_owned(),
        purpose: "detecting reads served from memory".into(),
        state,
        advice: "without this, device counters are the only evidence",
    }
}

fn extents(system: &dyn System) -> Ability {
    let state = try_on_own_program(system, |system, file, length| {
        system.extents(file, 0..length).map(|_| "FIEMAP, on this program's filesystem".to_owned())
    });
    Ability {
        name: "file extents".to_owned(),
        purpose: "detecting blocks that were never written".into(),
        state,
        advice: "Assay reads a sample of blocks and checks for zeros instead",
    }
}

/// Tries a call on the file of this program, which exists on every machine; returns what it used.
fn try_on_own_program(
    system: &dyn System,
    attempt: impl FnOnce(&dyn System, &std::fs::File, u64) -> std::io::Result<String>,
) -> Presence<String> {
    let tried = system
        .open_for_reading(Path::new("/proc/self/exe"), Caching::Buffered)
        .and_then(|file| system.length(&file).and_then(|length| attempt(system, &file, length)));
    tried.map_or_else(|error| Presence::absent(error.to_string()), Presence::Present)
}

const LOST: &str = "without this, disturbed trials look like slow trials";
const SENSORS: &str = "normal in virtual machines";
const KERNEL_LOG: &str = "run as root, or set kernel.dmesg_restrict to 0";
const ENERGY: &str = "use the log of a power meter: --set power_meter=FILE";
const HEALTH: &str = "run as root, with smartctl (package smartmontools) for all but NVMe drives";

fn probe(system: &dyn System, name: &str, purpose: &'static str, advice: &'static str) -> Ability {
    let here = probes::here(system, name);
    let state = here.unwrap_or_else(|| Presence::absent("no such probe"));
    Ability { name: name.replace('-', " "), purpose: purpose.into(), state, advice }
}

fn results(system: &dyn System) -> Ability {
    let state = match identity::results_directory(system) {
        Ok(directory) => match system.create_directory(&directory) {
            Ok(()) => Presence::Present(directory.display().to_string()),
            Err(error) => Presence::absent(format!("{}: {error}", directory.display())),
        },
        Err(failure) => Presence::Absent(failure.message),
    };
    Ability {
        name: "results".to_owned(),
        purpose: "storing results".into(),
        state,
        advice: "set ASSAY_HOME to a directory that you own (Assay still prints results)",
    }
}
