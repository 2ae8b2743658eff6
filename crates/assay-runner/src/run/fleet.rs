//! A study on several hosts, from the view of one: the messages between the steps of a session.
//!
//! Rank 0 announces a trial; each rank sets its arm, arrives at a first meeting, rests, and arrives at a second one
//! right before the work. After the trial, the others send their counts to rank 0, which merges them into one trial.

mod result;
mod zero;

pub use result::{RankResult, end_session, finish_fleet};
pub use zero::OfHost;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::conductor::End;
use super::trial::Done;
use crate::fleet::common::{self, Common, Proof};
use crate::fleet::message::{
    FleetPurpose, HostRecord, Joined, Message, Next, Process, TrialPart, Welcome,
};
use crate::fleet::ranks::RankPlace;
use crate::fleet::{Heard, RankLine};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_machine::system::System;
use assay_study::file::OnFailure;
use assay_study::results::fleet::{self as stored, Host, Together};
use assay_study::results::histogram;
use assay_study::results::id::entropy;
use assay_study::results::plan::{Plan, PlannedTrial, Survey};

pub struct FleetMember<'a> {
    pub line: Box<dyn RankLine + 'a>,
    pub place: RankPlace,
    pub purpose: FleetPurpose,
    pub name: String,
    pub on_failure: OnFailure,
    /// Additional time to wait for a rank.
    pub grace: Duration,
    /// Time to wait for steps without an estimate: surveys.
    pub wait: Duration,
}

#[derive(Clone, Debug)]
struct FleetTurn {
    planned: PlannedTrial,
    patience_ns: u64,
    meeting: u64,
    left: u32,
    /// Time of the release, by this host's clock.
    go_ns: Option<u64>,
    since_go_ns: Option<u64>,
    void: Option<String>,
}

pub struct RunningFleet<'a> {
    system: &'a dyn System,
    stop: &'a AtomicBool,
    member: FleetMember<'a>,
    id: String,
    seed: u64,
    proof: Option<Proof>,
    /// All hosts; only rank 0 knows the others.
    hosts: BTreeMap<u32, Host>,
    fellows: BTreeSet<u32>,
    /// Ranks that share a machine; only rank 0 knows.
    on_one_machine: Vec<Vec<u32>>,
    turn: Option<FleetTurn>,
    meetings: u64,
    over: Option<String>,
    pub(super) news: Vec<String>,
    kept: RankResult<'a>,
    /// Surveys of each host for a preview; only rank 0 knows.
    pub(super) surveyed: Vec<OfHost>,
}

/// Meetings of a trial: when the settings are ready, and right before the work.
const MEETINGS: u32 = 2;
/// Factor by which the others wait longer than rank 0, which waits for all of them.
const LONGER: u32 = 2;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const PID_NAMESPACE: &str = "/proc/self/ns/pid";

impl<'a> RunningFleet<'a> {
    /// Joins a fleet: each rank receives its ID and seed; rank 0 draws the seed if none is given.
    pub fn join(
        system: &'a dyn System,
        stop: &'a AtomicBool,
        member: FleetMember<'a>,
        seed: Option<u64>,
        targets: &[String],
    ) -> Outcome<Self> {
        let random_bits = entropy(system);
        let this_host = Host {
            rank: member.place.rank,
            name: member.name.clone(),
            targets: targets.to_vec(),
            lost: None,
            said: Vec::new(),
        };
        let mut fleet = Self {
            system,
            stop,
            hosts: BTreeMap::from([(this_host.rank, this_host)]),
            fellows: BTreeSet::new(),
            on_one_machine: Vec::new(),
            member,
            id: format!("{random_bits:016x}"),
            seed: seed.unwrap_or(random_bits),
            proof: None,
            turn: None,
            meetings: 0,
            over: None,
            news: Vec::new(),
            kept: RankResult::default(),
            surveyed: Vec::new(),
        };
        let joined = if fleet.leads() { fleet.admit_ranks() } else { fleet.join_rank_0(targets) };
        joined.map_err(|why| fleet.refuse(why))?;
        Ok(fleet)
    }

    pub fn leads(&self) -> bool {
        self.member.place.leads()
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Describes the fleet for the result of all hosts, or of this one.
    pub fn stored(&self, of_all: bool) -> stored::Fleet {
        let hosts = if of_all { self.hosts.values().cloned().collect() } else { Vec::new() };
        stored::Fleet {
            id: self.id.clone(),
            ranks: self.member.place.ranks,
            rank: (!of_all).then_some(self.member.place.rank),
            name: (!of_all).then(|| self.member.name.clone()),
            order_sha256: self.proof.as_ref().map(Proof::sha256).unwrap_or_default(),
            hosts,
            on_one_machine: if of_all { self.on_one_machine.clone() } else { Vec::new() },
            turned_away: if of_all { self.member.line.turned_away() } else { 0 },
        }
    }

    pub fn is_fellow(&self, process: u32) -> bool {
        self.fellows.contains(&process)
    }

    /// Returns why the session is over; `None` while it continues.
    pub fn over(&self) -> Option<&str> {
        self.over.as_deref()
    }

    /// Tells the other hosts why this one leaves; without rank 0, the study ends for all.
    pub fn leave(&mut self, why: &str) {
        let why = why.to_owned();
        if self.leads() {
            self.say_to_all(&Message::End { why: Some(why) });
        } else {
            let _ = self.member.line.say(0, &Message::Leaving { why });
        }
    }

    fn refuse(&mut self, why: String) -> Failure {
        self.leave(&why);
        if self.is_stopped() { Failure::interrupted(why) } else { Failure::refused(why) }
    }

    /// Sends rank 0 what it needs to know about this host; receives the ID and seed of the fleet.
    fn join_rank_0(&mut self, targets: &[String]) -> Result<(), String> {
        let joined = Joined {
            name: self.member.name.clone(),
            targets: targets.to_vec(),
            process: own_process(self.system),
            purpose: self.member.purpose,
        };
        self.say_to_zero(&Message::Joined(joined))?;
        // Rank 0 waits this long for the last rank.
        match self.receive_from_zero(self.member.wait * LONGER)? {
            Message::Welcome(Welcome { id, seed, fellows }) => {
                (self.id, self.seed) = (zero::clean_reason(&id), seed);
                self.fellows = fellows.into_iter().collect();
                Ok(())
            }
            other => Err(unexpected_text(other)),
        }
    }

    pub fn agree(&mut self, own: &[Survey]) -> Outcome<Common> {
        let common = if self.leads() { self.merge_surveys(own) } else { self.send_surveys(own) };
        common.map_err(|why| self.refuse(why))
    }

    /// Sends the surveys of this rank; returns what is common to those of all.
    fn send_surveys(&mut self, own: &[Survey]) -> Result<Common, String> {
        self.say_to_zero(&Message::Surveyed(own.to_vec()))?;
        // Rank 0 waits this long for the others, and may still survey its target.
        match self.receive_from_zero(self.member.wait * LONGER)? {
            Message::Common(common) if common.surveys.len() == own.len() => Ok(common),
            other => Err(unexpected_text(other)),
        }
    }

    /// Compares the plan with those of the other hosts by hashes; fails unless all are equal.
    pub fn prove(&mut self, plan: &Plan) -> Outcome<()> {
        let proof = Proof::new(plan);
        self.proof = Some(proof.clone());
        let proved = match common::check_mergeable(plan) {
            Err(why) => Err(why),
            Ok(()) if self.leads() => self.compare_proofs(&proof),
            Ok(()) => self.send_proof(&proof),
        };
        proved.map_err(|why| self.refuse(why))
    }

    fn send_proof(&mut self, proof: &Proof) -> Result<(), String> {
        self.say_to_zero(&Message::Agreed(proof.clone()))?;
        match self.receive_from_zero(self.member.wait * LONGER)? {
            Message::Agreed(other) if other == *proof => Ok(()),
            other => Err(unexpected_text(other)),
        }
    }

    /// Waits until rank 0 announces the next trial; fails with the end of the study.
    pub fn next(&mut self, plan: &Plan) -> Result<Next, End> {
        if let Some(why) = &self.over {
            // After a missed meeting, do not wait for rank 0 again.
            return Err(End::Early(why.clone()));
        }
        // After a trial, rank 0 waits as long as during it; before the first one, it may observe the machine.
        let last_turn = self.turn.take();
        let wait =
            last_turn.map_or(self.member.wait, |turn| Duration::from_nanos(turn.patience_ns));
        let next = match self.receive_from_zero(wait * LONGER) {
            Ok(Message::Next(next)) => *next,
            Ok(Message::End { why }) => {
                let why = why.as_deref().map(zero::clean_words);
                self.over = Some(why.clone().unwrap_or_default());
                return Err(why.map_or(End::Complete, End::Early));
            }
            Ok(other) => return Err(self.end_early(unexpected_text(other))),
            Err(_) if self.is_stopped() => return Err(End::Interrupted),
            Err(why) => return Err(self.end_early(why)),
        };
        if let Err(why) = check_in_plan(plan, &next) {
            self.leave(&why);
            return Err(self.end_early(why));
        }
        self.turn = Some(FleetTurn::new(&next.planned, next.meeting, next.patience_ns));
        Ok(next)
    }

    fn end_early(&mut self, why: String) -> End {
        self.over = Some(why.clone());
        End::Early(why)
    }

    /// Arrives at the next meeting (barrier) of a trial, ready or failed. Records the release, or why the trial fails.
    fn meet(&mut self, readiness: Result<(), String>) -> Result<(), String> {
        let Some(turn) = &self.turn else { return readiness };
        if let Some(why) = &turn.void {
            return Err(why.clone());
        }
        let (meeting, patience_ns) = (turn.meeting, turn.patience_ns);
        let met = match &self.over {
            Some(why) => Err(why.clone()),
            None if self.leads() => self.convene(meeting, readiness),
            None => self.attend(meeting, patience_ns, readiness),
        };
        let now_ns = self.system.monotonic_ns();
        if let Some(turn) = &mut self.turn {
            turn.meeting += 1;
            turn.left = turn.left.saturating_sub(1);
            match &met {
                Ok(()) => turn.go_ns = Some(now_ns),
                Err(why) => turn.void = Some(why.clone()),
            }
        }
        met
    }

    /// Reports readiness to rank 0, and waits for its decision.
    fn attend(
        &mut self,
        meeting: u64,
        patience_ns: u64,
        readiness: Result<(), String>,
    ) -> Result<(), String> {
        let arrival = match readiness {
            Ok(()) => Message::Ready { meeting },
            Err(why) => Message::Unable { meeting, why },
        };
        let answer = self
            .say_to_zero(&arrival)
            .and_then(|()| self.receive_from_zero(Duration::from_nanos(patience_ns) * LONGER));
        match answer {
            Ok(Message::Go { meeting: of }) if of == meeting => Ok(()),
            Ok(Message::Void { meeting: of, why }) if of == meeting => Err(zero::clean_words(&why)),
            Ok(other) => {
                let why = unexpected_text(other);
                self.over = Some(why.clone());
                Err(why)
            }
            Err(why) => {
                if !self.is_stopped() {
                    self.over = Some(why.clone());
                }
                Err(why)
            }
        }
    }

    pub fn together(&self) -> Option<Together> {
        let since_go_ns = self.turn.as_ref()?.since_go_ns?;
        Some(Together { since_go_ns, of: self.member.place.ranks, hosts: Vec::new() })
    }

    /// Sends the counts of a trial to rank 0; a trial that failed before its last meeting reports that there.
    pub fn report(&mut self, done: &Done) {
        let Some(turn) = &self.turn else { return };
        if turn.void.is_some() || self.over.is_some() {
            return;
        }
        let record = &done.trial;
        if turn.left > 0 {
            let why = record.reason.clone().unwrap_or_else(|| "the trial could not run".to_owned());
            // The answer is that it failed on all hosts.
            let _ = self.meet(Err(why));
            return;
        }
        let encode = |(class, latencies): (&String, &_)| histogram::encode(class, latencies).ok();
        let part = TrialPart {
            order: record.order,
            ran: HostRecord {
                status: record.status,
                reason: record.reason.clone(),
                started: record.started.clone(),
                measured: record.measured.clone(),
                flush_ns: record.flush_ns,
                since_go_ns: turn.since_go_ns.unwrap_or_default(),
                series: done.series.clone(),
            },
            histograms: done.histograms.iter().filter_map(encode).collect(),
        };
        if let Err(why) = self.say_to_zero(&Message::Done(Box::new(part))) {
            self.over = Some(why);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn say_to_zero(&mut self, message: &Message) -> Result<(), String> {
        self.member.line.say(0, message).map_err(|why| format!("lost rank 0: {why}"))
    }

    fn receive_from_zero(&mut self, wait: Duration) -> Result<Message, String> {
        match self.member.line.hear(wait, self.stop) {
            Some((_, Heard::Said(message))) => Ok(*message),
            Some((_, Heard::Gone(why))) => Err(format!("lost rank 0: {why}")),
            None if self.is_stopped() => Err("interrupted".to_owned()),
            None => {
                let wait = show::duration(wait.as_nanos() as f64);
                Err(format!("rank 0 sent no message for {wait}"))
            }
        }
    }
}

impl FleetTurn {
    fn new(planned: &PlannedTrial, meeting: u64, patience_ns: u64) -> Self {
        Self {
            planned: planned.clone(),
            patience_ns,
            meeting,
            left: MEETINGS,
            go_ns: None,
            since_go_ns: None,
            void: None,
        }
    }
}

/// Identifies this process and its machine: ranks share a machine if boot and PID namespace are the same.
fn own_process(system: &dyn System) -> Process {
    let boot_id = system.read_text(Path::new(BOOT_ID)).ok();
    let pid_namespace = system.read_link(Path::new(PID_NAMESPACE)).ok();
    // Empty if unknown.
    let machine = boot_id.zip(pid_namespace).map_or_else(String::new, |(boot, namespace)| {
        format!("{} {}", boot.trim(), namespace.display())
    });
    Process { machine, id: system.user().process }
}

fn unexpected_text(message: Message) -> String {
    match message {
        Message::End { why } => why.map_or_else(
            || "rank 0 ended the study".to_owned(),
            |why| format!("rank 0 ended the study: {}", zero::clean_words(&why)),
        ),
        _ => "rank 0 sent an invalid message".to_owned(),
    }
}

/// Rejects a trial that is not in the plan: a rank only runs trials of its plan.
fn check_in_plan(plan: &Plan, next: &Next) -> Result<(), String> {
    let Next { planned, repeats, .. } = next;
    let trial_at = |order: u32| plan.trials.get(order as usize);
    let is_in_plan = match repeats {
        None => trial_at(planned.order) == Some(planned),
        Some(repeats) => trial_at(repeats.order).is_some_and(|original| {
            original.workload == planned.workload
                && original.arm == planned.arm
                && original.replicate == repeats.replicate
                && planned.order as usize >= plan.trials.len()
        }),
    };
    if is_in_plan {
        return Ok(());
    }
    Err("rank 0 requested a trial that is not in the plan".to_owned())
}

pub trait StartBarrier {
    fn meet(&self) -> Result<(), String>;

    fn begins(&self, ramp_ns: u64, is_simulated: bool);
}

impl StartBarrier for RefCell<RunningFleet<'_>> {
    fn meet(&self) -> Result<(), String> {
        self.borrow_mut().meet(Ok(()))
    }

    /// Notes when the measurement begins, after the ramp, since the release. Simulated work begins with the release.
    fn begins(&self, ramp_ns: u64, is_simulated: bool) {
        let mut fleet = self.borrow_mut();
        let now_ns = fleet.system.monotonic_ns();
        if let Some(turn) = &mut fleet.turn {
            let go_ns = turn.go_ns.filter(|_| !is_simulated).unwrap_or(now_ns);
            turn.since_go_ns = Some(now_ns.saturating_sub(go_ns).saturating_add(ramp_ns));
        }
    }
}

#[cfg(test)]
pub mod tests;
