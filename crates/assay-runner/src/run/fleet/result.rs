//! The result of all hosts, which rank 0 stores next to its result.

use std::collections::BTreeMap;

use super::{Done, RunningFleet, zero};
use crate::fleet::barrier::{Barrier, Met};
use crate::fleet::message::{Message, TrialPart};
use crate::fleet::together::{FleetRecord, OneHost, merge};
use crate::run::conductor::{End, Finished};
use crate::run::schedule::ScheduleStep;
use crate::run::writer::{ResultWriter, Unkept};
use assay_analysis::rules::{self, Case};
use assay_machine::system::System;
use assay_study::findings::Trust;
use assay_study::results::environment::Environment;
use assay_study::results::fleet::HostSaid;
use assay_study::results::log::{ENDED, LogEntry};
use assay_study::results::plan::Plan;
use assay_study::results::record::{OUT_OF_TIME, Trial};

#[derive(Default)]
pub struct RankResult<'a> {
    pub id: String,
    pub writer: ResultWriter<'a>,
    pub trials: Vec<Trial>,
}

impl<'a> RunningFleet<'a> {
    pub fn keep(&mut self, id: String, writer: ResultWriter<'a>) {
        (self.kept.id, self.kept.writer) = (id, writer);
    }

    pub fn trials(&self) -> &[Trial] {
        &self.kept.trials
    }

    /// On rank 0: collects the counts of all hosts, and merges and stores the trial.
    pub fn gather(&mut self, plan: &Plan, step: &ScheduleStep, done: &Done) {
        let record = &done.trial;
        if self.turn.as_ref().is_some_and(|turn| turn.left > 0 && turn.void.is_none()) {
            let why = record.reason.clone().unwrap_or_else(|| "the trial could not run".to_owned());
            // This rank failed before the last meeting: all others, which wait there, receive the failure.
            let _ = self.meet(Err(why));
        }
        // Without an announcement, rank 0 had no time left for the trial.
        let failed = match &self.turn {
            None => Some(OUT_OF_TIME.to_owned()),
            Some(turn) => turn.void.clone(),
        };
        let (hosts, lost) =
            if failed.is_some() { (Vec::new(), None) } else { self.collect_parts(done) };
        let (planned, ranks) = (&step.planned, self.member.place.ranks);
        let ramp_ns = plan.work_of(planned).ramp_ns;
        let merged = merge(planned, ramp_ns, ranks, &record.started, &hosts, failed.or(lost));
        let FleetRecord { mut trial, histograms, series } = merged;
        trial.repeats = step.repeats;
        let stored = self.kept.trials.len();
        let unkept = self.kept.writer.append(&mut trial, &histograms, &series, stored);
        if let Some(Unkept { why, .. }) = unkept {
            self.news.push(format!("the trials of all hosts are no longer stored: {why}"));
        }
        self.kept.trials.push(trial);
        self.turn = None;
    }

    /// Waits for the part of each host; returns those that arrived, and the first fault if one is missing or damaged.
    fn collect_parts(&mut self, done: &Done) -> (Vec<OneHost>, Option<String>) {
        let order = done.trial.order;
        let mut barrier = Barrier::new(self.others());
        let mut parts: BTreeMap<u32, TrialPart> = BTreeMap::new();
        self.wait_at(&mut barrier, &mut |rank, message| match message {
            Message::Done(part) if part.order == order => {
                parts.insert(rank, *part);
                Some(Ok(()))
            }
            _ => None,
        });
        let mut hosts: Vec<OneHost> = self.own_part(done).into_iter().collect();
        let mut fault = match barrier.outcome() {
            Met::Not { rank, why, .. } => Some(format!("lost {}: {why}", self.name_of(rank))),
            Met::All if !barrier.is_complete() => Some("rank 0 was interrupted".to_owned()),
            Met::All => None,
        };
        for (rank, mut part) in parts {
            let name = self.hosts.get(&rank).map(|host| host.name.clone()).unwrap_or_default();
            part.ran.reason = part.ran.reason.as_deref().map(zero::clean_reason);
            part.ran.started = zero::clean_reason(&part.ran.started);
            match OneHost::of_part(rank, &name, part) {
                Ok(host) => hosts.push(host),
                Err(damage) => fault = fault.or(Some(format!("{}: {damage}", self.name_of(rank)))),
            }
        }
        (hosts, fault)
    }

    fn own_part(&self, done: &Done) -> Option<OneHost> {
        let name = &self.member.name;
        OneHost::of_trial(0, name, done.trial.clone(), done.series.clone())
    }
}

/// Leaves the fleet before the machine is restored. Each rank sends rank 0 its remarks, what its trust rules found.
pub fn end_session(
    fleet: &mut RunningFleet<'_>,
    end: &End,
    plan: &Plan,
    environment: &Environment,
    trials: &[Trial],
) {
    let remarks = remarks(plan, environment, trials);
    let why = match end {
        End::Complete => None,
        End::Early(why) | End::Gone(why) => Some(why.clone()),
        End::Interrupted if fleet.leads() => Some("rank 0 was interrupted".to_owned()),
        End::Interrupted => Some("interrupted".to_owned()),
    };
    if fleet.leads() {
        fleet.close(why, remarks, plan.workloads.len());
    } else if matches!(end, End::Interrupted | End::Gone(_)) {
        fleet.leave(&why.unwrap_or_default());
    } else {
        let _ = fleet.member.line.say(0, &Message::Judged(remarks));
    }
}

/// Stores the result of all hosts on rank 0, and returns it in place of `own`, the result of this host.
pub fn finish_fleet(system: &dyn System, mut fleet: RunningFleet<'_>, own: Finished) -> Finished {
    if !fleet.leads() {
        return own;
    }
    let environment = Environment { fleet: Some(fleet.stored(true)), ..own.environment.clone() };
    let RankResult { id, writer, trials } = std::mem::take(&mut fleet.kept);
    let (bundle, mut unkept) = writer.into_parts();
    let mut directory = bundle.as_ref().map(|bundle| bundle.directory().to_owned());
    if let Some(bundle) = bundle {
        if let Err(error) = bundle.keep_environment(&environment) {
            unkept = Some(Unkept::after(trials.len(), bundle.directory(), &error));
        }
        if !own.interrupted {
            // Without this line, the study looks complete or interrupted.
            let text = own.ended.as_deref().unwrap_or_default();
            let _ = bundle.log(&LogEntry::new(system, ENDED, text));
        }
    }
    if trials.is_empty() && own.interrupted {
        directory = directory.filter(|directory| system.remove_directory(directory).is_err());
    }
    Finished { id, directory, unkept, environment, trials, ..own }
}

fn remarks(plan: &Plan, environment: &Environment, trials: &[Trial]) -> Vec<HostSaid> {
    (0..plan.workloads.len())
        .flat_map(|index| {
            let of_row = trials.iter().filter(|trial| trial.workload == index);
            remarks_on_row(plan, environment, index, &of_row.collect::<Vec<_>>())
        })
        .collect()
}

/// Returns what the trust rules flag in the trials of a workload; empty if none of them counts.
fn remarks_on_row(
    plan: &Plan,
    environment: &Environment,
    index: usize,
    trials: &[&Trial],
) -> Vec<HostSaid> {
    let counted_trials: Vec<&Trial> =
        trials.iter().copied().filter(|trial| trial.status.counts()).collect();
    let Some(workload) = plan.workloads.get(index).filter(|_| !counted_trials.is_empty()) else {
        return Vec::new();
    };
    let places = environment.sites.get(workload.target).zip(plan.surveys.get(workload.target));
    let Some((site, survey)) = places else { return Vec::new() };
    let emulator = environment.machine.emulator();
    let case = Case { site, survey, workload, trials: &counted_trials, emulator };
    let said = rules::remarks(&case).into_iter().filter_map(|(rule, remark)| {
        let trust = match remark.trust {
            Trust::Trusted => return None,
            Trust::Suspect => "suspect",
            Trust::Invalid => "invalid",
        };
        Some(HostSaid {
            workload: index,
            rule: rule.to_owned(),
            trust: trust.to_owned(),
            text: remark.text,
        })
    });
    said.collect()
}
