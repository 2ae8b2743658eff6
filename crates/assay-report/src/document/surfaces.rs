//! The rate over the area: a table a workload whose operations were spread evenly over it.

use super::numbers::under_heading;
use super::study_tables::arm_name;
use super::{Block, Cell, Measured, NONE, Role, Row, Section, Stands, Table, find};
use crate::table::{self, Column, columns};
use assay_study::findings::{Accesses, Band, Findings, Surface, Trust};
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
        let words = read.into_iter().chain(whole).chain(note).collect();
        let blocks = vec![Block::Table(table(findings, surface)), Block::Text(words)];
        Section::titled(format!("{name}: rate over the area"), blocks).with_role(OF_FIGURE)
    })
}

/// Single accesses: one row a workload and arm.
pub(super) fn accesses(findings: &Findings) -> Option<Section> {
    let all = &findings.accesses;
    let arms = all.iter().any(|one| one.configuration != all[0].configuration);
    let mut columns = vec![Column::left("workload").key()];
    columns.extend(arms.then(|| Column::left("setting").key()));
    columns.extend(table::columns(&[">lowest", ">mean", ">highest", ">n"]));
    columns.push(Column::left("trust").judged());
    let row = |one: &Accesses| {
        let time = |ns: f64| Cell::plain(under_heading(LATENCY, ns));
        let mut cells = vec![Cell::plain(one.workload.clone())];
        cells.extend(arms.then(|| Cell::plain(arm_name(&one.configuration))));
        cells.extend([one.whole.lowest, one.whole.mean, one.whole.highest].map(time));
        let stands = stands(findings, (&one.workload, &one.configuration, LATENCY), one.trust);
        cells.extend([Cell::plain(one.n.to_string()), Cell::stands(stands)]);
        Row {
            name: format!("{} {}", one.workload, arm_name(&one.configuration)),
            cells,
            notes: Vec::new(),
        }
    };
    let rows: Vec<Row> = all.iter().map(row).collect();
    let read = "Individual operations at random positions, one at a time, from all n trials.";
    (!rows.is_empty()).then(|| {
        let blocks =
            vec![Block::Table(Table { columns, rows }), Block::Text(vec![read.to_owned()])];
        Section::titled("access times", blocks).with_role(OF_FIGURE)
    })
}

/// How numbers of a row stand: as it was judged, and what a drive gives that is lent as its row says it.
fn stands(
    findings: &Findings,
    (workload, arm, metric): (&str, &Arm, &str),
    trust: Option<Trust>,
) -> Option<Stands> {
    let is_lent = || find(findings, workload, arm, false, metric).is_some_and(Measured::is_lent);
    trust.map(|trust| Stands { trust, lent: trust == Trust::Trusted && is_lent() })
}

fn table(findings: &Findings, surface: &Surface) -> Table {
    let stands = stands(findings, (&surface.workload, &surface.configuration, RATE), surface.trust);
    let mut columns = columns(&["area", ">rate", ">lowest", ">highest", ">n"]);
    columns.push(Column::left("trust").judged());
    Table { columns, rows: surface.bands.iter().map(|band| row(stands, band)).collect() }
}

fn row(stands: Option<Stands>, band: &Band) -> Row {
    let name = format!("{}-{}%", band.from_percent, band.to_percent);
    let rate = |value: Option<f64>| {
        Cell::plain(value.map_or_else(|| NONE.to_owned(), |value| under_heading(RATE, value)))
    };
    let trust = Cell::stands(stands.filter(|_| band.n > 0));
    let cells = vec![
        Cell::plain(name.clone()),
        rate(band.bandwidth_bytes_per_s),
        rate(band.min),
        rate(band.max),
        Cell::plain(band.n.to_string()),
        trust,
    ];
    Row { name, cells, notes: Vec::new() }
}
