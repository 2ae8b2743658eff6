//! Boots: their phases side by side, their slowest units, and those that did not finish.

use super::numbers::{under_heading, value};
use super::study_tables::arm_name;
use super::{Block, Cell, NONE, Row, Section, Table};
use crate::table::{Column, columns};
use assay_kinds::work::boot::{PHASES, UNTIL, USERSPACE, WHOLE};
use assay_study::findings::boots::BootGroup;
use assay_study::findings::{Cell as Measured, Findings};

/// What systemd's own manual says of such times.
const MEANT: &str = "From the message that a unit is being started to the one that it has. That is no time \
                     of its work alone: it may have waited for another unit or for the disk, units start \
                     side by side, and a service counts as started when it was spawned or said so, not \
                     when it has done its work. What began before the journal was open looks shorter.";

/// All sections of boots.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    if findings.boots.is_empty() {
        return Vec::new();
    }
    let mut found = vec![phases(findings)];
    let slow = findings.boots.iter().filter(|group| !group.units.is_empty());
    found.extend(slow.map(units));
    if let Some(last) =
        found.last_mut().filter(|_| findings.boots.iter().any(|group| !group.units.is_empty()))
    {
        last.blocks.push(Block::Text(vec![MEANT.to_owned()]));
    }
    found.extend(unfinished(findings));
    found.extend(notes(findings));
    found
}

fn name(group: &BootGroup) -> String {
    let name = arm_name(&group.arm);
    if name.is_empty() { group.workload.clone() } else { name }
}

/// The cell of a metric of a group.
fn cell<'a>(findings: &'a Findings, group: &BootGroup, metric: &str) -> Option<&'a Measured> {
    findings.cells.iter().find(|cell| {
        cell.workload == group.workload && cell.arm == group.arm && cell.metric == metric
    })
}

/// A row a group, a column a phase.
fn phases(findings: &Findings) -> Section {
    let all: Vec<_> = PHASES.iter().chain([&WHOLE, &UNTIL]).collect();
    let told: Vec<_> = all
        .into_iter()
        .filter(|metric| {
            let own = |group: &BootGroup| cell(findings, group, metric.name);
            findings.boots.iter().filter_map(own).any(|cell| cell.value().is_some())
        })
        .collect();
    let mut columns = columns(&["boots", ">n"]);
    columns.extend(told.iter().map(|metric| {
        Column::right(if metric.name == WHOLE.name {
            "all from the kernel on"
        } else {
            metric.noun
        })
    }));
    let rows = findings.boots.iter().map(|group| {
        let cells = told.iter().map(|metric| {
            let found = cell(findings, group, metric.name);
            let mean = found.and_then(|cell| Some((cell.value()?, cell.ci95)));
            Cell::plain(match mean {
                Some((mean, Some([low, high]))) => {
                    let ends = [low, high].map(|end| under_heading(metric.name, end));
                    format!("{} ({} to {})", under_heading(metric.name, mean), ends[0], ends[1])
                }
                Some((mean, None)) => under_heading(metric.name, mean),
                None => NONE.to_owned(),
            })
        });
        let first = [Cell::plain(name(group)), Cell::plain(group.n.to_string())];
        Row {
            name: name(group),
            cells: first.into_iter().chain(cells).collect(),
            notes: Vec::new(),
        }
    });
    let table = Table { columns, rows: rows.collect() };
    let mut words = vec![
        "Geometric means of the boots that finished, with 95 % intervals from 3 boots on, by \
         the kernel's own clock; those of the parts do not add up to that of the whole."
            .to_owned(),
    ];
    let told_of_kernel = told.iter().any(|metric| metric.name == WHOLE.name);
    if !told_of_kernel && told.iter().any(|metric| metric.name == USERSPACE.name) {
        words
            .push("A container has no kernel of its own: userspace is all of its boot.".to_owned());
    }
    Section::titled("phases".to_owned(), vec![Block::Table(table), Block::Text(words)])
}

fn units(group: &BootGroup) -> Section {
    let columns = columns(&["unit", ">mean", ">longest", ">n"]);
    let rows = group.units.iter().map(|unit| {
        let seconds = |number: f64| Cell::plain(value(WHOLE.name, number));
        let cells = vec![
            Cell::plain(unit.name.clone()),
            seconds(unit.mean_s),
            seconds(unit.longest_s),
            Cell::plain(unit.n.to_string()),
        ];
        Row { name: unit.name.clone(), cells, notes: Vec::new() }
    });
    let table = Table { columns, rows: rows.collect() };
    let title = format!("{}: slowest units", name(group));
    Section::titled(title, vec![Block::Table(table)])
}

fn unfinished(findings: &Findings) -> Option<Section> {
    let each = findings.boots.iter().flat_map(|group| {
        group
            .unfinished
            .iter()
            .map(|boot| format!("{} ({}): {}.", boot.started, name(group), boot.reason))
    });
    let told: Vec<String> = each.collect();
    (!told.is_empty())
        .then(|| Section::titled("did not finish, in no mean".to_owned(), vec![Block::List(told)]))
}

fn notes(findings: &Findings) -> Option<Section> {
    let each = findings
        .boots
        .iter()
        .flat_map(|group| group.notes.iter().map(|note| format!("{}: {note}.", name(group))));
    let told: Vec<String> = each.collect();
    (!told.is_empty())
        .then(|| Section::titled("about single boots".to_owned(), vec![Block::List(told)]))
}
