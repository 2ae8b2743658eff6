//! The rate over the area: a table a workload whose operations were spread evenly over it.

use super::numbers::under_heading;
use super::study_tables::arm_name;
use super::{Column, Measured, Role, Section, Table, find};
use assay_study::findings::shown::Rating;
use assay_study::findings::{Findings, Surface, Trust};
use assay_study::results::plan::Arm;

const RATE: &str = "bandwidth_bytes_per_s";
const LATENCY: &str = "latency_mean_ns";

/// The figure whose numbers these are.
const OF_FIGURE: Role = Role::Of("surface");

/// One section a surface.
pub(super) fn sections(findings: &Findings) -> impl Iterator<Item = Section> + '_ {
    findings.surfaces.iter().enumerate().map(|(index, surface)| {
        let name = if surface.configuration.is_empty() {
            surface.workload.clone()
        } else {
            format!("{} {}", surface.workload, arm_name(&surface.configuration))
        };
        let read = "Rate in each tenth of the area, starting at the first byte: geometric mean of n trials, with the \
                    lowest and highest trial.";
        let whole = surface.whole.map(|of| {
            let [lowest, mean, highest] =
                [of.lowest, of.mean, of.highest].map(|rate| under_heading(RATE, rate));
            format!("Over all positions: lowest {lowest}, highest {highest}, mean {mean}.")
        });
        let note = surface.note.iter().map(|note| format!("Incomplete: {note}."));
        let read = (index == 0).then(|| read.to_owned());
        let mut table = table(findings, surface);
        table.title = format!("{name}: rate over the area");
        table.notes = read.into_iter().chain(whole).chain(note).collect();
        Section::from(table).with_role(OF_FIGURE)
    })
}

/// Single accesses: one row a workload and arm.
pub(super) fn accesses(findings: &Findings) -> Option<Section> {
    let all = &findings.accesses;
    let ns = |value: f64| under_heading(LATENCY, value);
    let mut table = Table::new("access times");
    table.add(Column::key("workload"), all, |one| &one.workload);
    if all.iter().any(|one| one.configuration != all[0].configuration) {
        table.add(Column::key("setting"), all, |one| arm_name(&one.configuration));
    }
    table.add(Column::right("lowest"), all, |one| ns(one.whole.lowest));
    table.add(Column::right("mean"), all, |one| ns(one.whole.mean));
    table.add(Column::right("highest"), all, |one| ns(one.whole.highest));
    table.add(Column::right("n"), all, |one| one.n.to_string());
    table.add(Column::verdict("trust"), all, |one| {
        Rating::cell(stands(findings, (&one.workload, &one.configuration, LATENCY), one.trust))
    });
    for (row, one) in table.rows.iter_mut().zip(all) {
        row.name = format!("{} {}", one.workload, arm_name(&one.configuration));
    }
    let read = "Individual operations at random positions, one at a time, from all n trials.";
    table.notes.push(read.to_owned());
    (!all.is_empty()).then(|| Section::from(table).with_role(OF_FIGURE))
}

/// How numbers of a row stand: as it was judged, and what a drive gives that is lent as its row says it.
fn stands(
    findings: &Findings,
    (workload, arm, metric): (&str, &Arm, &str),
    trust: Option<Trust>,
) -> Option<Rating> {
    let is_lent = || find(findings, workload, arm, false, metric).is_some_and(Measured::is_lent);
    trust.map(|trust| Rating { trust, is_lent: trust == Trust::Trusted && is_lent() })
}

fn table(findings: &Findings, surface: &Surface) -> Table {
    let stands = stands(findings, (&surface.workload, &surface.configuration, RATE), surface.trust);
    let bands = &surface.bands;
    let rate = |value: Option<f64>| value.map(|value| under_heading(RATE, value));
    let mut table = Table::default();
    table.add(Column::left("area"), bands, |band| {
        format!("{}-{}%", band.from_percent, band.to_percent)
    });
    table.add(Column::right("rate"), bands, |band| rate(band.bandwidth_bytes_per_s));
    table.add(Column::right("lowest"), bands, |band| rate(band.min));
    table.add(Column::right("highest"), bands, |band| rate(band.max));
    table.add(Column::right("n"), bands, |band| band.n.to_string());
    table.add(Column::verdict("trust"), bands, |band| Rating::cell(stands.filter(|_| band.n > 0)));
    table
}
