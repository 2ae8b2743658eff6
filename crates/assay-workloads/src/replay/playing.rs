//! Replays a recorded load once, and compares the replay with the recording.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::replay::{Arrival, Fitted, infer_waits};
use assay_core::calc::requests::GatheredSides;
use assay_load::{
    Act, Job, MOST_STEPS, Mix, Moved, Outcome, Pattern, Played, Step, Track, WaitCounts,
};
use assay_machine::system::BlockRequest;

use super::{Clock, Fidelity, ReplayCounts, ReplayDetail, ReplayPlan, WaitFidelity, planned};
use crate::io;
use crate::measured::{Count, Histograms, RunResult};
use crate::place::Run;

struct Recording {
    counts: [Moved; Act::ALL.len()],
    span_ns: u64,
    drawn: GatheredSides,
}

/// Replays the recording, and compares the replay with it.
pub(super) fn play(planned: &ReplayPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let mut requests = read_requests(planned, run)?;
    let starts =
        requests.iter().map(|request| (planned.scale.time_ns(request.step.at_ns), &request.step));
    let recording = Recording {
        counts: count_by_act(&requests),
        span_ns: span_ns(&requests),
        drawn: gather_starts(starts),
    };
    let fit = planned.fit(&run.medium.area);
    if planned.clock == Clock::Dependent {
        // No request may wait for one that is not replayed.
        requests.retain(|request| fit.has_place(&request.step));
    }
    let (steps, fitted) = fit.place(requests.iter().map(|request| &request.step), planned.scale);
    if steps.is_empty() {
        return Err("no request of the trace is within the area".to_owned());
    }
    let track = match planned.clock {
        Clock::Open => Track::new(steps, true),
        Clock::Closed => Track::new(steps, false),
        Clock::Dependent => Track::paced(steps, infer_waits(&requests, planned.scale)),
    };
    // Frees half of the memory: the steps exist by now.
    drop(requests);
    let job = replay_job(planned, run, track);
    let outcome = io::run_job(planned.engine, &job, &run.medium, run.bystanders, run.stop)?;
    let mut result = io::run_result(&outcome);
    let track = job.track.as_deref();
    result.measured.detail = ReplayDetail {
        classes: io::class_counts(&outcome),
        pace: outcome.pace,
        fidelity: fidelity(planned, recording, fitted, &outcome, track, &result.histograms),
    }
    .into();
    Ok(result)
}

/// The requests of the recording in the order of arrival, with times from the first.
fn read_requests(planned: &ReplayPlan, run: &Run<'_>) -> Result<Vec<Arrival>, String> {
    let source = &planned.source;
    let count = source.requests().min(MOST_STEPS as u64);
    // Reserve space for all: a growing list temporarily needs it twice.
    let mut requests = Vec::with_capacity(usize::try_from(count + 1).unwrap_or_default());
    let mut collect = |begun_ns: u64, request: &BlockRequest| {
        let arrived = Arrival::from_request(request, begun_ns, source.device_bytes);
        let Some(arrived) = arrived.and_then(|arrived| arrived.since(source.first_ns)) else {
            return;
        };
        // The plan limits memory, even if the file has more. A single request above the count reveals another file.
        if arrived.step.at_ns <= planned.length_ns && requests.len() as u64 <= count {
            requests.push(arrived);
        }
    };
    (run.programs.recall)(run.system, source, &mut collect)?;
    requests.sort_by_key(|request| request.step.at_ns);
    let counts = count_by_act(&requests);
    // A part of the recording has at most the planned requests of each kind; the whole has exactly those.
    let differs = Act::ALL.into_iter().any(|act| {
        let (found, planned_for) = (counts[act as usize], source.acts[act as usize]);
        found.operations > planned_for.operations || (planned.is_whole() && found != planned_for)
    });
    if differs {
        return Err(format!("the trace {} is not the planned one", source.id));
    }
    Ok(requests)
}

fn count_by_act(requests: &[Arrival]) -> [Moved; Act::ALL.len()] {
    let mut counts = [Moved::default(); Act::ALL.len()];
    for request in requests {
        counts[request.step.act as usize].add(u64::from(request.step.bytes));
    }
    counts
}

/// The job of a replay; its track has the requests, so the pattern and the mix do not matter.
fn replay_job(planned: &ReplayPlan, run: &Run<'_>, track: Track) -> Job {
    let area = &run.medium.area;
    let unit_bytes = planned.unit_bytes.max(1);
    let end = area.start.saturating_add(area.length / unit_bytes * unit_bytes);
    let by_clock = planned.clock == Clock::Open;
    let time_ns = if by_clock {
        planned::replay_ns(planned.clock, planned.scale, planned.length_ns)
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
    recording: Recording,
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
        requests: counts_by_name(&recording.counts, played),
        recorded_ns: planned.scale.time_ns(recording.span_ns),
        replayed_ns: played.took_ns,
        ks_distance: by_clock.then_some(played.arrival_distance),
        late_share: outcome.pace.map(|pace| share(pace.late + pace.unissued(), pace.scheduled)),
        max_delay_ns: outcome.pace.map(|pace| pace.max_delay_ns),
        dependent: played.waited.as_ref().map(wait_fidelity),
        in_flight: [
            share(planned.source.queued_ns, planned.source.length_ns),
            mean_in_flight(histograms, played.took_ns),
        ],
        skipped: planned.source.left_out,
        placing: planned.placing,
        adjusted: fitted,
        drawn: recording.drawn.beside(gather_sides(played, track, by_clock)),
    }
}

/// Requests at their start times, as far as figures show them.
fn gather_starts<'s>(steps: impl Iterator<Item = (u64, &'s Step)>) -> GatheredSides {
    let mut sides = GatheredSides::default();
    for (at_ns, step) in steps {
        let place = (step.act != Act::Flush).then_some((step.offset, u64::from(step.bytes)));
        sides.add(step.act.name(), at_ns, place);
    }
    sides
}

/// Requests at their start times in the replay; with the recorded times as schedule, also their delays.
fn gather_sides(played: &Played, track: Option<&Track>, by_clock: bool) -> GatheredSides {
    let issued = track.map(|track| played.issued(track)).unwrap_or_default();
    let mut sides = gather_starts(issued.iter().copied());
    if by_clock {
        for (at_ns, step) in issued {
            sides.behind(step.act.name(), step.at_ns, at_ns.saturating_sub(step.at_ns));
        }
    }
    sides
}

fn span_ns(requests: &[Arrival]) -> u64 {
    let [first, .., last] = requests else { return 0 };
    last.step.at_ns.saturating_sub(first.step.at_ns)
}

/// Accuracy of the waits in a replay with a dependent clock.
fn wait_fidelity(waited: &WaitCounts) -> WaitFidelity {
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
fn counts_by_name(
    recorded: &[Moved; Act::ALL.len()],
    played: &Played,
) -> BTreeMap<String, ReplayCounts> {
    let count = |moved: Moved| Count { operations: moved.operations, bytes: moved.bytes };
    let mut counts = BTreeMap::new();
    for act in Act::ALL {
        let (recorded, replayed) =
            (count(recorded[act as usize]), count(played.acts[act as usize]));
        if recorded.operations + replayed.operations > 0 {
            counts.insert(act.name().to_owned(), ReplayCounts { recorded, replayed });
        }
    }
    counts
}

/// Mean operations in flight by Little's law: from response times, or from service times without a schedule.
fn mean_in_flight(histograms: &Histograms, took_ns: u64) -> f64 {
    let mut responses_ns = 0.0;
    let mut services_ns = 0.0;
    for (name, latencies) in histograms {
        let sum_ns = latencies.mean() * latencies.len() as f64;
        if io::of_response(name).is_some() {
            responses_ns += sum_ns;
        } else {
            services_ns += sum_ns;
        }
    }
    let all_ns = if responses_ns > 0.0 { responses_ns } else { services_ns };
    all_ns / took_ns.max(1) as f64
}
