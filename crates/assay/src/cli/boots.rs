//! What `assay run` does with a study of boots, and `assay note boot`.

use std::path::PathBuf;

use clap::Args;

use super::output;
use super::progress::Progress;
use super::running::{self, Unended};
use crate::runner::boots::{self, Wanted};
use crate::runner::reboots::{self, Step};
use crate::runner::{Context, Event};
use crate::store;
use crate::store::acting;
use assay_base::failure::{Failure, Outcome};
use assay_kinds::work::boot::labels::{self, Labels};
use assay_kinds::work::boot::source::{self, Source};
use assay_kinds::work::boot::{Asked, By};
use assay_study::results::vouch::Purpose;
use assay_study::study::Study;
use assay_system::system::{System, identity};

/// Boots that a label can be given to.
const MOST_NAMED: usize = 1000;

/// What is said of boots alone.
#[derive(Debug, Default, Args)]
pub struct BootArguments {
    /// What boots are grouped by: kernel, root-device or label
    #[arg(long, value_name = "WHAT", value_parser = ["kernel", "root-device", "label"])]
    by: Option<String>,
    /// How many boots are read, the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    boots: Option<u32>,
    /// Read them from here instead of this machine's journal: a file of journalctl -o export or -o
    /// json, or a directory with a journal
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    /// Restart the machine so many times and record each boot (root); shown first, done with --yes
    #[arg(long, value_name = "N", conflicts_with = "journal", value_parser = clap::value_parser!(u32).range(1..=100))]
    reboots: Option<u32>,
    /// With --reboots: do it
    #[arg(long, requires = "reboots")]
    yes: bool,
}

impl BootArguments {
    /// Whether anything is said.
    fn is_there(&self) -> bool {
        self.by.is_some()
            || self.boots.is_some()
            || self.journal.is_some()
            || self.reboots.is_some()
    }

    /// How many boots are to be made.
    pub fn reboots(&self) -> Option<u32> {
        self.reboots
    }

    /// The study with what is said; none where its trials are no boots.
    ///
    /// # Errors
    /// The user's mistake where it is said of another study.
    pub fn of(&self, mut study: Study, has_targets: bool) -> Outcome<Result<Study, Study>> {
        let asked = study.workload.iter_mut().find_map(|own| Asked::of_mut(&mut own.work));
        let Some(asked) = asked else {
            if self.is_there() {
                return Err(Failure::mistake(
                    "--by, --boots, --journal and --reboots are for studies of boots: assay run boot",
                ));
            }
            return Ok(Err(study));
        };
        if has_targets {
            return Err(Failure::mistake(
                "boots are of a machine and not on a target: leave TARGET out (of another machine: --journal \
                 FILE)",
            ));
        }
        asked.by = self.by.as_deref().and_then(By::find).unwrap_or(asked.by);
        asked.boots = self.boots.unwrap_or(asked.boots);
        Ok(Ok(study))
    }

    /// Where boots are recorded.
    pub fn source(&self) -> Source {
        self.journal.clone().map_or(Source::Own, Source::At)
    }
}

/// Reads boots and keeps them.
pub fn run(
    system: &dyn System,
    study: Study,
    arguments: &BootArguments,
    quiet: bool,
) -> Outcome<Unended> {
    let stop = running::stop_on_signals(&running::LOOKS)?;
    let wanted =
        Wanted { study, source: arguments.source(), results: running::results_directory(system)? };
    let mut progress = Progress::new(quiet);
    let mut tell = |event| progress.show(&event);
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut tell };
    let finished = boots::run(system, wanted, &mut context);
    progress.finish();
    finished.map(Unended::from)
}

/// Shows what restarting would do, and does it where that was said.
///
/// # Errors
/// Refused where it cannot be done, with the reason.
pub fn reboots(
    system: &dyn System,
    study: Study,
    boots: u32,
    arguments: &BootArguments,
) -> Outcome<()> {
    let stop = running::stop_on_signals(&running::PUTS_BACK)?;
    let results = identity::results_directory(system)?;
    let proposal = reboots::propose(system, study, boots, results)?;
    let mut text = format!(
        "restarts this machine {boots} times; each boot is recorded as it ends starting up, in the result {}\n\
         until then this unit is there, as {}:\n\n{}\n",
        proposal.id,
        proposal.path().display(),
        proposal.unit
    );
    text.extend(proposal.cautions.iter().flat_map(|caution| ["- ", caution, "\n"]));
    text +=
        "- it is gone after the last boot, after anything that goes wrong, and by assay restore\n";
    output::text(&text);
    if !arguments.yes {
        output::text("nothing was changed: `assay run --help` says how it is done");
        return Ok(());
    }
    let mut tell = |event| {
        if let Event::Warning(text) = event {
            output::message(&text);
        }
    };
    let id = proposal.id.clone();
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut tell };
    reboots::start(system, proposal, &mut context)?;
    output::message(&format!("restarting; afterwards: assay show {id}"));
    Ok(())
}

/// Goes on with a study of boots: takes in those since, and as the unit restarts for the next.
///
/// # Errors
/// As the runner's; the unit is gone then.
pub fn resume(
    system: &dyn System,
    id: Option<&str>,
    after_boot: bool,
    how: running::Printing,
) -> Outcome<()> {
    let stop = running::stop_on_signals(&running::PUTS_BACK)?;
    let mut tell = |event| {
        if let Event::Warning(text) = event {
            output::message(&text);
        }
    };
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut tell };
    let Some(id) = id.filter(|_| after_boot) else {
        let acting = acting::open(system, id, Purpose::GoOn)?;
        let recorded = reboots::record(system, acting, &mut context)?;
        return running::conclude(system, recorded.into(), how);
    };
    let ready = store::find_kept(system, id)
        .and_then(|directory| reboots::begin_boot(system, (id, &directory), &context))
        .and_then(|()| acting::open(system, Some(id), Purpose::GoOn));
    let acting = match ready {
        Ok(acting) => acting,
        Err(failure) => {
            reboots::give_up(system, id)?;
            return Err(failure);
        }
    };
    match reboots::after_boot(system, acting, &mut context)? {
        Step::Done(finished) => running::conclude(system, (*finished).into(), how),
        Step::Ended(finished) => running::close(system, (*finished).into()),
        Step::Restarts { recorded, of } => {
            output::message(&format!("boot {recorded} of {of} is recorded; restarting"));
            Ok(())
        }
    }
}

/// What reading would give, without keeping it.
pub fn preview(system: &dyn System, study: Study, arguments: &BootArguments) -> Outcome<()> {
    let results = identity::results_directory(system).ok();
    let (_, asked, found) = boots::read(system, study, &arguments.source(), results.as_deref())?;
    let mut text = format!(
        "reads {} boots from the systemd journal ({} older ones are left) and changes nothing\n",
        found.boots.len(),
        found.older
    );
    let groups = boots::groups(&asked, &found.boots).into_iter();
    let by = asked.by.name();
    text.extend(groups.map(|(group, count)| format!("  {by} {group}: {count}\n")));
    text += "nobody drew their order: differences between groups suggest, and get no verdict\n";
    output::text(&text);
    Ok(())
}

/// Labels boots: `assay note boot TEXT`, `assay note boot:-1 TEXT`, `assay note boot:-9..-4 TEXT`.
///
/// # Errors
/// The user's mistake: there is no such boot; refused where the journal cannot be read.
pub fn note(system: &dyn System, which: Option<&str>, label: &str) -> Outcome<()> {
    let results = identity::results_directory(system)?;
    let ids = match which {
        None => vec![source::running(system)?],
        Some(word) => {
            let found = source::read(system, &Source::Own, MOST_NAMED, None)?;
            labels::named(Some(word), &found.boots)?
        }
    };
    Labels::read(system, &results)?.set(system, &results, &ids, label)?;
    let count = ids.len();
    output::message(&match (label.trim(), count) {
        ("", 1) => "the boot has no label".to_owned(),
        ("", _) => format!("{count} boots have no label"),
        (label, 1) => {
            format!("the boot is labelled {label}; group by it with: assay run boot --by label")
        }
        (label, _) => format!(
            "{count} boots are labelled {label}; group by it with: assay run boot --by label"
        ),
    });
    Ok(())
}
