//! A search as a page: what was asked, every step with its evidence, and what follows.

use assay_report::wrap;
use assay_study::findings::gate::percent;

use super::{Fate, Search, Step};
use crate::revisions::Commit;

/// How a search ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending<'s> {
    /// BAD is not surely worse than GOOD.
    Nothing,
    /// This commit is the first bad one, and worse than the one before it in fresh replicates, too.
    Found(&'s Commit),
    /// This one, but fresh replicates did not show it again.
    NotShownAgain(&'s Commit),
    /// The bad one, or one of those before it that nobody could judge.
    OneOf(&'s Commit, Vec<&'s Commit>),
}

fn named(commit: &Commit) -> String {
    format!("{} {}", commit.short(), commit.subject)
}

impl Ending<'_> {
    /// In one sentence.
    pub fn sentence(&self, search: &Search) -> String {
        match self {
            Self::Nothing => {
                let why = search.ends.as_ref().map_or_else(String::new, Step::words);
                format!(
                    "Nothing to look for: BAD is not surely worse than GOOD ({why}). --afresh measures again."
                )
            }
            Self::Found(commit) => format!("The first worse commit is {}.", named(commit)),
            Self::NotShownAgain(commit) => format!(
                "The first worse commit seems to be {}, but compared once more that was not shown again.",
                named(commit)
            ),
            Self::OneOf(commit, others) => {
                let others: Vec<String> = others.iter().map(|one| named(one)).collect();
                format!(
                    "The first worse commit is {}, or one of those before it that could not be judged: {}.",
                    named(commit),
                    others.join("; ")
                )
            }
        }
    }
}

/// All of it, a line or two each, as far as the width allows.
pub fn text(search: &Search, ending: &Ending<'_>, width: usize) -> String {
    let rows = rows(search).into_iter();
    let rows = rows.flat_map(|Row { name, what }| {
        // An empty line comes out as one.
        wrap(&what, &format!("{name:<INDENT$}"), INDENT, width)
    });
    let mut lines = wrap(&ending.sentence(search), "", 0, width);
    lines.push(String::new());
    lines.extend(rows);
    lines.join("\n") + "\n"
}

/// Where what stands behind a name begins.
const INDENT: usize = 12;

/// A line of the page before it is broken.
struct Row {
    name: String,
    what: String,
}

/// All that is known, step by step.
fn rows(search: &Search) -> Vec<Row> {
    let asked = &search.asked;
    let mut lines = vec![line("command", &asked.command)];
    lines.extend(asked.build.iter().map(|build| line("build", build)));
    lines.extend(
        Some(&asked.options).filter(|text| !text.is_empty()).map(|text| line("options", text)),
    );
    lines.push(line("GOOD", &named(&asked.good)));
    lines.push(line("BAD", &named(&asked.bad)));
    lines.extend(search.ends.iter().map(evidence));
    lines.extend(search.allowed().map(|allowed| {
        let whose = if asked.gate.is_some() { "" } else { ", half of what GOOD and BAD differ by" };
        line("gate", &format!("{}{whose}", percent(allowed)))
    }));
    for (index, step) in search.steps.iter().enumerate() {
        let number = format!("{}.", index + 1);
        lines.extend([line("", ""), line(&number, &named(&step.commit)), evidence(step)]);
    }
    if let Some(once_more) = &search.once_more {
        let (commit, before) = (once_more.step.commit.short(), once_more.before.short());
        let is_good = once_more.before.id == asked.good.id;
        let whose = if is_good { "GOOD" } else { "the one before it" };
        let what = format!("{commit} against {before}, {whose}");
        lines.extend([line("", ""), line("once more", &what), evidence(&once_more.step)]);
    }
    lines
}

/// What something is, below a name.
fn line(name: &str, what: &str) -> Row {
    Row { name: name.to_owned(), what: what.to_owned() }
}

/// What is known of a commit, and where its evidence lies.
fn evidence(step: &Step) -> Row {
    let shown = step.study.as_ref().map(|id| format!(" (assay show {id})"));
    let words = match step.fate {
        // All that a build says is told when it fails.
        Fate::NoBuild(_) | Fate::NoRun(_) => {
            step.words().lines().next().unwrap_or_default().to_owned()
        }
        _ => step.words(),
    };
    line("", &format!("{words}{}", shown.unwrap_or_default()))
}
