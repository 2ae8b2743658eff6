//! Merges one trial of all hosts: common window, summed rates and counts, added histograms, no means.

use std::collections::BTreeMap;
use std::ops::Range;

use super::message::{HostRecord, TrialPart};
use assay_core::outside;
use assay_study::results::fleet::{Share, Together, words};
use assay_study::results::histogram;
use assay_study::results::plan::PlannedTrial;
use assay_study::results::record::{Evidence, Status, Trial};
use assay_study::results::tally::Tally;
use assay_workloads::{Count, Histograms, Measured, SeriesRow, io};

/// Evidence of one machine does not describe all of them.
const ELSEWHERE: &str = "of several hosts; see the result of each host";
const MOST_REASONS: usize = 3;
/// Limits for the histograms of a host: six operation classes, each with up to two histograms.
const MOST_CLASSES: usize = 32;
const LONGEST_CLASS: usize = 32;

#[derive(Clone, Debug)]
pub struct OneHost {
    pub rank: u32,
    pub name: String,
    pub ran: HostRecord,
    pub latency_ns: BTreeMap<String, Tally>,
}

impl OneHost {
    /// Decodes what a host sent about its part of a trial.
    pub fn of_part(rank: u32, name: &str, part: TrialPart) -> Result<Self, String> {
        if part.histograms.len() > MOST_CLASSES {
            return Err("the host sent more histograms than there are operation classes".to_owned());
        }
        let read = |document: &histogram::HistogramDocument| {
            let tally = histogram::decode(document).map_err(|error| error.0)?;
            Ok((document.class.clone(), tally))
        };
        let latency_ns = part.histograms.iter().map(read).collect::<Result<_, String>>()?;
        Ok(Self { rank, name: name.to_owned(), ran: part.ran, latency_ns })
    }

    /// Part of a rank's stored result; `None` if it has counts but did not run in a fleet.
    pub fn of_trial(rank: u32, name: &str, trial: Trial, series: Vec<SeriesRow>) -> Option<Self> {
        let since_go_ns = trial.together.as_ref().map(|own| own.since_go_ns);
        if since_go_ns.is_none() && trial.measured.is_some() {
            return None;
        }
        let ran = HostRecord {
            status: trial.status,
            reason: trial.reason,
            started: trial.started,
            measured: trial.measured,
            flush_ns: trial.flush_ns,
            since_go_ns: since_go_ns.unwrap_or_default(),
            series,
        };
        Some(Self { rank, name: name.to_owned(), ran, latency_ns: trial.latency_ns })
    }

    fn words(&self) -> String {
        words(self.rank, &self.name)
    }
}

#[derive(Clone, Debug)]
pub struct FleetRecord {
    pub trial: Trial,
    pub histograms: Histograms,
    pub series: Vec<SeriesRow>,
}

/// Merges the records of one trial. `failed` is a reason to discard the counts; `ranks` is the initial size.
pub fn merge(
    planned: &PlannedTrial,
    ramp_ns: u64,
    ranks: u32,
    started: &str,
    hosts: &[OneHost],
    failed: Option<String>,
) -> FleetRecord {
    let merged = match failed.or_else(|| failures_text(hosts)) {
        Some(why) => Err(why),
        None => merge_counts(ramp_ns, ranks, hosts),
    };
    let (merged, why) = match merged {
        Ok(merged) => (merged, None),
        Err(why) => (MergedTrial::default(), Some(why)),
    };
    let started = hosts.iter().map(|host| host.ran.started.as_str()).min().unwrap_or(started);
    let flush_ns = hosts.iter().filter_map(|host| host.ran.flush_ns).max();
    let flush_ns = flush_ns.filter(|_| why.is_none());
    let (status, reason) = merged_status(planned.is_lead_in(), hosts, why);
    let MergedTrial { measured, together, latency_ns, histograms, series } = merged;
    let trial = Trial {
        host: 0,
        status,
        reason,
        started: started.to_owned(),
        measured,
        flush_ns,
        together,
        latency_ns,
        ..Trial::new(planned, Evidence::absent(ELSEWHERE))
    };
    FleetRecord { trial, histograms, series }
}

#[derive(Default)]
struct MergedTrial {
    measured: Option<Measured>,
    together: Option<Together>,
    latency_ns: BTreeMap<String, Tally>,
    histograms: Histograms,
    series: Vec<SeriesRow>,
}

/// Names the hosts without counts, with their reasons; `None` if every host has counts.
fn failures_text(hosts: &[OneHost]) -> Option<String> {
    if hosts.is_empty() {
        return Some("no host ran the trial".to_owned());
    }
    let has_failed =
        |host: &&OneHost| host.ran.status == Status::Failed || host.ran.measured.is_none();
    let reasons = hosts.iter().filter(has_failed).map(|host| {
        format!("{}: {}", host.words(), host.ran.reason.as_deref().unwrap_or("it had no counts"))
    });
    summarize(reasons.collect())
}

/// Joins the first reasons, and says how many more there are; `None` without reasons.
fn summarize(reasons: Vec<String>) -> Option<String> {
    let more = reasons.len().saturating_sub(MOST_REASONS);
    let first = reasons.into_iter().take(MOST_REASONS);
    let rest = (more > 0).then(|| format!("and {more} more hosts"));
    let text = first.chain(rest).collect::<Vec<_>>().join("; ");
    (!text.is_empty()).then_some(text)
}

/// Returns the status of the merged trial, and its reason.
fn merged_status(
    is_lead_in: bool,
    hosts: &[OneHost],
    failed: Option<String>,
) -> (Status, Option<String>) {
    if is_lead_in {
        let excluded = "warm-up: excluded by design";
        let text = match failed {
            Some(why) => format!("{excluded}; it failed: {why}"),
            None => excluded.to_owned(),
        };
        return (Status::Warmup, Some(text));
    }
    if let Some(why) = failed {
        return (Status::Failed, Some(why));
    }
    let disturbed = hosts.iter().filter(|host| host.ran.status == Status::Disturbed);
    let reasons = disturbed.map(|host| {
        format!("{}: {}", host.words(), host.ran.reason.as_deref().unwrap_or("disturbed"))
    });
    summarize(reasons.collect()).map_or((Status::Ok, None), |why| (Status::Disturbed, Some(why)))
}

/// The time in which all hosts measured, in nanoseconds since their release; `None` if there is none.
fn common_window(hosts: &[OneHost]) -> Option<(u64, u64)> {
    let window =
        |host: &OneHost| Some((host.ran.since_go_ns, host.ran.measured.as_ref()?.window_ns));
    let windows = || hosts.iter().filter_map(window);
    let from = windows().map(|(from, _)| from).max()?;
    let to = windows().map(|(from, length)| from.saturating_add(length)).min()?;
    (to > from).then_some((from, to))
}

/// Sums the counts of all hosts in their common window; fails without such a window.
fn merge_counts(ramp_ns: u64, ranks: u32, hosts: &[OneHost]) -> Result<MergedTrial, String> {
    let (from, to) =
        common_window(hosts).ok_or("the measurement windows of the hosts do not overlap")?;
    let mut shares = Vec::with_capacity(hosts.len());
    let mut sum: Option<(Measured, io::IoDetail)> = None;
    let mut latency_ns: BTreeMap<String, Tally> = BTreeMap::new();
    let mut series: BTreeMap<(u32, String), SeriesRow> = BTreeMap::new();
    for host in hosts {
        let Some(measured) = &host.ran.measured else { continue };
        let detail = io::IoDetail::of(measured)
            .ok_or_else(|| format!("{}: cannot sum the counts over hosts", host.words()))?;
        shares.push(share_of(ramp_ns, host, measured, detail, from..to));
        match &mut sum {
            None => sum = Some((measured.clone(), detail.clone())),
            Some((whole, all)) => {
                add_measured(whole, measured);
                add_detail(all, detail);
            }
        }
        add_latencies(&mut latency_ns, host)?;
        for row in &host.ran.series {
            add_row(&mut series, row);
        }
    }
    let (mut measured, mut detail) = sum.ok_or("no host counted operations")?;
    // Single latencies belong to one host's offsets, and recorded requests to that host.
    detail.sample_latencies_ns = Vec::new();
    detail.requests = None;
    measured.window_ns = to - from;
    measured.values = BTreeMap::new();
    measured.absent = BTreeMap::new();
    measured.detail = detail.into();
    let histogram = |(class, own): (&String, &Tally)| {
        own.histogram().map(|whole| (class.clone(), whole)).map_err(|error| error.0)
    };
    let histograms = latency_ns.iter().map(histogram).collect::<Result<_, String>>()?;
    let together = Together { since_go_ns: from, of: ranks, hosts: shares };
    Ok(MergedTrial {
        measured: Some(measured),
        together: Some(together),
        latency_ns,
        histograms,
        series: series.into_values().collect(),
    })
}

/// Adds the latencies of one host by operation class; fails on an invalid name of a class.
fn add_latencies(all: &mut BTreeMap<String, Tally>, host: &OneHost) -> Result<(), String> {
    for (class, own) in &host.latency_ns {
        if !is_class(class) {
            let name = outside::spelled(class);
            return Err(format!("{}: unknown operation class {name}", host.words()));
        }
        match all.get_mut(class) {
            None => drop(all.insert(class.clone(), own.clone())),
            Some(sum) => sum.add(own).map_err(|error| format!("{}: {error}", host.words()))?,
        }
    }
    Ok(())
}

fn is_class(name: &str) -> bool {
    let is_letter = |sign: char| sign.is_ascii_lowercase() || sign == '-';
    !name.is_empty() && name.len() <= LONGEST_CLASS && name.chars().all(is_letter)
}

/// Returns a host's rates in the `common` window: its rows per second show which part of its counts belongs to that.
fn share_of(
    ramp_ns: u64,
    host: &OneHost,
    measured: &Measured,
    detail: &io::IoDetail,
    common: Range<u64>,
) -> Share {
    let since_go_ns = host.ran.since_go_ns;
    let own_window = since_go_ns..since_go_ns.saturating_add(measured.window_ns);
    let rows_span = since_go_ns.saturating_sub(ramp_ns)..own_window.end;
    let common_ns = (common.end - common.start) as f64;
    let even_part = common_ns / measured.window_ns.max(1) as f64;
    let per_s = |count: u64, count_of: fn(&SeriesRow) -> u64| {
        let in_own_window = sum_within(&host.ran.series, count_of, &rows_span, &own_window);
        let part = if own_window == common {
            1.0
        } else if in_own_window > 0.0 {
            sum_within(&host.ran.series, count_of, &rows_span, &common) / in_own_window
        } else {
            even_part // without rows, the operations count as evenly spread
        };
        count as f64 * part / (common_ns / 1e9)
    };
    let (operations, bytes) = (measured.operations(), detail.bytes());
    Share {
        rank: host.rank,
        name: host.name.clone(),
        since_go_ns,
        window_ns: measured.window_ns,
        operations,
        bytes,
        operations_per_s: per_s(operations, |row| row.operations),
        bytes_per_s: per_s(bytes, |row| row.bytes),
    }
}

/// Sums the part of the rows per second of `run` that is inside `window`. Rows at its ends count in proportion.
fn sum_within(
    rows: &[SeriesRow],
    of: fn(&SeriesRow) -> u64,
    run: &Range<u64>,
    window: &Range<u64>,
) -> f64 {
    const SECOND: u64 = 1_000_000_000;
    let part = |row: &SeriesRow| {
        let begin = run.start.saturating_add(u64::from(row.second).saturating_mul(SECOND));
        let length = run.end.saturating_sub(begin).min(SECOND); // the last second may be short
        let end = window.end.min(begin.saturating_add(length));
        let inside = end.saturating_sub(window.start.max(begin));
        of(row) as f64 * inside as f64 / length.max(1) as f64
    };
    rows.iter().map(part).sum()
}

/// Adds the counts of one host to those of all; their elapsed time is that of the slowest host.
fn add_measured(whole: &mut Measured, own: &Measured) {
    whole.elapsed_ns = whole.elapsed_ns.max(own.elapsed_ns);
    whole.cpu_ns = whole.cpu_ns.saturating_add(own.cpu_ns);
    // `None` if one of the hosts does not count it.
    let waited_ns = whole.waited_ns.zip(own.waited_ns);
    whole.waited_ns = waited_ns.map(|(one, other)| one.saturating_add(other));
    whole.claims = whole.claims.plus(own.claims);
    for note in &own.notes {
        if !whole.notes.contains(note) {
            whole.notes.push(note.clone());
        }
    }
}

fn add_detail(whole: &mut io::IoDetail, own: &io::IoDetail) {
    for (class, count) in &own.classes {
        let all = whole.classes.entry(class.clone()).or_default();
        *all = Count {
            operations: all.operations.saturating_add(count.operations),
            bytes: all.bytes.saturating_add(count.bytes),
        };
    }
    whole.submitting_ns = whole.submitting_ns.saturating_add(own.submitting_ns);
    whole.longest_ns = whole.longest_ns.max(own.longest_ns);
    whole.still_s = whole.still_s.max(own.still_s);
    whole.looked_at = whole.looked_at.saturating_add(own.looked_at);
    whole.already_complete = whole.already_complete.saturating_add(own.already_complete);
    whole.pace = whole.pace.zip(own.pace).map(|(one, other)| one.plus(other));
}

fn add_row(all: &mut BTreeMap<(u32, String), SeriesRow>, own: &SeriesRow) {
    let Some(whole) = all.get_mut(&(own.second, own.class.clone())) else {
        all.insert((own.second, own.class.clone()), own.clone());
        return;
    };
    whole.operations = whole.operations.saturating_add(own.operations);
    whole.bytes = whole.bytes.saturating_add(own.bytes);
    whole.latency_sum_ns = whole.latency_sum_ns.saturating_add(own.latency_sum_ns);
    whole.latency_max_ns = whole.latency_max_ns.max(own.latency_max_ns);
    let mut buckets: BTreeMap<u32, u32> =
        whole.latency_buckets.iter().map(|[at, many]| (*at, *many)).collect();
    for [at, many] in &own.latency_buckets {
        let sum = buckets.entry(*at).or_default();
        *sum = sum.saturating_add(*many);
    }
    whole.latency_buckets = buckets.into_iter().map(|(at, many)| [at, many]).collect();
}

#[cfg(test)]
mod tests;
