//! The parameters of a loaded link, one entry each.

use assay_core::catalogue::keys::Form;
use assay_core::quantity::Time;
use assay_machine::system::network::{Load, MOST_STREAMS, Shaper, lab, protocol};
use serde::{Deserialize, Serialize};

use crate::keys::{choice, keys, parse_whole, work};

pub(super) const PEER: &str = "peer";
pub(super) const INTERFACE: &str = "interface";
pub(super) const SHAPER: &str = "shaper";

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "snake_case")]
    pub struct NetworkSpec {
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String> = None => {
            words: "address of the `assay peer`",
            form: Form::Text,
            example: "peer = \"192.168.1.2:7710\"",
            factor: work(
                "`HOST:PORT`, with an IPv6 address in brackets; or `local` for temporary namespaces of this \
                 machine. Both ends need the same token, in ASSAY_PEER_TOKEN or in the file named by \
                 ASSAY_PEER_TOKEN_FILE.",
                "[\"192.168.1.2:7710\"]",
                set_peer,
            ),
        }
        // Fewer streams do not fill a buffer within one kernel.
        streams: u32 = 16 => {
            words: "number of TCP streams per direction that load the link",
            form: Form::Whole { least: 1, most: MOST_STREAMS as u64 },
            example: "streams = 16",
            factor: work(
                "A whole number from 1 to 64. A single stream may not fill a buffer.",
                "[1, 16]",
                |own, text| Ok(own.streams = parse_whole(text, MOST_STREAMS)?),
            ),
        }
        // BBR limits queues itself and would hide a deep buffer.
        congestion_control: String = "cubic".to_owned() => {
            words: "TCP congestion control on both ends",
            form: Form::Text,
            example: "congestion_control = \"cubic\"",
            factor: work(
                "The kernel's name, such as `cubic`, `reno` or `bbr`; Assay sets and verifies it per stream. BBR \
                 limits queueing itself and therefore hides a deep buffer.",
                "[\"cubic\", \"bbr\"]",
                set_congestion,
            ),
        }
        phases: Vec<Load> = Load::ALL.to_vec() => {
            words: "load phases, in order; always include idle",
            form: Form::Names(|| vec!["idle", "up", "down", "both"]),
            example: "phases = [\"idle\", \"up\"]",
        }
        phase_time: Time = Time(6_000_000_000) => {
            words: "measurement window of each phase, after the load has filled the link",
            form: Form::Time { least: Time(1_000_000_000) },
            example: "phase_time = \"6 s\"",
        }
        probe_interval: Time = Time(20_000_000) => {
            words: "interval between probe datagrams",
            form: Form::Time { least: Time(5_000_000) },
            example: "probe_interval = \"20 ms\"",
        }
        // Levels of the shaper are tested on the lab's interface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interface: Option<String> = Some(lab::INTERFACE.to_owned()) => {
            words: "interface whose outgoing traffic Assay shapes",
            form: Form::Text,
            example: "interface = \"eth0\"",
            factor: choice(
                "The kernel's name; `ip route get ADDRESS` prints the interface that leads to the peer.",
                "[\"eth0\"]",
                set_interface,
            ),
        }
        #[serde(skip_serializing_if = "Shaper::is_none")]
        shaper: Shaper = Shaper::NONE => {
            words: "outgoing rate limit of the interface, which moves the queue from the modem to this machine and \
                    shortens it (as root)",
            form: Form::Text,
            example: "shaper = \"95%\"",
            factor: choice(
                "`none`; a share of the measured upload rate, such as `95%`; or a rate such as `4 Mbit/s`. Assay uses \
                 cake if the kernel has it, otherwise HTB with fq_codel, otherwise TBF with a 20 ms queue. A prefix \
                 selects the method: `cake:95%`, `fq_codel:95%`, `tbf:95%`, or `deep:95%` for a plain rate limit with \
                 a queue of 750 ms. Assay sets the limit before each trial, then verifies and removes it.",
                "[\"none\", \"80%\", \"95%\"]",
                |spec: &mut NetworkSpec, text| Ok(spec.shaper = text.parse()?),
            )
            .written(written),
        }
    }
}

fn set_peer(spec: &mut NetworkSpec, text: &str) -> Result<(), String> {
    if text == super::LAB {
        spec.be_in_lab();
        return Ok(());
    }
    let port = text.rsplit_once(':').and_then(|(host, port)| {
        port.parse::<u16>().ok().filter(|port| *port > 0 && !host.is_empty())
    });
    if port.is_none() {
        return Err(format!(
            "`{text}` is not a peer address; example: 192.168.1.2:{}, or lab",
            protocol::PORT
        ));
    }
    spec.peer = Some(text.to_owned());
    Ok(())
}

fn set_congestion(spec: &mut NetworkSpec, text: &str) -> Result<(), String> {
    if !protocol::is_congestion(text) {
        return Err(format!("unknown congestion control `{text}`; use cubic, reno or bbr"));
    }
    text.clone_into(&mut spec.congestion_control);
    Ok(())
}

/// A share or a rate, with the prefix for its queue discipline.
fn written(text: &str) -> Option<String> {
    text.parse::<Shaper>().ok().map(|shaper| shaper.to_string())
}

fn set_interface(spec: &mut NetworkSpec, text: &str) -> Result<(), String> {
    let fits = |sign: char| sign.is_ascii_graphic() && !['/', ':', '%'].contains(&sign);
    if !(1..=15).contains(&text.len()) || !text.chars().all(fits) || text.starts_with('-') {
        return Err(format!("`{text}` is not an interface name; use one from `ip link`"));
    }
    spec.interface = Some(text.to_owned());
    Ok(())
}
