//! "Intel SSD 520 Goodness": three schedulers by three file systems, sequential.

use assay_base::failure::Outcome;
use assay_base::quantity::units::show;
use assay_study::findings::Trust;
use assay_study::findings::answers::Claim::NotShown;
use assay_system::system::devices::sata_link;
use assay_verdict::truth::is_above_link;

use super::Library;
use super::judges::{Case, Judge};
use super::published::{Book, place};
use super::rules::{Direction, Ruling, held, hidden_by_none, scatter_that_hides};
use super::sheet::Sheet;
use super::words::{change, digits, list, several};

/// Columns that are no scheduler.
const OTHERS: [&str; 3] = ["fs", "op", "flag"];
/// The level that ratios in the tables of numbers are against; no verdict rests on it.
const BASELINE: &str = "noop";
/// Bonnie++ counts in 1024 bytes what it prints as K.
const K: f64 = 1024.0;
/// The drive's link as the kernel would write it: the article names SATA 6.0 for it.
const LINK: &str = "6.0 Gbps";

pub(super) const JUDGES: &[Judge] = &[
    ("noop is a clear winner for ext4", ranking),
    ("deadline performs best for xfs", ranking),
    ("noop is marginally better for btrfs writes and re-writes", ranking),
    ("deadline is best for btrfs reads", ranking),
    ("CFQ is the least optimal choice", ranking),
    ("the rates are the drive's", rates),
];

/// A scheduler and its rate, K/s.
type Rate = (String, f64);

/// One row: an operation on a file system, with the rate of each scheduler.
struct Line {
    filesystem: String,
    operation: String,
    rates: Vec<Rate>,
}

fn lines(sheet: &Sheet) -> Outcome<Vec<Line>> {
    let schedulers = || sheet.columns().iter().filter(|name| !OTHERS.contains(&name.as_str()));
    let read = sheet.rows().map(|row| {
        let rate = |name: &String| Ok((name.clone(), row.positive(name)?));
        Ok(Line {
            filesystem: row.text("fs")?.to_owned(),
            operation: row.text("op")?.to_owned(),
            rates: schedulers().map(rate).collect::<Outcome<_>>()?,
        })
    });
    read.collect()
}

impl Line {
    fn name(&self) -> String {
        format!("{} {}", self.filesystem, self.operation)
    }

    /// What the numbers themselves give against a row: it counts neither for nor against a claim.
    fn doubt(&self, all: &[Self]) -> Option<String> {
        let (mut rates, name) = (self.rates.iter().map(|(_, rate)| *rate), self.name());
        if let Some(rate) = rates.clone().find(|rate| is_copied(all, *rate)) {
            return Some(format!("{rate} in {name} stands in a second row, too"));
        }
        let above = rates.any(|rate| is_above_link(rate * K, ceiling()));
        above.then(|| format!("{name} is faster than the link"))
    }

    /// A scheduler beside the first of the others in a direction.
    fn lead(&self, scheduler: &str, direction: Direction) -> Option<Lead<'_>> {
        let (own, others): (Vec<&Rate>, _) =
            self.rates.iter().partition(|(name, _)| name == scheduler);
        let first = others.into_iter().reduce(|a, b| if direction.holds(b.1, a.1) { b } else { a });
        Some(Lead { line: self, own: own.first()?.1, rival: first? })
    }
}

/// What the drive's link can carry, bytes a second.
fn ceiling() -> f64 {
    sata_link(LINK).map_or(f64::INFINITY, |link| link.ceiling_bytes_per_s)
}

/// Whether a rate stands in another row as well: a copied cell is suspected.
fn is_copied(lines: &[Line], rate: f64) -> bool {
    lines.iter().flat_map(|line| &line.rates).filter(|(_, other)| *other == rate).count() > 1
}

/// A scheduler in one row, beside the first of the others.
struct Lead<'a> {
    line: &'a Line,
    own: f64,
    rival: &'a Rate,
}

impl Lead<'_> {
    fn ratio(&self) -> f64 {
        self.own / self.rival.1
    }

    fn size(&self) -> f64 {
        self.ratio().ln().abs()
    }

    fn words(&self) -> String {
        show::share((self.ratio() - 1.0).abs())
    }
}

/// What a claim says of the table: a scheduler comes first in a direction, in these rows.
struct Question<'a> {
    scheduler: &'a str,
    direction: Direction,
    /// Rows without a number that is doubted.
    sound: Vec<Lead<'a>>,
    /// Why rows are left out.
    doubts: String,
}

impl<'a> Question<'a> {
    /// From the claim's words: a file system in them limits the rows, and so do operations in what
    /// is expected.
    fn read(lines: &'a [Line], of: &Case<'_>) -> Outcome<Self> {
        let claim = of.claim;
        let mut names = lines.iter().flat_map(|line| &line.rates).map(|(name, _)| name.as_str());
        let scheduler = names.find(|name| claim.expects(name));
        let direction = Direction::of(&claim.expected_words());
        let (Some(scheduler), Some(direction)) = (scheduler, direction) else {
            return Err(claim.broken("it names no scheduler of the table, or no direction"));
        };
        let named = |line: &Line| claim.names(&line.filesystem);
        let asked = |line: &Line| claim.expects(&line.operation);
        let (some_named, some_asked) = (lines.iter().any(named), lines.iter().any(asked));
        let wanted = |line: &&Line| (!some_named || named(line)) && (!some_asked || asked(line));
        let (mut sound, mut doubts) = (Vec::new(), Vec::new());
        for line in lines.iter().filter(wanted) {
            match line.doubt(lines) {
                Some(doubt) => doubts.push(doubt),
                None => sound.extend(line.lead(scheduler, direction)),
            }
        }
        let left_out = format!(" (left out: {})", list(&doubts));
        let doubts = if doubts.is_empty() { String::new() } else { left_out };
        Ok(Self { scheduler, direction, sound, doubts })
    }

    fn is_first(&self, lead: &Lead<'_>) -> bool {
        self.direction.holds(lead.ratio(), 1.0)
    }

    fn against(&self, worst: &Lead<'_>) -> Ruling {
        let Self { scheduler, doubts, .. } = self;
        let first = self.sound.iter().filter(|lead| self.is_first(lead)).count();
        let (extreme, all) = (self.direction.extreme(), several(self.sound.len(), "sound row"));
        let Lead { line, own, rival: (name, rival) } = worst;
        let (row, more) = (line.name(), change(rival / own, ["more", "less"]));
        Ruling::contradicted(format!(
            "{scheduler} is {extreme} in {first} of {all}{doubts}. In {row}, {name} has {rival} \
             K/s and {scheduler} {own}: {more}."
        ))
    }

    /// All sound rows lie as claimed: whether the runs could hide the smallest lead.
    fn with_the_claim(&self, runs: Option<usize>) -> Ruling {
        let Self { scheduler, doubts, .. } = self;
        let extreme = self.direction.extreme();
        let closest = self.sound.iter().min_by(|a, b| a.size().total_cmp(&b.size()));
        let Some(closest) = closest else {
            return Ruling::not_shown(format!(
                "no row tells whether {scheduler} is {extreme}{doubts}. No row is left that can be \
                 trusted."
            ));
        };
        let sound = if doubts.is_empty() { "row" } else { "sound row" };
        let rows = several(self.sound.len(), sound);
        let shares = list(&self.sound.iter().map(Lead::words).collect::<Vec<_>>());
        let told = format!("{scheduler} is {extreme} in all {rows}, by {shares}{doubts}");
        let smallest = closest.words();
        let hides = runs.and_then(|runs| scatter_that_hides(runs, closest.own, closest.rival.1));
        if let Some(so) = hidden_by_none(hides, &format!("the smallest, {smallest}")) {
            return Ruling::supported(format!("{told}. No spread was published, but {so}."));
        }
        let takes = hides.map_or_else(String::new, |scatter| {
            format!("; runs that scatter by {} % would hide it", digits(100.0 * scatter, 1))
        });
        Ruling::not_shown(format!(
            "{told}. No spread was published, and without it nothing tells a lead of {smallest} \
             from chance{takes}."
        ))
    }
}

fn ranking(of: &Case<'_>) -> Outcome<Ruling> {
    let lines = lines(&of.sheet)?;
    let question = Question::read(&lines, of)?;
    // The sound row that speaks against the claim most clearly.
    let against = question.sound.iter().filter(|lead| !question.is_first(lead));
    Ok(match against.max_by(|a, b| a.size().total_cmp(&b.size())) {
        Some(worst) => question.against(worst),
        None => question.with_the_claim(of.sheet.mean_of()),
    })
}

fn rates(of: &Case<'_>) -> Outcome<Ruling> {
    let lines = lines(&of.sheet)?;
    let broken = || of.claim.broken("the speed of the link cannot be read");
    let link = sata_link(LINK).ok_or_else(broken)?;
    let all = lines.iter().flat_map(|line| line.rates.iter().map(move |rate| (line, rate)));
    let rate_of = |(_, (_, rate)): &(&Line, &Rate)| rate * K;
    let above = all.clone().filter(|one| is_above_link(rate_of(one), link.ceiling_bytes_per_s));
    let (count, beyond) = (all.count(), several(above.clone().count(), "rate"));
    let (every, name) = (several(count, "rate"), &link.name);
    let ceiling = format!("the {:.0} MB/s that {name} can carry", link.ceiling_bytes_per_s / 1e6);
    let most = above.max_by(|a, b| rate_of(a).total_cmp(&rate_of(b)));
    let most = most.map(|one| {
        let (line, (scheduler, _)) = one;
        format!("{:.0} MB/s ({}, {scheduler})", rate_of(&one) / 1e6, line.name())
    });
    Ok(held(
        most.is_none(),
        "",
        NotShown,
        &format!(
            "All {every} stay below {ceiling}: nothing speaks against it, and nothing shows it."
        ),
        &format!(
            "{beyond} of {count} are above {ceiling}, up to {}. They came from memory, or were \
             compressed on the way.",
            most.unwrap_or_default()
        ),
    ))
}

pub(super) fn numbers(_: &Library, sheet: &Sheet, book: &mut Book) -> Outcome<()> {
    let (lines, ceiling) = (lines(sheet)?, ceiling());
    let at = |line: &Line, scheduler: &str| {
        let arm = [("filesystem", line.filesystem.as_str()), ("scheduler", scheduler)];
        place(&format!("sequential-{}", line.operation), &arm, "bandwidth_bytes_per_s")
    };
    for line in &lines {
        for (name, rate) in &line.rates {
            let here = at(line, name);
            book.number(&here, rate * K, &sheet.statistic(), &format!("{rate} K/s"));
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
