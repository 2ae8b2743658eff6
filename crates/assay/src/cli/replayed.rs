//! Work that replays a recording: finds the recording before planning.

use crate::store;
use assay_core::failure::Outcome;
use assay_core::quantity::Bytes;
use assay_machine::system::{System, identity};
use assay_study::file::Study;
use assay_study::results::requests;
use assay_workloads::replay;

/// Default test area of a study; a recording that covers less of its device does not change it.
const USUAL_AREA_BYTES: u64 = 1 << 30;

/// Returns the study with the recordings that its work replays, reading each one completely. Without an area in the
/// study, the area covers the touched range. Fails if a recording is not among the results, or differs from the one
/// that the study names.
pub fn resolved(system: &dyn System, mut study: Study) -> Outcome<Study> {
    let mut extent = 0;
    for workload in &mut study.workload {
        if let Some(work) = replay::ReplaySpec::of_mut(&mut workload.work) {
            set_source(system, work)?;
            extent = work.source.as_ref().map_or(0, replay::TraceSource::extent_bytes).max(extent);
        }
    }
    if study.area.size.is_none() && extent > USUAL_AREA_BYTES {
        study.area.size = Some(Bytes(extent));
    }
    Ok(study)
}

/// Sets the source of the work from its trace; fails if the study states another source.
fn set_source(system: &dyn System, work: &mut replay::ReplaySpec) -> Outcome<()> {
    let trace = &work.trace;
    let directory = store::find(system, Some(trace))?;
    let parent = directory.parent();
    let is_parent = |results: &std::path::PathBuf| {
        parent == Some(&**results) || system.canonical(results).ok().as_deref() == parent
    };
    // A study names no recording at another path, which could change.
    if !identity::results_directories(system)?.iter().any(is_parent) {
        return Err(mistake!("no stored trace {trace}; choose a trace from assay list results"));
    }
    let until_ns = work.trace_length.map(|span| span.0);
    let found = requests::source(system, &directory, work.device.as_deref(), until_ns)
        .map_err(|why| mistake!("trace {trace}: {why}"))?;
    if work.source.as_ref().is_some_and(|expected| *expected != found) {
        return Err(refused!(
            "trace {trace} differs from the trace of the study; to use this trace, remove source"
        ));
    }
    work.source = Some(found);
    Ok(())
}
