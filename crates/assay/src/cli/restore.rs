//! `assay restore`: restores the machine after a killed run.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::{output, resume};
use crate::revisions::{self, Removal};
use crate::store;
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors::{guard, network};
use assay_machine::system::journal::{Busy, Journal, Journals, Report, Undo, Unfinished};
use assay_machine::system::network::lab;
use assay_machine::system::{Hold, HoldError, System, identity, journal, mains};
use assay_study::results::{bundle, foreign};

/// Attempts to take a lock, for half a second in all.
const ATTEMPTS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);
/// ID of the journal for leftover network namespaces.
const NETWORK_SPACES: &str = "network-name-spaces";

/// Restore settings, mounts and devices after a crash
///
/// Reverts all changes in the journals of ended runs, last change first: settings, mounts, loop devices, files. Safe
/// to run at any time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay restore             restore everything and list the changes
  assay restore --dry-run   only list what would change")]
pub struct RestoreArguments {
    /// Show what would be restored; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Leftovers of killed runs, and their restoration.
#[derive(Default, Serialize)]
struct RestoreDocument {
    format: &'static str,
    dry_run: bool,
    /// What Assay would restore; only with --dry-run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<Vec<String>>,
    /// What Assay restored; not with --dry-run.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<Vec<String>>,
    /// Items that were already restored, and why.
    nothing: Vec<String>,
    failed: Vec<String>,
    /// Runs that restored by themselves what they changed.
    running: Vec<String>,
    /// Files left by power cuts for a study to check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    /// What Assay restored or would restore.
    #[serde(skip)]
    items: Vec<String>,
}

pub fn run(system: &dyn System, arguments: &RestoreArguments) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let is_busy = |journals: &Outcome<Journals>| {
        journals.as_ref().is_ok_and(|journals| !journals.busy.is_empty())
    };
    let directory = guard::journals(&home);
    let journals = retry_while(system, is_busy, || journal::list_journals(system, &directory))?;
    let mut report = RestoreDocument {
        format: "assay-restore/1",
        dry_run: arguments.dry_run,
        running: journals.busy.iter().map(running_text).collect(),
        ..RestoreDocument::default()
    };
    for unfinished in &journals.unfinished {
        let _lab = match laboratory(system, unfinished) {
            Ok(lab) => lab,
            Err(running) => {
                report.running.push(running);
                continue;
            }
        };
        if arguments.dry_run {
            report.items.extend(unfinished.undos().iter().rev().map(ToString::to_string));
            report.failed.extend(unfinished.faults.iter().cloned());
            continue;
        }
        // A journal that is unreadable or in use does not prevent the restoration of others.
        report.add(journal::restore(system, unfinished));
    }
    network_spaces(system, &home, &journals, &mut report);
    if !arguments.dry_run {
        let groups = system.clear_groups().into_iter();
        report.items.extend(groups.map(|path| format!("remove the control group {path}")));
    }
    remove_unfinished_trees(system, &home, &mut report);
    // Unreadable results do not hide what was restored.
    report.kept = files_of_crash_points(system).unwrap_or_default();
    report.print(arguments.json);
    report.ending()?;
    if !arguments.json
        && let Some(hint) = resume::hint(system)
    {
        output::message(&hint);
    }
    Ok(())
}

/// Locks the laboratory if a journal contains its network namespaces. Their names are the same in every run; existing
/// ones may belong to a running study with another home. Returns the owner as an error.
fn laboratory(system: &dyn System, journal: &Unfinished) -> Result<Option<Hold>, String> {
    if !journal.undos().iter().any(|undo: &Undo| matches!(undo, Undo::NetworkSpace { .. })) {
        return Ok(None);
    }
    let is_held = |hold: &Result<Hold, HoldError>| matches!(hold, Err(HoldError::Held { .. }));
    match retry_while(system, is_held, || system.hold(lab::LOCK)) {
        Err(HoldError::Held { process, .. }) => {
            let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
            let id = &journal.id;
            Err(format!("another assay process{process} uses the network namespaces of {id}"))
        }
        free => Ok(free.ok()),
    }
}

/// Removes network namespaces of runs whose journal is gone; a new journal records them in case of an interruption.
fn network_spaces(
    system: &dyn System,
    home: &Path,
    journals: &Journals,
    report: &mut RestoreDocument,
) {
    let mut found = network::left_over(system);
    let is_known = |undo: &Undo| journals.unfinished.iter().any(|run| run.undos().contains(undo));
    found.undos.retain(|undo| !is_known(undo));
    if report.dry_run {
        report.items.extend(found.undos.iter().map(ToString::to_string));
    } else if !found.undos.is_empty() {
        let journal = Journal::begin(system, &guard::journals(home), NETWORK_SPACES);
        let restored = journal.and_then(|mut journal| {
            for undo in &found.undos {
                journal.record(system, undo.clone())?;
            }
            Ok(journal.finish(system))
        });
        report.add(restored);
    }
    report.failed.append(&mut found.busy);
}

/// Removes incomplete revision trees of killed processes.
fn remove_unfinished_trees(system: &dyn System, home: &Path, report: &mut RestoreDocument) {
    for tree in revisions::incomplete_trees(system, home) {
        let path = tree.path.display();
        let action = format!("remove the unfinished tree {path}");
        if report.dry_run {
            report.items.push(action);
            continue;
        }
        let is_in_use = |removal: &Removal| *removal == Removal::InUse;
        match retry_while(system, is_in_use, || revisions::remove(system, &tree)) {
            Removal::Removed => report.items.push(action),
            Removal::InUse => {
                report.running.push(format!("another assay process is creating the tree {path}"));
            }
            Removal::Failed(why) => report.failed.push(format!("{action}: {why}")),
        }
    }
}

/// Returns the files of studies whose next start checks the effects of a power cut. Does not remove them: only
/// `assay resume` knows which writes were acknowledged.
fn files_of_crash_points(system: &dyn System) -> Outcome<Vec<String>> {
    let mut ids_by_path = BTreeMap::new();
    for directory in store::all_results(system)? {
        let Ok(stored) = bundle::frame(system, &directory) else { continue };
        if foreign::is_one(system, &directory) || resume::unfinished(&stored).is_err() {
            continue;
        }
        for survey in &stored.plan.surveys {
            let target = Path::new(&survey.target);
            // Device targets and missing targets contain no such file.
            let names = system.list(target).unwrap_or_default();
            for name in names.into_iter().filter(|name| mains::is_kept_name(name)) {
                ids_by_path.entry(target.join(name)).or_insert_with(|| stored.id.clone());
            }
        }
    }
    let lines = ids_by_path.iter().map(|(path, id)| {
        format!("{}, which assay resume {id} evaluates and removes", path.display())
    });
    Ok(lines.collect())
}

/// Repeats an action while a lock is in use: a process that was just killed may still have it.
fn retry_while<T>(
    system: &dyn System,
    is_in_use: impl Fn(&T) -> bool,
    action: impl Fn() -> T,
) -> T {
    for _ in 1..ATTEMPTS {
        let result = action();
        if !is_in_use(&result) {
            return result;
        }
        system.sleep(PAUSE);
    }
    action()
}

fn running_text(busy: &Busy) -> String {
    let process = busy.process.map_or_else(String::new, |id| format!(" (process {id})"));
    format!("{}{process} is running", busy.id)
}

impl RestoreDocument {
    fn add(&mut self, restored: Outcome<Report>) {
        match restored {
            Ok(report) => {
                self.items.extend(report.done);
                self.nothing.extend(report.nothing);
                self.failed.extend(report.failed);
            }
            Err(failure) => self.failed.push(failure.message),
        }
    }

    /// Returns the exit code, the same with `--dry-run`: for failed restorations, otherwise for those not yet possible.
    fn ending(&self) -> Outcome<()> {
        if !self.failed.is_empty() {
            return Err(Failure::not_restored(format!(
                "cannot restore {} of {}; stop the programs that use the devices or mounts, or restart the machine; \
                 then run assay restore again",
                self.failed.len(),
                self.failed.len() + self.items.len() + self.nothing.len()
            )));
        }
        match self.running.first() {
            None => Ok(()),
            Some(running) => {
                Err(refused!("{running}; wait until the run ends and restores its changes"))
            }
        }
    }

    fn print(&mut self, json: bool) {
        if json {
            let items = if self.dry_run { &mut self.pending } else { &mut self.done };
            *items = Some(self.items.clone());
            output::json(self);
            return;
        }
        let Self { items, nothing, failed, running, kept, .. } = self;
        let is_setting = |line: &&String| line.starts_with("restore ");
        // Whether an item is already restored is only known when undoing it.
        let word = if self.dry_run { "to check" } else { "restored" };
        let (settings, others): (Vec<_>, Vec<_>) = items.iter().partition(is_setting);
        let lines = settings.into_iter().chain(others).map(|line| format!("{word}: {line}\n"));
        let lines = lines.chain(failed.iter().map(|line| format!("NOT restored: {line}\n")));
        let lines = lines.chain(running.iter().map(|line| format!("NOT checked: {line}\n")));
        let lines = lines.chain(kept.iter().map(|line| format!("kept: {line}\n")));
        let count = nothing.len();
        let was_done = (count > 0).then(|| format!("already restored: {count} more items\n"));
        let text: String = lines.chain(was_done).collect();
        let text = if text.is_empty() { "everything is restored\n".to_owned() } else { text };
        output::text(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_core::failure::Kind;
    use assay_machine::system::Fake;
    use assay_machine::system::identity::ROOTS_OWN;
    use assay_machine::system::journal::unit_files;

    const DIRECTORY: &str = "/var/lib/assay/journal";

    /// The unit runs if root has journals, but not during a study that reboots the machine.
    #[test]
    fn boot_unit_names_the_directories_of_root() {
        let unit = include_str!("../../packaging/assay-restore.service");
        let [reboots, _] = unit_files(assay_runner::run::reboots::UNIT, "any.target");
        for line in [
            format!("ConditionPathExists={}", guard::journals(Path::new(ROOTS_OWN)).display()),
            format!("ConditionPathExists=!{}", reboots.display()),
            format!("RequiresMountsFor={ROOTS_OWN}"),
        ] {
            assert!(unit.lines().any(|own| own == line), "{line}");
        }
    }

    fn machine() -> Fake {
        let fake = Fake::new();
        fake.put("/made", "x");
        let mut journal = Journal::begin(&fake, Path::new(DIRECTORY), "b").unwrap();
        journal.record(&fake, Undo::File { path: "/made".into() }).unwrap();
        fake
    }

    fn kind(fake: &Fake, dry_run: bool) -> Option<(Kind, String)> {
        let failure = run(fake, &RestoreArguments { dry_run, json: true }).err()?;
        Some((failure.kind, failure.message))
    }

    fn is_left(fake: &Fake) -> bool {
        fake.files().contains_key(Path::new("/made"))
    }

    #[test]
    fn one_bad_journal_keeps_no_other_from_being_put_back() {
        let fake = machine();
        let bad = Path::new(DIRECTORY).join("a.jsonl");
        fake.put(&bad, "not ours\n");
        let (dry, told) = kind(&fake, true).unwrap();
        assert_eq!((dry, is_left(&fake)), (Kind::NotRestored, true), "{told}");
        let (real, told) = kind(&fake, false).unwrap();
        assert_eq!((real, is_left(&fake)), (Kind::NotRestored, false), "{told}");
        assert!(told.starts_with("cannot restore 1 of 2"), "{told}");
        assert!(fake.files().contains_key(&bad));
        fake.remove(bad);
        assert_eq!(kind(&fake, true), None);
        run(&fake, &RestoreArguments { dry_run: false, json: false }).unwrap();
    }

    #[test]
    fn name_spaces_of_a_run_whose_home_is_gone_are_removed_and_a_strangers_stay() {
        let spaces = Path::new("/run/netns");
        let left = || {
            let fake = Fake::new();
            fake.set_user(0).install("ip");
            for name in ["assay-client", "assay-server", "mine"] {
                fake.put(spaces.join(name), "");
            }
            fake
        };
        let fake = left();
        assert_eq!(kind(&fake, true), None);
        assert_eq!(fake.list(spaces).unwrap().len(), 3, "a dry run changes nothing");
        assert_eq!(kind(&fake, false), None);
        assert_eq!(fake.list(spaces).unwrap(), ["mine"]);
        assert!(
            fake.list(Path::new(DIRECTORY)).unwrap_or_default().is_empty(),
            "no journal is left"
        );
        // Without `ip` they remain, and the next command continues with the journal.
        let fake = Fake::new();
        fake.set_user(0).put(spaces.join("assay-client"), "");
        for line in ["ip netns pids assay-client", "ip -n assay-client -brief link show up"] {
            fake.put_output(line, "");
        }
        assert_eq!(kind(&fake, false).unwrap().0, Kind::NotRestored);
        fake.install("ip");
        assert_eq!(kind(&fake, false), None);
        assert_eq!(fake.list(spaces).unwrap_or_default(), [""; 0]);
        let fake = left();
        fake.set_holder("link-lab", 4711, 0);
        assert_eq!(kind(&fake, false), None);
        assert_eq!(fake.list(spaces).unwrap().len(), 3);
    }

    #[test]
    fn name_spaces_that_a_run_under_another_home_has_by_now_are_left_until_it_ends() {
        let space = Path::new("/run/netns/assay-client");
        let left = || {
            let fake = machine();
            fake.set_user(0).install("ip").put(space, "");
            let mut journal = Journal::begin(&fake, Path::new(DIRECTORY), "lab").unwrap();
            let undo = Undo::NetworkSpace { name: "assay-client".to_owned(), with_mount: false };
            journal.record(&fake, undo).unwrap();
            fake
        };
        let fake = left();
        fake.set_holder("link-lab", 4711, 0);
        for dry_run in [true, false] {
            let (kind, told) = kind(&fake, dry_run).unwrap();
            assert_eq!(kind, Kind::Refused, "{told}");
            assert!(
                told.contains("(process 4711)") && told.contains("network namespaces of lab"),
                "{told}"
            );
            assert_eq!(is_left(&fake), dry_run, "all else is restored");
        }
        assert!(fake.files().contains_key(space));
        let fake = left();
        assert_eq!(kind(&fake, false), None);
        assert!(!fake.files().contains_key(space));
    }

    #[test]
    fn an_unfinished_tree_is_removed_and_one_that_is_whole_or_being_made_stays() {
        let tree = |digit: &str| Path::new("/var/lib/assay/trees").join(digit.repeat(32));
        let fake = machine();
        for digit in ["1", "2", "3"] {
            fake.put(tree(digit).join("file"), "x");
        }
        let mark =
            r#"{"format":"assay-tree/1","repository":"/r","commit":"c","state":"","bytes":1}"#;
        fake.put(tree("2").join(".git/assay-tree.json"), mark);
        fake.put("/var/lib/assay/trees/mine/file", "x");
        fake.set_holder(&format!("tree-{}", "3".repeat(32)), 4711, 0);
        assert_eq!(kind(&fake, true), None);
        assert!(fake.files().contains_key(&tree("1").join("file")), "a dry run changes nothing");
        let (kind, told) = kind(&fake, false).unwrap();
        assert_eq!(kind, Kind::Refused, "{told}");
        assert!(told.contains(&"3".repeat(32)), "{told}");
        let left: Vec<bool> = ["1", "2", "3"]
            .map(|digit| fake.files().contains_key(&tree(digit).join("file")))
            .into();
        assert_eq!(left, [false, true, true]);
        assert!(fake.files().contains_key(Path::new("/var/lib/assay/trees/mine/file")));
    }

    #[test]
    fn a_running_study_is_named_and_all_else_put_back() {
        let fake = machine();
        let other = Path::new(DIRECTORY).join("20261122-0300-aaaa.jsonl");
        fake.put(&other, "").set_holder(&other.to_string_lossy(), 4711, 0);
        for dry_run in [true, false] {
            let (kind, told) = kind(&fake, dry_run).unwrap();
            assert_eq!(kind, Kind::Refused, "{told}");
            assert!(told.contains("20261122-0300-aaaa (process 4711) is running"), "{told}");
            assert_eq!(is_left(&fake), dry_run);
        }
        assert!(fake.files().contains_key(&other));
    }
}
