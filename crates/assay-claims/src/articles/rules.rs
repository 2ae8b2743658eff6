//! How published numbers are judged: the rules of the module's head as functions. The judges of the
//! articles only say which numbers a rule is about.

use assay_stats::{Welch, welch_from_summary};
use assay_study::findings::answers::Claim as Verdict;
use assay_study::results::design::ALPHA;

use super::words;

/// Scatter of repeats, as a fraction, that is still believed of a machine that nobody watched:
/// repeats of one program on bare metal of a shared machine were seen to differ by that much.
pub const BELIEVABLE_SCATTER: f64 = 0.26;
/// Numbers below which nothing is said of most of them.
pub const FEWEST: usize = assay_stats::FEWEST_FOR_INTERVAL;
/// Largest denominator of a fraction in words: halves and thirds.
const LARGEST_DENOMINATOR: u32 = 3;
/// How far from a number a fraction in words may lie: words round to one digit, which is half a tenth.
pub const FRACTION_TOLERANCE: f64 = 0.05;

/// A verdict with the sentences that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What becomes of the claim.
    pub verdict: Verdict,
    /// Why, in one or two sentences.
    pub because: String,
}

impl Ruling {
    /// The published numbers carry the claim.
    pub fn supported(because: impl Into<String>) -> Self {
        Self { verdict: Verdict::Supported, because: because.into() }
    }

    /// The published numbers, or what can be computed from them, speak against it.
    pub fn contradicted(because: impl Into<String>) -> Self {
        Self { verdict: Verdict::Contradicted, because: because.into() }
    }

    /// The published numbers do not tell.
    pub fn not_shown(because: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotShown, because: because.into() }
    }
}

/// The rule of most claims: a sentence with an ending where the numbers go with the claim, and
/// another where they contradict it. The sentence is empty where the two have none in common.
pub fn held(holds: bool, told: &str, verdict: Verdict, so: &str, not: &str) -> Ruling {
    if holds {
        Ruling { verdict, because: format!("{told}{so}") }
    } else {
        Ruling::contradicted(format!("{told}{not}"))
    }
}

pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Contradicted => "contradicted",
        Verdict::NotShown => "not shown",
        Verdict::NoData => "no data",
    }
}

/// Which way a claim says that a number goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The named one is lower than the others.
    Lower,
    /// The named one is higher.
    Higher,
}

impl Direction {
    /// From the words of a claim.
    pub fn of(words: &[&str]) -> Option<Self> {
        let has = |wanted: [&str; 2]| words.iter().any(|word| wanted.contains(word));
        match (has(["lower", "lowest"]), has(["higher", "highest"])) {
            (true, false) => Some(Self::Lower),
            (false, true) => Some(Self::Higher),
            _ => None,
        }
    }

    /// Whether the first number lies that way of the second.
    pub fn holds(self, own: f64, other: f64) -> bool {
        match self {
            Self::Lower => own < other,
            Self::Higher => own > other,
        }
    }

    /// `lowest` or `highest`.
    pub fn extreme(self) -> &'static str {
        match self {
            Self::Lower => "lowest",
            Self::Higher => "highest",
        }
    }
}

/// Size, mean and standard deviation, as a table of single operations prints them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Operations.
    pub n: u64,
    /// Mean, in any unit.
    pub mean: f64,
    /// Standard deviation, in the same unit.
    pub sd: f64,
}

/// Welch's test of two published summaries, second minus first.
pub fn welch(first: Summary, second: Summary) -> Option<Welch> {
    let size = |summary: Summary| usize::try_from(summary.n).unwrap_or(usize::MAX);
    welch_from_summary(size(first), first.mean, first.sd, size(second), second.mean, second.sd)
}

/// Whether a claim that the second summary lies in a direction of the first is carried: only the
/// test tells, whichever way the means lie.
pub fn of_summaries(direction: Direction, first: Summary, second: Summary) -> (Verdict, f64) {
    let Some(test) = welch(first, second) else { return (Verdict::NotShown, 1.0) };
    let verdict = match (test.p < ALPHA, direction.holds(second.mean, first.mean)) {
        (false, _) => Verdict::NotShown,
        (true, true) => Verdict::Supported,
        (true, false) => Verdict::Contradicted,
    };
    (verdict, test.p)
}

/// The scatter of single runs, as a fraction of each mean, from which on chance alone would explain
/// the difference of two means of `n` runs (Welch at 5 %). None below two runs; zero where the means
/// are equal.
pub fn scatter_that_hides(n: usize, first: f64, second: f64) -> Option<f64> {
    let hides = |scatter: f64| {
        let test = welch_from_summary(n, first, scatter * first, n, second, scatter * second);
        test.map(|test| test.p >= ALPHA)
    };
    hides(1.0)?;
    let (mut low, mut high) = (0.0, 16.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if hides(middle)? { high = middle } else { low = middle }
    }
    Some(high)
}

/// Whether runs would have to scatter by more than is believed of any bench to hide the difference
/// of two means of `n` runs; never for single runs.
pub fn is_beyond_scatter(n: usize, first: f64, second: f64) -> bool {
    scatter_that_hides(n, first, second).is_some_and(|scatter| scatter > BELIEVABLE_SCATTER)
}

/// That runs would have to scatter by more than is believed to hide something; none where they
/// would not.
pub fn hidden_by_none(scatter: Option<f64>, what: &str) -> Option<String> {
    let scatter = scatter.filter(|scatter| *scatter > BELIEVABLE_SCATTER)?;
    let [scatter, most] = [scatter, BELIEVABLE_SCATTER].map(|share| words::percent(share, 0));
    Some(format!(
        "the runs would have to scatter by {scatter} to hide {what}, and {most} is the most that is \
         believed of them"
    ))
}

/// The nearest fraction in halves and thirds, as numerator and denominator.
pub fn fraction(value: f64) -> (u32, u32) {
    let all = (1..=LARGEST_DENOMINATOR).flat_map(|below| (0..=below).map(move |top| (top, below)));
    let off = |one: &(u32, u32)| (quotient(*one) - value).abs();
    all.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or((0, 1))
}

/// What a fraction comes to.
pub fn quotient((top, below): (u32, u32)) -> f64 {
    f64::from(top) / f64::from(below)
}

/// Whether a number may be called by a fraction in words.
pub fn is_called(fraction: (u32, u32), value: f64) -> bool {
    (quotient(fraction) - value).abs() <= FRACTION_TOLERANCE
}

/// `p = 0.059 with 37 and 22 single I/Os as the unit`: what a test of single operations says, and
/// that it says too much.
pub fn labelled(p: f64, sizes: [u64; 2]) -> String {
    let [first, second] = sizes.map(assay_base::quantity::units::show::count);
    format!(
        "{} with {first} and {second} single I/Os as the unit, as the author's data allow; the \
         true p is larger",
        words::p(p)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_in_words_is_the_nearest_half_or_third() {
        assert_eq!(fraction(0.667), (2, 3));
        assert_eq!(fraction(19.0 / 30.0), (2, 3));
        assert_eq!(fraction(0.5), (1, 2));
        assert_eq!(fraction(0.58), (1, 2));
        assert_eq!(fraction(0.9), (1, 1));
    }

    #[test]
    fn a_large_difference_takes_a_large_scatter_to_hide() {
        let boots = scatter_that_hides(5, 7.9, 25.8).unwrap();
        assert!((0.5..0.7).contains(&boots), "{boots}");
        let close = scatter_that_hides(5, 514_367.0, 514_815.0).unwrap();
        assert!(close < 0.001, "{close}");
        assert_eq!(scatter_that_hides(1, 7.9, 25.8), None);
        assert!(scatter_that_hides(5, 3.0, 3.0).unwrap() < 1e-12);
    }

    #[test]
    fn summaries_are_told_apart_only_by_the_test() {
        let one = |n, mean, sd| Summary { n, mean, sd };
        let told = |direction, sd| of_summaries(direction, one(40, 10.0, sd), one(40, 8.0, sd)).0;
        assert_eq!(told(Direction::Lower, 1.0), Verdict::Supported);
        assert_eq!(told(Direction::Higher, 1.0), Verdict::Contradicted);
        assert_eq!(told(Direction::Lower, 9.0), Verdict::NotShown);
        assert_eq!(told(Direction::Higher, 9.0), Verdict::NotShown);
        let none = of_summaries(Direction::Lower, one(1, 10.0, 0.0), one(1, 8.0, 0.0));
        assert_eq!(none, (Verdict::NotShown, 1.0));
    }

    #[test]
    fn words_for_fractions_are_good_to_half_a_tenth() {
        let called = |of_thirty: f64| is_called((2, 3), of_thirty / 30.0);
        assert!(called(19.0) && called(20.0) && called(21.0));
        assert!(!called(18.0) && !called(22.0) && !called(24.0));
    }

    #[test]
    fn each_verdict_has_its_ending() {
        let of = |holds| held(holds, "It took 2 s", Verdict::NotShown, ", once.", ", not 3 s.");
        let because = "It took 2 s, once.".to_owned();
        assert_eq!(of(true), Ruling { verdict: Verdict::NotShown, because });
        assert_eq!(of(false), Ruling::contradicted("It took 2 s, not 3 s."));
        assert_eq!(hidden_by_none(Some(0.26), "it"), None);
        let told = hidden_by_none(Some(0.57), "it").unwrap();
        assert!(told.contains("57 % to hide it, and 26 % is the most"), "{told}");
    }

    #[test]
    fn single_runs_are_never_beyond_scatter() {
        assert!(is_beyond_scatter(5, 7.9, 25.8));
        assert!(!is_beyond_scatter(5, 10.0, 12.0));
        assert!(!is_beyond_scatter(1, 1.0, 1000.0));
    }
}
