//! Which sentences and messages there are: each stands somewhere in the snapshot.

use assay_study::findings::{Comparison, Verdict};
use assay_study::results::design::Order;

use super::tests::{Study, arm};
use super::words::agreement;

/// Kinds of sentences of answers.
const ANSWERS: &[&str] = &[
    "Nothing was measured that could tell",
    "The numbers show it.",
    "The numbers show it in all of",
    "The numbers show it in 3 of 4 cases only",
    "The numbers speak against it.",
    "The numbers speak against it in all of",
    "The numbers speak against it in 1 of",
    "The numbers are inconclusive.",
    "was not measured",
    "did not vary",
    "too few levels that are numbers",
    "inside and outside of",
    "it could be at 2 or 4",
    "it could be at any of 4 levels",
    "2 is proportional, 1 is flat",
    "any of 4 could be the",
    "2 or 4 could be the",
    "too few pairs of",
    "too few replicates for a slope",
    "with too few trials for an interval",
    "2 cases more",
];

/// What is said of orders, drift and carry-over.
fn of_order() -> Vec<&'static str> {
    vec![
        super::words::no_verdict(Order::Sequential).unwrap(),
        super::words::no_verdict(Order::Unknown).unwrap(),
        super::words::no_verdict(Order::Recorded).unwrap(),
        super::words::SEQUENTIAL_STUDY,
        super::words::RECORDED_STUDY,
        super::words::UNORDERED_STUDY,
        super::words::TWO_RANDOM,
        "one setting changes what runs after it",
        "which of the two settings runs first changes their difference",
        "which setting ran first makes a difference",
        super::words::UNGUARDED,
        "outlasts warm-ups of half a trial",
        "outlasts even whole warm-ups",
        "nothing ran in between",
        "a regular disturbance may look like",
        super::words::NO_ORDER,
        super::words::NO_DRIFT,
        super::words::NO_DRIFT_ALONE,
        super::words::NO_CARRY_OVER_ALONE,
        super::words::TWO_CHAINED,
        super::words::TOO_FEW,
    ]
}

/// Every sentence and message that stands in the words is told somewhere in the snapshot.
#[test]
fn no_sentence_is_left_out() {
    let snapshot = include_str!("sentences.expected.txt");
    let kinds = [
        "is better than",
        "is worse than",
        "is equivalent to",
        "): inconclusive",
        "inconclusive, it takes 3",
        "have no complete and undisturbed pair",
        "no verdict before the study's end",
        "is invalid and left out of effects",
        "where every setting had a time of its own",
        "two one-sided tests",
        "fresh trials of the two alone",
        "smaller than the margin",
        "cannot be determined",
        "would resolve a difference",
        "95 % interval over all looks",
        "95 % interval at any stop",
        "no interval)",
        "fragile: without replicate",
        "fragile: leaving out any one",
        "depends on disturbed trials",
        "fell by",
        "rose by",
        "changed over the study",
        "may be nothing else",
        "makes it noise",
        "as their order is not",
        "keeps it out",
        "ran before a trial changes",
        "This bench cannot be trusted",
        "look different, though not significantly",
        "could not be told apart",
        "averaged over the other factors",
        "the effect of filesystem depends on threads",
        "could be anywhere from",
        "on it stays within 5 % of that",
        "up to 2 it stays within 5 % of that",
        "no level next to it comes within",
        "could begin anywhere from",
        "goes with",
        "highest operations per second",
        "lowest p99 latency",
        ", significantly better than every other.",
        "no two of 6 settings",
        "others cannot be distinguished from it",
        " and ext4 with",
        "is the candidate",
        "; it does as much as setting 16",
        "in fresh trials as well",
        "is advised against: in work it has",
        "is advised against: in work each of 2 others is better",
        ", the nearest, has",
        "is better and has",
        "; in other it has",
        "is a trade-off against",
        "suspect numbers",
        "Not measured: third",
        "averaged over the other factors, 95 %",
        "Of 7 comparisons with the baseline",
        "is suspect",
        "is invalid",
        "fails more often",
        "and 0 of 6 trials of old failed",
        "disturbed pair left out",
        "disturbed pairs left out",
        "gives no ratio",
        "give no ratio",
        "is far from the others",
        "are far from the others",
        "provisional: with",
        "secondary, unadjusted",
        "ratio only",
        "suggests that friday+2 is better",
        "suggests that friday+2 is worse",
        "One result a side suggests no direction; a loss of",
        "the difference is inconclusive",
        "have too few trials",
        "each relative to its own baseline",
        "in chained random order",
        "planned trials was run",
        "planned trials were run",
        "looked at after 5, 7, 10 replicates",
        "by a confidence sequence",
        "1 trial was run again",
        "2 trials were run again",
        "was disturbed and still counts",
        "were disturbed and still count",
        "was disturbed; verdicts leave it out",
        "were disturbed; verdicts leave them out",
        "failed and does not count",
        "failed and do not count",
    ];
    let kinds = kinds.into_iter().chain(of_order()).chain(ANSWERS.iter().copied());
    let missing: Vec<&str> = kinds.filter(|kind| !snapshot.contains(kind)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// A ratio that the table of a row does not tell is none in the sentence about all rows.
#[test]
fn what_is_unknown_has_no_ratio_in_the_sentence_about_all_rows() {
    const BASE: [f64; 6] = [500.0, 512.0, 495.0, 505.0, 498.0, 503.0];
    const NEW: [f64; 6] = [520.0, 540.0, 510.0, 531.0, 515.0, 527.0];
    let mut known = Study::of(&[("old", &BASE), ("new", &NEW)]).findings().comparisons.remove(0);
    known.verdict = Some(Verdict::Inconclusive);
    known.would_see = None;
    known.difference = None;
    (known.arm, known.baseline) = (arm(&[("result", "new")]), arm(&[("result", "old")]));
    let row = |ratio: f64, ends: [f64; 2]| Comparison {
        ratio: Some(ratio),
        ci95_family: Some(ends),
        ..known.clone()
    };
    let told = |rows: &[Comparison]| agreement(&rows.iter().collect::<Vec<_>>()).unwrap();
    let [low, high, wide] =
        [row(0.5, [0.3, 1.3]), row(1.25, [0.4, 2.5]), row(0.0625, [0.002, 3.5])];
    assert_eq!(
        told(&[low.clone(), high.clone(), low.clone()]),
        "In all 3 rows no difference is shown: new has 0.5 to 1.25 times what old has."
    );
    assert_eq!(
        told(&[low, high, wide.clone()]),
        "In all 3 rows no difference is shown: new has 0.5 to 1.25 times what old has; in 1 of them the \
         ratio is unknown."
    );
    assert_eq!(
        told(&[wide.clone(), wide.clone(), wide]),
        "In all 3 rows no difference is shown: the intervals are too wide to tell a ratio."
    );
}
