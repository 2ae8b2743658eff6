//! How tables and figures name configurations and metrics, and show trust.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::exhibit::figure::{Look, Point, short};
use assay_core::exhibit::{Cell, Column, Table, Tone, Unit};
use assay_workloads::files;
use assay_workloads::metrics::noun;

use super::{Findings, Trust};
use crate::results::plan::{Arm, level_words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rating {
    pub trust: Trust,
    /// Whether a host provides the drive: its caches are invisible, so trust is limited.
    pub is_lent: bool,
}

impl Rating {
    /// Rating of a number; `None` for numbers without a rating, such as imported ones.
    pub fn from_cell(cell: &super::Measurement) -> Option<Self> {
        Some(Self { trust: cell.trust?, is_lent: cell.is_lent() })
    }

    /// Returns the worse rating, for a number computed from two.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let trust = self.trust.max(other.trust);
        Self { trust, is_lent: trust == Trust::Trusted && (self.is_lent || other.is_lent) }
    }

    pub fn words(self) -> &'static str {
        if self.is_lent { "trusted for this virtual device" } else { self.trust.word() }
    }

    pub fn cell(rating: Option<Self>) -> Cell {
        let Some(rating) = rating else { return None::<&str>.into() };
        if rating.is_lent {
            return "virtual".into();
        }
        let tone = match rating.trust {
            Trust::Trusted => Tone::Good,
            Trust::Suspect => Tone::Doubtful,
            Trust::Invalid => Tone::Bad,
        };
        Cell::toned(rating.trust.word(), tone)
    }
}

pub fn mark_trust(point: Point, trust: Option<Trust>) -> Point {
    match trust {
        Some(Trust::Suspect) => point.marked(Look::Hollow, Trust::Suspect.word()),
        Some(Trust::Invalid) => point.marked(Look::Crossed, Trust::Invalid.word()),
        _ => point,
    }
}

/// Short names of configurations: the levels of the factors that vary.
pub struct Names {
    varied: Vec<String>,
}

impl Names {
    /// Names rows by the factors with several levels: declared factors first, in their order.
    pub fn from_findings(findings: &Findings) -> Self {
        let mut levels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let measured = findings.measurements.iter().map(|cell| &cell.configuration);
        let compared =
            findings.comparisons.iter().flat_map(|found| [&found.configuration, &found.baseline]);
        for (factor, level) in measured.chain(compared).flatten() {
            levels.entry(factor).or_default().insert(level);
        }
        let declared = findings.study.factors.iter().map(|factor| factor.name.as_str());
        let mut order: Vec<&str> = declared.collect();
        for name in levels.keys() {
            if !order.contains(name) {
                order.push(name);
            }
        }
        let varies = |name: &&str| levels.get(name).is_some_and(|levels| levels.len() > 1);
        let varied = order.into_iter().filter(varies).map(str::to_owned).collect();
        Self { varied }
    }

    pub fn varied(&self) -> &[String] {
        &self.varied
    }

    /// Formats an arm: `ext4, threads 32`; empty if no factor varies.
    pub fn arm(&self, arm: &Arm) -> String {
        self.arm_without(arm, "")
    }

    pub fn arm_without(&self, arm: &Arm, without: &str) -> String {
        let names = self.varied.iter().filter(|name| *name != without);
        let names = names.filter_map(|name| Some(level_words(name, arm.get(name)?)));
        short(&names.collect::<Vec<_>>().join(", "))
    }
}

pub fn heading(metric: &str) -> &str {
    if metric == "iops" { "IOPS" } else { noun(metric) }
}

/// Title of a metric in a figure; the words of its name if it has no noun.
pub fn metric_title(metric: &str) -> String {
    let title = heading(metric);
    if title == metric { short(&metric.replace('_', " ")) } else { title.to_owned() }
}

pub const MICRO_RATE: &str = "micro_operations_per_s";

pub fn unit_of(metric: &str) -> Unit {
    if metric == MICRO_RATE {
        Unit::OperationsPerS
    } else if metric == files::FILES.name || files::rate(metric).is_some() {
        Unit::FilesPerS
    } else {
        Unit::of_metric(metric)
    }
}

/// Starts a table with the columns that distinguish its rows: the workload, the configuration, or both.
pub fn table_of_rows<'a, T>(
    findings: &Findings,
    items: &'a [T],
    row: impl Fn(&'a T) -> (&'a str, &'a Arm),
) -> Table {
    let (workloads, arms): (BTreeSet<&str>, BTreeSet<&Arm>) = items.iter().map(&row).unzip();
    let mut table = Table::default();
    if workloads.len() > 1 || arms.len() < 2 {
        table.add(Column::key("workload"), items, |item| row(item).0);
    }
    if arms.len() > 1 {
        table.add(Column::key("setting"), items, |item| findings.arm_words(row(item).1));
    }
    table
}

/// The same with one row per measured number.
pub fn table_of_cells(findings: &Findings, cells: &[&super::Measurement]) -> Table {
    table_of_rows(findings, cells, |cell| (cell.workload.as_str(), &cell.configuration))
}

#[cfg(test)]
mod tests {
    use super::super::StudyFacts;
    use super::*;
    use crate::results::design::Factor;

    #[test]
    fn rows_are_named_by_what_distinguishes_them() {
        let arm = |scheduler: &str| {
            let level = |(name, level): (&str, &str)| (name.to_owned(), level.to_owned());
            Arm::from([("filesystem", "ext4"), ("scheduler", scheduler)].map(level))
        };
        let factor = |name: &str, levels: &[&str]| Factor {
            name: name.to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        let factors = vec![factor("filesystem", &["ext4"]), factor("scheduler", &["none", "bfq"])];
        let study = StudyFacts { factors, ..StudyFacts::default() };
        let findings = Findings { study, ..Findings::default() };
        let (none, bfq) = (arm("none"), arm("bfq"));
        let words = |rows: &[(&str, &Arm)]| {
            let table = table_of_rows(&findings, rows, |row| *row);
            table.rows.iter().map(|row| table.name_of(row)).collect::<Vec<_>>()
        };
        assert_eq!(words(&[("read", &none), ("read", &bfq)]), ["scheduler none", "bfq"]);
        assert_eq!(words(&[("read", &none), ("write", &none)]), ["read", "write"]);
        assert_eq!(
            words(&[("read", &none), ("write", &bfq)]),
            ["read scheduler none", "write bfq"]
        );
        assert_eq!(words(&[("read", &none)]), ["read"]);
    }
}
