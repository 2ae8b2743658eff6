//! `assay restore`: puts the machine back after a run that was killed.

use clap::Args;

use super::output;
use crate::factors::guard::journals;
use crate::failure::{Failure, Outcome};
use crate::system::{System, identity, journal};

/// Put the machine back after a run that was killed
///
/// Undoes, last change first, what the journals of runs that are gone tell: settings, mounts, loop
/// devices, files. What is as it was already is left alone, so it can be run again at any time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay restore             put everything back, and say what
  assay restore --dry-run   only say what would be put back")]
pub struct Arguments {
    /// Only say what would be put back
    #[arg(long)]
    dry_run: bool,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let left = journal::unfinished(system, &journals(&home))?;
    let faults = left.iter().filter_map(|one| one.fault.clone());
    if arguments.dry_run {
        let lines: Vec<String> =
            left.iter().flat_map(|one| one.undos().iter().rev()).map(ToString::to_string).collect();
        tell(arguments, &lines, &[], &faults.collect::<Vec<_>>());
        return Ok(());
    }
    let (mut done, mut nothing, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for unfinished in &left {
        // One that cannot be read or is busy must not keep the others from being put back.
        match journal::restore(system, unfinished) {
            Ok(report) => {
                done.extend(report.done);
                nothing.extend(report.nothing);
                failed.extend(report.failed);
            }
            Err(failure) => failed.push(failure.message),
        }
    }
    tell(arguments, &done, &nothing, &failed);
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::not_restored(format!(
        "{} of {} could not be put back: free what holds it, then run assay restore again",
        failed.len(),
        failed.len() + done.len() + nothing.len()
    )))
}

fn tell(arguments: &Arguments, done: &[String], nothing: &[String], failed: &[String]) {
    if arguments.json {
        let told = if arguments.dry_run { "to_look_at" } else { "done" };
        let document = serde_json::json!({
            "format": "assay-restore/1",
            "dry_run": arguments.dry_run,
            told: done,
            "nothing": nothing,
            "failed": failed,
        });
        output::json(&document);
        return;
    }
    // What is as it was already is seen when it is undone.
    let word = if arguments.dry_run { "to look at" } else { "put back" };
    let lines = done.iter().map(|line| format!("{word}: {line}\n"));
    let lines = lines.chain(nothing.iter().map(|line| format!("nothing to do: {line}\n")));
    let lines = lines.chain(failed.iter().map(|line| format!("NOT put back: {line}\n")));
    let text: String = lines.collect();
    let text = if text.is_empty() { "everything is as it was\n".to_owned() } else { text };
    output::text(&text);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::failure::Kind;
    use crate::system::Fake;
    use crate::system::journal::{Journal, Undo};

    #[test]
    fn one_bad_journal_keeps_no_other_from_being_put_back() {
        let fake = Fake::new();
        let file = Path::new("/made");
        fake.put(file, "x");
        let directory = Path::new("/var/lib/assay/journal");
        let mut journal = Journal::begin(&fake, directory, "b").unwrap();
        journal.record(&fake, Undo::File { path: file.to_owned() }).unwrap();
        drop(journal);
        fake.put(directory.join("a.jsonl"), "not ours\n");
        let dry = run(&fake, &Arguments { dry_run: true, json: false });
        assert!(dry.is_ok() && fake.files().contains_key(file));
        let failure = run(&fake, &Arguments { dry_run: false, json: true }).unwrap_err();
        assert_eq!(failure.kind, Kind::NotRestored, "{}", failure.message);
        assert!(failure.message.starts_with("1 of 2 "), "{}", failure.message);
        assert!(!fake.files().contains_key(file));
        fake.remove(directory.join("a.jsonl"));
        run(&fake, &Arguments { dry_run: false, json: false }).unwrap();
    }
}
