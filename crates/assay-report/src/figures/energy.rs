//! What each piece of work cost in energy, as bars.

use super::Drawing;
use super::bars;
use super::words::{Names, Subject};
use crate::evidence::Evidence;
use crate::figure::Figure;
use assay_core::catalogue::About;
use assay_core::findings::Findings;
use assay_core::quantity::Better;

/// The registry's entry.
pub static ENERGY: Drawing = Drawing {
    about: About {
        name: "energy",
        summary: "energy of a trial by workload as bars, one a target or setting",
        text: "A bar is the geometric mean of the trials, its line the 95 % interval. What is in the \
               number depends on who told it, which stands above the table: a processor's own \
               counter knows nothing of the drive. Workloads of a fixed size can be compared; of \
               others only the energy of a GiB, which the table has.",
    },
    draw,
};

/// Energy of one trial.
const METRIC: &str = "energy_j";

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    bars::of_metric(findings, &Names::of(findings), &subjects(findings), "energy")
}

/// The workloads of which something tells it, in the order of the study.
fn subjects(findings: &Findings) -> Vec<Subject<'_>> {
    let mut told: Vec<Subject<'_>> = Vec::new();
    for cell in findings.cells.iter().filter(|cell| cell.metric == METRIC && !cell.control) {
        if cell.value().is_some() && told.iter().all(|one| one.name != cell.workload) {
            let (name, metric) = (&cell.workload, &cell.metric);
            told.push(Subject { name, metric, better: Better::Lower });
        }
    }
    told
}
