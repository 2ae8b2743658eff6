//! `assay bisect`: the first commit that is worse than a good one.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Arg, Args};
use serde::Serialize;

use super::build::BuildArguments;
use super::commands::{CommandArguments, VARYING};
use super::gate::{self, GateArguments};
use super::progress::Progress;
use super::running::Unended;
use super::study_arguments::{Permitted, StudyArguments};
use super::{output, revisions, running};
use crate::bisect::{self, Asked, Ending, Fate, OnceMore, Search, Step};
use crate::revisions::{Commit, Error, Repository, Trees};
use assay_base::failure::{Failure, Kind, Outcome};
use assay_runner::runner::Request;
use assay_study::findings::Findings;
use assay_system::system::{System, identity};

/// Replicates of BAD against GOOD, where no gate is named: half of their difference decides all that follows, so
/// that it has to be known well.
const OF_ENDS: u32 = 30;
/// Replicates of a step at most, where the line does not say.
const MOST: u32 = 200;

/// Find the first commit that is worse
///
/// Each commit in the middle, as git bisect names it, is compared with GOOD: both are built in trees of their own,
/// take turns in one study, and that goes on until it is sure whether the commit is worse by more than
/// the gate. What is never sure is not called good; a commit that does not build, or in which the command fails, is
/// left out. At the end the first bad commit and the one before it are compared once more.
#[derive(Debug, Args)]
#[command(
    mut_args(of_one_command),
    after_help = "\
The same line goes on where it was interrupted. Exit code 0 when one commit was found, 5 when not.

Examples:
  assay bisect v1.0 main --command ./bench --build 'make -j2'
  assay bisect v1.0 main --command ./bench --build 'make -j2' --gate 3%
  assay bisect v1.0 main --command ./bench --reads 'tps=([0-9]+):tps:higher'"
)]
pub struct Arguments {
    /// The commit that all others are compared with
    #[arg(value_name = "GOOD")]
    good: String,
    /// A commit after it that is worse
    #[arg(value_name = "BAD")]
    bad: String,
    /// The repository, which is only read [default: that of this directory]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    repository: String,
    /// A line for the shell that builds the tree of a commit, once and not timed
    #[arg(long, value_name = "LINE")]
    build: Option<String>,
    /// The loss above which a commit is bad
    ///
    /// By default half of what GOOD and BAD differ by, which 30 replicates of both tell first.
    #[arg(long, value_name = "SHARE")]
    gate: Option<String>,
    /// Replicates of a step at most [default: 200]
    #[arg(long, value_name = "N")]
    replicates: Option<u32>,
    /// Forget what the same line has found so far
    #[arg(long)]
    afresh: bool,
    #[command(flatten)]
    commands: CommandArguments,
    #[command(flatten)]
    permitted: Permitted,
    /// One JSON document instead of the text
    #[arg(long)]
    json: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

/// An option of commands as this command has it: it measures one of them, and what would vary something else is
/// refused in its own words and not shown.
fn of_one_command(option: Arg) -> Arg {
    let long = option.get_long().map(str::to_owned);
    match long.as_deref() {
        Some("command") => option
            .help("The line that is measured")
            .long_help("The shell runs it in a tree of each commit, again and again."),
        Some(name) if VARYING.contains(&name) => option.hide(true),
        _ => option,
    }
}

/// What `--json` tells.
#[derive(Serialize)]
struct Document<'s> {
    #[serde(flatten)]
    search: &'s Search,
    /// The loss above which a commit is bad, as a share.
    allowed: Option<f64>,
    /// The first bad commit, where one was found.
    first_bad: Option<&'s Commit>,
    /// What was found, in a sentence.
    summary: String,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let command = arguments.commands.one_line("assay bisect")?;
    let results = identity::results_directory(system)?;
    let stop = running::stop_on_signals(&running::PUTS_BACK)?;
    let repository = Repository::on(system, Path::new(&arguments.repository))?;
    let caller = if arguments.permitted.as_root() { None } else { identity::caller(system) };
    let repository = repository.run_by(caller).stopped_by(&stop);
    let asked = arguments.asked(&repository, command)?;
    if !arguments.names_by_digits(&asked) && repository.is_changed()? {
        revisions::say_what_is_not_committed(&asked.repository);
    }
    let place = bisect::place(&results, &asked)?;
    let begun = if arguments.afresh { None } else { bisect::read(system, &place, &asked)? };
    let search = match begun {
        Some(search) => search,
        None => bisect::forget(system, &place, asked)?,
    };
    let mut hunt = Hunt { system, arguments, repository, results, stop: &stop, place, search };
    let steps = hunt.search.steps.len();
    if steps > 0 && hunt.search.once_more.is_none() {
        hunt.say(&format!("going on after step {steps}"));
    }
    let candidates = hunt.finish().map_err(goes_on)?;
    tell(system, &hunt.search, &candidates, arguments.json)
}

/// An end from outside, with how the search goes on.
fn goes_on(failure: Failure) -> Failure {
    if failure.kind != Kind::Interrupted {
        return failure;
    }
    Failure::interrupted(format!("{}; the same line goes on with the search", failure.message))
}

/// Shows what a search came to, and ends as it did.
fn tell(system: &dyn System, search: &Search, candidates: &[Commit], as_json: bool) -> Outcome<()> {
    let ending = ending(search, candidates);
    let summary = ending.sentence(search);
    let found = match ending {
        Ending::Found(commit) => Some(commit),
        _ => None,
    };
    if as_json {
        let allowed = search.allowed();
        output::json(&Document { search, allowed, first_bad: found, summary: summary.clone() });
    } else {
        output::text(&bisect::text(search, &ending, output::columns(system)));
    }
    found.map(|_| ()).ok_or_else(|| Failure::partial(summary))
}

/// What a search that is over came to.
fn ending<'s>(search: &'s Search, candidates: &'s [Commit]) -> Ending<'s> {
    if !search.is_about_something() {
        return Ending::Nothing;
    }
    let others = search.suspects(candidates);
    let is_shown_again =
        search.once_more.as_ref().is_some_and(|once_more| once_more.step.fate == Fate::Bad);
    match (others.is_empty(), is_shown_again) {
        (false, _) => Ending::OneOf(search.bad(), others),
        (true, true) => Ending::Found(search.bad()),
        (true, false) => Ending::NotShownAgain(search.bad()),
    }
}

impl Arguments {
    /// Whether both ends were named by the digits of their commits: who does so knows what is meant.
    fn names_by_digits(&self, asked: &Asked) -> bool {
        asked.good.id.starts_with(&self.good) && asked.bad.id.starts_with(&self.bad)
    }

    /// What is looked for.
    fn asked(&self, repository: &Repository<'_>, command: &str) -> Outcome<Asked> {
        let [good, bad] = [&self.good, &self.bad].map(|name| repository.resolve(name));
        let (good, bad) = (good?, bad?);
        if repository.commits_between(&good, &bad)?.is_empty() {
            return Err(Failure::mistake(format!(
                "{} does not come from {}: name a good commit, and a later one that is worse",
                self.bad, self.good
            )));
        }
        let gate = self.gate.as_deref().map(|text| gate::percent("--gate", text)).transpose()?;
        Ok(Asked {
            repository: repository.path().display().to_string(),
            good,
            bad,
            command: command.to_owned(),
            build: self.build.clone(),
            gate: gate.map(|gate| gate.0 / 100.0),
            options: self.commands.options(),
        })
    }
}

/// Whether a study could not begin.
fn is_refused(failure: &Failure) -> bool {
    matches!(failure.kind, Kind::Refused | Kind::Broken)
}

/// A search under way.
struct Hunt<'h> {
    system: &'h dyn System,
    arguments: &'h Arguments,
    repository: Repository<'h>,
    results: PathBuf,
    stop: &'h AtomicBool,
    place: PathBuf,
    search: Search,
}

impl Hunt<'_> {
    /// Goes on to the end; gives the commits that may be the first bad one, when nothing is left to be looked at.
    fn finish(&mut self) -> Outcome<Vec<Commit>> {
        let Asked { good, bad, gate, .. } = self.search.asked.clone();
        if self.search.ends.is_none() {
            self.say("BAD is compared with GOOD first");
            self.search.ends = Some(self.compared(&good, &bad, gate)?);
            self.keep()?;
        }
        if !self.search.is_about_something() {
            return Ok(Vec::new());
        }
        loop {
            let candidates = self.candidates()?;
            let Some(next) = self.search.next(&candidates).cloned() else {
                self.compare_neighbours()?;
                return Ok(candidates);
            };
            let (short, left) = (next.short(), candidates.len() - 1);
            let number = self.search.steps.len() + 1;
            self.say(&format!("step {number}: {short} {} ({left} left)", next.subject));
            let step = self.step(&next)?;
            self.say(&step.words());
            self.search.steps.push(step);
            self.keep()?;
        }
    }

    /// Commits that may be the first bad one, the one that parts them best first.
    fn candidates(&self) -> Outcome<Vec<Commit>> {
        Ok(self.repository.halves(self.search.bad(), &self.search.goods())?)
    }

    /// A commit against GOOD; one of which nothing can be measured is left out.
    fn step(&self, commit: &Commit) -> Outcome<Step> {
        let left_out = |fate: Fate| Ok(Step::unmeasured(commit.clone(), fate));
        if let Some(fate) = self.unbuilt(commit)? {
            return left_out(fate);
        }
        match self.compared(&self.search.asked.good, commit, self.search.allowed()) {
            Err(failure) if is_refused(&failure) && self.is_good_measured()? => {
                left_out(Fate::NoRun(failure.message))
            }
            ended => ended,
        }
    }

    /// Why a commit has no tree; none where it has one.
    fn unbuilt(&self, commit: &Commit) -> Outcome<Option<Fate>> {
        let home = identity::state_directory(self.system)?;
        let trees = Trees::below(&home, &self.repository, self.arguments.build.as_deref());
        match trees.tree(commit) {
            Ok(_) => Ok(None),
            Err(Error::DoesNotBuild { build, ending, lines, .. }) => {
                let why = format!("`{build}` {ending}\n{}", lines.join("\n"));
                Ok(Some(Fate::NoBuild(why)))
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Whether GOOD alone is measured: else what refused a study of it and another commit is none of that commit's.
    fn is_good_measured(&self) -> Outcome<bool> {
        self.say("GOOD is tried alone: is it the commit that cannot be measured?");
        let line = self.line(&[&self.search.asked.good], GateArguments::default(), 1, false);
        match self.ran(&line, None) {
            Err(failure) if is_refused(&failure) => Ok(false),
            Err(failure) => Err(failure),
            Ok(ran) => match running::close(self.system, ran) {
                // It is not kept, which nobody asked for.
                Err(failure) if failure.kind != Kind::Partial => Err(failure),
                _ => Ok(true),
            },
        }
    }

    /// What the first bad commit is compared with once more: its first parent, or GOOD where that has no tree or was
    /// left out.
    fn before(&self, bad: &Commit) -> Outcome<Commit> {
        let good = &self.search.asked.good;
        let parent = match self.repository.resolve(&format!("{}^", bad.id)) {
            Ok(parent) => parent,
            Err(Error::Stopped) => return Err(Error::Stopped.into()),
            // It was merged in with a history of its own.
            Err(_) => return Ok(good.clone()),
        };
        let known = self.search.steps.iter().find(|step| step.commit.id == parent.id);
        let is_left_out = match known {
            Some(step) => step.fate.is_left_out(),
            // Nobody looked at what lies before a good one.
            None => parent.id != good.id && self.unbuilt(&parent)?.is_some(),
        };
        Ok(if is_left_out { good.clone() } else { parent })
    }

    /// The first bad commit once more, against the one before it.
    fn compare_neighbours(&mut self) -> Outcome<()> {
        if self.search.once_more.is_some() {
            return Ok(());
        }
        let bad = self.search.bad().clone();
        let mut before = self.before(&bad)?;
        let allowed = self.search.allowed();
        let sides = (bad.short(), before.short());
        self.say(&format!("{} is compared once more, with {} before it", sides.0, sides.1));
        let mut step = self.compared(&before, &bad, allowed);
        let good = &self.search.asked.good;
        // Whatever else is the matter refuses that, too.
        if before.id != good.id && step.as_ref().is_err_and(is_refused) {
            step = self.compared(good, &bad, allowed);
            before = good.clone();
        }
        self.search.once_more = Some(OnceMore { before, step: step? });
        self.keep()
    }

    /// A study of two commits; without a gate, in a fixed number of replicates and by any loss that is sure.
    fn compared(&self, one: &Commit, other: &Commit, gate: Option<f64>) -> Outcome<Step> {
        let most = self.arguments.replicates.unwrap_or(MOST);
        let most = if gate.is_some() { most } else { most.min(OF_ENDS) };
        let judge = GateArguments::of(gate.unwrap_or_default());
        let line = self.line(&[one, other], judge, most, gate.is_some());
        let ran = self.ran(&line, Some(self.results.clone()))?;
        let mut step = None;
        let ended = running::end(self.system, ran, |findings, _| {
            step = judged(other, findings);
            Ok(())
        });
        match (step, ended) {
            // That a gate failed, or could not see, is what was asked.
            (Some(step), Ok(())) => Ok(step),
            (Some(step), Err(failure)) if is_an_answer(failure.kind) => Ok(step),
            (_, Err(failure)) => Err(failure),
            (None, Ok(())) => Err(Failure::partial("the study of two commits has no gate")),
        }
    }

    /// The study of some commits.
    fn line(
        &self,
        sides: &[&Commit],
        gate: GateArguments,
        most: u32,
        ends_by_gate: bool,
    ) -> StudyArguments {
        let sides: Vec<&str> = sides.iter().map(|commit| commit.short()).collect();
        StudyArguments::of_commits(
            self.arguments.commands.of_revisions(&sides),
            self.repository.path(),
            BuildArguments::of_trees(self.arguments.build.clone()),
            gate,
            most,
            ends_by_gate,
        )
    }

    /// Runs it, and keeps it where a directory for that is named.
    fn ran(&self, line: &StudyArguments, results: Option<PathBuf>) -> Outcome<Unended> {
        let (study, targets) = line.study(self.system)?;
        let consented = self.arguments.permitted.consented(&[])?;
        let request = Request { consented, results, ..Request::bare(study, targets) };
        let mut progress = Progress::new(self.arguments.quiet);
        let ran = running::run_stoppable(self.system, request, self.stop, &mut |event| {
            progress.show(&event);
        });
        progress.finish();
        ran
    }

    fn keep(&self) -> Outcome<()> {
        bisect::keep(self.system, &self.place, &self.search)
    }

    fn say(&self, text: &str) {
        if !self.arguments.quiet {
            output::message(text);
        }
    }
}

/// Whether a study that ended so has said something of its commits.
const fn is_an_answer(kind: Kind) -> bool {
    matches!(kind, Kind::Gate | Kind::Partial | Kind::Blind(_))
}

/// What a study says of a commit.
fn judged(commit: &Commit, found: &Findings) -> Option<Step> {
    let gate = found.gate.as_ref()?;
    let of = |id: &String| found.comparisons.iter().find(|one| one.id == *id);
    let compared = gate.rows.first().and_then(|row| of(row.comparison.as_ref()?));
    let pairs = compared.map_or(0, |one| one.n as u32);
    let replicates = gate.replicates.unwrap_or(pairs);
    Some(Step::of_gate(commit.clone(), gate, replicates, found.study.id.clone()))
}
