//! One drive against yardsticks that an owner knows.

use super::super::rows::Row;
use super::about;
use super::usual::{Usual, usual};
use crate::quantity::units::show;

/// Random operations of 4 KiB per second of a 5400 rpm laptop disk ("author's rule",
/// reference/anchors.csv).
const LAPTOP_DISK: f64 = 90.0;

/// What is called much slower than a laptop disk, as a share of it.
const MUCH_SLOWER: f64 = 0.5;

/// Ratio within which a rate is "about what a laptop disk manages".
const LIKE: f64 = 1.25;

/// Ratio from which on a laptop disk is no yardstick any more.
const FAR_BEYOND: f64 = 20.0;

/// Ratio of reads to writes from which on it is worth a sentence.
const UNEQUAL: f64 = 3.0;

/// Bytes per second that each link carries at most, slowest first: USB 2.0 signals 480 Mbit/s,
/// gigabit Ethernet 1 Gbit/s, SATA 6 Gbit/s of which 8b/10b coding leaves 4.8.
const LINKS: [(&str, f64); 3] =
    [("USB 2.0", 60e6), ("gigabit Ethernet", 125e6), ("SATA 6 Gbit/s", 600e6)];

/// Sentences on one target, the most important first.
pub(super) fn sentences(rows: &[Row<'_>], noun: &str) -> Vec<String> {
    [random(rows, noun), commits(rows), sequential(rows), unequal(rows)]
        .into_iter()
        .flatten()
        .collect()
}

/// A number that may be told, with the word before it.
struct Spoken {
    value: f64,
    about: &'static str,
}

/// The geometric mean of a metric of a row, unless the row is invalid or absent.
fn geometric_mean(rows: &[Row<'_>], wanted: Usual, metric: &str) -> Option<Spoken> {
    let row = rows.iter().find(|row| usual(row) == Some(wanted))?;
    let about = about(row.trust?)?;
    Some(Spoken { value: row.rate(metric)?, about })
}

/// Random writes, or reads where nothing may be written, against a laptop disk.
fn random(rows: &[Row<'_>], noun: &str) -> Option<String> {
    if let Some(writes) = geometric_mean(rows, Usual::RandomWrite, "iops") {
        return Some(random_sentence("writes", &writes, noun));
    }
    let writable = rows.iter().any(|row| usual(row) == Some(Usual::RandomWrite));
    let reads = geometric_mean(rows, Usual::RandomRead, "iops").filter(|_| !writable)?;
    Some(random_sentence("reads", &reads, noun))
}

fn random_sentence(what: &str, told: &Spoken, noun: &str) -> String {
    let Spoken { value, about } = told;
    let rate = show::per_second(*value);
    let disk = show::per_second(LAPTOP_DISK);
    let begin = format!("Random 4 KiB {what}: {about}{rate} per second");
    let ratio = value / LAPTOP_DISK;
    if ratio < MUCH_SLOWER {
        format!(
            "{begin}; a 5400 rpm laptop disk manages {disk}: do not run an operating system from \
             this {noun}."
        )
    } else if ratio < 1.0 / LIKE {
        format!(
            "{begin}; a 5400 rpm laptop disk manages {disk}: an operating system will feel slow \
             on this {noun}."
        )
    } else if ratio <= LIKE {
        format!("{begin}, about what a 5400 rpm laptop disk manages ({disk}).")
    } else if ratio > FAR_BEYOND {
        format!("{begin}, one after another (a 5400 rpm laptop disk: {disk}).")
    } else {
        format!(
            "{begin}, {about}{} times as many as a 5400 rpm laptop disk manages ({disk}).",
            show::times(ratio)
        )
    }
}

/// Three trials and yardsticks of two digits deserve no third one in a sentence.
fn two_digits(value: f64) -> f64 {
    let unit = 10_f64.powi(value.log10().floor() as i32 - 1);
    (value / unit).round() * unit
}

/// What a commit costs a database or a mail server.
fn commits(rows: &[Row<'_>]) -> Option<String> {
    let Spoken { value, about } = geometric_mean(rows, Usual::Commit, "iops")?;
    Some(format!(
        "A database or mail server that syncs every commit waits {about}{} for each on \
         average: {about}{} commits per second, one after another.",
        show::duration(1e9 / value),
        show::per_second(value)
    ))
}

/// Sequential rates against links that people know.
fn sequential(rows: &[Row<'_>]) -> Option<String> {
    let metric = "bandwidth_bytes_per_s";
    let (what, Spoken { value, about }) = match geometric_mean(rows, Usual::SequentialRead, metric)
    {
        Some(reads) => ("reads", reads),
        None => ("writes", geometric_mean(rows, Usual::SequentialWrite, metric)?),
    };
    let begin = format!("Sequential {what}: {about}{}", show::rate(value));
    let words = |(name, most): &(&str, f64)| format!("{name} carries ({})", show::rate(*most));
    let slower = LINKS.iter().rev().find(|(_, most)| *most < value);
    let faster = LINKS.iter().find(|(_, most)| *most >= value);
    Some(match (slower, faster) {
        (Some(slower), Some(faster)) => {
            format!("{begin}, more than {} and less than {}.", words(slower), words(faster))
        }
        (Some(slower), None) => format!("{begin}, more than {}.", words(slower)),
        (None, Some(faster)) => format!("{begin}, less than {}.", words(faster)),
        (None, None) => format!("{begin}."),
    })
}

/// Reads and writes that are far apart, random ones first.
fn unequal(rows: &[Row<'_>]) -> Option<String> {
    let pairs = [
        ("Random", Usual::RandomRead, Usual::RandomWrite, "iops"),
        ("Sequential", Usual::SequentialRead, Usual::SequentialWrite, "bandwidth_bytes_per_s"),
    ];
    pairs.into_iter().find_map(|(kind, read, write, metric)| {
        let (read, write) =
            (geometric_mean(rows, read, metric)?, geometric_mean(rows, write, metric)?);
        let about = if read.about.is_empty() { write.about } else { read.about };
        let ratio = read.value / write.value;
        if ratio >= UNEQUAL {
            let times = show::times(two_digits(ratio));
            Some(format!(
                "{kind} reads are {about}{times} times as fast as {} writes.",
                kind.to_lowercase()
            ))
        } else if ratio <= 1.0 / UNEQUAL {
            let times = show::times(two_digits(1.0 / ratio));
            Some(format!(
                "{kind} writes are {about}{times} times as fast as {} reads.",
                kind.to_lowercase()
            ))
        } else {
            None
        }
    })
}
