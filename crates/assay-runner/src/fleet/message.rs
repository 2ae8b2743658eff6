//! Messages between authenticated ranks: JSON, one message per frame.

use super::common::{Common, Proof};
use assay_core::json;
use assay_study::results::fleet::HostSaid;
use assay_study::results::histogram::HistogramDocument;
use assay_study::results::plan::{PlannedTrial, Survey};
use assay_study::results::record::{Repeats, Status};
use assay_workloads::{Measured, SeriesRow};
use serde::{Deserialize, Serialize};

/// A message; rank 0 sends those of the second half.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(clippy::large_enum_variant, reason = "one is in memory at a time")]
pub enum Message {
    Joined(Joined),
    Surveyed(Vec<Survey>),
    Agreed(Proof),
    Ready {
        meeting: u64,
    },
    /// It cannot continue the trial of a meeting.
    Unable {
        meeting: u64,
        why: String,
    },
    Done(Box<TrialPart>),
    Judged(Vec<HostSaid>),
    Leaving {
        why: String,
    },

    Welcome(Welcome),
    Common(Common),
    Next(Box<Next>),
    Go {
        meeting: u64,
    },
    /// Some rank cannot: the trial failed.
    Void {
        meeting: u64,
        why: String,
    },
    /// There are no more trials; `why` if the plan is not complete.
    End {
        why: Option<String>,
    },
}

impl Message {
    pub fn text(&self) -> Vec<u8> {
        // It only contains texts, numbers and lists, so serialization cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub fn read(text: &[u8]) -> Result<Self, &'static str> {
        json::from_slice(text).map_err(|_| "the message is invalid")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joined {
    pub name: String,
    pub targets: Vec<String>,
    pub process: Process,
    pub purpose: FleetPurpose,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetPurpose {
    #[default]
    Run,
    Plan,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Boot ID and PID namespace of the process; empty if unknown.
    pub machine: String,
    pub id: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    pub id: String,
    pub seed: u64,
    pub fellows: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Number of its first meeting; its second one follows.
    pub meeting: u64,
    pub planned: PlannedTrial,
    pub repeats: Option<Repeats>,
    /// Longest time that rank 0 waits at one of its meetings, nanoseconds.
    pub patience_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialPart {
    pub order: u32,
    pub ran: HostRecord,
    pub histograms: Vec<HistogramDocument>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    pub status: Status,
    pub reason: Option<String>,
    pub started: String,
    pub measured: Option<Measured>,
    pub flush_ns: Option<u64>,
    /// Nanoseconds from the release to the start of the measurement.
    pub since_go_ns: u64,
    pub series: Vec<SeriesRow>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let joined = Joined {
            name: "n1".into(),
            targets: vec!["/mnt".into()],
            process: Process { machine: "a".into(), id: 7 },
            purpose: FleetPurpose::Plan,
        };
        for message in [
            Message::Joined(joined),
            Message::Ready { meeting: 7 },
            Message::Unable { meeting: 7, why: "no".to_owned() },
            Message::End { why: None },
            Message::Welcome(Welcome { id: "f".to_owned(), seed: u64::MAX, fellows: vec![7] }),
        ] {
            assert_eq!(Message::read(&message.text()), Ok(message));
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for text in [
            "",
            "{}",
            "null",
            "\"go\"",
            "{\"go\":{}}",
            "{\"go\":{\"meeting\":-1}}",
            "[[[[",
            "{\"go\":7}",
        ] {
            assert!(Message::read(text.as_bytes()).is_err(), "{text}");
        }
        let more = "{\"go\":{\"meeting\":1,\"run\":\"rm\"}}";
        assert!(Message::read(more.as_bytes()).is_err(), "nothing is passed over");
        // Nested brackets without end must not overflow the stack.
        assert!(Message::read(&vec![b'['; 100_000]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Message::read(&bytes);
        }

        #[test]
        fn a_letter_changed_is_a_message_or_none(at in 0_usize..200, with in any::<u8>()) {
            let mut text = Message::Void { meeting: 12, why: "rank 2 (node3): it is full".to_owned() }.text();
            let at = at % text.len();
            text[at] = with;
            let _ = Message::read(&text);
        }
    }
}
