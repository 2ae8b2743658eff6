//! One drive against yardsticks that an owner knows.

use assay_core::quantity::units::show;
use assay_study::findings::{Findings, Trust, as_sentence, is_wide};
use assay_workloads::io::Pattern;

use super::super::{acknowledged::sync_remark, facts, rows::RowTrials};
use super::number_prefix;
use crate::rules::link_capacity;

/// 4 KiB random IOPS of a 5400 rpm laptop disk ("author's rule", reference/anchors.csv).
const LAPTOP_DISK: f64 = 90.0;
/// Below this fraction of a laptop disk's rate, a drive is called much slower.
const MUCH_SLOWER: f64 = 0.5;
/// Ratio within which a rate is "about what a laptop disk reaches".
const SIMILAR: f64 = 1.25;
/// From this ratio on, a laptop disk is not a useful yardstick.
const FAR_BEYOND: f64 = 20.0;
/// From this ratio of reads to writes on, the difference is worth a sentence.
const UNEQUAL: f64 = 3.0;
/// Upper limit of each link in bytes per second, slowest first: USB 2.0 signals 480 Mbit/s, gigabit Ethernet 1 Gbit/s,
/// SATA 6 Gbit/s, or 4.8 Gbit/s after 8b/10b coding.
const LINKS: [(&str, f64); 3] =
    [("USB 2.0", 60e6), ("gigabit Ethernet", 125e6), ("SATA 6 Gbit/s", 600e6)];

/// From this share of a link's ceiling on, the link may be the limit.
const NEAR_LINK: f64 = 0.85;
/// Bytes per second above the maximum of USB 2.0.
const USB_3: f64 = 1e8;
/// The same for USB 2.0: its bulk transfers carry 53 MB/s (13 packets of 512 bytes per 125 us) at most.
const NEAR_USB_2: f64 = 0.6;

/// Sentences on one target, the most important first.
pub(super) fn sentences(rows: &[RowTrials<'_>], found: &Findings, noun: &str) -> Vec<String> {
    let rows = OwnerRows { rows, found };
    [
        random_access(&rows, noun),
        commit_latency(&rows),
        rows.rows.iter().find_map(sync_remark).map(as_sentence),
        sequential_rate(&rows),
        read_write_gap(&rows),
    ]
    .into_iter()
    .flatten()
    .collect()
}

struct OwnerRows<'a> {
    rows: &'a [RowTrials<'a>],
    found: &'a Findings,
}

impl OwnerRows<'_> {
    /// A row's number of a standard workload; `None` if it is invalid or missing.
    fn number(&self, wanted: Access, metric: &str) -> Option<StatedNumber> {
        let row = self.rows.iter().find(|row| access(row) == Some(wanted))?;
        let cell = self.found.cell(&row.workload.name, &row.arm, metric)?;
        let trust = cell.trust.filter(|trust| *trust != Trust::Invalid)?;
        Some(StatedNumber { value: cell.value()?, ci95: cell.ci95, trust })
    }
}

struct StatedNumber {
    value: f64,
    ci95: Option<[f64; 2]>,
    trust: Trust,
}

impl StatedNumber {
    fn about(&self) -> &'static str {
        number_prefix(self.trust).unwrap_or_default()
    }

    /// The 95% CI as multiples of a yardstick. A sentence compares only if both ends are on the same side.
    fn ratios(&self, yardstick: f64) -> Option<[f64; 2]> {
        self.ci95.map(|ends| ends.map(|end| end / yardstick))
    }

    /// The value with the reasons to doubt it: `about 19 (suspect, 95% CI 11 to 33)`.
    fn shown(&self, show: impl Fn(f64) -> String) -> String {
        let wide = self.ci95.filter(|ends| is_wide(Some(*ends)));
        let interval = wide.map(|[low, high]| format!("95% CI {} to {}", show(low), show(high)));
        let suspect = (self.trust != Trust::Trusted).then(|| "suspect".to_owned());
        let aside: Vec<String> = suspect.into_iter().chain(interval).collect();
        let aside =
            if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
        format!("{}{}{aside}", self.about(), show(self.value))
    }
}

/// Random writes, or reads on a read-only target, against a laptop disk.
fn random_access(target: &OwnerRows<'_>, noun: &str) -> Option<String> {
    let writable = target.rows.iter().any(|row| access(row) == Some(Access::RandomWrite));
    let (what, wanted) =
        if writable { ("writes", Access::RandomWrite) } else { ("reads", Access::RandomRead) };
    Some(random_sentence(what, &target.number(wanted, "iops")?, noun))
}

fn random_sentence(what: &str, number: &StatedNumber, noun: &str) -> String {
    let disk = show::per_second(LAPTOP_DISK);
    let begin = format!(
        "Random 4 KiB {what}: {}",
        number.shown(|value| format!("{} IOPS", show::per_second(value)))
    );
    let disk_rate = format!("; a 5400 rpm laptop disk reaches {disk}");
    let Some([low, high]) = number.ratios(LAPTOP_DISK) else {
        return format!("{begin}{disk_rate}.");
    };
    if high < 1.0 / SIMILAR {
        // No advice from doubtful numbers.
        let advice = if number.trust != Trust::Trusted {
            String::new()
        } else if high < MUCH_SLOWER {
            format!(". Do not run an operating system from this {noun}")
        } else {
            format!(". An operating system will feel slow on this {noun}")
        };
        format!("{begin}{disk_rate}{advice}.")
    } else if low >= 1.0 / SIMILAR && high <= SIMILAR {
        format!("{begin}, about as many as a 5400 rpm laptop disk ({disk}).")
    } else if low > FAR_BEYOND {
        format!("{begin} at queue depth 1{disk_rate}.")
    } else if low <= SIMILAR {
        // The interval contains several of these cases.
        format!("{begin}{disk_rate}.")
    } else {
        let (about, times) = (number.about(), times(number.value / LAPTOP_DISK, [low, high]));
        format!("{begin}, {about}{times} times as many as a 5400 rpm laptop disk ({disk}).")
    }
}

/// A factor: a number, or the ends of a wide interval.
fn times(ratio: f64, ends: [f64; 2]) -> String {
    if is_wide(Some(ends)) {
        format!("{} to {}", show::times(ends[0]), show::times(ends[1]))
    } else {
        show::times(ratio)
    }
}

/// Three trials and two-digit yardsticks do not support a third digit.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powi(value.log10().floor() as i32 - 1);
    (value / unit).round() * unit
}

/// Commit latency for a database or a mail server, if syncs are known to reach the medium.
fn commit_latency(target: &OwnerRows<'_>) -> Option<String> {
    if target.rows.iter().any(RowTrials::is_borrowed) {
        return None;
    }
    let number = target.number(Access::Commit, "iops")?;
    Some(format!(
        "A database or mail server that syncs every commit waits {}{} per commit on average: {} at queue depth 1.",
        number.about(),
        show::duration(1e9 / number.value),
        number.shown(|value| format!("{} commits per second", show::per_second(value)))
    ))
}

/// The rate of sequential reads (or else writes) against the links that are slower and faster than its CI.
fn sequential_rate(target: &OwnerRows<'_>) -> Option<String> {
    let metric = "bandwidth_bytes_per_s";
    let (what, number) = match target.number(Access::SequentialRead, metric) {
        Some(reads) => ("reads", reads),
        None => ("writes", target.number(Access::SequentialWrite, metric)?),
    };
    let begin = format!("Sequential {what}: {}", number.shown(show::rate));
    let link = target.rows.first().and_then(|row| row.site).and_then(link_capacity);
    let near = |most: f64| if most < USB_3 { NEAR_USB_2 } else { NEAR_LINK };
    if let Some((link, most)) = link.filter(|(_, most)| number.value > near(*most) * most) {
        let words = format!("{link}, at most {}", show::rate(most));
        return Some(format!("{begin}, near the limit of the link ({words}); try a faster port."));
    }
    let Some([low, high]) = number.ci95 else { return Some(format!("{begin}.")) };
    let words = |(name, most): &(&str, f64)| format!("{name} carries ({})", show::rate(*most));
    // The links are in ascending order.
    let slower = LINKS.iter().rev().find(|(_, most)| *most < low);
    let faster = LINKS.iter().find(|(_, most)| *most > high);
    let slower = slower.map(|link| format!("more than {}", words(link)));
    let faster = faster.map(|link| format!("less than {}", words(link)));
    let links: Vec<String> = slower.into_iter().chain(faster).collect();
    let links = if links.is_empty() { String::new() } else { format!(", {}", links.join(" and ")) };
    Some(format!("{begin}{links}."))
}

/// Reads and writes that are far apart, random ones first.
fn read_write_gap(target: &OwnerRows<'_>) -> Option<String> {
    let pairs = [
        ("Random", Access::RandomRead, Access::RandomWrite, "iops"),
        ("Sequential", Access::SequentialRead, Access::SequentialWrite, "bandwidth_bytes_per_s"),
    ];
    pairs.into_iter().find_map(|(kind, read, write, metric)| {
        let [read, write] = [target.number(read, metric)?, target.number(write, metric)?];
        let worst = read.trust.max(write.trust);
        let about = number_prefix(worst)?;
        let doubt = if worst == Trust::Trusted { "" } else { " (suspect numbers)" };
        let (fast, slow, faster, slower) = if read.value > write.value {
            (read, write, "reads", "writes")
        } else {
            (write, read, "writes", "reads")
        };
        let ([low, high], [slow_low, slow_high]) = (fast.ci95?, slow.ci95?);
        // The smallest and the largest ratio within both CIs.
        let ends = [low / slow_high, high / slow_low];
        (ends[0] >= UNEQUAL).then(|| {
            let times = times(two_digits(fast.value / slow.value), ends.map(two_digits));
            let lower = kind.to_lowercase();
            format!("{kind} {faster} are {about}{times} times as fast as {lower} {slower}{doubt}.")
        })
    })
}

const SMALL: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    RandomRead,
    RandomWrite,
    Commit,
    SequentialRead,
    SequentialWrite,
}

/// The kind of access that a row measures, if Assay has a yardstick for it.
fn access(row: &RowTrials<'_>) -> Option<Access> {
    // Rate limits and pauses hide the drive's rate; mixed block sizes have no yardstick.
    let io =
        facts::io(row.workload).filter(|io| !io.rate_limited && !io.shaped && !io.partly_synced)?;
    let single = io.size_bytes == SMALL && row.workload.work.asked_in_flight() == 1;
    match (io.pattern, io.only_reads(), io.only_writes()) {
        (Pattern::Sequential, true, _) => Some(Access::SequentialRead),
        (Pattern::Sequential, _, true) if !io.data_sync => Some(Access::SequentialWrite),
        (Pattern::Random, true, _) if single => Some(Access::RandomRead),
        (_, _, true) if single && io.data_sync => Some(Access::Commit),
        (Pattern::Random, _, true) if single => Some(Access::RandomWrite),
        _ => None,
    }
}
