//! What chores that measure have in common: the program that is measured, two sides in turns, what of their numbers
//! stands in a table, and the page that is kept.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::build;
use crate::lab::Done;
use crate::options::Options;

/// The program that was named, or the one that is built as people run it; and which of them it is.
pub fn program(options: &Options) -> Done<(PathBuf, &'static str)> {
    match options.text("--program") {
        Some(path) => Ok((PathBuf::from(path), "the program that was named")),
        None => Ok((build::release_binary()?, "release build")),
    }
}

/// The same chore built as people run the product, with these of its numbers: what has debug checks is not what
/// they use.
pub fn optimised(chore: &str, options: &Options, numbers: &[&str]) -> Done<bool> {
    let mut words = ["run", "--quiet", "--release", "--package", "xtask", "--", chore]
        .map(str::to_owned)
        .to_vec();
    for name in numbers {
        words.extend([(*name).to_owned(), options.number(name).to_string()]);
    }
    let flags = ["--write", "--instructions"].into_iter().filter(|flag| options.has(flag));
    words.extend(flags.map(str::to_owned));
    let place = options.text("--place").map(|name| ["--place", name].map(str::to_owned));
    words.extend(place.into_iter().flatten());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let status = build::cargo(&words).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// Prints a page, and keeps it under docs/measurements where that was asked for.
pub fn keep(options: &Options, name: &str, page: &str) -> Done<()> {
    println!("{page}");
    if options.has("--write") { build::write_page(name, page) } else { Ok(()) }
}

/// The first lines of a table with these columns, which have bars between them.
pub fn table(columns: &str) -> String {
    format!("| {columns} |\n|{}\n", "---|".repeat(columns.split(" | ").count()))
}

/// A table of what was counted.
pub fn counts(rows: &[(&str, u32)]) -> String {
    rows.iter().fold(table("what | count"), |mut text, (what, count)| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {what} | {count} |");
        text
    })
}

/// Their median.
pub fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Seconds of the one in the middle and of the slowest.
pub fn middle_and_slowest(times: &[Duration]) -> [f64; 2] {
    let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    [middle(&seconds), seconds.iter().copied().fold(0.0, f64::max)]
}

/// Geometric mean of the second ones over the first ones, pair by pair, and the ends of its 95 % t interval on the
/// log scale.
pub fn ratio(first: &[f64], second: &[f64]) -> Done<[f64; 3]> {
    let paired = assay_stats::paired_ratio(first, second);
    let interval = paired.and_then(|paired| Some((paired.ratio, paired.ci95?)));
    let (ratio, [low, high]) = interval.ok_or("an interval needs three rounds above zero")?;
    Ok([ratio, low, high])
}

/// Four workloads of a study file: what is read and written, in order and anywhere.
pub fn accesses() -> String {
    [("sequential", "read"), ("sequential", "write"), ("random", "read"), ("random", "write")]
        .map(|(pattern, mix)| {
            format!(
                "[[workload]]\nname = \"{pattern}-{mix}\"\nio = {{ pattern = \"{pattern}\", mix = \"{mix}\", \
                 size = \"4 KiB\", time = \"200 ms\" }}\n"
            )
        })
        .concat()
}

/// Draws that differ from run to run (SplitMix64 from the clock): the order needs no more.
pub struct Draws(u64);

impl Draws {
    /// Begins with the clock.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self(now.map_or(1, |time| time.as_nanos() as u64))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Both sides of a pair, one of them first.
    pub fn both(&mut self) -> [bool; 2] {
        let first = self.next().is_multiple_of(2);
        [first, !first]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_rule_as_wide_as_their_head() {
        assert_eq!(table("a | b, c | d"), "| a | b, c | d |\n|---|---|---|\n");
        assert_eq!(counts(&[("x", 2)]), "| what | count |\n|---|---|\n| x | 2 |\n");
    }

    #[test]
    fn numbers_of_rounds_are_summed_up() -> Done<()> {
        assert!((middle(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        let times = [5, 1, 3].map(Duration::from_secs);
        assert!(
            middle_and_slowest(&times).iter().zip([3.0, 5.0]).all(|(a, b)| (a - b).abs() < 1e-9)
        );
        let [mean, low, high] = ratio(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.1])?;
        assert!(low <= mean && mean <= high && (mean - 2.0).abs() < 0.02, "{mean}");
        assert!(ratio(&[1.0], &[2.0]).is_err(), "one pair has no interval");
        Ok(())
    }
}
