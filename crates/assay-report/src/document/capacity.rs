//! Whether targets hold what they say, and what they write for long.

use super::{Block, Cell, NONE, Role, Row, Section, Table, Tone};
use crate::table::columns;
use assay_core::findings::Findings;
use assay_core::findings::capacity::{CapacityFacts, SustainedFacts};
use assay_core::quantity::units::show;
use assay_core::results::plan::Arm;
use assay_core::work::capacity::Verdict;

/// The sections; none where nothing of the kind was done.
pub(super) fn sections(findings: &Findings) -> Vec<Section> {
    let capacity = capacity(findings);
    capacity.into_iter().chain(sustained(findings)).collect()
}

/// The name of a row: its target where there are several.
fn name(workload: &str, arm: &Arm) -> String {
    arm.get("target").cloned().unwrap_or_else(|| workload.to_owned())
}

/// The trust in the number that a workload is known by.
fn trust(findings: &Findings, workload: &str, arm: &Arm) -> Cell {
    let own = |cell: &&assay_core::findings::Cell| cell.workload == workload && cell.arm == *arm;
    let own = || findings.cells.iter().filter(own).filter(|cell| cell.trust.is_some());
    let known = own().find(|cell| cell.primary).or_else(|| own().next());
    known.map_or_else(|| Cell::trust(None), Cell::trust_of)
}

fn capacity(findings: &Findings) -> Option<Section> {
    let row = |facts: &CapacityFacts| {
        let name = name(&facts.workload, &facts.arm);
        let looks = facts.looks_held_bytes.filter(|[least, most]| least < most);
        let held = match (facts.held_bytes, looks.or(facts.held_ci95_bytes)) {
            (_, Some(ends)) => {
                let [low, high] = ends.map(show::bytes);
                format!("{low} to {high}")
            }
            (Some(held), None) => show::bytes(held),
            (None, None) => NONE.to_owned(),
        };
        let looked_at = if facts.full {
            "every block".to_owned()
        } else {
            format!("{} blocks", show::count(facts.checked_blocks))
        };
        let tone = match facts.verdict {
            Verdict::Holds => Tone::Good,
            Verdict::Damaged | Verdict::Unsteady | Verdict::NotTold => Tone::Doubtful,
            _ => Tone::Bad,
        };
        let words = match facts.verdict {
            Verdict::Holds if facts.limit.scattered_95_bytes > 0 => "nothing wrong in the sample",
            verdict => verdict.words(),
        };
        let verdict = Cell { text: words.to_owned(), tone };
        let cells = [name.clone(), show::bytes(facts.claimed_bytes), held].map(Cell::from);
        let rest = [looked_at, show::count(facts.wrong_blocks)].map(Cell::from);
        let trust = trust(findings, &facts.workload, &facts.arm);
        Row {
            name,
            cells: cells.into_iter().chain([verdict]).chain(rest).chain([trust]).collect(),
            notes: Vec::new(),
        }
    };
    let rows: Vec<Row> = findings.capacity.iter().map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns =
        columns(&["capacity", ">claims", ">holds", "verdict", ">looked at", ">wrong", "trust"]);
    for at in [3, 6] {
        columns[at] = columns[at].clone().judged();
    }
    let legend = "Claims: what the device says, or what a file system has free but a fiftieth; wrong: blocks \
                  of 4 KiB that did not come back as they were written, before they were tried again; holds, of a \
                  sample: with 95 %, of several looks that differ: the least and the most. Of several \
                  looks the gravest is told.";
    let table = Block::Table(Table { columns, rows });
    Some(Section::titled("capacity", vec![table, Block::Text(vec![legend.to_owned()])]))
}

fn sustained(findings: &Findings) -> Option<Section> {
    let rows: Vec<Row> =
        findings.sustained.iter().flat_map(|facts| levels(findings, facts)).collect();
    if rows.is_empty() {
        return None;
    }
    let mut columns = columns(&[
        "sustained writes",
        ">from",
        ">95 % interval",
        ">rate",
        ">95 % interval of the rate",
        "trust",
    ]);
    columns[5] = columns[5].clone().judged();
    let legend = "From: bytes written before the rate changed to this one; the interval of the place holds \
                  all splits that explain the course nearly as well. Rate: bytes over their time; its interval \
                  is that of the same ratio, over ten batches.";
    let table = Block::Table(Table { columns, rows });
    let blocks = vec![table, Block::Text(vec![legend.to_owned()])];
    Some(Section::titled("sustained writes", blocks).with_role(Role::Of("series")))
}

fn levels(findings: &Findings, facts: &SustainedFacts) -> Vec<Row> {
    let name = name(&facts.workload, &facts.arm);
    let span = |ends: Option<[String; 2]>| {
        ends.map_or_else(|| NONE.to_owned(), |[low, high]| format!("{low} to {high}"))
    };
    let levels = facts.course.levels.iter();
    levels
        .map(|level| {
            let words = [
                name.clone(),
                show::bytes(level.from_bytes),
                span(level.from_ci95_bytes.map(|ends| ends.map(show::bytes))),
                show::rate(level.rate_bytes_per_s),
                span(level.rate_ci95.map(|ends| ends.map(show::rate))),
            ];
            let trust = trust(findings, &facts.workload, &facts.arm);
            Row {
                name: name.clone(),
                cells: words.map(Cell::from).into_iter().chain([trust]).collect(),
                notes: Vec::new(),
            }
        })
        .collect()
}
