//! Descriptions of the measured system.

use assay_core::quantity::units::show;
use assay_study::findings::{EnvironmentFacts, Findings, TargetFacts, facts::Unknown};
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

/// The title of the study if the user chose one, fixed levels, and the owner's notes.
pub(super) fn study(findings: &Findings) -> Facts {
    let study = &findings.study;
    let title = (study.title != USUAL_TITLE).then(|| ("title".to_owned(), study.title.clone()));
    let notes = study.notes.iter().map(|note| ("note".to_owned(), note.clone()));
    let levels: Vec<String> =
        fixed_levels(findings).iter().map(|(name, level)| format!("{name} {level}")).collect();
    let fixed = (!levels.is_empty()).then(|| ("fixed".to_owned(), levels.join("; ")));
    title.into_iter().chain(fixed).chain(notes).collect()
}

/// Levels common to all arms: factors with one level.
pub(super) fn fixed_levels(findings: &Findings) -> Arm {
    let fixed = findings.study.factors.iter().filter(|factor| factor.levels.len() == 1);
    fixed.filter_map(|factor| Some((factor.name.clone(), factor.levels.first()?.clone()))).collect()
}

/// The arm of a target in a check: the fixed levels, and the target if there are several.
pub(super) fn arm_of(findings: &Findings, target: &TargetFacts) -> Arm {
    let mut arm = fixed_levels(findings);
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
    let mut parts = vec![target.filesystem.clone()];
    parts.extend((target.area_bytes > 0).then(|| area_words(target)));
    parts.retain(|part| !part.is_empty());
    facts.push(("filesystem".to_owned(), parts.join("; ")));
    facts
}

pub(super) fn target_line(target: &TargetFacts) -> String {
    let mut names = vec![target.name.clone(), drive(target), target.filesystem.clone()];
    names.retain(|name| !name.is_empty());
    let mut parts = vec![names.join(", ")];
    if !target.encryption.is_empty() {
        parts.push(format!("encrypted: {}", target.encryption.join(" on ")));
    }
    if target.area_bytes > 0 {
        parts.push(area_words(target));
    }
    parts.join("; ")
}

pub(super) fn drive(target: &TargetFacts) -> String {
    let size = target.size_bytes.map(show::bytes);
    let rotating = (target.rotational == Some(true)).then(|| "rotating".to_owned());
    let scheduler = target.scheduler.as_ref().map(|name| format!("scheduler {name}"));
    let mut words = vec![target.drive.clone()];
    words.extend([size, rotating, scheduler].into_iter().flatten());
    words.join(", ")
}

pub(super) fn area_words(target: &TargetFacts) -> String {
    format!("area {}, {}", show::bytes(target.area_bytes), target.caching_words())
}

/// Kernel and machine, if known: an imported table has neither.
pub(super) fn machine(environment: &EnvironmentFacts) -> Facts {
    let knows = |fact: Unknown| !environment.unknown.contains(&fact);
    let model = knows(Unknown::Cpu).then(|| environment.cpu.clone());
    let cpu = match (environment.cpus, model) {
        (Some(count), Some(model)) if count > 1 => Some(format!("{count} x {model}")),
        (Some(count), None) => Some(format!("{count} CPUs")),
        // One CPU, or an unknown number.
        (_, model) => model,
    };
    let memory = environment.memory_bytes.map(|bytes| format!("{} memory", show::bytes(bytes)));
    let is_guest = knows(Unknown::Virtualisation) && environment.virtualization != NO_GUEST;
    // A result that records its platform has a separate line for it.
    let guest =
        (is_guest && environment.platform.is_none()).then(|| environment.virtualization.clone());
    let parts: Vec<String> = [cpu, memory, guest].into_iter().flatten().collect();
    let kernel = knows(Unknown::Kernel).then(|| ("kernel".to_owned(), environment.kernel.clone()));
    let machine = (!parts.is_empty()).then(|| ("machine".to_owned(), parts.join(", ")));
    let platform = environment.platform.as_ref().map(|it| ("platform".to_owned(), it.words()));
    kernel.into_iter().chain(machine).chain(platform).collect()
}
