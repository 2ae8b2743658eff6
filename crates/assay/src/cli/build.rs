//! Studies that build a source tree: the number of jobs, and where the copy may not go.

use std::path::Path;

use assay_core::failure::Outcome;
use assay_machine::system::{FileKind, System, machine};
use assay_study::file::Study;
use assay_workloads::command::{self, JOBS};

/// Sets the number of jobs to that of the CPUs if a command names this number and nothing sets it.
pub fn set_jobs(system: &dyn System, study: &mut Study) {
    if study.factors.contains_key(JOBS) {
        return;
    }
    for workload in &mut study.workload {
        let Some(work) = command::CommandSpec::of_mut(&mut workload.work) else { continue };
        if work.names_jobs() && work.jobs.is_none() {
            work.jobs = Some(machine::usable_processors(system).value().copied().unwrap_or(1));
        }
    }
}

/// Refuses a source that is not a directory, and a target inside of it: the tree would be copied into itself.
pub fn check_sources(system: &dyn System, study: &Study, targets: &[String]) -> Outcome<()> {
    let works = study.workload.iter().filter_map(|it| command::CommandSpec::of(&it.work));
    for source in works.filter_map(|work| work.source.as_deref()) {
        let failure = |why: &dyn std::fmt::Display| mistake!("source {source}: {why}");
        let path = system.canonical(Path::new(source)).map_err(|error| failure(&error))?;
        if system.status(&path).map_err(|error| failure(&error))?.kind != FileKind::Directory {
            return Err(failure(&"not a directory; use the root of a source tree"));
        }
        let is_inside = |target: &&String| {
            system.canonical(Path::new(target)).is_ok_and(|target| target.starts_with(&path))
        };
        if let Some(target) = targets.iter().find(is_inside) {
            return Err(mistake!(
                "{target} is inside the source tree {}; build in another directory, such as /var/tmp",
                path.display()
            ));
        }
    }
    Ok(())
}
