//! A study as the command lines that do the same work.

use crate::factors::View;
use crate::factors::lines::{MOUNT_POINT, lines};
use crate::plan::arms;
use crate::results::plan::{Arm, Plan, PlannedWorkload, Survey};
use crate::study::{Study, Workload, simulated};
use crate::system::site::Site;
use crate::system::{self, System};
use crate::workloads::fio_line::{self, FioLine};

/// Name of the file that the lines work on in a directory.
const FILE: &str = "assay-explain.fio";

/// One workload under one arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// The target as the user wrote it.
    pub target: String,
    /// The workload in words, as the study has it.
    pub words: String,
    /// What is typed before it, to bring the machine there.
    pub before: Vec<String>,
    /// What is typed.
    pub fio: FioLine,
}

/// What each target of a plan stands on here and now, where it can be told.
pub fn sites(system: &dyn System, plan: &Plan) -> Vec<Option<Site>> {
    let site = |survey: &Survey| system::resolve(system, &survey.target).ok();
    plan.surveys.iter().map(site).collect()
}

/// The command lines of a plan, one for each workload and arm. A stored result names the devices
/// that were recorded with it: here the same names may be somebody else's.
pub fn of(system: &dyn System, study: &Study, plan: &Plan, sites: &[Option<Site>]) -> Vec<Command> {
    // The second copy of the baseline is the same line again.
    let workloads = plan.workloads.iter();
    let workloads = workloads.filter(|own| !own.control && !own.is_only_watched());
    workloads
        .map(|workload| {
            let survey = &plan.surveys[workload.target];
            let target = if survey.under.is_empty() { &survey.target } else { MOUNT_POINT };
            let site = sites.get(workload.target).and_then(Option::as_ref);
            let view = site.map(|site| View { system, site });
            Command {
                workload: workload.name.clone(),
                arm: workload.arm.clone(),
                target: survey.target.clone(),
                words: words(study, workload),
                before: lines(&workload.arm, view.as_ref()),
                fio: fio_line::line(workload, &survey.area, &file(target, survey.area.written)),
            }
        })
        .collect()
}

fn words(study: &Study, workload: &PlannedWorkload) -> String {
    let own = study.workload.iter().find(|own| own.name == workload.name);
    let io = own.and_then(|own| {
        let io = arms::under(&own.io, &workload.arm).ok()?;
        Some(Workload { io, ..own.clone() })
    });
    io.map_or_else(|| workload.pattern.clone(), |own| own.words())
}

fn file(target: &str, written: bool) -> String {
    if target.starts_with(simulated::PREFIX) {
        return "FILE".to_owned();
    }
    if written { format!("{}/{FILE}", target.trim_end_matches('/')) } else { target.to_owned() }
}
