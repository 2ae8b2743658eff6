//! A network link between this machine and a peer: load and results, traffic shaping, and the protocol between both
//! ends. This module opens no sockets: the machine does ([`System::load_link`](super::System::load_link)).

pub mod handshake;
pub mod lab;
pub mod ledger;
pub mod protocol;
mod rate;
mod shaper;
pub mod token;

use std::fmt;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

pub use handshake::Token;
pub use rate::BitRate;
pub use shaper::{Discipline, HANDLE, Means, Shaper, is_own, own_discipline, root_of};

/// Nanoseconds of a slice in which bytes are counted.
pub const SLICE_NS: u64 = 100_000_000;
pub const MOST_STREAMS: u32 = 64;
/// Bytes on the wire of a full segment, its Ethernet header counted, as shapers count them.
const WIRE_BYTES: f64 = 1514.0;
/// Payload bytes of a packet: without the headers of IPv4 and TCP with timestamps.
const DATA_BYTES: f64 = 1448.0;

/// Wire rate of a data rate, in full segments.
pub fn on_the_wire(data: BitRate) -> BitRate {
    BitRate((data.0 as f64 * WIRE_BYTES / DATA_BYTES).round() as u64)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    Idle,
    Up,
    Down,
    Both,
}

impl Load {
    pub const ALL: [Self; 4] = [Self::Idle, Self::Up, Self::Down, Self::Both];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    pub const fn goes_up(self) -> bool {
        matches!(self, Self::Up | Self::Both)
    }

    pub const fn goes_down(self) -> bool {
        matches!(self, Self::Down | Self::Both)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerAt {
    /// `HOST:PORT` of `assay peer`.
    Address(String),
    Lab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseJob {
    pub load: Load,
    /// Ramp time in nanoseconds, not counted.
    pub ramp_ns: u64,
    pub time_ns: u64,
}

impl PhaseJob {
    pub const fn whole_ns(&self) -> u64 {
        self.ramp_ns.saturating_add(self.time_ns)
    }
}

#[derive(Clone, Copy)]
pub struct LinkJob<'a> {
    pub peer: &'a PeerAt,
    /// Shared token; `None` if the lab draws one.
    pub token: Option<&'a Token>,
    pub streams: u32,
    /// Their congestion control, by the kernel's name.
    pub congestion: &'a str,
    pub probe_ns: u64,
    pub phases: &'a [PhaseJob],
    pub stop: &'a AtomicBool,
}

/// One probe: a datagram that the peer sends back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkProbe {
    /// When it was sent, nanoseconds since its phase began.
    pub sent_ns: u64,
    /// Round-trip time; `None` if lost.
    pub rtt_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseRun {
    pub job: PhaseJob,
    /// When it began, nanoseconds since the run began.
    pub began_ns: u64,
    pub probes: Vec<NetworkProbe>,
    /// Bytes of the streams that reached the peer, by slice since the phase began.
    pub up_bytes: Vec<u64>,
    /// Bytes of the streams that reached this machine.
    pub down_bytes: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRun {
    pub phases: Vec<PhaseRun>,
    pub peer: String,
    /// Congestion control of the streams, according to the kernel.
    pub congestion: String,
    pub stopped: bool,
}

/// The way out of an interface, as a trial wants it shaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaped {
    /// Namespace of the interface; `None` for the host's.
    pub namespace: Option<String>,
    pub interface: String,
    pub shaper: Shaper,
    pub base: Option<BitRate>,
}

/// `tc` arguments that select the namespace.
pub fn within(namespace: Option<&str>) -> Vec<String> {
    namespace.map_or_else(Vec::new, |name| vec!["-n".to_owned(), name.to_owned()])
}

/// Words of `tc` that show the disciplines of an interface.
pub fn shown(namespace: Option<&str>, interface: &str) -> Vec<String> {
    let own = ["qdisc", "show", "dev", interface].map(str::to_owned);
    within(namespace).into_iter().chain(own).collect()
}

impl fmt::Display for Shaped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} shaped: {}", self.interface, self.shaper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_of_1448_bytes_takes_1514_on_the_wire() {
        assert_eq!(on_the_wire(BitRate(1448)), BitRate(1514));
        assert_eq!(on_the_wire(BitRate(14_480_000)), BitRate(15_140_000));
        assert_eq!(on_the_wire(BitRate(1)), BitRate(1), "rounded");
    }

    #[test]
    fn a_phase_is_its_ramp_and_what_counts() {
        let job = PhaseJob { load: Load::Up, ramp_ns: 2, time_ns: 5 };
        assert_eq!(job.whole_ns(), 7);
        assert_eq!(PhaseJob { time_ns: u64::MAX, ..job }.whole_ns(), u64::MAX);
    }

    #[test]
    fn tc_is_told_in_which_name_space_where_there_is_one() {
        assert_eq!(shown(None, "eth0"), ["qdisc", "show", "dev", "eth0"]);
        assert_eq!(shown(Some("ns"), "eth0"), ["-n", "ns", "qdisc", "show", "dev", "eth0"]);
        let shaper: Shaper = "95%".parse().unwrap();
        let shaped = Shaped { namespace: None, interface: "eth0".to_owned(), shaper, base: None };
        assert_eq!(shaped.to_string(), "eth0 shaped: 95%");
    }

    /// The lab of the measurements: five megabits with 600 ms of buffer.
    #[test]
    fn the_laboratory_is_that_of_the_measurements() {
        let own = "lo UNKNOWN 00:00\nto-client@if2 UP 02:fc\nto-server@if2 UP 02:fc\n";
        assert_eq!([lab::strange(own), lab::strange("")], [None; 2]);
        assert_eq!(lab::strange(&format!("{own}eth0@if9 UP 02:fc\n")), Some("eth0"));
        // Each buffer has its documented depth.
        assert_eq!(lab::UP.bytes_in(600_000_000), lab::UP_BYTES);
        assert_eq!(lab::DOWN.bytes_in(20_000_000), lab::DOWN_BYTES);
        assert!(lab::words().contains("5 Mbit/s up (buffer: 375000 bytes) and 20 Mbit/s down"));
    }
}
