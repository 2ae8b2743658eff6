//! Common parts of commands that measure: signals, progress, the checks of a stopping rule, and the result at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;

use super::resume::has_all_trials;
use super::watch::screen::{self, Screen};
use super::watch::{self, StudyView};
use super::{check_options, fitness, gate, output, progress::ProgressLine, revisions};
use crate::store::{self, acting::Acting, progress::StudyProgress};
use assay_analysis::inference::{self, StopReason};
use assay_analysis::rules::WRONG_DATA;
use assay_core::failure::{Failure, Kind, Outcome};
use assay_core::quantity::Time;
use assay_core::quantity::units::show;
use assay_machine::system::{System, identity};
use assay_report::document::Detail;
use assay_runner::real::signals;
use assay_runner::run::{self, Consented, Event, Finished, LogOf, Looks, Request, trial};
use assay_study::findings::answers::Answer;
use assay_study::findings::{Findings, StudyFacts, Trust};
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::{Status, Trial};

/// Note in a result measured with `run --watch`.
const WITH_PAGE: &str = "this process updated the page of assay watch once per second during trials, which used CPU time";

/// Output format of a result.
#[derive(Clone, Copy, Debug, Args)]
pub struct Printing {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Hide progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// A completed study whose command has not ended: only [`end`] opens it, and so gives all commands the same ending.
#[must_use]
pub struct Unended(Finished);

impl From<Finished> for Unended {
    fn from(finished: Finished) -> Self {
        Self(finished)
    }
}

impl Unended {
    pub fn trials(&self) -> usize {
        self.0.trials.len()
    }

    pub fn ended(&self) -> Option<&str> {
        self.0.ended.as_deref()
    }
}

/// Whether to wait for a device in use.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Waiting {
    /// Wait for a device in use, e.g. 30m
    ///
    /// Without --wait, Assay fails immediately if another study uses the device. While waiting, Assay shows progress;
    /// it fails if the device is still in use after TIME.
    #[arg(long, value_name = "TIME")]
    wait: Option<Time>,
}

impl Waiting {
    pub fn with(self, consented: Consented) -> Consented {
        let wait = self.wait.map_or(Duration::ZERO, |time| Duration::from_nanos(time.0));
        Consented { wait, ..consented }
    }
}

pub fn run(system: &dyn System, request: Request<'_>, quiet: bool) -> Outcome<Unended> {
    let stop = stop_on_signals(&RESTORES)?;
    run_with(system, request, &stop, quiet)
}

/// Runs a study for a command that already catches signals.
pub(super) fn run_with(
    system: &dyn System,
    request: Request<'_>,
    stop: &AtomicBool,
    quiet: bool,
) -> Outcome<Unended> {
    let mut progress = ProgressLine::new(quiet);
    let ran = run_stoppable(system, request, stop, &mut |event| progress.show(&event));
    progress.finish();
    ran
}

/// Runs a study that the flag stops; the caller gets the events.
pub(super) fn run_stoppable(
    system: &dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Unended> {
    let _trees = revisions::make(system, &mut request, stop, tell)?;
    run::run(system, with_analysis(request), stop, tell).map(Unended)
}

/// Adds the functions of the analysis that the runner needs.
fn with_analysis(request: Request<'_>) -> Request<'_> {
    let log = Some(inference::race_log as LogOf);
    Request { interim: Some(&early_end), log, foresee: Some(&foreseen), ..request }
}

/// Runs a study with the page of `watch` in another thread; when the user leaves the page, progress lines follow.
pub fn run_on_page(system: &dyn System, mut request: Request<'_>) -> Outcome<Unended> {
    let stream = watch::stream(system, true).ok_or_else(|| {
        mistake!("--watch needs a terminal; remove --watch, or run assay watch in another terminal")
    })?;
    let stop = stop_on_signals(&RESTORES)?;
    let mut line = ProgressLine::new(false);
    let trees = revisions::make(system, &mut request, &stop, &mut |event| line.show(&event));
    line.finish();
    let _trees = trees?;
    let progress = Mutex::new(StudyProgress::of_this_process(&request.study.title));
    let (done, left) = (AtomicBool::new(false), AtomicBool::new(false));
    let targets = request.targets.clone();
    let screen = Screen::open(stream, watch::page_style(system))?;
    let view =
        StudyView { progress: &progress, targets: &targets, stop: &stop, done: &done, left: &left };
    let mut line = ProgressLine::new(false);
    let finished = std::thread::scope(|scope| {
        let _end = RaisedFlag(&done);
        scope.spawn(|| watch::show_study(system, &view, screen));
        let request = Request { observer: Some(WITH_PAGE.to_owned()), ..with_analysis(request) };
        run::run(system, request, &stop, &mut |event| {
            progress.lock().unwrap_or_else(PoisonError::into_inner).apply(&event);
            if left.load(Ordering::SeqCst) {
                line.show(&event);
            }
        })
    });
    line.finish();
    let progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The page showed only the latest one.
    progress.warnings.iter().for_each(|text| output::message(text));
    finished.map(Unended)
}

fn foreseen(plan: &Plan) -> Vec<String> {
    inference::foresee_from_pilot(plan).into_iter().collect()
}

/// Sets a flag on drop, also after a panic, to release waiting threads.
struct RaisedFlag<'a>(&'a AtomicBool);

impl Drop for RaisedFlag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub fn resume(
    system: &dyn System,
    acting: Acting,
    consented: &Consented,
    quiet: bool,
) -> Outcome<Unended> {
    let stop = stop_on_signals(&RESTORES)?;
    let mut progress = ProgressLine::new(quiet);
    let log = Some(inference::race_log as LogOf);
    let looks = Looks { interim: Some(&early_end), log, read: Some(inference::trial_metric) };
    let mut tell = |event| progress.show(&event);
    let made =
        revisions::make_trees(system, &acting.stored.study, consented.as_root, &stop, &mut tell);
    let finished =
        made.and_then(|_trees| run::resume(system, acting, consented, looks, &stop, &mut tell));
    progress.finish();
    finished.map(Unended)
}

pub fn conclude(system: &dyn System, ran: Unended, how: Printing) -> Outcome<()> {
    end(system, ran, |findings, is_stored| {
        print_result(system, findings, is_stored, how);
        Ok(())
    })
}

pub fn close(system: &dyn System, ran: Unended) -> Outcome<()> {
    end(system, ran, |_, _| Ok(()))
}

/// Shows the result of an uninterrupted study and whether it is stored, and returns its outcome: prints problems last,
/// and the most severe one sets the exit code. Includes a gate that failed or was inconclusive.
pub fn end(
    system: &dyn System,
    Unended(mut finished): Unended,
    show: impl FnOnce(&Findings, bool) -> Outcome<()>,
) -> Outcome<()> {
    let of_run = problems(&mut finished);
    let mut problems = Vec::new();
    let inconclusive_code = finished.study.gate.as_ref().and_then(|gate| gate.exit_inconclusive);
    if !finished.interrupted {
        let is_stored = finished.directory.is_some();
        let findings = findings_of(system, finished);
        let answers = &findings.answers;
        let of_findings = [
            show(&findings, is_stored).err(),
            answers.requirements.as_ref().and_then(|fit| fitness::ended(fit).err()),
            answers.gate.as_ref().and_then(|gate| gate::ended(gate).err()),
            wrong_data(&findings),
            failed_by_kind(&findings),
            unanswered(&findings),
        ];
        problems.extend(of_findings.into_iter().flatten());
    }
    // Among equally severe problems, reports lost trials last, because that message names the stored result.
    problems.extend(of_run);
    report_problems(problems).map_err(|failure| failure.blind_by(inconclusive_code))
}

/// Fails if a trial read data that differs from the data written (exit code 1).
fn wrong_data(findings: &Findings) -> Option<Failure> {
    let mut reasons = findings.measurements.iter().flat_map(|cell| &cell.reasons);
    let wrong = reasons.find(|it| it.rule == WRONG_DATA && it.trust == Trust::Invalid)?;
    Some(Failure::gate(format!("data corruption: {}", wrong.text)))
}

/// Fails for findings of a kind of work, such as a lost acknowledged write (exit code 1) or an unverifiable capacity
/// (5).
fn failed_by_kind(findings: &Findings) -> Option<Failure> {
    let target = findings.environment.targets.first().map_or("", |target| &target.name);
    let failure = findings.of_kinds.all().find_map(|facts| facts.failure()).map(Failure::gate);
    failure.or_else(|| check_options::gate(&findings.of_kinds, target))
}

/// Fails if the search for the highest load tested no rate (exit code 5).
fn unanswered(findings: &Findings) -> Option<Failure> {
    let is_unanswered =
        |answer: &&Answer| answer.max_rate.as_ref().is_some_and(|found| found.rates.is_empty());
    let answer = findings.answers.all.iter().find(is_unanswered)?;
    Some(Failure::partial(answer.answer.trim_end_matches('.')))
}

/// Returns the most severe failure, and prints the others before it.
pub fn report_problems(mut problems: Vec<Failure>) -> Outcome<()> {
    problems.sort_by_key(|failure| severity(failure.kind));
    let Some(worst) = problems.pop() else { return Ok(()) };
    for other in &problems {
        output::message(&other.message);
    }
    Err(worst)
}

/// Returns the severity; an unrestored machine is the worst, and a failed gate is certain even with lost trials.
pub(super) const fn severity(kind: Kind) -> u8 {
    match kind {
        Kind::Needless | Kind::Partial | Kind::Blind(_) => 0,
        Kind::Mistake => 1,
        Kind::Refused | Kind::Broken => 2,
        Kind::Gate => 3,
        Kind::Interrupted => 4,
        Kind::NotRestored => 5,
    }
}

/// Returns failures for lost trials, an interruption, unstored results, missing devices and failed restorations.
fn problems(finished: &mut Finished) -> Vec<Failure> {
    let unrestored = finished.left.take();
    let ending = missing_device(finished)
        .or_else(|| not_stored(finished))
        .or_else(|| finished.interrupted.then(|| interrupted(finished)));
    // An interruption explains the missing trials.
    let lost = if finished.interrupted {
        None
    } else {
        lost_trials(finished).or_else(|| lost_host(finished))
    };
    [lost, ending, unrestored].into_iter().flatten().collect()
}

pub fn print_result(system: &dyn System, findings: &Findings, is_stored: bool, how: Printing) {
    if how.json {
        output::document(&assay_report::json(findings));
        return;
    }
    if how.markdown {
        output::text(&assay_report::markdown::comment(findings));
        return;
    }
    output::result(system, findings, Detail::Usual);
    if is_stored && !how.quiet {
        output::message(&format!(
            "stored as {}; to show this result: assay show",
            findings.study.id
        ));
    }
}

/// Returns the findings of a study, and stores their headline.
fn findings_of(system: &dyn System, finished: Finished) -> Findings {
    let directory = finished.directory.clone();
    let findings = store::findings_of_run(finished);
    if let Some(directory) = &directory {
        store::keep_headline(system, directory, &findings);
    }
    findings
}

/// Fails if finished trials are not stored (exit code 5): the printed output is then the only copy.
fn not_stored(finished: &Finished) -> Option<Failure> {
    let trials = finished.trials.len();
    if finished.directory.is_some() || trials == 0 {
        return None;
    }
    let why = finished.unkept.as_ref().map_or("no result directory is set", |it| it.why.as_str());
    let kept = finished.unkept.as_ref().map_or(0, |it| it.trials);
    let began = if finished.interrupted { "interrupted; " } else { "" };
    let id = &finished.id;
    Some(Failure::partial(match kept {
        0 => format!(
            "{began}Assay stored none of the {trials} trials: {why}; set ASSAY_HOME to a directory with free space"
        ),
        _ => format!(
            "{began}Assay stored only the first {kept} of {trials} trials, as {id}: {why}{}",
            resumption(finished, "; free disk space, then run the remaining trials with")
        ),
    }))
}

/// Fails if trials were lost (exit code 5), with their number, the first reason, and the stored result.
fn lost_trials(finished: &Finished) -> Option<Failure> {
    if finished.plan.workloads.iter().any(|workload| workload.work.is_recorded()) {
        // An unfinished recorded trial is not lost by this run.
        return None;
    }
    let is_lost = |trial: &&Trial| trial.status == Status::Failed && !is_spared(finished, trial);
    let failed = finished.trials.iter().filter(is_lost).count();
    let first = finished.trials.iter().find(is_lost)?.reason.as_deref().unwrap_or("no reason");
    // Counts as the page does: a warm-up has no number to lose.
    let started = finished.trials.iter().filter(|trial| trial.status != Status::Warmup).count();
    let is_rolled_back = |it: &Trial| it.measured.as_ref().and_then(trial::rollback_text).is_some();
    let why = if finished.trials.iter().any(is_rolled_back) {
        format!(
            "Assay rolled back a level that harmed the workload: {failed} of {started} trials have no number"
        )
    } else if finished.trials.iter().filter(is_lost).all(Trial::is_out_of_time) {
        format!("{failed} of {started} trials did not run: the time budget ended")
    } else {
        format!("{failed} of {started} trials failed (the first: {first})")
    };
    let consequence = if failed == started { "no numbers" } else { "the result excludes them" };
    let kept = match &finished.directory {
        Some(_) => format!(", stored as {id}: assay show {id}", id = finished.id),
        None => String::new(),
    };
    Some(Failure::partial(format!("{why}; {consequence}{kept}")))
}

/// Returns a host lost outside a measured trial: in a warm-up or between trials.
fn lost_host(finished: &Finished) -> Option<Failure> {
    let (host, lost) = finished.environment.fleet.as_ref()?.lost().next()?;
    Some(Failure::partial(format!("{} was lost in {}", host.words(), lost.words())))
}

/// Returns whether a trial was skipped for lack of time, in a row that still has a number.
fn is_spared(finished: &Finished, trial: &Trial) -> bool {
    let is_same_row = |other: &Trial| other.workload == trial.workload && other.arm == trial.arm;
    // Counts as rows do: disturbed trials have numbers, too.
    let mut counted = finished.trials.iter().filter(|other| other.status.counts());
    trial.is_out_of_time() && counted.any(is_same_row)
}

/// Returns how a study ends if its device is missing: with the stored result and how to continue.
fn missing_device(finished: &Finished) -> Option<Failure> {
    let why = finished.gone.as_ref()?;
    let (id, trials) = (&finished.id, finished.trials.len());
    Some(Failure::refused(match &finished.directory {
        Some(_) if trials > 0 => format!(
            "{why}, and the study ended; {trials} finished trials are stored: assay show {id}{}",
            resumption(finished, ", or reconnect the device and continue with")
        ),
        _ => format!("{why}, and the study ended; nothing is stored"),
    }))
}

/// Returns how an interrupted study ends: with the stored result and how to continue.
fn interrupted(finished: &Finished) -> Failure {
    let (id, trials) = (&finished.id, finished.trials.len());
    Failure::interrupted(match &finished.directory {
        Some(_) if trials > 0 => format!(
            "interrupted; {trials} finished trials are stored: assay show {id}{}",
            resumption(finished, ", or continue with")
        ),
        Some(_) => {
            format!("interrupted before the first trial{}", resumption(finished, "; continue with"))
        }
        None => "interrupted; nothing is left behind".to_owned(),
    })
}

/// Returns how to continue; empty if all trials are stored, or if other hosts, now gone, ran them.
fn resumption(finished: &Finished, by: &str) -> String {
    let Finished { plan, trials, unkept, id, resume_options, .. } = finished;
    let kept = unkept.as_ref().map_or(trials.len(), |unkept| unkept.trials).min(trials.len());
    if finished.environment.fleet.is_some() || has_all_trials(plan, &trials[..kept]) {
        return String::new();
    }
    format!("{by}: assay resume {id}{resume_options}")
}

/// Returns the results directory; `None`, with a message, if it is unknown.
pub fn results_directory(system: &dyn System) -> Outcome<Option<std::path::PathBuf>> {
    match identity::results_directory(system) {
        Err(failure) if failure.kind == Kind::Mistake => {
            output::message(&format!("cannot store the result: {}", failure.message));
            Ok(None)
        }
        found => found.map(Some),
    }
}

/// Returns why a study may end before its last replicate; `None` if it must continue.
fn early_end(plan: &Plan, environment: &Environment, trials: &[Trial]) -> Option<String> {
    // Repeated trials follow the last replicate and do not affect the decision.
    let first_runs = trials.iter().filter(|trial| trial.repeats.is_none());
    let trials: Vec<Trial> = first_runs.cloned().collect();
    // Only ended studies are evaluated: any reason marks this one as ended.
    let facts = StudyFacts {
        stopped_by: Some("a look".to_owned()),
        ..store::unnamed_facts(plan, environment)
    };
    let findings = inference::findings(facts, plan, environment, &trials);
    let replicates = trials.iter().map(|trial| trial.replicate).max().unwrap_or(0);
    let why = match inference::enough(&findings, &plan.design.stopping)? {
        StopReason::Decided => "every comparison has a verdict".to_owned(),
        StopReason::Gated => "every row of the gate is decided".to_owned(),
        StopReason::GatedBut => {
            "more replicates would not decide any further row of the gate".to_owned()
        }
        StopReason::Narrow(wanted) => {
            format!(
                "the half-width of every confidence interval is at most {}",
                show::percent(100.0 * wanted)
            )
        }
    };
    Some(format!("ended after replicate {replicates}: {why}"))
}

/// Messages for repeated interrupts, before a further one ends the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    again: &'static str,
    over: fn() -> Failure,
}

/// For commands that create or change something.
pub(super) const RESTORES: Patience = Patience {
    again: "restoring settings; press again to exit now and run assay restore later",
    over: || Failure::not_restored("exited before restoring all settings; run assay restore"),
};

/// For commands that only read.
pub(super) const LOOKS: Patience = Patience {
    again: "stopping; press again to exit now",
    over: || Failure::interrupted("exited without storing the observations"),
};

#[derive(Clone, Debug, PartialEq, Eq)]
enum SignalAnswer {
    Stop,
    Tell(&'static str),
    End(Failure),
}

impl Patience {
    fn answer(&self, times: u32) -> SignalAnswer {
        match times {
            0 | 1 => SignalAnswer::Stop,
            2 => SignalAnswer::Tell(self.again),
            _ => SignalAnswer::End((self.over)()),
        }
    }
}

/// Returns a flag that the first signal sets; the second prints a message, the third ends the process.
pub(super) fn stop_on_signals(patience: &'static Patience) -> Outcome<Arc<AtomicBool>> {
    if !output::is_handed_over() {
        // The signals of a process that embeds the library are not caught.
        return Ok(Arc::default());
    }
    let caught = signals::catch(move |times| match patience.answer(times) {
        SignalAnswer::Stop => None,
        SignalAnswer::Tell(text) => {
            output::message(text);
            None
        }
        SignalAnswer::End(failure) => {
            screen::restore_terminal();
            Some(output::exit_code(&failure))
        }
    });
    caught.map_err(|error| refused!("cannot catch signals: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;
    use assay_runner::run::Unkept;
    use assay_study::file::text;
    use assay_study::results::record::OUT_OF_TIME;

    fn finished() -> Finished {
        let study = "format = \"assay-study/1\"\ntitle = \"Two\"\nreplicates = 5\nseed = 1\n\
            [[workload]]\nname = \"read\"\n\
            io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"5 ms\" }\n";
        let request = Request {
            results: Some("/results".into()),
            ..Request::bare(
                text::parse("test", study).unwrap(),
                vec!["simulated:fixed,mean=100us".to_owned()],
            )
        };
        run::run(&Fake::new(), request, &AtomicBool::new(false), &mut |_| {}).unwrap()
    }

    fn begun() -> Finished {
        let mut begun = Finished { interrupted: true, ..finished() };
        begun.trials.pop();
        begun
    }

    fn full_after(trials: usize) -> Finished {
        let unkept = Unkept { trials, why: "/results: no space left".to_owned() };
        Finished { directory: None, unkept: Some(unkept), ..finished() }
    }

    #[test]
    fn a_trial_that_had_no_time_is_lost_where_its_row_has_no_number() {
        let without = |mut finished: Finished, trials: std::ops::Range<usize>, reason: &str| {
            for trial in &mut finished.trials[trials] {
                trial.status = Status::Failed;
                trial.reason = Some(reason.to_owned());
            }
            lost_trials(&finished).map(|failure| failure.kind)
        };
        let left_out = |trials, reason: &str| without(finished(), trials, reason);
        let left_out_beside = |status: Status, trials| {
            let mut finished = finished();
            finished.trials.iter_mut().for_each(|trial| trial.status = status);
            without(finished, trials, OUT_OF_TIME)
        };
        assert_eq!(left_out(2..6, OUT_OF_TIME), None);
        assert_eq!(left_out_beside(Status::Disturbed, 2..6), None);
        assert_eq!(left_out_beside(Status::Warmup, 2..6), Some(Kind::Partial));
        assert_eq!(left_out(0..6, OUT_OF_TIME), Some(Kind::Partial));
        assert_eq!(left_out(5..6, "input/output error"), Some(Kind::Partial));
    }

    fn code_and_words(mut finished: Finished) -> (u8, String) {
        let report_problems = report_problems(problems(&mut finished)).err();
        report_problems.map_or((0, String::new()), |it| (it.kind.exit_code(), it.message))
    }

    #[test]
    fn the_gravest_decides_how_a_study_ends() {
        assert_eq!(code_and_words(finished()).0, 0);
        let interrupted = || Finished { interrupted: true, ..finished() };
        assert_eq!(code_and_words(interrupted()).0, 130);
        assert_eq!(code_and_words(full_after(3)).0, 5);
        assert_eq!(code_and_words(Finished { interrupted: true, ..full_after(3) }).0, 5);
        let left = Some(Failure::not_restored("run assay restore"));
        assert_eq!(code_and_words(Finished { left: left.clone(), ..full_after(3) }).0, 4);
        assert_eq!(code_and_words(Finished { left, ..interrupted() }).0, 4);
    }

    #[test]
    fn a_host_that_is_lost_between_trials_is_named_too_and_a_fleet_is_not_gone_on_with() {
        let mut fleet = run::known::fleet::one_of_three_lost();
        fleet.trials.retain(|trial| trial.status != Status::Failed);
        assert!(lost_trials(&fleet).is_none());
        let told = lost_host(&fleet).unwrap();
        assert_eq!(told.kind, Kind::Partial);
        assert!(told.message.contains("rank 2 (n2) was lost in trial 5"), "{}", told.message);
        assert!(problems(&mut fleet).contains(&told));
        assert!(lost_host(&finished()).is_none());
        let directory = Some("/results".into());
        let told = |own: Finished| {
            interrupted(&Finished { directory: directory.clone(), interrupted: true, ..own })
                .message
        };
        assert!(!told(fleet).contains("resume"));
        assert!(told(begun()).contains("continue with: assay resume"));
        assert!(!told(finished()).contains("resume"), "no trial is left");
    }

    #[test]
    fn what_was_measured_without_a_lost_host_says_so() {
        let findings = store::findings_of_run(run::known::fleet::one_of_three_lost());
        let hosts = findings.environment.hosts.unwrap();
        assert_eq!((hosts.started, hosts.finished), (3, 2));
        let said = |text: &str| text.starts_with("2 of 3 hosts");
        assert!(findings.checks.iter().any(|own| own.name == "hosts" && said(&own.text)));
        let mut told = findings.measurements.iter().flat_map(|cell| &cell.reasons);
        assert!(told.any(|because| because.rule == "missing-hosts"));
    }

    #[test]
    fn which_trials_are_kept_is_said() {
        let finished = full_after(3);
        let id = finished.id.clone();
        let (_, told) = code_and_words(finished);
        assert!(told.contains("stored only the first 3 of 6 trials"), "{told}");
        assert!(told.ends_with(&format!("assay resume {id}")), "{told}");
        let (code, told) = code_and_words(full_after(0));
        assert!(code == 5 && told.contains("stored none of the 6 trials"), "{told}");
        let homeless = Finished { directory: None, ..self::finished() };
        assert_eq!(code_and_words(homeless).0, 5);
    }

    #[test]
    fn a_device_that_is_gone_is_a_refusal_that_says_what_is_kept() {
        let gone = || Some("sdb was removed".to_owned());
        let lost = |trials| Finished { gone: gone(), interrupted: true, ..full_after(trials) };
        let kept = Finished { gone: gone(), ..begun() };
        let (id, count) = (kept.id.clone(), kept.trials.len());
        let (code, told) = code_and_words(kept);
        assert!(told.contains(&format!("{count} finished trials are stored: assay show {id}")));
        assert!(code == 3 && told.ends_with(&format!("assay resume {id}")), "{told}");
        let (code, told) = code_and_words(lost(0));
        assert!(code == 3 && told.ends_with("nothing is stored"), "{told}");
        let left = Some(Failure::not_restored("run assay restore"));
        assert_eq!(code_and_words(Finished { left, ..lost(0) }).0, 4);
    }

    #[test]
    fn lost_trials_are_counted_as_the_page_counts_them() {
        let mut finished = finished();
        assert_eq!(finished.trials[0].status, Status::Warmup);
        assert!(lost_trials(&finished).is_none());
        let fail = |trial: &mut Trial| {
            trial.status = Status::Failed;
            trial.reason = Some("input/output error".to_owned());
        };
        fail(&mut finished.trials[2]);
        let id = finished.id.clone();
        let told = lost_trials(&finished).unwrap().message;
        assert!(told.starts_with("1 of 5 trials failed (the first: input/output error)"), "{told}");
        let kept = format!("the result excludes them, stored as {id}: assay show {id}");
        assert!(told.ends_with(&kept), "{told}");
        finished.trials.iter_mut().skip(1).for_each(fail);
        let told = lost_trials(&finished).unwrap().message;
        assert!(told.contains("5 of 5 trials failed") && told.contains("no numbers"), "{told}");
        let unkept = Finished { directory: None, ..finished };
        assert!(!lost_trials(&unkept).unwrap().message.contains("stored as"));
    }

    #[test]
    fn a_failed_gate_is_graver_than_lost_trials_and_a_changed_machine_than_both() {
        let [lost, gate, left] =
            [Failure::partial("lost"), Failure::gate("worse"), Failure::not_restored("left")];
        let code = |problems: &[&Failure]| {
            let problems = problems.iter().map(|one| (*one).clone()).collect();
            report_problems(problems).map_or_else(|failure| failure.kind.exit_code(), |()| 0)
        };
        assert_eq!(code(&[]), 0);
        assert_eq!(code(&[&lost]), 5);
        assert_eq!(code(&[&gate, &lost]), 1);
        assert_eq!(code(&[&lost, &left, &gate]), 4);
    }

    #[test]
    fn the_second_asking_is_answered_and_the_third_ends_it() {
        assert_eq!(RESTORES.answer(1), SignalAnswer::Stop);
        let SignalAnswer::Tell(text) = RESTORES.answer(2) else { panic!("the second") };
        assert!(text.starts_with("restoring settings"), "{text}");
        let SignalAnswer::End(failure) = RESTORES.answer(3) else { panic!("the third") };
        assert_eq!(failure.kind, Kind::NotRestored);
        assert!(failure.message.ends_with("run assay restore"), "{failure}");
        assert!(
            matches!(LOOKS.answer(3), SignalAnswer::End(failure) if failure.kind == Kind::Interrupted)
        );
    }
}
