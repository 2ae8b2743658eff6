//! The result of all hosts, as rank 0 keeps it beside its own.

use std::collections::BTreeMap;

use super::{Done, Fleet, zero};
use crate::fleet::barrier::{Barrier, Met};
use crate::fleet::message::{Message, Part};
use crate::fleet::together::{OneHost, Slot, Whole, merge};
use crate::run::finished::{Finished, Unkept};
use crate::run::session::End;
use assay_machine::system::System;
use assay_study::results::bundle::Bundle;
use assay_study::results::environment::Environment;
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::plan::{Plan, PlannedTrial};
use assay_study::results::record::{Repeats, Trial, TrialRecord};

#[derive(Default)]
pub struct Kept<'a> {
    pub id: String,
    pub bundle: Option<Bundle<'a>>,
    pub unkept: Option<Unkept>,
    pub trials: Vec<Trial>,
}

impl<'a> Fleet<'a> {
    /// Keeps the result of all hosts from now on.
    pub fn keep(&mut self, id: String, bundle: Option<Bundle<'a>>) {
        (self.kept.id, self.kept.bundle) = (id, bundle);
    }

    /// Trials of all hosts so far.
    pub fn trials(&self) -> &[Trial] {
        &self.kept.trials
    }

    /// Gathers what all hosts counted in a trial, and keeps what it is together.
    pub fn gather(
        &mut self,
        plan: &Plan,
        (planned, repeats): (&PlannedTrial, Option<Repeats>),
        done: &Done,
        alone: Option<&str>,
    ) {
        let record = &done.trial.record;
        if self.turn.as_ref().is_some_and(|turn| turn.left > 0 && turn.void.is_none()) {
            let why = record.reason.clone().unwrap_or_else(|| "the trial could not run".to_owned());
            // All others hear that it failed.
            let _ = self.meet(Err(why));
        }
        let void = self.turn.as_ref().and_then(|turn| turn.void.clone());
        let failed = alone.map(str::to_owned).or(void);
        let (hosts, lost) = if failed.is_some() { (Vec::new(), None) } else { self.parts(done) };
        let slot = slot(plan, planned, repeats, self.member.place.ranks);
        let whole = merge(&slot, &record.started, &hosts, failed.or(lost));
        self.add(whole);
        self.turn = None;
    }

    /// What each host counted; why the trial has no number, where one was lost.
    fn parts(&mut self, done: &Done) -> (Vec<OneHost>, Option<String>) {
        let order = done.trial.record.order;
        let mut barrier = Barrier::of(self.others());
        let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
        self.wait_at(&mut barrier, &mut |rank, message| match message {
            Message::Done(part) if part.order == order => {
                parts.insert(rank, *part);
                Some(Ok(()))
            }
            _ => None,
        });
        let mut hosts: Vec<OneHost> = self.own_part(done).into_iter().collect();
        let mut why = match barrier.outcome() {
            Met::Not { rank, why, .. } => Some(format!("lost {}: {why}", self.name_of(rank))),
            Met::All if !barrier.is_complete() => Some("rank 0 was interrupted".to_owned()),
            Met::All => None,
        };
        for (rank, mut part) in parts {
            let name = self.hosts.get(&rank).map(|host| host.name.clone()).unwrap_or_default();
            part.ran.reason = part.ran.reason.as_deref().map(zero::plain);
            part.ran.started = zero::plain(&part.ran.started);
            match OneHost::of_part(rank, &name, part) {
                Ok(host) => hosts.push(host),
                Err(damage) => why = why.or(Some(format!("{}: {damage}", self.name_of(rank)))),
            }
        }
        (hosts, why)
    }

    fn own_part(&self, done: &Done) -> Option<OneHost> {
        let name = &self.member.name;
        OneHost::of_trial(0, name, done.trial.clone(), done.series.clone())
    }

    fn add(&mut self, mut whole: Whole) {
        if let Some(bundle) = &self.kept.bundle {
            let kept = bundle.append(&mut whole.trial.record, &whole.histograms, &whole.series);
            if let Err(error) = kept {
                let unkept = Unkept::after(self.kept.trials.len(), bundle.directory(), &error);
                self.news
                    .push(format!("the trials of all hosts are no longer stored: {}", unkept.why));
                (self.kept.unkept, self.kept.bundle) = (Some(unkept), None);
            }
        }
        self.kept.trials.push(whole.trial);
    }

    /// Closes the result of all hosts: who was in it, and how it ended.
    pub fn finish(&mut self, environment: &Environment, ended: Option<&str>) -> Kept<'a> {
        let mut kept = std::mem::take(&mut self.kept);
        if let Some(bundle) = &kept.bundle {
            if let Err(error) = bundle.keep_environment(environment) {
                kept.unkept = Some(Unkept::after(kept.trials.len(), bundle.directory(), &error));
            }
            if let Some(why) = ended {
                // Without this line it shows as complete by its trials, or as interrupted.
                let _ = bundle.log(&Entry::new(self.system, ENDED, why));
            }
        }
        kept
    }
}

/// Takes leave of the others, before the machine is put back: rank 0 hears what their rules said.
pub fn part(
    fleet: &mut Fleet<'_>,
    end: &End,
    (plan, environment): (&Plan, &Environment),
    trials: &[Trial],
) {
    let records: Vec<&TrialRecord> = trials.iter().map(|trial| &trial.record).collect();
    let said = super::rows(plan, environment, &records);
    let why = match end {
        End::Complete => None,
        End::Early(why) | End::Gone(why) => Some(why.clone()),
        End::Interrupted if fleet.leads() => Some("rank 0 was interrupted".to_owned()),
        End::Interrupted => Some("interrupted".to_owned()),
    };
    match (fleet.leads(), end) {
        (true, _) => fleet.close(why, said, plan.workloads.len()),
        (false, End::Interrupted | End::Gone(_)) => fleet.leave(&why.unwrap_or_default()),
        (false, _) => fleet.judge(said),
    }
}

/// A study that has ended, as rank 0 shows it: that of all hosts.
pub fn finished(system: &dyn System, mut fleet: Fleet<'_>, own: Finished) -> Finished {
    if !fleet.leads() {
        return own;
    }
    let environment = Environment { fleet: Some(fleet.stored(true)), ..own.environment.clone() };
    let ended = if own.interrupted { None } else { Some(own.ended.as_deref().unwrap_or("")) };
    let kept = fleet.finish(&environment, ended);
    let mut directory = kept.bundle.as_ref().map(|bundle| bundle.directory().to_owned());
    drop(kept.bundle);
    if kept.trials.is_empty() && own.interrupted {
        directory = directory.filter(|directory| system.remove_directory(directory).is_err());
    }
    Finished {
        id: kept.id,
        directory,
        unkept: kept.unkept,
        trials: kept.trials,
        environment,
        ..own
    }
}

fn slot(plan: &Plan, planned: &PlannedTrial, repeats: Option<Repeats>, of: u32) -> Slot {
    Slot {
        order: planned.order,
        replicate: planned.replicate,
        workload: planned.workload,
        arm: planned.arm.clone(),
        lead_in: planned.is_lead_in(),
        repeats,
        ramp_ns: plan.work_of(planned).ramp_ns,
        of,
    }
}
