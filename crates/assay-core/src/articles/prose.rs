//! Conclusions that rest on single numbers in prose, or on none.

use super::judges::{Judge, Topic};
use super::published::Book;
use super::rules::Ruling;
use super::sheet::{Printed, Sheet};
use super::words::digits;
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::quantity::{Bytes, Time};

const DATA: &str = "prose.csv";
const ENCRYPTION: &str = "initial encryption";
const SYNC: &str = "initial sync of the array";
const CARD: &str = "test of a card";
const BTRFS: &str = "btrfs random reads";
const SECONDS_PER_HOUR: f64 = 3600.0;

/// What the texts of the AC100 say.
pub(super) const AC100: Topic = Topic {
    article: "000",
    data: &[DATA],
    judges: &[
        Judge { claim: "a card of 1 IOPS takes over 24 hours to test", judge: card },
        Judge { claim: "Midori takes half of the memory of other browsers", judge: told },
    ],
    numbers: none,
};

/// Of the array, and of the MacBook.
pub(super) const DISKS: Topic = Topic {
    article: "002",
    data: &[DATA],
    judges: &[
        Judge { claim: "the initial sync took 8 hours at 100 MB/s a disk", judge: sync },
        Judge {
            claim: "the initial encryption of 256 GB took 50 minutes at 95 to 120 MB/s",
            judge: encryption,
        },
    ],
    numbers: none,
};

/// Of charts without numbers.
pub(super) const CHARTS: Topic = Topic {
    article: "003",
    data: &[DATA],
    judges: &[Judge {
        claim: "btrfs has the lowest rate and the lowest latency of random reads at equal threads",
        judge: little,
    }],
    numbers: none,
};

/// Of an old machine.
pub(super) const ZSWAP: Topic = Topic {
    article: "004",
    data: &[DATA],
    judges: &[Judge { claim: "zswap makes 384 MB a full Web experience", judge: told }],
    numbers: none,
};

/// Its numbers stand in the reasons of the verdicts; the table must be there.
fn none(library: &Library, _: &mut Book) -> Outcome<()> {
    library.sheet(DATA).map(|_| ())
}

/// A number of an item with its unit, as it was printed.
struct Amount {
    printed: Printed,
    unit: String,
}

impl Amount {
    fn of(sheet: &Sheet, item: &str, metric: &str) -> Outcome<Self> {
        let row = sheet.one(&[("item", item), ("metric", metric)])?;
        row.positive("value")?;
        Ok(Self { printed: row.printed("value")?, unit: row.text("unit")?.to_owned() })
    }

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

    fn told(&self) -> String {
        format!("{} {}", self.printed.value, self.unit)
    }
}

fn hours(seconds: f64) -> String {
    format!("{} h", digits(seconds / SECONDS_PER_HOUR, 3))
}

fn card(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let of = |metric: &str| Amount::of(&sheet, CARD, metric);
    let (all, each, rate, time) =
        (of("bytes written")?, of("bytes a write")?, of("rate")?, of("time")?);
    let writes = all.value() / each.value();
    let seconds = writes / rate.value();
    let told = format!(
        "{} in writes of {} are {} writes: {} at {}",
        all.told(),
        each.told(),
        crate::quantity::units::show::count(writes as u64),
        hours(seconds),
        rate.told()
    );
    Ok(if seconds > time.value() {
        Ruling::supported(format!(
            "{told}, random writes alone. It is arithmetic; a test that is limited by time takes \
             minutes for the same number."
        ))
    } else {
        Ruling::contradicted(format!("{told}, not over {}.", time.told()))
    })
}

fn sync(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let of = |metric: &str| Amount::of(&sheet, SYNC, metric);
    let (capacity, rate, time) = (of("capacity of a disk")?, of("rate of a disk")?, of("time")?);
    let seconds = capacity.value() / rate.value();
    let [low, high] = time.rounded();
    let told = format!("{} at {} take {}", capacity.told(), rate.told(), hours(seconds));
    Ok(if (low..=high).contains(&seconds) {
        Ruling::supported(format!(
            "{told}, which rounds to the {} that it took. It is arithmetic, of one reading.",
            time.told()
        ))
    } else {
        Ruling::contradicted(format!("{told}, not {}.", time.told()))
    })
}

fn encryption(library: &Library, _: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let of = |metric: &str| Amount::of(&sheet, ENCRYPTION, metric);
    let (capacity, time) = (of("capacity")?, of("time")?);
    let (lowest, highest) = (of("lowest rate")?, of("highest rate")?);
    let mb = |rate: f64| format!("{} MB/s", digits(rate / 1e6, 3));
    let [least, most] = time.rounded();
    let (slow, fast) = (capacity.value() / most, capacity.value() / least);
    let told = format!(
        "{} in {} are {}, and {} to {} if the time is rounded",
        capacity.told(),
        time.told(),
        mb(capacity.value() / time.value()),
        mb(slow),
        mb(fast)
    );
    let range = format!("{} to {}", lowest.printed.value, highest.told());
    Ok(if fast < lowest.value() || slow > highest.value() {
        Ruling::contradicted(format!("{told}: outside of {range}."))
    } else {
        Ruling::not_shown(format!(
            "{told}, which {range} allow. One reading each, roughly told, shows no more."
        ))
    })
}

/// By Little's law as many operations are under way as end per second, times how long each takes:
/// at equal threads the lowest rate is the longest latency.
fn little(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let row = |metric: &str| sheet.one(&[("item", BTRFS), ("metric", metric)]);
    let (by_rate, by_latency) = (row("place by rate")?, row("place by latency")?);
    let (rate, latency) = (by_rate.count("value")?, by_latency.count("value")?);
    if rate == 0 || latency == 0 {
        return Err(claim.broken("places are counted from 1"));
    }
    let law =
        "threads = rate x latency (Little's law), so at equal threads both give the same order";
    Ok(if rate == latency {
        Ruling::not_shown(format!(
            "{law}, and so they do here. But the charts have no numbers, and no spread."
        ))
    } else {
        Ruling::contradicted(format!(
            "Place {rate} {} by rate and place {latency} {} by latency, but {law}. One of the two \
             charts was misread, or threads did not wait for their reads alone.",
            by_rate.text("unit")?,
            by_latency.text("unit")?
        ))
    })
}

/// What is only told.
fn told(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let named = |item: &str| item.split(' ').next().is_some_and(|word| claim.names(word));
    for row in sheet.rows() {
        if !named(row.text("item")?) {
            continue;
        }
        let printed = row.text("printed")?;
        return Ok(match row.optional("value")? {
            None => Ruling::no_data(format!(
                "The article says \"{printed}\" and has no number, of before or after."
            )),
            Some(value) => Ruling::not_shown(format!(
                "One number, {}, stands for \"{printed}\", without repeats.",
                value.value
            )),
        });
    }
    Err(claim.broken(&format!("{DATA} has no row for it")))
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
