//! Tables of published numbers next to the numbers of the study, in their author's digits.

use assay_core::exhibit::{Column, Table};
use assay_core::quantity::units::show;
use assay_study::findings::shown::{Rating, unit_of};
use assay_study::findings::{Comparison, Findings, Kind, Measurement};
use assay_study::plan::arms::matches;
use assay_study::results::plan::Arm;
use assay_workloads::metrics::noun;

use super::{Published, PublishedUnit};
use crate::{import::grouped, inference::distinct, inference::without_factor};

/// Up to this number of arms, include those without published numbers.
const MOST_ARMS: usize = 16;
/// The same limit if some arms have a published number.
const MOST_BESIDE: usize = 8;

/// Published values of one metric of one workload, with the study's numbers.
pub(super) struct PublishedGroup<'a> {
    pub workload: &'a str,
    pub metric: &'a str,
    /// The numbers are ratios over the first level of this factor.
    pub ratio: Option<&'a str>,
    pub lines: Vec<PublishedLine<'a>>,
}

pub(super) struct PublishedLine<'a> {
    /// The arm's name; empty if nothing varies.
    pub own_name: String,
    pub published: Option<&'a Published>,
    pub own: Option<OwnNumber>,
}

#[derive(Clone, Copy)]
pub(super) struct OwnNumber {
    pub value: f64,
    pub interval: Option<[f64; 2]>,
    pub rating: Option<Rating>,
}

/// Published numbers by workload and metric, next to those of the study; ratios are separate.
pub(super) fn groups<'a>(findings: &'a Findings, all: &'a [Published]) -> Vec<PublishedGroup<'a>> {
    let groups = grouped(all, |one, other| {
        one.workload == other.workload && one.metric == other.metric && one.ratio == other.ratio
    });
    let to_lines = |group: Vec<&'a Published>| {
        let ratio = group[0].ratio.as_deref();
        let lines = match ratio {
            Some(factor) => ratio_lines(findings, &group, factor),
            None => value_lines(findings, &group),
        };
        PublishedGroup { workload: &group[0].workload, metric: &group[0].metric, ratio, lines }
    };
    groups.into_iter().map(to_lines).collect()
}

/// Published values, each with the number of the arm at its levels if there is only one; then other arms, if few.
fn value_lines<'a>(findings: &'a Findings, published: &[&'a Published]) -> Vec<PublishedLine<'a>> {
    let (workload, metric) = (&published[0].workload, &published[0].metric);
    let mut cells: Vec<_> = findings.measurements.iter().filter(|cell| !cell.control).collect();
    cells.retain(|cell| cell.workload == *workload && cell.metric == *metric);
    let line = |published: Option<&'a Published>, cell: Option<&Measurement>| PublishedLine {
        own_name: cell.map(|cell| arm_name(findings, &cell.configuration)).unwrap_or_default(),
        published,
        own: cell.and_then(own_number),
    };
    let mut matched_arms: Vec<&Arm> = Vec::new();
    let mut lines = Vec::new();
    for one in published {
        let mut at_levels =
            cells.iter().copied().filter(|cell| matches(&cell.configuration, &one.configuration));
        // A published number for several arms belongs to none of them in particular.
        let cell = match (at_levels.next(), at_levels.next()) {
            (Some(cell), None) if !one.configuration.is_empty() => Some(cell),
            _ => None,
        };
        // Each arm is next to its first published number only.
        let cell = cell.filter(|cell| !matched_arms.contains(&&cell.configuration));
        matched_arms.extend(cell.map(|cell| &cell.configuration));
        lines.push(line(Some(*one), cell));
    }
    cells.retain(|cell| !matched_arms.contains(&&cell.configuration));
    let has_match = !matched_arms.is_empty();
    // One published number without levels belongs to the only arm.
    if let ([cell], [one], false) = (cells.as_slice(), published, has_match) {
        return vec![line(Some(*one), Some(*cell))];
    }
    let most = if has_match { MOST_BESIDE } else { MOST_ARMS };
    if cells.len() > most {
        return lines;
    }
    let unmatched = cells.into_iter().map(|cell| line(None, Some(cell)));
    if has_match {
        lines.into_iter().chain(unmatched).collect()
    } else {
        unmatched.chain(lines).collect()
    }
}

/// An arm by its varied levels, in the order of the study: `ext4, none`.
fn arm_name(findings: &Findings, arm: &Arm) -> String {
    let varied = findings.study.factors.iter().filter(|factor| factor.varies());
    let levels: Vec<&str> =
        varied.filter_map(|factor| arm.get(&factor.name).map(String::as_str)).collect();
    if levels.is_empty() { "this machine".to_owned() } else { levels.join(", ") }
}

fn own_number(cell: &Measurement) -> Option<OwnNumber> {
    let value = cell.value().filter(|value| value.is_finite())?;
    Some(OwnNumber { value, interval: cell.ci95, rating: Rating::from_cell(cell) })
}

/// Published ratios, and the study's ratios over the first level of the factor.
fn ratio_lines<'a>(
    findings: &'a Findings,
    published: &[&'a Published],
    factor: &str,
) -> Vec<PublishedLine<'a>> {
    let (workload, metric) = (&published[0].workload, &published[0].metric);
    let published = published.iter().map(|one| PublishedLine {
        own_name: String::new(),
        published: Some(*one),
        own: None,
    });
    let other_levels = |arm: &Arm| without_factor(arm, factor);
    let is_over_factor = |found: &&Comparison| {
        matches!(found.kind, Kind::Paired | Kind::Unpaired)
            && found.workload == *workload
            && found.metric == *metric
            && found.configuration.get(factor) != found.baseline.get(factor)
            && other_levels(&found.configuration) == other_levels(&found.baseline)
    };
    let level = |arm: &Arm| arm.get(factor).cloned().unwrap_or_default();
    let measured = findings.comparisons.iter().filter(is_over_factor).filter_map(|found| {
        let rating = |arm: &Arm| {
            findings.cell(&found.workload, arm, &found.metric).and_then(Rating::from_cell)
        };
        let sides = [rating(&found.configuration), rating(&found.baseline)];
        Some(PublishedLine {
            own_name: format!("{} over {}", level(&found.configuration), level(&found.baseline)),
            published: None,
            own: Some(OwnNumber {
                value: found.ratio?,
                interval: found.ci95_simultaneous.or(found.ci95),
                rating: sides.into_iter().flatten().reduce(Rating::with),
            }),
        })
    });
    published.chain(measured).collect()
}

impl PublishedGroup<'_> {
    /// `sequential-write: rate`, `write-512-mib: energy, ratio`.
    pub fn title(&self) -> String {
        let ratio = if self.ratio.is_some() { ", ratio" } else { "" };
        format!("{}: {}{ratio}", self.workload, noun(self.metric).replace('_', " "))
    }

    /// The author's unit, if all numbers share it.
    pub fn unit(&self) -> Option<&PublishedUnit> {
        let mut units = self.lines.iter().filter_map(|line| line.published?.unit.as_ref());
        let first = units.next()?;
        units.all(|unit| unit == first).then_some(first)
    }

    pub fn format(&self, value: f64) -> String {
        match (self.ratio, self.unit()) {
            (None, Some(unit)) => format!("{} {}", self.bare(value), unit.name),
            _ => self.bare(value),
        }
    }

    fn bare(&self, value: f64) -> String {
        match (self.ratio, self.unit()) {
            (Some(_), _) => show::ratio(value),
            (None, Some(unit)) => display_digits(value / unit.size),
            (None, None) => unit_of(self.metric).alone(value),
        }
    }
}

/// At least three digits, and all digits before the decimal point.
fn display_digits(value: f64) -> String {
    if value.abs() >= 1000.0 { format!("{value:.0}") } else { show::three_digits(value) }
}

/// A table for each metric of a workload with numbers of the study, and one of all other published numbers.
pub(super) fn tables(
    findings: &Findings,
    published: &[Published],
    groups: &[PublishedGroup<'_>],
) -> Vec<Table> {
    let (measured, unmatched): (Vec<_>, Vec<_>) =
        groups.iter().partition(|group| group.lines.iter().any(|line| line.own.is_some()));
    let mut tables: Vec<Table> = measured.into_iter().map(table).collect();
    if !unmatched.is_empty() {
        tables.push(unmatched_table(&unmatched));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(notes(findings, published, groups));
    }
    tables
}

fn table(group: &PublishedGroup<'_>) -> Table {
    let unit = match (group.ratio, group.unit()) {
        (Some(_), _) => "ratio",
        (None, Some(unit)) => &unit.name,
        (None, None) => "result",
    };
    let lines = &group.lines;
    let mut table = Table::new(group.title());
    table.add(Column::key("article"), lines, PublishedLine::published_name);
    table.add(Column::right("published"), lines, |line| line.published.map(|one| &one.text));
    table.add(Column::key("here"), lines, PublishedLine::measured_name);
    table.add(Column::right(unit), lines, |line| Some(group.bare(line.own.as_ref()?.value)));
    table.add(Column::right("95% CI").detail(), lines, |line| {
        let ends = line.own.as_ref()?.interval?;
        let [low, high] = ends.map(|end| group.bare(end));
        ends.iter().all(|end| end.is_finite()).then(|| format!("{low} to {high}"))
    });
    table.add(Column::verdict("trust"), lines, |line| {
        line.own.as_ref().map_or_else(|| "".into(), |own| Rating::cell(own.rating))
    });
    for (row, line) in table.rows.iter_mut().zip(lines) {
        let name = [line.published_name(), line.measured_name()].join(" ");
        row.name = format!("{}: {}", group.title(), name.trim());
        // Doubts about a published number are printed below it.
        row.notes = line.published.map(|one| one.flags.clone()).unwrap_or_default();
    }
    table
}

impl PublishedLine<'_> {
    fn published_name(&self) -> &str {
        self.published.map_or("", |one| &one.of)
    }

    fn measured_name(&self) -> &str {
        self.own.as_ref().map_or("", |_| &self.own_name)
    }
}

fn unmatched_table(groups: &[&PublishedGroup<'_>]) -> Table {
    let mut rows: Vec<(String, &Published)> = Vec::new();
    for group in groups {
        rows.extend(group.lines.iter().filter_map(|line| Some((group.title(), line.published?))));
    }
    let mut table = Table::new("No measurement in your result matches these published numbers.");
    table.add(Column::key("work"), &rows, |(title, _)| title);
    table.add(Column::key("article"), &rows, |(_, one)| &one.of);
    table.add(Column::right("published"), &rows, |(_, one)| &one.text);
    for (row, (title, one)) in table.rows.iter_mut().zip(&rows) {
        row.name = format!("{title}: {}", one.of);
        row.notes.clone_from(&one.flags);
    }
    table
}

/// Sources and statistics of the numbers, and a note that they describe another machine.
fn notes(found: &Findings, published: &[Published], groups: &[PublishedGroup<'_>]) -> Vec<String> {
    let text = |one: &Published| {
        let table = one.table.split(':').next().unwrap_or_default();
        format!("Published in \"{}\" ({table}): {}.", one.article, one.statistic)
    };
    let mut notes = distinct(published.iter().map(text));
    notes.push(
        "The published numbers come from another machine, so Assay gives no verdict on the difference. Your numbers \
         are converted to the author's unit."
            .to_owned(),
    );
    // With one level, there is no ratio.
    let has_one_level = |factor: &&str| {
        let known = found.study.factors.iter().find(|known| known.name == **factor);
        known.is_none_or(|known| known.levels.len() < 2)
    };
    let factor = groups.iter().filter_map(|group| group.ratio).find(has_one_level);
    notes.extend(factor.map(|factor| format!("A ratio needs numbers for two levels of {factor}.")));
    notes
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::Bench;
    use super::*;
    use assay_core::exhibit::Unit;
    use assay_study::findings::{Because, LENT, Trust};

    #[test]
    fn a_number_of_a_lent_drive_is_as_given_beside_published_ones() {
        let mut cell = Bench::new(&["."])
            .row(0, "random-read", 4096, &[9, 9])
            .findings()
            .measurements
            .remove(0);
        cell.trust = Some(Trust::Trusted);
        let word = |cell: &Measurement| {
            let lines = vec![PublishedLine {
                own_name: String::new(),
                published: None,
                own: own_number(cell),
            }];
            let group =
                PublishedGroup { workload: "work", metric: &cell.metric, ratio: None, lines };
            table(&group).rows[0].cells[5].text(Unit::Words)
        };
        cell.reasons.clear();
        assert_eq!(word(&cell), "trusted");
        let text = "the host's cache is invisible to this guest".to_owned();
        cell.reasons = vec![Because { rule: LENT.to_owned(), trust: Trust::Trusted, text }];
        assert_eq!(word(&cell), "virtual");
        cell.trust = Some(Trust::Suspect);
        assert_eq!(word(&cell), "suspect");
    }
}
