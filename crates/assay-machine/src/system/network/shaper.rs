//! Traffic shaping of an interface's egress: a rate that the link certainly reaches, with a short queue.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{BitRate, within};
use crate::system::Act;

/// Handle of all disciplines of Assay, which identifies them.
pub const HANDLE: &str = "a55a:";
/// Time that a queue in bytes may take to drain.
const QUEUE_NS: u64 = 20_000_000;
/// Depth of the queue that shows the effect of the rate alone.
const DEEP_NS: u64 = 750_000_000;
/// Size of the token bucket, as time at the rate.
const BURST_NS: u64 = 1_000_000;
const PACKET: u64 = 1514;
/// Minimum length of a queue in packets.
const FEWEST_PACKETS: u64 = 2;
const NONE: &str = "none";
/// Rates from this value on are printed in whole kilobits per second.
const FINE: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    Cake,
    /// A token bucket (HTB) with fq_codel behind it.
    FqCodel,
    /// A token bucket (TBF) with a short queue in bytes.
    Tbf,
    /// The same with a deep queue: shows the effect of the rate alone.
    Deep,
}

impl Means {
    const ALL: [Self; 4] = [Self::Cake, Self::FqCodel, Self::Tbf, Self::Deep];
    /// Default methods, the best first.
    const USUAL: [Self; 3] = [Self::Cake, Self::FqCodel, Self::Tbf];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cake => "cake",
            Self::FqCodel => "fq_codel",
            Self::Tbf => "tbf",
            Self::Deep => "deep",
        }
    }

    /// What `tc` calls the discipline at the root.
    pub const fn root(self) -> &'static str {
        match self {
            Self::Cake => "cake",
            Self::FqCodel => "htb",
            Self::Tbf | Self::Deep => "tbf",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cap {
    None,
    /// A share of the link's own rate.
    Share(f64),
    Rate(BitRate),
}

/// A level of the factor `shaper`: `none`, `95%`, `4 Mbit/s`, `tbf:95%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shaper {
    means: Option<Means>,
    cap: Cap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discipline {
    pub means: Means,
    pub rate: BitRate,
}

impl Shaper {
    pub const NONE: Self = Self { means: None, cap: Cap::None };

    pub fn is_none(&self) -> bool {
        self.cap == Cap::None
    }

    /// Returns whether it is a share of a rate that must be known.
    pub const fn is_share(&self) -> bool {
        matches!(self.cap, Cap::Share(_))
    }

    /// The shaped rate of a link with this rate; `None` without a shaper or a known rate.
    pub fn rate(&self, base: Option<BitRate>) -> Option<BitRate> {
        match self.cap {
            Cap::None => None,
            Cap::Rate(rate) => Some(rate),
            Cap::Share(share) => base.map(|base| {
                let bits = base.0 as f64 * share;
                // Whole kilobits per second, if the rate is large enough for that precision.
                let step = if bits >= FINE { 1000.0 } else { 1.0 };
                BitRate(((bits / step).round() * step) as u64)
            }),
        }
    }

    /// Possible root disciplines, the best first: Assay uses the first one that the kernel supports.
    pub fn candidates(&self, base: Option<BitRate>) -> Vec<Discipline> {
        let Some(rate) = self.rate(base) else { return Vec::new() };
        let own = self.means.map_or_else(|| Means::USUAL.to_vec(), |means| vec![means]);
        own.into_iter().map(|means| Discipline { means, rate }).collect()
    }
}

impl FromStr for Shaper {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == NONE {
            return Ok(Self::NONE);
        }
        let named = Means::ALL
            .into_iter()
            .find_map(|means| Some((means, text.strip_prefix(means.name())?.strip_prefix(':')?)));
        let (means, rest) = named.map_or((None, text), |(means, rest)| (Some(means), rest));
        let wrong = || {
            format!(
                "unknown shaper `{text}`; use none, a share of the link's rate such as 95%, or a rate such as 4 \
                 Mbit/s, optionally after cake:, fq_codel:, tbf: or deep:"
            )
        };
        let cap = match rest.trim().strip_suffix('%') {
            Some(number) => {
                let share: f64 = number.trim().parse().map_err(|_| wrong())?;
                let fits = share.is_finite() && (1.0..=200.0).contains(&share);
                Cap::Share(fits.then_some(share / 100.0).ok_or_else(wrong)?)
            }
            None => Cap::Rate(rest.parse().map_err(|_| wrong())?),
        };
        Ok(Self { means, cap })
    }
}

assay_core::as_text!(Shaper);

impl fmt::Display for Shaper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(means) = self.means {
            write!(formatter, "{}:", means.name())?;
        }
        match self.cap {
            Cap::None => formatter.write_str(NONE),
            // Rounded to four decimals, so the percentage has the digits with which it was given.
            Cap::Share(share) => write!(formatter, "{}%", (share * 1e6).round() / 1e4),
            Cap::Rate(rate) => write!(formatter, "{rate}"),
        }
    }
}

impl Discipline {
    pub fn queue_bytes(self) -> u64 {
        let ns = if self.means == Means::Deep { DEEP_NS } else { QUEUE_NS };
        self.rate.bytes_in(ns).max(FEWEST_PACKETS * PACKET)
    }

    /// Acts that set it on an interface without one.
    pub fn acts(self, namespace: Option<&str>, interface: &str) -> Vec<Act> {
        let to_act = |arguments: Vec<String>| Act::Run {
            program: "tc".to_owned(),
            arguments: [within(namespace), arguments].concat(),
        };
        self.commands(interface, "add", HANDLE).into_iter().map(to_act).collect()
    }

    /// Shell command that sets it permanently.
    pub fn by_hand(self, interface: &str) -> String {
        // Not with Assay's handle, so that Assay does not remove it.
        let commands = self.commands(interface, "replace", "1:");
        let lines: Vec<String> =
            commands.iter().map(|arguments| format!("tc {}", arguments.join(" "))).collect();
        lines.join(" && ")
    }

    /// Arguments of the `tc` commands that add or replace the discipline.
    fn commands(self, interface: &str, verb: &str, handle: &str) -> Vec<Vec<String>> {
        let rate = format!("{}bit", self.rate.0);
        let root = ["qdisc", verb, "dev", interface, "root", "handle", handle];
        let burst = self.rate.bytes_in(BURST_NS).max(FEWEST_PACKETS * PACKET).to_string();
        let limit = self.queue_bytes().to_string();
        let class = format!("{handle}10");
        let calls = match self.means {
            Means::Cake => vec![joined(&root, &["cake", "bandwidth", &rate])],
            Means::FqCodel => vec![
                joined(&root, &["htb", "default", "10"]),
                joined(
                    &["class", verb, "dev", interface, "parent", handle, "classid", &class],
                    &["htb", "rate", &rate, "ceil", &rate],
                ),
                vec!["qdisc", verb, "dev", interface, "parent", &class, "fq_codel"],
            ],
            Means::Tbf | Means::Deep => {
                vec![joined(&root, &["tbf", "rate", &rate, "burst", &burst, "limit", &limit])]
            }
        };
        let to_owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        calls.into_iter().map(to_owned).collect()
    }
}

fn joined<'w>(first: &[&'w str], more: &[&'w str]) -> Vec<&'w str> {
    [first, more].concat()
}

/// Discipline and handle after `root` in the output of `tc qdisc show`.
pub fn root_of(shown: &str) -> Option<(&str, &str)> {
    shown.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (word, kind, handle) = (words.next()?, words.next()?, words.next()?);
        (word == "qdisc" && words.any(|word| word == "root")).then_some((kind, handle))
    })
}

pub fn is_own(shown: &str) -> bool {
    root_of(shown).is_some_and(|(_, handle)| handle == HANDLE)
}

/// The kind of Assay's root discipline of an interface, if there is one.
pub fn own_discipline(shown: &str) -> Option<&str> {
    root_of(shown).filter(|(_, handle)| *handle == HANDLE).map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_they_are_written() {
        for text in ["none", "95%", "82.5%", "4 Mbit/s", "cake:95%", "tbf:4 Mbit/s", "deep:80%"] {
            let own: Shaper = text.parse().unwrap();
            assert_eq!(own.to_string(), text);
        }
        assert_eq!("95%".parse::<Shaper>().unwrap().to_string(), "95%");
        for text in ["0%", "much", "95", "pie 95%", "300%", "cake", "NaN %"] {
            assert!(text.parse::<Shaper>().unwrap_err().contains("95%"), "{text}");
        }
    }

    #[test]
    fn a_share_is_of_the_links_rate() {
        let own: Shaper = "80%".parse().unwrap();
        assert_eq!(own.rate(None), None);
        assert_eq!(own.rate(Some(BitRate(5_000_000))), Some(BitRate(4_000_000)));
        assert_eq!(Shaper::NONE.rate(Some(BitRate(1))), None);
        let means = |text: &str| {
            let own: Shaper = text.parse().unwrap();
            own.candidates(Some(BitRate(5_000_000))).iter().map(|one| one.means).collect::<Vec<_>>()
        };
        assert_eq!(means("80%"), [Means::Cake, Means::FqCodel, Means::Tbf]);
        assert_eq!(means("tbf:80%"), [Means::Tbf]);
        assert!(means("none").is_empty());
    }

    #[test]
    fn the_lines_are_those_one_would_type() {
        let lines = |means| {
            let own = Discipline { means, rate: BitRate(4_000_000) };
            own.acts(None, "eth0").iter().map(Act::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(Means::Cake),
            ["tc qdisc add dev eth0 root handle a55a: cake bandwidth 4000000bit"]
        );
        assert_eq!(
            lines(Means::Tbf),
            ["tc qdisc add dev eth0 root handle a55a: tbf rate 4000000bit burst 3028 limit 10000"]
        );
        assert_eq!(lines(Means::FqCodel).len(), 3);
        assert!(lines(Means::Deep)[0].ends_with("limit 375000"));
        let kept = Discipline { means: Means::FqCodel, rate: BitRate(4_000_000) }.by_hand("eth0");
        assert!(
            kept.starts_with("tc qdisc replace dev eth0 root handle 1: htb default 10 && tc class")
        );
        assert!(!kept.contains(HANDLE), "{kept}");
        let slow = Discipline { means: Means::Tbf, rate: BitRate(100_000) };
        assert_eq!(slow.queue_bytes(), 3028);
    }

    #[test]
    fn ones_own_root_is_told_from_others() {
        let own = "qdisc tbf a55a: root refcnt 2 rate 4Mbit burst 3Kb lat 20ms\n";
        assert!(is_own(own));
        assert_eq!(own_discipline(own), Some("tbf"));
        let usual = "qdisc mq 0: root\nqdisc fq_codel 0: parent :1 limit 10240p\n";
        assert_eq!(root_of(usual), Some(("mq", "0:")));
        assert!(!is_own(usual) && root_of("").is_none());
    }

    #[test]
    fn every_line_of_every_means_is_told_to_the_word() {
        let lines = |means, bits| {
            let own = Discipline { means, rate: BitRate(bits) };
            own.acts(Some("ns"), "eth0").iter().map(Act::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(Means::FqCodel, 4_000_000),
            [
                "tc -n ns qdisc add dev eth0 root handle a55a: htb default 10",
                "tc -n ns class add dev eth0 parent a55a: classid a55a:10 htb rate 4000000bit ceil 4000000bit",
                "tc -n ns qdisc add dev eth0 parent a55a:10 fq_codel"
            ]
        );
        // A fast one: a millisecond at once, 20 ms or 750 ms of queue.
        let tbf =
            "tc -n ns qdisc add dev eth0 root handle a55a: tbf rate 100000000bit burst 12500 limit";
        assert_eq!(lines(Means::Tbf, 100_000_000), [format!("{tbf} 250000")]);
        assert_eq!(lines(Means::Deep, 100_000_000), [format!("{tbf} 9375000")]);
        let typed = Discipline { means: Means::FqCodel, rate: BitRate(9) }.by_hand("eth0");
        assert_eq!(
            typed,
            "tc qdisc replace dev eth0 root handle 1: htb default 10 && tc class replace dev eth0 parent 1: \
             classid 1:10 htb rate 9bit ceil 9bit && tc qdisc replace dev eth0 parent 1:10 fq_codel"
        );
    }

    #[test]
    fn a_share_from_a_megabit_on_is_in_whole_kilobits() {
        let half: Shaper = "50%".parse().unwrap();
        let of = |bits| half.rate(Some(BitRate(bits))).unwrap().0;
        assert_eq!(of(2_000_000), 1_000_000);
        assert_eq!(of(2_003_000), 1_002_000, "rounded, not cut");
        assert_eq!(of(1_999_998), 999_999, "below it is told to the bit");
        let rate: Shaper = "1234567 bit/s".parse().unwrap();
        assert_eq!(rate.rate(Some(BitRate(5))), Some(BitRate(1_234_567)), "what is said is taken");
        assert!(half.is_share() && !rate.is_share() && !Shaper::NONE.is_share());
        assert!(Shaper::NONE.is_none() && !half.is_none() && !rate.is_none());
    }

    #[test]
    fn shares_go_from_one_to_two_hundred_per_cent() {
        let is_taken = |text: &str| text.parse::<Shaper>().is_ok();
        assert!(is_taken("1%") && is_taken("200%"));
        assert!(!is_taken("0.9%") && !is_taken("200.1%") && !is_taken("cake95%"));
        assert_eq!(" none ".parse::<Shaper>().unwrap(), Shaper::NONE);
        assert_eq!(String::from("tbf:50%".parse::<Shaper>().unwrap()), "tbf:50%");
    }
}
