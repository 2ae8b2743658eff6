//! Tasks of rank 0: admitting ranks, announcing trials, calling meetings, collecting counts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{FleetTurn, RunningFleet};
use crate::fleet::Heard;
use crate::fleet::barrier::{Barrier, Met};
use crate::fleet::common::{self, Common, OfRank, Proof};
use crate::fleet::fellows::{self, Sharing};
use crate::fleet::message::{FleetPurpose, Joined, Message, Next, Welcome};
use assay_analysis::rules::FEWER_HOSTS;
use assay_core::{outside, quantity::units::show};
use assay_study::file::OnFailure;
use assay_study::results::fleet::{Host, HostSaid, Lost, words};
use assay_study::results::plan::{PlannedTrial, Survey};
use assay_study::results::record::Repeats;

const LONGEST_REASON: usize = 300;
/// Length limit for remarks of trust rules, and messages of rank 0.
const LONGEST_WORDS: usize = 2000;
const MOST_SAID: usize = 1000;
const MOST_TARGETS: usize = 64;
/// Shortest wait for the remarks of the others' trust rules.
const HEARING: Duration = Duration::from_secs(10);
const UNHEARD: &str = "no trust ratings received; see the result on that host";

pub struct OfHost {
    pub rank: u32,
    pub name: String,
    pub surveys: Vec<Survey>,
}

impl RunningFleet<'_> {
    /// Waits until all ranks joined; admits them if all have the same purpose.
    pub(super) fn admit_ranks(&mut self) -> Result<(), String> {
        let ranks: BTreeSet<u32> = (1..self.member.place.ranks).collect();
        let joined = self.receive_from_each(&ranks, self.member.wait, |message| match message {
            Message::Joined(joined) => Ok(joined),
            other => Err(other),
        })?;
        let mut processes = vec![(0, super::own_process(self.system))];
        let mut mismatch = None;
        for (rank, Joined { name, targets, process, purpose }) in joined {
            processes.push((rank, process));
            let name = clean_reason(&name);
            if purpose != self.member.purpose {
                mismatch = mismatch.or_else(|| Some(other_purpose(&words(rank, &name), purpose)));
            }
            let targets =
                targets.iter().take(MOST_TARGETS).map(|target| clean_reason(target)).collect();
            self.hosts.insert(rank, Host { rank, name, targets, lost: None, said: Vec::new() });
        }
        // Only now are all ranks connected, so each one receives the error.
        match mismatch {
            Some(why) => Err(why),
            None => self.welcome(&fellows::shared_machines(processes)),
        }
    }

    /// Admits all ranks, each with the processes that share its machine.
    fn welcome(&mut self, machines: &[Sharing]) -> Result<(), String> {
        let ranks_on = |machine: &Sharing| machine.iter().map(|(rank, _)| *rank).collect();
        self.on_one_machine = machines.iter().map(ranks_on).collect();
        self.fellows = fellows::fellow_processes(machines, 0).into_iter().collect();
        for rank in self.others() {
            let fellows = fellows::fellow_processes(machines, rank);
            let welcome = Welcome { id: self.id.clone(), seed: self.seed, fellows };
            self.say_or_fail(rank, &Message::Welcome(welcome))?;
        }
        Ok(())
    }

    /// Receives the surveys of all ranks, and sends what is common to them.
    pub(super) fn merge_surveys(&mut self, own: &[Survey]) -> Result<Common, String> {
        let ranks = self.others();
        let others = self.receive_from_each(&ranks, self.member.wait, |message| match message {
            Message::Surveyed(surveys) => Ok(surveys),
            other => Err(other),
        })?;
        let name = |rank: u32| self.hosts.get(&rank).map_or("", |host| host.name.as_str());
        let mut by_rank = vec![OfRank { rank: 0, name: name(0), surveys: own }];
        by_rank.extend(others.iter().map(|(rank, surveys)| OfRank {
            rank: *rank,
            name: name(*rank),
            surveys,
        }));
        let common = common::merge(&by_rank)?;
        if self.member.purpose == FleetPurpose::Plan {
            self.surveyed = by_rank.iter().map(|own| limited_surveys(own, &common)).collect();
        }
        self.say_to_each(&Message::Common(common.clone()))?;
        Ok(common)
    }

    /// Receives the hashes of all plans; fails if one differs from `own`.
    pub(super) fn compare_proofs(&mut self, own: &Proof) -> Result<(), String> {
        let ranks = self.others();
        let proofs = self.receive_from_each(&ranks, self.member.wait, |message| match message {
            Message::Agreed(proof) => Ok(proof),
            other => Err(other),
        })?;
        for (rank, proof) in proofs {
            if let Some(how) = own.differs(&proof) {
                return Err(format!("{} has a different plan: {how}", self.name_of(rank)));
            }
        }
        self.say_to_each(&Message::Agreed(own.clone()))
    }

    /// Sends a trial to all ranks. `patience_ns` is the longest wait for them in its meetings.
    pub fn announce(&mut self, planned: &PlannedTrial, repeats: Option<Repeats>, expected_ns: u64) {
        let grace_ns = self.member.grace.as_nanos() as u64;
        let patience_ns = expected_ns.saturating_mul(2).saturating_add(grace_ns);
        let meeting = self.meetings;
        self.meetings += u64::from(super::MEETINGS);
        self.turn = Some(FleetTurn::new(planned, meeting, patience_ns));
        let next = Next { meeting, planned: planned.clone(), repeats, patience_ns };
        self.say_to_all(&Message::Next(Box::new(next)));
    }

    /// Calls a meeting (a barrier in a trial): waits for all ranks, then releases them or voids the trial.
    pub(super) fn convene(&mut self, meeting: u64, own: Result<(), String>) -> Result<(), String> {
        let mut barrier = Barrier::new(self.others().into_iter().chain([0]));
        // Rank 0 always arrives first.
        let _ = barrier.arrive(0, own);
        self.wait_at(&mut barrier, &mut |_, message| match message {
            Message::Ready { meeting: of } if of == meeting => Some(Ok(())),
            Message::Unable { meeting: of, why } if of == meeting => Some(Err(why)),
            _ => None,
        });
        let met = match barrier.outcome() {
            Met::All if self.is_stopped() => Err("rank 0 was interrupted".to_owned()),
            Met::All => Ok(()),
            Met::Not { rank, why, lost: true } => {
                Err(format!("lost {}: {why}", self.name_of(rank)))
            }
            Met::Not { rank, why, lost: false } => {
                Err(format!("{}: {}", self.name_of(rank), clean_reason(&why)))
            }
        };
        self.say_to_all(&match &met {
            Ok(()) => Message::Go { meeting },
            Err(why) => Message::Void { meeting, why: why.clone() },
        });
        met
    }

    /// Waits until each rank arrived, as `take` reads its message (`None`: invalid), or was lost. Late ranks are lost.
    pub(super) fn wait_at(
        &mut self,
        barrier: &mut Barrier,
        take: &mut dyn FnMut(u32, Message) -> Option<Result<(), String>>,
    ) {
        let patience_ns = self.turn.as_ref().map_or(0, |turn| turn.patience_ns);
        let until_ns = self.system.monotonic_ns().saturating_add(patience_ns);
        for (rank, host) in &self.hosts {
            if host.lost.is_some() && barrier.missing().any(|missing| missing == *rank) {
                barrier.lose(*rank, "the host was already lost");
            }
        }
        while !barrier.is_complete() {
            let left_ns = until_ns.saturating_sub(self.system.monotonic_ns());
            let loss = match self.member.line.hear(Duration::from_nanos(left_ns), self.stop) {
                Some((rank, Heard::Gone(why))) => Some((rank, why)),
                Some((rank, Heard::Said(message))) => take_message(barrier, rank, *message, take),
                None if self.is_stopped() => return,
                None => {
                    let late: Vec<u32> = barrier.missing().collect();
                    let why = format!("no response within {}", show::duration(patience_ns as f64));
                    for rank in late {
                        barrier.lose(rank, &why);
                        self.lose(rank, &why);
                    }
                    return;
                }
            };
            if let Some((rank, why)) = loss {
                barrier.lose(rank, &why);
                self.lose(rank, &why);
            }
        }
    }

    /// Notes the loss of a rank, once. Without other ranks, or if the study stops on failure, the session is over.
    pub(super) fn lose(&mut self, rank: u32, why: &str) {
        self.member.line.let_go(rank);
        let (order, replicate) =
            self.turn.as_ref().map_or((0, 0), |turn| (turn.planned.order, turn.planned.replicate));
        let Some(host) = self.hosts.get_mut(&rank).filter(|host| host.lost.is_none()) else {
            return;
        };
        host.lost = Some(Lost { order, replicate, why: why.to_owned() });
        let text = format!("lost {}: {why}", host.words());
        self.news.push(text.clone());
        let left = self.others().len();
        if self.member.on_failure == OnFailure::Stop || left == 0 {
            self.over.get_or_insert(text);
        }
    }

    pub(super) fn others(&self) -> BTreeSet<u32> {
        let connected = self.hosts.values().filter(|host| host.lost.is_none() && host.rank != 0);
        connected.map(|host| host.rank).collect()
    }

    pub(super) fn name_of(&self, rank: u32) -> String {
        self.hosts.get(&rank).map_or_else(|| words(rank, ""), Host::words)
    }

    /// Receives one message of each rank, as accepted by `take`; any other message, loss or delay is an error.
    fn receive_from_each<T>(
        &mut self,
        ranks: &BTreeSet<u32>,
        wait: Duration,
        take: impl Fn(Message) -> Result<T, Message>,
    ) -> Result<BTreeMap<u32, T>, String> {
        let mut received = BTreeMap::new();
        let until_ns = self.system.monotonic_ns().saturating_add(wait.as_nanos() as u64);
        while received.len() < ranks.len() {
            let left_ns = until_ns.saturating_sub(self.system.monotonic_ns());
            let Some((rank, heard)) =
                self.member.line.hear(Duration::from_nanos(left_ns), self.stop)
            else {
                if self.is_stopped() {
                    return Err("interrupted".to_owned());
                }
                let late = ranks.iter().filter(|rank| !received.contains_key(*rank));
                let late: Vec<String> = late.map(|rank| self.name_of(*rank)).collect();
                let time = show::duration(wait.as_nanos() as f64);
                return Err(format!("{} sent no message within {time}", late.join(", ")));
            };
            let name = self.name_of(rank);
            match heard {
                Heard::Gone(why) => return Err(format!("lost {name}: {why}")),
                Heard::Said(message) => match take(*message) {
                    Ok(content) if ranks.contains(&rank) && !received.contains_key(&rank) => {
                        received.insert(rank, content);
                    }
                    Err(Message::Leaving { why }) => {
                        return Err(format!("{name}: {}", clean_reason(&why)));
                    }
                    _ => return Err(format!("{name} sent an invalid message")),
                },
            }
        }
        Ok(received)
    }

    /// Sends a message to all connected ranks; an unreachable rank is lost.
    pub(super) fn say_to_all(&mut self, message: &Message) {
        for rank in self.others() {
            if let Err(why) = self.member.line.say(rank, message) {
                self.lose(rank, &why);
            }
        }
    }

    fn say_to_each(&mut self, message: &Message) -> Result<(), String> {
        self.others().into_iter().try_for_each(|rank| self.say_or_fail(rank, message))
    }

    fn say_or_fail(&mut self, rank: u32, message: &Message) -> Result<(), String> {
        let said = self.member.line.say(rank, message);
        said.map_err(|why| format!("lost {}: {why}", self.name_of(rank)))
    }

    /// Ends the session of all ranks, and stores the remarks of their trust rules; `own` are those of rank 0.
    pub fn close(&mut self, why: Option<String>, own: Vec<HostSaid>, workloads: usize) {
        self.turn = None;
        // A rank lost from here on has completed all its trials: such a loss is not stored.
        let over = self.over.take();
        let hosts = self.hosts.clone();
        self.say_to_all(&Message::End { why });
        let mut remarks: BTreeMap<u32, Vec<HostSaid>> = BTreeMap::from([(0, own)]);
        let mut barrier = Barrier::new(self.others());
        let wait_ns = self.member.grace.max(HEARING).as_nanos() as u64;
        let until_ns = self.system.monotonic_ns().saturating_add(wait_ns);
        while !barrier.is_complete() {
            let left_ns = until_ns.saturating_sub(self.system.monotonic_ns());
            // Even after a stop request, wait briefly for their remarks.
            let never_stop = std::sync::atomic::AtomicBool::new(false);
            match self.member.line.hear(Duration::from_nanos(left_ns), &never_stop) {
                Some((rank, Heard::Said(message))) => match *message {
                    Message::Judged(said) => {
                        let said = said.into_iter().take(MOST_SAID).map(cleaned_remark);
                        remarks.insert(rank, said.collect());
                        let _ = barrier.arrive(rank, Ok(()));
                    }
                    Message::Leaving { why } => barrier.lose(rank, &why),
                    // Messages sent before the rank received the end.
                    _ => {}
                },
                Some((rank, Heard::Gone(why))) => barrier.lose(rank, &why),
                None => break,
            }
        }
        (self.hosts, self.over) = (hosts, over);
        for (rank, host) in &mut self.hosts {
            host.said = remarks.remove(rank).unwrap_or_else(|| remarks_of_unheard(workloads));
        }
    }
}

/// Why a rank with another purpose than rank 0 cannot join.
fn other_purpose(name: &str, purpose: FleetPurpose) -> String {
    let (there, here) = match purpose {
        FleetPurpose::Plan => ("only plans", "runs"),
        FleetPurpose::Run => ("runs", "only plans"),
    };
    format!("{name} {there} the study, and rank 0 {here} it; run the same command on all hosts")
}

/// Returns the surveys of a rank as all ranks use them, for a preview.
fn limited_surveys(own: &OfRank<'_>, common: &Common) -> OfHost {
    let limited = own.surveys.iter().zip(&common.surveys).map(|(survey, shared)| {
        let mut survey = survey.clone();
        shared.apply_to(&mut survey);
        survey.target = clean_reason(&survey.target);
        survey
    });
    OfHost { rank: own.rank, name: own.name.to_owned(), surveys: limited.collect() }
}

/// Lets a rank arrive with its message; returns the rank and why it is lost if the message is not valid here.
fn take_message(
    barrier: &mut Barrier,
    rank: u32,
    message: Message,
    take: &mut dyn FnMut(u32, Message) -> Option<Result<(), String>>,
) -> Option<(u32, String)> {
    if let Message::Leaving { why } = message {
        return Some((rank, format!("the host left: {}", clean_reason(&why))));
    }
    let why = match take(rank, message) {
        Some(readiness) => barrier.arrive(rank, readiness).err()?,
        None => "the host sent an invalid message",
    };
    Some((rank, why.to_owned()))
}

/// Remark on a host whose rules are unknown: it may have been disturbed.
fn remarks_of_unheard(workloads: usize) -> Vec<HostSaid> {
    let [rule, trust, text] = [FEWER_HOSTS, "suspect", UNHEARD].map(str::to_owned);
    let remark = HostSaid { workload: 0, rule, trust, text };
    (0..workloads).map(|workload| HostSaid { workload, ..remark.clone() }).collect()
}

fn cleaned_remark(said: HostSaid) -> HostSaid {
    let HostSaid { workload, rule, trust, text } = said;
    let (rule, trust) = (clean_reason(&rule), clean_reason(&trust));
    HostSaid { workload, rule, trust, text: clean_words(&text) }
}

/// Cleans and shortens a text of another host.
pub(super) fn clean_reason(text: &str) -> String {
    clean(text, LONGEST_REASON)
}

/// The same for rank 0, whose reasons include those of others.
pub(super) fn clean_words(text: &str) -> String {
    clean(text, LONGEST_WORDS)
}

fn clean(text: &str, most: usize) -> String {
    let one_line =
        text.chars().take(most).map(|sign| if sign.is_whitespace() { ' ' } else { sign });
    outside::page(&one_line.collect::<String>()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_one_line_that_no_terminal_obeys_and_are_not_cut_too_early() {
        assert_eq!(clean_reason("a\nb\u{1b}[2J"), "a b\\u{1b}[2J");
        assert_eq!(clean_reason(&"x".repeat(9000)).len(), LONGEST_REASON);
        assert_eq!(clean_words(&"x".repeat(9000)).len(), LONGEST_WORDS);
    }

    #[test]
    fn a_host_that_was_not_heard_vouches_for_nothing() {
        let said = remarks_of_unheard(2);
        assert_eq!(said.iter().map(|own| own.workload).collect::<Vec<_>>(), [0, 1]);
        assert!(said.iter().all(|own| own.trust == "suspect"));
    }
}
