//! The available figures and their data. A figure is omitted if the evidence lacks its data.

pub mod bars;
pub mod classes;
pub mod effects;
pub mod energy;
pub mod grid;
pub mod heat;
pub mod hosts;
pub mod order;
pub mod percentiles;
pub mod periods;
pub mod places;
mod race;
mod runs;
pub mod series;
pub mod sweep;
pub mod table;
#[cfg(test)]
pub(crate) mod tests;
mod timeline;
mod words;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::document::{answer, large};
use super::evidence::Evidence;
use assay_analysis::inference::{card, published, surfaces};
use assay_core::{catalogue::About, exhibit::figure::Figure};
use assay_study::findings::Findings;
use assay_workloads::tell::FactsFigure;

pub trait FigureSource: Sync {
    fn about(&self) -> About;
    fn draw(&self, evidence: &Evidence) -> Vec<Figure>;
}

/// A kind of figure for any kind of work.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    pub about: About,
    pub draw: fn(&Evidence) -> Vec<Figure>,
}

impl FigureSource for Drawing {
    fn about(&self) -> About {
        self.about
    }

    fn draw(&self, evidence: &Evidence) -> Vec<Figure> {
        (self.draw)(evidence)
    }
}

impl FigureSource for FactsFigure {
    fn about(&self) -> About {
        self.about
    }

    fn draw(&self, evidence: &Evidence) -> Vec<Figure> {
        // Trials of several results have no common order.
        if evidence.findings.study.kind == "compare" {
            return Vec::new();
        }
        let findings = &evidence.findings;
        let of_kinds = findings.kind_exhibits().filter(|exhibit| exhibit.topic == self.key);
        let others = findings.exhibits.iter().filter(|exhibit| exhibit.topic == self.key).cloned();
        of_kinds.chain(others).flat_map(|exhibit| exhibit.figures).collect()
    }
}

/// All kinds, in reading order. Figures of kinds of work come before those of runs; those of their seconds come before
/// those of distributions.
pub static FIGURES: LazyLock<Vec<&'static dyn FigureSource>> = LazyLock::new(|| {
    let of_facts = assay_workloads::figures().map(|figure| figure as &dyn FigureSource);
    let of_seconds = assay_workloads::own_figures().map(|figure| figure as &dyn FigureSource);
    let of_numbers = OF_NUMBERS.iter().copied().chain(of_seconds);
    let of_studies = OF_STUDIES.iter().copied().chain(of_facts);
    of_studies.chain(of_numbers).chain(OF_RECORDS.iter().copied()).collect()
});

static OF_STUDIES: &[&dyn FigureSource] = &[
    &places::PLACES,
    &race::RACE,
    &sweep::SWEEP,
    &effects::EFFECTS,
    &surfaces::SURFACE,
    &card::CARD,
    &energy::ENERGY,
];

static OF_NUMBERS: &[&dyn FigureSource] =
    &[&runs::RUNS, &bars::BARS, &published::PUBLISHED, &grid::GRID];

static OF_RECORDS: &[&dyn FigureSource] = &[
    &percentiles::PERCENTILES,
    &classes::CLASSES,
    &periods::PERIODS,
    &heat::HEAT,
    &series::SERIES,
    &order::ORDER,
    &hosts::HOSTS,
];

const OF_WINDOWS: [&str; 2] = ["classes", "percentiles"];

/// Figures of a race: the others would compare its arms, some of which remain by luck.
const OF_RACES: [&str; 2] = ["race", "order"];

/// Limit on marks per figure; larger ones are only readable as tables.
const MOST_MARKS: usize = 1500;

/// All figures of the evidence in reading order. No two have the same id.
pub fn all(evidence: &Evidence) -> Vec<Figure> {
    drawn_kinds(evidence).into_iter().flatten().collect()
}

/// Longest evaluated part of a trial in seconds: a day.
const LONGEST_TRIAL: usize = 86_400;

/// With up to this number of figures of the leading kind, all lead.
const MOST_LEADING: usize = 2;

pub struct Ordered {
    pub lead: Vec<Figure>,
    pub lead_kinds: Vec<&'static str>,
    pub others: Vec<Drawn>,
}

#[derive(Clone, Debug)]
pub struct Drawn {
    pub about: About,
    pub figures: Vec<Figure>,
}

/// Splits all figures: the leading ones, of the kind that the study names or else with the answer, and others by kind.
pub fn ordered(evidence: &Evidence) -> Ordered {
    let kinds = drawn_kinds(evidence);
    let lead_name = evidence.findings.study.lead_figure.as_deref();
    let named_lead = lead_name.and_then(|name| figures_of_kind(name, &kinds));
    let mut leading: Vec<&Figure> = match named_lead {
        Some(figures) => figures.iter().take(MOST_LEADING).collect(),
        None => leading_figures(evidence, &kinds),
    };
    // Published values are unfolded next to the study's numbers.
    if leading.len() < MOST_LEADING
        && let Some(published) = figures_of_kind(published::PUBLISHED.about.name, &kinds)
    {
        leading.extend(published.first());
    }
    let leading_ids: Vec<String> = leading.into_iter().map(|figure| figure.id.clone()).collect();
    let (mut lead, mut lead_kinds, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, drawn) in FIGURES.iter().zip(kinds) {
        let (mut leading, figures): (Vec<Figure>, Vec<Figure>) =
            drawn.into_iter().partition(|figure| leading_ids.contains(&figure.id));
        if !leading.is_empty() {
            lead_kinds.push(kind.about().name);
            lead.append(&mut leading);
        }
        if !figures.is_empty() {
            others.push(Drawn { about: kind.about(), figures });
        }
    }
    Ordered { lead, lead_kinds, others }
}

/// The drawn figures of the named kind; `None` if there are none.
fn figures_of_kind<'a>(name: &str, kinds: &'a [Vec<Figure>]) -> Option<&'a Vec<Figure>> {
    let index = FIGURES.iter().position(|kind| kind.about().name == name)?;
    kinds.get(index).filter(|figures| !figures.is_empty())
}

/// Draws the figures of each kind in [`FIGURES`], except too large ones; a number makes equal IDs unique.
fn drawn_kinds(evidence: &Evidence) -> Vec<Vec<Figure>> {
    let mut ids = BTreeSet::new();
    let mut kinds = Vec::new();
    for kind in FIGURES.iter() {
        let is_wanted = is_meaningful(&evidence.findings, kind.about().name);
        let mut figures = if is_wanted { kind.draw(evidence) } else { Vec::new() };
        figures.retain(|figure| figure.marks() <= MOST_MARKS);
        for figure in &mut figures {
            let plain_id = figure.id.clone();
            let mut number = 2;
            while !ids.insert(figure.id.clone()) {
                figure.id = format!("{plain_id}-{number}");
                number += 1;
            }
        }
        kinds.push(figures);
    }
    kinds
}

/// Whether figures of a kind make sense for a result.
fn is_meaningful(findings: &Findings, kind: &str) -> bool {
    // A comparison of platforms has its own figures, and only these.
    let of_platforms = kind == places::PLACES.about.name;
    if findings.platforms.is_some() != of_platforms {
        return false;
    }
    // Observed windows of time have one number per metric: only their distributions are worth a figure.
    if findings.are_windows() && !OF_WINDOWS.contains(&kind) {
        return false;
    }
    findings.race.is_none() || OF_RACES.contains(&kind)
}

/// The leading figures if the study names no kind: platforms: the speed in percent; a check: bars, then latencies;
/// otherwise one figure of [`leading_kind`], if possible of the workload in the answer.
fn leading_figures<'a>(evidence: &Evidence, kinds: &'a [Vec<Figure>]) -> Vec<&'a Figure> {
    let first_drawn = || kinds.iter().flatten().take(1).collect();
    if evidence.findings.platforms.is_some() {
        return first_drawn();
    }
    if !large(&evidence.findings).is_empty() {
        let first = |kind: &Drawing, count: usize| {
            figures_of_kind(kind.about.name, kinds).into_iter().flatten().take(count)
        };
        let mut lead: Vec<&Figure> = first(&bars::BARS, MOST_LEADING).collect();
        lead.extend(first(&percentiles::PERCENTILES, 1));
        if !lead.is_empty() {
            return lead;
        }
    }
    let Some((figures, prefers_fullest)) = leading_kind(kinds) else { return first_drawn() };
    let answer = answer(&evidence.findings);
    let is_answered = |figure: &&Figure| {
        let workload = figure.workload.as_deref();
        answer.about.iter().any(|about| workload == Some(about.workload.as_str()))
    };
    let mut candidates: Vec<&Figure> = figures.iter().filter(is_answered).collect();
    if candidates.is_empty() {
        // No figure of that workload: take the metric of the answer.
        let has_iops = answer.about.iter().any(|about| about.metric == "iops");
        let metric = if has_iops { "iops" } else { "bandwidth_bytes_per_s" };
        let has_metric = |figure: &&Figure| figure.metric.as_deref() == Some(metric);
        candidates = figures.iter().filter(has_metric).collect();
    }
    if candidates.is_empty() {
        candidates = figures.iter().collect();
    }
    if prefers_fullest {
        // Of equally full figures, the first: `max_by_key` returns the last.
        candidates.into_iter().rev().max_by_key(|figure| figure.marks()).into_iter().collect()
    } else {
        candidates.into_iter().take(1).collect()
    }
}

/// The figures of the first kind in this order that was drawn, and whether the figure with the most marks leads.
fn leading_kind(kinds: &[Vec<Figure>]) -> Option<(&Vec<Figure>, bool)> {
    let of_facts =
        assay_workloads::figures().filter(|figure| figure.leads).map(|figure| figure.about.name);
    let of_seconds = assay_workloads::own_figures().map(|figure| figure.about.name);
    let of_work = of_facts.chain(of_seconds).map(|name| (name, false));
    let mut by_priority = of_work.chain([
        (race::RACE.about.name, false),
        (sweep::SWEEP.about.name, false),
        (runs::RUNS.about.name, true),
        (published::PUBLISHED.about.name, true),
        (effects::EFFECTS.about.name, true),
        (surfaces::SURFACE.about.name, false),
        (bars::BARS.about.name, true),
    ]);
    by_priority.find_map(|(name, fullest)| Some((figures_of_kind(name, kinds)?, fullest)))
}
