//! What the machine surroundings the target did, and what the drives say of themselves.

use super::named::Named;
use super::{Block, Cell, NONE, Role, Row, Section, Table};
use crate::table::{Column, columns};
use assay_base::quantity::units::show;
use assay_machine::probes::{self, Unit};
use assay_study::findings::Findings;
use assay_study::results::surroundings::facts::{
    DriveHealth, ObservedField, SurroundingsFacts, WorkloadSurroundings,
};

/// All sections, as far as there is something to tell.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let surroundings = &findings.system_activity;
    [machine(findings), observed(findings), drives(surroundings)].into_iter().flatten().collect()
}

/// A column with what stands in it.
type Aspect = (&'static str, fn(&WorkloadSurroundings) -> Option<String>);

const ASPECTS: [Aspect; 9] = [
    ("CPUs busy", |row| row.busy_share.map(percent)),
    ("busiest", |row| row.busiest_share.map(percent)),
    ("steal", |row| row.steal_share.filter(|share| *share > 0.0).map(percent)),
    ("waits: CPU", |row| row.pressure_shares.get("cpu").copied().map(percent)),
    ("waits: I/O", |row| row.pressure_shares.get("io").copied().map(percent)),
    ("waits: memory", |row| row.pressure_shares.get("memory").copied().map(percent)),
    ("swapped", |row| row.swapped_pages.filter(|pages| *pages > 0).map(show::count)),
    ("energy", |row| row.energy_j.map(|joules| format!("{} J", show::three_digits(joules)))),
    ("power", |row| row.power_w.map(|watts| format!("{} W", show::three_digits(watts)))),
];

fn percent(share: f64) -> String {
    show::percent(100.0 * share)
}

fn machine(findings: &Findings) -> Option<Section> {
    let surroundings = &findings.system_activity;
    let rows = &surroundings.workloads;
    if rows.is_empty() {
        return None;
    }
    let told: Vec<Aspect> =
        ASPECTS.into_iter().filter(|(_, of)| rows.iter().any(|row| of(row).is_some())).collect();
    let hot = rows.iter().any(|row| row.hottest.is_some());
    let named =
        Named::of(findings, rows.iter().map(|row| (row.workload.as_str(), &row.configuration)));
    let mut columns = named.columns();
    columns.extend(told.iter().map(|(title, _)| Column::right(*title)));
    columns.extend(hot.then(|| Column::left("hottest")));
    let cells = |row: &WorkloadSurroundings| {
        let mut cells = named.words(&row.workload, &row.configuration);
        cells.extend(told.iter().map(|(_, of)| of(row).unwrap_or_else(|| NONE.to_owned())));
        cells.extend(hot.then(|| temperature(row)));
        cells
    };
    let rows: Vec<Row> = rows
        .iter()
        .map(|row| Row {
            name: named.name(&row.workload, &row.configuration),
            cells: cells(row).into_iter().map(Cell::from).collect(),
            notes: Vec::new(),
        })
        .collect();
    let blocks = vec![Block::Text(how(surroundings)), Block::Table(Table { columns, rows })];
    Some(Section::titled("surroundings", blocks).with_role(Role::Closer))
}

fn temperature(row: &WorkloadSurroundings) -> String {
    row.hottest.as_ref().map_or_else(
        || NONE.to_owned(),
        |hottest| {
            let [from, to] = [hottest.from_c, hottest.to_c].map(show::three_digits);
            format!("{}: {from} to {to} \u{b0}C", hottest.sensor)
        },
    )
}

fn how(surroundings: &SurroundingsFacts) -> Vec<String> {
    let mut told = vec![
        "Values cover the whole machine and all trials of a row, from the start of each run until all data was on the \
         device. Waits: share of this time in which some task, including Assay, waited for a CPU, I/O or memory."
            .to_owned(),
    ];
    if let Some(of) = &surroundings.energy_of {
        let idle = surroundings
            .idle_w
            .map(|watts| format!("; the idle machine used {} W", show::three_digits(watts)));
        told.push(format!("Energy source: {of}{}.", idle.unwrap_or_default()));
    }
    told
}

/// What probes observed of which nothing else tells.
fn observed(findings: &Findings) -> Option<Section> {
    let rows = &findings.system_activity.observed;
    let named =
        Named::of(findings, rows.iter().map(|row| (row.workload.as_str(), &row.configuration)));
    let mut columns = named.columns();
    columns.extend([Column::left("probe"), Column::left("observed")]);
    columns.extend(["mean", "min", "max"].map(Column::right));
    let row = |row: &ObservedField| {
        let (what, unit) = described(row);
        let show = |amount: Option<f64>| amount.map_or(NONE.to_owned(), |it| unit.show(it));
        let mut cells = named.words(&row.workload, &row.configuration);
        cells.extend([row.probe.clone(), what, show(row.mean), show(row.min), show(row.max)]);
        Row {
            name: format!("{} {}", named.name(&row.workload, &row.configuration), row.probe),
            cells: cells.into_iter().map(Cell::from).collect(),
            notes: row.reason.iter().chain(&row.words).cloned().collect(),
        }
    };
    let table = Table { columns, rows: rows.iter().map(row).collect() };
    let how = "Probe readings during the trials of a row: mean, minimum and maximum over the trials. To see what each \
               probe measures, run assay list probes.";
    (!table.rows.is_empty()).then(|| {
        let blocks = vec![Block::Text(vec![how.to_owned()]), Block::Table(table)];
        Section::titled("observed", blocks).with_role(Role::Closer)
    })
}

/// A field with what its probe says of it, and its unit.
fn described(row: &ObservedField) -> (String, Unit) {
    let entry = probes::PROBES.iter().find(|entry| entry.about.name == row.probe);
    let place = row.field.as_deref().unwrap_or(NONE);
    match entry.and_then(|entry| entry.field_at(place)) {
        Some(field) => (format!("{place}: {}", field.summary), field.unit),
        None => (place.to_owned(), Unit::Count),
    }
}

fn drives(surroundings: &SurroundingsFacts) -> Option<Section> {
    let row = |drive: &DriveHealth| {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
        let wear = drive.used_percent.map(|[from, to]| format!("{from}% to {to}%"));
        let heat = drive.temperature_c.map(|[from, to]| format!("{from} to {to} \u{b0}C"));
        let written = drive.written_bytes.map(show::bytes);
        let cells = [drive.drive.clone(), or_none(written), or_none(wear), or_none(heat)];
        Row {
            name: drive.drive.clone(),
            cells: cells.map(Cell::from).into(),
            notes: drive.grown.iter().map(|(name, by)| format!("{name} +{by}")).collect(),
        }
    };
    let rows: Vec<Row> = surroundings.drives.iter().map(row).collect();
    let table = Table { columns: columns(&["drive", ">written", ">wear", ">temperature"]), rows };
    let how = "Counters reported by the drives, before the first trial and after the last trial.";
    (!table.rows.is_empty()).then(|| {
        let blocks = vec![Block::Text(vec![how.to_owned()]), Block::Table(table)];
        Section::titled("drives", blocks).with_role(Role::Closer)
    })
}
