//! `outlier`.

use crate::stats::{MODIFIED_Z_LIMIT, Sample, leave_one_out, modified_z};
use proptest::prelude::*;

use super::common::{cases, close, number, numbers, reference};

#[test]
fn outliers_give_the_known_answers() {
    let file = reference(include_str!("reference/outlier.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["cases"]) {
        let values = numbers(&case["values"]);
        let scores = modified_z(&values);
        let without = leave_one_out(&values);
        assert_eq!((scores.len(), without.len()), (values.len(), values.len()));
        let (means, sds) = (numbers(&case["means"]), numbers(&case["sds"]));
        for (index, z) in numbers(&case["z"]).into_iter().enumerate() {
            close(scores[index], z, tolerance);
            close(without[index].mean, means[index], tolerance);
            close(without[index].sd.unwrap(), sds[index], tolerance);
        }
    }
}

#[test]
fn borders() {
    for bad in [&[][..], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
        assert!(modified_z(bad).is_empty() && leave_one_out(bad).is_empty());
    }
    assert_eq!(modified_z(&[5.0]), [0.0]);
    assert!(leave_one_out(&[5.0]).is_empty());
    assert_eq!(leave_one_out(&[5.0, 7.0])[0], Sample { n: 1, mean: 7.0, sd: None });
    assert!(modified_z(&[1.0, 2.0, 3.0, 4.0, 100.0])[4] > MODIFIED_Z_LIMIT);
    assert!(modified_z(&[0.0, 5e-324, -5e-324, 1e300]).iter().all(|z| z.is_finite()));
    // Taking the share of 1e9 out of the whole would leave noise here.
    let without = leave_one_out(&[1.0, 2.0, 3.0, 1e9]);
    close(without[3].sd.unwrap(), 1.0, 1e-12);
}

proptest! {
    #[test]
    fn scores_do_not_see_scale_and_level(
        values in proptest::collection::vec(-100.0_f64..100.0, 3..20), by in -100.0_f64..100.0, factor in 0.1_f64..10.0,
    ) {
        let moved: Vec<f64> = values.iter().map(|value| value * factor + by).collect();
        for (before, after) in modified_z(&values).into_iter().zip(modified_z(&moved)) {
            close(after, before, 1e-6);
        }
    }

    #[test]
    fn leaving_out_is_the_sample_of_the_rest(values in proptest::collection::vec(-1e6_f64..1e6, 2..30)) {
        for (index, found) in leave_one_out(&values).into_iter().enumerate() {
            let mut rest = values.clone();
            rest.remove(index);
            let expected = Sample::of(&rest).unwrap();
            prop_assert_eq!(found.n, expected.n);
            close(found.mean, expected.mean, 1e-9);
            close(found.sd.unwrap_or(-1.0), expected.sd.unwrap_or(-1.0), 1e-9);
        }
    }
}
