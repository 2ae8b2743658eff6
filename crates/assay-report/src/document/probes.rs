//! Data of the probes besides the metrics: the devices of a stack, the machine around the target, and the cost of the
//! readings.

use super::{Block, Column, Detail, Section, SectionRole, Table, surroundings};
use assay_core::exhibit::Unit;
use assay_core::quantity::units::show;
use assay_study::findings::Findings;
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::surroundings::facts::Member;

/// Up to this number of rows, the default page lists the devices.
const MOST_ROWS: usize = 24;

/// All sections with content.
pub(super) fn sections(findings: &Findings, detail: Detail) -> Vec<Section> {
    let full = detail != Detail::Usual;
    let costs = if full { costs(findings) } else { None };
    let mut told: Vec<Section> = members(findings, full).into_iter().collect();
    told.extend(if full { surroundings::sections(findings) } else { Vec::new() });
    told.extend(costs);
    told
}

/// The devices below the targets; the default page only lists those with siblings.
fn members(findings: &Findings, full: bool) -> Option<Section> {
    let all = &findings.environment.activity.members;
    let told: Vec<&Member> = all.iter().filter(|one| full || is_beside_others(all, one)).collect();
    if told.is_empty() {
        return None;
    }
    if !full && told.len() > MOST_ROWS {
        let text = format!(
            "{} rows for devices below the targets are not shown; run assay show --full {}",
            told.len(),
            findings.study.id
        );
        return Some(Section::new(Block::Text(vec![text])));
    }
    let how = "Bytes that each device below the target read and wrote per byte of the workload, until all data was on \
               the device; busy: share of the run with a request in progress. Other programs' traffic is included.";
    let time = " Request: mean time per read or write on the device.";
    let time = if told.iter().any(|one| one.request_mean_ns.is_some()) { time } else { "" };
    let blocks = vec![Block::Text(vec![format!("{how}{time}")]), Block::Table(table(&told))];
    Some(Section::titled("members", blocks).with_role(SectionRole::Closer))
}

fn is_beside_others(all: &[Member], one: &Member) -> bool {
    let stack = || {
        all.iter().filter(|other| {
            other.workload == one.workload && other.configuration == one.configuration
        })
    };
    let is_top = |other: &&Member| stack().all(|above| !above.below.contains(&other.device));
    stack().any(|other| other.below.len() > 1) || stack().filter(is_top).count() > 1
}

fn table(told: &[&Member]) -> Table {
    let mut factors: Vec<&String> = Vec::new();
    for name in told.iter().flat_map(|one| one.configuration.keys()) {
        if !factors.contains(&name) {
            factors.push(name);
        }
    }
    // The top of the page has the settings common to all.
    let of = |one: &Member, name: &str| one.configuration.get(name).cloned();
    factors.retain(|name| told.iter().any(|one| of(one, name) != of(told[0], name)));
    let mut table = Table::default();
    table.add(Column::key("workload"), told, |one| &one.workload);
    for name in &factors {
        table.add(Column::key(*name), told, |one| one.configuration.get(*name));
    }
    table.add(Column::key("device"), told, |one| &one.device);
    table.add(Column::left("kind"), told, |one| &one.kind);
    table.add(Column::right("read"), told, |one| one.read_per_byte.map(show::times));
    table.add(Column::right("written"), told, |one| one.written_per_byte.map(show::times));
    table.add(Column::right("busy"), told, |one| {
        one.busy_share.map(|share| show::percent(100.0 * share))
    });
    // Results of earlier versions do not have it.
    if told.iter().any(|one| one.request_mean_ns.is_some()) {
        table.add(Column::new("request", Unit::Nanoseconds), told, |one| one.request_mean_ns);
    }
    for (row, one) in table.rows.iter_mut().zip(told) {
        let arm: Arm =
            factors.iter().filter_map(|name| Some(((*name).clone(), of(one, name)?))).collect();
        row.name = format!("{} {} {}", one.workload, arm_in_words(arm.iter()), one.device);
        row.notes.extend(one.reason.iter().map(|reason| format!("absent: {reason}")));
    }
    table
}

fn costs(findings: &Findings) -> Option<Section> {
    let costs = &findings.environment.activity.probes;
    let mut table = Table::default();
    table.add(Column::left("probe"), costs, |one| &one.probe);
    table.add(Column::new("mean", Unit::Nanoseconds), costs, |one| one.mean_ns);
    table.add(Column::new("most", Unit::Nanoseconds), costs, |one| one.max_ns);
    table.add(Column::new("trials", Unit::Count), costs, |one| one.n as u64);
    let how = "Time that each probe needs to read its counters before and after a trial, outside the measurement \
        window.";
    (!costs.is_empty()).then(|| {
        let blocks = vec![Block::Text(vec![how.to_owned()]), Block::Table(table)];
        Section::titled("probes", blocks).with_role(SectionRole::Closer)
    })
}
