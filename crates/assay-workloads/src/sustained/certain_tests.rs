//! Sentences on long writes with random courses: each rate and position is within its interval, in facts and sentences.

use assay_core::draws::Draws;
use assay_core::quantity::metric::Nature;
use assay_testkit::certain;
use serde_json::json;

use super::*;

const COURSES: u64 = 1000;
const MIB: u64 = 1 << 20;

/// Approximately normal, standard deviation 1.
fn normal(draws: &mut Draws) -> f64 {
    (0..12).map(|_| draws.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}

/// Slices with pauses, drops and correlation, of any spread.
fn slices(draws: &mut Draws) -> Vec<u64> {
    let sd = [0.0, 0.05, 0.2, 0.5][draws.below(4) as usize];
    let keeps = [0.0, 0.0, 0.8, 0.95][draws.below(4) as usize];
    let (mut level, mut last) = (20.0 + draws.below(400) as f64, 0.0);
    let count = 1 + draws.below(300);
    let of = |_| {
        if draws.below(80) == 0 {
            level *= 0.25 + draws.below(300) as f64 / 100.0;
        }
        last = keeps * last + sd * normal(draws);
        let pause = if draws.below(50) == 0 { 20.0 } else { 1.0 };
        (pause * 64.0 / level * f64::exp(last) * 1e9) as u64
    };
    (0..count).map(of).collect()
}

#[test]
fn a_course_lies_within_its_intervals_in_facts_and_in_words() {
    let (mut intervals, mut told, mut rested) = (0, 0, 0);
    for seed in 0..COURSES {
        let mut draws = Draws::new(seed, "courses");
        let slices_ns = slices(&mut draws);
        let again = draws.below(3) == 0;
        let retried = again.then(|| Retried {
            at_once_ns: slices(&mut draws),
            rest_ns: 1_000_000_000,
            rested_ns: slices(&mut draws),
            ..Default::default()
        });
        let slice_bytes = 64 * MIB;
        let fortieth_ns = slices_ns.iter().sum::<u64>() / 40;
        let rests_ns = (draws.below(3) > 0).then(|| draws.below(20) * fortieth_ns);
        let detail =
            SustainedDetail { slice_bytes, slices_ns, rests_ns, retried, ..Default::default() };
        let found = course(&detail).unwrap();
        let text = words(&found, None);
        // As in a document.
        let facts = json!({ "cells": [], "sustained": [{ "course": found, "text": text }] });
        intervals += certain::document_of(&facts).unwrap_or_else(|error| panic!("{seed}: {error}"));
        rested += u32::from(found.rests.is_some());
        told += certain::all_of(&text).unwrap_or_else(|error| panic!("{seed}: {error}: {text}"));
    }
    assert!(intervals > 500 && told > 500, "{intervals} {told}");
    assert!((300..900).contains(&rested), "{rested}");
}

/// Positions found by rates depend on speed, even if counted in bytes.
#[test]
fn its_metrics_are_of_the_speed() {
    for metric in SustainedSpec::METRICS.iter().copied().flatten() {
        assert_eq!(metric.nature, Nature::Speed, "{}", metric.name);
    }
}

#[test]
fn what_is_told_stands_beside_the_figure_that_its_study_shows_first() {
    use crate::tell::{Bare, Shows as _};
    let told: serde_json::Value = serde_json::from_str(include_str!("told.json")).unwrap();
    let facts: SustainedFacts = serde_json::from_value(told["sustained"][0].clone()).unwrap();
    let exhibit = SustainedFacts::exhibit(&[&facts], &Bare);
    let study = include_str!("../../../../studies/sustained.toml");
    let lead = format!("lead_figure=\"{}\"", exhibit.beside.unwrap());
    assert!(study.replace(' ', "").contains(&lead), "{lead}");
    assert!(!exhibit.leads, "what a drive writes for long is no answer by itself");
}
