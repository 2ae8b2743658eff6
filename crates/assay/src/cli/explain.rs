//! `assay plan --commands`: a study as fio command lines.

use std::path::Path;

use serde::Serialize;

use super::study_arguments::StudyArguments;
use super::{front, output, studies};
use crate::store::{
    self,
    commands::{self, NameForm, WorkloadCommand},
};
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{FileKind, System, identity, quoted};
use assay_study::file::{Study, Target, fields::TARGET_FACTOR, now, presets, simulated};
use assay_study::plan::{self, arms, arms::ArmLayout};
use assay_study::results::bundle;
use assay_study::results::plan::{
    AbsentWorkload, Area, Arm, DirectUse, EngineUse, Plan, Survey, pilot_key,
};
use assay_workloads::io::Engine;

/// Test area of a study without one; the run uses less if space is short.
const AREA: Bytes = Bytes(1 << 30);

/// Runs `assay plan --commands` with the study's changes from the command line.
pub fn of_plan(system: &dyn System, of_study: &StudyArguments, is_json: bool) -> Outcome<()> {
    if let Some((word, target)) = of_study.unchanged() {
        return print(system, word, source(system, word, target)?, is_json);
    }
    let (study, targets) = of_study.study(system)?;
    let names = if of_study.has_targets() { NameForm::Typed } else { NameForm::Stored };
    print(system, "this study", planned(system, study, &targets, names), is_json)
}

fn print(
    system: &dyn System,
    word: &str,
    Explained { study, plan, sites, names }: Explained,
    is_json: bool,
) -> Outcome<()> {
    if plan.workloads.iter().any(|workload| workload.work.is_only_watched()) {
        return Err(mistake!(
            "{word}: Assay only observed and ran no workload, so there is no command line"
        ));
    }
    if names == NameForm::Typed && arms::makes_on_device(&study) {
        // Refuses lines that would overwrite a device in use, like the run.
        for site in sites.iter().flatten().filter(|site| site.kind == TargetKind::Device) {
            identity::stake(system, site)?;
        }
    }
    let commands = commands::for_plan(system, &study, &plan, &sites, names);
    let remarks = remarks(&study, &plan);
    if is_json {
        let absent = plan.absent.iter();
        let absent = absent.map(|it| AbsentWorkload { reason: it.words(), ..it.clone() });
        output::json(&CommandsDocument {
            format: "assay-explain/1",
            title: &study.title,
            commands: &commands,
            absent: absent.collect(),
            notes: &remarks,
        });
        return Ok(());
    }
    let width = output::columns(system);
    let mut lines: Vec<_> = commands.iter().flat_map(|command| lines(command, width)).collect();
    for absent in &plan.absent {
        let text =
            format!("{}: {}", pilot_key(&absent.name, &absent.configuration), absent.words());
        lines.extend(wrapped(text.split(' '), "", "", width));
        lines.push(String::new());
    }
    let heading = "These command lines do not reproduce the following:";
    lines.extend(wrapped(heading.split(' '), "", "", width));
    for remark in &remarks {
        lines.extend(wrapped(std::iter::once("-").chain(remark.split(' ')), "  ", "", width));
    }
    output::text(&lines.join("\n"));
    Ok(())
}

pub(super) struct Explained {
    pub(super) study: Study,
    pub(super) plan: Plan,
    pub(super) sites: Vec<Option<Site>>,
    pub(super) names: NameForm,
}

/// Returns the study and its plan: a stored result's as it ran, otherwise with every operation permitted.
pub(super) fn source(system: &dyn System, word: &str, target: Option<&str>) -> Outcome<Explained> {
    let is_file = system.status(Path::new(word)).is_ok_and(|it| it.kind != FileKind::Directory);
    if presets::find(word).is_none()
        && !is_file
        && let Ok(directory) = store::find(system, Some(word))
    {
        return stored(system, &directory, target);
    }
    let study = studies::load(system, word)?.settled();
    let names = if target.is_some() { NameForm::Typed } else { NameForm::Stored };
    let targets = targets(&study, target);
    Ok(planned(system, study, &targets, names))
}

/// Plans a study with every operation permitted, without the levels that keep current values.
pub(super) fn planned(
    system: &dyn System,
    mut study: Study,
    targets: &[String],
    names: NameForm,
) -> Explained {
    // Current values need no command: the other levels replace them.
    for name in now::asked(&study) {
        now::remove_current(&mut study, &name);
    }
    let plan = plan_of(system, &study, targets);
    let sites = commands::sites(system, &plan);
    Explained { study, plan, sites, names }
}

/// Returns the plan of a study, with every operation permitted.
pub(super) fn plan_of(system: &dyn System, study: &Study, targets: &[String]) -> Plan {
    let layout = ArmLayout::new(study, targets);
    let mut surveys = Vec::new();
    for target in targets {
        surveys.extend(layout.bases.iter().map(|base| survey(system, study, target, base)));
    }
    plan::make(study, surveys, study.seed.unwrap_or_default())
}

fn stored(system: &dyn System, directory: &Path, target: Option<&str>) -> Outcome<Explained> {
    if let Some(target) = target {
        return Err(mistake!("a stored result has a fixed target; remove `{target}`"));
    }
    let stored = bundle::read(system, directory)?;
    let sites = stored.environment.sites.into_iter().map(Some).collect();
    Ok(Explained { study: stored.study, plan: stored.plan, sites, names: NameForm::Stored })
}

/// Returns the target of the command line, the levels of the factor, or the study's own target.
fn targets(study: &Study, wanted: Option<&str>) -> Vec<String> {
    if let Some(wanted) = wanted {
        return vec![wanted.to_owned()];
    }
    if let Some(levels) = study.factors.get(TARGET_FACTOR) {
        return levels.clone();
    }
    vec![study.target.as_ref().map_or_else(|| ".".to_owned(), Target::word)]
}

/// Returns an assumed survey of a target, whose abilities are not checked.
fn survey(system: &dyn System, study: &Study, target: &str, base: &Arm) -> Survey {
    let kind = system.status(Path::new(target)).map(|status| status.kind);
    let is_named = matches!(study.target, Some(Target::File(_) | Target::Device(_)))
        && study.target.as_ref().map(Target::word).as_deref() == Some(target);
    // A run writes to existing files and devices only if a layer of the arm is created on them.
    let is_data = is_named || matches!(kind, Ok(FileKind::File | FileKind::BlockDevice));
    let read_only = is_data && base.is_empty();
    let is_simulated = target.starts_with(simulated::PREFIX);
    let engine = if is_simulated { Engine::Simulated } else { Engine::IoUring };
    let length = study.area.size.unwrap_or(AREA).0;
    Survey {
        area: Area { start: 0, length, asked: length, written: !read_only, fill_ns: 0 },
        direct: Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 }),
        engine: EngineUse { name: engine, note: None },
        under: base.clone(),
        ..Survey::untaken(target, "not checked")
    }
}

/// Returns what the command lines do not reproduce.
fn remarks(study: &Study, plan: &Plan) -> Vec<String> {
    let mut remarks = Vec::new();
    let shares_time = study.workload.iter().any(|workload| workload.work.time().is_none());
    if shares_time && let Some(budget) = study.budget {
        remarks.push(format!("--runtime is a share of the budget of {budget}; Assay uses part of the budget to fill the test area"));
    }
    for text in plan.workloads.iter().flat_map(|workload| workload.work.not_said()) {
        if !remarks.iter().any(|known| known == text) {
            remarks.push((*text).to_owned());
        }
    }
    remarks
}

/// A study as fio command lines that do the same work.
#[derive(Serialize)]
struct CommandsDocument<'a> {
    format: &'static str,
    title: &'a str,
    commands: &'a [WorkloadCommand],
    absent: Vec<AbsentWorkload>,
    notes: &'a [String],
}

/// Returns the lines of one workload: title, setup, command, and notes as comments.
fn lines(command: &WorkloadCommand, width: usize) -> Vec<String> {
    let title = pilot_key(&command.workload, &command.configuration);
    let several = command.configuration.contains_key(TARGET_FACTOR);
    let place = if several { format!(" at {}", command.target) } else { String::new() };
    let title = format!("{title}{place}: {}", command.description);
    let mut lines = wrapped(title.split(' '), "", "", width);
    for line in &command.setup {
        // A shell does not continue a line after a comment.
        let more = if line.starts_with('#') { "" } else { " \\" };
        lines.extend(wrapped(line.split(' '), "  ", more, width));
    }
    let quoted: Vec<String> = command.command.iter().map(|word| quoted(word)).collect();
    lines.extend(wrapped(quoted.iter().map(String::as_str), "  ", " \\", width));
    for remark in &command.notes {
        lines.extend(wrapped(std::iter::once("#").chain(remark.split(' ')), "  ", "", width));
    }
    lines.push(String::new());
    lines
}

/// Breaks words into lines of a width: all start with `indent`, later ones deeper; all but the last end with `more`.
fn wrapped<'w>(
    words: impl Iterator<Item = &'w str>,
    indent: &str,
    more: &str,
    width: usize,
) -> Vec<String> {
    let room = width.saturating_sub(more.len());
    let mut lines = front::wrap(indent, words, indent.len() + 2, room);
    if let Some((_last, earlier)) = lines.split_last_mut() {
        for line in earlier {
            line.push_str(more);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let lines = wrapped("aa bb cc dd".split(' '), "", " \\", 8);
        assert_eq!(lines, ["aa bb \\", "  cc \\", "  dd"]);
        assert_eq!(wrapped("a-long-word b".split(' '), "  ", "", 4), ["  a-long-word", "    b"]);
    }
}
