//! Boots in the order of time, each with its phases one after the other.

use super::Drawing;
use super::parts::with_marks;
use super::words::{Names, short};
use crate::document::numbers;
use crate::evidence::Evidence;
use crate::figure::{Axis, Figure, Marks, Scale, Series, Tile, Unit, id_of};
use assay_base::catalogue::About;
use assay_kinds::work::boot::{PHASES, WHOLE};
use assay_study::findings::{Cell, Findings};

/// The registry's entry.
pub static BOOTS: Drawing = Drawing {
    about: About {
        name: "boots",
        summary: "boots in the order of time, each with its phases one after the other",
        text: "A row is a boot, the oldest on top; its parts are firmware, loader, kernel, initrd and \
               userspace, as far as they are told. A boot that did not finish has no parts. A step from \
               one boot on is something that changed; what else changed with it is not told.",
    },
    draw,
};

/// Boots of a figure: the newest.
const MOST_BOOTS: usize = 40;

/// One boot: its place in time, its group, whether it finished.
struct Boot<'a> {
    order: u32,
    cell: &'a Cell,
    finished: bool,
}

fn draw(evidence: &Evidence) -> Vec<Figure> {
    let findings = &evidence.findings;
    if findings.study.kind == "compare" {
        return Vec::new();
    }
    let mut workloads: Vec<&str> =
        findings.boots.iter().map(|group| group.workload.as_str()).collect();
    workloads.dedup();
    workloads.into_iter().filter_map(|workload| figure(findings, workload)).collect()
}

/// All boots of a workload in time, of the metric that all of them have.
fn in_time<'a>(findings: &'a Findings, workload: &str) -> Vec<Boot<'a>> {
    let mut found: Vec<Boot<'a>> = Vec::new();
    for cell in findings.cells.iter().filter(|cell| cell.workload == workload) {
        for trial in &cell.trials {
            let Some(order) = trial.order else { continue };
            match found.iter_mut().find(|boot| boot.order == order) {
                Some(boot) => boot.finished |= trial.value.is_some(),
                None => found.push(Boot { order, cell, finished: trial.value.is_some() }),
            }
        }
    }
    found.sort_by_key(|boot| boot.order);
    found
}

fn figure(findings: &Findings, workload: &str) -> Option<Figure> {
    let mut boots = in_time(findings, workload);
    let older = boots.len().saturating_sub(MOST_BOOTS);
    boots.drain(..older);
    let names = Names::of(findings);
    let title = |boot: &Boot<'_>| {
        let arm = names.arm(&boot.cell.arm);
        let number = boot.order + 1;
        let name = if arm.is_empty() {
            format!("boot {number}")
        } else {
            format!("{number}: {}", short(&arm))
        };
        if boot.finished { name } else { format!("{name}, did not finish") }
    };
    let mut ends = vec![0.0; boots.len()];
    let phases = PHASES.iter().map(|phase| {
        let mut tiles = Vec::new();
        for (place, boot) in boots.iter().enumerate() {
            let Some(value) = value(findings, boot, phase.name) else { continue };
            let from: f64 = ends[place];
            ends[place] = from + value;
            let at = place as f64;
            let label = numbers::value(phase.name, value);
            tiles.push(Tile {
                at: [at - 0.4, at + 0.4],
                value: [from, from + value],
                text: format!("{}, {}: {label}", title(boot), phase.noun),
                label,
                printed: false,
            });
        }
        (phase.noun, tiles)
    });
    let series = with_marks(Series::each(phases, Marks::Tiles))?;
    let unit = Unit::metric(WHOLE.name);
    let value = Axis::new("time since the first phase that is told", Scale::Linear, unit);
    let left_out = (older > 0).then(|| format!("{older} older boots are not drawn."));
    Some(Figure {
        id: id_of(&["boots", workload]),
        title: format!("{}: phases of each boot, in the order of time", short(workload)),
        description:
            "Each row is a boot, the oldest on top; its parts follow each other as they did."
                .to_owned(),
        interval: "time".to_owned(),
        notes: left_out.into_iter().collect(),
        workload: Some(workload.to_owned()),
        ..Figure::lying(Axis::names("", boots.iter().map(title)), value.from_zero(), series)
    })
}

fn value(findings: &Findings, boot: &Boot<'_>, metric: &str) -> Option<f64> {
    let own = |cell: &&Cell| {
        cell.workload == boot.cell.workload && cell.arm == boot.cell.arm && cell.metric == metric
    };
    let cell = findings.cells.iter().find(own)?;
    let trial = cell.trials.iter().find(|trial| trial.order == Some(boot.order))?;
    trial.value.filter(|value| value.is_finite() && *value >= 0.0)
}
