//! `between_sessions` and `normal_quantile`.

use assay_stats::{Sample, between_sessions, normal_quantile};

use crate::common::{both_close, cases, close, close_p, number, numbers, reference};

fn sample(values: &[f64]) -> Sample {
    Sample::of(values).unwrap()
}

#[test]
fn sessions_give_the_known_answers() {
    let file = reference(include_str!("../reference/session.json"));
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
        let expected = [number(&case["low"]), number(&case["high"])];
        both_close(found.interval(alpha).unwrap(), expected, tolerance);
        close(found.reach(alpha).unwrap(), number(&case["reach"]), tolerance);
        let power = number(&case["power"]);
        close(found.found(alpha, power).unwrap(), number(&case["found"]), tolerance);
        close_p(found.p().unwrap(), number(&case["p"]), 1e-6);
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
