//! The source articles as reference studies: what they conclude, judged again from the numbers that
//! they print. Every verdict and every number of its reasons is computed from the tables under
//! `reference/`; none is written down here.
//!
//! The rules, the same for all claims:
//!
//! 1. *Arithmetic* (one printed number follows from others): supported where the printed digits are
//!    the computed number rounded or cut off, else contradicted. A fraction in words
//!    (halves and thirds) holds within half a tenth, because words round to one digit: 19 of 30 may
//!    be called two thirds, 18 or 24 may not.
//! 2. *A difference between settings* is supported only where chance is a poor explanation of it:
//!    - a number that lies against the claim, in one of its rows: contradicted;
//!    - size, mean and standard deviation are printed: Welch's test at 5 %, which then decides alone.
//!      Where single operations are the unit, the reason says so: the true p is larger;
//!    - a mean of n runs without spread: supported where the runs would have to scatter by more than
//!      is believed of any bench ([`rules::BELIEVABLE_SCATTER`]) to hide the difference;
//!    - *X is best* (or worst) in several rows: the same, row by row, so that the smallest lead
//!      decides. A row with a doubted number (it stands in a second row, or the link cannot carry
//!      it) counts neither for nor against;
//!    - single readings, rows that share a reading, runs that nobody counted: not shown.
//! 3. *No difference*: contradicted where rule 2 shows a difference, else not shown: single readings
//!    show neither, and that two things are the same takes an interval, which nobody published.
//! 4. *A limit*: contradicted by one number beyond it. To keep a limit that arithmetic sets is
//!    support; not to break one that physics sets shows nothing.
//! 5. *A count of steps*: contradicted where the steps that are listed give another, or a measurement
//!    does: what was moved, in whole steps, rounded to the nearest.
//! 6. No number that could speak: no data.
//! 7. A premise that nobody knows (whether a monitor takes a blanking that it was never asked for):
//!    what would follow is told, and it is not shown.
//!
//! Supported means that the printed numbers carry the claim, not that it holds elsewhere.

mod about;
mod anchors;
mod claims;
mod encryption;
mod histograms;
mod judges;
mod modelines;
mod prose;
mod published;
mod raid;
pub mod rules;
mod schedulers;
mod ssd520;
#[cfg(test)]
mod tests;
mod virtualisation;
mod words;
mod zfs;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use assay_base::failure::{Failure, Outcome};
use assay_study::findings::Findings;
use assay_study::findings::answers::{Answer, Claim as Verdict};
use assay_study::findings::places::Beside;
use assay_study::plan::arms::makes_layers;
use assay_study::study::{Study, presets};
use serde::Serialize;

pub use claims::{CLAIMS, Claim, claims};
pub use histograms::{Bucket, Histogram, read as histograms};
pub use published::PRINTED;

use about::{ARTICLES, About, Command, Text};
pub use assay_base::reference::{Library, sheet};
use judges::{TOPICS, Topic};
use published::Book;

/// Format of the document.
pub const FORMAT: &str = "assay-articles/1";

/// One article, judged again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Article {
    /// Its number.
    pub article: String,
    /// Titles of its texts as one line.
    pub title: String,
    /// Its texts that say something of performance.
    pub texts: Vec<Measured>,
    /// Number of the article that holds all of its texts, and their claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// Its numbers as findings of kind `article`.
    pub findings: Findings,
    /// Its claims with their verdicts.
    pub claims: Vec<Judged>,
    /// Histograms that it prints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Histogram>,
}

/// One text of an article.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    pub title: String,
    /// What was measured, and how often.
    pub measured: String,
    /// How to run it oneself.
    pub again: Vec<RunIt>,
}

/// A command that does the work again, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunIt {
    /// The command; none where there is none.
    pub command: Option<String>,
    /// What it does, or why there is none.
    pub text: String,
}

/// A claim with what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The claim, in short.
    pub claim: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Why, in one or two sentences.
    pub because: String,
    /// Title of the text that makes it.
    pub title: String,
    /// The table that speaks to it.
    pub data: String,
}

/// All articles, judged from the tables of a library. A failure where a table is broken, and where a
/// claim belongs to no article or has no judge.
pub fn judge(library: &Library) -> Outcome<Vec<Article>> {
    let claims = claims(library)?;
    let known = |claim: &&Claim| ARTICLES.iter().any(|about| about.number == claim.article);
    if let Some(lost) = claims.iter().find(|claim| !known(claim)) {
        return Err(lost.broken(&format!("there is no article {}", lost.article)));
    }
    ARTICLES.iter().map(|about| article(library, about, &claims)).collect()
}

fn article(library: &Library, about: &About, claims: &[Claim]) -> Outcome<Article> {
    let own = claims.iter().filter(|claim| claim.article == about.number);
    let claims: Vec<Judged> = own.map(|claim| judged(library, claim)).collect::<Outcome<_>>()?;
    let mut book = Book::default();
    for topic in Topic::of(about.number) {
        topic.add_numbers(library, &mut book)?;
    }
    let titles: Vec<&str> = about.texts.iter().map(|text| text.title).collect();
    let title = titles.join("; ");
    let mut findings = book.findings(about.number, &title);
    findings.answers = claims.iter().map(answer).collect();
    let has_histograms = Topic::of(about.number).any(|topic| topic.data.contains(&zfs::HISTOGRAMS));
    Ok(Article {
        article: about.number.to_owned(),
        title,
        texts: about.texts.iter().map(measured).collect(),
        repeats: about.repeats.map(str::to_owned),
        findings,
        claims,
        histograms: if has_histograms { histograms(library)? } else { Vec::new() },
    })
}

fn judged(library: &Library, claim: &Claim) -> Outcome<Judged> {
    let ruling = judges::ruling(library, claim)?;
    Ok(Judged {
        claim: claim.claim.clone(),
        verdict: ruling.verdict,
        because: ruling.because,
        title: claim.title.clone(),
        data: claim.data.clone(),
    })
}

/// A claim as the findings keep the answers to claims.
fn answer(judged: &Judged) -> Answer {
    Answer {
        ask: judged.claim.clone(),
        published: Some(judged.title.clone()),
        answer: judged.because.clone(),
        verdict: judged.verdict,
        because: Vec::new(),
        evidence: Vec::new(),
        load: None,
    }
}

/// Presets with the titles of the texts that they do again.
fn pointers() -> &'static [(Vec<String>, RunIt)] {
    static READ: OnceLock<Vec<(Vec<String>, RunIt)>> = OnceLock::new();
    // That each can be read is tested where presets are.
    let read = || presets::all().filter_map(|(name, study)| Some((name, study.ok()?)));
    READ.get_or_init(|| {
        let pointer = |(name, study): (&str, Study)| {
            let run = run_it(name, &study);
            (study.articles, run)
        };
        read().map(pointer).collect()
    })
}

fn measured(text: &Text) -> Measured {
    let is_of =
        |(titles, _): &&(Vec<String>, RunIt)| titles.iter().any(|title| title == text.title);
    let mut again: Vec<RunIt> =
        pointers().iter().filter(is_of).map(|(_, run)| run.clone()).collect();
    again.extend(text.again.iter().map(|Command(command, text)| RunIt {
        command: Some((*command).to_owned()),
        text: (*text).to_owned(),
    }));
    if again.is_empty() {
        again.push(RunIt { command: None, text: "no preset and no calculator".to_owned() });
    }
    Measured { title: text.title.to_owned(), measured: text.measured.to_owned(), again }
}

/// How a preset is run: on devices of its own where it makes file systems or links, in the directory that one
/// is in. Of one about a card, which is overwritten, the plan alone tells what has to be typed.
fn run_it(name: &str, study: &Study) -> RunIt {
    if study.card.is_some() {
        let text =
            format!("{}; its plan tells how to run it, and what is lost by that", study.title);
        return RunIt { command: Some(format!("assay plan {name} /dev/sdX")), text };
    }
    let place = match () {
        () if study.loads_links() => " --lab",
        () if makes_layers(study) => " --lab",
        () if study.works_in_directory() => " .",
        () => "",
    };
    RunIt { command: Some(format!("assay run {name}{place}")), text: study.title.clone() }
}

/// The table of places of an article (`000` or `article-000`), with the digits that it prints.
///
/// # Errors
/// The user's mistake where the article has none.
pub fn beside(library: &Library, name: &str) -> Outcome<Beside> {
    let number = name.strip_prefix("article-").unwrap_or(name);
    if number == virtualisation::ARTICLE {
        return virtualisation::beside(library);
    }
    Err(Failure::mistake(format!(
        "--beside {name}: only article-{} has a table of places",
        virtualisation::ARTICLE
    )))
}

/// The articles that a word names: a number, a word of a title, or a word of a table's name. A
/// failure that lists the names where there is none.
pub fn named<'a>(articles: &'a [Article], name: &str) -> Outcome<Vec<&'a Article>> {
    let wanted = name.to_lowercase();
    let exact: Vec<&Article> = articles.iter().filter(|one| one.article == wanted).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let found: Vec<&Article> = articles
        .iter()
        .filter(|one| one.repeats.is_none())
        .filter(|one| names(one).contains(&wanted))
        .collect();
    if found.is_empty() {
        return Err(Failure::mistake(format!(
            "no article is called `{name}`; there are {}",
            all_names(articles)
        )));
    }
    Ok(found)
}

/// Words that name an article beside its number.
fn names(article: &Article) -> Vec<String> {
    let stems = Topic::of(&article.article).flat_map(|topic| topic.data).map(stem);
    let words = article.title.split(|c: char| !c.is_alphanumeric());
    let parts = stems.clone().flat_map(|stem| stem.split('_'));
    let all = words.chain(stems).chain(parts).filter(|word| word.len() > 2);
    all.map(str::to_lowercase).collect()
}

/// The name of a table without its ending.
fn stem<'d>(data: &&'d str) -> &'d str {
    data.trim_end_matches(".csv")
}

fn all_names(articles: &[Article]) -> String {
    let numbers: Vec<&str> = articles.iter().map(|one| one.article.as_str()).collect();
    let tables: BTreeSet<&str> = TOPICS.iter().flat_map(|topic| topic.data).map(stem).collect();
    let tables: Vec<&str> = tables.into_iter().collect();
    format!(
        "{}, and words of their titles and tables, such as {}",
        numbers.join(", "),
        tables.join(", ")
    )
}
