//! The keys of `network`, and what of it may vary.

#![allow(clippy::unit_arg, reason = "a row sets one field or says why not, in one line")]

use assay_base::catalogue::keys::{Fields, Form, field};
use assay_base::quantity::Time;
use assay_system::system::network::{MOST_STREAMS, protocol};

use super::Asked;
use crate::work::kind::OwnParameter;

/// The factor that shapes the way out.
pub(super) const SHAPER: &str = "shaper";

/// Words of `network`.
pub static KEYS: Fields = Fields {
    label: "network",
    rows: &[
        PEER.key(Form::Text, "peer = \"192.168.1.2:7710\""),
        STREAMS.key(Form::Whole { least: 1, most: MOST_STREAMS as u64 }, "streams = 16"),
        CONGESTION.key(Form::Text, "congestion = \"cubic\""),
        field(
            "phases",
            Form::Names(|| vec!["idle", "up", "down", "both"]),
            "which way the link is loaded, one after the other; idle is always among them",
            "phases = [\"idle\", \"up\"]",
        ),
        field(
            "phase",
            Form::Time { least: Time(1_000_000_000) },
            "what counts of each phase, after the load has filled the link",
            "phase = \"6 s\"",
        ),
        field(
            "probe",
            Form::Time { least: Time(5_000_000) },
            "time between two datagrams of the probe",
            "probe = \"20 ms\"",
        ),
        INTERFACE.key(Form::Text, "interface = \"eth0\""),
        SHAPER_ROW.key(Form::Text, "shaper = \"95 %\""),
    ],
};

type Row = OwnParameter<Asked>;

const PEER: Row = Row::new(
    [
        "peer",
        "the other end, where `assay peer` listens",
        "`HOST:PORT`, with an IPv6 address in brackets; or `lab` for the laboratory's own. Both ends know one \
         token: ASSAY_PEER_TOKEN, or the file that ASSAY_PEER_TOKEN_FILE names.",
    ],
    "[\"192.168.1.2:7710\"]",
    true,
    |own, text| {
        let port = text.rsplit_once(':').and_then(|(host, port)| {
            port.parse::<u16>().ok().filter(|port| *port > 0 && !host.is_empty())
        });
        if text == super::LAB {
            own.to_lab();
            return Ok(());
        }
        port.ok_or_else(|| {
            format!("`{text}` is no peer: write it like 192.168.1.2:{}, or lab", protocol::PORT)
        })?;
        Ok(own.peer = Some(text.to_owned()))
    },
);

const STREAMS: Row = Row::new(
    [
        "streams",
        "TCP streams each way that load the link",
        "A whole number from 1 to 64. One alone may not fill a buffer.",
    ],
    "[1, 16]",
    true,
    |own, text| {
        let number = text.parse().ok().filter(|number| (1..=MOST_STREAMS).contains(number));
        let number = number
            .ok_or_else(|| format!("`{text}` is not a whole number from 1 to {MOST_STREAMS}"))?;
        Ok(own.streams = number)
    },
);

const CONGESTION: Row = Row::new(
    [
        "congestion",
        "congestion control of the streams, on both ends",
        "By the kernel's name, such as `cubic`, `reno` or `bbr`; it is set for each stream and read back. \
         BBR keeps queues short by itself: under it a deep buffer does not show.",
    ],
    "[\"cubic\", \"bbr\"]",
    true,
    |own, text| {
        if !protocol::is_congestion(text) {
            return Err(format!("`{text}` is no congestion control: say cubic, reno or bbr"));
        }
        Ok(text.clone_into(&mut own.congestion))
    },
);

const INTERFACE: Row = Row::new(
    [
        "interface",
        "the interface whose way out is shaped",
        "By the kernel's name: `ip route get ADDRESS` says which one leads to the peer.",
    ],
    "[\"eth0\"]",
    false,
    |own, text| {
        let fits = |sign: char| sign.is_ascii_graphic() && !['/', ':', '%'].contains(&sign);
        if !(1..=15).contains(&text.len()) || !text.chars().all(fits) || text.starts_with('-') {
            return Err(format!("`{text}` is no name of an interface: ip link shows them"));
        }
        Ok(own.interface = Some(text.to_owned()))
    },
);

const SHAPER_ROW: Row = Row::new(
    [
        SHAPER,
        "what the outgoing rate of the interface is limited to, so that the queue is here and short (as root)",
        "`none`; a share of the rate that the link was measured to carry up, such as `95 %`; or a rate such as \
         `4 Mbit/s`. By cake where the kernel has it, else by HTB with fq_codel, else by TBF with a queue of \
         20 ms in bytes; a word before it chooses: `cake 95 %`, `fq_codel 95 %`, `tbf 95 %`, and `deep 95 %` \
         for the rate alone with a queue of 750 ms. Set before a trial, seen after it, and taken away again.",
    ],
    "[\"none\", \"80 %\", \"95 %\"]",
    false,
    |own, text| Ok(own.shaper = text.parse()?),
);

/// Those of a study's factors that are parameters of a link.
pub(super) const PARAMETERS: &[OwnParameter<Asked>] =
    &[PEER, STREAMS, CONGESTION, INTERFACE, SHAPER_ROW];
