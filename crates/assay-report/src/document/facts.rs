//! Descriptions of the measured system.

use assay_core::quantity::units::show;
use assay_study::findings::facts::Unknown;
use assay_study::findings::{EnvironmentFacts, Findings, TargetFacts};
use assay_study::results::plan::Arm;

/// Value of `guest` for a machine that is not virtual.
const NO_GUEST: &str = "none";

pub(super) type Facts = Vec<(String, String)>;

/// Title of the preset `check`: a result with it needs no title line.
pub(super) const USUAL_TITLE: &str = "How fast is this storage?";

/// `assay 0.1.0 check  2026-07-30 12:00`.
pub(super) fn title(findings: &Findings) -> String {
    let started = findings.study.started.replace('T', " ");
    let minute: String = started.chars().take(16).collect();
    let title = format!("assay {} {}  {minute}", findings.environment.assay, findings.study.kind);
    title.trim_end().to_owned()
}

/// Its title if the user chose one, fixed levels, and the owner's notes.
pub(super) fn study(findings: &Findings) -> Facts {
    let study = &findings.study;
    let title = (study.title != USUAL_TITLE).then(|| ("title".to_owned(), study.title.clone()));
    let notes = study.notes.iter().map(|note| ("note".to_owned(), note.clone()));
    let held: Vec<String> =
        held(findings).iter().map(|(name, level)| format!("{name} {level}")).collect();
    let held = (!held.is_empty()).then(|| ("fixed".to_owned(), held.join("; ")));
    title.into_iter().chain(held).chain(notes).collect()
}

/// Levels common to all arms: factors with one level.
pub(super) fn held(findings: &Findings) -> Arm {
    let held = findings.study.factors.iter().filter(|factor| factor.levels.len() == 1);
    held.filter_map(|factor| Some((factor.name.clone(), factor.levels.first()?.clone()))).collect()
}

/// The arm of a target in a check: the fixed levels, and the target if there are several.
pub(super) fn arm_of(findings: &Findings, target: &TargetFacts) -> Arm {
    let mut arm = held(findings);
    if findings.environment.targets.len() > 1 {
        arm.insert("target".to_owned(), target.name.clone());
    }
    arm
}

pub(super) fn target(target: &TargetFacts) -> Facts {
    let mut facts = vec![("drive".to_owned(), drive(target))];
    if target.stack.len() > 1 {
        facts.push(("stack".to_owned(), target.stack.join(", ")));
    }
    let area = (target.area_bytes > 0).then(|| area_words(target));
    let told = [Some(target.filesystem.clone()).filter(|told| !told.is_empty()), area];
    let told: Vec<String> = told.into_iter().flatten().collect();
    facts.push(("filesystem".to_owned(), told.join("; ")));
    facts
}

pub(super) fn target_line(target: &TargetFacts) -> String {
    let own = [target.name.clone(), drive(target), target.filesystem.clone()];
    let told: Vec<String> = own.into_iter().filter(|word| !word.is_empty()).collect();
    let area = (target.area_bytes > 0).then(|| area_words(target));
    let encryption = (!target.encryption.is_empty())
        .then(|| format!("encrypted: {}", target.encryption.join(" on ")));
    [Some(told.join(", ")), encryption, area].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

pub(super) fn drive(target: &TargetFacts) -> String {
    let size = target.size_bytes.map(show::bytes);
    let turning = (target.rotational == Some(true)).then(|| "rotating".to_owned());
    let scheduler = target.scheduler.as_ref().map(|name| format!("scheduler {name}"));
    let words: Vec<String> =
        [Some(target.drive.clone()), size, turning, scheduler].into_iter().flatten().collect();
    words.join(", ")
}

pub(super) fn area_words(target: &TargetFacts) -> String {
    format!("area {}", area(target))
}

fn area(target: &TargetFacts) -> String {
    format!("{}, {}", show::bytes(target.area_bytes), target.caching_words())
}

/// Kernel and machine, if known: an imported table has neither.
pub(super) fn machine(environment: &EnvironmentFacts) -> Facts {
    let known = |what: Unknown| !environment.unknown.contains(&what);
    let cpu = known(Unknown::Cpu).then(|| environment.cpu.clone());
    let cpu = match (environment.cpus, cpu) {
        (Some(count), Some(cpu)) if count > 1 => Some(format!("{count} x {cpu}")),
        (Some(count), None) => Some(format!("{count} CPUs")),
        (_, cpu) => cpu,
    };
    let memory = environment.memory_bytes.map(|bytes| format!("{} memory", show::bytes(bytes)));
    let guest = known(Unknown::Virtualisation) && environment.virtualization != NO_GUEST;
    // A result that records its place has a separate line for it.
    let guest =
        (guest && environment.platform.is_none()).then(|| environment.virtualization.clone());
    let machine: Vec<String> = [cpu, memory, guest].into_iter().flatten().collect();
    let kernel = known(Unknown::Kernel).then(|| ("kernel".to_owned(), environment.kernel.clone()));
    let machine = (!machine.is_empty()).then(|| ("machine".to_owned(), machine.join(", ")));
    let place = environment.platform.as_ref().map(|place| ("platform".to_owned(), place.words()));
    kernel.into_iter().chain(machine).chain(place).collect()
}
