//! `effects`.

use crate::stats::fit_effects;
use serde_json::Value;

use super::common::{cases, close, count, counts, number, numbers, reference};

/// An effect of a vector; `None` for the omitted one.
fn effect(value: &Value) -> Option<usize> {
    usize::try_from(value.as_i64().unwrap()).ok()
}

#[test]
fn effects_and_their_contrasts_give_the_known_answers() {
    let file = reference(include_str!("reference/effects.json"));
    let tolerance = number(&file["tolerance"]);
    for case in cases(&file["fits"]) {
        let rows: Vec<Vec<usize>> = cases(&case["rows"]).iter().map(counts).collect();
        let found = fit_effects(count(&case["count"]), &rows, &numbers(&case["values"])).unwrap();
        assert_eq!(found.freedom, count(&case["freedom"]));
        close(found.variance, number(&case["variance"]), tolerance);
        for (own, wanted) in found.effects.iter().zip(numbers(&case["effects"])) {
            close(*own, wanted, tolerance);
        }
        for told in cases(&case["apart"]) {
            let (apart, error) = found.difference(effect(&told[0]), effect(&told[1])).unwrap();
            close(apart, number(&told[2]), tolerance);
            close(error, number(&told[3]), tolerance);
            let (back, same) = found.difference(effect(&told[1]), effect(&told[0])).unwrap();
            close(back, -apart, tolerance);
            close(same, error, tolerance);
        }
    }
}

/// Two groups of two members in one block; the first of each is left out.
fn square(values: &[f64]) -> Option<crate::stats::FittedEffects> {
    fit_effects(3, &[vec![0], vec![0, 1], vec![0, 2], vec![0, 1, 2]], values)
}

#[test]
fn what_adds_up_leaves_nothing() {
    let found = square(&[1.0, 3.0, 2.0, 4.0]).unwrap();
    for (own, wanted) in found.effects.iter().zip([1.0, 2.0, 1.0]) {
        close(*own, wanted, 1e-12);
    }
    close(found.variance, 0.0, 1e-12);
    let (apart, _) = found.difference(Some(1), Some(2)).unwrap();
    close(apart, 1.0, 1e-12);
    // An interaction in one cell: a quarter of it remains in every residual.
    close(square(&[0.0, 0.0, 0.0, 4.0]).unwrap().variance, 4.0, 1e-12);
}

#[test]
fn what_has_no_answer_has_none() {
    assert_eq!(square(&[1.0, 2.0, 3.0]), None);
    assert_eq!(square(&[1.0, 2.0, 3.0, f64::NAN]), None);
    assert_eq!(fit_effects(2, &[vec![0], vec![0, 1]], &[1.0, 2.0]), None, "nothing is left over");
    assert_eq!(fit_effects(1, &[vec![0], vec![1]], &[1.0, 2.0]), None, "no such effect");
    let alike = [vec![0], vec![0, 1, 2], vec![0, 1, 2], vec![0]];
    assert_eq!(fit_effects(3, &alike, &[1.0, 2.0, 2.0, 1.0]), None, "they always come together");
    let silent = [vec![0], vec![0], vec![0]];
    assert_eq!(fit_effects(2, &silent, &[1.0, 2.0, 3.0]), None, "nothing has it");
    assert_eq!(square(&[1.0, 3.0, 2.0, 4.0]).unwrap().difference(Some(3), None), None);
}
