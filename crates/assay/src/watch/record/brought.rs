//! Requests that another tool recorded elsewhere, as a bundle like that of requests that were recorded here.

use assay_core::calc::requests::Recorded;
use assay_core::failure::Outcome;
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::{self, counts::BlockLatency};
use assay_machine::system::System;
use assay_machine::system::machine::Machine;
use assay_study::plan::recorded;
use assay_study::results::bundle::{Bundle, Histograms};
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::record::Evidence;

use super::{Wish, environment, plan, record, study};

/// Why nothing is known of the machine, nor of what happened on it.
const ELSEWHERE: &str = "the requests were imported from a text file; no other data is available";

/// Writes the bundle around requests that lie there already, with what was taken for granted of them.
pub fn write_brought(
    system: &dyn System,
    wish: &Wish,
    started: &str,
    requests: Recorded,
    latencies: Presence<BlockLatency>,
    notes: &[String],
) -> Outcome<()> {
    let names: Vec<&str> = requests.devices.keys().map(String::as_str).collect();
    let (target, span_ns) = (names.join(" "), requests.span_ns);
    // Latencies are in the text if it says when requests ended.
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
    bundle.log(&Entry::new(system, ENDED, "")).map_err(refused)
}
