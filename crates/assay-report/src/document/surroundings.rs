//! The machine around the target, and the drives' health data.

use super::{Block, Column, NONE, Section, SectionRole, Table};
use assay_core::{exhibit::Unit, quantity::units::show};
use assay_machine::probes;
use assay_study::findings::{Findings, shown::table_of_rows};
use assay_study::results::surroundings::facts::{Activity, ObservedField, WorkloadSurroundings};

pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let surroundings = &findings.environment.activity;
    [machine(findings), observed(findings), drives(surroundings)].into_iter().flatten().collect()
}

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
    let surroundings = &findings.environment.activity;
    let rows = &surroundings.workloads;
    if rows.is_empty() {
        return None;
    }
    let mut table = table_of_rows(findings, rows, |it| (it.workload.as_str(), &it.configuration));
    for (title, text_of) in ASPECTS {
        if rows.iter().any(|row| text_of(row).is_some()) {
            table.add(Column::right(title), rows, text_of);
        }
    }
    if rows.iter().any(|row| row.hottest.is_some()) {
        table.add(Column::left("hottest"), rows, temperature);
    }
    let blocks = vec![Block::Text(explanation(surroundings)), Block::Table(table)];
    Some(Section::titled("surroundings", blocks).with_role(SectionRole::Closer))
}

fn temperature(row: &WorkloadSurroundings) -> Option<String> {
    let hottest = row.hottest.as_ref()?;
    let [from, to] = [hottest.from_c, hottest.to_c].map(show::three_digits);
    Some(format!("{}: {from} to {to} \u{b0}C", hottest.sensor))
}

fn explanation(surroundings: &Activity) -> Vec<String> {
    let mut texts = vec![
        "Values cover the whole machine and all trials of a row, from the start of each run until all data was on the \
         device. Waits: share of this time in which some task, including Assay, waited for a CPU, I/O or memory."
            .to_owned(),
    ];
    if let Some(meter) = &surroundings.energy_of {
        let idle_w = surroundings.idle_w.map(show::three_digits);
        let idle = idle_w.map(|watts| format!("; the idle machine used {watts} W"));
        texts.push(format!("Energy source: {meter}{}.", idle.unwrap_or_default()));
    }
    texts
}

fn observed(findings: &Findings) -> Option<Section> {
    let rows = &findings.environment.activity.observed;
    let mut table = table_of_rows(findings, rows, |it| (it.workload.as_str(), &it.configuration));
    for (row, field) in table.rows.iter_mut().zip(rows) {
        let keys: Vec<String> = row.cells.iter().map(|cell| cell.text(Unit::Words)).collect();
        row.name = format!("{} {}", keys.join(" ").trim_end(), field.probe);
    }
    let text = |row: &ObservedField, value: Option<f64>| {
        let (_, unit) = name_and_unit(row);
        value.map(|value| unit.show(value))
    };
    table.add(Column::left("probe"), rows, |row| &row.probe);
    table.add(Column::left("observed"), rows, |row| {
        let (name, _) = name_and_unit(row);
        name
    });
    table.add(Column::right("mean"), rows, |row| text(row, row.mean));
    table.add(Column::right("min"), rows, |row| text(row, row.min));
    table.add(Column::right("max"), rows, |row| text(row, row.max));
    for (row, field) in table.rows.iter_mut().zip(rows) {
        row.notes.extend(field.reason.iter().chain(&field.words).cloned());
    }
    let how = "Probe readings during the trials of a row: mean, minimum and maximum over the trials. To see what each \
               probe measures, run assay list probes.";
    Section::with_explanation("observed", how, table)
}

/// The name of a probe's field, with its summary if the probe is known, and its unit.
fn name_and_unit(row: &ObservedField) -> (String, probes::Unit) {
    let entry = probes::PROBES.iter().find(|entry| entry.about.name == row.probe);
    let name = row.field.as_deref().unwrap_or(NONE);
    match entry.and_then(|entry| entry.field_at(name)) {
        Some(field) => (format!("{name}: {}", field.summary), field.unit),
        None => (name.to_owned(), probes::Unit::Count),
    }
}

fn drives(surroundings: &Activity) -> Option<Section> {
    let drives = &surroundings.drives;
    let mut table = Table::default();
    table.add(Column::left("drive"), drives, |drive| &drive.drive);
    table.add(Column::new("written", Unit::Bytes), drives, |drive| drive.written_bytes);
    table.add(Column::right("wear"), drives, |drive| {
        drive.used_percent.map(|[from, to]| format!("{from}% to {to}%"))
    });
    table.add(Column::right("temperature"), drives, |drive| {
        drive.temperature_c.map(|[from, to]| format!("{from} to {to} \u{b0}C"))
    });
    for (row, drive) in table.rows.iter_mut().zip(drives) {
        row.notes.extend(drive.grown.iter().map(|(name, by)| format!("{name} +{by}")));
    }
    let how = "Counters reported by the drives, before the first trial and after the last trial.";
    Section::with_explanation("drives", how, table)
}
