//! Revisions in a study: resolves them to commits, and creates a tree of each before the first trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::output;
use crate::revisions::{self, Repository, Trees};
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::{System, identity};
use assay_runner::run::{Event, Request};
use assay_study::file::{Study, Target};
use assay_study::plan::arms::TARGET;
use assay_workloads::command::{self, REVISION};

/// Displayed digits of a commit ID.
const SHORT: usize = 12;

/// Returns work that runs in commit trees, each with its repository.
fn works(study: &Study) -> impl Iterator<Item = (&command::CommandSpec, &String)> {
    let commands = study.workload.iter();
    let commands = commands.filter_map(|workload| command::CommandSpec::of(&workload.work));
    commands.filter_map(|command| Some((command, command.repository.as_ref()?)))
}

/// Returns whether a study has work that runs in commit trees.
pub fn are_in(study: &Study) -> bool {
    works(study).next().is_some()
}

/// Returns the study with the current commits of its revisions. Its work runs only in their trees. Fails for unknown
/// revisions, and if git cannot run.
pub fn resolved(system: &dyn System, mut study: Study) -> Outcome<Study> {
    if !are_in(&study) {
        return Ok(study);
    }
    let place = trees_directory(system)?;
    let surplus = match &study.target {
        // An earlier call has set this target.
        Some(Target::Directory(path)) if Path::new(path) == place => None,
        Some(_) => Some("its target"),
        None => study.factors.get(TARGET).map(|_| "the factor target"),
    };
    if let Some(surplus) = surplus {
        return Err(mistake!(
            "this study runs in checked-out commits, in {}; remove {surplus}",
            place.display()
        ));
    }
    study.target = None;
    let levels = study.factors.get(REVISION).cloned().unwrap_or_default();
    for workload in &mut study.workload {
        if let Some(work) = command::CommandSpec::of_mut(&mut workload.work) {
            resolve(system, work, &levels)?;
        }
    }
    Ok(study)
}

/// Resolves the levels that have no commit yet.
fn resolve(system: &dyn System, work: &mut command::CommandSpec, levels: &[String]) -> Outcome<()> {
    let Some(named) = &work.repository else { return Ok(()) };
    let repository = Repository::open_on(system, Path::new(named))?;
    for level in levels {
        if !work.commits.contains_key(level) {
            work.commits.insert(level.clone(), repository.resolve(level)?.id);
        }
    }
    if let Some([one, other]) = same_commit(&work.commits) {
        output::message(&format!("{one} and {other} are the same commit"));
    }
    let path = repository.path().display().to_string();
    // No message if every level is a commit ID, which cannot mean the work tree.
    let by_digits = |(level, id): (&String, &String)| id.starts_with(level.as_str());
    if !work.commits.iter().all(by_digits) && repository.has_changes()? {
        output::message(&format!(
            "Assay measures commits only, without the uncommitted changes in {path}"
        ));
    }
    work.repository = Some(path);
    Ok(())
}

/// Returns two names of one commit, if any.
fn same_commit(revisions: &BTreeMap<String, String>) -> Option<[&str; 2]> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, commit) in revisions {
        if let Some(other) = names.insert(commit, name) {
            return Some([other, name]);
        }
    }
    None
}

fn trees_directory(system: &dyn System) -> Outcome<PathBuf> {
    Ok(revisions::directory(&identity::state_directory(system)?))
}

/// Returns the target of a study before its trees exist: the nearest existing directory.
pub fn seen_from(system: &dyn System) -> Outcome<String> {
    let place = trees_directory(system)?;
    let existing = place.ancestors().find(|path| system.status(path).is_ok());
    Ok(existing.unwrap_or(&place).display().to_string())
}

/// Creates the trees in which a study then runs. The returned value protects them from removal.
pub fn make<'s>(
    system: &'s dyn System,
    request: &mut Request<'_>,
    stop: &'s AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Vec<Trees<'s>>> {
    let MadeTrees { trees, identical } =
        make_trees(system, &request.study, request.consented.as_root, stop, tell)?;
    if let Some(program) = identical {
        let levels = request.study.factors.get(REVISION).map(|all| all.join(" and "));
        return Err(Failure::needless(format!(
            "the builds of {} are identical ({program}, byte for byte); Assay measured nothing",
            levels.unwrap_or_default()
        )));
    }
    if !trees.is_empty() {
        request.targets = vec![trees_directory(system)?.display().to_string()];
    }
    Ok(trees)
}

#[derive(Debug)]
pub struct MadeTrees<'s> {
    /// Protect the trees from removal.
    pub trees: Vec<Trees<'s>>,
    /// The program that is identical in all trees, if nothing else varies.
    pub identical: Option<String>,
}

/// Returns the trees of a study: existing ones, and new ones for the others.
pub fn make_trees<'s>(
    system: &'s dyn System,
    study: &Study,
    as_root: bool,
    stop: &'s AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<MadeTrees<'s>> {
    let (mut all_trees, mut last_program) = (Vec::new(), None);
    let mut other_factors = study.factors.iter().filter(|(name, _)| *name != REVISION);
    // Identical builds make a study needless only if nothing else varies.
    let mut are_identical = !other_factors.any(|(_, levels)| levels.len() > 1);
    let levels = study.factors.get(REVISION).map(Vec::as_slice).unwrap_or_default();
    for (work, named) in works(study) {
        let home = identity::state_directory(system)?;
        let caller = if as_root { None } else { identity::caller(system) };
        let repository = Repository::open_on(system, Path::new(named))?;
        let repository = repository.run_by(caller).stopped_by(stop);
        let trees = Trees::below(&home, &repository, work.build.as_deref());
        let mut built = Vec::new();
        // The baseline comes first, as in the list.
        for name in levels {
            let Some(id) = work.commits.get(name) else { continue };
            let commit = repository.resolve(id)?;
            if !trees.has(&commit) {
                let text = describe(name, id, work.build.as_deref());
                tell(Event::Waiting { text, waited_ns: 0 });
            }
            built.push(trees.get_or_create(&commit)?);
        }
        let others = [&work.prepare, &work.conclude, &work.trial_setup, &work.setup, &work.input];
        let mut lines = vec![work.run.as_str()];
        lines.extend(others.into_iter().flatten().map(String::as_str));
        are_identical = are_identical && trees.are_identical(&built, &lines)?;
        last_program = work.run.split_whitespace().next().map(str::to_owned);
        all_trees.push(trees);
    }
    let identical = if are_identical { last_program } else { None };
    Ok(MadeTrees { trees: all_trees, identical })
}

fn describe(name: &str, id: &str, build: Option<&str>) -> String {
    let short = id.get(..SHORT).unwrap_or(id);
    match build {
        Some(line) => format!("{name} ({short}) is checked out and built by `{line}`"),
        None => format!("{name} ({short}) is checked out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_names_of_one_commit_are_found_and_two_commits_are_not() {
        let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect()
        };
        assert_eq!(same_commit(&of(&[("HEAD", "1"), ("main", "1")])), Some(["HEAD", "main"]));
        assert_eq!(same_commit(&of(&[("HEAD", "1"), ("main", "2")])), None);
    }

    #[test]
    fn a_study_without_a_repository_stays_as_it_is() {
        let study = super::super::commands::CommandArguments::of_lines(vec!["true".to_owned()]);
        let study = study.study(false).unwrap();
        let fake = assay_machine::system::Fake::new();
        assert_eq!(resolved(&fake, study.clone()).unwrap(), study);
        assert!(fake.executed().is_empty(), "nobody asked git");
    }
}
