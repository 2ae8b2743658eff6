//! "ZFS compression results in workload starvation": latencies of four classes of operations under
//! two settings, as summaries and as histograms.

use super::histograms::{Histogram, read};
use super::judges::{Judge, Topic};
use super::published::{Book, Place, place};
use super::rules::{Direction, Ruling, Summary, labelled, of_summaries, welch};
use super::sheet::{Row, Sheet};
use super::words::{change, list, several};
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::findings::answers::Claim as Verdict;
use crate::quantity::units::show;
use crate::results::design::ALPHA;

const DATA: &str = "zfs_summary.csv";
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

pub(super) const TOPIC: Topic = Topic {
    article: "004",
    data: &[DATA, HISTOGRAMS],
    judges: &[
        Judge { claim: "flush latency dropped considerably", judge: latency },
        Judge { claim: "starvation of reads is partially ameliorated", judge: latency },
    ],
    numbers,
};

fn summary(row: Row<'_>) -> Outcome<Summary> {
    let sd = row.printed("stddev_us")?.value;
    if sd < 0.0 {
        return Err(row.broken(&format!("stddev_us is {sd}; no standard deviation is negative")));
    }
    Ok(Summary { n: row.count("count")?, mean: row.positive("avg_us")?, sd })
}

/// The two settings, in the order of the table: before and after.
fn settings(sheet: &Sheet) -> Outcome<[String; 2]> {
    let mut found: Vec<String> = Vec::new();
    for row in sheet.rows() {
        let level = row.text(SETTING)?;
        if !found.iter().any(|known| known == level) {
            found.push(level.to_owned());
        }
    }
    let have = found.len();
    found.try_into().map_err(|_| {
        crate::failure::Failure::mistake(format!("{DATA}: {have} settings where two are compared"))
    })
}

/// What a claim is about: a class, the settings before and after, the direction.
struct Question<'a> {
    class: &'a str,
    direction: Direction,
    rows: [Row<'a>; 2],
    levels: [String; 2],
}

impl<'a> Question<'a> {
    /// From what is expected: `flush lower at 3`.
    fn read(sheet: &'a Sheet, claim: &'a Claim) -> Outcome<Self> {
        let words = claim.expected_words();
        let [before, after] = settings(sheet)?;
        let parts = (words.first().copied(), Direction::of(&words), words.last().copied());
        let (Some(class), Some(direction), Some(level)) = parts else {
            return Err(claim.broken("it names no class, direction and setting"));
        };
        let levels = match level {
            level if level == after => [before, after],
            level if level == before => [after, before],
            _ => return Err(claim.broken(&format!("{DATA} has no setting `{level}`"))),
        };
        let row = |level: &String| sheet.one(&[(SETTING, level), ("class", class)]);
        let rows = [row(&levels[0])?, row(&levels[1])?];
        Ok(Self { class, direction, rows, levels })
    }
}

fn latency(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let histograms = read(library)?;
    let question = Question::read(&sheet, claim)?;
    let [before, after] = [summary(question.rows[0])?, summary(question.rows[1])?];
    let of = |level: &String| {
        histograms.iter().find(|one| one.class == question.class && one.level == *level)
    };
    let shapes = [of(&question.levels[0]), of(&question.levels[1])];
    if let Some(text) = disagreement(&shapes, [before, after]) {
        return Ok(Ruling::not_shown(format!("The article's two tables disagree: {text}.")));
    }
    let (verdict, p) = of_summaries(question.direction, before, after);
    let first = [means(&question, [before, after]), labelled(p, [before.n, after.n])].join(": ");
    let second = match verdict {
        Verdict::NotShown => {
            format!("Above {}, that is no difference shown.", show::share(ALPHA))
        }
        Verdict::Supported | Verdict::Contradicted | Verdict::NoData => aside(&question, &shapes)?,
    };
    let because = format!("{first}. {second}");
    Ok(Ruling { verdict, because: because.trim_end().to_owned() })
}

fn means(question: &Question<'_>, [before, after]: [Summary; 2]) -> String {
    let mean = |summary: Summary| show::duration(summary.mean * US);
    format!(
        "The mean {} became {}, from {} to {}",
        question.class,
        change(after.mean / before.mean, ["slower", "faster"]),
        mean(before),
        mean(after)
    )
}

/// What else changed: how many there were, and where the percentiles lie.
fn aside(question: &Question<'_>, shapes: &[Option<&Histogram>; 2]) -> Outcome<String> {
    let rate = |row: Row<'_>| Ok(row.printed("iops")?.value);
    let (before, after) = (rate(question.rows[0])?, rate(question.rows[1])?);
    let counts = if before > 0.0 {
        format!("There were {} of them a second", change(after / before, ["more", "fewer"]))
    } else {
        "How many there were a second is not told".to_owned()
    };
    let [Some(first), Some(second)] = shapes else { return Ok(format!("{counts}.")) };
    let doubled: Vec<String> = PERCENTILES
        .iter()
        .filter(|(share, _)| {
            let ends = [first, second].map(|shape| shape.percentile(*share));
            matches!(ends, [Some(first), Some(second)] if second.to_ns >= 2 * first.to_ns)
        })
        .map(|(_, name)| (*name).to_owned())
        .collect();
    Ok(if doubled.is_empty() {
        format!("{counts}.")
    } else {
        format!("{counts}, and the buckets of {} doubled.", list(&doubled))
    })
}

/// Where a histogram does not go with the summary of the same operations.
fn disagreement(shapes: &[Option<&Histogram>; 2], summaries: [Summary; 2]) -> Option<String> {
    shapes.iter().zip(summaries).find_map(|(shape, summary)| {
        let shape = (*shape)?;
        let (class, level) = (&shape.class, &shape.level);
        let total = shape.total();
        if total != summary.n {
            return Some(format!(
                "{} of {class} at {level} in the histogram, {} in the summary",
                show::count(total),
                show::count(summary.n)
            ));
        }
        let [low, high] = shape.bounds_of_mean()?;
        let mean = summary.mean * US;
        (!(low..=high).contains(&mean)).then(|| {
            format!(
                "the mean of {class} at {level}, {}, lies outside the {} to {} that the histogram \
                 allows",
                show::duration(mean),
                show::duration(low),
                show::duration(high)
            )
        })
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    let histograms = read(library)?;
    let mut classes: Vec<&str> = Vec::new();
    for row in sheet.rows() {
        let class = row.text("class")?;
        if !classes.contains(&class) {
            classes.push(class);
        }
        row_numbers(row, book)?;
    }
    let settings = settings(&sheet)?;
    for class in classes {
        compared(&sheet, class, &settings, book)?;
    }
    book.holm();
    book.check("histograms", &agreement(&sheet, &histograms)?);
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
    book.number(&at(class, level, LATENCY), row.positive("avg_us")? * US, &statistic);
    book.printed(&at(class, level, LATENCY), &format!("{} us", row.text("avg_us")?));
    for (column, metric, unit, word) in RATES {
        let value = row.printed(column)?.value;
        if value > 0.0 {
            book.number(&at(class, level, metric), value * unit, "one run of 60 s");
            let printed = format!("{} {word}", row.text(column)?);
            book.printed(&at(class, level, metric), &printed);
        } else {
            let reason = "printed as 0, cut off: there were fewer than one a second";
            book.absent(&at(class, level, metric), reason);
        }
    }
    Ok(())
}

/// One class under both settings: the latencies by Welch's test, the rates by their ratio alone.
fn compared(
    sheet: &Sheet,
    class: &str,
    [before, after]: &[String; 2],
    book: &mut Book,
) -> Outcome<()> {
    let one = |level: &str| -> Outcome<Summary> {
        let found = summary(sheet.one(&[(SETTING, level), ("class", class)])?)?;
        Ok(Summary { mean: found.mean * US, sd: found.sd * US, ..found })
    };
    let both = [one(before)?, one(after)?];
    let test = welch(both[0], both[1]);
    let label = test.map_or_else(String::new, |test| labelled(test.p, both.map(|one| one.n)));
    let places = [before, after].map(|level| at(class, level, LATENCY));
    book.summaries([&places[0], &places[1]], both, test, &label);
    for metric in ["iops", "bandwidth_bytes_per_s"] {
        book.compare(&at(class, before, metric), &at(class, after, metric));
    }
    Ok(())
}

/// Whether each histogram goes with its summary.
fn agreement(sheet: &Sheet, histograms: &[Histogram]) -> Outcome<String> {
    let mut told = Vec::new();
    for shape in histograms {
        let row = sheet.one(&[(SETTING, &shape.level), ("class", &shape.class)])?;
        let one = summary(row)?;
        told.extend(disagreement(&[Some(shape), None], [one, one]));
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
