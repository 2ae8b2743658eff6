//! Every sentence that comparing arms can print, as a snapshot to be read by people
//! (`sentences.expected.txt`; `UPDATE_EXPECT=1` writes it anew), and the promise that the words of
//! a sentence never disagree with the numbers beside them.
#![allow(clippy::disallowed_methods, reason = "these tests read and rewrite a snapshot")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use assay_base::quantity::{Better, Scale};
use assay_study::findings::measurements::Series;
use assay_study::findings::{CellTrial, Findings, StudyFacts, Trust, Verdict};
use assay_study::results::design::{AskKind, Factor, LeadIn, Order, Stopping};
use assay_study::results::record::Repeats;
use assay_study::results::record::Status;
use proptest::prelude::*;

use super::answers_tests::{between, claim, curve, first, least, two};
use super::tests::{Study, arm, trial};
use crate::analysis::tests::Bench;

const BASE: [f64; 6] = [500.0, 512.0, 495.0, 505.0, 498.0, 503.0];
const NEW: [f64; 6] = [520.0, 540.0, 510.0, 531.0, 515.0, 527.0];
const SAME: [f64; 6] = [502.0, 509.0, 497.0, 506.0, 495.0, 504.0];
const WILD: [f64; 6] = [430.0, 560.0, 520.0, 470.0, 580.0, 455.0];

/// Sentences under the name of what provoked them, each once.
#[derive(Default)]
struct Book {
    known: BTreeSet<String>,
    text: String,
}

impl Book {
    fn add(&mut self, name: &str, found: &Findings) {
        let mut told: Vec<&String> = found.summary.iter().collect();
        for one in &found.comparisons {
            told.push(&one.text);
            told.extend(&one.notes);
        }
        told.extend(found.effects.iter().map(|one| &one.text));
        told.extend(found.interactions.iter().map(|one| &one.text));
        told.extend(found.trends.iter().map(|one| &one.text));
        told.extend(found.ranks.iter().map(|one| &one.text));
        told.extend(found.noise_floor.iter().map(|one| &one.text));
        told.extend(found.advice.iter().map(|one| &one.text));
        told.extend(found.checks.iter().map(|one| &one.text));
        for one in &found.answers {
            told.push(&one.answer);
            told.extend(&one.because);
        }
        writeln!(self.text, "{name}").unwrap();
        for sentence in told {
            if self.known.insert(sentence.clone()) {
                writeln!(self.text, "    {sentence}").unwrap();
            }
        }
    }

    /// Two arms, changed.
    fn two(&mut self, name: &str, values: &[f64], change: impl FnOnce(&mut Study)) {
        let mut study = Study::of(&[("old", &BASE), ("new", values)]);
        change(&mut study);
        self.add(name, &study.findings());
    }
}

fn new_arm(study: &mut Study) -> &mut Series {
    study.measured.series.last_mut().unwrap()
}

fn every_series(study: &mut Study, change: impl Fn(&mut Series)) {
    study.measured.series.iter_mut().for_each(change);
}

fn fail(series: &mut Series, count: usize) {
    for trial in series.trials.iter_mut().take(count) {
        (trial.status, trial.value) = (Status::Failed, None);
    }
}

fn scaled(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|value| value * by).collect()
}

/// Adds the second copy of the baseline.
fn controlled(study: &mut Study, values: &[f64]) {
    let mut control = study.measured.series[0].clone();
    control.control = true;
    for (trial, value) in control.trials.iter_mut().zip(values) {
        trial.value = Some(*value);
    }
    study.measured.series.push(control);
}

fn verdicts(book: &mut Book) {
    book.two("better", &NEW, |_| {});
    book.two("worse", &scaled(&BASE, 0.7), |study| {
        new_arm(study).trials[1].value = Some(360.0);
    });
    book.two("better, by less than the margin", &scaled(&NEW, 0.97), |study| {
        study.measured.design.margin = Some(0.1);
    });
    book.two("equivalent", &SAME, |_| {});
    book.two("inconclusive", &WILD, |_| {});
    book.two("latency", &NEW, |study| {
        every_series(study, |series| {
            (series.metric, series.better) = ("latency_p99_ns".to_owned(), Better::Lower);
        });
    });
    for pairs in 0..5 {
        book.two(&format!("{pairs} pairs"), &NEW, |study| {
            every_series(study, |series| series.trials.truncate(pairs.max(1)));
            fail(new_arm(study), usize::from(pairs == 0));
        });
    }
    book.two("looks", &NEW, |study| {
        study.measured.design.stopping = Stopping::Looks { at: vec![6, 10], half_width: None };
    });
    book.two("open", &NEW, |study| {
        study.measured.design.stopping = Stopping::Open { half_width: None };
    });
    book.two("open, too early", &NEW, |study| {
        study.measured.design.stopping = Stopping::Open { half_width: None };
        every_series(study, |series| series.trials.truncate(3));
    });
    book.two("sequential", &NEW, |study| study.measured.design.order = Order::Sequential);
    book.two("secondary", &NEW, |study| every_series(study, |series| series.primary = false));
    book.two("without a margin", &NEW, |study| study.measured.design.margin = None);
    for (name, values) in [("difference", NEW), ("no clear difference", WILD)] {
        book.two(name, &values, |study| {
            every_series(study, |series| {
                (series.metric, series.better) = ("errors".to_owned(), Better::Lower);
                series.scale = Scale::Difference;
            });
        });
    }
}

fn remarks(book: &mut Book) {
    for trust in [Trust::Suspect, Trust::Invalid] {
        book.two("trust", &NEW, |study| new_arm(study).trust = Some(trust));
    }
    book.two("one failed", &NEW, |study| fail(new_arm(study), 1));
    book.two("one fails more often", &NEW, |study| fail(new_arm(study), 5));
    for zeros in [1, 2] {
        book.two("zeros", &NEW, |study| {
            for trial in new_arm(study).trials.iter_mut().take(zeros) {
                trial.value = Some(0.0);
            }
        });
        book.two("far from the others", &NEW, |study| {
            for trial in new_arm(study).trials.iter_mut().take(zeros) {
                trial.value = Some(200.0);
            }
        });
        book.two("disturbed", &NEW, |study| {
            for trial in new_arm(study).trials.iter_mut().take(zeros) {
                trial.status = Status::Disturbed;
            }
        });
    }
    book.two("depends on disturbed trials", &NEW, |study| {
        let slow = &mut new_arm(study).trials[0];
        (slow.status, slow.value) = (Status::Disturbed, Some(300.0));
    });
    book.two("run again", &NEW, |study| {
        for series in &mut study.measured.series {
            series.trials[0].status = Status::Disturbed;
            let mut again = trial(7, 13, 517.0);
            again.repeats = Some(Repeats { replicate: 1, order: 1 });
            series.trials.push(again);
        }
    });
    book.two("fragile by one", &[520.0, 540.0, 510.0, 531.0, 560.0, 504.0], |study| {
        study.measured.design.margin = Some(0.2);
    });
    book.two("slow after the other", &scaled(&NEW, 1.4), |study| {
        in_random_order(study);
        for at in [0, 3, 4] {
            let trial = &mut new_arm(study).trials[at];
            trial.value = trial.value.map(|value| value / 1.4);
        }
    });
    book.two("two in random order", &NEW, in_random_order);
    book.two("three replicates in random order", &NEW, |study| {
        in_random_order(study);
        every_series(study, |series| series.trials.truncate(3));
    });
    book.two("beyond a factor of ten", &[60.0, 5000.0, 500.0, 80.0, 3000.0, 900.0], |_| {});
    book.two("fragile by several", &[508.0, 520.0, 500.0, 520.0, 500.0, 512.0], |study| {
        study.measured.design.margin = Some(0.01);
    });
}

/// Two arms in random order, with lead-ins: the second is first in replicates 1, 4 and 5.
fn in_random_order(study: &mut Study) {
    study.measured.design.order = Order::Random;
    for (arm, series) in (0..).zip(&mut study.measured.series) {
        for (at, trial) in (0..).zip(&mut series.trials) {
            let is_second = (arm == 0) == [0, 3, 4].contains(&at);
            trial.order = Some(3 * at + 1 + u32::from(is_second));
        }
    }
}

/// Three arms in an order that changes from replicate to replicate.
fn three(last: impl Fn(usize, usize) -> f64, order: Order) -> Study {
    let plain = [500.0; 12];
    let mut study = Study::of(&[("a", &plain), ("b", &plain), ("c", &plain)]);
    study.measured.design.order = order;
    let turns = [[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1], [1, 0, 2], [2, 1, 0]];
    let mut before = 0;
    for replicate in 0..12 {
        for (place, one) in turns[replicate % 6].iter().enumerate() {
            let order = replicate * 3 + place + 1;
            let noise = 1.0 + 0.002 * f64::from((order * 7 % 11) as u32);
            let trial = &mut study.measured.series[*one].trials[replicate];
            trial.order = Some(order as u32);
            trial.value = Some(500.0 * noise * last(before, order));
            before = *one;
        }
    }
    study
}

/// Three arms in random order, of which the second one leaves the device slower for longer than the
/// lead-ins between replicates last.
fn led(lead_in: LeadIn) -> Study {
    let mut study = three(|_, _| 1.0, Order::Random);
    study.measured.design.lead_in = lead_in;
    let turns = [[0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 2, 1], [1, 0, 2], [2, 1, 0]];
    let mut before = 0;
    for replicate in 0..12 {
        let own = turns[replicate % 6];
        let order = |place: usize| Some((replicate * 4 + place + 1) as u32);
        let lead = CellTrial {
            status: Status::LeadIn,
            order: order(0),
            ..trial(replicate as u32 + 1, 0, 1.0)
        };
        study.measured.series[own[0]].trials.push(lead);
        for (place, one) in own.iter().enumerate() {
            let trial = &mut study.measured.series[*one].trials[replicate];
            trial.order = order(place + 1);
            let slower = if place == 0 && before == 1 { 0.8 } else { 1.0 };
            trial.value = trial.value.map(|value| value * slower);
        }
        before = own[2];
    }
    study
}

fn bench(book: &mut Book) {
    book.add("nothing seen", &three(|_, _| 1.0, Order::Chained).findings());
    book.add("carry-over", &three(|before, _| [1.0, 0.8, 1.0][before], Order::Chained).findings());
    let orders = [
        Order::Random,
        Order::Chained,
        Order::Rcbd,
        Order::Crd,
        Order::Unknown,
        Order::Sequential,
        Order::Recorded,
    ];
    for order in orders {
        let falling = three(|_, order| 1.0 - 0.01 * order as f64, order);
        book.add(&format!("drift, {}", order.name()), &falling.findings());
    }
    book.add("rising", &three(|_, order| 1.0 + 0.01 * order as f64, Order::Chained).findings());
    let mut counts = three(|_, order| 1.0 - 0.01 * order as f64, Order::Chained);
    every_series(&mut counts, |series| series.scale = Scale::Difference);
    book.add("drift of a count", &counts.findings());
    for lead_in in [LeadIn::Half, LeadIn::Whole, LeadIn::None] {
        book.add(&format!("through lead-ins, {lead_in:?}"), &led(lead_in).findings());
    }
    book.two("two settings, random", &SAME, |study| study.measured.design.order = Order::Random);
    book.two("two settings, blocks", &SAME, |study| study.measured.design.order = Order::Rcbd);
    let mut few = three(|_, _| 1.0, Order::Chained);
    few.measured.series[0].trials.truncate(2);
    book.add("few trials of the baseline", &few.findings());
    book.two("no order", &SAME, |study| {
        every_series(study, |series| series.trials.iter_mut().for_each(|one| one.order = None));
    });
    let floors: [(&str, Vec<f64>); 3] = [
        ("noise floor", SAME.to_vec()),
        ("noisy floor", scaled(&BASE, 1.04)),
        ("doubtful floor", vec![501.0, 516.0, 497.0, 510.0, 499.0, 512.0]),
    ];
    for (name, mut values) in floors {
        values[0] += 1.0;
        book.two(name, &NEW, |study| controlled(study, &values));
    }
    book.two("noise floor of two pairs", &NEW, |study| {
        controlled(study, &SAME);
        study.measured.series.last_mut().unwrap().trials.truncate(2);
    });
}

/// Two factors: `values` gives the mean of first and second level.
pub(super) fn grid(
    first: &[&str],
    second: &[&str],
    n: usize,
    values: impl Fn(usize, usize) -> f64,
) -> Study {
    let names: Vec<String> = (0..first.len() * second.len()).map(|arm| format!("l{arm}")).collect();
    let numbers: Vec<Vec<f64>> = (0..names.len())
        .map(|one| {
            let mean = values(one / second.len(), one % second.len());
            (0..n).map(|turn| mean * (1.0 + 0.003 * ((one * 5 + turn * 3) % 7) as f64)).collect()
        })
        .collect();
    let arms: Vec<(&str, &[f64])> =
        names.iter().zip(&numbers).map(|(name, own)| (name.as_str(), own.as_slice())).collect();
    let mut study = Study::of(&arms);
    let levels = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
    study.measured.design.factors = vec![
        Factor { name: "filesystem".to_owned(), levels: levels(first) },
        Factor { name: "threads".to_owned(), levels: levels(second) },
    ];
    for (one, series) in study.measured.series.iter_mut().enumerate() {
        let (one, other) = (first[one / second.len()], second[one % second.len()]);
        series.arm = arm(&[("filesystem", one), ("threads", other)]);
    }
    study.measured.design.baseline = study.measured.series[0].arm.clone();
    study
}

fn grids(book: &mut Book) {
    let truth = |first: usize, second: usize| match (first, second) {
        (1, 2) => 2300.0,
        (_, second) => [500.0, 1000.0, 1003.0][second],
    };
    let study = |n| grid(&["ext4", "xfs"], &["1", "2", "4"], n, truth);
    book.add("grid", &study(6).findings());
    book.add("grid of one replicate", &study(1).findings());
    let mut lower = study(6);
    every_series(&mut lower, |series| {
        (series.metric, series.better) = ("latency_p99_ns".to_owned(), Better::Lower);
    });
    book.add("grid of latencies", &lower.findings());
    book.add("sizes", &grid(&["ext4", "xfs"], &["4 KiB", "64 KiB", "1 MiB"], 6, truth).findings());

    let curve = |last: &'static [f64]| {
        grid(&["ext4"], &["1", "2", "4"], 6, move |_, level| 500.0 * last[level])
    };
    let mut holds = curve(&[1.0, 1.01, 2.0]);
    every_series(&mut holds, |series| {
        (series.metric, series.better) = ("latency_p99_ns".to_owned(), Better::Lower);
    });
    book.add("holds up to a level", &holds.findings());
    let mut vague = curve(&[1.0, 1.94, 2.0]);
    for (series, luck) in vague.measured.series.iter_mut().zip([0.0, 0.03, -0.03]) {
        for (at, trial) in series.trials.iter_mut().enumerate() {
            let by = if at % 2 == 0 { 1.0 + luck } else { 1.0 - luck };
            trial.value = trial.value.map(|value| value * by);
        }
    }
    book.add("levels off somewhere", &vague.findings());

    let many = |spread: &dyn Fn(usize) -> f64| {
        grid(&["ext4", "xfs"], &["a", "b", "c", "d"], 6, |first, second| {
            500.0 * spread(first * 4 + second)
        })
    };
    book.add("one ahead of all", &many(&|arm| 1.0 + 0.2 * arm as f64).findings());
    let tied = |count: usize| move |arm: usize| if arm < count { 2.0 } else { 1.0 };
    book.add("two first", &many(&tied(2)).findings());
    book.add("three first", &many(&tied(3)).findings());
    book.add("six first", &many(&tied(6)).findings());
    book.add("none first", &many(&|_| 1.0).findings());
    // A chain: each cannot be told from its neighbours alone.
    let mut chain = many(&|arm| 1.0 + 0.008 * arm as f64);
    every_series(&mut chain, |series| series.trials.truncate(5));
    book.add("a chain", &chain.findings());
}

/// The same arms in a second workload, with other values.
fn second_work(study: &mut Study, arms: &[&[f64]]) {
    let more: Vec<Series> = study.measured.series.clone();
    for (mut series, values) in more.into_iter().zip(arms) {
        series.workload = "other".to_owned();
        for (trial, value) in series.trials.iter_mut().zip(*values) {
            trial.value = Some(*value);
        }
        study.measured.series.push(series);
    }
}

fn advice(book: &mut Book) {
    let queue = |level: &str, by: f64| (level.to_owned(), scaled(&BASE, by));
    let levels = [queue("1", 0.5), queue("8", 0.99), queue("16", 1.0)];
    let levels: Vec<(&str, &[f64])> =
        levels.iter().map(|(level, values)| (level.as_str(), values.as_slice())).collect();
    book.add("tied at the top", &Study::of(&levels).findings());
    let (half, twice) = (scaled(&BASE, 0.5), scaled(&SAME, 2.0));
    book.two("trade-off", &twice, |study| second_work(study, &[&BASE, &half]));
    book.two("against in two workloads", &half, |study| second_work(study, &[&BASE, &half]));
    book.add(
        "against the baseline",
        &Study::of(&[("old", &half), ("new", &BASE), ("newer", &SAME)]).findings(),
    );
    book.two("against, suspect", &half, |study| new_arm(study).trust = Some(Trust::Suspect));
    book.two("not measured", &NEW, |study| {
        study.measured.design.factors[0].levels.push("third".to_owned());
    });
}

fn answered(book: &mut Book) {
    let levels = [("1", 100.0), ("2", 130.0), ("4", 131.0), ("8", 200.0)];
    let asks = [
        between("8", "8"),
        between("1", "1"),
        between("2", "4"),
        between("9", "9"),
        claim(AskKind::Linear, |_| {}),
        claim(AskKind::Flat, |_| {}),
        first(AskKind::First, "8"),
        first(AskKind::Last, "8"),
        first(AskKind::First, "5"),
        two(AskKind::Beats, "4", "2"),
        two(AskKind::Equal, "4", "2"),
        two(AskKind::Beats, "4", "3"),
        first(AskKind::Enough, "4"),
        first(AskKind::Enough, "8"),
        least("50 IOPS"),
        least("120 IOPS"),
        least("300 IOPS"),
        least("100 IOPS"),
        claim(AskKind::Flat, |ask| ask.workloads = vec!["another".to_owned()]),
        claim(AskKind::Flat, |ask| ask.factor = Some("another".to_owned())),
    ];
    for replicates in [6, 2] {
        let mut study = curve(&levels, 9);
        study.measured.design.questions = asks.to_vec();
        every_series(&mut study, |series| series.trials.truncate(replicates));
        book.add(&format!("answers after {replicates} replicates"), &study.findings());
    }
    let mut rates = curve(&levels, 9);
    rates.measured.design.questions = vec![least("1 MB/s")];
    every_series(&mut rates, |series| series.metric = "bandwidth_bytes_per_s".to_owned());
    book.add("answers about rates", &rates.findings());
    let mut tied = curve(&[("1", 90.0), ("2", 130.0), ("4", 130.0)], 9);
    tied.measured.design.questions = vec![first(AskKind::First, "4"), between("4", "4")];
    book.add("answers of two that lead", &tied.findings());
    let names = ["a", "b", "c", "d", "e", "f", "g"].map(|name| (name, 100.0));
    let mut many = curve(&names, 9);
    many.measured.design.questions = vec![least("50 IOPS"), claim(AskKind::Flat, |_| {})];
    book.add("answers in many cases", &many.findings());
    let mut sequential = curve(&levels, 9);
    sequential.measured.design.order = Order::Sequential;
    sequential.measured.design.questions = vec![first(AskKind::First, "8")];
    book.add("answers of settings one after the other", &sequential.findings());
}

fn confirmed(book: &mut Book) {
    let study = Study::of(&[("old", &BASE), ("new", &NEW)]);
    let found = study.findings();
    let facts = StudyFacts { confirms: Some("20261101-090000-abcd".to_owned()), ..found.study };
    let measured = Study::of(&[("old", &BASE), ("new", &NEW)]).measured;
    let environment = found.environment.clone();
    book.add("confirmed", &crate::analysis::judge(facts.clone(), environment, measured));
    let measured = Study::of(&[("old", &BASE), ("new", &BASE)]).measured;
    book.add("not confirmed", &crate::analysis::judge(facts, found.environment, measured));
}

fn unfinished_and_imported(book: &mut Book) {
    let mut study = Study::of(&[("old", &BASE), ("new", &NEW)]);
    study.measured.unfinished = true;
    book.add("unfinished", &study.findings());
    let found = Study::of(&[("old", &BASE), ("new", &NEW)]).findings();
    let facts = StudyFacts { kind: "import".to_owned(), ..found.study };
    let measured = Study::of(&[("old", &BASE), ("new", &NEW)]).measured;
    book.add("imported", &crate::analysis::judge(facts, found.environment, measured));
}

fn across(book: &mut Book) {
    let result = |id: &str, values: &[f64], count: usize| {
        let mut study = Study::of(&[("old", &BASE), ("new", values)]);
        every_series(&mut study, |series| series.trials.truncate(count));
        let mut found = study.findings();
        found.study.id = id.to_owned();
        found
    };
    let earlier = result("monday", &NEW, 6);
    for (name, by) in [("better later", 1.1), ("worse later", 0.9), ("no other", 1.0)] {
        let later = result("friday", &scaled(&NEW, by), 6);
        book.add(
            name,
            &crate::analysis::compare(&earlier, &[later], crate::analysis::days::Days::default()),
        );
    }
    book.add(
        "one trial",
        &crate::analysis::compare(
            &earlier,
            &[result("friday", &NEW, 1)],
            crate::analysis::days::Days::default(),
        ),
    );
    let week = |first: &str, by: f64, apart: f64| {
        let days = [(first, 1.0), ("b", 1.0 + apart), ("c", 1.0 - apart)];
        days.map(|(id, day)| result(id, &scaled(&NEW, by * day), 6))
    };
    for (name, by, apart) in [
        ("equal weeks", 1.0, 0.01),
        ("a better week", 1.2, 0.01),
        ("a worse week", 0.8, 0.01),
        ("a wild week", 0.96, 0.01),
        ("a week of wild days", 0.96, 0.1),
    ] {
        let sides = [week("monday", 1.0, apart), week("friday", by, apart)];
        let found = crate::analysis::compare_sides(&sides[0], &sides[1], None);
        book.add(name, &found.unwrap());
    }
}

fn emulated(book: &mut Book) {
    let emulate = |study: &mut Study| study.emulated = true;
    book.two("emulated", &NEW, emulate);
    book.two("emulated, no difference", &WILD, emulate);
    let earlier = Study::of(&[("old", &BASE), ("new", &NEW)]).findings();
    let mut later = Study::of(&[("old", &BASE), ("new", &NEW)]);
    emulate(&mut later);
    let mut later = later.findings();
    later.study.id = "friday".to_owned();
    book.add(
        "an emulated result",
        &crate::analysis::compare(&earlier, &[later], crate::analysis::days::Days::default()),
    );
    let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &[1000, 1010, 990]);
    book.add("an emulated check", &bench.emulated().findings());
}

fn of_records(book: &mut Book) {
    let bench = |rates: &[u64]| Bench::new(&["."]).row(0, "random-read-q1", 4096, rates);
    let rates = [1000, 1010, 990, 1005, 995, 1003];
    for replicates in [1, 6] {
        let mut one = bench(&rates[..replicates]);
        one.plan.replicates = replicates as u32;
        book.add(&format!("{replicates} replicates"), &one.findings());
        for order in [
            Order::Chained,
            Order::Rcbd,
            Order::Crd,
            Order::Sequential,
            Order::Unknown,
            Order::Recorded,
        ] {
            one.plan.design.order = order;
            book.add(&format!("{replicates} replicates, {}", order.name()), &one.findings());
        }
    }
    for run in [1, 2] {
        let mut short = bench(&rates);
        short.trials.truncate(run);
        book.add(&format!("{run} of 6 run"), &short.findings());
    }
    for margin in [None, Some(0.05)] {
        for count in [1, 2] {
            let mut bad = bench(&rates);
            bad.plan.design.margin = margin;
            for trial in bad.trials.iter_mut().take(count) {
                trial.record.status = Status::Disturbed;
            }
            for trial in bad.trials.iter_mut().skip(2).take(count) {
                trial.record.status = Status::Failed;
                trial.record.reason = Some("no space left on device".to_owned());
            }
            for trial in bad.trials.iter_mut().skip(4).take(count) {
                trial.record.repeats = Some(Repeats { replicate: 1, order: 1 });
            }
            let judged = if margin.is_some() { "judged" } else { "not judged" };
            book.add(&format!("{count} disturbed and failed, {judged}"), &bad.findings());
        }
    }
    for stopping in [
        Stopping::Looks { at: vec![5, 7, 10], half_width: None },
        Stopping::Open { half_width: None },
    ] {
        let mut ending = bench(&rates);
        ending.plan.design.stopping = stopping;
        book.add("stopping", &ending.findings());
    }
}

#[test]
fn every_sentence_is_as_expected() {
    let mut book = Book::default();
    for chapter in [
        verdicts,
        remarks,
        bench,
        grids,
        advice,
        answered,
        confirmed,
        unfinished_and_imported,
        across,
        emulated,
        of_records,
    ] as [fn(&mut Book); 11]
    {
        chapter(&mut book);
    }
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/analysis/verdicts/sentences.expected.txt");
    assay_lab::expected::expect(path, &book.text);
}

/// The ends of the interval that a sentence prints.
fn printed(text: &str) -> Option<[f64; 2]> {
    let after = text.split_once("% interval ").or(text.split_once("one-sided tests "))?.1;
    let (low, rest) = after.split_once(" to ")?;
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
            every_series(&mut study, |series| series.better = Better::Lower);
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
        let ratio: f64 = one
            .text
            .split_whitespace()
            .zip(one.text.split_whitespace().skip(1))
            .find(|(_, next)| *next == "times")
            .and_then(|(number, _)| number.parse().ok())
            .expect(&one.text);
        prop_assert!((low..=high).contains(&ratio), "{}", one.text);
        let word = ["is better", "is worse", "is equivalent", "inconclusive"];
        let told = word.iter().filter(|word| one.text.contains(*word)).count();
        prop_assert_eq!(told, 1);
    }
}
