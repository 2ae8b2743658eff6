//! Conclusions that rest on single numbers in prose, or on none.

use std::fmt;

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_base::quantity::{Bytes, Time};
use assay_study::findings::answers::Claim::{NoData, NotShown, Supported};

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{Ruling, held};
use super::sheet::{Printed, Sheet};
use super::words::digits;

const STACK: &str = "stack soft limit";
/// What was measured for Assay follows this word in the remark of a row.
const MEASURED: &str = "measured:";
const SECONDS_PER_HOUR: f64 = 3600.0;

pub(super) const JUDGES: &[Judge] = &[
    ("a card of 1 IOPS takes over 24 hours to test", card),
    ("Midori takes half of the memory of other browsers", told),
    ("the initial sync took 8 hours at 100 MB/s a disk", sync),
    ("the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s", encryption),
    ("btrfs has the lowest rate and the lowest latency of random reads at equal threads", little),
    ("zswap makes 384 MB a full Web experience", told),
];

/// Of what a smaller limit of stacks saves.
pub(super) const OF_MEMORY: &[Judge] =
    &[("a 256 KB stack limit saves a rather substantial amount of memory", stack)];

/// A number with its unit, as it was printed.
struct Amount {
    printed: Printed,
    unit: String,
}

/// What an item is said to have, by metric.
fn amounts<const N: usize>(of: &Case<'_>, item: &str, metrics: [&str; N]) -> Outcome<[Amount; N]> {
    let amount = |metric: &str| -> Outcome<Amount> {
        let row = of.sheet.one(&[("item", item), ("metric", metric)])?;
        row.positive("value")?;
        Ok(Amount { printed: row.printed("value")?, unit: row.text("unit")?.to_owned() })
    };
    let found: Vec<Amount> = metrics.into_iter().map(amount).collect::<Outcome<_>>()?;
    found.try_into().map_err(|_| of.sheet.broken("a metric is lacking"))
}

impl Amount {
    /// In bytes, seconds, or whatever it counts per second.
    fn value(&self) -> f64 {
        self.printed.value * self.one()
    }

    fn one(&self) -> f64 {
        let one = format!("1 {}", self.unit.trim_end_matches("/s"));
        let bytes = one.parse::<Bytes>().map(|bytes| bytes.0 as f64).ok();
        bytes.or_else(|| one.parse::<Time>().map(|time| time.0 as f64 / 1e9).ok()).unwrap_or(1.0)
    }

    /// What rounds to the digits that are not zero: 50 stands for 45 to 55.
    fn rounded(&self) -> [f64; 2] {
        let mut step = 10_f64.powi(-(self.printed.decimals as i32));
        while self.printed.value % (10.0 * step) == 0.0 {
            step *= 10.0;
        }
        [-0.5, 0.5].map(|half| (self.printed.value + half * step) * self.one())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.printed.value, self.unit)
    }
}

fn hours(seconds: f64) -> String {
    format!("{} h", digits(seconds / SECONDS_PER_HOUR, 3))
}

fn mb_per_s(rate: f64) -> String {
    format!("{} MB/s", digits(rate / 1e6, 3))
}

fn card(of: &Case<'_>) -> Outcome<Ruling> {
    let metrics = ["bytes written", "bytes a write", "rate", "time"];
    let [all, each, rate, time] = amounts(of, "test of a card", metrics)?;
    let writes = all.value() / each.value();
    let seconds = writes / rate.value();
    let (writes, took) = (show::count(writes as u64), hours(seconds));
    Ok(held(
        seconds > time.value(),
        &format!("{all} in writes of {each} are {writes} writes: {took} at {rate}"),
        Supported,
        ", random writes alone. It is arithmetic; a test that is limited by time takes minutes for \
         the same number.",
        &format!(", not over {time}."),
    ))
}

fn sync(of: &Case<'_>) -> Outcome<Ruling> {
    let metrics = ["capacity of a disk", "rate of a disk", "time"];
    let [capacity, rate, time] = amounts(of, "initial sync of the array", metrics)?;
    let seconds = capacity.value() / rate.value();
    let [low, high] = time.rounded();
    Ok(held(
        (low..=high).contains(&seconds),
        &format!("{capacity} at {rate} take {}", hours(seconds)),
        Supported,
        &format!(", which rounds to the {time} that it took. It is arithmetic, of one reading."),
        &format!(", not {time}."),
    ))
}

fn encryption(of: &Case<'_>) -> Outcome<Ruling> {
    let metrics = ["capacity", "time", "lowest rate", "highest rate"];
    let [capacity, time, lowest, highest] = amounts(of, "initial encryption", metrics)?;
    let [fast, slow] = time.rounded().map(|seconds| capacity.value() / seconds);
    let [rate, least, most] = [capacity.value() / time.value(), slow, fast].map(mb_per_s);
    let range = format!("{} to {highest}", lowest.printed.value);
    Ok(held(
        fast >= lowest.value() && slow <= highest.value(),
        &format!("{capacity} in {time} are {rate}, and {least} to {most} if the time is rounded"),
        NotShown,
        &format!(", which {range} allow. One reading each, roughly told, shows no more."),
        &format!(": outside of {range}."),
    ))
}

/// By Little's law as many operations are under way as end per second, times how long each takes:
/// at equal threads the lowest rate is the longest latency.
fn little(of: &Case<'_>) -> Outcome<Ruling> {
    let metrics = ["place by rate", "place by latency"];
    let [rate, latency] = amounts(of, "btrfs random reads", metrics)?;
    let law =
        "threads = rate x latency (Little's law), so at equal threads both give the same order";
    Ok(held(
        rate.printed.value == latency.printed.value,
        "",
        NotShown,
        &format!("{law}, and so they do here. But the charts have no numbers, and no spread."),
        &format!(
            "Place {rate} by rate and place {latency} by latency, but {law}. One of the two charts \
             was misread, or threads did not wait for their reads alone."
        ),
    ))
}

/// What is only told.
fn told(of: &Case<'_>) -> Outcome<Ruling> {
    let named = |item: &str| item.split(' ').next().is_some_and(|word| of.claim.names(word));
    for row in of.sheet.rows() {
        if !named(row.text("item")?) {
            continue;
        }
        let printed = row.text("printed")?;
        return Ok(only(
            row.optional("value")?,
            &format!("The article says \"{printed}\" and has no number, of before or after."),
            &format!("stands for \"{printed}\", without repeats."),
        ));
    }
    Err(of.claim.broken(&format!("{} has no row for it", of.sheet.name())))
}

fn stack(of: &Case<'_>) -> Outcome<Ruling> {
    let row = of.sheet.one(&[("item", STACK)])?;
    let limit = format!("the limit of {} {}", row.printed("value")?.value, row.text("unit")?);
    let since = row.text("flag")?.split_once(MEASURED);
    let since = since.map(|(_, told)| format!(" Measured since: {}.", told.trim()));
    let since = since.unwrap_or_default();
    Ok(only(
        row.optional("recomputed")?,
        &format!("The article names {limit} and no number for what it saves.{since}"),
        &format!("stands for what {limit} saves, without repeats.{since}"),
    ))
}

/// One number without repeats shows nothing, and none is no data.
fn only(number: Option<Printed>, none: &str, stands: &str) -> Ruling {
    match number {
        None => Ruling { verdict: NoData, because: none.to_owned() },
        Some(one) => Ruling::not_shown(format!("One number, {}, {stands}", one.value)),
    }
}

pub(super) fn memory(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    if sheet.one(&[("item", STACK)])?.optional("recomputed")?.is_none() {
        let at = place("stack-limit", &[("stack", "256 KB")], "peak_rss_bytes");
        book.absent(&at, "the article gives no number for what it saves");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_number_stands_for_what_rounds_to_its_digits() {
        let of = |text: &str, unit: &str| Amount {
            printed: Printed::parse(text).unwrap(),
            unit: unit.to_owned(),
        };
        assert_eq!(of("50", "min").rounded(), [2700.0, 3300.0]);
        assert_eq!(of("8", "h").rounded(), [7.5 * 3600.0, 8.5 * 3600.0]);
        assert_eq!(of("95", "MB/s").rounded(), [94.5e6, 95.5e6]);
        assert_eq!(of("1", "IOPS").value(), 1.0);
        assert_eq!(of("512", "MiB").value(), f64::from(512 << 20));
    }
}
