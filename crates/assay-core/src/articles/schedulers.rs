//! "Intel SSD 520 Goodness": three schedulers by three file systems, sequential.

use super::judges::{Judge, Topic};
use super::published::{Book, place};
use super::rules::{BELIEVABLE_SCATTER, Direction, Ruling, scatter_that_hides};
use super::sheet::Sheet;
use super::words::{change, digits, list, percent, several};
use super::{Claim, Library};
use crate::failure::Outcome;
use crate::findings::Trust;
use crate::quantity::units::show;
use crate::system::devices::sata_link;
use crate::system::site::Link;
use crate::truth::is_above_link;

const DATA: &str = "schedulers.csv";
/// Columns that are no scheduler.
const OTHERS: [&str; 3] = ["fs", "op", "flag"];
/// The level that ratios in the tables of numbers are against; no verdict rests on it.
const BASELINE: &str = "noop";
/// Bonnie++ counts in 1024 bytes what it prints as K.
const K: f64 = 1024.0;
/// The drive's link as the kernel would write it: the article names SATA 6.0 for it.
const LINK: &str = "6.0 Gbps";

pub(super) const TOPIC: Topic = Topic {
    article: "003",
    data: &[DATA],
    judges: &[
        Judge { claim: "noop is a clear winner for ext4", judge: ranking },
        Judge { claim: "deadline performs best for xfs", judge: ranking },
        Judge { claim: "noop is marginally better for btrfs writes and re-writes", judge: ranking },
        Judge { claim: "deadline is best for btrfs reads", judge: ranking },
        Judge { claim: "CFQ is the least optimal choice", judge: ranking },
        Judge { claim: "the rates are the drive's", judge: rates },
    ],
    numbers,
};

/// One row: an operation on a file system, with the rate of each scheduler in K/s.
struct Line {
    filesystem: String,
    operation: String,
    rates: Vec<(String, f64)>,
    /// Why one of them is doubted, so that the row counts neither for nor against a claim.
    doubt: Option<String>,
}

impl Line {
    fn name(&self) -> String {
        format!("{} {}", self.filesystem, self.operation)
    }

    fn of(&self, scheduler: &str) -> Option<f64> {
        self.rates.iter().find(|(name, _)| name == scheduler).map(|(_, rate)| *rate)
    }

    /// The best of the others in a direction: its name and rate.
    fn rival(&self, scheduler: &str, direction: Direction) -> Option<(&str, f64)> {
        let others = self.rates.iter().filter(|(name, _)| name != scheduler);
        let better = |a: f64, b: f64| if direction.holds(b, a) { b } else { a };
        let best = others.clone().map(|(_, rate)| *rate).reduce(better)?;
        others.map(|(name, rate)| (name.as_str(), *rate)).find(|(_, rate)| *rate == best)
    }
}

fn lines(sheet: &Sheet) -> Outcome<Vec<Line>> {
    let schedulers: Vec<&String> =
        sheet.columns().iter().filter(|name| !OTHERS.contains(&name.as_str())).collect();
    let read = sheet.rows().map(|row| {
        let rate = |name: &&String| Ok(((*name).clone(), row.positive(name)?));
        Ok(Line {
            filesystem: row.text("fs")?.to_owned(),
            operation: row.text("op")?.to_owned(),
            rates: schedulers.iter().map(rate).collect::<Outcome<_>>()?,
            doubt: None,
        })
    });
    let mut lines: Vec<Line> = read.collect::<Outcome<_>>()?;
    let doubts: Vec<Option<String>> = lines.iter().map(|line| doubt(line, &lines)).collect();
    for (line, doubt) in lines.iter_mut().zip(doubts) {
        line.doubt = doubt;
    }
    Ok(lines)
}

/// What the numbers themselves give against a row.
fn doubt(line: &Line, all: &[Line]) -> Option<String> {
    let rates = || line.rates.iter().map(|(_, rate)| *rate);
    if let Some(rate) = rates().find(|rate| is_copied(all, *rate)) {
        return Some(format!("{rate} in {} stands in a second row, too", line.name()));
    }
    let above = rates().any(|rate| is_above_link(rate * K, ceiling()));
    above.then(|| format!("{} is faster than the link", line.name()))
}

/// What the drive's link can carry, bytes a second.
fn ceiling() -> f64 {
    sata_link(LINK).map_or(f64::INFINITY, |link| link.ceiling_bytes_per_s)
}

/// Whether a rate stands in another row as well: a copied cell is suspected.
fn is_copied(lines: &[Line], rate: f64) -> bool {
    lines.iter().flat_map(|line| &line.rates).filter(|(_, other)| *other == rate).count() > 1
}

/// What a claim says of the table: a scheduler comes first in a direction, in these rows.
struct Question<'a> {
    scheduler: String,
    direction: Direction,
    rows: Vec<&'a Line>,
}

impl<'a> Question<'a> {
    /// From the claim's words: a file system in them limits the rows, and so do operations in what
    /// is expected.
    fn read(lines: &'a [Line], claim: &Claim) -> Outcome<Self> {
        let words = claim.expected_words();
        let names = lines.first().map_or(&[][..], |line| &line.rates);
        let scheduler = names.iter().map(|(name, _)| name).find(|name| claim.expects(name));
        let (Some(scheduler), Some(direction)) = (scheduler, Direction::of(&words)) else {
            return Err(claim.broken("it names no scheduler of the table, or no direction"));
        };
        let named = |line: &Line| claim.names(&line.filesystem);
        let asked = |line: &Line| claim.expects(&line.operation);
        let (some_named, some_asked) = (lines.iter().any(named), lines.iter().any(asked));
        let wanted = |line: &&Line| (!some_named || named(line)) && (!some_asked || asked(line));
        Ok(Self {
            scheduler: scheduler.clone(),
            direction,
            rows: lines.iter().filter(wanted).collect(),
        })
    }

    /// Own rate over the best rival's in a row.
    fn lead(&self, line: &Line) -> Option<f64> {
        let (_, rival) = line.rival(&self.scheduler, self.direction)?;
        Some(line.of(&self.scheduler)? / rival)
    }

    fn is_first(&self, line: &Line) -> bool {
        self.lead(line).is_some_and(|lead| self.direction.holds(lead, 1.0))
    }

    /// The sound row that speaks against the claim most clearly.
    fn worst(&self) -> Option<&Line> {
        let off = |line: &Line| self.lead(line).map_or(0.0, |lead| lead.ln().abs());
        let against = self.sound().copied().filter(|line| !self.is_first(line));
        against.max_by(|a, b| off(a).total_cmp(&off(b)))
    }

    fn against(&self, worst: &Line) -> Ruling {
        let first = self.sound().filter(|line| self.is_first(line)).count();
        let doubts = self.doubts();
        let (name, rival) = worst.rival(&self.scheduler, self.direction).unwrap_or(("", 0.0));
        let own = worst.of(&self.scheduler).unwrap_or(0.0);
        Ruling::contradicted(format!(
            "{} is {} in {first} of {}{doubts}. In {}, {name} has {rival} K/s and {} {own}: {}.",
            self.scheduler,
            self.direction.extreme(),
            several(self.sound().count(), "sound row"),
            worst.name(),
            self.scheduler,
            change(rival / own, ["more", "less"])
        ))
    }

    /// All sound rows lie as claimed: whether the runs could hide the smallest lead.
    fn with_the_claim(&self, runs: Option<usize>) -> Ruling {
        let lead = |line: &&&Line| self.lead(line).map_or(0.0, |lead| lead.ln().abs());
        let closest = self.sound().min_by(|a, b| lead(a).total_cmp(&lead(b)));
        let told = [self.leads(), self.doubts()].concat();
        let Some(closest) = closest else {
            return Ruling::not_shown(format!("{told}. No row is left that can be trusted."));
        };
        let smallest = show::share((self.lead(closest).unwrap_or(1.0) - 1.0).abs());
        let hides = self.hides(closest, runs);
        if let Some(scatter) = hides.filter(|scatter| *scatter > BELIEVABLE_SCATTER) {
            return Ruling::supported(format!(
                "{told}. No spread was published, but the runs would have to scatter by {} to hide \
                 the smallest, {smallest}, and {} is the most that is believed of them.",
                percent(scatter, 0),
                percent(BELIEVABLE_SCATTER, 0)
            ));
        }
        let takes = hides.map_or_else(String::new, |scatter| {
            format!("; runs that scatter by {} % would hide it", digits(100.0 * scatter, 1))
        });
        Ruling::not_shown(format!(
            "{told}. No spread was published, and without it nothing tells a lead of {smallest} \
             from chance{takes}."
        ))
    }

    fn hides(&self, line: &Line, runs: Option<usize>) -> Option<f64> {
        let (_, rival) = line.rival(&self.scheduler, self.direction)?;
        scatter_that_hides(runs?, line.of(&self.scheduler)?, rival)
    }

    /// Rows without a number that is doubted.
    fn sound(&self) -> impl Iterator<Item = &&'a Line> {
        self.rows.iter().filter(|line| line.doubt.is_none())
    }

    fn leads(&self) -> String {
        let leads = self.sound().filter_map(|line| self.lead(line));
        let shares: Vec<String> = leads.map(|lead| show::share((lead - 1.0).abs())).collect();
        let (level, extreme) = (&self.scheduler, self.direction.extreme());
        if shares.is_empty() {
            return format!("no row tells whether {level} is {extreme}");
        }
        let sound = if shares.len() < self.rows.len() { "sound " } else { "" };
        let rows = several(shares.len(), &format!("{sound}row"));
        format!("{level} is {extreme} in all {rows}, by {}", list(&shares))
    }

    /// Why rows are left out.
    fn doubts(&self) -> String {
        let told: Vec<String> = self.rows.iter().filter_map(|line| line.doubt.clone()).collect();
        if told.is_empty() { String::new() } else { format!(" (left out: {})", list(&told)) }
    }
}

fn ranking(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let lines = lines(&sheet)?;
    let question = Question::read(&lines, claim)?;
    Ok(match question.worst() {
        Some(worst) => question.against(worst),
        None => question.with_the_claim(sheet.mean_of()),
    })
}

fn link(claim: &Claim) -> Outcome<Link> {
    sata_link(LINK).ok_or_else(|| claim.broken("the speed of the link cannot be read"))
}

fn rates(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let sheet = library.sheet(DATA)?;
    let lines = lines(&sheet)?;
    let link = link(claim)?;
    let ceiling = link.ceiling_bytes_per_s;
    let all: Vec<(f64, String)> = lines
        .iter()
        .flat_map(|line| line.rates.iter().map(move |(name, rate)| (rate * K, line, name)))
        .map(|(rate, line, name)| (rate, format!("{}, {name}", line.name())))
        .collect();
    let above: Vec<&(f64, String)> =
        all.iter().filter(|(rate, _)| is_above_link(*rate, ceiling)).collect();
    let most = above.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    Ok(match most {
        Some((rate, which)) => Ruling::contradicted(format!(
            "{} of {} are above the {:.0} MB/s that {} can carry, up to {:.0} MB/s ({which}). They \
             came from memory, or were compressed on the way.",
            several(above.len(), "rate"),
            all.len(),
            ceiling / 1e6,
            link.name,
            rate / 1e6
        )),
        None => Ruling::not_shown(format!(
            "All {} stay below the {:.0} MB/s that {} can carry: nothing speaks against it, and \
             nothing shows it.",
            several(all.len(), "rate"),
            ceiling / 1e6,
            link.name
        )),
    })
}

fn numbers(library: &Library, book: &mut Book) -> Outcome<()> {
    let sheet = library.sheet(DATA)?;
    let lines = lines(&sheet)?;
    let ceiling = ceiling();
    let at = |line: &Line, scheduler: &str| {
        let arm = [("filesystem", line.filesystem.as_str()), ("scheduler", scheduler)];
        place(&format!("sequential-{}", line.operation), &arm, "bandwidth_bytes_per_s")
    };
    for line in &lines {
        for (name, rate) in &line.rates {
            let here = at(line, name);
            book.number(&here, rate * K, &sheet.statistic());
            book.printed(&here, &format!("{rate} K/s"));
            if is_above_link(rate * K, ceiling) {
                let text = "more than the link to the drive can carry";
                book.doubt(&here, Trust::Invalid, "link-ceiling", text);
            }
            if is_copied(&lines, *rate) {
                let text = "the same number stands in another row: one may be a copy";
                book.doubt(&here, Trust::Suspect, "copied", text);
            }
        }
        for (name, _) in line.rates.iter().filter(|(name, _)| name != BASELINE) {
            book.compare(&at(line, BASELINE), &at(line, name));
        }
    }
    Ok(())
}
