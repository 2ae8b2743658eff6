//! The plan of a loaded link.

use std::sync::atomic::Ordering;

use assay_core::quantity::Time;
use assay_machine::system::System;
use assay_machine::system::network::{
    BitRate, Discipline, LinkJob, LinkRun, Load, PeerAt, PhaseJob, Shaped, Shaper, lab,
    on_the_wire, protocol, shown, token,
};
use serde::{Deserialize, Serialize};

use super::judge::{capacity, judge};
use super::{AROUND_NS, LAB, NetworkDetail, metrics, parameters};
use crate::measured::{Measured, RunResult};
use crate::place::Run;
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

const MILLION: u64 = 1_000_000;
/// The pilot's phase: a ramp until streams recover from initial losses, and the measured part.
const PILOT_RAMP_NS: u64 = 4_000_000_000;
const PILOT_NS: u64 = 6_000_000_000;
/// A warm-up does not have shorter phases.
const SHORTEST_NS: u64 = 2_000_000_000;

const NOT_SAID: &[&str] = &[
    "flent and ping do not report whether the load was active during the whole measurement",
    "for shaping commands, see the levels in assay plan --commands",
];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkPlan {
    /// The peer; `None` if unknown, then nothing runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    pub streams: u32,
    pub congestion: String,
    pub phases: Vec<Load>,
    pub phase_ns: u64,
    pub probe_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    pub shaper: Shaper,
    /// The upload rate on the wire that shares refer to, from the pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

impl NetworkPlan {
    fn jobs(&self) -> Vec<PhaseJob> {
        let job = |load: &Load| PhaseJob {
            load: *load,
            ramp_ns: super::ramp_ns(*load),
            time_ns: self.phase_ns,
        };
        self.phases.iter().map(job).collect()
    }

    /// Nanoseconds of a trial, including the time around its phases.
    pub(super) fn whole_ns(&self) -> u64 {
        self.jobs().iter().map(|job| job.whole_ns() + AROUND_NS).sum()
    }

    /// Loads the link, in the lab or with a peer, which needs the token from the environment.
    fn run_phases(&self, run: &Run<'_>, phases: &[PhaseJob]) -> Result<LinkRun, String> {
        let (peer, token) = match self.peer.as_deref() {
            None => return Err(no_peer()),
            Some(LAB) => (PeerAt::Lab, None),
            Some(address) => {
                (PeerAt::Address(address.to_owned()), Some(token::of_environment(run.system)?))
            }
        };
        let job = LinkJob {
            peer: &peer,
            token: token.as_ref(),
            streams: self.streams,
            congestion: &self.congestion,
            probe_ns: self.probe_ns,
            phases,
            stop: run.stop,
        };
        run.system.load_link(&job).map_err(|error| self.explain_loss(run.system, error.to_string()))
    }

    /// Adds to the error of a load that the shaped interface is missing, if so.
    fn explain_loss(&self, system: &dyn System, why: String) -> String {
        let Some(shaped) = self.shaping() else { return why };
        if tc_output(system, &shaped).is_some_and(|output| output.trim().is_empty()) {
            return format!("{}: interface not found; {why}", shaped.interface);
        }
        why
    }

    /// Nanoseconds to upload a million bytes on the wire.
    pub(super) fn pilot(&self, run: &Run<'_>) -> Result<u64, String> {
        let job = PhaseJob { load: Load::Up, ramp_ns: PILOT_RAMP_NS, time_ns: PILOT_NS };
        let link = self.run_phases(run, &[job])?;
        let up = link.phases.first().map_or(BitRate(0), |run| capacity(&run.up_bytes, job.ramp_ns));
        if up.0 == 0 && !link.stopped {
            return Err("no upload data reached the peer".to_owned());
        }
        // Bits times nanoseconds per second: divided by bits per second, this is nanoseconds.
        let bit_ns = MILLION * 8 * 1_000_000_000;
        Ok(bit_ns / on_the_wire(up).0.max(1))
    }

    /// The line of `tc` on the egress shaping; `None` without an interface, or if `tc` fails.
    fn tc_line(&self, system: &dyn System) -> Option<String> {
        let output = tc_output(system, &self.shaping()?)?;
        Some(assay_core::outside::spelled(output.lines().next()?.trim()).into_owned())
    }
}

fn tc_output(system: &dyn System, shaped: &Shaped) -> Option<String> {
    let words = shown(shaped.namespace.as_deref(), &shaped.interface);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    system.output_of("tc", &words).ok()
}

pub(super) fn no_peer() -> String {
    format!(
        "no peer; start `assay peer --listen ADDRESS:{port}` on another machine and use --set peer=ADDRESS:{port}, or \
         try --scratch",
        port = protocol::PORT
    )
}

impl PlannedWork for NetworkPlan {
    fn shaping(&self) -> Option<Shaped> {
        let in_lab = self.peer.as_deref() == Some(LAB);
        let interface = self.interface.clone()?;
        Some(Shaped {
            namespace: in_lab.then(|| lab::CLIENT.to_owned()),
            interface,
            shaper: self.shaper.clone(),
            base: self.rate,
        })
    }

    /// The commands for this machine, for an interface outside the lab.
    fn permanent_commands(&self) -> Vec<String> {
        let Some(rate) = self.shaper.rate(self.rate) else { return Vec::new() };
        let in_lab = self.peer.as_deref() == Some(LAB);
        let interface = self.interface.as_deref().filter(|_| !in_lab).unwrap_or("INTERFACE");
        let line = |discipline: Discipline| {
            format!("with {}: {}", discipline.means.name(), discipline.by_hand(interface))
        };
        let mut lines: Vec<String> =
            self.shaper.candidates(self.rate).into_iter().map(line).collect();
        lines.push(format!(
            "on a router with sqm-scripts: option upload '{}', option script 'piece_of_cake.qos'",
            rate.0 / 1000
        ));
        lines
    }

    fn words(&self) -> String {
        let phases: Vec<&str> = self.phases.iter().map(|load| load.name()).collect();
        let peer = self.peer.as_deref().unwrap_or("an unspecified peer");
        let mut shaped = String::new();
        if !self.shaper.is_none() {
            let interface = self.interface.as_deref().unwrap_or_default();
            shaped = format!("; {interface} limited to {}", self.shaper);
            if self.shaper.is_share()
                && let Some(rate) = self.shaper.rate(self.rate)
            {
                shaped = format!("{shaped} = {rate}");
            }
        }
        format!(
            "link to {peer}: {}, {} each, {} TCP streams per direction ({}), a probe every {}{shaped}",
            phases.join(", "),
            Time(self.phase_ns),
            self.streams,
            self.congestion,
            Time(self.probe_ns)
        )
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let began_ns = run.system.monotonic_ns();
        let shaped = self.tc_line(run.system);
        let link = self.run_phases(run, &self.jobs())?;
        let stopped = link.stopped || run.stop.load(Ordering::Relaxed);
        let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
        if stopped {
            return Ok(RunResult::new(measured(NetworkDetail::default(), 0, elapsed_ns), stopped));
        }
        let judged = judge(link, self.probe_ns)?;
        let (values, absent) = judged.values;
        let detail = NetworkDetail { shaped, ..judged.detail };
        let measured =
            Measured { values, absent, ..measured(detail, judged.window_ns, elapsed_ns) };
        let result = RunResult::new(measured, stopped);
        Ok(RunResult { histograms: judged.histograms, series: judged.series, ..result })
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        metrics::ADDED.name
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        let phase_ns = (self.phase_ns / 2).max(SHORTEST_NS.min(self.phase_ns));
        Some(Self { phase_ns, ..self.clone() }.into())
    }

    /// Stores the rate that shares refer to; reduces nothing.
    fn drain_within(
        &mut self,
        operation_ns: u64,
        _: u64,
        is_level: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        if operation_ns == 0 {
            return None;
        }
        // Further digits than kilobits are not significant.
        let rate = BitRate(BitRate::from_bytes(MILLION, operation_ns).0 / 1000 * 1000);
        self.rate = Some(rate);
        (is_level(parameters::SHAPER) && self.shaper.is_none()).then(|| {
            format!("shares refer to the measured upload capacity of {rate}, including headers")
        })
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let peer = self.peer.as_deref().unwrap_or("PEER");
        let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
        let seconds = (self.phase_ns / 1_000_000_000).max(1).to_string();
        let streams = self.streams.to_string();
        let line = format!("upload_streams={streams}");
        let words = ["flent", "tcp_nup", "-l", &seconds, "-H", host, "--test-parameter", &line];
        let mut remarks = vec![
            "run netserver (netperf) on the other end; the probe is ping".to_owned(),
            format!(
                "congestion control: sysctl net.ipv4.tcp_congestion_control={}",
                self.congestion
            ),
        ];
        if let Some(shaped) = self.shaping()
            && let Some(first) = shaped.shaper.candidates(shaped.base).first()
        {
            let acts = first.acts(shaped.namespace.as_deref(), &shaped.interface);
            remarks.extend(acts.iter().map(|act| format!("first: {act}")));
        }
        if self.shaper.is_share() && self.rate.is_none() {
            let interface = self.interface.as_deref().unwrap_or_default();
            remarks.push(format!(
                "first, limit {interface} to {} of the measured upload capacity of the link (tc qdisc)",
                self.shaper
            ));
        }
        remarks.extend(how.note.map(str::to_owned));
        ManualCommand { words: words.map(str::to_owned).to_vec(), remarks }
    }

    fn not_said(&self) -> &'static [&'static str] {
        NOT_SAID
    }
}

pub(super) fn measured(detail: NetworkDetail, window_ns: u64, elapsed_ns: u64) -> Measured {
    Measured { window_ns, elapsed_ns, ..Measured::from_detail(detail) }
}
