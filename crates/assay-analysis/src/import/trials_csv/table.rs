//! The rows of a file; names, levels and arms are numbers.

use std::{borrow::Borrow, cmp::Ordering, collections::HashMap, hash::Hash};

use assay_core::lines::{OpenQuote, Splitter};
use assay_study::results::record::Status;

use super::header::{Header, OPEN_QUOTE};
use super::{cells, metrics::Metrics};
use crate::import::mistakes::{Field, Mistakes};

/// Limit on arms: more suggest a column that is not a setting.
const MOST_ARMS: usize = 1000;

/// Distinct values in order of their first appearance.
#[derive(Default)]
pub(super) struct Numbered<T> {
    pub all: Vec<T>,
    index: HashMap<T, usize>,
}

pub(super) type Names = Numbered<String>;

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// Returns the number of a value; adds a new value.
    pub(super) fn add<K>(&mut self, value: &K) -> usize
    where
        K: Eq + Hash + ToOwned<Owned = T> + ?Sized,
        T: Borrow<K>,
    {
        if let Some(known) = self.index.get(value) {
            return *known;
        }
        self.index.insert(value.to_owned(), self.all.len());
        self.all.push(value.to_owned());
        self.all.len() - 1
    }
}

impl Names {
    pub(super) fn has(&self, name: &str) -> bool {
        self.index.contains_key(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.all.iter().map(String::as_str)
    }
}

pub(super) struct FactorColumn {
    pub name: String,
    pub column: usize,
    pub levels: Names,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrialLine {
    pub line: u32,
    pub replicate: u32,
    pub order: Option<u32>,
    pub workload: u32,
    pub arm: u32,
    pub metric: u32,
    pub value: Option<f64>,
    pub status: Status,
    pub reason: Option<Box<str>>,
}

impl TrialLine {
    /// Identifies a trial, whatever its metric.
    pub(super) fn trial(&self) -> (u32, u32, u32, bool) {
        (self.workload, self.arm, self.replicate, self.status == Status::Warmup)
    }
}

/// All rows. Includes names, levels and metrics of faulty rows: one mistake must not cause others.
#[derive(Default)]
pub(super) struct TrialTable {
    pub factors: Vec<FactorColumn>,
    pub workloads: Names,
    pub metrics: Metrics,
    /// Combinations of levels, one number per factor.
    pub arms: Numbered<Vec<usize>>,
    pub rows: Vec<TrialLine>,
    /// Lines below the header, including faulty ones.
    pub lines: usize,
}

impl TrialTable {
    pub(super) fn new(header: &Header) -> Self {
        let factor = |&column: &usize| {
            let name = header.factor(column).to_owned();
            FactorColumn { name, column, levels: Names::default() }
        };
        Self { factors: header.factors.iter().map(factor).collect(), ..Self::default() }
    }

    /// Reads a line; returns false if reading should stop.
    pub(super) fn read_row(
        &mut self,
        header: &Header,
        line: usize,
        text: &str,
        splitter: &mut Splitter,
        mistakes: &mut Mistakes<'_>,
    ) -> bool {
        self.lines += 1;
        if let Err(OpenQuote(column)) = splitter.split(text) {
            mistakes.at(&header.cell(line, column - 1, text), OPEN_QUOTE);
        } else if has_right_length(header, line, splitter, mistakes)
            && let Some(row) = self.parse_row(header, line, splitter, mistakes)
        {
            self.rows.push(row);
        }
        let too_many = self.arms.all.len() > MOST_ARMS;
        if too_many {
            self.report_too_many_arms(header, line, mistakes);
        }
        !too_many
    }

    /// Reads every field, also after a mistake, to report all mistakes of a line.
    fn parse_row(
        &mut self,
        header: &Header,
        line: usize,
        splitter: &Splitter,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<TrialLine> {
        let cell = |column: usize| header.cell(line, column, splitter.field(column));
        let text = |column: usize| splitter.field(column);
        let status = match header.status {
            Some(column) => mistakes.read(&cell(column), cells::status(text(column))),
            None => Some(Status::Ok),
        };
        // With an unknown status, accept the values that any status allows.
        let may = |wanted: Status| status.is_none_or(|status| status == wanted);
        let replicate = header.replicate.and_then(|column| {
            let read = cells::replicate(text(column), may(Status::Warmup));
            mistakes.read(&cell(column), read)
        });
        let advice = "number the trials 1, 2, 3, ... in run order, or remove the column";
        let order = match header.order {
            Some(column) => {
                mistakes.read(&cell(column), cells::whole(text(column), advice)).map(Some)
            }
            None => Some(None),
        };
        let advice = "write the name of the workload, such as `build`";
        let workload = header.workload.and_then(|column| {
            let read = mistakes.read(&cell(column), cells::word(text(column), advice));
            read.map(|name| self.workloads.add(name))
        });
        let metric = header.metric.and_then(|column| self.metrics.read(&cell(column), mistakes));
        let value = header.value.and_then(|column| {
            mistakes.read(&cell(column), cells::value(text(column), may(Status::Failed)))
        });
        let arm = self.parse_arm(cell, mistakes);
        let status = status?;
        let reason = header.reason.filter(|_| status != Status::Ok);
        let reason = reason.map(|index| splitter.field(index)).filter(|reason| !reason.is_empty());
        Some(TrialLine {
            line: line as u32,
            replicate: replicate?,
            order: order?,
            workload: workload? as u32,
            arm: arm? as u32,
            metric: metric? as u32,
            value: value?,
            status,
            reason: reason.map(Into::into),
        })
    }

    /// Number of the arm, the combination of a row's levels; `None` after a mistake in a level.
    fn parse_arm<'a>(
        &mut self,
        cell: impl Fn(usize) -> Field<'a>,
        mistakes: &mut Mistakes<'_>,
    ) -> Option<usize> {
        let advice = "write the level, such as `default` or `none`";
        let mut levels = Vec::with_capacity(self.factors.len());
        for factor in &mut self.factors {
            let cell = cell(factor.column);
            let level = mistakes.read(&cell, cells::word(cell.text, advice));
            levels.extend(level.map(|level| factor.levels.add(level)));
        }
        (levels.len() == self.factors.len()).then(|| self.arms.add(&levels))
    }

    fn report_too_many_arms(&self, header: &Header, line: usize, mistakes: &mut Mistakes<'_>) {
        let Some(most) = self.factors.iter().max_by_key(|factor| factor.levels.all.len()) else {
            return;
        };
        let text = format!(
            "more than {MOST_ARMS} combinations of levels; remove columns that are not factors \
             (this column has {} levels)",
            most.levels.all.len()
        );
        mistakes.at(&header.cell(line, most.column, ""), &text);
    }
}

fn has_right_length(
    header: &Header,
    line: usize,
    splitter: &Splitter,
    mistakes: &mut Mistakes<'_>,
) -> bool {
    let (found, wanted) = (splitter.count(), header.names.len());
    if (0..found).all(|index| splitter.field(index).is_empty()) {
        mistakes.on(line, "the row contains only commas; remove it");
        return false;
    }
    let text = match found.cmp(&wanted) {
        Ordering::Equal => return true,
        Ordering::Less => {
            format!("the row has {found} of {wanted} fields; add the missing fields")
        }
        Ordering::Greater => format!(
            "the row has {found} fields, but the header has {wanted}; write numbers without commas, and quote text \
             that contains commas"
        ),
    };
    mistakes.at(&header.cell(line, found.min(wanted), ""), &text);
    false
}
