//! A study as command lines that do the same work.

use serde::Serialize;

use assay_machine::factors::View;
use assay_machine::factors::layers::{Gives, Stack, Wish};
use assay_machine::factors::lines::{DEVICE, LayerBase, MOUNT_POINT, lines};
use assay_machine::factors::permanent::ANY_DIRECTORY;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{self, System};
use assay_study::file::{Study, Target, simulated};
use assay_study::plan::arms;
use assay_study::results::plan::{Arm, Plan, PlannedWorkload, Survey};
use assay_workloads::{ManualCommand, ManualRun};

/// Name of the file that the lines use in a directory.
const FILE: &str = "assay-explain.fio";

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkloadCommand {
    pub workload: String,
    pub configuration: Arm,
    pub target: String,
    pub description: String,
    /// Lines that change the settings of the machine first.
    pub setup: Vec<String>,
    /// Unquoted words, the program first.
    pub command: Vec<String>,
    pub notes: Vec<String>,
}

/// Returns the current site of each target of a plan, where known.
pub fn sites(system: &dyn System, plan: &Plan) -> Vec<Option<Site>> {
    let site = |survey: &Survey| system::resolve(system, &survey.target).ok();
    plan.surveys.iter().map(site).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// Typed by the user just now.
    Typed,
    /// From an earlier day: the device name may now, or here, mean another device.
    Stored,
}

/// Returns the command lines per workload and arm. Names a device that would lose data only if the user named it.
pub fn for_plan(
    system: &dyn System,
    study: &Study,
    plan: &Plan,
    sites: &[Option<Site>],
    names: NameForm,
) -> Vec<WorkloadCommand> {
    let mut commands = Vec::new();
    for workload in &plan.workloads {
        // The A/A control would repeat a line, and watching has no command line.
        if workload.control || workload.work.is_only_watched() {
            continue;
        }
        let survey = &plan.surveys[workload.target];
        let site = sites.get(workload.target).and_then(Option::as_ref);
        let view = site.map(|site| View { system, site });
        let manual = manual_command(workload, survey, &target_path(workload, survey, site));
        commands.push(WorkloadCommand {
            workload: workload.name.clone(),
            configuration: workload.arm.clone(),
            target: survey.target.clone(),
            description: describe(study, workload),
            setup: lines(&workload.arm, view.as_ref(), &layer_base(study, site, names)),
            command: manual.words,
            notes: manual.remarks,
        });
    }
    commands
}

/// Returns the command line of a workload, named after the workload and its levels.
fn manual_command(workload: &PlannedWorkload, survey: &Survey, path: &str) -> ManualCommand {
    let mut name = workload.name.clone();
    name.extend(workload.arm.iter().map(|(factor, level)| format!("-{factor}-{level}")));
    workload.work.by_hand(&ManualRun {
        name: &name,
        area: survey.area,
        path,
        ramp_ns: workload.ramp_ns,
        time_ns: workload.time_ns,
        note: workload.note.as_deref(),
        background: workload.background.as_ref(),
    })
}

/// Describes a workload as the study defines it with the settings, or else as planned.
fn describe(study: &Study, workload: &PlannedWorkload) -> String {
    let defined = study.workload.iter().find(|defined| defined.name == workload.name);
    let adapted = defined.and_then(|defined| defined.under(&workload.arm).ok());
    adapted.map_or_else(|| workload.words(), |adapted| adapted.words())
}

/// Returns the devices, or the directory, for the setup lines; a stored device is not named.
fn layer_base(study: &Study, site: Option<&Site>, names: NameForm) -> LayerBase {
    if !arms::makes_on_device(study) {
        let directory = site.filter(|site| site.kind == TargetKind::Directory);
        let named = directory.map(|site| site.path.clone()).into_iter().collect();
        return LayerBase { named, members: 1 };
    }
    let named = match (&study.target, site) {
        (Some(Target::Devices(paths)), _) => paths.iter().map(Into::into).collect(),
        (_, Some(site)) if site.kind == TargetKind::Device => vec![site.path.clone()],
        _ => Vec::new(),
    };
    let members = named.len().max(study.loop_devices() as usize);
    // A device still to be created has no name yet.
    let is_typed = names == NameForm::Typed && named.iter().all(|it| !it.as_os_str().is_empty());
    LayerBase { named: if is_typed { named } else { Vec::new() }, members }
}

/// Returns the target of the lines: the target itself, or a file on it. Observed work has no test file.
fn target_path(workload: &PlannedWorkload, survey: &Survey, site: Option<&Site>) -> String {
    if workload.work.is_others() {
        return survey.target.clone();
    }
    let is_device = site.is_some_and(|site| site.kind == TargetKind::Device);
    if survey.under.is_empty() {
        if is_device && survey.area.written {
            // A placeholder: the consent to an earlier run does not permit typing the device again.
            return DEVICE.to_owned();
        }
        return file_path(&survey.target, survey.area.written);
    }
    let Ok(stack) = Stack::new(&Wish::new(&survey.under)) else {
        return file_path(MOUNT_POINT, true);
    };
    let top = stack.commands(vec![survey.target.clone().into()]).out;
    if is_device && top.as_os_str() == survey.target.as_str() {
        // The layers need a directory on this device, whose path is unknown.
        return file_path(ANY_DIRECTORY, true);
    }
    file_path(&top.to_string_lossy(), stack.gives() == Some(Gives::Directory))
}

/// Returns the path of the test file in a target, or the target itself without one.
fn file_path(target: &str, has_test_file: bool) -> String {
    if target.starts_with(simulated::PREFIX) {
        return "FILE".to_owned();
    }
    if !has_test_file {
        return target.to_owned();
    }
    format!("{}/{FILE}", target.trim_end_matches('/'))
}
