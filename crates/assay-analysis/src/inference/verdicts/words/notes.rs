//! The text of notes on a comparison.

use assay_core::quantity::units::show;
use assay_study::findings::notes::{Failures, Note, NoteSide};
use assay_workloads::metrics::{change, is_told, noun};

use super::{NO_VERDICT_EMULATED, counted, no_verdict, p_words, rounded, verdict_word};
use crate::inference::verdicts::notes::SETTLED;

/// With this number of pairs or fewer, no order balances a periodic disturbance (R2c).
const FEW: usize = 5;

/// The text of a note; `arms` are the names of baseline and arm.
pub fn note(note: &Note, arms: [&str; 2]) -> String {
    let [baseline, arm] = arms;
    let name = |side: NoteSide| match side {
        NoteSide::Baseline => baseline,
        NoteSide::Arm => arm,
    };
    match note {
        Note::Trust { of, trust } => format!("the number of {} is {}", name(*of), trust.word()),
        Note::TrustOfResult { of, trust } => format!("{} number is {}", name(*of), trust.word()),
        Note::Failed { arm: own, baseline: other, more } => {
            let more = more.map(|side| format!("; {} fails more often", name(side)));
            let (own, other) = (failed(*own, arm), failed(*other, baseline));
            format!("{own} and {other} failed{}", more.unwrap_or_default())
        }
        Note::RatioOnly { .. } => {
            "ratio only: no verdict, because the study sets no margin".to_owned()
        }
        Note::Secondary => "secondary metric, unadjusted".to_owned(),
        Note::Emulated => NO_VERDICT_EMULATED.to_owned(),
        Note::NoOrder { order } => no_verdict(*order).unwrap_or_default().to_owned(),
        Note::NoDirection { metric } => no_direction(metric),
        Note::CoarseClock { metric, step } => format!(
            "the clock has a resolution of {} ({}), and the difference does not exceed the resolution",
            rounded(*step),
            noun(metric)
        ),
        Note::TooFew { pairs: 0 } => "no complete and undisturbed pair".to_owned(),
        Note::TooFew { pairs: 1 } => "1 pair: no ratio and no CI".to_owned(),
        Note::TooFew { pairs } => format!("{pairs} pairs: no CI"),
        Note::Provisional { pairs } => format!(
            "provisional: with {pairs} pairs, the CI assumes near-normal log ratios; a distribution-free test needs \
             {SETTLED} pairs for p < 0.05{}",
            if *pairs <= FEW { "; periodic disturbances can look like a difference" } else { "" }
        ),
        Note::LeftOut { pairs } => format!("{} excluded", counted(*pairs, "disturbed pair")),
        Note::NoRatio { of, trials } => {
            let why = match trials {
                1 => "has no ratio, because the value is not above zero",
                _ => "have no ratio, because the values are not above zero",
            };
            format!("{} of {} {why}", counted(*trials, "trial"), name(*of))
        }
        Note::FarOff { of, trials, all } => format!(
            "{trials} of {all} trials of {} {}; the CI understates the risk of such trials",
            name(*of),
            if *trials == 1 { "is an unfavorable outlier" } else { "are unfavorable outliers" }
        ),
        Note::Fragile { replicates } => fragile(replicates),
        Note::Disturbed { verdict } => {
            let word = verdict_word(*verdict);
            format!("the verdict would be \"{word}\" if Assay included the disturbed trials")
        }
        Note::UnequalLoad { .. } => "the load differed and could explain the result".to_owned(),
        Note::TwoOrders { .. } => {
            "the order of the configurations changes the result: one affects the next".to_owned()
        }
        Note::InFlight { arm, baseline } => {
            format!("{arm} operations in flight (baseline: {baseline})")
        }
    }
}

/// The difference in load, `40% fewer reads per second, ratio 0.6, 95% CI 0.5-0.7`; `None` for other notes.
pub(crate) fn load(note: &Note) -> Option<String> {
    let Note::UnequalLoad { metric, ratio, ci95_family } = note else { return None };
    let [ratio, low, high] = show::ratios(*ratio, *ci95_family);
    Some(format!("{}, ratio {ratio}, 95% CI {low}-{high}", change(&ratio, metric)))
}

/// The ratio in each order, `ratio 1.03 when run first (3 replicates), ...`; `None` for other notes.
pub(crate) fn orders(note: &Note) -> Option<String> {
    let Note::TwoOrders { first, second, replicates: [one, other], p } = note else { return None };
    let [first, second] = [*first, *second].map(show::ratio);
    let [one, other] = [*one, *other].map(|count| counted(count, "replicate"));
    Some(format!(
        "ratio {first} when run first ({one}), {second} when run second ({other}; {}): one configuration affects the \
         next",
        p_words(*p)
    ))
}

/// Why a metric without a known direction gets no verdict, and how to state the direction.
pub(crate) fn no_direction(metric: &str) -> String {
    let name = noun(metric);
    let option = if is_told(metric) {
        "--parse FORMAT::higher or --parse FORMAT::lower".to_owned()
    } else {
        format!("--better {metric}=higher or --better {metric}=lower")
    };
    format!("the better direction of {name} is unknown; use {option}")
}

fn failed(own: Failures, name: &str) -> String {
    format!("{} of {} of {name}", own.failed, counted(own.started as usize, "trial"))
}

fn fragile(replicates: &[u32]) -> String {
    match replicates {
        [one] => format!("fragile: without replicate {one}, the verdict changes"),
        several => {
            format!("fragile: removing any one of {} replicates changes the verdict", several.len())
        }
    }
}
