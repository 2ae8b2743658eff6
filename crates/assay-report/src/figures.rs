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
use assay_core::catalogue::About;
use assay_core::exhibit::figure::Figure;
use assay_workloads::tell::FactsFigure;

pub trait FigureSource: Sync {
    fn about(&self) -> About;
    fn draw(&self, evidence: &Evidence) -> Vec<Figure>;
}

/// A kind of figure for any kind of work.
#[derive(Clone, Copy, Debug)]
pub struct Drawing {
    /// Its name, content, and how to read it.
    pub about: About,
    /// Draws all figures of this kind that the evidence supports.
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

/// All kinds, in the order of reading. Figures of kinds of work come before those of runs; those of their seconds come
/// before those of distributions.
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

/// All figures of the evidence in the order of reading. No two have the same id.
pub fn all(evidence: &Evidence) -> Vec<Figure> {
    kinds(evidence).into_iter().flatten().collect()
}

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

/// The leading figures, and the others by kind in reading order: the kind that the study names leads, else the one with
/// the answer.
pub fn ordered(evidence: &Evidence) -> Ordered {
    let kinds = kinds(evidence);
    let asked = named_lead(evidence, &kinds).map(|own| own.iter().take(MOST_LEADING).collect());
    let mut leads: Vec<&Figure> = asked.unwrap_or_else(|| leading(evidence, &kinds));
    // Published values are unfolded next to the study's numbers.
    if let Some([published, ..]) =
        drawn_of(published::PUBLISHED.about.name, &kinds).map(Vec::as_slice)
        && leads.len() < MOST_LEADING
    {
        leads.push(published);
    }
    let leads: Vec<String> = leads.into_iter().map(|figure| figure.id.clone()).collect();
    let (mut lead, mut lead_kinds, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (kind, figures) in FIGURES.iter().zip(kinds) {
        let (first, figures): (Vec<Figure>, Vec<Figure>) =
            figures.into_iter().partition(|figure| leads.contains(&figure.id));
        lead_kinds.extend((!first.is_empty()).then(|| kind.about().name));
        lead.extend(first);
        others.push(Drawn { about: kind.about(), figures });
    }
    others.retain(|drawn| !drawn.figures.is_empty());
    Ordered { lead, lead_kinds, others }
}

/// The figures of the kind that the study names as leading; `None` if it names none, or none was drawn.
fn named_lead<'a>(evidence: &Evidence, kinds: &'a [Vec<Figure>]) -> Option<&'a Vec<Figure>> {
    let name = evidence.findings.study.lead_figure.as_deref()?;
    drawn_of(name, kinds)
}

/// The figures of the named kind, if any.
fn drawn_of<'a>(name: &str, kinds: &'a [Vec<Figure>]) -> Option<&'a Vec<Figure>> {
    let place = FIGURES.iter().position(|kind| kind.about().name == name)?;
    kinds.get(place).filter(|own| !own.is_empty())
}

/// The figures of each of [`FIGURES`].
fn kinds(evidence: &Evidence) -> Vec<Vec<Figure>> {
    let mut known = BTreeSet::new();
    let mut one = |mut figure: Figure| {
        let plain = figure.id.clone();
        let mut number = 2;
        while !known.insert(figure.id.clone()) {
            figure.id = format!("{plain}-{number}");
            number += 1;
        }
        figure
    };
    let mut drawn = |kind: &&'static dyn FigureSource| -> Vec<Figure> {
        let name = kind.about().name;
        // Platforms have separate figures with the same content.
        let is_of_places = name == places::PLACES.about.name;
        if evidence.findings.platforms.is_some() != is_of_places {
            return Vec::new();
        }
        // A window is one number per metric: only its distributions are worth a figure.
        let is_behind = OF_WINDOWS.contains(&name);
        if evidence.findings.are_windows() && !is_behind {
            return Vec::new();
        }
        if evidence.findings.race.is_some() && !OF_RACES.contains(&name) {
            return Vec::new();
        }
        let figures = kind.draw(evidence).into_iter();
        figures.filter(|figure| figure.marks() <= MOST_MARKS).map(&mut one).collect()
    };
    FIGURES.iter().map(&mut drawn).collect()
}

/// The figures that lead if the study names none. Platforms: the speed in percent. A check: bars with intervals, then
/// latencies. Otherwise the first of: the figure of a kind of work, a curve over numeric levels, measured and published
/// numbers, ratios to the baseline, the rate over a surface, bars. With several of a kind, one of the workload in the
/// answer.
fn leading<'a>(evidence: &Evidence, kinds: &'a [Vec<Figure>]) -> Vec<&'a Figure> {
    if evidence.findings.platforms.is_some() {
        return kinds.iter().flatten().take(1).collect();
    }
    if !large(&evidence.findings).is_empty() {
        let of = |kind: &Drawing| drawn_of(kind.about.name, kinds).into_iter().flatten();
        let bars = of(&bars::BARS).take(MOST_LEADING);
        let lead: Vec<&Figure> = bars.chain(of(&percentiles::PERCENTILES).take(1)).collect();
        if !lead.is_empty() {
            return lead;
        }
    }
    // For some kinds the figure with the most marks leads, for others the first.
    let order = [
        (race::RACE.about.name, false),
        (sweep::SWEEP.about.name, false),
        (runs::RUNS.about.name, true),
        (published::PUBLISHED.about.name, true),
        (effects::EFFECTS.about.name, true),
        (surfaces::SURFACE.about.name, false),
        (bars::BARS.about.name, true),
    ];
    let answer = answer(&evidence.findings);
    let of_facts =
        assay_workloads::figures().filter(|figure| figure.leads).map(|figure| figure.about.name);
    let own = of_facts.chain(assay_workloads::own_figures().map(|figure| figure.about.name));
    let mut order = own.map(|name| (name, false)).chain(order);
    let found = order.find_map(|(name, fullest)| Some((drawn_of(name, kinds)?, fullest)));
    let Some((own, fullest)) = found else { return kinds.iter().flatten().take(1).collect() };
    let is_named = |figure: &&Figure| {
        figure
            .workload
            .as_ref()
            .is_some_and(|own| answer.about.iter().any(|one| one.workload == *own))
    };
    let named: Vec<&Figure> = own.iter().filter(is_named).collect();
    // Of several metrics, the answer's, else the rate.
    let iops = answer.about.iter().any(|one| one.metric == "iops");
    let metric = if iops { "iops" } else { "bandwidth_bytes_per_s" };
    let like = own.iter().filter(|figure| figure.metric.as_deref() == Some(metric)).collect();
    let candidates = [named, like, own.iter().collect::<Vec<_>>()];
    let candidates = candidates.into_iter().find(|some| !some.is_empty()).unwrap_or_default();
    let first = candidates.first().copied();
    let lead =
        if fullest { candidates.into_iter().rev().max_by_key(|one| one.marks()) } else { first };
    lead.into_iter().collect()
}
