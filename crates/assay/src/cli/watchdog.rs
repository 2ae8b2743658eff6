//! `assay watchdog`: restores everything if the run that started it dies. For internal use.

use std::time::Duration;

use clap::Args;

use super::output;
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors::guard::journals;
use assay_machine::system::journal::{self, Report};
use assay_machine::system::{System, identity};
use assay_runner::real::{signals, watchdog};

/// Time between two attempts to lock the dead process's journal.
const PAUSE: Duration = Duration::from_millis(10);
/// Attempts, for one minute in all.
const ATTEMPTS: u32 = 6000;

/// Wait beside a study, and put everything back should it be killed
#[derive(Debug, Args)]
pub struct WatchdogArguments {
    /// The run whose journal is put back
    #[arg(value_name = "ID")]
    id: String,
}

pub fn run(system: &dyn System, arguments: &WatchdogArguments) -> Outcome<()> {
    let refused = |error: std::io::Error| refused!("watchdog: {error}");
    // A signal to the process group of the study is meant for the study.
    signals::catch(|_| None).map_err(refused)?;
    watchdog::be_ready();
    if !watchdog::is_left_alone().map_err(refused)? {
        return Ok(());
    }
    let report = restore(system, &arguments.id)?;
    if !report.failed.is_empty() {
        return Err(Failure::not_restored(format!(
            "{} was killed, and some changes remain: {}; stop the programs that use them, then run assay restore",
            arguments.id,
            report.failed.join("; ")
        )));
    }
    output::message(&format!("{} was killed; Assay reverted all changes", arguments.id));
    Ok(())
}

/// Undoes a run's journal after the kernel has released its lock; does nothing if the run restored everything.
fn restore(system: &dyn System, id: &str) -> Outcome<Report> {
    let directory = journals(&identity::state_directory(system)?);
    for _ in 0..ATTEMPTS {
        let runs = journal::list_journals(system, &directory)?;
        if runs.busy.iter().any(|busy| busy.id == id) {
            system.sleep(PAUSE);
            continue;
        }
        return match runs.unfinished.iter().find(|run| run.id == id) {
            Some(run) => journal::restore(system, run),
            None => Ok(Report::default()),
        };
    }
    Err(Failure::not_restored(format!(
        "another process uses the journal of {id}; run assay restore when it has ended"
    )))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use assay_machine::system::Fake;
    use assay_machine::system::journal::{Journal, Undo};

    #[test]
    fn only_the_journal_of_its_own_run_is_put_back() {
        let fake = Fake::new();
        for id in ["mine", "other"] {
            fake.put(format!("/made-by-{id}"), "x");
            let directory = Path::new("/var/lib/assay/journal");
            let mut journal = Journal::begin(&fake, directory, id).unwrap();
            let path = format!("/made-by-{id}").into();
            journal.record(&fake, Undo::File { path }).unwrap();
        }
        let report = restore(&fake, "mine").unwrap();
        assert_eq!((report.done.len(), report.failed.len()), (1, 0));
        let left: Vec<_> = fake.files().into_keys().collect();
        assert!(left.iter().any(|path| path.ends_with("made-by-other")), "{left:?}");
        assert!(!left.iter().any(|path| path.ends_with("made-by-mine")), "{left:?}");
        assert_eq!(restore(&fake, "mine").unwrap(), Report::default());
    }
}
