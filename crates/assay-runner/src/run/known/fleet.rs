//! A fleet in one process: one thread per rank, each on a fake machine with the simulated drive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::machine;
use crate::fleet::message::{FleetPurpose, Message};
use crate::fleet::ranks::RankPlace;
use crate::fleet::{Heard, RankLine};
use crate::run::fleet::FleetMember;
use crate::run::{Finished, Request, run};
use assay_core::failure::Outcome;
use assay_study::file::OnFailure;
use assay_study::file::text;
use assay_study::results::bundle::{self, Stored};

pub const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 3
margin     = "5%"
repeat_disturbed = false

[factors]
queue_depth = ["1", "4"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "50 ms" }
"#;

pub const DRIVE: &str = "simulated:fixed,mean=100us";

struct FakeWire {
    own: u32,
    to: BTreeMap<u32, Sender<(u32, Heard)>>,
    from: Receiver<(u32, Heard)>,
    /// It ends after this number of messages.
    ends: Option<(usize, KnownEnding)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownEnding {
    /// Its process dies: the connection is closed.
    Dies,
    /// It hangs: the connection stays open without messages.
    Stops,
    Babbles,
}

impl RankLine for FakeWire {
    fn say(&mut self, to: u32, message: &Message) -> Result<(), String> {
        let mut message = message.clone();
        if let Some((left, ending)) = &mut self.ends {
            if *left == 0 {
                match ending {
                    KnownEnding::Dies => {
                        let gone = Heard::Gone("its connection is closed".to_owned());
                        let _ = self.to.remove(&to).map(|way| way.send((self.own, gone)));
                        return Err("it has died".to_owned());
                    }
                    KnownEnding::Stops => return Ok(()),
                    KnownEnding::Babbles => message = Message::Go { meeting: 9999 },
                }
            } else {
                *left -= 1;
            }
        }
        let way = self.to.get(&to).ok_or("its connection is closed")?;
        let said = Heard::Said(Box::new(message));
        way.send((self.own, said)).map_err(|_| "its connection is closed".to_owned())
    }

    fn hear(&mut self, wait: Duration, _: &AtomicBool) -> Option<(u32, Heard)> {
        match self.from.recv_timeout(wait) {
            Ok(heard) => Some(heard),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                Some((0, Heard::Gone("all are gone".to_owned())))
            }
        }
    }

    fn let_go(&mut self, rank: u32) {
        if let Some(way) = self.to.remove(&rank) {
            let _ = way.send((self.own, Heard::Gone("its connection is closed".to_owned())));
        }
    }
}

impl Drop for FakeWire {
    fn drop(&mut self) {
        for way in self.to.values() {
            let _ = way.send((self.own, Heard::Gone("its connection is closed".to_owned())));
        }
    }
}

pub struct Came {
    pub finished: Outcome<Finished>,
    pub kept: Vec<Stored>,
}

#[derive(Clone)]
pub struct KnownFleet {
    pub study: &'static str,
    pub target: &'static str,
    pub ends: Option<(usize, KnownEnding)>,
}

pub const USUAL: KnownFleet = KnownFleet { study: STUDY, target: DRIVE, ends: None };

fn one(
    wire: FakeWire,
    ranks: u32,
    given: &KnownFleet,
    on_failure: OnFailure,
    grace: Duration,
) -> Came {
    let machine = machine();
    let member = FleetMember {
        place: RankPlace { rank: wire.own, ranks },
        name: format!("n{}", wire.own),
        line: Box::new(wire),
        purpose: FleetPurpose::Run,
        on_failure,
        grace,
        wait: Duration::from_secs(20),
    };
    let study = text::parse("test", given.study).unwrap();
    let request = Request {
        results: Some(PathBuf::from("/results")),
        fleet: Some(member),
        ..Request::bare(study, vec![given.target.to_owned()])
    };
    let finished = run(&machine, request, &AtomicBool::new(false), &mut |_| {});
    let results = Path::new("/results");
    let ids = bundle::ids(&machine, results);
    let kept = ids.iter().map(|id| bundle::read(&machine, &results.join(id)).unwrap());
    Came { finished, kept: kept.collect() }
}

pub fn fleet(given: &[KnownFleet], on_failure: OnFailure) -> Vec<Came> {
    let ranks = given.len() as u32;
    let ways: Vec<_> = given.iter().map(|_| channel()).collect();
    let to: BTreeMap<u32, Sender<(u32, Heard)>> =
        (0..).zip(&ways).map(|(rank, (way, _))| (rank, way.clone())).collect();
    let wires: Vec<FakeWire> = (0..)
        .zip(ways)
        .map(|(own, (_, from)): (u32, _)| {
            let known = |rank: &u32| (own == 0) != (*rank == 0);
            let to = to.iter().filter(|(rank, _)| known(rank));
            let to = to.map(|(rank, way)| (*rank, way.clone())).collect();
            FakeWire { own, to, from, ends: given[own as usize].ends }
        })
        .collect();
    drop(to);
    // Only a hanging rank needs a short timeout; a busy machine must not lose the others.
    let stops =
        given.iter().any(|own| own.ends.is_some_and(|(_, ending)| ending == KnownEnding::Stops));
    let grace = Duration::from_secs(if stops { 2 } else { 60 });
    thread::scope(|scope| {
        let all: Vec<_> = wires
            .into_iter()
            .zip(given)
            .map(|(wire, given)| scope.spawn(move || one(wire, ranks, given, on_failure, grace)))
            .collect();
        all.into_iter().map(|own| own.join().unwrap()).collect()
    })
}

/// Messages of a rank before its first trial: arrival, survey, proof.
pub const BEFORE: usize = 3;
/// Messages per trial: ready twice, and the counts.
pub const A_TRIAL: usize = 3;

/// The result of rank 0 of three that continues without rank 2, which was lost in the fifth trial.
pub fn one_of_three_lost() -> Finished {
    let lost = KnownFleet { ends: Some((BEFORE + 4 * A_TRIAL + 1, KnownEnding::Dies)), ..USUAL };
    fleet(&[USUAL, USUAL, lost], OnFailure::Continue).into_iter().next().unwrap().finished.unwrap()
}
