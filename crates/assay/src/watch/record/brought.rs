//! Imported requests of another tool, as a bundle like that of a local recording.

use assay_core::calc::requests::Recorded;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::{self, counts::BlockLatency};
use assay_machine::system::System;
use assay_machine::system::machine::Machine;
use assay_study::plan::recorded;
use assay_study::results::bundle::{Bundle, Histograms};
use assay_study::results::log::{ENDED, LogEntry};
use assay_study::results::record::Evidence;

use super::{RecordWish, environment, plan, record, study};

/// Why machine data is absent.
const ELSEWHERE: &str = "the requests were imported from a text file; no other data is available";

/// Writes the bundle for imported requests, with the assumptions made.
pub fn write_brought(
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
    let mut own = plan(&target, span_ns, probes);
    for survey in &mut own.surveys {
        survey.notes = notes.to_vec();
    }
    own.sha256 = plan::hash(&own);
    let site = recorded::elsewhere(&target, ELSEWHERE);
    let environment = environment(started, Machine::elsewhere(ELSEWHERE), site);
    let evidence = Evidence { block_latency: latencies, ..Evidence::absent(ELSEWHERE) };
    let mut record = record(started, span_ns, Some(requests), evidence);
    let refused = |error| wish.unwritten(&error);
    let bundle =
        Bundle::create(system, &wish.directory, &study, &own, &environment).map_err(refused)?;
    bundle.append(&mut record, &Histograms::new(), &[]).map_err(refused)?;
    bundle.log(&LogEntry::new(system, ENDED, "")).map_err(refused)
}
