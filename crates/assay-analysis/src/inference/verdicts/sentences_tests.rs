//! The words of a sentence agree with the numbers in it.

use assay_core::quantity::Better;
use assay_study::findings::{Comparison, Verdict};
use proptest::prelude::*;

use super::tests::{Study, arm};
use super::words::agreement;

/// A ratio missing from a row's table is also missing from the sentence on all rows.
#[test]
fn what_is_unknown_has_no_ratio_in_the_sentence_about_all_rows() {
    const BASE: [f64; 6] = [500.0, 512.0, 495.0, 505.0, 498.0, 503.0];
    const NEW: [f64; 6] = [520.0, 540.0, 510.0, 531.0, 515.0, 527.0];
    let mut known = Study::of(&[("old", &BASE), ("new", &NEW)]).findings().comparisons.remove(0);
    known.verdict = Some(Verdict::Inconclusive);
    known.min_detectable_ratios = None;
    known.difference = None;
    (known.configuration, known.baseline) = (arm(&[("result", "new")]), arm(&[("result", "old")]));
    let row = |ratio: f64, ends: [f64; 2]| Comparison {
        ratio: Some(ratio),
        ci95_simultaneous: Some(ends),
        ..known.clone()
    };
    let told = |rows: &[Comparison]| agreement(&rows.iter().collect::<Vec<_>>()).unwrap();
    let [low, high, wide] =
        [row(0.5, [0.3, 1.3]), row(1.25, [0.4, 2.5]), row(0.0625, [0.002, 3.5])];
    assert_eq!(
        told(&[low.clone(), high.clone(), low.clone()]),
        "None of 3 rows differs significantly: new has 0.5 to 1.25 times the value of old."
    );
    assert_eq!(
        told(&[low, high, wide.clone()]),
        "None of 3 rows differs significantly: new has 0.5 to 1.25 times the value of old; no ratio for 1 of \
         them."
    );
    assert_eq!(
        told(&[wide.clone(), wide.clone(), wide]),
        "None of 3 rows differs significantly: the CIs are too wide for a ratio."
    );
}

fn printed(text: &str) -> Option<[f64; 2]> {
    let after = text.split_once("% CI ")?.1;
    let (low, rest) = after.split_once('-')?;
    let high = rest.split([',', ')']).next()?;
    Some([low.parse().ok()?, high.parse().ok()?])
}

proptest! {
    #[test]
    fn words_and_printed_intervals_agree(
        base in proptest::collection::vec(90.0..110.0_f64, 3..12),
        noise in proptest::collection::vec(-1.0..1.0_f64, 12),
        (shift, width) in (-0.03..0.03_f64, 0.0001..0.05_f64),
        lower in any::<bool>(),
    ) {
        let values: Vec<f64> = base
            .iter()
            .zip(&noise)
            .map(|(base, noise)| base * (shift + width * noise).exp())
            .collect();
        let mut study = Study::of(&[("old", &base), ("new", &values)]);
        if lower {
            for series in &mut study.measured.series {
                series.better = Better::Lower;
            }
        }
        let found = study.findings();
        let one = &found.comparisons[0];
        let [low, high] = printed(&one.text).expect(&one.text);
        let (above, below) = (low > 1.0, high < 1.0);
        match one.verdict {
            Some(Verdict::Better) => prop_assert!(if lower { below } else { above }, "{}", one.text),
            Some(Verdict::Worse) => prop_assert!(if lower { above } else { below }, "{}", one.text),
            Some(Verdict::Equivalent) => {
                prop_assert!(low >= 0.952 && high <= 1.05, "{}", one.text);
            }
            _ => prop_assert!(!above && !below, "{}", one.text),
        }
        let (_, after) = one.text.split_once("ratio ").expect(&one.text);
        let ratio: f64 = after.split(',').next().and_then(|number| number.parse().ok()).expect(&one.text);
        prop_assert!((low..=high).contains(&ratio), "{}", one.text);
        let word = ["is better", "is worse", "is equivalent", "inconclusive"];
        let told = word.iter().filter(|word| one.text.contains(*word)).count();
        prop_assert_eq!(told, 1);
    }
}
