//! Published numbers as findings: cells of one number each, comparisons of kind `published`.

use assay_base::quantity::units::show;
use assay_base::quantity::{Better, Scale};
use assay_kinds::work::metrics::{self, noun};
use assay_stats::Welch;
use assay_study::findings::facts::Unknown;
use assay_study::findings::{
    AbsentCell, Because, Cell, CellTrial, Check, Comparison, EnvironmentFacts, Findings, Kind,
    StudyFacts, Trust, Verdict,
};
use assay_study::results::design::{ALPHA, Factor};
use assay_study::results::plan::{Arm, arm_words};
use assay_study::results::record::Status;

use super::rules::Summary;

/// What an article does not say.
const NOT_PUBLISHED: &str = "not published";
/// What a note of a number is called that says how its author printed it.
pub const PRINTED: &str = "printed";
/// Kind of a study that was published.
const KIND: &str = "article";

/// What a number is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    workload: String,
    arm: Arm,
    metric: &'static str,
    better: Better,
}

/// Where a number goes: workload, levels, metric. Metrics that are not known here count as better
/// when they are lower.
pub fn place(workload: &str, arm: &[(&str, &str)], metric: &'static str) -> Place {
    let arm = arm.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
    let better = metrics::find(metric).map_or(Better::Lower, |metric| metric.better);
    Place { workload: workload.to_owned(), arm, metric, better }
}

impl Place {
    /// The same for a metric that is better when it is higher.
    #[must_use]
    pub fn higher(self) -> Self {
        Self { better: Better::Higher, ..self }
    }
}

/// The numbers of one article while they are gathered.
#[derive(Clone, Debug, Default)]
pub struct Book {
    cells: Vec<Cell>,
    comparisons: Vec<Comparison>,
    factors: Vec<Factor>,
    absent: Vec<AbsentCell>,
    checks: Vec<Check>,
}

impl Book {
    /// Adds a number with the statistic that it is (`mean of 5`, `one run`, `vendor`) and how its
    /// author printed it (`551009 K/s`); nothing where it was printed nowhere.
    pub fn number(&mut self, place: &Place, value: f64, statistic: &str, printed: &str) {
        for (factor, level) in &place.arm {
            self.level(factor, level);
        }
        let trial = CellTrial::bare(1, None, Some(value), Status::Ok);
        let known = Some(value);
        let mut told = vec![because("published", Trust::Trusted, statistic)];
        if !printed.is_empty() {
            told.push(because(PRINTED, Trust::Trusted, printed));
        }
        self.cells.push(Cell {
            workload: place.workload.clone(),
            arm: place.arm.clone(),
            metric: place.metric.to_owned(),
            better: place.better,
            trials: vec![trial],
            counted: None,
            n: 1,
            geometric_mean: known.filter(|value| *value > 0.0),
            mean: None,
            min: known,
            median: known,
            max: known,
            ci95: None,
            wide: false,
            provisional: true,
            control: false,
            primary: true,
            scale: Scale::Ratio,
            trust: None,
            because: told,
        });
    }

    fn level(&mut self, factor: &str, level: &str) {
        let index = self.factors.iter().position(|known| known.name == factor);
        let index = index.unwrap_or_else(|| {
            self.factors.push(Factor { name: factor.to_owned(), levels: Vec::new() });
            self.factors.len() - 1
        });
        if !self.factors[index].levels.iter().any(|known| known == level) {
            self.factors[index].levels.push(level.to_owned());
        }
    }

    /// Says of a number how far it can be trusted, and why; the worst word stays.
    pub fn doubt(&mut self, place: &Place, trust: Trust, rule: &str, text: &str) {
        let own = |cell: &&mut Cell| is_at(cell, place);
        if let Some(cell) = self.cells.iter_mut().find(own) {
            cell.trust = cell.trust.max(Some(trust));
            cell.because.push(because(rule, trust, text));
        }
    }

    /// A number that the article lacks.
    pub fn absent(&mut self, place: &Place, reason: &str) {
        self.absent.push(AbsentCell {
            workload: place.workload.clone(),
            arm: place.arm.clone(),
            metric: Some(place.metric.to_owned()),
            reason: reason.to_owned(),
            obstacle: None,
        });
    }

    /// What the numbers as a whole should be read with.
    pub fn check(&mut self, name: &str, text: &str) {
        self.checks.push(Check::new(name, text.to_owned()));
    }

    /// Two published numbers without spread: their ratio, and no verdict.
    pub fn compare(&mut self, baseline: &Place, place: &Place) {
        let value = |place: &Place| {
            let cell = self.cells.iter().find(|cell| is_at(cell, place))?;
            cell.value().filter(|value| *value > 0.0)
        };
        if let (Some(base), Some(own)) = (value(baseline), value(place)) {
            let none = "no spread was published, so there is no verdict";
            let text = told([baseline, place], own / base, none);
            self.ratio(baseline, place, own / base, text);
        }
    }

    /// A ratio that was published as such.
    pub fn ratio(&mut self, baseline: &Place, place: &Place, ratio: f64, text: String) {
        let found = published_comparison(baseline, place, ratio, text);
        self.comparisons.push(found);
    }

    /// Two published summaries of single operations, compared by Welch's test; values in the unit
    /// of the metric. The interval of the ratio is that of the difference over the first mean.
    pub fn summaries(
        &mut self,
        [baseline, place]: [&Place; 2],
        [first, second]: [Summary; 2],
        test: Option<Welch>,
        label: &str,
    ) {
        let ratio = second.mean / first.mean;
        let text = told([baseline, place], ratio, label);
        let mut found = published_comparison(baseline, place, ratio, text);
        found.notes.push(label.to_owned());
        if let Some(test) = test {
            let ends = test.interval(ALPHA);
            let over = |end: f64| (first.mean + end) / first.mean;
            found.ci95 = ends.map(|ends| ends.map(over));
            found.p_holm = Some(test.p);
        }
        self.comparisons.push(found);
    }

    /// Corrects the p of all tests by Holm's method, and reads their verdicts from it.
    pub fn holm(&mut self) {
        let tested: Vec<usize> = (0..self.comparisons.len())
            .filter(|index| self.comparisons[*index].p_holm.is_some())
            .collect();
        let all: Vec<f64> =
            tested.iter().filter_map(|index| self.comparisons[*index].p_holm).collect();
        for (index, p) in tested.into_iter().zip(assay_stats::holm(&all)) {
            let found = &mut self.comparisons[index];
            found.p_holm = Some(p);
            found.verdict = Some(verdict(found.better, found.ratio.unwrap_or(1.0), p));
        }
    }

    pub fn findings(self, article: &str, title: &str) -> Findings {
        Findings {
            factors: self.factors,
            cells: self.cells,
            absent: self.absent,
            comparisons: self.comparisons,
            checks: self.checks,
            ..Findings::of(
                StudyFacts {
                    id: format!("article-{article}"),
                    title: title.to_owned(),
                    kind: KIND.to_owned(),
                    plan_sha256: String::new(),
                    started: String::new(),
                    seed: 0,
                    notes: Vec::new(),
                    confirms: None,
                    promised: None,
                    lead: None,
                    ended: None,
                },
                environment(),
            )
        }
    }
}

fn environment() -> EnvironmentFacts {
    EnvironmentFacts {
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: NOT_PUBLISHED.to_owned(),
        cpu: NOT_PUBLISHED.to_owned(),
        cpus: None,
        memory_bytes: None,
        virtualisation: NOT_PUBLISHED.to_owned(),
        place: None,
        targets: Vec::new(),
        unknown: Unknown::ALL.to_vec(),
    }
}

fn is_at(cell: &Cell, place: &Place) -> bool {
    cell.workload == place.workload && cell.metric == place.metric && cell.arm == place.arm
}

fn because(rule: &str, trust: Trust, text: &str) -> Because {
    Because { rule: rule.to_owned(), trust, text: text.to_owned() }
}

/// A ratio as a sentence, and what it is worth.
fn told([baseline, place]: [&Place; 2], ratio: f64, worth: &str) -> String {
    let (own, others) = (arm_words(&place.arm), arm_words(&baseline.arm));
    let (times, noun) = (show::ratio(ratio), noun(place.metric));
    format!("{} {own}: {times} times the {noun} of {others}; {worth}.", place.workload)
}

fn verdict(better: Better, ratio: f64, p: f64) -> Verdict {
    match (p < ALPHA, (ratio > 1.0) == (better == Better::Higher)) {
        (false, _) => Verdict::Inconclusive,
        (true, true) => Verdict::Better,
        (true, false) => Verdict::Worse,
    }
}

fn published_comparison(baseline: &Place, place: &Place, ratio: f64, text: String) -> Comparison {
    let arms = [baseline.arm.clone(), place.arm.clone()];
    Comparison {
        primary: true,
        n: 1,
        ratio: Some(ratio),
        text,
        ..Comparison::bare(Kind::Published, [&place.workload, place.metric], place.better, arms)
    }
}
