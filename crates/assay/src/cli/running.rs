//! What the commands that measure have in common: signals, progress, the looks of a stopping rule,
//! and the result at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;

use super::watch::screen::Screen;
use super::watch::{self, Beside};
use super::{output, progress::Progress};
use crate::analysis;
use crate::failure::{Failure, Outcome};
use crate::quantity::units::show;
use crate::report;
use crate::results::Findings;
use crate::results::design::Stopping;
use crate::results::environment::Environment;
use crate::results::findings::{Comparison, StudyFacts, Verdict};
use crate::results::plan::Plan;
use crate::results::record::{Status, Trial};
use crate::runner::{self, Consented, Finished, Request};
use crate::shelf;
use crate::shelf::acting::Acting;
use crate::system::{System, identity};
use crate::watch::Strip;

/// What a result says of the page of `run --watch`.
const WITH_PAGE: &str = "the page of assay watch was drawn by this process while trials ran, once \
                         a second until it was left: it took processor time";

/// How a result is told.
#[derive(Clone, Copy, Debug, Args)]
pub struct Printing {
    /// One JSON document instead of the tables
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Runs a study with progress and signals.
pub fn run(system: &dyn System, request: Request<'_>, quiet: bool) -> Outcome<Finished> {
    let stop = stop_on_signals()?;
    let mut progress = Progress::new(quiet);
    let request = Request { judge: Some(&enough), ..request };
    let finished = runner::run(system, request, &stop, &mut |event| progress.show(&event));
    progress.finish();
    finished
}

/// The same with the page of `watch` on the terminal. The page has a thread of its own; when it is
/// left, the usual progress takes its place.
///
/// # Errors
/// The user's mistake where there is no terminal.
pub fn run_on_page(system: &dyn System, request: Request<'_>) -> Outcome<Finished> {
    let stream = watch::stream(system, true).ok_or_else(|| {
        Failure::mistake(
            "--watch draws a page and needs a terminal: leave it out, or look from another terminal \
             with: assay watch",
        )
    })?;
    let stop = stop_on_signals()?;
    let strip = Mutex::new(Strip::own(&request.study.title));
    let (done, left) = (AtomicBool::new(false), AtomicBool::new(false));
    let targets = request.targets.clone();
    let screen = Screen::open(stream, watch::looks(system))?;
    let beside = Beside { strip: &strip, targets: &targets, stop: &stop, done: &done, left: &left };
    let mut progress = Progress::new(false);
    let finished = std::thread::scope(|scope| {
        let _end = Raised(&done);
        scope.spawn(|| watch::beside(system, &beside, screen));
        let observer = Some(WITH_PAGE.to_owned());
        let request = Request { judge: Some(&enough), observer, ..request };
        runner::run(system, request, &stop, &mut |event| {
            strip.lock().unwrap_or_else(PoisonError::into_inner).take(&event);
            if left.load(Ordering::SeqCst) {
                progress.show(&event);
            }
        })
    });
    progress.finish();
    let strip = strip.into_inner().unwrap_or_else(PoisonError::into_inner);
    strip.warnings.iter().for_each(|text| output::message(text));
    finished
}

/// Raises a flag when it is dropped, also by a panic: who waits for it must not wait for ever.
struct Raised<'a>(&'a AtomicBool);

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Goes on with a study, with progress and signals.
pub fn resume(
    system: &dyn System,
    Acting { stored, voucher, directory }: Acting,
    consented: Consented<'_>,
    quiet: bool,
) -> Outcome<Finished> {
    let stop = stop_on_signals()?;
    let mut progress = Progress::new(quiet);
    let how = (consented, Some(&enough as &runner::Judge<'_>));
    let mut tell = |event| progress.show(&event);
    let vouched = (stored, voucher);
    let finished = runner::resume(system, vouched, &directory, how, &stop, &mut tell);
    progress.finish();
    finished
}

/// Prints what a finished study found; an interrupted one says how to go on. What could not be put
/// back is told last, and decides the exit code.
pub fn print(system: &dyn System, mut finished: Finished, how: Printing) -> Outcome<Findings> {
    let left = finished.left.take();
    if finished.interrupted {
        return Err(left.unwrap_or_else(|| interrupted(&finished)));
    }
    let kept = finished.directory.is_some();
    let findings = shelf::findings_of_run(finished);
    if how.json {
        output::document(&report::json(&findings));
        return left.map_or(Ok(findings), Err);
    }
    let document = report::document::make(&findings);
    output::painted(&report::text::render(
        &document,
        output::columns(system),
        output::colour(system),
    ));
    if kept && !how.quiet {
        output::message(&format!("kept as {}; show it again with: assay show", findings.study.id));
    }
    left.map_or(Ok(findings), Err)
}

/// Prints what a study found; fails where trials of it were lost.
pub fn conclude(system: &dyn System, finished: Finished, how: Printing) -> Outcome<()> {
    let lost = whole(&finished).filter(|_| !finished.interrupted);
    print(system, finished, how)?;
    lost.map_or(Ok(()), Err)
}

/// Fails where trials of a study were lost (exit code 5): the result stands, with fewer of them.
fn whole(finished: &Finished) -> Option<Failure> {
    let lost = |trial: &&Trial| trial.record.status == Status::Failed;
    let failed = finished.trials.iter().filter(lost).count();
    (failed > 0).then(|| {
        Failure::partial(format!(
            "{failed} of {} trials failed; the result stands without them",
            finished.trials.len()
        ))
    })
}

/// How an interrupted study ends: with what is kept, and how to go on.
pub fn interrupted(finished: &Finished) -> Failure {
    let trials = finished.trials.len();
    Failure::interrupted(match &finished.directory {
        Some(_) if trials > 0 => format!(
            "interrupted; {trials} finished trials are kept: assay show {id}, or go on with: assay resume {id}",
            id = finished.id
        ),
        Some(_) => {
            format!("interrupted before the first trial; go on with: assay resume {}", finished.id)
        }
        None => "interrupted; nothing is left behind".to_owned(),
    })
}

/// Where results are kept; none, with a message, where that cannot be told.
pub fn results_directory(system: &dyn System) -> Option<std::path::PathBuf> {
    match identity::results_directory(system) {
        Ok(directory) => Some(directory),
        Err(failure) => {
            output::message(&format!("the result is not kept: {}", failure.message));
            None
        }
    }
}

/// Whether a study has shown enough at a look: intervals as narrow as was asked, or else a verdict
/// on every comparison. Never the spread itself (R8).
fn enough(plan: &Plan, environment: &Environment, trials: &[Trial]) -> Option<String> {
    // What was repeated comes after the last replicate and decides nothing.
    let own = trials.iter().filter(|trial| trial.record.repeats.is_none());
    let trials: Vec<Trial> = own.cloned().collect();
    // A look is not taken at an unfinished study, but at one that may end here.
    let facts =
        StudyFacts { ended: Some("a look".to_owned()), ..shelf::unnamed(plan, environment) };
    let findings = analysis::findings(facts, plan, environment, &trials);
    let primary: Vec<&Comparison> =
        findings.comparisons.iter().filter(|found| found.primary).collect();
    if primary.is_empty() {
        return None;
    }
    let replicates = trials.iter().map(|trial| trial.record.replicate).max().unwrap_or(0);
    let half_width = match &plan.design.stopping {
        Stopping::Fixed => return None,
        Stopping::Looks { half_width, .. } | Stopping::Open { half_width } => *half_width,
    };
    let Some(wanted) = half_width else {
        let decided = |found: &&&Comparison| {
            found.verdict.is_some_and(|verdict| verdict != Verdict::Inconclusive)
        };
        return (primary.iter().filter(decided).count() == primary.len()).then(|| {
            format!("ended after replicate {replicates}: every comparison had its verdict")
        });
    };
    let narrow = |found: &&&Comparison| {
        found.ci95_family.is_some_and(|[low, high]| (high / low).ln() / 2.0 <= wanted.ln_1p())
    };
    (primary.iter().filter(narrow).count() == primary.len()).then(|| {
        format!(
            "ended after replicate {replicates}: every interval was within {} of its middle",
            show::percent(100.0 * wanted)
        )
    })
}

/// A flag that INT, TERM and HUP raise; a second signal ends the process at once.
pub(super) fn stop_on_signals() -> Outcome<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the first signal finds the flag down and only raises it.
        let registered =
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)));
        registered
            .map_err(|error| Failure::refused(format!("signals cannot be caught: {error}")))?;
    }
    Ok(stop)
}
