use assay_core::quantity::{Better, Scale};
use assay_study::findings::Because;
use assay_study::results::design::{Factor, Order};
use assay_study::results::plan::AbsentWorkload;
use assay_study::results::record::Status;

use super::super::tests::Bench;
use super::super::verdicts::tests::{Study, arm};
use super::super::{StopReason, enough};
use super::*;

/// The known answer of R4: their ratio is 1.042079, and the SD of their differences 0.010211.
const LOW: [f64; 5] = [500.0, 512.0, 495.0, 505.0, 498.0];
const HIGH: [f64; 5] = [520.0, 540.0, 510.0, 531.0, 515.0];

fn asked(max_regression: f64) -> Gate {
    Gate {
        max_regression,
        more: None,
        must_detect: None,
        metric: None,
        until_decided: false,
        allow_inconclusive: false,
    }
}

fn gated(mut study: Study, gate: Gate) -> Findings {
    study.measured.design.gate = Some(gate);
    study.findings()
}

/// Two arms; the rate of the second is 4.04% lower.
fn lost() -> Study {
    Study::of(&[("old", &HIGH), ("new", &LOW)])
}

fn told(found: &Findings) -> &GateAnswer {
    found.answers.gate.as_ref().unwrap()
}

fn row(found: &Findings) -> &Gated {
    &told(found).rows[0]
}

/// Why the only row is inconclusive.
fn silence(found: &Findings) -> &str {
    match &row(found).outcome {
        Ended::Inconclusive(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_known_loss_is_over_a_gate_below_it_and_surely_within_one_above_its_interval() {
    let over = gated(lost(), asked(0.02));
    // The bound is t(0.95, 4) = 2.131847 times 0.010211 divided by sqrt(5).
    assert_eq!((told(&over).outcome, &row(&over).outcome), (GateEnd::Fail, &Ended::Fail));
    let near = |told: Option<f64>, wanted: f64| assert!((told.unwrap() - wanted).abs() < 1e-4);
    near(row(&over).loss, 0.040_380);
    near(row(&over).bound95, 0.030_993);
    let within = gated(lost(), asked(0.05));
    assert_eq!(row(&within).outcome, Ended::Pass);
    near(row(&within).bound95, 0.049_676);
    assert!(row(&within).min_detectable.unwrap() < 0.07);
    // With the arms swapped it is a gain.
    let gained = gated(Study::of(&[("old", &LOW), ("new", &HIGH)]), asked(0.0));
    assert_eq!(row(&gained).outcome, Ended::Pass);
    assert!(row(&gained).text().contains("4.2% better"));
}

#[test]
fn a_time_that_grows_is_a_loss() {
    let mut study = Study::of(&[("old", &LOW), ("new", &HIGH)]);
    for series in &mut study.measured.series {
        (series.metric, series.better) = ("duration_s".to_owned(), Better::Lower);
    }
    let found = gated(study, asked(0.02));
    assert_eq!(row(&found).outcome, Ended::Fail);
    assert!((row(&found).loss.unwrap() - 0.042_079).abs() < 1e-4);
}

#[test]
fn rows_share_the_error() {
    let arms = [("old", &HIGH[..]), ("new", &LOW), ("c", &HIGH), ("d", &HIGH), ("e", &HIGH)];
    let alone = gated(Study::of(&arms[..2]), asked(0.03));
    assert_eq!(row(&alone).outcome, Ended::Fail);
    let among = gated(Study::of(&arms), asked(0.03));
    assert_eq!((told(&among).rows.len(), &row(&among).outcome), (4, &Ended::Pass));
    assert!(row(&among).name.contains("new"), "{}", row(&among).name);
}

#[test]
fn the_answer_comes_first_and_says_no_more_than_is_shown() {
    let found = gated(lost(), asked(0.05));
    assert!(
        found.summary_texts()[0].starts_with("Gate passed (limit 5%): work ("),
        "{:?}",
        found.summary_texts()
    );
    assert_eq!(found.summary[0].topic, "gate");
    let first = &found.answers.all[0];
    assert_eq!(first.ask, "Is every configuration at most 5% worse than the baseline?");
    assert_eq!((first.verdict, first.evidence.len()), (Claim::Supported, 1));
    assert_eq!(first.evidence[0], found.comparisons[0].id);
    assert_eq!(gated(lost(), asked(0.02)).answers.all[0].verdict, Claim::Contradicted);
    // It would have detected a loss of 30%, but cannot decide on 5%.
    let wild = [470.0, 540.0, 455.0, 530.0, 490.0];
    let open = gated(Study::of(&[("old", &LOW), ("new", &wild)]), asked(0.05));
    assert_eq!(
        (told(&open).outcome, open.answers.all[0].verdict),
        (GateEnd::Pass, Claim::NotShown)
    );
    assert!(
        open.summary_texts()[0].contains("(limit 5%); a loss up to "),
        "{:?}",
        open.summary_texts()
    );
    // Without a gate there is no message about one.
    let none = lost().findings();
    assert!(none.answers.gate.is_none() && none.summary.iter().all(|own| own.topic != "gate"));
}

#[test]
fn numbers_that_do_not_count_make_no_statement() {
    let because = |rule: &str, trust| {
        let mut study = lost();
        study.measured.series[1].trust = Some(trust);
        let text = "why".to_owned();
        study.measured.series[1].because = vec![Because { rule: rule.to_owned(), trust, text }];
        study
    };
    let invalid = gated(because("cached", Trust::Invalid), asked(0.02));
    assert_eq!(told(&invalid).outcome, GateEnd::Inconclusive);
    assert!(silence(&invalid).ends_with("is invalid"), "{}", silence(&invalid));
    let blind = gated(because("unstable", Trust::Suspect), asked(0.02));
    assert!(silence(&blind).starts_with("rule unstable flags"), "{}", silence(&blind));
    // Other suspect numbers count, and the text says so.
    let suspect = gated(because("foreign-io", Trust::Suspect), asked(0.02));
    assert_eq!(row(&suspect).outcome, Ended::Fail);
    assert!(told(&suspect).text.contains("is suspect (foreign-io)"), "{}", told(&suspect).text);
    // Nor does a note: trials that waited for processors are left out.
    for rule in ["foreign-io", "cpu-starved"] {
        let trusted = gated(because(rule, Trust::Trusted), asked(0.02));
        assert_eq!(row(&trusted).outcome, Ended::Fail);
        assert!(!told(&trusted).text.contains("suspect"));
    }
    let starved = gated(because("cpu-starved", Trust::Suspect), asked(0.02));
    assert!(silence(&starved).starts_with("rule cpu-starved flags"), "{}", silence(&starved));
}

#[test]
fn values_of_zero_take_a_pass_away_and_no_loss_that_is_sure() {
    let stalled = [520.0, 540.0, 0.0, 531.0, 515.0];
    let by = |share: f64| {
        let values = stalled.map(|value| share * value);
        gated(Study::of(&[("old", &HIGH), ("new", &values)]), asked(0.05))
    };
    assert_eq!(silence(&by(1.0)), ZEROS);
    assert_eq!(row(&by(0.5)).outcome, Ended::Fail);
}

#[test]
fn what_leaves_no_verdict_leaves_no_gate() {
    let mut study = lost();
    study.measured.design.order = Order::Sequential;
    assert!(silence(&gated(study, asked(0.02))).contains("confounds configurations"));
    let mut study = lost();
    study.emulated = true;
    assert!(silence(&gated(study, asked(0.02))).contains("emulated"));
    let mut study = lost();
    study.measured.unfinished = true;
    assert_eq!(silence(&gated(study, asked(0.02))), "trials are pending");
    let few = gated(Study::of(&[("old", &HIGH[..2]), ("new", &LOW[..2])]), asked(0.02));
    assert_eq!(silence(&few), "only 2 undisturbed pairs with the baseline; the gate needs 3");
    let allowed = Gate { allow_inconclusive: true, ..asked(0.02) };
    let few = gated(Study::of(&[("old", &HIGH[..2]), ("new", &LOW[..2])]), allowed);
    assert_eq!((told(&few).outcome, few.answers.all[0].verdict), (GateEnd::Pass, Claim::NoData));
}

#[test]
fn a_metric_that_is_named_is_judged_and_no_other() {
    let mut study = lost();
    let memory: Vec<_> = study.measured.series.iter().rev().cloned().collect();
    for (mut series, level) in memory.into_iter().zip(["old", "new"]) {
        series.arm = arm(&[("setting", level)]);
        series.metric = "peak_memory_bytes".to_owned();
        (series.primary, series.better) = (false, Better::Lower);
        study.measured.series.push(series);
    }
    let metric = Some("peak_memory_bytes".to_owned());
    let found = gated(study, Gate { metric, ..asked(0.02) });
    assert_eq!((told(&found).rows.len(), &row(&found).outcome), (1, &Ended::Fail));
    assert!((row(&found).loss.unwrap() - 0.042_079).abs() < 1e-4);
    assert_eq!(row(&found).metric.as_deref(), Some("peak_memory_bytes"));
    assert!(found.answers.all[0].ask.contains(" in "), "{}", found.answers.all[0].ask);
    let absent = Some("energy_j".to_owned());
    let none = gated(lost(), Gate { metric: absent, ..asked(0.02) });
    assert_eq!(silence(&none), format!("no {} was measured", noun("energy_j")));
    assert_eq!(row(&none).metric.as_deref(), Some("energy_j"));
}

/// Two arms in random order; the second is slower by one factor if it ran first, and by the other if second.
fn in_two_orders(slower: [f64; 2]) -> Study {
    let luck = [1.0, 1.01, 1.0, 0.99, 1.01, 0.99];
    let is_first = |at: usize| at.is_multiple_of(2);
    let old = luck.map(|luck| 100.0 * luck);
    let new: Vec<f64> = (luck.iter().rev().enumerate())
        .map(|(at, luck)| 100.0 * luck / slower[usize::from(!is_first(at))])
        .collect();
    let mut study = Study::of(&[("old", &old), ("new", &new)]);
    study.measured.design.order = Order::Random;
    for (arm, series) in study.measured.series.iter_mut().enumerate() {
        for (at, trial) in series.trials.iter_mut().enumerate() {
            let second = is_first(at) == (arm == 0);
            trial.order = Some(3 * at as u32 + 1 + u32::from(second));
        }
    }
    study
}

#[test]
fn arms_that_change_each_other_are_judged_where_both_orders_agree() {
    let split = gated(in_two_orders([1.01, 1.44]), asked(0.05));
    assert!(silence(&split).starts_with("worse than the limit only"), "{}", silence(&split));
    let both = gated(in_two_orders([1.3, 1.6]), asked(0.05));
    let is_told = |note: &Note| matches!(note, Note::TwoOrders { .. });
    assert!(both.comparisons[0].note_facts.iter().any(is_told));
    assert_eq!(row(&both).outcome, Ended::Fail);
    assert_eq!(row(&gated(in_two_orders([1.0, 1.0]), asked(0.05))).outcome, Ended::Pass);
}

fn until(study: Study, max_regression: f64) -> Findings {
    let mut study = study;
    study.measured.design.stopping = Stopping::Open { half_width: None };
    gated(study, Gate { until_decided: true, ..asked(max_regression) })
}

#[test]
fn a_study_goes_on_until_each_row_is_beyond_the_gate_or_within_it() {
    let open = Stopping::Open { half_width: None };
    let within = until(lost(), 0.1);
    assert_eq!((row(&within).outcome.clone(), row(&within).min_detectable), (Ended::Pass, None));
    assert_eq!(enough(&within, &open), Some(StopReason::Gated));
    assert!(told(&within).text.starts_with("gate passed after 5 replicates (limit 10%"));
    let over = until(lost(), 0.005);
    assert_eq!(
        (row(&over).outcome.clone(), enough(&over, &open)),
        (Ended::Fail, Some(StopReason::Gated))
    );
    // A loss of 4% with a CI of +-2.4%; its verdict alone would have ended the study.
    let between = until(lost(), 0.05);
    assert!(silence(&between).starts_with("its 95% CI contains"), "{}", silence(&between));
    assert_eq!(enough(&between, &open), None);
    // Below four pairs the confidence sequence has no bound.
    let few = until(Study::of(&[("old", &HIGH[..3]), ("new", &LOW[..3])]), 0.5);
    assert_eq!((silence(&few), enough(&few, &open)), (NO_INTERVAL, None));
}

/// Whether the first row stays inconclusive, and whether the study has shown enough.
fn lasts(found: &Findings) -> (bool, Option<StopReason>) {
    (row(found).is_final, enough(found, &Stopping::Open { half_width: None }))
}

#[test]
fn a_row_that_no_replicate_decides_is_not_waited_for() {
    let mut emulated = lost();
    emulated.emulated = true;
    let mut sequential = lost();
    sequential.measured.design.order = Order::Sequential;
    for study in [emulated, sequential] {
        let found = until(study, 0.1);
        assert_eq!(told(&found).outcome, GateEnd::Inconclusive);
        assert_eq!(lasts(&found), (true, Some(StopReason::GatedBut)), "{}", row(&found).text());
    }
    let judged_by = |count: usize, rule: &str, trust| {
        let mut study = Study::of(&[("old", &HIGH[..count]), ("new", &LOW[..count])]);
        study.measured.series[1].trust = Some(trust);
        let text = "why".to_owned();
        study.measured.series[1].because = vec![Because { rule: rule.to_owned(), trust, text }];
        until(study, 0.1)
    };
    let invalid = |count| lasts(&judged_by(count, "cached", Trust::Invalid));
    assert_eq!(invalid(4), (true, Some(StopReason::GatedBut)));
    assert_eq!(invalid(3), (false, None));
    // An unstable or undecided row may still be decided.
    assert_eq!(lasts(&judged_by(5, "unstable", Trust::Suspect)), (false, None));
    assert_eq!(lasts(&until(lost(), 0.05)), (false, None));
    assert_eq!(lasts(&until(lost(), 0.1)), (false, Some(StopReason::Gated)));
    let mut unfinished = lost();
    (unfinished.emulated, unfinished.measured.unfinished) = (true, true);
    assert_eq!(lasts(&until(unfinished, 0.1)), (false, None));
}

#[test]
fn a_row_that_was_zero_in_each_replicate_is_not_waited_for() {
    let stalled =
        |values: &[f64]| until(Study::of(&[("old", &HIGH[..values.len()]), ("new", values)]), 0.1);
    let all = stalled(&[0.0; 4]);
    assert_eq!((silence(&all), lasts(&all)), (ZEROS, (true, Some(StopReason::GatedBut))));
    // In each replicate one of the two sides is zero.
    let turns = [[520.0, 0.0, 510.0, 0.0], [0.0, 512.0, 0.0, 505.0]];
    let in_turns = until(Study::of(&[("old", &turns[0]), ("new", &turns[1])]), 0.1);
    assert_eq!(lasts(&in_turns), (true, Some(StopReason::GatedBut)), "{}", row(&in_turns).text());
    // Too few replicates to decide, and a replicate with a ratio: more may come.
    assert_eq!(lasts(&stalled(&[0.0; 3])), (false, None));
    let once = stalled(&[0.0, 0.0, 512.0, 0.0, 0.0]);
    assert_eq!((silence(&once), lasts(&once)), (ZEROS, (false, None)));
}

#[test]
fn a_row_that_is_surely_within_but_for_a_zero_is_not_waited_for() {
    let with_a_zero = |share: f64, allowed| {
        let values = [520.0, 541.0, 0.0, 511.0, 530.0].map(|value| share * value);
        until(
            Study::of(&[("old", &[520.0, 540.0, 505.0, 510.0, 531.0]), ("new", &values)]),
            allowed,
        )
    };
    let within = with_a_zero(1.0, 0.1);
    assert_eq!((silence(&within), lasts(&within)), (ZEROS, (true, Some(StopReason::GatedBut))));
    // A significant loss ends the study; an undecided row continues it.
    let over = with_a_zero(0.5, 0.1);
    assert_eq!(
        (&row(&over).outcome, lasts(&over)),
        (&Ended::Fail, (false, Some(StopReason::Gated)))
    );
    let between = with_a_zero(0.9, 0.1);
    assert_eq!(lasts(&between), (false, None), "{}", row(&between).text());
    // A study of fixed length only shows that it would have detected a loss.
    let wild = [470.0, 540.0, 0.0, 530.0, 490.0];
    let fixed = gated(Study::of(&[("old", &LOW), ("new", &wild)]), asked(0.05));
    assert_eq!((silence(&fixed), row(&fixed).is_final), (ZEROS, false));
}

#[test]
fn a_metric_that_may_be_zero_is_not_waited_for() {
    let mut counts = lost();
    for series in &mut counts.measured.series {
        series.scale = Scale::Difference;
    }
    let found = until(counts, 0.1);
    assert!(silence(&found).starts_with("a metric that can be zero"), "{}", silence(&found));
    assert_eq!(lasts(&found), (true, Some(StopReason::GatedBut)));
}

/// Counts of a metric that may be zero, with an absolute limit of `more`.
fn counted(sides: [&[f64]; 2], more: f64, until_decided: bool) -> Findings {
    let mut study = Study::of(&[("old", sides[0]), ("new", sides[1])]);
    for series in &mut study.measured.series {
        (series.metric, series.better) = ("major_faults".to_owned(), Better::Lower);
        series.scale = Scale::Difference;
    }
    if until_decided {
        study.measured.design.stopping = Stopping::Open { half_width: None };
    }
    gated(study, Gate { more: Some(more), until_decided, ..asked(0.0) })
}

#[test]
fn a_count_is_judged_by_its_differences() {
    // Differences 8, 12, 10, 9, 11: mean 10, sd 1.581139, and t(0.95, 4) = 2.131847.
    let old = [0.0, 3.0, 0.0, 1.0, 0.0];
    let new = [8.0, 15.0, 10.0, 10.0, 11.0];
    let near = |told: f64, wanted: f64| assert!((told - wanted).abs() < 1e-4, "{told}");
    let over = counted([&old, &new], 5.0, false);
    assert_eq!(row(&over).outcome, Ended::Fail);
    let amount = row(&over).amount.unwrap();
    near(amount.loss, 10.0);
    near(amount.bound95, 8.492_555);
    assert!(row(&over).loss.is_none() && row(&over).min_detectable.is_none());
    assert!(told(&over).text.starts_with("gate failed (limit 5): "), "{}", told(&over).text);
    assert_eq!(over.answers.all[0].verdict, Claim::Contradicted);
    let within = counted([&old, &new], 12.0, false);
    assert_eq!(
        (&row(&within).outcome, within.answers.all[0].verdict),
        (&Ended::Pass, Claim::Supported)
    );
    near(row(&within).amount.unwrap().bound95, 11.507_445);
    // It passes by its bound alone, and is inconclusive if the interval contains the limit.
    let between = counted([&old, &new], 10.0, false);
    assert_eq!(silence(&between), super::UNDECIDED);
    // With the arms swapped it is a gain.
    assert_eq!(row(&counted([&new, &old], 0.0, false)).outcome, Ended::Pass);
}

#[test]
fn counts_that_are_zero_on_both_sides_pass_and_end_a_study() {
    let none = [0.0; 4];
    for more in [0.0, 10.0] {
        let found = counted([&none, &none], more, true);
        assert_eq!(row(&found).outcome, Ended::Pass, "{more}: {}", row(&found).text());
        assert_eq!(found.answers.all[0].verdict, Claim::Supported, "{more}");
        assert_eq!(lasts(&found), (false, Some(StopReason::Gated)));
    }
    let worse = counted([&none, &[40.0, 41.0, 39.0, 40.0]], 10.0, true);
    assert_eq!((&row(&worse).outcome, lasts(&worse).1), (&Ended::Fail, Some(StopReason::Gated)));
    // Below four pairs the confidence sequence has no bound.
    let few = counted([&none[..3], &none[..3]], 10.0, true);
    assert_eq!((silence(&few), lasts(&few)), (NO_INTERVAL, (false, None)));
}

#[test]
fn an_amount_says_nothing_of_what_is_compared_by_ratios() {
    let found = gated(lost(), Gate { more: Some(10.0), ..asked(0.0) });
    assert!(silence(&found).contains("compares this metric by ratio"), "{}", silence(&found));
    assert!(row(&found).is_final);
}

#[test]
fn no_gate_ends_a_study_before_its_sequence_has_an_end() {
    let fewest = FEWEST_TO_END as usize;
    assert!(confidence_sequence_half_width(fewest - 1, 0.05, MIXTURE_G).is_none());
    assert!(confidence_sequence_half_width(fewest, 0.05, MIXTURE_G).is_some());
    let mut emulated = Study::of(&[("old", &HIGH[..3]), ("new", &LOW[..3])]);
    emulated.emulated = true;
    assert_eq!(lasts(&until(emulated, 0.1)), (true, None));
}

/// A study of two targets; the first is the baseline.
fn two_targets(rates: [&[u64]; 2]) -> Bench {
    let mut bench = Bench::new(&["/a", "/b"]);
    bench = bench.row(0, "random-read-q1", 4096, rates[0]).row(1, "random-read-q1", 4096, rates[1]);
    let levels = ["/a", "/b"].map(str::to_owned).to_vec();
    bench.plan.design = Design {
        factors: vec![Factor { name: "target".to_owned(), levels }],
        baseline: arm(&[("target", "/a")]),
        margin: Some(0.05),
        order: Order::Chained,
        gate: Some(asked(0.05)),
        ..Design::default()
    };
    bench
}

#[test]
fn rows_that_have_no_number_are_named_with_the_reason() {
    let rates = [&[4000, 4010, 3990][..], &[3000, 3010, 2990]];
    assert_eq!(told(&two_targets(rates).findings()).outcome, GateEnd::Fail);
    let mut failed = two_targets(rates);
    for trial in failed.trials.iter_mut().filter(|trial| trial.workload == 0) {
        (trial.status, trial.measured) = (Status::Failed, None);
        trial.reason = Some("exit code 7".to_owned());
    }
    let found = failed.findings();
    let why = "the baseline has no number: every trial failed: exit code 7";
    assert_eq!((silence(&found), told(&found).rows.len()), (why, 1));
    // A row that the plan excluded is missing if other arms ran the workload, but not if none did.
    let mut left_out = two_targets(rates);
    for name in ["random-read-q1", "random-write-q1"] {
        left_out.plan.absent.push(AbsentWorkload {
            name: name.to_owned(),
            configuration: arm(&[("target", "/c")]),
            target: 1,
            reason: "no room".to_owned(),
        });
    }
    let found = left_out.findings();
    let rows: Vec<String> = told(&found).rows.iter().map(Gated::text).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows[1].contains("/c") && rows[1].contains("has no number: no room"), "{rows:?}");
}

fn until_of_targets(rates: [&[u64]; 2]) -> Bench {
    let mut bench = two_targets(rates);
    bench.plan.design.stopping = Stopping::Open { half_width: None };
    bench.plan.design.gate = Some(Gate { until_decided: true, ..asked(0.05) });
    bench
}

#[test]
fn what_failed_in_each_of_four_replicates_is_not_waited_for() {
    let rates: [u64; 4] = [4000, 4010, 3990, 4005];
    let failing = |count: usize, failed: usize| {
        let mut bench = until_of_targets([&rates[..count]; 2]);
        let own = bench.trials.iter_mut().filter(|trial| trial.workload == 1);
        for trial in own.take(failed) {
            (trial.status, trial.measured) = (Status::Failed, None);
        }
        bench.findings()
    };
    let all = failing(4, 4);
    assert_eq!(lasts(&all), (true, Some(StopReason::GatedBut)), "{}", row(&all).text());
    // Too few replicates to decide, and one that succeeded.
    for (count, failed) in [(3, 3), (4, 3)] {
        let found = failing(count, failed);
        assert_eq!(lasts(&found), (false, None), "{}", row(&found).text());
    }
}

#[test]
fn what_the_plan_left_out_does_not_keep_the_others_from_ending() {
    let slower: [&[u64]; 2] = [&[4000, 4010, 3990, 4005, 3995], &[3000, 3010, 2990, 3005, 2995]];
    let near: [&[u64]; 2] = [slower[0], &[3800, 3810, 3790, 3805, 3795]];
    for (rates, wanted) in [(slower, Some(StopReason::GatedBut)), (near, None)] {
        let mut bench = until_of_targets(rates);
        bench.plan.absent.push(AbsentWorkload {
            name: "random-read-q1".to_owned(),
            configuration: arm(&[("target", "/c")]),
            target: 1,
            reason: "no room".to_owned(),
        });
        let found = bench.findings();
        assert!(told(&found).rows[1].is_final, "{}", told(&found).text);
        assert_eq!(lasts(&found), (false, wanted), "{}", told(&found).text);
    }
}
