//! Reported trends and their shapes.

use assay_core::quantity::Better;
use assay_study::findings::{Findings, Shape, Trend};

use super::tests::Study;

const LUCK: [f64; 6] = [1.0, 1.02, 0.98, 1.01, 0.99, 1.005];

/// Levels 1, 2, 4 and so on of these means.
fn study(means: &[f64]) -> Study {
    let levels: Vec<String> = (0..means.len()).map(|at| (1 << at).to_string()).collect();
    let values: Vec<Vec<f64>> = (0..)
        .zip(means)
        .map(|(at, mean)| (0..6).map(|trial| mean * LUCK[(trial + at) % 6]).collect())
        .collect();
    let arms: Vec<(&str, &[f64])> =
        levels.iter().map(String::as_str).zip(values.iter().map(Vec::as_slice)).collect();
    Study::of(&arms)
}

fn told(found: &Findings) -> Option<&Trend> {
    assert!(found.effects.trends.len() <= 1);
    found.effects.trends.first()
}

#[test]
fn a_line_is_told_by_its_slope() {
    let found = study(&[100.0, 110.0, 121.0, 133.1]).findings();
    let trend = told(&found).unwrap();
    assert_eq!((trend.shape, trend.knee), (Shape::Linear, None));
    assert!((trend.slope.unwrap().exp2() - 1.1).abs() < 0.01);
    assert!(trend.text.contains("doubling setting multiplies IOPS by 1.1"), "{}", trend.text);
}

#[test]
fn what_levels_off_is_told_by_its_knee() {
    let found = study(&[100.0, 200.0, 400.0, 401.0, 399.0]).findings();
    let trend = told(&found).unwrap();
    assert_eq!((trend.shape, trend.slope, trend.ci95), (Shape::Saturates, None, None));
    assert_eq!((trend.knee, trend.knee_range.unwrap()[0]), (Some(4.0), 4.0));
    assert!(trend.text.contains("of that value from 4 "), "{}", trend.text);
    assert!(!trend.text.contains("doubling"), "{}", trend.text);
}

#[test]
fn what_holds_up_to_a_level_is_told_by_its_knee() {
    let mut lower = study(&[100.0, 101.0, 200.0, 400.0]);
    for series in &mut lower.measured.series {
        (series.metric, series.better) = ("latency_mean_ns".to_owned(), Better::Lower);
    }
    let found = lower.findings();
    let trend = told(&found).unwrap();
    assert_eq!((trend.shape, trend.knee), (Shape::FlatUpTo, Some(2.0)));
    assert!(trend.text.contains("up to 2"), "{}", trend.text);
}

#[test]
fn a_peak_is_neither() {
    let found = study(&[100.0, 200.0, 400.0, 200.0, 100.0]).findings();
    let trend = told(&found).unwrap();
    assert_eq!((trend.shape, trend.peak, trend.knee), (Shape::Peak, 4.0, None));
    assert_eq!(trend.near, Some([4.0, 4.0]));
}

#[test]
fn within_the_margin_there_is_no_trend() {
    // A significant slope of 4% per doubling.
    let small = [100.0, 104.0, 108.0, 112.5];
    assert_eq!(told(&study(&small).margin(0.2).findings()), None);
    assert!(told(&study(&small).margin(0.02).findings()).is_some());
    assert_eq!(told(&study(&[100.0; 4]).findings()), None);
    // Two replicates give no interval.
    let mut few = study(&[100.0, 200.0, 400.0]);
    few.measured.series.iter_mut().for_each(|series| series.trials.truncate(2));
    assert_eq!(told(&few.findings()), None);
}
