//! Which data speaks to which claim, and by which judge: a line in [`TOPICS`] for each set of data.

use super::published::Book;
use super::rules::Ruling;
use super::{
    Claim, Library, bufferbloat, encryption, flash, memory, modelines, prose, raid, schedulers,
    ssd520, virtualisation, zfs,
};
use crate::failure::Outcome;

/// One set of data of an article: its claims and its numbers.
pub struct Topic {
    /// Number of the article.
    pub article: &'static str,
    /// Tables that it reads.
    pub data: &'static [&'static str],
    /// A judge for each claim.
    pub judges: &'static [Judge],
    /// Adds its numbers to the findings of the article.
    pub numbers: fn(&Library, &mut Book) -> Outcome<()>,
}

/// What decides about one claim.
pub struct Judge {
    /// The claim, in the words of `claims.csv`.
    pub claim: &'static str,
    /// Computes the verdict from the tables.
    pub judge: fn(&Library, &Claim) -> Outcome<Ruling>,
}

/// All of them, in the order in which their numbers stand in the findings.
pub static TOPICS: &[Topic] = &[
    virtualisation::TOPIC,
    flash::TOPIC,
    memory::TOPIC,
    modelines::TOPIC,
    raid::TOPIC,
    encryption::TOPIC,
    bufferbloat::TOPIC,
    ssd520::TOPIC,
    schedulers::TOPIC,
    zfs::TOPIC,
    prose::AC100,
    prose::DISKS,
    prose::CHARTS,
    prose::ZSWAP,
];

/// The one judge of a claim; a failure where there is none.
pub fn judge_of(claim: &Claim) -> Outcome<&'static Judge> {
    let own = TOPICS.iter().filter(|topic| topic.article == claim.article);
    let own = own.filter(|topic| topic.data.contains(&claim.data.as_str()));
    let mut judges = own.flat_map(|topic| topic.judges);
    let found = judges.find(|judge| judge.claim == claim.claim);
    let what = || format!("nothing judges this claim of {} by {}", claim.article, claim.data);
    found.ok_or_else(|| claim.broken(&what()))
}
