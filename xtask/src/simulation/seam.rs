//! The only place where simulated trials enter the product: as the text of an imported table. The findings are those of
//! `assay import`.

use std::fmt::Write;

use assay_analysis::import::{Options, trials_csv};
use assay_analysis::inference;
use assay_study::file::Order;
use assay_study::findings::{
    Comparison, EnvironmentFacts, Findings, Measurements, StudyFacts, Verdict,
};
use assay_study::results::design::{Gate, Stopping};
use assay_study::results::plan::Arm;

use super::world::{Trial, World};
use assay_testkit::Done;

const HEADER: &str = "replicate,order,workload,metric,value,status,factor_setting\n";
const FACTOR: &str = "setting";

/// The question that a study asks.
#[derive(Clone, Debug)]
pub struct Question {
    pub labels: Vec<String>,
    pub baseline: usize,
    /// Margin of equivalence, as a fraction.
    pub margin: f64,
    /// The order of the trials, which the importer has to recognize.
    pub order: Order,
    pub stopping: Stopping,
    pub gate: Option<Gate>,
}

impl Question {
    /// Compares the configurations of a world with the first one, with a margin of 5%.
    pub fn about(world: &World) -> Self {
        let labels = (b'a'..=b'z').take(world.arms).map(|letter| char::from(letter).to_string());
        Self {
            labels: labels.collect(),
            baseline: 0,
            margin: 0.05,
            order: world.order,
            stopping: Stopping::Fixed,
            gate: None,
        }
    }

    fn arm(&self, index: usize) -> Arm {
        [(FACTOR.to_owned(), self.labels[index].clone())].into()
    }

    pub fn comparison<'a>(&self, findings: &'a Findings, arm: usize) -> Done<&'a Comparison> {
        let label = &self.labels[arm];
        let own = |found: &&Comparison| found.configuration.get(FACTOR) == Some(label);
        findings.comparisons.iter().find(own).ok_or(format!("no comparison of {label}"))
    }
}

pub fn row(text: &mut String, trial: &Trial, labels: &[String]) {
    let status = match (trial.lead_in, trial.disturbed) {
        (true, _) => "warmup",
        (_, true) => "disturbed",
        _ => "ok",
    };
    let Trial { replicate, order, value, .. } = trial;
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{replicate},{order},work,iops,{value},{status},{}", labels[trial.arm]);
}

pub fn table(trials: &[Trial], labels: &[String]) -> String {
    let mut text = HEADER.to_owned();
    for trial in trials {
        row(&mut text, trial, labels);
    }
    text
}

/// Imports a table and adds the settings that a table cannot contain.
pub fn read(text: &str, question: &Question) -> Done<Measurements> {
    let options = Options {
        baseline: question.arm(question.baseline),
        margin: Some(question.margin),
        ..Options::default()
    };
    let read = trials_csv::read("simulated", text, &options);
    let mut measured = read.map_err(|failure| failure.message)?.measurements;
    let (read, planned) = (measured.design.order, question.order);
    if read != planned {
        return Err(format!("planned order {planned:?}, but the importer read {read:?}"));
    }
    measured.design.stopping = question.stopping.clone();
    measured.design.gate.clone_from(&question.gate);
    Ok(measured)
}

pub fn judge(measured: Measurements) -> Findings {
    let study = StudyFacts {
        id: "simulated".to_owned(),
        title: "Simulated".to_owned(),
        kind: "import".to_owned(),
        ..StudyFacts::default()
    };
    inference::judge(study, EnvironmentFacts::default(), measured)
}

pub fn findings(trials: &[Trial], question: &Question) -> Done<Findings> {
    let found = judge(read(&table(trials, &question.labels), question)?);
    let (wanted, got) = (question.labels.len() - 1, found.comparisons.len());
    if wanted == got { Ok(found) } else { Err(format!("{got} comparisons instead of {wanted}")) }
}

/// Whether the verdict is better or worse.
pub fn differs(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Some(Verdict::Better | Verdict::Worse))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: [f64; 5] = [500.0, 512.0, 495.0, 505.0, 498.0];
    const ARM: [f64; 5] = [520.0, 540.0, 510.0, 531.0, 515.0];

    /// The known answer of R4, its arms in turns or one after the other.
    fn trials(position: fn(u32, u32) -> u32) -> Vec<Trial> {
        let of = |arm: u32, values: [f64; 5]| {
            (1..).zip(values).map(move |(replicate, value)| Trial {
                replicate,
                order: position(replicate, arm),
                lead_in: false,
                arm: arm as usize,
                value,
                disturbed: false,
            })
        };
        of(0, BASE).chain(of(1, ARM)).collect()
    }

    fn question(order: Order) -> Question {
        Question::about(&World { order, ..World::null(2, 5) })
    }

    fn chained(replicate: u32, arm: u32) -> u32 {
        2 * replicate + (replicate + arm) % 2
    }

    #[test]
    fn a_known_answer_comes_back() {
        let question = question(Order::Chained);
        let found = findings(&trials(chained), &question).unwrap_or_else(|e| panic!("{e}"));
        let one = question.comparison(&found, 1).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(one.verdict, Some(Verdict::Better));
        assert!(one.ratio.is_some_and(|ratio| (ratio - 1.042_079).abs() < 1e-6));
    }

    #[test]
    fn an_order_that_is_read_as_another_one_is_an_error() {
        let lumps = trials(|replicate, arm| 5 * arm + replicate);
        let chained = question(Order::Chained);
        assert!(findings(&lumps, &chained).is_err_and(|error| error.contains("Sequential")));
        assert!(findings(&lumps, &question(Order::Sequential)).is_ok());
    }

    #[test]
    fn a_row_says_everything() {
        let mut text = String::new();
        let trial =
            Trial { replicate: 2, order: 3, lead_in: false, arm: 1, value: 0.5, disturbed: true };
        let lead_in = Trial { lead_in: true, ..trial.clone() };
        let labels = ["a".to_owned(), "b".to_owned()];
        row(&mut text, &trial, &labels);
        row(&mut text, &lead_in, &labels);
        assert_eq!(text, "2,3,work,iops,0.5,disturbed,b\n2,3,work,iops,0.5,warmup,b\n");
    }
}
