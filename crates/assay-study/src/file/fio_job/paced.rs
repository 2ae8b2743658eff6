//! Translates fio's rates and think times.

use assay_core::quantity::Time;
use assay_core::quantity::units::show;
use assay_load::MOST_PER_S;

use super::places::split_reads_and_others;
use super::values::number;
use super::{Job, PortNotes, line_of};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Paced {
    pub rate: Option<u64>,
    pub poisson: bool,
    /// Nanoseconds between the end of an operation and the next one.
    pub think_ns: Option<u64>,
}

impl Paced {
    /// Translates rate, arrival process and think time of a job; refuses what Assay does not support.
    pub fn new(
        job: &Job,
        reads: u64,
        time_ns: Option<u64>,
        depth: u64,
        threads: u64,
        notes: &mut PortNotes,
    ) -> Self {
        let rate = thread_rate(job, reads, notes).map(|rate| rate.saturating_mul(threads));
        if rate.is_some_and(|rate| rate > MOST_PER_S) {
            let text =
                format!("rate_iops: at most {} IOPS over all threads", show::count(MOST_PER_S));
            notes.refuse(line_of(job, "rate_iops"), text);
        }
        let law = job.settings.get("rate_process");
        let poisson = match law.map(|setting| setting.value.as_str()) {
            None | Some("linear") => false,
            Some("poisson") => true,
            Some(other) => {
                let text = format!("rate_process={other}: use linear or poisson");
                notes.refuse(line_of(job, "rate_process"), text);
                false
            }
        };
        let think_ns = think_time_ns(job, depth, notes);
        if think_ns.zip(time_ns).is_some_and(|(think, time)| think >= time) {
            notes.refuse(line_of(job, "thinktime"), "thinktime: must be shorter than the job");
        }
        if rate.is_some() && think_ns.is_some() {
            notes.refuse_key(
                line_of(job, "thinktime"),
                "thinktime: rate_iops already sets when operations start; remove one of the two",
            );
            return Self { rate, poisson, think_ns: None };
        }
        if rate.is_some() {
            notes.remark(format!(
                "[{}]: fio measures latency from submission; Assay reports that latency as service time, and also \
                 reports the response time from the intended start",
                job.name
            ));
        }
        Self { rate, poisson: poisson && rate.is_some(), think_ns }
    }

    pub fn words(&self) -> String {
        let rate = self.rate.map(|rate| format!(", arrival_rate = \"{rate}/s\""));
        let arrivals = self.poisson.then(|| ", arrival_process = \"poisson\"".to_owned());
        let think = self.think_ns.map(|ns| format!(", think_time = \"{}\"", Time(ns)));
        [rate, arrivals, think].into_iter().flatten().collect()
    }

    pub fn join(&mut self, other: &Self) {
        let sum = |(rate, other): (u64, u64)| rate.saturating_add(other).min(MOST_PER_S);
        self.rate = self.rate.zip(other.rate).map(sum);
    }

    /// Returns whether split_reads_and_others differ at most in the number of their rates.
    pub fn is_like(&self, other: &Self) -> bool {
        self.rate.is_some() == other.rate.is_some()
            && self.poisson == other.poisson
            && self.think_ns == other.think_ns
    }
}

/// Operations per second of a thread. In fio, a rate limits each direction of mixed jobs.
fn thread_rate(job: &Job, reads: u64, notes: &mut PortNotes) -> Option<u64> {
    let setting = job.settings.get("rate_iops")?;
    let [Some(read), Some(write)] =
        split_reads_and_others(job, &setting.value).map(|text| text.parse::<u64>().ok())
    else {
        let text = format!("rate_iops={}: not a whole number", setting.value);
        notes.refuse(setting.line, text);
        return None;
    };
    // Zero means unlimited.
    if read == 0 && write == 0 {
        return None;
    }
    let is_single = !setting.value.contains(',');
    let per_s = match reads {
        100 => Some(read),
        0 => Some(write),
        50 if is_single => Some(read.saturating_mul(2)),
        _ if is_single || read == 0 || write == 0 => None,
        _ => {
            let sum = read.saturating_add(write);
            // Whole rates may miss the ratio of the mix by up to one operation (here in percent).
            let reads_of_mix = sum.saturating_mul(reads);
            (reads_of_mix.abs_diff(read.saturating_mul(100)) <= 100).then_some(sum)
        }
    };
    if per_s.is_none() {
        notes.refuse_key(
            setting.line,
            format!(
                "rate_iops={}: in a mix, fio limits reads and writes separately, but Assay limits their sum; use two \
                 rates in the ratio of the mix",
                setting.value
            ),
        );
    }
    per_s.filter(|per_s| *per_s > 0)
}

/// Think time between two operations; fio's default unit is microseconds.
fn think_time_ns(job: &Job, depth: u64, notes: &mut PortNotes) -> Option<u64> {
    let setting = job.settings.get("thinktime")?;
    let bare = setting.value.parse::<u64>().ok().and_then(|us| us.checked_mul(1000));
    let Some(ns) = bare.or_else(|| super::values::ns(&setting.value)) else {
        notes.refuse(setting.line, format!("thinktime={}: not a duration", setting.value));
        return None;
    };
    if ns == 0 {
        return None;
    }
    let blocks = number(job, "thinktime_blocks", notes).unwrap_or(1);
    let why = if blocks != 1 {
        "Assay pauses only after every operation; use thinktime_blocks=1"
    } else if depth > 1 {
        "fio pauses the whole job, but Assay pauses each operation in flight separately; use iodepth=1"
    } else if ns < 1000 {
        "the minimum is 1 us"
    } else {
        return Some(ns);
    };
    notes.refuse_key(setting.line, format!("thinktime: {why}"));
    None
}
