//! A network link: round-trip times while it is idle, and while streams fill it up, down and both ways.

mod detail;
mod grade;
mod judge;
mod lossy;
mod metrics;
mod parameters;
mod planned;
mod tell;
#[cfg(test)]
mod tests;

use assay_core::catalogue::About;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_machine::system::network::{Load, lab};

use super::place::{Offer, Run};
use super::tell::{OwnRule, ShownNumbers};
use super::workload::{Basis, Complaints, InStudy, LinkNeeds, WorkloadKind, WorkloadSpec};
use super::{PlannedWork as _, Work, io};

pub use detail::{NetworkDetail, PhaseDetail};
pub use metrics::ADDED;
pub use parameters::NetworkSpec;
pub use planned::NetworkPlan;

/// The lab peer, as named in study files.
pub const LAB: &str = "local";
/// Phase of a quick check: enough probes for a p95, and some more.
const QUICK_PHASE: Time = Time(2_500_000_000);
const QUICK_PROBE: Time = Time(8_000_000);
/// Time until streams fill the buffer.
const RAMP_NS: u64 = 2_000_000_000;
/// Time before an idle link is measured.
const IDLE_RAMP_NS: u64 = 200_000_000;
/// Time per phase for connecting, and for draining the queue.
const AROUND_NS: u64 = 1_500_000_000;

const fn ramp_ns(load: Load) -> u64 {
    match load {
        Load::Idle => IDLE_RAMP_NS,
        Load::Up | Load::Down | Load::Both => RAMP_NS,
    }
}

impl NetworkSpec {
    /// What the workload needs over all arms: the levels of a factor replace its own key.
    pub(super) fn link_needs(&self, study: &InStudy<'_>) -> LinkNeeds {
        let levels_of = |name: &str| study.factors.get(name);
        let has_peer = self.peer.is_some() || levels_of(parameters::PEER).is_some();
        let interface_levels = levels_of(parameters::INTERFACE);
        let own_interface = || self.interface.iter().cloned().collect();
        LinkNeeds {
            in_lab: self.is_in_lab(),
            changes: self.is_in_lab() || self.interface.is_some() || interface_levels.is_some(),
            to_nobody: (!has_peer).then(planned::no_peer),
            interfaces: interface_levels.cloned().unwrap_or_else(own_interface),
            shaped: !self.shaper.is_none() || levels_of(parameters::SHAPER).is_some(),
        }
    }

    pub fn has_remote_peer(&self) -> bool {
        self.peer.is_some() && !self.is_in_lab()
    }

    fn is_in_lab(&self) -> bool {
        self.peer.as_deref() == Some(LAB)
    }

    fn be_in_lab(&mut self) {
        self.peer = Some(LAB.to_owned());
        self.interface = Some(lab::INTERFACE.to_owned());
    }

    pub fn planned(&self) -> NetworkPlan {
        NetworkPlan {
            peer: self.peer.clone(),
            streams: self.streams,
            congestion: self.congestion_control.clone(),
            phases: self.phases.clone(),
            phase_ns: self.phase_time.0,
            probe_ns: self.probe_interval.0,
            interface: self.interface.clone(),
            shaper: self.shaper.clone(),
            rate: None,
        }
    }

    fn obstacle(&self) -> Option<String> {
        if !self.phases.contains(&Load::Idle) {
            return Some("added latency requires an idle phase; add idle to phases".into());
        }
        if self.phases.len() < 2 {
            return Some("added latency requires load; add up, down or both to phases".into());
        }
        if !self.shaper.is_none() && self.interface.is_none() {
            return Some("shaper needs an interface, such as interface = \"eth0\"".into());
        }
        None
    }
}

impl WorkloadKind for NetworkSpec {
    const ABOUT: About = About {
        name: "network",
        summary: "latency of a network link, idle and under load",
        text: "Assay sends datagrams at a fixed rate to a peer (`assay peer` on the other end), which returns them. \
               One phase measures the idle link. Further phases load the link with TCP streams: upload, download, and \
               both. Assay fixes the number of streams and their congestion control, because an algorithm that limits \
               queueing would hide a deep buffer. Assay counts only probes sent while load data arrives. Assay reports \
               latency together with probe loss and the achieved rates. A trial fails if the load stops, the probe \
               stalls or the peer does not respond. With `peer = \"local\"`, as set by `--scratch`, Assay creates and \
               removes three network namespaces with a slow link and a deep buffer.",
    };
    const EXAMPLE: &'static str = "network = { peer = \"192.168.1.2:7710\", streams = 16 }";
    const METRICS: &'static [&'static [Metric]] = metrics::METRICS;
    const JUDGED: &'static [Basis] = &[Basis::Machine];
    const SHOWN: Option<&'static ShownNumbers> = Some(&tell::SHOWN);
    const RULES: &'static [OwnRule] = &[lossy::LOSSY];
}

impl WorkloadSpec for NetworkSpec {
    fn words(&self) -> String {
        self.planned().words()
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        let varies = |name: &str| study.factors.contains_key(name);
        if self.interface.is_none()
            && !self.is_in_lab()
            && varies(parameters::SHAPER)
            && !varies(parameters::INTERFACE)
        {
            return;
        }
        if let Some(obstacle) = self.obstacle().filter(|_| !varies(parameters::INTERFACE)) {
            to.key(path, obstacle, None);
        }
    }

    fn move_to_lab(&mut self) -> bool {
        self.be_in_lab();
        true
    }

    fn time(&self) -> Option<Time> {
        Some(Time(self.planned().whole_ns()))
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        self.phase_time = self.phase_time.min(QUICK_PHASE);
        self.probe_interval = self.probe_interval.min(QUICK_PROBE);
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        if offer.engine.name == io::Engine::Simulated {
            return Err("a simulated drive has no network".to_owned());
        }
        self.obstacle().map_or_else(|| Ok((self.planned().into(), None)), Err)
    }

    /// Time to upload a million bytes, which gives the rate that shares refer to.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        self.planned().pilot(run).map(Some)
    }

    fn costs_like(&self, other: &Work) -> bool {
        let link = |spec: &Self| (spec.peer.clone(), spec.streams, spec.congestion_control.clone());
        Self::of(other).is_some_and(|other| link(other) == link(self))
    }
}
