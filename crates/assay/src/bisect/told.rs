//! A search as a page: what was asked, every step with its evidence, and what follows.

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

/// All of it, a line or two each.
pub fn text(search: &Search, ending: &Ending<'_>) -> String {
    let asked = &search.asked;
    let mut lines = vec![ending.sentence(search), String::new()];
    lines.push(line("command", &asked.command));
    lines.extend(asked.build.iter().map(|build| line("build", build)));
    lines.push(line("GOOD", &named(&asked.good)));
    lines.push(line("BAD", &named(&asked.bad)));
    lines.extend(search.ends.iter().map(evidence));
    lines.extend(search.allowed().map(|allowed| {
        let whose = if asked.gate.is_some() { "" } else { ", half of what GOOD and BAD differ by" };
        line("gate", &format!("{}{whose}", percent(allowed)))
    }));
    for (index, step) in search.steps.iter().enumerate() {
        let number = format!("{}.", index + 1);
        lines.extend([String::new(), line(&number, &named(&step.commit)), evidence(step)]);
    }
    if let Some(once_more) = &search.once_more {
        let (commit, before) = (once_more.step.commit.short(), once_more.before.short());
        let is_good = once_more.before.id == asked.good.id;
        let whose = if is_good { "GOOD" } else { "the one before it" };
        let what = format!("{commit} against {before}, {whose}");
        lines.extend([String::new(), line("once more", &what), evidence(&once_more.step)]);
    }
    lines.join("\n") + "\n"
}

/// What something is, below a name.
fn line(name: &str, what: &str) -> String {
    format!("{name:<12}{what}")
}

/// What is known of a commit, and where its evidence lies.
fn evidence(step: &Step) -> String {
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
