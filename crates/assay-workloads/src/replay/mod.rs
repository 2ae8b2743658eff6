//! A load that was recorded, played again.

mod detail;
pub mod placing;
mod planned;
mod playing;
mod rule;
pub mod scale;
pub mod source;
mod tell;
#[cfg(test)]
mod tests;
pub mod waits;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Form, Need};
use assay_core::quantity::metric::{BANDWIDTH, IOPS, LATENCY, RESPONSE};
use assay_core::quantity::played::{FLUSHES, READS, TRIMS, WRITES, ZEROINGS};
use assay_core::quantity::{Bytes, Metric, Time};
use assay_load::Act;
use serde::{Deserialize, Serialize};

use super::io::Content;
use super::keys::{choice, keys, names, parse_choice, parse_whole, work};
use super::place::Offer;
use super::tell::OwnRule;
use super::workload::{Basis, Complaints, InStudy, Needs, Touch, WorkloadKind, WorkloadSpec};

pub use detail::{Fidelity, ReplayCounts, ReplayDetail, WaitFidelity};
pub use placing::{Fitted, Placing, ReplayFit, slot_bytes};
pub use planned::ReplayPlan;
pub use scale::TimeScale;
pub use source::{DevicePart, Recall, Scan, TraceSource, nothing, step_of};
pub use tell::ReplayFacts;
pub use waits::{Arrival, infer_waits};

const MOST_DEPTH: u32 = 4096;
const USUAL_DEPTH: u32 = 128;
const QUICK: Time = Time(5_000_000_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Requests start at their recorded times, regardless of the target.
    #[default]
    Open,
    /// Requests start at their recorded delay after the completion that they probably waited for.
    Dependent,
    /// Requests start as soon as a slot is free.
    Closed,
}

names!(Clock: Open = "open", Dependent = "dependent", Closed = "closed");

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ReplaySpec {
        /// The result with the recording: its ID, the beginning of the ID, or its title.
        trace: String = "evening".to_owned() => {
            words: "result with the recorded trace: its ID, or its unique beginning or end, or its title",
            form: Form::Text,
            need: Need::Always,
            example: "trace = \"evening\"",
        }
        #[serde(default)]
        timing: Clock = Clock::Open => {
            words: "start of requests: open (as recorded), dependent (after predecessors) or closed (as fast as possible)",
            form: Form::Word(|| vec!["open", "dependent", "closed"]),
            example: "timing = \"open\"",
            factor: work(
                "`open`: at the recorded times, scaled, regardless of the target. Assay then reports *response* time from the \
                 intended start and *service* time from submission. `dependent`: each request starts at its recorded delay \
                 after the completion that it probably waited for, so a faster target gets more load. Assay infers this \
                 completion: the latest of the same type (reads, or changes) in the previous 100 ms, for one request only; \
                 otherwise, the previous start. `closed`: in recorded order, each request as soon as a slot is free.",
                "[\"open\", \"dependent\", \"closed\"]",
                |own, text| Ok(own.timing = parse_choice(text, "open, dependent or closed")?),
            ),
        }
        #[serde(default)]
        speed: TimeScale = TimeScale::ONE => {
            words: "replay speed relative to the recording",
            form: Form::Own(&scale::FORM),
            example: "speed = \"2x\"",
            factor: work(
                "`2x` replays the trace in half the time, `0.5x` in twice the time; from 0.01x to 100x. Has no effect with \
                 timing closed.",
                "[\"1x\", \"2x\", \"4x\"]",
                |own, text| Ok(own.speed = text.parse()?),
            ),
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trace_length: Option<Time> = None => {
            words: "length of the trace to replay, from its start; the whole trace by default",
            form: Form::Time { least: Time(1_000_000) },
            example: "trace_length = \"60 s\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String> = None => {
            words: "device to replay if the trace has several; join devices with +, such as sda+sdb",
            form: Form::Text,
            example: "device = \"sda\"",
        }
        #[serde(default = "usual_depth")]
        queue_depth: u32 = USUAL_DEPTH => {
            words: "maximum queue depth; 128 by default",
            form: Form::Whole { least: 1, most: MOST_DEPTH as u64 },
            example: "queue_depth = 32",
            factor: choice(
                "A whole number from 1 to 4096.",
                "[1, 8, 32]",
                |own, text| Ok(own.queue_depth = parse_whole(text, MOST_DEPTH)?),
            ),
        }
        /// Which recording that is, once it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<TraceSource> = None => {
            words: "trace identity; Assay sets this key when it resolves the study, and then accepts no other trace",
            form: Form::Own(&source::FORM),
            example: source::KEY_EXAMPLE,
        }
    }
}

const fn usual_depth() -> u32 {
    USUAL_DEPTH
}

impl WorkloadKind for ReplaySpec {
    const ABOUT: About = About {
        name: "replay",
        summary: "replay of a recorded trace",
        text: "One thread replays a trace from `assay watch DEVICE --record-trace NAME`, each request with its \
               recorded time, type, size and offset. Flushes become fdatasync; a forced write (FUA) becomes a write \
               followed by fdatasync, counted once; written data is random. Offsets do not change if the area is as \
               large as the recorded device. Otherwise, Assay shifts the offsets if the area fits all accessed blocks; \
               if not, Assay folds the offsets modulo the area in whole MiB. Assay rounds offsets and sizes outwards \
               for direct I/O. Before the replay starts, Assay loads at most 8 million requests, using 64 bytes of \
               memory each (92 with timing dependent). Each class (reads, writes, flushes, trims, write-zeroes) and \
               the total have their own rows and verdicts. Verdicts compare the mean response time with timing open, \
               otherwise the mean latency. Rule `replay-mismatch` invalidates numbers of an inaccurate replay.",
    };
    const EXAMPLE: &'static str =
        "replay = { trace = \"evening\", timing = \"open\", speed = \"1x\" }";
    const METRICS: &'static [&'static [Metric]] =
        &[&[IOPS, BANDWIDTH], LATENCY, RESPONSE, READS, WRITES, FLUSHES, TRIMS, ZEROINGS];
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Bytes, Basis::Medium];
    const RULES: &'static [OwnRule] = &[rule::UNFAITHFUL];
}

/// What a replay does to the target; a trace that is not loaded yet may contain any request.
fn touch(source: Option<&TraceSource>, direct: bool) -> Touch {
    let may_have = |act: Act| source.is_none_or(|source| source.has(act));
    let reads = may_have(Act::Read);
    let clears = may_have(Act::Discard) || may_have(Act::WriteZeroes);
    Touch {
        reads,
        writes: source.is_none_or(TraceSource::changes).then_some(Content::Random),
        finds: (reads || clears).then_some(Content::Random),
        clears,
        direct,
    }
}

fn pace_words(clock: Clock, scale: TimeScale) -> String {
    let pace = match clock {
        Clock::Open => "at the recorded times",
        Clock::Dependent => "each request after its predecessor",
        Clock::Closed => return "as fast as possible".to_owned(),
    };
    if scale == TimeScale::ONE { pace.to_owned() } else { format!("{pace}, {scale} as fast") }
}

impl WorkloadSpec for ReplaySpec {
    fn words(&self) -> String {
        let span = self.trace_length.map_or_else(String::new, |span| format!("the first {span}, "));
        format!(
            "replay of trace {}, {span}{}, at most {} in flight",
            self.trace,
            pace_words(self.timing, self.speed),
            self.queue_depth
        )
    }

    fn needs(&self) -> Needs {
        Needs::Area
    }

    fn touches(&self) -> Touch {
        touch(self.source.as_ref(), true)
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        let is_closed = self.timing == Clock::Closed && !study.factors.contains_key("timing");
        let has_scale = self.speed != TimeScale::ONE || study.factors.contains_key("speed");
        if is_closed && has_scale && !to.is_wrong(&format!("{path}/speed")) {
            let message = "speed has no effect with timing closed".to_owned();
            to.key(&format!("{path}/timing"), message, Some("use timing = \"open\"".to_owned()));
        }
    }

    fn time(&self) -> Option<Time> {
        let length_ns = self.source.as_ref()?.length_ns;
        Some(Time(planned::replay_ns(self.timing, self.speed, length_ns)))
    }

    /// Until the recording is read, a time sets how much of it is replayed.
    fn set_span(&mut self, time: Option<Time>, _: Option<Time>) {
        if let (Some(time), None) = (time, &self.source) {
            self.trace_length = Some(Time(self.speed.recorded_ns(time.0)));
        }
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        if self.source.is_none() {
            self.trace_length = Some(self.trace_length.map_or(QUICK, |span| span.min(QUICK)));
        }
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        let (planned, note) = planned::plan(self, offer)?;
        Ok((planned.into(), note))
    }
}
