//! Which data speaks to which claim, and by which judge: a line in [`TOPICS`] for each set of data.

use assay_base::failure::Outcome;

use super::published::Book;
use super::rules::Ruling;
use super::sheet::Sheet;
use super::{
    Claim, Library, anchors, encryption, modelines, prose, raid, schedulers, ssd520,
    virtualisation, zfs,
};

/// One set of data of an article: its claims and its numbers.
pub struct Topic {
    /// Numbers of the articles.
    pub articles: &'static [&'static str],
    /// Tables that it reads; its numbers stand in the first.
    pub data: &'static [&'static str],
    /// A judge for each claim.
    pub judges: &'static [Judge],
    /// Adds its numbers to the findings of the article.
    pub numbers: Numbers,
}

/// A claim in the words of `claims.csv`, and what computes the verdict on it.
pub type Judge = (&'static str, fn(&Case<'_>) -> Outcome<Ruling>);
type Numbers = fn(&Library, &Sheet, &mut Book) -> Outcome<()>;

/// A claim and the table that speaks to it.
pub struct Case<'a> {
    /// Where that table is from.
    pub library: &'a Library,
    /// The table.
    pub sheet: Sheet,
    pub claim: &'a Claim,
}

/// All of them, in the order in which their numbers stand in the findings.
pub static TOPICS: &[Topic] = &[
    topic(&["000"], &["virtualisation.csv"], virtualisation::JUDGES, virtualisation::numbers),
    topic(&["000"], &["anchors.csv"], anchors::OF_CARDS, anchors::rates_of_cards),
    topic(&["000"], &["memory.csv"], prose::OF_MEMORY, prose::memory),
    topic(&["000"], &["modelines.csv"], modelines::JUDGES, modelines::numbers),
    topic(&["002"], &["raid.csv"], raid::JUDGES, raid::numbers),
    topic(&["002"], &["encryption.csv"], encryption::JUDGES, encryption::numbers),
    topic(&["002"], &["anchors.csv"], anchors::OF_THE_UPLINK, anchors::delays_and_rates),
    topic(&["003"], &["ssd520.csv"], ssd520::JUDGES, ssd520::numbers),
    topic(&["003"], &["schedulers.csv"], schedulers::JUDGES, schedulers::numbers),
    topic(&["004"], &["zfs_summary.csv", zfs::HISTOGRAMS], zfs::JUDGES, zfs::numbers),
    // Its numbers stand in the reasons of the verdicts.
    topic(&["000", "002", "003", "004"], &["prose.csv"], prose::JUDGES, |_, _, _| Ok(())),
];

const fn topic(
    articles: &'static [&'static str],
    data: &'static [&'static str],
    judges: &'static [Judge],
    numbers: Numbers,
) -> Topic {
    Topic { articles, data, judges, numbers }
}

impl Topic {
    pub fn of(article: &str) -> impl Iterator<Item = &'static Self> + Clone {
        TOPICS.iter().filter(move |topic| topic.articles.contains(&article))
    }

    /// Adds its numbers to the findings of the article.
    pub fn add_numbers(&self, library: &Library, book: &mut Book) -> Outcome<()> {
        let table = self.data.first().copied().unwrap_or_default();
        (self.numbers)(library, &library.sheet(table)?, book)
    }
}

/// The one verdict on a claim; a failure where nothing judges it.
pub fn ruling(library: &Library, claim: &Claim) -> Outcome<Ruling> {
    let own = Topic::of(&claim.article).filter(|topic| topic.data.contains(&claim.data.as_str()));
    let mut judges = own.flat_map(|topic| topic.judges);
    let found = judges.find(|(judged, _)| *judged == claim.claim);
    let what = || format!("nothing judges this claim of {} by {}", claim.article, claim.data);
    let (_, judge) = found.ok_or_else(|| claim.broken(&what()))?;
    judge(&Case { library, sheet: library.sheet(&claim.data)?, claim })
}
