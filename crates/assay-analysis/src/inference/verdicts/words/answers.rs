//! The sentences of answers.

use assay_core::quantity::{Better, units::show};
use assay_core::{exhibit::Unit, stats::Sample};
use assay_study::file::words::choice;
use assay_study::findings::answers::Claim;
use assay_workloads::metrics::{change, noun};

use super::counted;
use crate::inference::verdicts::answers::{ClaimCheck, ClaimVerdict};

const MOST_REASONS: usize = 5;

/// The sentence on a claim over all of its cases.
pub(crate) fn answer(verdict: Claim, cases: &[ClaimVerdict]) -> String {
    let count = |claim: Claim| cases.iter().filter(|case| case.claim == claim).count();
    let (total, supported) = (cases.len(), count(Claim::Supported));
    if verdict == Claim::NotShown
        && let Some(text) = without_doubt(cases)
    {
        return text.to_owned();
    }
    match verdict {
        Claim::NoData => "No measurement answers this question.".to_owned(),
        Claim::Supported if total == 1 => "The numbers support the claim.".to_owned(),
        Claim::Supported => format!("The numbers support the claim in all {total} cases."),
        Claim::Contradicted if total == 1 => "The numbers contradict the claim.".to_owned(),
        Claim::Contradicted if count(verdict) == total => {
            format!("The numbers contradict the claim in all {total} cases.")
        }
        Claim::Contradicted => format!(
            "The numbers contradict the claim in {} of {total} cases and support it in {supported}.",
            count(Claim::Contradicted)
        ),
        Claim::NotShown if supported == 0 => "The numbers are inconclusive.".to_owned(),
        Claim::NotShown => {
            format!("The numbers support the claim in only {supported} of {total} cases.")
        }
    }
}

pub(crate) const SUSPECT: &str = "from suspect numbers";

/// The verdict if the numbers were trusted; `None` if trust is not the obstacle.
fn without_doubt(cases: &[ClaimVerdict]) -> Option<&'static str> {
    let all = |claim: Claim| cases.iter().all(|case| case.would_be.unwrap_or(case.claim) == claim);
    let any = |claim: Claim| cases.iter().any(|case| case.would_be == Some(claim));
    if any(Claim::Contradicted) {
        return Some("The numbers contradict the claim but are suspect.");
    }
    (any(Claim::Supported) && all(Claim::Supported))
        .then_some("The numbers support the claim but are suspect.")
}

/// The texts of the first cases; those that agree with the verdict come first.
pub(crate) fn reasons(verdict: Claim, cases: &[ClaimVerdict]) -> Vec<String> {
    let mut sorted: Vec<&ClaimVerdict> = cases.iter().collect();
    sorted.sort_by_key(|case| case.claim != verdict);
    let shown = sorted.iter().take(MOST_REASONS);
    let mut texts: Vec<String> = shown.map(|case| format!("{}.", case.text)).collect();
    let more = cases.len().saturating_sub(MOST_REASONS);
    if more > 0 {
        texts.push(format!("{} more.", counted(more, "case")));
    }
    texts
}

pub(crate) const UNMEASURED: &str = "was not measured";
pub(crate) const INVALID: &str = "has invalid numbers";
pub(crate) const FAILED: &str = "failed in every trial";
pub(crate) const DISTURBED: &str = "has too few undisturbed trials";
pub(crate) const FEW: &str = "has too few trials";
pub(crate) const NOT_TOGETHER: &str = "has no replicate with all required measurements";

pub(crate) fn no_metric(name: &str, metric: &str) -> String {
    format!("{name}: its {} was not measured", noun(metric))
}

pub(crate) fn no_two(name: &str, factor: Option<&str>) -> String {
    match factor {
        Some(factor) => format!("{name}: the check needs two levels of {factor}"),
        None => format!("{name}: the check needs one configuration with two levels"),
    }
}

pub(crate) fn no_numbers(name: &str) -> String {
    format!("{name}: too few numeric levels")
}

pub(crate) fn no_levels(name: &str, between: &[String]) -> String {
    match between {
        [low, high] => format!(
            "{name}: the check needs levels both inside and outside the range {low} to {high}"
        ),
        _ => format!("{name}: one level has no matching trials of the other level"),
    }
}

/// The smallest level that matches the best, and the outcome of the claimed level.
pub(crate) struct SaturationLevel<'a> {
    pub from: &'a str,
    pub best_level: &'a str,
    pub claimed: &'a str,
    pub is_smallest: bool,
    pub margin: f64,
}

/// A difference of logarithms with its interval.
type Estimate = (Sample, [f64; 2]);

impl ClaimCheck<'_, '_, '_> {
    fn metric_noun(&self) -> &str {
        noun(self.test.question.metric)
    }

    fn show(&self, value: f64) -> String {
        Unit::of_metric(self.test.question.metric).text(value)
    }

    pub fn peak(&self, best: &str, candidates: &[&str]) -> String {
        let count = self.curve.len();
        let head = format!("{}: best {} at {best}", self.name, self.metric_noun());
        match candidates {
            [_] => format!("{head} (significant)"),
            all if all.len() == count => format!("{head}; any of the {count} levels could be best"),
            several => format!("{head}; the best level could be {}", choice(several)),
        }
    }

    pub fn slope(&self, factor: &str, slope: f64, ends: Option<[f64; 2]>) -> String {
        let (name, what) = (self.name, self.metric_noun());
        let Some(ends) = ends else { return format!("{name}: too few replicates for a slope") };
        let [times, low, high] = show::ratios(slope.exp2(), ends.map(f64::exp2));
        format!(
            "{name}: doubling {factor} multiplies {what} by {times} (95% CI {low}-{high}; 2 means proportional, 1 \
             means no effect)"
        )
    }

    pub fn foremost(&self, best_or_worst: &str, candidates: &[&str]) -> String {
        let (name, levels) = (self.name, self.curve.len());
        match candidates {
            [only] => format!("{name}: {only} is the {best_or_worst} (significant)"),
            all if all.len() == levels => {
                format!("{name}: any of the {levels} levels could be the {best_or_worst}")
            }
            several => format!("{name}: {} could be the {best_or_worst}", choice(several)),
        }
    }

    /// Compares two levels; `cases` is the number of cases that the interval covers simultaneously.
    pub fn two(&self, level: &str, over: &str, shown: Option<Estimate>, cases: usize) -> String {
        let name = self.name;
        let Some((sample, ends)) = shown else {
            return format!("{name}: too few pairs of {level} and {over} for a CI");
        };
        let [ratio, low, high] = show::ratios(sample.mean.exp(), ends.map(f64::exp));
        let change = change(&ratio, self.test.question.metric);
        let scope = interval_scope(cases);
        format!(
            "{name}: {level} has {change} compared with {over} (ratio {ratio}, 95% CI{scope} {low}-{high})"
        )
    }

    /// `knee` and `next`: the highest level below the bound, and the level above it, with their medians.
    pub fn knee(&self, bound: f64, knee: Option<(&str, f64)>, next: Option<(&str, f64)>) -> String {
        let (name, what, most) = (self.name, self.metric_noun(), self.show(bound));
        let next = next.map(|(level, median)| format!("{level} has {}", self.show(median)));
        match (knee, next) {
            (Some((level, median)), next) => {
                let next = next.unwrap_or_else(|| "the study has no higher level".to_owned());
                let median = self.show(median);
                format!(
                    "{name}: {level} is the highest level whose median {what} is below {most} ({median}); {next}"
                )
            }
            (None, Some(next)) => {
                format!("{name}: the {what} is not below {most} at any level; {next}")
            }
            (None, None) => format!("{name}: the {what} is not below {most} at any level"),
        }
    }

    /// `shown` is the difference between the claimed and the best level.
    pub fn enough(&self, saturation: &SaturationLevel<'_>, shown: Option<Estimate>) -> String {
        let SaturationLevel { from, best_level: best, claimed, is_smallest, margin } = *saturation;
        let (name, what, margin) = (self.name, self.metric_noun(), show::share(margin));
        let most = match self.test.question.better {
            Better::Higher | Better::Unknown => "highest",
            Better::Lower => "lowest",
        };
        let best_is = format!("{name}: {most} {what} at {best}");
        let head = if is_smallest {
            format!("{best_is}, the smallest level")
        } else if from == best {
            format!("{best_is}; no smaller level is within {margin} of that value")
        } else {
            format!("{best_is}; within {margin} of that value from {from}")
        };
        let Some((sample, ends)) = shown else { return head };
        let [ratio, low, high] = show::ratios(sample.mean.exp(), ends.map(f64::exp));
        format!("{head}; {claimed} has {ratio} times that value (95% CI {low} to {high})")
    }

    /// `is_decimal`: in MB/s, like the limit.
    pub fn level(&self, is_decimal: bool, mean: f64, ends: Option<[f64; 2]>) -> String {
        let (name, what) = (self.name, self.metric_noun());
        let show = |value: f64| {
            if is_decimal { format!("{} MB/s", show::mb_per_s(value)) } else { self.show(value) }
        };
        let mean = show(mean);
        let Some(ends) = ends else {
            return format!("{name}: {what} {mean} (too few trials for a CI)");
        };
        let [low, high] = ends.map(show);
        format!("{name}: {what} {mean} (95% CI{} {low} to {high})", interval_scope(self.cases))
    }
}

/// Why an interval is wider than that of the same number elsewhere on the page.
fn interval_scope(cases: usize) -> String {
    match cases {
        0 | 1 => String::new(),
        count => format!(" over all {count} cases"),
    }
}
