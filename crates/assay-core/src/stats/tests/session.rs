//! `between_sessions` and `normal_quantile`.

use crate::stats::{Sample, between_sessions, normal_quantile};

use super::common::{Random, both_close, cases, close, close_p, number, numbers, reference, share};

fn sample(values: &[f64]) -> Sample {
    Sample::of(values).unwrap()
}

#[test]
fn sessions_give_the_known_answers() {
    let file = reference(include_str!("reference/session.json"));
    // The library's normal distribution has ten digits.
    let tolerance = 1e-9;
    for pair in file["quantiles"].as_array().unwrap() {
        let [p, quantile] = [0, 1].map(|at| number(&pair[at]));
        close(normal_quantile(p).unwrap(), quantile, tolerance);
    }
    for case in cases(&file["cases"]) {
        let [first, second] = ["first", "second"].map(|side| sample(&numbers(&case[side])));
        let found = between_sessions(&first, &second, number(&case["variance"])).unwrap();
        let alpha = number(&case["alpha"]);
        close(found.difference, number(&case["difference"]), tolerance);
        close(found.standard_error, number(&case["standard_error"]), tolerance);
        close(found.degrees_of_freedom, number(&case["freedom"]), tolerance);
        let expected = [number(&case["low"]), number(&case["high"])];
        both_close(found.interval(alpha).unwrap(), expected, tolerance);
        close(found.reach(alpha).unwrap(), number(&case["reach"]), tolerance);
        let power = number(&case["power"]);
        close(found.found(alpha, power).unwrap(), number(&case["found"]), tolerance);
        close_p(found.p().unwrap(), number(&case["p"]), tolerance);
    }
}

#[test]
fn trials_alone_do_not_make_the_error_small() {
    let many = sample(&[1.0; 50]);
    let found = between_sessions(&many, &many, 0.0018).unwrap();
    close(found.standard_error, 0.0018_f64.sqrt(), 1e-12);
    let none = between_sessions(&many, &many, 0.0).unwrap();
    assert_eq!((none.interval(0.05), none.p()), (Some([0.0; 2]), Some(1.0)));
    assert_eq!(between_sessions(&sample(&[1.0]), &many, 0.1), None);
    assert!(normal_quantile(0.0).is_none() && normal_quantile(1.0).is_none());
}

#[test]
fn quantiles_change_smoothly_with_the_scatter_of_trials() {
    // Degrees of freedom on both sides of where the expansion begins.
    let of = |scatter: f64| {
        let [first, second] = [[0.0, scatter, -scatter]; 2].map(|values| sample(&values));
        let found = between_sessions(&first, &second, 1.0).unwrap();
        let quantile = found.reach(0.0071).unwrap() / found.standard_error;
        (found.degrees_of_freedom, quantile)
    };
    let (below, above) = (of(0.6105), of(0.6104));
    assert!(below.0 < 200.0 && 200.0 < above.0, "{below:?} {above:?}");
    close(below.1, above.1, 1e-5);
    assert!(below.1 > above.1 && above.1 > of(0.01).1);
    close(of(0.01).1, normal_quantile(1.0 - 0.0071).unwrap(), 1e-6);
}

/// Returns whether a gate of 5% over seven rows of three trials on each of two days fails, if the first row lost a
/// share and days are assumed to scatter by 3%.
fn is_red(random: &mut Random, sd: f64, lost: f64) -> bool {
    let session_variance = 2.0 * 0.03_f64.ln_1p().powi(2);
    let mut is_red = false;
    for row in 0..7 {
        let shift = if row == 0 { (1.0 - lost).ln() } else { 0.0 };
        let earlier: Vec<f64> = random.normals(3).iter().map(|luck| sd * luck).collect();
        let later: Vec<f64> = random.normals(3).iter().map(|luck| shift + sd * luck).collect();
        let found = between_sessions(&sample(&earlier), &sample(&later), session_variance).unwrap();
        let least = normal_quantile(1.0 - 0.05 / 7.0).unwrap() * found.standard_error;
        // Quantiles of t are larger, and take their time.
        is_red |= found.difference + least < 0.95_f64.ln()
            && found.difference + found.reach(0.05 / 7.0).unwrap() < 0.95_f64.ln();
    }
    is_red
}

#[test]
fn equal_days_of_few_trials_stay_green() {
    for (seed, sd) in [(1, 0.05), (2, 0.1), (3, 0.2), (4, 0.4)] {
        let red = share(seed, 2_000, |random| is_red(random, sd, 0.0));
        assert!(red <= 0.05, "sd {sd}: {red}");
    }
}

#[test]
fn losses_of_a_fifth_are_red() {
    let red = share(5, 2_000, |random| is_red(random, 0.03, 0.2));
    assert!(red >= 0.95, "{red}");
    let green = share(6, 2_000, |random| is_red(random, 0.03, 0.02));
    assert!(green <= 0.05, "{green}");
}
