//! Gates inside a study (R13c): whether an arm is worse than its baseline by more than allowed, judged by pairs. All
//! workloads and arms share the error. The bound is the one-sided t bound; a study with a look after every replicate
//! uses the confidence sequence of R8.

use std::collections::BTreeSet;

use assay_core::quantity::played;
use assay_core::stats::{
    FEWEST_FOR_INTERVAL, MIXTURE_G, confidence_sequence_half_width, t_quantile,
};
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::gate::{Ended, FEWEST_TO_END, GateAnswer, GateEnd, Gated, LossAmount};
use assay_study::findings::{
    AbsentCell, Comparison, Findings, Measurement, Sentence, SentenceRole, TrialValue, Trust,
    as_sentence, notes::Note,
};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Design, Gate, Stopping};
use assay_study::results::plan::Arm;
use assay_workloads::metrics::{is_of_speed, noun};

use super::gate::{AllowedChange, GateRequest, NO_INTERVAL, PassIf, UNDECIDED, distrust};
use super::verdicts::{self, error_of_family};
use super::{baseline_arm, days::POWER, played::class_row_of_metric, primary_metric, with_levels};

pub(super) type Planned = (String, Arm);

/// Judges the gate of a study, if any, and puts its outcome before all other findings; `planned` are its rows.
pub(super) fn add_gate(
    found: &mut Findings,
    design: &Design,
    planned: &BTreeSet<Planned>,
    unfinished: bool,
) {
    let Some(gate) = &design.gate else { return };
    let answer = judge_gate(design, gate, found, planned, unfinished);
    let ids = answer.rows.iter().filter_map(|row| row.comparison.as_ref());
    let about = ids.filter_map(|id| found.metric_of(id)).collect();
    let first = Sentence::new(SentenceRole::Answer, "gate", as_sentence(&answer.text));
    found.summary.insert(0, Sentence { about, ..first });
    found.answers.all.insert(0, gate_as_question(&answer));
    found.answers.gate = Some(answer);
}

/// Rows of findings without a plan: those with numbers.
pub(super) fn measured_rows(found: &Findings) -> BTreeSet<Planned> {
    let cells = found.measurements.iter().filter(|cell| !cell.control);
    cells.map(|cell| (cell.workload.clone(), cell.configuration.clone())).collect()
}

/// Judges every planned row; missing are those without a comparison, and request classes that only the baseline has.
fn judge_gate(
    design: &Design,
    gate: &Gate,
    found: &Findings,
    planned: &BTreeSet<Planned>,
    unfinished: bool,
) -> GateAnswer {
    let is_gated = |one: &&Comparison| gate.is_about(&one.metric, one.primary);
    let compared: Vec<_> = found.comparisons.iter().filter(is_gated).collect();
    let is_compared = |(workload, arm): &&Planned| {
        compared.iter().any(|one| {
            // A request class has its own row, but belongs to the workload.
            let is_of_row = one.workload == *workload || one.class_of.as_ref() == Some(workload);
            one.configuration == *arm && is_of_row
        })
    };
    let starved = starved_classes(design, gate, found);
    let expected = planned.iter().filter(|(_, arm)| !matches(arm, &design.baseline));
    let missing: Vec<&Planned> = expected.filter(|row| !is_compared(row)).chain(&starved).collect();
    let max_loss = gate.max_regression;
    let must_detect = gate.must_detect.unwrap_or_else(|| GateRequest::new(max_loss).must_detect);
    let alpha = error_of_family(design, (compared.len() + missing.len()).max(1));
    let trials = found.measurements.iter().flat_map(|cell| &cell.trials);
    // Repeats of disturbed trials have further replicate numbers.
    let first_runs = trials.filter(|trial| trial.repeats.is_none());
    let replicates = first_runs.map(|trial| trial.replicate).max().unwrap_or(0);
    let judge = GateJudge { design, gate, found, unfinished, must_detect, alpha, replicates };
    let mut rows: Vec<Gated> = compared.into_iter().map(|one| judge.row(one)).collect();
    rows.extend(missing.into_iter().map(|(workload, arm)| judge.missing_row(workload, arm)));
    let replicates = gate.until_decided.then_some(replicates);
    let answer = GateAnswer::new(max_loss, must_detect, gate.allow_inconclusive, rows);
    answer.of_study(gate.metric.clone(), gate.more, replicates)
}

/// Classes of a replayed load with a number in the baseline but not in the arm: then the gate must not pass.
fn starved_classes(design: &Design, gate: &Gate, found: &Findings) -> BTreeSet<Planned> {
    let is_of_class = |metric: &str| played::find(metric).is_some();
    if gate.metric.as_deref().or(design.primary.as_deref()).is_some_and(is_of_class) {
        // Then the workload itself is reported as missing.
        return BTreeSet::new();
    }
    let mut starved = BTreeSet::new();
    for absent in &found.absent {
        let Some(metric) = absent.metric.as_ref().filter(|metric| is_of_class(metric)) else {
            continue;
        };
        let baseline = baseline_arm(design, &absent.configuration);
        let is_judged_baseline = |cell: &Measurement| {
            (&cell.workload, &cell.metric) == (&absent.workload, metric)
                && cell.configuration == baseline
                && !cell.control
                && gate.is_about(metric, cell.primary)
        };
        if baseline != absent.configuration && found.measurements.iter().any(is_judged_baseline) {
            starved.insert((absent.workload.clone(), absent.configuration.clone()));
        }
    }
    starved
}

struct GateJudge<'a> {
    design: &'a Design,
    gate: &'a Gate,
    found: &'a Findings,
    unfinished: bool,
    must_detect: f64,
    /// Error of a row, its share of the total.
    alpha: f64,
    replicates: u32,
}

impl GateJudge<'_> {
    /// Judges the row of a comparison, and adds its doubts and evidence.
    fn row(&self, one: &Comparison) -> Gated {
        let name = with_levels(&one.workload, &self.found.arm_words(&one.configuration));
        let mut row = match self.why_inconclusive(one) {
            Some(reason) => {
                Gated { is_final: self.is_permanent(one), ..Gated::silent(name, reason) }
            }
            None => self.judge_interval(name, one),
        };
        // The trials without a ratio may be the worst of all: a pass needs every trial, a failure does not.
        if row.outcome == Ended::Pass && has_zeros(one) {
            // A zero remains: the row cannot pass any more, and one within the limit cannot fail.
            let is_final = row.bound95.is_some_and(|most| most < self.gate.max_regression);
            row = Gated { is_final, ..Gated::silent(row.name, ZEROS.to_owned()) };
        }
        Gated {
            metric: Some(one.metric.clone()),
            suspect: self.suspect_note(one),
            comparison: Some(one.id.clone()),
            ..row
        }
    }

    /// Why a comparison is inconclusive regardless of its interval.
    fn why_inconclusive(&self, one: &Comparison) -> Option<String> {
        if self.unfinished {
            return Some("trials are pending".to_owned());
        }
        if self.is_emulated_speed(one) {
            let why = "times and rates of an emulated machine do not describe hardware";
            return Some(why.to_owned());
        }
        if !self.design.order.tells_arms_from_time() {
            return Some("the order of the trials confounds configurations with time".to_owned());
        }
        // A side without numbers has no trust to check.
        if one.n == 0
            && let Some(why) = self.why_absent(&one.workload, &one.configuration)
        {
            return Some(why);
        }
        if let Some(why) = self.sides(one).find_map(|(cell, whose)| distrust(cell, &whose)) {
            return Some(why);
        }
        if one.note_facts.iter().any(|note| matches!(note, Note::UnequalLoad { .. })) {
            return Some("the load differed and could explain the result".to_owned());
        }
        if let Some(why) = one.note_facts.iter().find_map(verdicts::why_undecidable) {
            return Some(why);
        }
        if let Some(why) = self.limit_mismatch(one) {
            return Some(why.to_owned());
        }
        match one.n {
            n if n >= FEWEST_FOR_INTERVAL => None,
            _ if has_zeros(one) => Some(ZEROS.to_owned()),
            n => self.why_absent(&one.workload, &one.configuration).or_else(|| {
                Some(format!(
                    "only {n} undisturbed pairs with the baseline; the gate needs {FEWEST_FOR_INTERVAL}"
                ))
            }),
        }
    }

    /// Why the limit does not apply to the way in which a metric is compared.
    fn limit_mismatch(&self, one: &Comparison) -> Option<&'static str> {
        match self.gate.more {
            None if one.difference.is_some() => Some(
                "a metric that can be zero has no ratio; give an absolute limit, such as --gate +10",
            ),
            Some(_) if one.ratio.is_some() => Some(
                "Assay compares this metric by ratio; give a relative limit, such as --gate 5%",
            ),
            _ => None,
        }
    }

    /// Whether more replicates cannot decide a comparison. In few replicates, zeros and invalid numbers may be chance.
    fn is_permanent(&self, one: &Comparison) -> bool {
        let is_invalid = || self.sides(one).any(|(cell, _)| cell.trust == Some(Trust::Invalid));
        if self.unfinished {
            return false;
        }
        let absent = one.n == 0 && self.will_never_be_measured(&one.workload, &one.configuration);
        let has_enough = self.replicates >= FEWEST_TO_END;
        absent
            || has_enough && (is_invalid() || self.is_zero_throughout(one))
            || self.is_emulated_speed(one)
            || !self.design.order.tells_arms_from_time()
            || !one.better.is_known()
            || self.limit_mismatch(one).is_some()
    }

    /// Whether no replicate gave a ratio, because each has a zero on one side.
    fn is_zero_throughout(&self, one: &Comparison) -> bool {
        let is_zero = |trial: &&TrialValue| {
            trial.status.counts() && trial.value.is_some_and(|value| value <= 0.0)
        };
        let trials = self.sides(one).flat_map(|(cell, _)| &cell.trials).filter(is_zero);
        let zeros: BTreeSet<u32> = trials.map(|trial| trial.replicate).collect();
        one.n == 0 && (1..=self.replicates).all(|replicate| zeros.contains(&replicate))
    }

    fn is_emulated_speed(&self, one: &Comparison) -> bool {
        self.found.environment.is_emulated() && is_of_speed(&one.metric)
    }

    /// The cells of the baseline and of the arm, each with a name for sentences; without those that are missing.
    fn sides<'c>(&'c self, one: &'c Comparison) -> impl Iterator<Item = (&'c Measurement, String)> {
        let sides = [
            (&one.baseline, "the baseline".to_owned()),
            (&one.configuration, self.found.arm_words(&one.configuration)),
        ];
        sides.into_iter().filter_map(move |(arm, whose)| {
            Some((self.found.cell(&one.workload, arm, &one.metric)?, whose))
        })
    }

    /// Note on a suspect number that counts nevertheless.
    fn suspect_note(&self, one: &Comparison) -> Option<String> {
        let (cell, whose) = self.sides(one).find(|(cell, _)| cell.trust == Some(Trust::Suspect))?;
        let why = cell.reasons.iter().find(|because| because.trust == Trust::Suspect);
        let rule = why.map(|because| format!(" ({})", because.rule)).unwrap_or_default();
        Some(format!("the number of {whose} is suspect{rule}"))
    }

    /// Judges by the one-sided bound of the ratio, or of the difference if the limit is absolute.
    fn judge_interval(&self, name: String, one: &Comparison) -> Gated {
        if let Some(limit) = self.gate.more {
            return self.judge_difference(limit, name, one);
        }
        let difference = one.ratio.map(f64::ln);
        let distances = one.sd_log.and_then(|sd| self.needed_distances(one.n, sd));
        let Some((difference, distances)) = difference.zip(distances) else {
            return Gated::silent(name, NO_INTERVAL.to_owned());
        };
        let allowed = AllowedChange::new(one.better, self.gate.max_regression);
        if let Some(why) = order_conflict(|ratio| allowed.is_exceeded_by(ratio.ln()), one) {
            return Gated::silent(name, why);
        }
        let rule = if self.gate.until_decided {
            PassIf::Within
        } else {
            PassIf::Detects(self.must_detect)
        };
        let row = allowed.judge(name, difference, distances, rule);
        // The least loss for a failure, else the largest possible one.
        let bound = if row.outcome == Ended::Fail { -distances[0] } else { distances[0] };
        Gated { bound95: Some(allowed.loss_fraction(allowed.log_loss(difference) + bound)), ..row }
    }

    /// Judges a metric that may be zero (R3) by the difference in its unit; such a row passes by its bound alone.
    fn judge_difference(&self, limit: f64, name: String, one: &Comparison) -> Gated {
        let loss_of = |difference: f64| -one.better.sign() * difference;
        let loss = one.difference.as_ref().map(|difference| loss_of(difference.value));
        let sd = one.difference.as_ref().and_then(|difference| difference.sd);
        let distances = sd.and_then(|sd| self.needed_distances(one.n, sd));
        let Some((loss, [bound, _])) = loss.zip(distances) else {
            return Gated::silent(name, NO_INTERVAL.to_owned());
        };
        if let Some(why) = order_conflict(|difference| loss_of(difference) > limit, one) {
            return Gated::silent(name, why);
        }
        let [least, most] = [loss - bound, loss + bound];
        let (outcome, bound95) = if least > limit {
            (Ended::Fail, least)
        } else if most < limit || most <= 0.0 {
            (Ended::Pass, most)
        } else {
            (Ended::Inconclusive(UNDECIDED.to_owned()), most)
        };
        Gated { amount: Some(LossAmount { loss, bound95 }), ..Gated::bare(name, outcome) }
    }

    /// How far beyond the limit a mean of paired differences is a significant loss, and is detected with 80% power.
    fn needed_distances(&self, pairs: usize, sd: f64) -> Option<[f64; 2]> {
        let degrees_of_freedom = pairs.checked_sub(1)? as f64;
        let standard_error = sd / (pairs as f64).sqrt();
        let significant = match self.design.stopping {
            // This bound must hold at a look after every replicate. Its width is in standard deviations.
            Stopping::Open { .. } => {
                confidence_sequence_half_width(pairs, self.alpha, MIXTURE_G)? * sd
            }
            Stopping::Fixed | Stopping::Looks { .. } | Stopping::Race { .. } => {
                t_quantile(1.0 - self.alpha, degrees_of_freedom)? * standard_error
            }
        };
        let detected = significant + t_quantile(POWER, degrees_of_freedom)? * standard_error;
        Some([significant, detected])
    }

    /// The row of a planned arm without a comparison, with the reason; final if no further trial can measure it.
    fn missing_row(&self, workload: &str, arm: &Arm) -> Gated {
        let metric = self.gate.metric.as_ref().or(self.design.primary.as_ref());
        let why = self.why_absent(workload, arm).unwrap_or_else(|| match metric {
            Some(metric) => format!("no {} was measured", noun(metric)),
            None => "not measured".to_owned(),
        });
        let is_final = self.will_never_be_measured(workload, arm);
        let name = with_levels(workload, &self.found.arm_words(arm));
        Gated { metric: metric.cloned(), is_final, ..Gated::silent(name, why) }
    }

    /// Why a row or its baseline has no number.
    fn why_absent(&self, workload: &str, arm: &Arm) -> Option<String> {
        let (whose, absent) = self.absent_cell(workload, arm)?;
        let why = absent.obstacle.as_ref().unwrap_or(&absent.reason);
        Some(format!("{whose} has no number: {why}"))
    }

    /// Whether a number will never exist: the plan excluded it, or enough replicates gave none.
    fn will_never_be_measured(&self, workload: &str, arm: &Arm) -> bool {
        let is_enough = !self.unfinished && self.replicates >= FEWEST_TO_END;
        let absent = self.absent_cell(workload, arm);
        absent.is_some_and(|(_, absent)| absent.obstacle.is_some() || is_enough)
    }

    /// Whose number is missing, the row's or else its baseline's, and the entry with the reason.
    fn absent_cell(&self, workload: &str, arm: &Arm) -> Option<(&'static str, &AbsentCell)> {
        let baseline = baseline_arm(self.design, arm);
        let chosen = self.gate.metric.as_ref().or(self.design.primary.as_ref());
        let metric = chosen.or_else(|| primary_metric(self.found, workload));
        let class = metric.and_then(|metric| class_row_of_metric(workload, metric));
        let find = |side: &Arm| {
            self.found.absent.iter().find(|cell| {
                let is_of_row = cell.workload == workload || class.as_ref() == Some(&cell.workload);
                let is_of_metric = cell.metric.is_none() || cell.metric.as_ref() == metric;
                is_of_row && is_of_metric && cell.configuration == *side
            })
        };
        let of_baseline = || Some(("the baseline", find(&baseline)?));
        find(arm).map(|cell| ("the row", cell)).or_else(of_baseline)
    }
}

const ZEROS: &str = "zero values have no ratio";

/// Whether a comparison excludes trials because their values have no ratio.
fn has_zeros(one: &Comparison) -> bool {
    one.note_facts.iter().any(|note| matches!(note, Note::NoRatio { .. }))
}

/// Why two arms with carry-over are inconclusive: only one of the two orders exceeds the limit (R2d).
fn order_conflict(exceeds_limit: impl Fn(f64) -> bool, one: &Comparison) -> Option<String> {
    let orders = one.note_facts.iter().find_map(|note| match note {
        Note::TwoOrders { first, second, .. } => Some([*first, *second]),
        _ => None,
    })?;
    let place = match orders.map(exceeds_limit) {
        [true, false] => "first",
        [false, true] => "second",
        _ => return None,
    };
    Some(format!(
        "worse than the limit only if the configuration runs {place} in the replicate: one configuration affects the \
         next"
    ))
}

/// The gate as a question and its answer; a pass supports the claim only if each CI is within the limit.
fn gate_as_question(answer: &GateAnswer) -> Answer {
    let has_none = |row: &Gated| row.loss.is_none() && row.amount.is_none();
    let verdict = match answer.outcome {
        GateEnd::Fail => Claim::Contradicted,
        GateEnd::Pass if answer.rows.iter().all(|row| answer.is_within(row)) => Claim::Supported,
        _ if answer.rows.iter().all(has_none) => Claim::NoData,
        GateEnd::Pass | GateEnd::Inconclusive => Claim::NotShown,
    };
    let metric = answer.metric.as_deref().map(|name| format!(" in {}", noun(name)));
    let allowed = answer.allowance();
    Answer {
        ask: format!(
            "Is every configuration at most {allowed} worse than the baseline{}?",
            metric.unwrap_or_default()
        ),
        published: None,
        answer: answer.possible().map_or_else(
            || as_sentence(&answer.head()),
            |open| format!("no loss above {allowed} was proven; {open}."),
        ),
        verdict,
        reasons: answer.lines().iter().map(|line| format!("{line}.")).collect(),
        evidence: answer.rows.iter().filter_map(|row| row.comparison.clone()).collect(),
        max_rate: None,
    }
}

#[cfg(test)]
mod tests;
