//! Imported requests of another tool, as a bundle like that of a local recording.

use assay_core::calc::requests::Recorded;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::{self, counts::BlockLatency};
use assay_machine::system::System;
use assay_machine::system::machine::Machine;
use assay_study::plan::recorded;
use assay_study::results::bundle::Bundle;
use assay_study::results::record::Evidence;

use super::{RecordWish, append_only_trial, environment, plan, study, trial};

/// Why machine data is absent.
const ELSEWHERE: &str = "the requests were imported from a text file; no other data is available";

/// Writes the bundle for imported requests, with the assumptions made.
pub fn write_imported(
    system: &dyn System,
    wish: &RecordWish,
    started: &str,
    requests: Recorded,
    latencies: Presence<BlockLatency>,
    notes: &[String],
) -> Outcome<()> {
    let names: Vec<&str> = requests.devices.keys().map(String::as_str).collect();
    let (target, span_ns) = (names.join(" "), requests.span_ns);
    // The text contains latencies if it has completion times.
    let probes: &[&str] = match latencies {
        Presence::Present(_) => &[block_latency::PROBE.about.name],
        Presence::Absent(_) => &[],
    };
    let study = study(&wish.title, probes)?;
    let mut plan = plan(&target, span_ns, probes);
    for survey in &mut plan.surveys {
        survey.notes = notes.to_vec();
    }
    plan.sha256 = plan::hash(&plan);
    let site = recorded::elsewhere(&target, ELSEWHERE);
    let environment = environment(started, Machine::elsewhere(ELSEWHERE), site);
    let evidence = Evidence { block_latency: latencies, ..Evidence::absent(ELSEWHERE) };
    let mut trial = trial(started, span_ns, Some(requests), evidence);
    let bundle = Bundle::create(system, &wish.directory, &study, &plan, &environment)
        .map_err(|error| wish.write_failure(&error))?;
    append_only_trial(system, wish, &bundle, &mut trial, &[])
}
