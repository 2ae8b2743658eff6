//! The hosts of a fleet: the work of each, and the slowest and fastest of each row.

use super::{Block, Column, Section, Table};
use assay_core::{exhibit::Unit, quantity::units::show};
use assay_study::findings::Findings;
use assay_study::findings::hosts::{HostFindings, HostRow};
use assay_study::results::{fleet::words, plan::arm_in_words};

/// Limit on rows: with more hosts, list the lost and the slowest ones.
const MOST_ROWS: usize = 32;

/// The pace of each host and the range of each row over the hosts; `None` for a study on one host.
pub(super) fn section(findings: &Findings) -> Option<Section> {
    let hosts = findings.environment.hosts.as_ref()?;
    let mut text = vec![
        "Pace: a host's rate relative to the mean of all hosts, with its lowest and highest trial. The other tables \
         combine all hosts."
            .to_owned(),
    ];
    text.extend(hosts.starts_ns.map(|[median, worst]| {
        format!(
            "The hosts started their measurement windows within {} of each other (median; maximum {}), measured at \
             each host's release signal.",
            show::duration(median as f64),
            show::duration(worst as f64)
        )
    }));
    // Too many hosts: show those that need attention, which are the lost and the slow ones.
    let mut shown: Vec<&HostRow> = hosts.rows.iter().collect();
    if shown.len() > MOST_ROWS {
        let pace = |row: &HostRow| row.relative_rate.map_or(f64::INFINITY, |[_, median, _]| median);
        shown.sort_by(|left, right| {
            right.lost.is_some().cmp(&left.lost.is_some()).then(pace(left).total_cmp(&pace(right)))
        });
        shown.truncate(MOST_ROWS);
        text.push(format!(
            "Showing {MOST_ROWS} of {} hosts: lost hosts first, then the slowest.",
            hosts.rows.len()
        ));
    }
    let hash = hosts.order_sha256.get(..12).unwrap_or(&hosts.order_sha256);
    text.push(format!("Order and configurations of all hosts: {hash}."));
    let blocks = vec![Block::Text(text), Block::Table(rows(&shown)), Block::Table(ranges(hosts))];
    Some(Section::titled("hosts", blocks))
}

/// A row per host. Its pace is its rate relative to the mean of all hosts: lowest trial, median and highest trial.
fn rows(hosts: &[&HostRow]) -> Table {
    let pace = |host: &HostRow, index: usize| host.relative_rate.map(|rates| rates[index]);
    let mut table = Table::default();
    table.add(Column::key("host"), hosts, |host| words(host.rank, &host.name));
    table.add(Column::left("target"), hosts, |host| {
        (!host.targets.is_empty()).then(|| host.targets.join(", "))
    });
    table.add(Column::new("trials", Unit::Count), hosts, |host| u64::from(host.trials));
    table.add(Column::new("pace", Unit::Share), hosts, |host| pace(host, 1));
    table.add(Column::new("lowest", Unit::Share), hosts, |host| pace(host, 0));
    table.add(Column::new("highest", Unit::Share), hosts, |host| pace(host, 2));
    for (row, host) in table.rows.iter_mut().zip(hosts) {
        row.notes.extend(host.lost.iter().map(|why| format!("lost in {why}")));
    }
    table
}

fn ranges(hosts: &HostFindings) -> Table {
    let name_of = |rank: u32| {
        let host = hosts.rows.iter().find(|row| row.rank == rank);
        words(rank, host.map_or("", |row| row.name.as_str()))
    };
    let rows = &hosts.ranges;
    let mut table = Table::default();
    table.add(Column::key("row"), rows, |range| {
        let arm = arm_in_words(range.configuration.iter());
        format!("{} {arm}", range.workload).trim_end().to_owned()
    });
    table.add(Column::left("slowest"), rows, |range| name_of(range.slowest_rank));
    table.add(Column::right("op/s"), rows, |range| show::per_second(range.slowest_per_s));
    table.add(Column::left("fastest"), rows, |range| name_of(range.fastest_rank));
    table.add(Column::right("op/s"), rows, |range| show::per_second(range.fastest_per_s));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::findings::hosts::HostRange;

    fn hosts(count: u32) -> HostFindings {
        let row = |rank: u32| HostRow {
            rank,
            name: format!("n{rank}"),
            targets: vec!["/mnt".to_owned()],
            trials: 6,
            relative_rate: Some([0.9, 1.0 - f64::from(rank) / 1000.0, 1.1]),
            lost: (rank == 2).then(|| "trial 4: the connection is closed".to_owned()),
        };
        let range = HostRange {
            workload: "read".to_owned(),
            configuration: [("queue_depth".to_owned(), "8".to_owned())].into(),
            slowest_per_s: 900.0,
            slowest_rank: 1,
            fastest_per_s: 1100.0,
            fastest_rank: 0,
        };
        HostFindings {
            started: count,
            finished: count - 1,
            order_sha256: "0123456789abcdef".to_owned(),
            rejected: None,
            rows: (0..count).map(row).collect(),
            ranges: vec![range],
            starts_ns: Some([80_000, 2_000_000]),
        }
    }

    #[test]
    fn each_host_has_a_row_and_the_lost_one_its_reason() {
        let table = rows(&hosts(4).rows.iter().collect::<Vec<_>>());
        assert_eq!(table.rows.len(), 4);
        assert_eq!(table.rows[2].notes, ["lost in trial 4: the connection is closed"]);
        let cells = table.texts(&table.rows[1]);
        assert_eq!(cells, ["rank 1 (n1)", "/mnt", "6", "99.9%", "90%", "110%"]);
        let range = ranges(&hosts(4));
        let cells = range.texts(&range.rows[0]);
        assert_eq!(cells, ["read queue_depth 8", "rank 1 (n1)", "900", "rank 0 (n0)", "1,100"]);
    }
}
