//! Sentences on burst credits, and loads on a simulated drive, which has none.

use std::collections::BTreeMap;

use assay_core::exhibit::{Levels, Subject, Value};
use assay_core::presence::Presence;
use assay_load::{Law, LawShape};
use assay_machine::system::Fake;
use assay_machine::system::clears::Clears;
use assay_testkit::certain;
use serde_json::json;

use super::running::plan_pauses;
use super::*;
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::{DirectUse, EngineUse, Run};
use crate::tell::{Bare, RowView, Shows as _, Tells as _};
use crate::workload::{PlannedWork as _, WorkloadSpec as _};
use crate::{Counts as _, testing};

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

fn planned(size_bytes: u64) -> BurstPlan {
    BurstPlan {
        mix: BurstDirection::Write,
        size_bytes,
        engine: Engine::IoUring,
        in_flight: [1, 32],
        asked_in_flight: 32,
        direct: true,
    }
}

/// A load with this many operations above the baseline of 500 per second, and the refill of each rest.
fn detail(above: u64, rests: &[(u64, u64)]) -> BurstDetail {
    let full = above / 1500;
    // Rates vary slightly per second.
    let second = |rate: u64, at: u64| rate - rate / 100 + rate / 50 * ((7 * at + 3) % 5) / 4;
    let load = |full: u64, all: u64| -> Vec<u64> {
        (0..all).map(|at| second(if at < full { 2000 } else { 500 }, at)).collect()
    };
    let rest = |(seconds, full): &(u64, u64)| Rested {
        rest_ns: seconds * SECOND,
        operations: load(*full, 25),
    };
    BurstDetail {
        first: load(full, 90),
        rests: rests.iter().map(rest).collect(),
        before_ns: SECOND,
        ended: None,
    }
}

fn measured_of(detail: BurstDetail) -> Measured {
    Measured { window_ns: 1, elapsed_ns: 1, ..Measured::from_detail(detail) }
}

fn facts(own: &BurstPlan, trials: &[&Measured]) -> Option<BurstFacts> {
    let subject = Subject { workload: "burst".to_owned(), arm: Levels::new() };
    let trials: Vec<Option<&Measured>> = trials.iter().copied().map(Some).collect();
    let seen = RowView::bare(&subject, &trials);
    own.facts(&seen).map(|facts| BurstFacts::of(&facts).unwrap().clone())
}

/// 30 s at 2,000, then 500; a rest of 6 s refills 3,000, one of 12 s 6,000.
fn emptied() -> BurstDetail {
    detail(45_000, &[(6, 2), (12, 4)])
}

#[test]
fn a_bucket_is_told_with_its_intervals_and_when_it_is_full_again() {
    let told = facts(&planned(4096), &[&measured_of(emptied())]).unwrap();
    let text = &told.text;
    let begins = "Writes of 4 KiB: the burst rate of 2,000/s (95% CI ";
    assert!(text.starts_with(begins), "{text}");
    assert!(text.contains(" lasted for 30"), "{text}");
    assert!(text.contains(" the baseline rate was 500/s (95% CI "), "{text}");
    assert!(text.contains("a full refill takes "), "{text}");
    assert!(certain::all_of(text).unwrap() > 0, "{text}");
    let document = json!({ "cells": [], "burst": [told.clone()] });
    assert_eq!(certain::document_of(&document).unwrap(), 6);
    assert_eq!(told.trial, None);
    let two = [measured_of(emptied()), measured_of(emptied())];
    let two = facts(&planned(4096), &[&two[0], &two[1]]).unwrap();
    assert!(two.text.ends_with("This is trial 1 of 2."), "{}", two.text);
}

#[test]
fn where_nothing_fell_and_where_no_rest_followed_is_said_so() {
    let mut even = emptied();
    even.first.truncate(25);
    even.rests.clear();
    let told = facts(&planned(4096), &[&measured_of(even)]).unwrap();
    assert!(told.text.ends_with("; the burst credits did not run out."));
    let mut short = emptied();
    short.rests.clear();
    short.ended = Some("the 3 s that were left are too few".to_owned());
    let told = facts(&planned(4096), &[&measured_of(short)]).unwrap();
    assert!(
        told.text.ends_with("The refill time is unknown: the 3 s that were left are too few."),
        "{}",
        told.text
    );
    assert_eq!(facts(&planned(4096), &[&measured_of(BurstDetail::default())]), None);
}

#[test]
fn the_numbers_of_a_row_are_those_of_its_sentence() {
    let measured = measured_of(emptied());
    let own = planned(4096);
    let told = facts(&own, &[&measured]).unwrap();
    let Course::Fell(bucket) = told.timeline else { panic!("{told:?}") };
    let value = |metric: &str| own.value(metric, &measured).unwrap();
    assert_eq!(value("burst_iops"), Ok(bucket.burst_per_s.value));
    assert_eq!(value("burst_duration_s"), Ok(bucket.burst_s.value));
    assert_eq!(value("burst_baseline_iops"), Ok(bucket.baseline_per_s.value));
    assert_eq!(value("burst_credits"), Ok(bucket.credits.value));
    assert_eq!(value("burst_refill_iops"), Ok(bucket.refill_per_s.unwrap().value));
    assert_eq!(value("burst_refill_s"), Ok(bucket.refill_s.unwrap().value));
    assert_eq!(own.value("iops", &measured), None);
    let mut even = emptied();
    even.first.truncate(25);
    let even = measured_of(even);
    assert!(own.value("burst_iops", &even).unwrap().is_ok());
    assert!(
        own.value("burst_duration_s", &even).unwrap().unwrap_err().contains("not drop within 25 s")
    );
    let exhibit = BurstFacts::exhibit(&[&told], &Bare);
    let table = &exhibit.tables[0];
    let row = &table.rows[0];
    assert_eq!(row.cells.len(), table.columns.len());
    assert_eq!(row.cells[2].value, Value::Estimate(bucket.burst_s.value, bucket.burst_s.ci95));
    assert_eq!(told.subject().workload, "burst");
}

#[test]
fn two_sizes_tell_what_a_bucket_counts_and_one_does_not() {
    let told = |size_bytes: u64, above: u64| {
        facts(&planned(size_bytes), &[&measured_of(detail(above, &[(6, 2)]))]).unwrap()
    };
    let said = |all: &[&BurstFacts]| {
        let sentences = BurstFacts::exhibit(all, &Bare).sentences;
        sentences.into_iter().map(|one| one.text).find(|text| text.starts_with("The volume counts"))
    };
    let (small, same, fewer) = (told(4096, 45_000), told(16_384, 45_000), told(16_384, 24_000));
    assert!(said(&[&small, &same]).unwrap().contains(" counts operations: "));
    // A quarter of the operations, each four times as large.
    let (many, few) = (told(4096, 90_000), told(16_384, 22_500));
    assert!(said(&[&many, &few]).unwrap().contains(" counts bytes: "));
    assert_eq!(said(&[&small]), None);
    assert_eq!(said(&[&small, &fewer]), None, "neither");
}

#[test]
fn rests_fit_into_the_time_that_is_left_and_do_not_fill_the_bucket() {
    let Some(Course::Fell(bucket)) = emptied().course() else { panic!("it falls") };
    let found = plan_pauses(&bucket, 300.0).unwrap();
    let all: f64 = found.iter().map(|own| own.rest_s + own.load_s).sum();
    assert!(all <= 300.0, "{found:?}");
    let longest = found[2].rest_s;
    assert!(longest * bucket.baseline_per_s.value <= 0.81 * bucket.credits.value, "{found:?}");
    assert!((found[1].rest_s / found[0].rest_s - 2.0).abs() < 1e-9, "{found:?}");
    // With a long time, the credits limit them.
    assert_eq!(plan_pauses(&bucket, 3000.0), plan_pauses(&bucket, 30_000.0));
    let few = plan_pauses(&bucket, 60.0).unwrap();
    assert!(few.iter().map(|own| own.rest_s + own.load_s).sum::<f64>() <= 60.0, "{few:?}");
    assert_eq!(plan_pauses(&bucket, 10.0), None);
}

/// A simulated drive of 64 MiB.
fn ran(time_ns: u64, stop: bool) -> Result<RunResult, String> {
    let direct = Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 });
    let engine = EngineUse { name: Engine::Simulated, note: None };
    let area = testing::area(64 * MIB, true);
    let clears = Clears::default();
    let offer = Offer { area, direct: &direct, engine: &engine, between: None, clears: &clears };
    let (planned, _) = BurstSpec::default().plan(&offer).unwrap();
    let law = Law::new(LawShape::Fixed { ns: 1_000_000 }, 1).ok();
    let fake = Fake::new();
    let on = testing::run_on(&fake, area, law);
    planned.run(&Run { time_ns, stop: testing::stop(stop), ..on })
}

#[test]
fn a_drive_without_a_bucket_is_loaded_once_and_rests_no_more() {
    let found = ran(100 * SECOND, false).unwrap();
    let own = BurstDetail::of(&found.measured).unwrap();
    assert!((50..=56).contains(&own.first.len()), "{}", own.first.len());
    assert!(own.first.iter().all(|count| count.abs_diff(1000) < 50), "{:?}", own.first);
    assert!(own.rests.is_empty() && !own.keeps_what_it_has() && emptied().keeps_what_it_has());
    assert!(matches!(own.course(), Some(Course::Held { .. })));
    assert_eq!(own.ended, None);
    assert!(found.series.len() >= own.first.len() && found.histograms.contains_key("write"));
}

#[test]
fn a_time_of_few_seconds_fails_with_its_reason_and_a_stop_is_told() {
    assert!(ran(5 * SECOND, false).unwrap_err().contains("too short"));
    let stopped = ran(100 * SECOND, true).unwrap();
    let own = BurstDetail::of(&stopped.measured).unwrap();
    assert!(
        stopped.stopped && own.ended.as_ref().unwrap().starts_with("the user stopped the trial")
    );
    assert!(!own.keeps_what_it_has());
}

#[test]
fn what_is_only_read_is_not_asked_for_as_a_whole() {
    let read = BurstSpec { mix: BurstDirection::Read, ..BurstSpec::default() };
    assert_eq!((BurstSpec::default().needs(), read.needs()), (Needs::Whole, Needs::Area));
    assert_eq!((read.touches().writes, read.touches().reads), (None, true));
    assert!(
        !BurstSpec::default().touches().reads && BurstSpec::default().touches().writes.is_some()
    );
}

#[test]
fn what_is_told_is_read_as_it_was_written_and_stands_beside_the_figure_of_its_study() {
    let told = include_str!("told.json").trim_end();
    let read: BTreeMap<String, Vec<BurstFacts>> = serde_json::from_str(told).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), told);
    let exhibit = BurstFacts::exhibit(&[&read["burst"][0]], &Bare);
    let lead = format!("lead_figure=\"{}\"", exhibit.beside.unwrap());
    let study = include_str!("../../../../studies/burst.toml");
    assert!(study.replace(' ', "").contains(&lead), "{lead}");
}
