//! Energy per piece of work, as bars.

use super::Drawing;
use super::bars;
use super::words::Subject;
use crate::evidence::Evidence;
use assay_core::quantity::Better;
use assay_core::{catalogue::About, exhibit::figure::Figure, exhibit::parts::distinct};
use assay_study::findings::{Measurement, Trust, shown::Names};

pub static ENERGY: Drawing = Drawing {
    about: About {
        name: "energy",
        summary: "energy per trial by workload, one bar per target or configuration",
        text: "Each bar is the geometric mean of the trials, with the 95% CI as a line. The source above the table \
               states what the number includes. A CPU energy counter, for example, excludes the drive. Compare \
               workloads of a fixed size only; for others, compare the energy per GiB in the table.",
    },
    draw,
};

const METRIC: &str = "energy_j";

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    let is_sound = |it: &Measurement| it.value().is_some() && it.trust != Some(Trust::Invalid);
    let is_shown = |cell: &&Measurement| cell.metric == METRIC && !cell.control && is_sound(cell);
    let cells = findings.measurements.iter().filter(is_shown);
    let workloads = distinct(cells.map(|cell| cell.workload.as_str())).into_iter();
    let subjects: Vec<Subject<'_>> =
        workloads.map(|name| Subject { name, metric: METRIC, better: Better::Lower }).collect();
    bars::of_metric(findings, &Names::from_findings(findings), &subjects, "energy")
}
