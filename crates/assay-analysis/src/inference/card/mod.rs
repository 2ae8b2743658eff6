//! A card's row of the flash table: its numbers, ratings and rank among published figures.

mod exhibit;

use assay_core::quantity::units::show;
use assay_study::file::printed::Claimed;
use assay_study::file::{Card, Price};
use assay_study::findings::{Findings, Sentence, TargetFacts, Trust};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Plan, PlannedWorkload};
use assay_workloads::io::{self, Pattern, Poll, WriteSync};

use super::claims::{self, Numbers};
use super::facts::noun;

pub use exhibit::{CARD, exhibit};

const ANCHORS: &str = include_str!("../../../reference/anchors.csv");
/// The article's reference line: a 5400 rpm laptop disk.
const LINE: &str = "5400 rpm laptop disk";
const RATE: &str = "bandwidth_bytes_per_s";
/// Block size of the published random-access figures.
const SMALL_BYTES: u32 = 4 << 10;
pub(super) const CLASS_TOPIC: &str = "card-class";
const SD_CARD: &str = "card";

#[derive(Clone, Debug, PartialEq)]
pub struct CardRow {
    pub device: String,
    /// In bytes per second, as all rates.
    pub sequential_read: Option<CardNumber>,
    pub sequential_write: Option<CardNumber>,
    pub random_read: Option<CardNumber>,
    pub random_write: Option<CardNumber>,
    /// The target as the user wrote it, if there are several.
    pub target: String,
    pub rated_bytes_per_s: Option<f64>,
    /// Sequential reads divided by the rating.
    pub share_of_rating: Option<f64>,
    pub price: Option<Price>,
    pub iops_per_unit: Option<f64>,
    pub price_per_gb: Option<f64>,
    /// Comparison with published figures, the article's line first.
    pub published: Vec<FlashRow>,
    pub text: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardClaim {
    pub rating: String,
    pub outcome: RatingResult,
    /// The same as a sentence, with the numbers.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CardNumber {
    /// Geometric mean of the trials.
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
    pub trust: Option<Trust>,
}

impl CardNumber {
    /// Suffix for a sentence if a rule doubts the number.
    pub fn doubt(&self) -> &'static str {
        self.trust.map_or("", Trust::doubt)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlashRow {
    pub item: String,
    pub iops: f64,
    /// Source of the figure: measured, vendor, the author's rule.
    pub kind: String,
    pub place: RatingResult,
    /// Whether the figure is for random writes, not random reads.
    pub writes: bool,
    /// Whether it is the article's reference line, not a measured device.
    pub line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatingResult {
    Above,
    Below,
    /// The interval contains it, or there is no interval.
    Open,
}

impl RatingResult {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Above => "reached",
            Self::Below => "not reached",
            Self::Open => "cannot be determined",
        }
    }
}

/// One row per target of a study with a table `[card]`; empty for other studies.
pub(super) fn rows(plan: &Plan, found: &Findings) -> Vec<CardRow> {
    let Some(card) = plan.design.card.as_ref() else { return Vec::new() };
    let targets = found.environment.targets.iter().enumerate();
    targets.map(|(index, target)| row(plan, card, found, index, target)).collect()
}

fn row(plan: &Plan, card: &Card, found: &Findings, index: usize, target: &TargetFacts) -> CardRow {
    let numbers = numbers(plan, found, index);
    let number = |name: &str| numbers.get(name).cloned();
    let [random_write, random_read, linear_read, linear_write] =
        ["write_iops", "read_iops", "read_mb_s", "write_mb_s"].map(number);
    let claimed = card.rated.as_ref().and_then(Claimed::rate);
    let share = linear_read.as_ref().zip(claimed).map(|(read, claimed)| read.value / claimed);
    let capacity_bytes = card.capacity.map(|bytes| bytes.0).or(target.size_bytes);
    let several = found.environment.targets.len() > 1;
    let per_gb = |price: f64| Some(price / (capacity_bytes? as f64 / 1e9));
    let iops_per = |price: f64| Some(random_write.as_ref()?.value / price);
    let mut row = CardRow {
        device: target.drive.clone(),
        target: if several { target.name.clone() } else { String::new() },
        sequential_read: linear_read,
        sequential_write: linear_write,
        rated_bytes_per_s: claimed,
        share_of_rating: share,
        iops_per_unit: card.price.as_ref().and_then(|price| iops_per(price.amount)),
        price_per_gb: card.price.as_ref().and_then(|price| per_gb(price.amount)),
        price: card.price.clone(),
        // Numbers of an emulator are not comparable with published ones.
        published: if found.environment.is_emulated() {
            Vec::new()
        } else {
            published_rows(random_read.as_ref(), random_write.as_ref())
        },
        random_read,
        random_write,
        text: Vec::new(),
    };
    let claims = card.rated.iter().flat_map(|claimed| &claimed.claims);
    let ratings = claims::judge_claims(claims.map(|(text, one)| (text.as_str(), one)), &numbers);
    row.text = sentences(&row, &ratings);
    row
}

/// The numbers of one target for its claims: the best of several workloads that measure the same quantity.
fn numbers(plan: &Plan, found: &Findings, target: usize) -> Numbers {
    let mut numbers = Numbers::new();
    let of_target = |work: &&PlannedWorkload| work.target == target && !work.control;
    for work in plan.workloads.iter().filter(of_target) {
        let Some((name, metric)) = number_and_metric(work) else { continue };
        let Some(cell) = found.cell(&work.name, &work.arm, metric) else { continue };
        let Some(value) = cell.value() else { continue };
        if numbers.get(name).is_none_or(|known| known.value < value) {
            numbers.insert(name, CardNumber { value, ci95: cell.ci95, trust: cell.trust });
        }
    }
    numbers
}

/// The card's number that a workload measures, and its metric; `None` if the workload hides the drive's full rate.
fn number_and_metric(work: &PlannedWorkload) -> Option<(&'static str, &'static str)> {
    let io = io::IoPlan::of(&work.work)?;
    // Rate limits, pauses, mixed sizes and trims.
    let is_uneven = io.is_held_back() || io.is_shaped() || io.mix.clears();
    let is_batched = io.batch_complete_min.is_some_and(|count| count > 1);
    let waits = io.polled() != Poll::None || io.sync != WriteSync::None;
    let is_large_random = io.pattern == Pattern::Random && io.size_bytes() != SMALL_BYTES;
    if is_uneven || is_batched || waits || is_large_random {
        return None;
    }
    match (io.pattern, work.reads(), work.writes(), io.queue_depth * io.threads) {
        (Pattern::Sequential, true, false, _) => Some(("read_mb_s", RATE)),
        (Pattern::Sequential, false, true, _) => Some(("write_mb_s", RATE)),
        (Pattern::Random, true, false, 1) => Some(("read_iops", "iops")),
        (Pattern::Random, false, true, 1) => Some(("write_iops", "iops")),
        (Pattern::Random, true, false, _) => Some(("queued_read_iops", "iops")),
        (Pattern::Random, false, true, _) => Some(("queued_write_iops", "iops")),
        _ => None,
    }
}

/// For a check of SD cards, one sentence per card: the speed classes that its numbers reach.
pub(super) fn classes(plan: &Plan, environment: &Environment, found: &Findings) -> Vec<Sentence> {
    let targets = found.environment.targets.iter().enumerate();
    let cards = targets.filter(|(index, _)| noun(environment.sites.get(*index)) == SD_CARD);
    let several = found.environment.targets.len() > 1;
    let sentence = |(index, target): (usize, &TargetFacts)| {
        let numbers = numbers(plan, found, index);
        // Classes need a write rate.
        numbers.get("write_mb_s")?;
        let classes = claims::classes(&numbers).into_iter();
        let classes: Vec<String> = classes.map(|class| class.text).collect();
        let subject = if several { target.name.as_str() } else { "this card" };
        let text = format!("By these numbers, {subject} {}.", classes.join("; "));
        Some(Sentence::finding(CLASS_TOPIC, text))
    };
    cards.filter_map(sentence).collect()
}

/// The price of each card, and its price per 10^9 bytes.
pub(super) fn prices(rows: &[CardRow]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for row in rows {
        let (Some(price), Some(per_gb)) = (&row.price, row.price_per_gb) else { continue };
        let (per_gb, currency) = (show::three_digits(per_gb), &price.currency);
        let text = format!("{}: {}, {per_gb} {currency} per GB.", row.device, price.text);
        sentences.push(Sentence::finding("price", text));
    }
    sentences
}

/// Compares the card's CI with each published figure; open if its number is not trusted.
fn published_rows(read: Option<&CardNumber>, write: Option<&CardNumber>) -> Vec<FlashRow> {
    let parse_figure = |line: &str| {
        let mut parts = line.splitn(5, ',').map(|part| part.trim_matches('"'));
        let (item, metric) = (parts.next()?.to_owned(), parts.next()?);
        let (iops, _unit, kind) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
        let (number, writes) = match metric {
            "random read 4K" => (read, false),
            "random write 4K" => (write, true),
            _ => return None,
        };
        let (line, place, kind) = (item == LINE, place_against(number, iops), kind.to_owned());
        Some(FlashRow { item, iops, kind, place, writes, line })
    };
    let lines = ANCHORS.lines().filter(|line| !line.starts_with('#'));
    // The first line is the header.
    lines.skip(1).filter_map(parse_figure).collect()
}

fn place_against(number: Option<&CardNumber>, iops: f64) -> RatingResult {
    match number.filter(|number| is_sound(number)).and_then(|number| number.ci95) {
        Some([low, _]) if low > iops => RatingResult::Above,
        Some([_, high]) if high < iops => RatingResult::Below,
        _ => RatingResult::Open,
    }
}

/// Whether a number may be compared: it has an interval and no rule doubts it.
fn is_sound(number: &CardNumber) -> bool {
    number.ci95.is_some() && number.doubt().is_empty()
}

/// The article's line first, then the nearest cards by random writes.
fn sentences(row: &CardRow, ratings: &[CardClaim]) -> Vec<String> {
    let mut sentences = Vec::new();
    for line in row.published.iter().filter(|one| one.line) {
        let (access, number) = if line.writes {
            ("Random write", &row.random_write)
        } else {
            ("Random read", &row.random_read)
        };
        sentences.push(against_the_line(access, line, number.as_ref()));
    }
    sentences.extend(other_cards(&row.published, row.random_write.as_ref()));
    sentences.extend(ratings.iter().map(|one| format!("Printed on the card: {}.", one.text)));
    if row.share_of_rating.is_some() {
        let text = "The percentage refers to the read speed, like the ratings of cards.";
        sentences.push(text.to_owned());
    }
    sentences
}

/// Groups published cards by their position relative to the CI of random writes.
fn other_cards(published: &[FlashRow], random_write: Option<&CardNumber>) -> Vec<String> {
    let is_sound = random_write.is_some_and(is_sound);
    let mut sentences = Vec::new();
    for place in [RatingResult::Above, RatingResult::Below, RatingResult::Open] {
        let others = published.iter().filter(|one| !one.line && one.writes && one.place == place);
        let others: Vec<String> = others
            .map(|one| format!("{} ({} IOPS, {})", one.item, show::per_second(one.iops), one.kind))
            .collect();
        if others.is_empty() {
            continue;
        }
        let how = match place {
            RatingResult::Above => "are faster than",
            RatingResult::Below => "are slower than",
            RatingResult::Open if is_sound => "may be as fast as",
            // All are open because the card's number is missing or doubted.
            RatingResult::Open => continue,
        };
        sentences.push(format!("Random writes {how} on {}.", others.join(", ")));
    }
    sentences
}

fn against_the_line(access: &str, published: &FlashRow, number: Option<&CardNumber>) -> String {
    let line = format!("the {} IOPS of a {LINE}", show::per_second(published.iops));
    let Some(number) = number else { return format!("{access}: not measured.") };
    let iops = show::per_second(number.value);
    let interval = match number.ci95 {
        Some([low, high]) => {
            let [low, high] = [low, high].map(show::per_second);
            format!(" (95% CI {low} to {high}{})", number.doubt())
        }
        None => format!(" (too few trials for a CI{})", number.doubt()),
    };
    let comparison = match published.place {
        RatingResult::Above => format!("{iops} IOPS{interval}, above {line}"),
        RatingResult::Below => format!("{iops} IOPS{interval}, below {line}"),
        RatingResult::Open if number.trust == Some(Trust::Invalid) => {
            format!("the number is invalid, so it cannot be compared with {line}")
        }
        RatingResult::Open => {
            format!("{iops} IOPS{interval}; the comparison with {line} is inconclusive")
        }
    };
    format!("{access}s: {comparison}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, ci95: Option<[f64; 2]>) -> CardNumber {
        CardNumber { value, ci95, trust: Some(Trust::Trusted) }
    }

    #[test]
    fn a_place_needs_an_interval_on_one_side() {
        let at = |ends| place_against(Some(&number(100.0, ends)), 90.0);
        assert_eq!(at(Some([91.0, 110.0])), RatingResult::Above);
        assert_eq!(at(Some([80.0, 110.0])), RatingResult::Open);
        assert_eq!(at(Some([60.0, 89.0])), RatingResult::Below);
        assert_eq!(at(None), RatingResult::Open);
        assert_eq!(place_against(None, 90.0), RatingResult::Open);
        for trust in [Trust::Suspect, Trust::Invalid] {
            let doubted = CardNumber { trust: Some(trust), ..number(100.0, Some([95.0, 105.0])) };
            assert_eq!(place_against(Some(&doubted), 90.0), RatingResult::Open);
        }
    }

    #[test]
    fn published_cards_need_the_whole_interval() {
        let sentences = |ci95, trust| {
            let write = CardNumber { trust: Some(trust), ..number(25.0, ci95) };
            other_cards(&published_rows(None, Some(&write)), Some(&write))
        };
        let of = |item: &str, ends: [f64; 2]| {
            let found = sentences(Some(ends), Trust::Trusted);
            let own = found.into_iter().find(|own| own.contains(item)).unwrap();
            own.split(" on ").next().unwrap().to_owned()
        };
        // A poor card has 1 write per second.
        assert_eq!(of("poor card (", [1.01, 30.0]), "Random writes are faster than");
        assert_eq!(of("poor card (", [1.0, 30.0]), "Random writes may be as fast as");
        assert_eq!(of("poor card (", [0.5, 0.99]), "Random writes are slower than");
        assert_eq!(sentences(Some([0.5, 30.0]), Trust::Suspect), [""; 0]);
        assert_eq!(sentences(None, Trust::Trusted), [""; 0]);
    }

    #[test]
    fn the_line_of_the_article_comes_first_and_blank_figures_are_left_out() {
        let write = number(19.5, Some([19.2, 19.9]));
        let found = published_rows(None, Some(&write));
        assert_eq!((found[0].item.as_str(), found[0].iops), (LINE, 90.0));
        let place = |item: &str| found.iter().find(|one| one.item == item).unwrap().place;
        assert_eq!(place("poor card"), RatingResult::Above);
        assert_eq!(place("best SD card (part 1)"), RatingResult::Above);
        assert!(!found.iter().any(|one| one.item.contains("Extreme Pro")));
        let writes = found.iter().find(|one| one.item == LINE && one.writes);
        assert_eq!(writes.unwrap().place, RatingResult::Below);
        let text = against_the_line("Random write", writes.unwrap(), Some(&write));
        assert_eq!(
            text,
            "Random writes: 19.5 IOPS (95% CI 19.2 to 19.9), below the 90 IOPS of a 5400 rpm laptop disk."
        );
    }
}
