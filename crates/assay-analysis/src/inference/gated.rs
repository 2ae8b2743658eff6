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
use assay_study::findings::notes::Note;
use assay_study::findings::{
    AbsentCell, Comparison, Findings, Measurement, Sentence, SentenceRole, TrialValue, Trust,
    as_sentence,
};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Design, Gate, Stopping};
use assay_study::results::plan::Arm;
use assay_workloads::metrics::{is_of_speed, noun};

use super::days::POWER;
use super::gate::{self, AllowedChange, Green, NO_INTERVAL, UNDECIDED, blinded};
use super::played::row_of;
use super::verdicts::{self, error_of_family};
use super::with_levels;

pub(super) type Planned = (String, Arm);

/// Puts the outcome of the gate before all other findings. `planned` are the expected rows.
pub(super) fn tell(
    found: &mut Findings,
    design: &Design,
    planned: &BTreeSet<Planned>,
    unfinished: bool,
) {
    let Some(asked) = &design.gate else { return };
    let answer = answer(design, asked, found, planned, unfinished);
    let ids = answer.rows.iter().filter_map(|row| row.comparison.as_ref());
    let about = ids.filter_map(|id| found.metric_of(id)).collect();
    let first = Sentence::new(SentenceRole::Answer, "gate", as_sentence(&answer.text));
    found.summary.insert(0, Sentence { about, ..first });
    found.answers.all.insert(0, question(&answer));
    found.answers.gate = Some(answer);
}

/// Rows of findings without a plan: those with numbers.
pub(super) fn measured(found: &Findings) -> BTreeSet<Planned> {
    let own = found.measurements.iter().filter(|cell| !cell.control);
    own.map(|cell| (cell.workload.clone(), cell.configuration.clone())).collect()
}

fn answer(
    design: &Design,
    asked: &Gate,
    found: &Findings,
    planned: &BTreeSet<Planned>,
    unfinished: bool,
) -> GateAnswer {
    let is_gated = |one: &&Comparison| asked.is_about(&one.metric, one.primary);
    let compared: Vec<&Comparison> = found.comparisons.iter().filter(is_gated).collect();
    let is_there = |(workload, arm): &&Planned| {
        let of =
            |one: &Comparison| one.workload == *workload || one.class_of.as_ref() == Some(workload);
        compared.iter().any(|one| one.configuration == *arm && of(one))
    };
    let compares = |(_, arm): &&Planned| !matches(arm, &design.baseline);
    let missing = planned.iter().filter(compares).filter(|own| !is_there(own));
    let starved = starved(design, asked, found);
    let missing: Vec<&Planned> = missing.chain(&starved).collect();
    let rows = compared.len() + missing.len();
    let most = asked.max_regression;
    let must_detect = asked.must_detect.unwrap_or_else(|| gate::GateRequest::new(most).must_detect);
    let alpha = error_of_family(design, rows.max(1));
    let first = found.measurements.iter().flat_map(|cell| &cell.trials);
    let first = first.filter(|trial| trial.repeats.is_none());
    let replicates = first.map(|trial| trial.replicate).max().unwrap_or(0);
    let judge = GateJudge { design, asked, found, unfinished, must_detect, alpha, replicates };
    let judged = compared.into_iter().map(|one| judge.row(one));
    let missing = missing.into_iter().map(|(workload, arm)| judge.missing(workload, arm));
    let rows = judged.chain(missing).collect();
    let replicates = asked.until_decided.then_some(replicates);
    let answer = GateAnswer::new(most, must_detect, asked.allow_inconclusive, rows);
    answer.of_study(asked.metric.clone(), asked.more, replicates)
}

/// Classes of a replayed load with a number in the baseline but not in the arm: then the gate must not pass.
fn starved(design: &Design, asked: &Gate, found: &Findings) -> BTreeSet<Planned> {
    let named = asked.metric.as_deref().or(design.primary.as_deref());
    if named.is_some_and(|metric| played::find(metric).is_some()) {
        // Then the workload itself is reported as missing.
        return BTreeSet::new();
    }
    let is_judged = |own: &AbsentCell, baseline: &Arm| {
        found.measurements.iter().any(|cell| {
            (&cell.workload, Some(&cell.metric)) == (&own.workload, own.metric.as_ref())
                && cell.configuration == *baseline
                && !cell.control
                && asked.is_about(&cell.metric, cell.primary)
        })
    };
    let is_starved = |own: &&AbsentCell| {
        let mut baseline = own.configuration.clone();
        baseline.extend(design.baseline.clone());
        let is_of_class =
            own.metric.as_deref().is_some_and(|metric| played::find(metric).is_some());
        is_of_class && baseline != own.configuration && is_judged(own, &baseline)
    };
    let all = found.absent.iter().filter(is_starved);
    all.map(|own| (own.workload.clone(), own.configuration.clone())).collect()
}

struct GateJudge<'a> {
    design: &'a Design,
    asked: &'a Gate,
    found: &'a Findings,
    unfinished: bool,
    must_detect: f64,
    /// Error of a row, its share of the total.
    alpha: f64,
    replicates: u32,
}

impl GateJudge<'_> {
    fn row(&self, one: &Comparison) -> Gated {
        let name = self.name(&one.workload, &one.configuration);
        let row = match self.silenced(one) {
            Some(reason) => Gated { is_final: self.is_lasting(one), ..Gated::silent(name, reason) },
            None => self.judged(name, one),
        };
        // The trials without a ratio may be the worst of all: a pass needs every trial, a failure does not.
        let row = match row.outcome {
            Ended::Pass if has_zeros(one) => {
                // A zero remains: the row cannot pass any more, and one within the limit cannot fail.
                let lasting = row.bound95.is_some_and(|most| most < self.asked.max_regression);
                Gated { is_final: lasting, ..Gated::silent(row.name, ZEROS.to_owned()) }
            }
            _ => row,
        };
        Gated {
            metric: Some(one.metric.clone()),
            suspect: self.suspect(one),
            comparison: Some(one.id.clone()),
            ..row
        }
    }

    fn name(&self, workload: &str, arm: &Arm) -> String {
        with_levels(workload, &self.found.arm_words(arm))
    }

    /// Why a comparison is inconclusive regardless of its interval.
    fn silenced(&self, one: &Comparison) -> Option<String> {
        if self.unfinished {
            return Some("trials are pending".to_owned());
        }
        if self.is_made_up(one) {
            let why = "times and rates of an emulated machine do not describe hardware";
            return Some(why.to_owned());
        }
        if !self.design.order.tells_arms_from_time() {
            return Some("the order of the trials confounds configurations with time".to_owned());
        }
        // A side without numbers has no trust to check.
        if one.n == 0
            && let Some(why) = self.absence(&one.workload, &one.configuration)
        {
            return Some(why);
        }
        let blind = |(cell, whose): (&Measurement, String)| blinded(cell, &whose);
        if let Some(why) = self.sides(one).find_map(blind) {
            return Some(why);
        }
        if one.note_facts.iter().any(|note| matches!(note, Note::UnequalLoad { .. })) {
            return Some("the load differed and could explain the result".to_owned());
        }
        if let Some(why) = one.note_facts.iter().find_map(verdicts::unknowable) {
            return Some(why);
        }
        if let Some(why) = self.misfit(one) {
            return Some(why.to_owned());
        }
        match one.n {
            n if n >= FEWEST_FOR_INTERVAL => None,
            _ if has_zeros(one) => Some(ZEROS.to_owned()),
            n => self.absence(&one.workload, &one.configuration).or_else(|| {
                Some(format!(
                    "only {n} undisturbed pairs with the baseline; the gate needs {FEWEST_FOR_INTERVAL}"
                ))
            }),
        }
    }

    /// Why the limit does not apply to the way in which a metric is compared.
    fn misfit(&self, one: &Comparison) -> Option<&'static str> {
        match self.asked.more {
            None if one.difference.is_some() => Some(
                "a metric that can be zero has no ratio; give an absolute limit, such as --gate +10",
            ),
            Some(_) if one.ratio.is_some() => Some(
                "Assay compares this metric by ratio; give a relative limit, such as --gate 5%",
            ),
            _ => None,
        }
    }

    /// Whether more replicates cannot decide a comparison. Few trials do not count: they may be chance.
    fn is_lasting(&self, one: &Comparison) -> bool {
        let is_invalid = || self.sides(one).any(|(cell, _)| cell.trust == Some(Trust::Invalid));
        !self.unfinished
            && (self.is_made_up(one)
                || !self.design.order.tells_arms_from_time()
                || !one.better.is_known()
                || self.misfit(one).is_some()
                || one.n == 0 && self.stays_away(&one.workload, &one.configuration)
                || self.replicates >= FEWEST_TO_END
                    && (is_invalid() || self.is_zero_throughout(one)))
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

    fn is_made_up(&self, one: &Comparison) -> bool {
        self.found.environment.is_emulated() && is_of_speed(&one.metric)
    }

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
    fn suspect(&self, one: &Comparison) -> Option<String> {
        let (cell, whose) = self.sides(one).find(|(cell, _)| cell.trust == Some(Trust::Suspect))?;
        let why = cell.reasons.iter().find(|because| because.trust == Trust::Suspect);
        let rule = why.map(|because| format!(" ({})", because.rule)).unwrap_or_default();
        Some(format!("the number of {whose} is suspect{rule}"))
    }

    fn judged(&self, name: String, one: &Comparison) -> Gated {
        if let Some(more) = self.asked.more {
            return self.judged_by(more, name, one);
        }
        let difference = one.ratio.map(f64::ln);
        let reach = one.sd_log.and_then(|sd| self.reach(one.n, sd));
        let Some((difference, reach)) = difference.zip(reach) else {
            return Gated::silent(name, NO_INTERVAL.to_owned());
        };
        let allowed = AllowedChange::new(one.better, self.asked.max_regression);
        if let Some(why) = split(|ratio| allowed.is_passed_by(ratio.ln()), one) {
            return Gated::silent(name, why);
        }
        let green =
            if self.asked.until_decided { Green::Within } else { Green::Sees(self.must_detect) };
        let row = allowed.judge(name, difference, reach, green);
        let bound = if row.outcome == Ended::Fail { -reach[0] } else { reach[0] };
        Gated { bound95: Some(allowed.share(allowed.worse(difference) + bound)), ..row }
    }

    /// The same for a metric that may be zero (R3), by differences in its unit; such a row passes by its bound alone.
    fn judged_by(&self, more: f64, name: String, one: &Comparison) -> Gated {
        let worse = |difference: f64| -one.better.sign() * difference;
        let own = one.difference.as_ref();
        let bound = own.and_then(|own| Some(self.reach(one.n, own.sd?)?[0]));
        let Some((loss, bound)) = own.map(|own| worse(own.value)).zip(bound) else {
            return Gated::silent(name, NO_INTERVAL.to_owned());
        };
        if let Some(why) = split(|difference| worse(difference) > more, one) {
            return Gated::silent(name, why);
        }
        let ended = if loss - bound > more {
            Ended::Fail
        } else if loss + bound < more || loss + bound <= 0.0 {
            Ended::Pass
        } else {
            Ended::Inconclusive(UNDECIDED.to_owned())
        };
        let surely = if ended == Ended::Fail { loss - bound } else { loss + bound };
        Gated { amount: Some(LossAmount { loss, bound95: surely }), ..Gated::bare(name, ended) }
    }

    /// Distances of a mean from the limit beyond which it is significant, and beyond which a loss is detected.
    fn reach(&self, pairs: usize, sd: f64) -> Option<[f64; 2]> {
        let freedom = pairs.checked_sub(1)? as f64;
        let error = sd / (pairs as f64).sqrt();
        let bound = match self.design.stopping {
            Stopping::Open { .. } => {
                confidence_sequence_half_width(pairs, self.alpha, MIXTURE_G)? * sd
            }
            Stopping::Fixed | Stopping::Looks { .. } | Stopping::Race { .. } => {
                t_quantile(1.0 - self.alpha, freedom)? * error
            }
        };
        Some([bound, bound + t_quantile(POWER, freedom)? * error])
    }

    fn missing(&self, workload: &str, arm: &Arm) -> Gated {
        let named = self.asked.metric.as_ref().or(self.design.primary.as_ref());
        let without = || named.map(|metric| format!("no {} was measured", noun(metric)));
        let why = self.absence(workload, arm).or_else(without);
        let why = why.unwrap_or_else(|| "not measured".to_owned());
        let lasting = self.stays_away(workload, arm);
        let metric = named.cloned();
        Gated { metric, is_final: lasting, ..Gated::silent(self.name(workload, arm), why) }
    }

    /// Why a row or its baseline has no number.
    fn absence(&self, workload: &str, arm: &Arm) -> Option<String> {
        let (whose, own) = self.absent(workload, arm)?;
        let why = own.obstacle.as_ref().unwrap_or(&own.reason);
        Some(format!("{whose} has no number: {why}"))
    }

    /// Whether a number will never exist: the plan excluded it, or enough replicates gave none.
    fn stays_away(&self, workload: &str, arm: &Arm) -> bool {
        let has_seen = !self.unfinished && self.replicates >= FEWEST_TO_END;
        let own = self.absent(workload, arm);
        own.is_some_and(|(_, own)| own.obstacle.is_some() || has_seen)
    }

    /// The missing number of a row, or else of its baseline, and the name of its owner.
    fn absent(&self, workload: &str, arm: &Arm) -> Option<(&'static str, &AbsentCell)> {
        let mut baseline = arm.clone();
        baseline.extend(self.design.baseline.clone());
        let primary = || {
            let mut own = self.found.measurements.iter().filter(|cell| cell.workload == workload);
            own.find(|cell| cell.primary).map(|cell| &cell.metric)
        };
        let metric = self.asked.metric.as_ref().or(self.design.primary.as_ref()).or_else(primary);
        let of_metric = |own: &AbsentCell| own.metric.is_none() || own.metric.as_ref() == metric;
        let class = metric.and_then(|metric| row_of(workload, metric));
        let is_row = |name: &String| name == workload || class.as_ref() == Some(name);
        let missed = |side: &Arm| {
            let mut own = self.found.absent.iter().filter(|own| is_row(&own.workload));
            own.find(|own| own.configuration == *side && of_metric(own))
        };
        let of_baseline = || Some(("the baseline", missed(&baseline)?));
        missed(arm).map(|own| ("the row", own)).or_else(of_baseline)
    }
}

const ZEROS: &str = "zero values have no ratio";

/// Whether a comparison excludes trials because their values have no ratio.
fn has_zeros(one: &Comparison) -> bool {
    one.note_facts.iter().any(|note| matches!(note, Note::NoRatio { .. }))
}

/// Why two arms with carry-over are inconclusive: only one of the two orders exceeds the limit (R2d).
fn split(is_passed_by: impl Fn(f64) -> bool, one: &Comparison) -> Option<String> {
    let orders = one.note_facts.iter().find_map(|note| match note {
        Note::TwoOrders { first, second, .. } => Some([*first, *second]),
        _ => None,
    })?;
    let place = match orders.map(is_passed_by) {
        [true, false] => "first",
        [false, true] => "second",
        _ => return None,
    };
    Some(format!(
        "worse than the limit only if the configuration runs {place} in the replicate: one configuration affects the \
         next"
    ))
}

/// The gate as a question. A pass supports the claim only if each row is significantly within the limit.
fn question(answer: &GateAnswer) -> Answer {
    let has_none = |row: &Gated| row.loss.is_none() && row.amount.is_none();
    let verdict = match answer.outcome {
        GateEnd::Fail => Claim::Contradicted,
        GateEnd::Pass if answer.rows.iter().all(|row| answer.is_within(row)) => Claim::Supported,
        _ if answer.rows.iter().all(has_none) => Claim::NoData,
        GateEnd::Pass | GateEnd::Inconclusive => Claim::NotShown,
    };
    let of = answer.metric.as_deref().map(|name| format!(" in {}", noun(name)));
    let allowed = answer.allowance();
    Answer {
        ask: format!(
            "Is every configuration at most {allowed} worse than the baseline{}?",
            of.unwrap_or_default()
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
