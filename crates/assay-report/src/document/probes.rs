//! Probe data besides the metrics: the devices of a stack, the machine around the target, the cost of the readings.

use super::{Block, Column, Detail, Section, Table, surroundings};
use assay_core::{exhibit::Unit, exhibit::parts::distinct, quantity::units::show};
use assay_study::findings::Findings;
use assay_study::results::plan::arm_in_words;
use assay_study::results::surroundings::facts::Member;

/// Up to this number of rows, the default page lists the devices.
const MOST_ROWS: usize = 24;

pub(super) fn sections(findings: &Findings, detail: Detail) -> Vec<Section> {
    let is_full = detail != Detail::Usual;
    let mut sections: Vec<Section> = members(findings, is_full).into_iter().collect();
    if is_full {
        sections.extend(surroundings::sections(findings));
        sections.extend(costs(findings));
    }
    sections
}

/// The devices below the targets; the default page only lists those with siblings.
fn members(findings: &Findings, is_full: bool) -> Option<Section> {
    let all = &findings.environment.activity.members;
    let mut shown: Vec<&Member> = all.iter().collect();
    if !is_full {
        shown.retain(|member| has_siblings(all, member));
    }
    if !is_full && shown.len() > MOST_ROWS {
        let text = format!(
            "{} rows for devices below the targets are not shown; run assay show --full {}",
            shown.len(),
            findings.study.id
        );
        return Some(Section::new(Block::Text(vec![text])));
    }
    let how = "Bytes that each device below the target read and wrote per byte of the workload, until all data was on \
               the device; busy: share of the run with a request in progress. Other programs' traffic is included.";
    let time = " Request: mean time per read or write on the device.";
    let has_times = shown.iter().any(|member| member.request_mean_ns.is_some());
    let explanation = format!("{how}{}", if has_times { time } else { "" });
    Section::with_explanation("members", &explanation, table(&shown))
}

/// Whether the stack (devices on top of each other) of `member` has several devices at the same level.
fn has_siblings(all: &[Member], member: &Member) -> bool {
    let stack = || {
        all.iter().filter(|other| {
            other.workload == member.workload && other.configuration == member.configuration
        })
    };
    // No device of the stack is above it.
    let is_top = |other: &&Member| stack().all(|above| !above.below.contains(&other.device));
    stack().any(|other| other.below.len() > 1) || stack().filter(is_top).count() > 1
}

fn table(members: &[&Member]) -> Table {
    let mut factors = distinct(members.iter().flat_map(|member| member.configuration.keys()));
    // Settings that all rows share are at the top of the page.
    let level = |member: &Member, name: &str| member.configuration.get(name).cloned();
    factors.retain(|name| members.iter().any(|it| level(it, name) != level(members[0], name)));
    let mut table = Table::default();
    table.add(Column::key("workload"), members, |member| &member.workload);
    for name in &factors {
        table.add(Column::key(*name), members, |member| member.configuration.get(*name));
    }
    table.add(Column::key("device"), members, |member| &member.device);
    table.add(Column::left("kind"), members, |member| &member.kind);
    table.add(Column::right("read"), members, |member| member.read_per_byte.map(show::times));
    table.add(Column::right("written"), members, |member| member.written_per_byte.map(show::times));
    table.add(Column::right("busy"), members, |member| {
        member.busy_share.map(|share| show::percent(100.0 * share))
    });
    // Results of earlier versions do not have request times.
    if members.iter().any(|member| member.request_mean_ns.is_some()) {
        table.add(Column::new("request", Unit::Nanoseconds), members, |it| it.request_mean_ns);
    }
    for (row, member) in table.rows.iter_mut().zip(members) {
        let varied = member.configuration.iter().filter(|(name, _)| factors.contains(name));
        row.name = format!("{} {} {}", member.workload, arm_in_words(varied), member.device);
        row.notes.extend(member.reason.iter().map(|reason| format!("absent: {reason}")));
    }
    table
}

fn costs(findings: &Findings) -> Option<Section> {
    let costs = &findings.environment.activity.probes;
    let mut table = Table::default();
    table.add(Column::left("probe"), costs, |cost| &cost.probe);
    table.add(Column::new("mean", Unit::Nanoseconds), costs, |cost| cost.mean_ns);
    table.add(Column::new("most", Unit::Nanoseconds), costs, |cost| cost.max_ns);
    table.add(Column::new("trials", Unit::Count), costs, |cost| cost.n as u64);
    let how = "Time that each probe needs to read its counters before and after a trial, outside the measurement \
        window.";
    Section::with_explanation("probes", how, table)
}
