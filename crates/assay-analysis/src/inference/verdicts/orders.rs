//! Carry-over between two arms (R2d). After a warm-up with the same arm, first trials follow their own arm and second
//! trials the other one. If the ratio depends on the order, Assay gives no verdict.

use assay_core::quantity::Scale;
use assay_core::stats::{Sample, Welch, t_quantile, welch};
use assay_study::findings::{Comparison, notes::Note};
use assay_study::results::design::{ALPHA, Design, Order};

use super::pairs::{Pairs, ReplicatePair, pairs};
use super::{arms::Question, comparisons::withdraw, is_gated, load::add_note, words};

/// Fewest trials of an order for the spread of its mean.
const FEWEST: usize = 2;

/// One comparison in its two orders, on the scale of comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Orders {
    /// Replicates in which the arm ran before its baseline.
    first: Sample,
    /// Replicates in which it ran after its baseline.
    second: Sample,
    pub test: Welch,
}

impl Orders {
    /// The orders of an arm and its baseline. `None` unless the study has only these two, without an A/A control, in
    /// random order (others have no warm-up by the first arm), and if an order has too few undisturbed replicates.
    pub fn new(design: &Design, question: &Question<'_>) -> Option<Self> {
        if question.arms.len() != 2 || question.control.is_some() || design.order != Order::Random {
            return None;
        }
        let mut arms = question.arms.iter();
        let (baseline, arm) =
            arms.find_map(|arm| Some((question.baseline_of(design, arm.arm)?, arm)))?;
        Self::of_pairs(&pairs(baseline, arm))
    }

    /// `None` if an order has too few undisturbed pairs that ran one directly after the other.
    fn of_pairs(pairs: &Pairs) -> Option<Self> {
        let sample = |arm_first: bool| {
            let ordered = pairs.undisturbed.iter().filter(|pair| pair.arm_first == Some(arm_first));
            let differences: Vec<f64> = ordered.map(ReplicatePair::difference).collect();
            Sample::of(&differences).filter(|sample| sample.n >= FEWEST)
        };
        let (first, second) = (sample(true)?, sample(false)?);
        Some(Self { first, second, test: welch(&first, &second)? })
    }

    pub fn differ(&self) -> bool {
        self.test.p < ALPHA
    }

    /// Returns the smallest order effect detectable with a power, on the scale of comparison.
    pub fn detectable(&self, power: f64) -> Option<f64> {
        let quantile = |p| t_quantile(p, self.test.degrees_of_freedom);
        Some((quantile(1.0 - ALPHA / 2.0)? + quantile(power)?) * self.test.standard_error)
    }

    fn note(&self, scale: Scale) -> Note {
        let effect = |sample: &Sample| match scale {
            Scale::Ratio => sample.mean.exp(),
            Scale::Difference => sample.mean,
        };
        Note::TwoOrders {
            first: effect(&self.first),
            second: effect(&self.second),
            replicates: [self.first.n, self.second.n],
            p: self.test.p,
        }
    }
}

/// Withdraws the verdict on two arms if it depends on their order; also informs the gate.
pub(super) fn judge(design: &Design, questions: &[Question<'_>], comparisons: &mut [Comparison]) {
    for question in questions {
        if !question.primary && !is_gated(design, question.metric, question.primary) {
            continue;
        }
        let Some(orders) = Orders::new(design, question).filter(Orders::differ) else { continue };
        for one in comparisons.iter_mut() {
            let is_judged = one.verdict.is_some() || is_gated(design, &one.metric, one.primary);
            if is_judged && one.workload == question.workload && one.metric == question.metric {
                withdraw_for_order(design, one, orders.note(question.scale));
            }
        }
    }
}

fn withdraw_for_order(design: &Design, one: &mut Comparison, note: Note) {
    if one.verdict.is_some() {
        withdraw(one);
        one.text = words::without_verdict(one, design, &words::orders(&note).unwrap_or_default());
    }
    add_note(one, note);
}

/// Why a comparison is inconclusive, if the order is the reason.
pub(super) fn two_orders(one: &Comparison) -> Option<String> {
    one.note_facts.iter().find_map(words::orders)
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Verdict;
    use assay_study::findings::answers::Claim;
    use assay_study::findings::{Check, Findings};
    use assay_study::results::design::{AskKind, LeadIn};

    use super::super::answers_tests::two;
    use super::super::tests::Study;
    use super::*;

    const LUCK: [f64; 6] = [1.0, 1.01, 1.0, 0.99, 1.01, 0.99];
    const OTHER: [f64; 6] = [1.01, 1.0, 0.99, 1.0, 1.0, 1.005];

    /// Two arms in random order; the second has one ratio where it runs first, and another where it runs second.
    fn study([first, second]: [f64; 2], is_first: [bool; 6]) -> Study {
        let values: Vec<f64> = OTHER
            .iter()
            .zip(is_first)
            .map(|(luck, is_first)| 100.0 * luck * if is_first { first } else { second })
            .collect();
        let base = LUCK.map(|luck| 100.0 * luck);
        let mut study = Study::of(&[("old", &base), ("new", &values)]);
        study.measured.design.order = Order::Random;
        for (arm, series) in study.measured.series.iter_mut().enumerate() {
            for ((at, trial), is_first) in (0..).zip(&mut series.trials).zip(is_first) {
                trial.order = Some(3 * at + 1 + u32::from(is_first == (arm == 0)));
            }
        }
        study
    }

    const HALF: [bool; 6] = [true, false, true, false, true, false];

    fn told(found: &Findings) -> bool {
        found.comparisons[0].note_facts.iter().any(|note| matches!(note, Note::TwoOrders { .. }))
    }

    #[test]
    fn an_arm_that_is_slow_after_the_other_gets_no_verdict() {
        let found = study([1.0 / 1.03, 1.0 / 1.44], HALF).findings();
        let one = &found.comparisons[0];
        assert_eq!((one.verdict, told(&found)), (Some(Verdict::Inconclusive), true));
        assert!(one.text.contains("no verdict: ratio 0.96"), "{}", one.text);
        assert!(one.text.contains("when run second (3 replicates; p"), "{}", one.text);
        assert!(found.advice.is_empty(), "{:?}", found.advice);
        assert!(found.checks.iter().any(|check| check.name == "carry-over"), "{:?}", found.checks);
    }

    #[test]
    fn one_that_is_slow_in_either_place_gets_its_verdict() {
        let found = study([0.8, 0.8], HALF).findings();
        assert_eq!((found.comparisons[0].verdict, told(&found)), (Some(Verdict::Worse), false));
        assert!(!found.advice.is_empty());
        assert!(found.checks.iter().all(|check| check.name != "carry-over"));
        let text = super::super::words::NO_DRIFT;
        let seen = "an order effect below ";
        let says = |check: &Check| check.text.starts_with(text) && check.text.contains(seen);
        assert!(found.checks.iter().any(says), "{:?}", found.checks);
    }

    #[test]
    fn noise_raises_the_effect_that_would_be_missed() {
        let missed = |spread: f64, lead_in: LeadIn| {
            let mut study = study([0.8, 0.8], HALF);
            study.measured.design.lead_in = lead_in;
            for trial in study.measured.series.iter_mut().flat_map(|series| &mut series.trials) {
                trial.value = trial.value.map(|value| 100.0 * (value / 100.0).powf(spread));
            }
            let found = study.findings();
            let text = found.checks.iter().find(|check| check.text.contains("80% power"));
            text.map(|check| check.text.clone()).unwrap_or_default()
        };
        let share = |text: &str| -> f64 {
            let (_, size) = text.split_once("below ").unwrap();
            size.split('%').next().unwrap().parse().unwrap()
        };
        let (quiet, noisy) = (missed(1.0, LeadIn::Half), missed(3.0, LeadIn::Half));
        assert!(share(&noisy) > 2.0 * share(&quiet), "{quiet} {noisy}");
        assert!(quiet.ends_with("set warmup_trial = \"full\" for longer warm-ups"), "{quiet}");
        assert!(missed(1.0, LeadIn::Full).contains("longer rests"));
    }

    #[test]
    fn it_takes_two_replicates_of_each_order_and_a_drawn_one() {
        let once = [true, false, false, false, false, false];
        assert!(!told(&study([1.0, 0.7], once).findings()));
        let mut chained = study([1.0, 0.7], HALF);
        chained.measured.design.order = Order::Chained;
        assert!(!told(&chained.findings()));
    }

    #[test]
    fn a_claim_is_not_shown_by_one_order() {
        let asked = |values| {
            let mut study = study(values, HALF);
            study.measured.design.questions = vec![two(AskKind::Better, "old", "new")];
            study.findings().answers.all.remove(0)
        };
        assert_eq!(asked([0.8, 0.8]).verdict, Claim::Supported);
        let found = asked([1.0 / 1.03, 1.0 / 1.44]);
        assert_eq!(found.verdict, Claim::NotShown);
        assert!(found.reasons[0].contains("when run second"), "{found:?}");
    }
}
