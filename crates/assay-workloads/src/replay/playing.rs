//! Replays a recorded load once, and compares the replay with the recording.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::replay::{Arrived, Fitted, guessed};
use assay_core::calc::requests::GatheredSides;
use assay_load::{
    Act, Job, MOST_STEPS, Mix, Moved, Outcome, Pattern, Played, Step, Track, WaitCounts,
};
use assay_machine::system::BlockRequest;

use super::{Clock, Fidelity, ReplayCounts, ReplayDetail, ReplayPlan, WaitFidelity, planned};
use crate::io;
use crate::measured::{Count, Histograms, RunResult};
use crate::place::Run;

struct Was {
    counts: [Moved; Act::ALL.len()],
    span_ns: u64,
    drawn: GatheredSides,
}

pub(super) fn play(planned: &ReplayPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let mut recorded = recorded(planned, run)?;
    let was = Was {
        counts: counted(&recorded),
        span_ns: span_ns(&recorded),
        drawn: sides(
            recorded.iter().map(|Arrived { step, .. }| (planned.scale.time_ns(step.at_ns), step)),
        ),
    };
    let fit = planned.fit(&run.medium.area);
    if planned.clock == Clock::Dependent {
        // No request may wait for one that is not replayed.
        recorded.retain(|planned| fit.holds(&planned.step));
    }
    let (steps, fitted) = fit.place(recorded.iter().map(|planned| &planned.step), planned.scale);
    if steps.is_empty() {
        return Err("no request of the trace is within the area".to_owned());
    }
    let track = match planned.clock {
        Clock::Open => Track::new(steps, true),
        Clock::Closed => Track::new(steps, false),
        Clock::Dependent => Track::paced(steps, guessed(&recorded, planned.scale)),
    };
    // Frees half of the memory: the steps exist by now.
    drop(recorded);
    let job = job(planned, run, track);
    let outcome = io::run_job(planned.engine, &job, &run.medium, run.bystanders, run.stop)?;
    let mut ran = io::ran(&outcome);
    ran.measured.detail = ReplayDetail {
        classes: io::class_counts(&outcome),
        pace: outcome.pace,
        fidelity: fidelity(planned, was, fitted, &outcome, job.track.as_deref(), &ran.histograms),
    }
    .into();
    Ok(ran)
}

/// The requests of the recording in the order of arrival, with times from the first.
fn recorded(planned: &ReplayPlan, run: &Run<'_>) -> Result<Vec<Arrived>, String> {
    let source = &planned.source;
    let count = source.requests().min(MOST_STEPS as u64);
    // Reserve space for all: a growing list temporarily needs it twice.
    let mut steps = Vec::with_capacity(usize::try_from(count + 1).unwrap_or_default());
    let mut keep = |begun_ns: u64, request: &BlockRequest| {
        let arrived = Arrived::from_request(request, begun_ns, source.device_bytes);
        let inside = arrived.and_then(|arrived| arrived.since(source.first_ns));
        let inside = inside.filter(|arrived| arrived.step.at_ns <= planned.length_ns);
        // The plan limits memory, for any file.
        if (steps.len() as u64) <= count {
            steps.extend(inside);
        }
    };
    (run.programs.recall)(run.system, source, &mut keep)?;
    steps.sort_by_key(|arrived| arrived.step.at_ns);
    let found = counted(&steps);
    let is_more = Act::ALL.into_iter().any(|act| {
        let (here, there) = (found[act as usize], source.acts[act as usize]);
        here.operations > there.operations || (planned.is_whole() && here != there)
    });
    if is_more {
        return Err(format!("the trace {} is not the planned one", source.id));
    }
    Ok(steps)
}

fn counted(recorded: &[Arrived]) -> [Moved; Act::ALL.len()] {
    let mut found = [Moved::default(); Act::ALL.len()];
    for Arrived { step, .. } in recorded {
        found[step.act as usize].add(u64::from(step.bytes));
    }
    found
}

fn job(planned: &ReplayPlan, run: &Run<'_>, track: Track) -> Job {
    let area = &run.medium.area;
    let end = area
        .start
        .saturating_add(area.length / planned.unit_bytes.max(1) * planned.unit_bytes.max(1));
    let by_clock = planned.clock == Clock::Open;
    let time_ns = if by_clock {
        planned::time_ns(planned.clock, planned.scale, planned.length_ns)
    } else {
        run.time_ns
    };
    Job {
        depth: planned.depth,
        time: Duration::from_nanos(time_ns),
        operations: (!by_clock).then_some(track.steps().len() as u64),
        track: Some(Arc::new(track)),
        ..Job::base(Pattern::Random, Mix::READS, planned.slot_bytes(), area.start..end, run.seed)
    }
}

fn fidelity(
    planned: &ReplayPlan,
    was: Was,
    fitted: Fitted,
    outcome: &Outcome,
    track: Option<&Track>,
    histograms: &Histograms,
) -> Fidelity {
    let none = Played::default();
    let played = outcome.played.as_ref().unwrap_or(&none);
    let by_clock = planned.clock == Clock::Open;
    let share = |part: u64, all: u64| part as f64 / all.max(1) as f64;
    Fidelity {
        requests: by_name(&was.counts, played),
        recorded_ns: planned.scale.time_ns(was.span_ns),
        replayed_ns: played.took_ns,
        ks_distance: by_clock.then_some(played.arrival_distance),
        late_share: outcome.pace.map(|pace| share(pace.late + pace.unissued(), pace.scheduled)),
        max_delay_ns: outcome.pace.map(|pace| pace.max_delay_ns),
        dependent: played.waited.as_ref().map(paced),
        in_flight: [
            share(planned.source.queued_ns, planned.source.length_ns),
            in_flight(histograms, played.took_ns),
        ],
        skipped: planned.source.left_out,
        placing: planned.placing,
        adjusted: fitted,
        drawn: was.drawn.beside(gather_sides(played, track, by_clock)),
    }
}

/// Requests at their start times, as far as figures show them.
fn sides<'s>(steps: impl Iterator<Item = (u64, &'s Step)>) -> GatheredSides {
    let mut sides = GatheredSides::default();
    for (at_ns, step) in steps {
        let place = (step.act != Act::Flush).then_some((step.offset, u64::from(step.bytes)));
        sides.add(step.act.name(), at_ns, place);
    }
    sides
}

fn gather_sides(played: &Played, track: Option<&Track>, by_clock: bool) -> GatheredSides {
    let issued = track.map(|track| played.issued(track)).unwrap_or_default();
    let mut lines = sides(issued.iter().copied());
    for (at_ns, step) in issued.into_iter().filter(|_| by_clock) {
        lines.behind(step.act.name(), step.at_ns, at_ns.saturating_sub(step.at_ns));
    }
    lines
}

fn span_ns(recorded: &[Arrived]) -> u64 {
    let ends = recorded.first().zip(recorded.last());
    ends.map_or(0, |(first, last)| last.step.at_ns.saturating_sub(first.step.at_ns))
}

/// Accuracy of the waits in a replay with a dependent clock.
fn paced(waited: &WaitCounts) -> WaitFidelity {
    let WaitCounts { requests, gaps_ns, behind_ns, served_ns, overtaken } = *waited;
    let mean = |sum: u64| sum as f64 / requests.max(1) as f64;
    let whole = gaps_ns.saturating_add(behind_ns).saturating_add(served_ns);
    WaitFidelity {
        after_end: requests,
        gap_ns: [mean(gaps_ns), mean(gaps_ns.saturating_add(behind_ns))],
        added_share: behind_ns as f64 / whole.max(1) as f64,
        overtaken,
    }
}

/// Recorded and replayed counts by kind of request; kinds without any are left out.
fn by_name(recorded: &[Moved; Act::ALL.len()], played: &Played) -> BTreeMap<String, ReplayCounts> {
    let count = |moved: Moved| Count { operations: moved.operations, bytes: moved.bytes };
    let there = Act::ALL.into_iter().map(|act| {
        let (recorded, played) = (recorded[act as usize], played.acts[act as usize]);
        let pair = ReplayCounts { recorded: count(recorded), replayed: count(played) };
        (act.name().to_owned(), pair)
    });
    there.filter(|(_, pair)| pair.recorded.operations + pair.replayed.operations > 0).collect()
}

/// Mean operations in flight by Little's law.
fn in_flight(histograms: &Histograms, took_ns: u64) -> f64 {
    let sum = |responses: bool| {
        let latencies =
            histograms.iter().filter(|(name, _)| io::of_response(name).is_some() == responses);
        latencies.map(|(_, latencies)| latencies.mean() * latencies.len() as f64).sum::<f64>()
    };
    let responses = sum(true);
    let all = if responses > 0.0 { responses } else { sum(false) };
    all / took_ns.max(1) as f64
}
