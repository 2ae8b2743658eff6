//! "ZFS compression results in workload starvation": latencies of four classes of operations under
//! two settings, as summaries and as histograms.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::answers::Claim as Verdict;
use assay_study::results::design::ALPHA;

use super::Library;
use super::histograms::{Histogram, read};
use super::judges::{Case, Judge};
use super::published::{Book, Place, place};
use super::rules::{Direction, Ruling, Summary, labelled, of_summaries, welch};
use super::sheet::{Row, Sheet};
use super::words::{change, list, several};

pub(super) const HISTOGRAMS: &str = "zfs_histograms.csv";
/// The setting; a column of both tables.
pub(super) const SETTING: &str = "async_write_max_active";
const LATENCY: &str = "latency_mean_ns";
/// Nanoseconds of a microsecond.
const US: f64 = 1e3;
/// The script counts in 1024 bytes what it prints as k.
const K: f64 = 1024.0;
/// Percentiles that are told, where enough operations lie above them.
const PERCENTILES: [(f64, &str); 3] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")];

pub(super) const JUDGES: &[Judge] = &[
    ("flush latency dropped considerably", latency),
    ("starvation of reads is partially ameliorated", latency),
];

fn summary(row: Row<'_>) -> Outcome<Summary> {
    let sd = row.printed("stddev_us")?.value;
    if sd < 0.0 {
        return Err(row.broken(&format!("stddev_us is {sd}; no standard deviation is negative")));
    }
    Ok(Summary { n: row.count("count")?, mean: row.positive("avg_us")?, sd })
}

/// What stands in a column, each once, in the order of the table.
fn levels<'a>(sheet: &'a Sheet, column: &str) -> Outcome<Vec<&'a str>> {
    let mut found = Vec::new();
    for row in sheet.rows() {
        let level = row.text(column)?;
        if !found.contains(&level) {
            found.push(level);
        }
    }
    Ok(found)
}

/// The two settings, in the order of the table: before and after.
fn settings(sheet: &Sheet) -> Outcome<[&str; 2]> {
    let found = levels(sheet, SETTING)?;
    let have = found.len();
    let what = || sheet.broken(&format!("{have} settings where two are compared"));
    found.try_into().map_err(|_| what())
}

/// One class under one setting.
struct Side<'a> {
    row: Row<'a>,
    summary: Summary,
    shape: Option<&'a Histogram>,
}

fn latency(of: &Case<'_>) -> Outcome<Ruling> {
    let (sheet, claim, histograms) = (&of.sheet, of.claim, read(of.library)?);
    // `flush lower at 3`: a class, a direction, and the setting that is compared with the other.
    let words = claim.expected_words();
    let (Some(class), Some(direction), Some(level)) =
        (words.first().copied(), Direction::of(&words), words.last().copied())
    else {
        return Err(claim.broken("it names no class, direction and setting"));
    };
    let settings = settings(sheet)?;
    let unknown = || claim.broken(&format!("{} has no setting `{level}`", sheet.name()));
    let own = settings.iter().position(|one| *one == level).ok_or_else(unknown)?;
    let side = |level: &str| -> Outcome<Side<'_>> {
        let row = sheet.one(&[(SETTING, level), ("class", class)])?;
        let shape = histograms.iter().find(|one| one.class == class && one.level == level);
        Ok(Side { row, summary: summary(row)?, shape })
    };
    let sides = [side(settings[1 - own])?, side(level)?];
    if let Some(text) = sides.iter().find_map(|side| disagreement(side.shape?, side.summary)) {
        return Ok(Ruling::not_shown(format!("The article's two tables disagree: {text}.")));
    }
    let [before, after] = [sides[0].summary, sides[1].summary];
    let (verdict, p) = of_summaries(direction, before, after);
    let [first, second] = [before, after].map(|summary| show::duration(summary.mean * US));
    let became = change(after.mean / before.mean, ["slower", "faster"]);
    let test = labelled(p, [before.n, after.n]);
    let more = match verdict {
        Verdict::NotShown => {
            format!("Above {}, that is no difference shown.", show::share(ALPHA))
        }
        Verdict::Supported | Verdict::Contradicted | Verdict::NoData => aside(&sides)?,
    };
    let because =
        format!("The mean {class} became {became}, from {first} to {second}: {test}. {more}");
    Ok(Ruling { verdict, because })
}

/// What else changed: how many there were, and where the percentiles lie.
fn aside([before, after]: &[Side<'_>; 2]) -> Outcome<String> {
    let rates = [before.row.printed("iops")?.value, after.row.printed("iops")?.value];
    let counts = if rates[0] > 0.0 {
        format!("There were {} of them a second", change(rates[1] / rates[0], ["more", "fewer"]))
    } else {
        "How many there were a second is not told".to_owned()
    };
    let is_doubled = |share: f64| {
        let end = |side: &Side<'_>| Some(side.shape?.percentile(share)?.to_ns);
        end(before).zip(end(after)).is_some_and(|(before, after)| after >= 2 * before)
    };
    let doubled = PERCENTILES.iter().filter(|(share, _)| is_doubled(*share));
    let doubled: Vec<String> = doubled.map(|(_, name)| (*name).to_owned()).collect();
    Ok(if doubled.is_empty() {
        format!("{counts}.")
    } else {
        format!("{counts}, and the buckets of {} doubled.", list(&doubled))
    })
}

/// Where a histogram does not go with the summary of the same operations.
fn disagreement(shape: &Histogram, summary: Summary) -> Option<String> {
    let (class, level) = (&shape.class, &shape.level);
    let [total, n] = [shape.total(), summary.n].map(show::count);
    if shape.total() != summary.n {
        return Some(format!("{total} of {class} at {level} in the histogram, {n} in the summary"));
    }
    let ends = shape.bounds_of_mean()?;
    let mean = summary.mean * US;
    let [low, high, told] = [ends[0], ends[1], mean].map(show::duration);
    (!(ends[0]..=ends[1]).contains(&mean)).then(|| {
        format!(
            "the mean of {class} at {level}, {told}, lies outside the {low} to {high} that the \
             histogram allows"
        )
    })
}

pub(super) fn numbers(library: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    for row in sheet.rows() {
        row_numbers(row, book)?;
    }
    let settings = settings(sheet)?;
    for class in levels(sheet, "class")? {
        compared(sheet, class, settings, book)?;
    }
    book.holm();
    book.check("histograms", &agreement(sheet, &read(library)?)?);
    Ok(())
}

fn at(class: &str, level: &str, metric: &'static str) -> Place {
    place(class, &[(SETTING, level)], metric)
}

/// Latency and rates of one class under one setting.
fn row_numbers(row: Row<'_>, book: &mut Book) -> Outcome<()> {
    const RATES: [(&str, &str, f64, &str); 2] =
        [("iops", "iops", 1.0, "IOPS"), ("throughput_k_per_s", "bandwidth_bytes_per_s", K, "K/s")];
    let (class, level) = (row.text("class")?, row.text(SETTING)?);
    let statistic = format!(
        "one run of 60 s: {} single I/Os, standard deviation {}",
        show::count(row.count("count")?),
        show::duration(row.printed("stddev_us")?.value * US)
    );
    let printed = format!("{} us", row.text("avg_us")?);
    book.number(&at(class, level, LATENCY), row.positive("avg_us")? * US, &statistic, &printed);
    for (column, metric, unit, word) in RATES {
        let (at, value) = (at(class, level, metric), row.printed(column)?.value);
        if value > 0.0 {
            let printed = format!("{} {word}", row.text(column)?);
            book.number(&at, value * unit, "one run of 60 s", &printed);
        } else {
            book.absent(&at, "printed as 0, cut off: there were fewer than one a second");
        }
    }
    Ok(())
}

/// One class under both settings: the latencies by Welch's test, the rates by their ratio alone.
fn compared(sheet: &Sheet, class: &str, levels: [&str; 2], book: &mut Book) -> Outcome<()> {
    let one = |level: &str| -> Outcome<Summary> {
        let found = summary(sheet.one(&[(SETTING, level), ("class", class)])?)?;
        Ok(Summary { mean: found.mean * US, sd: found.sd * US, ..found })
    };
    let both = [one(levels[0])?, one(levels[1])?];
    let test = welch(both[0], both[1]);
    let label = test.map_or_else(String::new, |test| labelled(test.p, both.map(|one| one.n)));
    let places = |metric| levels.map(|level| at(class, level, metric));
    let [before, after] = places(LATENCY);
    book.summaries([&before, &after], both, test, &label);
    for metric in ["iops", "bandwidth_bytes_per_s"] {
        let [before, after] = places(metric);
        book.compare(&before, &after);
    }
    Ok(())
}

/// Whether each histogram goes with its summary.
fn agreement(sheet: &Sheet, histograms: &[Histogram]) -> Outcome<String> {
    let mut told = Vec::new();
    for shape in histograms {
        let row = sheet.one(&[(SETTING, &shape.level), ("class", &shape.class)])?;
        told.extend(disagreement(shape, summary(row)?));
    }
    Ok(if told.is_empty() {
        format!(
            "{} add up to the counts of the summary table, and each mean lies between the bounds \
             that its buckets allow",
            several(histograms.len(), "histogram")
        )
    } else {
        format!("the two tables disagree: {}", list(&told))
    })
}
