//! A study of recorded trials: nothing runs, each record is a past trial.

use super::conductor::Finished;
use super::event::{Context, Event};
use super::writer::{ResultWriter, Unkept};
use assay_core::failure::{Failure, Outcome};
use assay_machine::system::machine::{self, Machine};
use assay_machine::system::site::Site;
use assay_machine::system::{self, System};
use assay_study::file::Study;
use assay_study::plan::recorded as planned;
use assay_study::plan::recorded::RecordedWorkload;
use assay_study::results::bundle::{Bundle, Histograms};
use assay_study::results::environment::{self, Environment};
use assay_study::results::id::{self, entropy};
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;
use assay_study::results::surroundings::Surroundings;
use assay_workloads::recorded::{Record, RecordList, RecordSource, RecordingNames};
use std::path::Path;

const OTHER_JOURNAL: &str = "the journal is from another machine";
const ROOT: &str = "/";

pub fn asked(study: &Study) -> Outcome<RecordedWorkload<'_>> {
    let asked = planned::asked(study);
    asked.ok_or_else(|| Failure::mistake("other programs cannot record the trials of this study"))
}

/// Reads and groups the trials of a study, oldest first; fails if no trial is in a group of the study.
pub fn read(
    system: &dyn System,
    study: Study,
    results: Option<&Path>,
) -> Outcome<(Study, RecordList)> {
    let records = asked(&study)?.records;
    let (factor, many) = (records.factor(), records.recording().many);
    let mut list = records.read(system, records.newest(), results)?;
    let study = planned::grouped(study, factor, &list.records);
    let count = list.records.len();
    list.records = planned::of_groups(&study, factor, list.records);
    if list.records.is_empty() {
        let levels = study.factors.get(factor).cloned().unwrap_or_default();
        return Err(Failure::mistake(format!(
            "none of the newest {count} {many} has {factor} {}",
            levels.join(" or ")
        )));
    }
    Ok((study, list))
}

/// Stores the recorded trials of a study as its result.
pub fn run(
    system: &dyn System,
    study: Study,
    results: Option<&Path>,
    context: &mut Context<'_>,
) -> Outcome<Finished> {
    let (study, list) = read(system, study, results)?;
    if list.faults > 0 {
        let text = format!("Assay skipped {} unreadable journal entries", list.faults);
        (context.tell)(Event::Warning(text));
    }
    let started = system.now();
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    let id = id::of_study(system, results, &started);
    let groups: Vec<String> = list.records.iter().map(|record| record.group.clone()).collect();
    let asked = asked(&study)?;
    let target = target_of(&asked.records.source());
    let recording = asked.records.recording();
    let primary = asked.records.primary(&list.records);
    let plan = planned::plan(&study, asked, primary, &groups, &target, seed);
    let environment = environment_of(system, recording, &target, list.is_own, started);
    let directory = results.map(|results| results.join(&id));
    let writer = create(system, directory.as_deref(), &study, &plan, &environment, context);
    let trials = Vec::with_capacity(list.records.len());
    let mut recorded = RecordedStudy { id, study, plan, environment, trials, writer };
    recorded.store(list.records, recording, context);
    Ok(recorded.into_finished())
}

pub(super) struct RecordedStudy<'a> {
    pub id: String,
    pub study: Study,
    pub plan: Plan,
    pub environment: Environment,
    pub trials: Vec<Trial>,
    pub writer: ResultWriter<'a>,
}

impl RecordedStudy<'_> {
    /// Stores the next trials of the plan, one per record; warns if this fails for the first time.
    pub fn store(
        &mut self,
        records: Vec<Record>,
        recording: &RecordingNames,
        context: &mut Context<'_>,
    ) {
        for (planned, record) in self.plan.trials[self.trials.len()..].iter().zip(records) {
            let mut trial = planned::trial(planned, record, recording);
            let stored = self.trials.len();
            let unkept = self.writer.append(&mut trial, &Histograms::new(), &[], stored);
            if let Some(unkept) = unkept {
                (context.tell)(unkept.warning());
            }
            self.trials.push(trial);
        }
    }

    pub fn into_finished(self) -> Finished {
        let (bundle, unkept) = self.writer.into_parts();
        Finished {
            id: self.id,
            directory: bundle.map(|bundle| bundle.directory().to_owned()),
            unkept,
            study: self.study,
            plan: self.plan,
            environment: self.environment,
            trials: self.trials,
            interrupted: false,
            resume_options: String::new(),
            gone: None,
            ended: None,
            left: None,
        }
    }
}

fn target_of(source: &RecordSource) -> String {
    match source {
        RecordSource::Own => ROOT.to_owned(),
        RecordSource::At(path) => path.display().to_string(),
    }
}

/// The machine of the trials, as far as it is available here.
pub(super) fn environment_of(
    system: &dyn System,
    recording: &RecordingNames,
    target: &str,
    is_own: bool,
    started: String,
) -> Environment {
    let unknown_site = || planned::elsewhere(target, OTHER_JOURNAL);
    let (machine, site) = if is_own {
        let root = system::resolve(system, ROOT).ok();
        let site = root.map(|site| Site { target: target.to_owned(), ..site });
        (machine::machine(system), site.unwrap_or_else(unknown_site))
    } else {
        let many = recording.many;
        let why = format!("the {many} are from another machine; only its journal is available");
        (Machine::elsewhere(&why), unknown_site())
    };
    Environment {
        format: environment::FORMAT.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        started,
        machine,
        sites: vec![site],
        surroundings: Surroundings::default(),
        observer: None,
        fleet: None,
    }
}

/// Creates a bundle if there is a results directory; a study that cannot be stored runs nevertheless.
pub(super) fn create<'a>(
    system: &'a dyn System,
    directory: Option<&Path>,
    study: &Study,
    plan: &Plan,
    environment: &Environment,
    context: &mut Context<'_>,
) -> ResultWriter<'a> {
    let Some(directory) = directory else { return ResultWriter::default() };
    match Bundle::create(system, directory, study, plan, environment) {
        Ok(bundle) => ResultWriter::new(bundle),
        Err(error) => {
            let unkept = Unkept::after(0, directory, &error);
            (context.tell)(unkept.warning());
            ResultWriter::failed(unkept)
        }
    }
}

/// The groups of the records, each with its number of trials, for a preview.
pub fn groups(records: &[Record]) -> Vec<(String, usize)> {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for record in records {
        match groups.iter_mut().find(|(name, _)| *name == record.group) {
            Some((_, count)) => *count += 1,
            None => groups.push((record.group.clone(), 1)),
        }
    }
    groups
}
