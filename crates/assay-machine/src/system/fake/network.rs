//! The network of a fake machine: namespaces, disciplines, and a link with a deep queue unless it is shaped.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::{Fake, Node};
use crate::system::Errno;
use crate::system::network::lab;
use crate::system::network::{
    HANDLE, LinkJob, LinkRun, Load, NetworkProbe, PeerAt, PhaseJob, PhaseRun, SLICE_NS, is_own,
};

/// What `tc` prints of an interface without a discipline of Assay.
const USUAL: &str = "qdisc noqueue 0: root refcnt 2 \n";
/// Round-trip times: without load, with a deep queue, and with a short one.
const IDLE_NS: u64 = 100_000;
const DEEP_NS: u64 = 600_000_000;
const SHORT_NS: u64 = 18_000_000;

/// Disciplines of interfaces, by namespace (empty for the host's) and name.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeNetwork {
    shown: BTreeMap<(String, String), String>,
    /// Kinds of discipline that this kernel does not have.
    unknown: Vec<String>,
    pub(super) lost: Option<String>,
}

impl Fake {
    pub fn with_interface(&self, name: &str) -> &Self {
        self.install("tc").install("ip");
        self.lock().network.shown.insert((String::new(), name.to_owned()), USUAL.to_owned());
        self
    }

    /// Sets the output of `tc` for an interface, or removes it.
    pub fn set_discipline(&self, name: &str, shown: Option<&str>) -> &Self {
        let key = (String::new(), name.to_owned());
        match shown {
            Some(text) => drop(self.lock().network.shown.insert(key, text.to_owned())),
            None => drop(self.lock().network.shown.remove(&key)),
        }
        self
    }

    pub fn without_disciplines(&self, kinds: &[&str]) -> &Self {
        self.lock().network.unknown = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        self
    }

    pub fn lose_peer(&self, why: &str) -> &Self {
        self.lock().network.lost = Some(why.to_owned());
        self
    }

    /// Output of `tc` for an interface and of `ip` for a namespace without processes.
    pub(super) fn network_output(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let (space, words) = split_namespace(arguments);
        let state = self.lock();
        if !state.programs.contains(program) {
            return None;
        }
        let shown = &state.network.shown;
        match (program, words) {
            ("tc", ["qdisc", "show", "dev", interface]) => {
                let key = (space.to_owned(), (*interface).to_owned());
                Some(shown.get(&key).cloned().unwrap_or_default())
            }
            ("ip", ["netns", "pids", _]) => Some(String::new()),
            ("ip", ["-brief", "link", "show", "up"]) => {
                let own = shown.keys().filter(|(known, _)| known == space);
                let lines: Vec<String> = own.map(|(_, name)| format!("{name}@if2 UP\n")).collect();
                Some(lines.concat())
            }
            _ => None,
        }
    }

    pub(super) fn tc(&self, arguments: &[String]) -> io::Result<()> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (space, words) = split_namespace(&words);
        let mut state = self.lock();
        let network = &mut state.network;
        let key_of = |interface: &str| (space.to_owned(), interface.to_owned());
        match words {
            ["qdisc", "add", "dev", interface, "root", "handle", HANDLE, kind, ..] => {
                if network.unknown.iter().any(|unknown| unknown == kind) {
                    return Err(io::Error::other("Error: Specified qdisc kind is unknown."));
                }
                let shown = network.shown.get_mut(&key_of(interface)).ok_or(Errno::NODEV)?;
                if is_own(shown) {
                    return Err(Errno::EXIST.into());
                }
                *shown = format!("qdisc {kind} {HANDLE} root refcnt 2 \n");
                Ok(())
            }
            ["qdisc", "add", _, _, "parent", _, kind, ..]
                if network.unknown.iter().any(|unknown| unknown == kind) =>
            {
                Err(io::Error::other("Error: Specified qdisc kind is unknown."))
            }
            ["qdisc", "del", "dev", interface, "root"] => {
                let shown = network.shown.get_mut(&key_of(interface)).ok_or(Errno::NODEV)?;
                USUAL.clone_into(shown);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn ip(&self, arguments: &[String]) -> io::Result<()> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (space, words) = split_namespace(&words);
        let mut state = self.lock();
        let file = |name: &str| Path::new(lab::PLACE).join(name);
        match words {
            ["netns", "add", name] => {
                if state.tree.nodes.contains_key(&file(name)) {
                    return Err(Errno::EXIST.into());
                }
                state.tree.put(&file(name), Node::File(vec![Vec::new()]));
            }
            ["netns", "del", name] => {
                if !state.tree.nodes.contains_key(&file(name)) {
                    return Err(Errno::NOENT.into());
                }
                state.tree.remove(&file(name));
                state.network.shown.retain(|(space, _), _| space != name);
            }
            ["link", "add", interface, ..] => {
                let key = (space.to_owned(), (*interface).to_owned());
                state.network.shown.insert(key, USUAL.to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// A run on a link with a deep queue unless its egress is shaped.
    pub(super) fn run_link(&self, job: &LinkJob<'_>) -> io::Result<LinkRun> {
        let mut state = self.lock();
        if let Some(why) = &state.network.lost {
            return Err(io::Error::other(why.clone()));
        }
        let own = matches!(job.peer, PeerAt::Lab);
        if own && !state.tree.nodes.contains_key(&Path::new(lab::PLACE).join(lab::CLIENT)) {
            return Err(Errno::NOENT.into());
        }
        let shaped = state.network.shown.values().any(|shown| is_own(shown));
        let mut began_ns = 0;
        let phases = job.phases.iter().map(|phase| {
            let run = simulate_phase(*phase, began_ns, job.probe_ns, shaped);
            began_ns += phase.whole_ns();
            run
        });
        let phases: Vec<PhaseRun> = phases.collect();
        state.clock += std::time::Duration::from_nanos(began_ns);
        let peer = match job.peer {
            PeerAt::Address(address) => address.clone(),
            PeerAt::Lab => lab::ADDRESS.to_owned(),
        };
        Ok(LinkRun { phases, peer, congestion: job.congestion.to_owned(), stopped: false })
    }
}

fn simulate_phase(job: PhaseJob, began_ns: u64, probe_ns: u64, shaped: bool) -> PhaseRun {
    let rtt_ns = match (job.load, shaped) {
        (Load::Idle, _) => IDLE_NS,
        (Load::Down, _) | (_, true) => SHORT_NS,
        (_, false) => DEEP_NS,
    };
    let sent = (0..job.whole_ns()).step_by(probe_ns.max(1) as usize);
    let probes =
        sent.map(|sent_ns| NetworkProbe { sent_ns, rtt_ns: Some(rtt_ns + sent_ns % 1000) });
    let slices = job.whole_ns().div_ceil(SLICE_NS) as usize;
    let bytes = |goes: bool, rate: u64| {
        vec![if goes { rate / 8 / (1_000_000_000 / SLICE_NS) } else { 0 }; slices]
    };
    PhaseRun {
        job,
        began_ns,
        probes: probes.collect(),
        up_bytes: bytes(job.load.goes_up(), lab::UP.0),
        down_bytes: bytes(job.load.goes_down(), lab::DOWN.0),
    }
}

/// The namespace of a command line, and the words after it.
fn split_namespace<'w>(words: &'w [&'w str]) -> (&'w str, &'w [&'w str]) {
    match words {
        ["-n", space, rest @ ..] => (space, rest),
        _ => ("", words),
    }
}
