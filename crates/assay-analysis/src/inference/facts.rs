//! Describes the machine, the targets and the workloads.

use assay_core::presence::Presence;
use assay_machine::system::site::{Backing, Drive, Mount, Site, TargetKind};
use assay_machine::{system::machine::Machine, system::place::PlaceKind};
use assay_study::findings::facts::{FilesystemFacts, IoFacts, PlaceFacts, PlaceSort, Unknown};
use assay_study::findings::{EnvironmentFacts, TargetFacts};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Plan, PlannedWorkload, Survey};
use assay_workloads::io::{self, Pace};

use super::{distinct, rows::RowTrials};

/// Mount options that change what is measured: whole words, or beginnings that end in `=`.
const RELEVANT_OPTIONS: &str = "noatime strictatime lazytime sync dirsync ro discard discard= data= commit= barrier= \
                                nobarrier nodelalloc journal_async_commit dax dax= compress= compress compress-force= \
                                nodatacow nodatasum autodefrag nossd logbufs= logbsize= wsync cache= vers= rsize= \
                                wsize= async writeback_cache kernel_cache volatile compress_algorithm= background_gc= \
                                mode= alloc_mode= fsync_mode= checkpoint=";

pub(super) fn environment_facts(plan: &Plan, environment: &Environment) -> EnvironmentFacts {
    // Drives of the study's virtual machines are in memory: the current directory says nothing about them.
    let has_real_targets = !plan.is_in_machines();
    let targets = environment.sites.iter().zip(&plan.surveys).filter(|_| has_real_targets);
    EnvironmentFacts {
        targets: targets.map(|(site, survey)| target_facts(site, survey)).collect(),
        ..machine_facts(&environment.assay, &environment.machine)
    }
}

fn machine_facts(assay: &str, machine: &Machine) -> EnvironmentFacts {
    let text = |seen: &Presence<String>, otherwise: &str| {
        seen.value().cloned().unwrap_or_else(|| otherwise.to_owned())
    };
    let kernel = text(&machine.kernel, "not known");
    EnvironmentFacts {
        assay: assay.to_owned(),
        kernel: format!("{kernel} {}", machine.architecture).trim_end().to_owned(),
        cpu: text(&machine.cpu, "CPU unknown"),
        cpus: machine.logical_cpus.value().map(|count| *count as u32),
        memory_bytes: machine.memory_bytes.value().copied(),
        virtualization: text(&machine.virtualisation, "not known"),
        platform: platform_facts(machine),
        unknown: unknown(machine),
        ..EnvironmentFacts::default()
    }
}

/// Describes the platform (bare metal, hypervisor, container or emulator) and its CPU settings.
fn platform_facts(machine: &Machine) -> Option<PlaceFacts> {
    let place = machine.place.value()?;
    let known = |seen: &Presence<String>| seen.value().cloned();
    let governor = known(&machine.governor).map(|governor| format!("governor {governor}"));
    let frequency: Vec<String> =
        [governor, known(&place.frequency_driver)].into_iter().flatten().collect();
    Some(PlaceFacts {
        name: place.name(),
        kind: match place.kind() {
            None => PlaceSort::BareMetal,
            Some(PlaceKind::Hypervisor) => PlaceSort::Hypervisor,
            Some(PlaceKind::Emulator) => PlaceSort::Emulator,
            Some(PlaceKind::Container) => PlaceSort::Container,
        },
        signs: place.signs(),
        frequency: (!frequency.is_empty()).then(|| frequency.join(", ")),
        mitigations: place.mitigated(),
        clocksource: known(&machine.clocksource),
        steal_share: None,
    })
}

fn unknown(machine: &Machine) -> Vec<Unknown> {
    let known = [
        (Unknown::Kernel, &machine.kernel),
        (Unknown::Cpu, &machine.cpu),
        (Unknown::Virtualisation, &machine.virtualisation),
    ];
    known.into_iter().filter(|(_, seen)| seen.value().is_none()).map(|(what, _)| what).collect()
}

fn target_facts(site: &Site, survey: &Survey) -> TargetFacts {
    let drive = if let [drive] = site.drives.as_slice() { Some(drive) } else { None };
    let known = |field: fn(&Drive) -> &Presence<String>| field(drive?).value().cloned();
    TargetFacts {
        name: survey.target.clone(),
        drive: drive_words(site),
        model: known(|drive| &drive.model),
        serial: known(|drive| &drive.serial),
        firmware: known(|drive| &drive.firmware),
        size_bytes: drive.map(|drive| drive.size_bytes),
        filesystem: filesystem_words(site),
        scheduler: known(|drive| &drive.scheduler),
        stack: site.layers.iter().map(|layer| format!("{} ({})", layer.name, layer.kind)).collect(),
        area_bytes: survey.area.length,
        direct: survey.direct.value().is_some(),
        writes_buffered: survey.dirtied.is_some_and(|own| own.is_through_cache()),
        rotational: drive.and_then(rotational),
        // Fallbacks are notes of the workloads.
        notes: survey.notes.clone(),
        filesystems: filesystems(site),
        on_a_file: is_on_a_file(site),
        encryption: site.encryption.clone(),
    }
}

/// Whether it is a hard disk; `None` for virtual disks, whose flag is not reliable.
fn rotational(drive: &Drive) -> Option<bool> {
    let virtual_disk = drive.bus.value().is_some_and(|bus| bus == "virtio");
    drive.rotational.value().copied().filter(|_| !virtual_disk)
}

/// The drives below a target with their model and size, or why Assay does not know them.
fn drive_words(site: &Site) -> String {
    let why = || site.backing_reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    if site.kind == TargetKind::Simulated {
        return "simulated".to_owned();
    }
    if site.backing == Backing::Memory {
        return "memory, not a drive".to_owned();
    }
    match site.drives.as_slice() {
        [] if site.backing == Backing::Remote => format!("another machine{}", why()),
        [] => format!("not known{}", why()),
        [drive] => one_drive(drive),
        // A loop device is a file on a drive.
        [first, below @ ..] if is_on_a_file(site) => {
            let below: Vec<String> = below.iter().map(one_drive).collect();
            format!("{} on {}", first.name, below.join("; "))
        }
        drives => {
            format!(
                "{} drives: {}",
                drives.len(),
                distinct(drives.iter().map(one_drive)).join("; ")
            )
        }
    }
}

/// Whether the drive is a loop device, and the others are the drives below its file.
fn is_on_a_file(site: &Site) -> bool {
    match site.drives.as_slice() {
        [first, below @ ..] if site.backing != Backing::Memory => {
            is_loop(first) && !below.iter().any(is_loop)
        }
        _ => false,
    }
}

fn is_loop(drive: &Drive) -> bool {
    drive.bus.value().is_some_and(|bus| bus == "loop")
}

/// `Example SSD, SATA 6.0 Gbit/s`.
fn one_drive(drive: &Drive) -> String {
    let name = drive.model.value().unwrap_or(&drive.name);
    let link = drive.link.value().map(|link| link.name.as_str());
    let interface = link.or(drive.bus.value().map(String::as_str));
    interface.map_or_else(|| name.clone(), |interface| format!("{name}, {interface}"))
}

/// File systems below a target, top first; empty for a device.
fn filesystems(site: &Site) -> Vec<FilesystemFacts> {
    let describe = |mount: &Mount| FilesystemFacts {
        name: mount.filesystem.clone(),
        options: relevant_options(mount).into_iter().map(str::to_owned).collect(),
    };
    let first = match (&site.mount, site.kind) {
        (Presence::Present(mount), _) => describe(mount),
        (Presence::Absent(_), TargetKind::Simulated | TargetKind::Device) => return Vec::new(),
        (Presence::Absent(_), _) => {
            FilesystemFacts { name: site.filesystem(), options: Vec::new() }
        }
    };
    std::iter::once(first).chain(site.followed.iter().map(describe)).collect()
}

/// `fuse.gocryptfs on ext4 (noatime, discard)`.
fn filesystem_words(site: &Site) -> String {
    let options = |mount: &Mount| match relevant_options(mount).as_slice() {
        [] => String::new(),
        options => format!(" ({})", options.join(", ")),
    };
    let mut words = vec![site.filesystem() + &site.mount.value().map(options).unwrap_or_default()];
    words.extend(site.followed.iter().map(|mount| mount.filesystem.clone() + &options(mount)));
    words.join(" on ")
}

fn relevant_options(mount: &Mount) -> Vec<&str> {
    let is_relevant = |option: &&str| {
        RELEVANT_OPTIONS.split(' ').any(|relevant| {
            *option == relevant || (relevant.ends_with('=') && option.starts_with(relevant))
        })
    };
    distinct(mount.options.iter().map(String::as_str).filter(is_relevant))
}

/// The I/O of a planned workload; `None` for other kinds, and for observed ones.
pub(super) fn io(workload: &PlannedWorkload) -> Option<IoFacts> {
    let io = io::IoPlan::of(&workload.work).filter(|_| !workload.work.is_only_watched())?;
    Some(IoFacts {
        pattern: io.pattern,
        mix: io.mix,
        size_bytes: io.block_size.largest().0,
        data_sync: io.sync.every() == Some(1),
        rate_limited: io.is_held_back(),
        shaped: io.is_shaped(),
        partly_synced: io.sync.every().is_some_and(|every| every > 1),
    })
}

/// Schedule deviations of an open loop, over the trials of a row that count.
pub(super) fn pace(row: &RowTrials<'_>) -> Option<Pace> {
    let counted = row.counting().filter_map(|trial| trial.record.measured.as_ref());
    counted.filter_map(|measured| io::IoDetail::of(measured)?.pace).reduce(Pace::plus)
}

/// The word for a target in sentences.
pub(super) fn noun(site: Option<&Site>) -> &'static str {
    let Some([drive]) = site.map(|site| site.drives.as_slice()) else { return "storage" };
    let removable = drive.removable.value() == Some(&true);
    match drive.bus.value().map(String::as_str) {
        Some("mmc") if removable => "card",
        Some("usb") if removable => "stick",
        _ => "drive",
    }
}
